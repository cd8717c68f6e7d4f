"""``pytest --mpi simulated``: tests on simulated ranks, each reported once."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

BEGIN = "import os\nimport pytest\nfrom mpi4py import MPI\n\ncomm = MPI.COMM_WORLD\n\n"


def run(folder, text, *options):
    (folder / "test_it.py").write_text(BEGIN + text, "utf-8")
    options = ("--mpi", "simulated", "-p", "no:cacheprovider", "-p", "no:mpi-pytest", *options)
    command = [sys.executable, "-m", "pytest", *options]
    paths = f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        env=os.environ | {"PYTHONPATH": paths},
    ).stdout  # fmt: skip


FAILURES = """
def on(ranks):
    return pytest.mark.parallel(nprocs=ranks)

@on([1, 4])
def test_sum():
    assert comm.allreduce(comm.rank) == sum(range(comm.size))

@on(4)
def test_one_fails():
    assert comm.rank != 3

@on(4)
def test_all_fail():
    print("size", comm.size)
    assert comm.size == 5

@on(4)
def test_deadlock():
    if comm.rank == 1:
        comm.recv(source=2)
    comm.barrier()

@on(4)
def test_one_leaves():
    assert comm.rank != 1, "one"
    comm.barrier()

@on(4)
def test_crash():
    if comm.rank == 2:
        os.kill(os.getpid(), 11)
    comm.barrier()

@on(4)
def test_abort():
    if comm.rank == 2:
        comm.Abort(3)
    comm.barrier()

@on(4)
def test_exit():
    if comm.rank == 2:
        os._exit(5)

@on(4)
def test_message_that_nobody_receives():
    if comm.rank == 0:
        comm.send(b"x", 1, tag=3)

@on(4)
def test_afterwards():
    assert comm.allgather(comm.rank) == [0, 1, 2, 3]

def test_on_one_rank():
    assert comm.size == 1
"""


def line_of(words):
    """Return the line of the first of FAILURES that has the words."""
    return next(number for number, line in enumerate((BEGIN + FAILURES).splitlines(), 1) if words in line)


def test_each_failure_is_one_red_test_and_the_next_test_goes_on(tmp_path):
    output = run(tmp_path, FAILURES)
    recv, kill, send = (line_of(words) for words in ("comm.recv", "os.kill", "comm.send"))
    assert "== 8 failed, 4 passed in " in output
    for line in (
        "FAILED test_it.py::test_one_fails - rank 3 of 4: assert 3 != 3",
        "FAILED test_it.py::test_all_fail - all 4 ranks: assert 4 == 5",
        "FAILED test_it.py::test_deadlock - deadlock: 4 of 4 ranks never end",
        "FAILED test_it.py::test_one_leaves - rank 1 of 4: AssertionError: one",
        "FAILED test_it.py::test_crash - rank 2 was ended by SIGSEGV",
        "FAILED test_it.py::test_abort - rank 2 called MPI_Abort with code 3",
        "FAILED test_it.py::test_exit - rank 2 ended with exit code 5",
        f"ranks 0, 2, 3 of 4 wait in MPI_Barrier, test_it.py:{recv + 1}",
        f"rank 1 waits in recv (MPI_Mprobe) for a message from rank 2, test_it.py:{recv}",
        "rank 1 of 4 left the test",
        "Captured stdout call on rank 0",
    ):
        assert line in output
    assert f'test_it.py", line {kill} in test_crash' in output
    assert f"message never received: 16 bytes with tag 3 from rank 0 to rank 1: MPI_Send, test_it.py:{send}" in output
    assert output.count("AssertionError: one") == 2  # its traceback, once for all, and the summary


def test_passes_wrong_uses_of_mpi_where_that_is_asked_for(tmp_path):
    text = "def test_send():\n    comm.Dup()\n    comm.send(b'', 1 - comm.rank)\n"
    output = run(tmp_path, text, "--ranks", "2", "--no-check")
    assert "== 1 passed in " in output
    assert "leak" not in output
    assert "leak of a communicator" in run(tmp_path, "def test_dup():\n    comm.Dup()\n", "--ranks", "2")


def test_fixtures_parameters_skips_and_expected_failures(tmp_path):
    output = run(
        tmp_path,
        """
@pytest.fixture(scope="module")
def table():
    print("made")
    yield comm.allgather(comm.rank)
    comm.barrier()

@pytest.mark.parallel
@pytest.mark.parametrize("shift", [0, 1])
def test_shift(table, shift, tmp_path):
    assert comm.sendrecv(comm.rank, (comm.rank + shift) % 3, source=(comm.rank - shift) % 3) in table

@pytest.mark.parallel(nprocs=2)
def test_table(table):
    assert table == [0, 1]

@pytest.mark.skip(reason="no")
def test_skipped():
    pass

@pytest.mark.parallel(nprocs=2)
@pytest.mark.xfail(reason="known")
def test_known():
    assert comm.rank == 2
""",
    )
    assert "== 3 passed, 1 skipped, 1 xfailed in " in output


def test_ranks_collect_for_themselves_where_an_import_asks_for_the_rank(tmp_path):
    text = """
rank, size = comm.Get_rank(), comm.Get_size()

@pytest.mark.parallel(nprocs=3)
def test_rank():
    assert comm.allgather(rank) == [0, 1, 2] and size == 3

@pytest.mark.skipif(size < 2, reason="needs two")
@pytest.mark.parametrize("root", range(size))
def test_root(root):
    assert comm.bcast(rank, root) == root
"""
    (tmp_path / "helper.py").write_text("from mpi4py import MPI\n", "utf-8")  # imports it before, and calls nothing
    text = f"import helper\n{text}"
    output = run(tmp_path, text, "--ranks", "2")
    assert "mpi: each rank imports and collects for itself, as " in output
    assert "test_it.py:9 calls MPI at its import" in output
    assert "== 3 passed in " in output
    assert "== 1 passed, 1 skipped in " in run(tmp_path, text)


LONG_IMPORT = """
import os, time
with open("imports", "a") as file:
    file.write(f"{os.getpid()}\\n")
while time.process_time() < 0.8:
    pass
"""


@pytest.mark.parametrize(("first", "imports"), [("", 2), ("import ranked", 9)], ids=["shared", "calls MPI"])
def test_one_rank_of_many_imports_first_what_all_can_share(tmp_path, first, imports):
    (tmp_path / "ranked.py").write_text(f"{BEGIN}rank = comm.rank\n", "utf-8")
    (tmp_path / "long_import.py").write_text(first + LONG_IMPORT, "utf-8")
    text = "import ranked, long_import\n\ndef test_rank():\n    assert len(set(comm.allgather(ranked.rank))) == 8\n"
    assert "== 1 passed in " in run(tmp_path, text, "--ranks", "8")
    assert len((tmp_path / "imports").read_text().splitlines()) == imports


def test_a_package_may_ask_for_the_rank_behind_its_modules(tmp_path):
    package = tmp_path / "ranked"
    package.mkdir()
    (package / "before.py").write_text("from mpi4py.MPI import *\n", "utf-8")
    (package / "__init__.py").write_text("from ranked.before import COMM_WORLD\nrank = COMM_WORLD.rank\n", "utf-8")
    text = "import ranked\n\ndef test_rank():\n    assert comm.allgather(ranked.rank) == [0, 1]\n"
    output = run(tmp_path, text, "--ranks", "2")
    assert "ranked/__init__.py:2 calls MPI at its import" in output
    assert "== 1 passed in " in output


def test_junit_has_the_simulated_time_and_workers_have_ranks_of_their_own(tmp_path):
    output = run(tmp_path, FAILURES, "-n", "2", "--junitxml", "report.xml", "-k", "sum or one_fails or one_rank")
    assert "1 failed, 3 passed in " in output
    cases = ElementTree.parse(tmp_path / "report.xml").iter("testcase")  # noqa: S314  (pytest's own)
    properties = {case.get("name"): [entry.get("name") for entry in case.iter("property")] for case in cases}
    assert properties["test_sum[nprocs=4]"] == ["simulated seconds"]


TRUNCATED = """
def test_more_than_fits():
    comm.Bcast(bytearray(3 if comm.rank == 0 else 2))

def test_next():
    comm.Barrier()
"""


def test_a_collective_with_more_than_fits_is_one_failure_that_names_the_call(tmp_path):
    output = run(tmp_path, TRUNCATED, "--ranks", "2")
    assert "which takes 2: make the receive larger (MPI_Bcast, test_it.py:9)" in output
    assert "== 1 failed, 1 passed in " in output


SKIPPED = """
@pytest.mark.skip(reason="not today")
def test_marked():
    pass

def test_on_one_rank():
    if comm.rank == 1:
        pytest.skip("only on one")

def test_on_all_ranks():
    pytest.skip("nowhere")
"""


def test_junit_has_why_tests_are_skipped(tmp_path):
    output = run(tmp_path, SKIPPED, "--ranks", "2", "--junitxml", "report.xml", "-rs")
    assert "1 passed, 2 skipped in " in output
    cases = ElementTree.parse(tmp_path / "report.xml").iter("testcase")  # noqa: S314  (pytest's own)
    reasons = {case.get("name"): [entry.get("message") for entry in case.iter("skipped")] for case in cases}
    assert reasons == {"test_marked": ["not today"], "test_on_one_rank": [], "test_on_all_ranks": ["nowhere"]}


def test_stops_at_the_first_failure_where_asked(tmp_path):
    assert "== 1 failed, 2 passed, " in run(tmp_path, FAILURES, "-x", "-k", "sum or one_fails or all_fail")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--on", "nowhere"), "--on nowhere: "),
        (("--ranks", "0"), "--ranks 0: it is at least 1"),
    ],
)
def test_wrong_options_are_named(tmp_path, options, words):
    (tmp_path / "test_it.py").write_text("def test_nothing():\n    pass\n", "utf-8")
    command = [sys.executable, "-m", "pytest", "--mpi", "simulated", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert words in done.stdout + done.stderr
    assert done.returncode == 4


def test_random_numbers_differ_between_ranks(tmp_path):
    text = """
import numpy

def test_random():
    assert len(set(comm.allgather(float(numpy.random.rand())))) == 4
"""
    assert "== 1 passed in " in run(tmp_path, text, "--ranks", "4")


LEFT_OPEN = """
import numpy

def test_lost_request():
    if comm.rank == 0:
        comm.Isend(numpy.ones(100), 1)
    elif comm.rank == 1:
        comm.Recv(numpy.zeros(100), 0)

def test_next():
    for i in range(20):
        numbers = numpy.full(100, i + comm.rank, dtype=float)
        comm.Allreduce(numbers.copy(), numbers)

def test_buffer_that_is_written():
    numbers = numpy.ones(100)
    if comm.rank == 0:
        request = comm.Isend(numbers, 1)
        numbers[5] = 2
        request.Wait()
    elif comm.rank == 1:
        comm.Recv(numbers, 0)
"""


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_a_request_that_a_test_has_lost_is_told_at_the_end_and_accuses_no_other_test(tmp_path, options):
    output = run(tmp_path, LEFT_OPEN, "--ranks", "2", *options)
    assert "1 failed, 2 passed in " in output
    assert "FAILED test_it.py::test_buffer_that_is_written" in output
    assert "write to a pending send buffer: the program writes to the send buffer of MPI_Isend" in output
    _, _, end = output.partition("at the end")
    assert "request never completed" in end
    assert "MPI_Isend, test_it.py:12" in end


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_coverage_has_the_lines_of_all_ranks(tmp_path, options):
    pytest.importorskip("pytest_cov")
    (tmp_path / "work.py").write_text(
        "def double(x):\n    if x > 2:\n        return 2 * x\n    return x + x\n", "utf-8"
    )
    text = "import work\n\ndef test_double():\n    assert work.double(comm.rank) == 2 * comm.rank\n"
    output = run(tmp_path, text, "--ranks", "4", "--cov=work", *options)
    assert "work.py       4      0   100%" in output
    assert "Warning" not in output
    output = run(tmp_path, text, "--ranks", "2", "--cov=work", "--cov-report=term-missing", *options)
    assert "work.py       4      1    75%   3" in output
