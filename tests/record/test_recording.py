"""What is recorded of programs, compared with what they are known to do; with each MPI library."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from textwrap import dedent

import pytest
import support
from support.launching import ENVIRONMENT, error_lines, find, launch
from support.recordings import calls, decode

from commmodel import launchers
from commmodel.bench.kernels import memory
from commmodel.errors import InputError
from commmodel.record import launch as become
from commmodel.record import load

pytestmark = pytest.mark.mpi
RECORD = (sys.executable, "-m", "commmodel", "record", "-o")


@pytest.fixture
def record(tmp_path):
    """Return a function that records Python text on ranks and returns the launch and each rank's log."""

    def run(ranks, text):
        program, folder = tmp_path / "program.py", tmp_path / "recording"
        program.write_text(dedent(text))
        completed = launch(ranks, *RECORD, folder, "--", sys.executable, program)
        return completed, [folder / f"rank-{rank:06}.log" for rank in range(ranks)]

    return run


def counted(log):
    return Counter(call["name"].removeprefix("MPI_") for call in calls(log))


def last(log):
    record = decode(log)[1][-1]
    return record.get("reason"), record.get("code")


def test_messages_of_buffers(record):
    _, logs = record(2, """\
        from mpi4py import MPI
        import numpy as np
        world, data = MPI.COMM_WORLD, np.zeros(100)
        for _ in range(3):
            if world.rank == 0:
                world.Send(data[:50], 1, 7)
            else:
                world.Recv(data, MPI.ANY_SOURCE, MPI.ANY_TAG)
        """)  # fmt: skip
    sends, receives = calls(logs[0], "Send"), calls(logs[1], "Recv")
    assert [(call["bytes"], call["peer"], call["tag"], call["communicator"]) for call in sends] == [(400, 1, 7, 1)] * 3
    fields = ("bytes", "peer", "tag", "source", "received_tag", "received_bytes")
    assert [tuple(call[field] for field in fields) for call in receives] == [(800, -1, -1, 0, 7, 400)] * 3
    assert all(last(log) == (1, 0) for log in logs)


def test_calls_have_the_line_of_the_program_not_of_mpi4py(record):
    _, logs = record(2, """\
        from mpi4py import MPI
        from mpi4py.util import pkl5
        def exchange(world):
            return world.sendrecv(b"x" * 100, 1 - world.rank)
        exchange(MPI.COMM_WORLD)
        exchange(pkl5.Intracomm(MPI.COMM_WORLD))
        """)  # fmt: skip
    for log in logs:
        records = decode(log)[1]
        sites = {record["id"]: record for record in records if record["kind"] == "site"}
        places = {
            (
                os.path.basename(sites[call["site"]]["file"]),
                sites[call["site"]]["line"],
                sites[call["site"]]["function"],
            )
            for call in calls(log)[1:-1]
        }
        assert places == {("program.py", 4, "exchange")}


def test_functions_that_a_program_looks_up_by_name_are_recorded(record, monkeypatch):
    """As numba-mpi, cffi and Julia do; a preloaded library that asks for what follows it gets that."""
    monkeypatch.setenv("LD_PRELOAD", os.fspath(memory.LIBRARY))
    completed, logs = record(1, """\
        import ctypes
        from mpi4py import MPI
        names = {line.split()[-1] for line in open("/proc/self/maps") if "/libmpi." in line}
        library, = map(ctypes.CDLL, names)
        handle = ctypes.c_int if MPI._sizeof(MPI.Comm) == 4 else ctypes.c_void_p
        world = handle.from_address(MPI._addressof(MPI.COMM_WORLD))
        for _ in range(5):
            assert library.MPI_Barrier(world) == 0
        assert library.PMPI_Barrier(world) == 0
        assert not hasattr(library, "MPI_Barriers")
        assert ctypes.CDLL(None).MPI_Barrier(world) == 0
        assert ctypes.CDLL(None).strlen(b"four") == 4
        """)  # fmt: skip
    assert completed.returncode == 0, completed.stderr
    assert counted(logs[0])["Barrier"] in (6, 7)  # the name for profilers is Open MPI's Fortran functions', too


def test_the_start_at_an_import_has_the_line_of_the_program_not_of_importlib(record):
    _, logs = record(1, "import sys\nfrom mpi4py import MPI\n")
    sites = {item["id"]: item for item in decode(logs[0])[1] if item["kind"] == "site"}
    (start,) = calls(logs[0], "Init_thread")
    assert (os.path.basename(sites[start["site"]]["file"]), sites[start["site"]]["line"]) == ("program.py", 2)


def test_what_completes_is_recorded(record):
    _, logs = record(3, """\
        from mpi4py import MPI
        import numpy as np
        world = MPI.COMM_WORLD
        if world.rank == 0:
            data = np.zeros((2, 10), "b")
            requests = [world.Irecv(data[i], MPI.ANY_SOURCE) for i in range(2)]
            for _ in requests:
                MPI.Request.Waitany(requests)
            MPI.Request.Waitany(requests)
        else:
            MPI.Request.Waitall([world.Isend(np.zeros(world.rank, "b"), 0, world.rank)])
        """)  # fmt: skip
    completed = [entry for call in calls(logs[0], "Waitany") for entry in call["completed"]]
    assert sorted(entry[1:] for entry in completed) == [(1, 1, 1), (2, 2, 2)]
    assert {entry[0] for entry in completed} == {call["request"] for call in calls(logs[0], "Irecv")}
    assert [call["given"] for call in calls(logs[0], "Waitany")] == [2, 2, 2]
    assert calls(logs[1], "Waitall")[0]["completed"] == [(1, -2, -1, 0)]


def test_communicators_windows_and_regions(record):
    _, logs = record(4, """\
        from mpi4py import MPI
        import numpy as np
        world = MPI.COMM_WORLD
        row = world.Split(world.rank % 2, -world.rank)
        row.Set_name("row")
        row.Allreduce(np.zeros(3), np.zeros(3))
        row.Free()
        other = world.Split(world.rank // 2)
        between = other.Create_intercomm(0, world, 2 - world.rank // 2 * 2)
        between.Barrier()
        window = MPI.Win.Allocate(80, 8, comm=world)
        window.Lock(0)
        window.Put(np.zeros(2), 0)
        window.Unlock(0)
        window.Free()
        MPI.Pcontrol(0)
        MPI.Pcontrol(2)
        cart = world.Create_cart([2, 2], [True, True])
        cart.Neighbor_alltoall(np.zeros(4), np.zeros(4))
        """)  # fmt: skip
    records = decode(logs[1])[1]
    values = {record["id"]: record for record in records if record["kind"] == "communicator"}
    (reduction,) = calls(logs[1], "Allreduce")
    assert (reduction["bytes"], reduction["operation"]) == (24, 3)
    assert (values[reduction["communicator"]]["local"], values[reduction["communicator"]]["name"]) == ([3, 1], "row")
    between = values[calls(logs[1], "Barrier")[0]["communicator"]]
    assert (between["topology"], between["local"], between["remote"]) == (4, [0, 1], [2, 3])
    (put,) = calls(logs[1], "Put")
    assert (put["bytes"], put["target"], put["window"]) == (16, 0, 1)
    assert [record["bytes"] for record in records if record["kind"] == "window"] == [80]
    assert [call["level"] for call in calls(logs[1], "Pcontrol")] == [0, 2]
    (exchange,) = calls(logs[1], "Neighbor_alltoall")
    assert (exchange["bytes"], values[exchange["communicator"]]["topology"]) == (8, 1)


def test_what_libraries_look_at_in_a_collective_is_recorded(record):
    _, logs = record(2, """\
        from mpi4py import MPI
        import numpy as np
        world = MPI.COMM_WORLD
        ordered = MPI.Op.Create(lambda a, b, _: None, commute=False)
        other = MPI.Op.Create(lambda a, b, _: None, commute=True)
        data, twice = np.zeros(4, "f4"), np.zeros(8, "f8")
        world.Allreduce(MPI.IN_PLACE, data)
        world.Reduce(data, data.copy() if world.rank == 0 else None, ordered)
        world.Reduce_scatter_block(twice, np.zeros(4), other)
        world.Alltoall(MPI.IN_PLACE, twice)
        world.Alltoall(twice, twice.copy())
        world.Bcast([np.zeros(24, "u1"), MPI.BYTE.Create_contiguous(12).Commit()])
        world.Barrier()
        """)  # fmt: skip
    for log in logs:
        data, rows = (0, 0), []
        for item in decode(log)[1]:
            if item["kind"] == "data":
                data = item["element"], item["flags"]
            elif item["kind"] == "call" and item["name"] not in {"MPI_Init_thread", "MPI_Barrier", "MPI_Finalize"}:
                rows.append((item["name"].removeprefix("MPI_"), *data))
        assert rows == [
            ("Allreduce", 4, 0), ("Reduce", 4, 6), ("Reduce_scatter_block", 8, 2), ("Alltoall", 8, 1),
            ("Alltoall", 8, 0), ("Bcast", 12, 0),
        ]  # fmt: skip


def test_clocks_of_ranks_are_made_one(record):
    _, logs = record(2, "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()")
    ends = []
    for log in logs:
        header, records = decode(log)
        first, second = (record for record in records if record["kind"] == "clock")
        (barrier,) = calls(log, "Barrier")
        ends.append(first["seconds"] + (barrier["end"] - first["tick"]) / header["ticks_per_second"])
        assert second["seconds"] > first["seconds"]
    assert abs(ends[0] - ends[1]) < 1


def test_children_are_not_recorded_and_the_environment_is_clean(record):
    completed, logs = record(1, """\
        import os, subprocess, sys
        from mpi4py import MPI
        print(os.environ.get("LD_PRELOAD"), [name for name in os.environ if "COMMMODEL" in name])
        if os.fork() == 0:
            MPI.COMM_SELF.Get_name()
            os._exit(0)
        os.wait()
        subprocess.run([sys.executable, "-c", ""], check=True)
        """)  # fmt: skip
    assert completed.stdout.split("\n")[0] == "None []"
    assert counted(logs[0]) == {"Init_thread": 1, "Finalize": 1}


@pytest.mark.parametrize(
    ("end", "code", "leave"),
    [
        ("sys.exit(7)", 7, (1, 0)),
        ("os._exit(7)", 7, (None, None)),
        ("MPI.COMM_WORLD.Abort(9)", 9, (2, 9)),
    ],
)
def test_ends_of_a_program_are_its_own(tmp_path, end, code, leave):
    text = f"import os, sys; from mpi4py import MPI; MPI.COMM_WORLD.Barrier(); {end}"
    command = [*RECORD, str(tmp_path / "r"), "--", sys.executable, "-c", text]
    assert subprocess.run(command, env=ENVIRONMENT, capture_output=True).returncode == code
    assert len(calls(tmp_path / "r/rank-000000.log", "Barrier")) == 1
    assert last(tmp_path / "r/rank-000000.log") == leave


def test_a_killed_program_leaves_what_it_did(tmp_path):
    text = "import os; from mpi4py import MPI; MPI.COMM_WORLD.Barrier(); os.kill(os.getpid(), 9)"
    command = [*RECORD, str(tmp_path / "r"), "--", sys.executable, "-c", text]
    assert subprocess.run(command, env=ENVIRONMENT, capture_output=True).returncode == -signal.SIGKILL
    assert len(calls(tmp_path / "r/rank-000000.log", "Barrier")) == 1


def test_a_full_disk_ends_the_recording_not_the_program(tmp_path):
    limit = 2 << 20
    text = f"""if True:
        import resource
        from mpi4py import MPI
        resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
        for _ in range(300000):
            MPI.COMM_SELF.Iprobe()
        print("done")"""
    command = [*RECORD, str(tmp_path / "r"), "--", sys.executable, "-c", text]
    completed = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert (completed.returncode, completed.stdout) == (0, "done\n")
    log = tmp_path / "r/rank-000000.log"
    assert last(log)[0] == 5
    assert 1 << 20 < log.stat().st_size <= limit


def test_c_programs_are_recorded_with_their_pmpi_calls(tmp_path):
    source = tmp_path / "program.c"
    source.write_text(
        dedent("""\
        #include <mpi.h>
        int main(int argc, char **argv) {
            char sent = 0, received = 0;
            MPI_Request requests[2];
            MPI_Init(&argc, &argv);
            for (int i = 0; i < 5; i++) {
                MPI_Irecv(&received, 1, MPI_CHAR, 0, 1, MPI_COMM_SELF, &requests[0]);
                PMPI_Isend(&sent, 1, MPI_CHAR, 0, 1, MPI_COMM_SELF, &requests[1]); /* as Open MPI's Fortran does */
                MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            }
            return MPI_Finalize();
        }
        """)
    )
    subprocess.run([find("mpicc"), str(source), "-o", str(tmp_path / "program")], check=True)
    completed = launch(2, *RECORD, tmp_path / "r", "--", tmp_path / "program")
    assert completed.returncode == 0, completed.stderr
    assert counted(tmp_path / "r/rank-000001.log") == {"Init": 1, "Irecv": 5, "Isend": 5, "Waitall": 5, "Finalize": 1}
    about = json.loads((tmp_path / "r/recording.json").read_text())
    assert (about["format"], about["version"], about["command"]) == (
        "commmodel-recording", 1, [str(tmp_path / "program")],
    )  # fmt: skip


@pytest.mark.skipif(shutil.which("addr2line") is None, reason="no addr2line")
def test_functions_of_programs_without_debugging_information_are_named(tmp_path, monkeypatch):
    source = """
        #include <mpi.h>
        namespace {
        template <class Number> __attribute__((noinline)) void combine(Number *from, Number *into) {
            MPI_Allreduce(from, into, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
        }
        int main(int argc, char **argv) {
            double sums[2] = {1, 0};
            MPI_Init(&argc, &argv);
            combine(sums, sums + 1);
            return MPI_Finalize();
        }
        """
    (tmp_path / "program.cpp").write_text(source)
    monkeypatch.chdir(tmp_path)
    subprocess.run([find("mpicxx"), "-w", "program.cpp", "-o", "program"], check=True)
    completed = launch(1, *RECORD, "r", "--", "./program")
    assert completed.returncode == 0, completed.stderr
    monkeypatch.chdir("/")
    functions = {site.function.partition("@0x")[0] for site in load(tmp_path / "r").sites}
    assert functions == {"", "combine", "main"}


@pytest.mark.parametrize("words", ["true", "sleep 100", f"{sys.executable} -c 'from mpi4py import MPI'"])
def test_a_folder_that_exists_ends_all_ranks_in_one_line(tmp_path, words):
    completed = launch(3, *RECORD, tmp_path, "--", *shlex.split(words))
    assert completed.returncode == 2
    assert error_lines(completed, "commmodel") == [
        f"commmodel: {tmp_path} exists: choose another folder, or replace it with --force"
    ]


def test_the_only_rank_gets_an_exception(tmp_path, monkeypatch):
    for name in (*launchers._SIZES, *launchers._RANKS, launchers._STEP_SIZE):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InputError, match="exists: choose another folder"):
        become(["true"], tmp_path)


def test_a_program_that_leaves_no_recording_is_told_once(tmp_path):
    with_mpi = f"{sys.executable} -c 'from mpi4py import MPI'"
    killed = f"{sys.executable} -c 'from mpi4py import MPI; import os; os.kill(os.getpid(), 9)'"
    words = {"true": 1, f"{sys.executable} -c pass": 1, with_mpi: 0, f"env -u LD_PRELOAD {with_mpi}": 1}
    for number, (program, count) in enumerate(words.items()):
        completed = launch(2, *RECORD, tmp_path / str(number), "--", *shlex.split(program))
        assert completed.returncode == 0
        assert completed.stderr.count("record: nothing is recorded: the program has not called MPI_Init") == count
    completed = launch(2, *RECORD, tmp_path / "killed", "--", *shlex.split(killed))
    assert "nothing is recorded" not in completed.stderr


def test_a_program_may_wait_for_all_of_its_children(tmp_path):
    code = "import os; print('waiting'); os.wait()"
    completed = launch(1, *RECORD, tmp_path / "r", "--", sys.executable, "-c", code)
    assert "ChildProcessError" in completed.stderr


PYTHON_LIKE = Path(support.__path__[0]) / "python_like.c"


@pytest.mark.parametrize(
    ("definitions", "is_known"),
    [
        ((), True),
        (("-DVERSION=0x030f00f0",), False),
        (("-DFREE_THREADED=1",), False),
        (("-DOWNER=4096",), False),
    ],
    ids=["3.14", "a later version", "without GIL", "a table that makes no sense"],
)
def test_frames_are_read_where_the_table_for_debuggers_says_and_else_not(tmp_path, definitions, is_known):
    program, folder = tmp_path / "program", tmp_path / "recording"
    words = [find("mpicc"), "-w", "-rdynamic", *definitions, str(PYTHON_LIKE), "-o", str(program)]
    subprocess.run(words, check=True)
    launch(1, *RECORD, folder, "--", program)
    recording = load(folder)
    lines = {(site.file, site.line, site.function) for site in recording.sites if site.language == 1}
    assert lines == ({("/home/ada/solver.py", 42, "step")} if is_known else set())
    assert ("no call sites" in recording.texts(0)) is not is_known


def test_ranks_that_share_processors_are_told(record, tmp_path):
    processor = min(os.sched_getaffinity(0))
    completed, _ = record(2, f"""\
        import os
        os.sched_setaffinity(0, {{{processor}}})
        from mpi4py import MPI
        """)  # fmt: skip
    assert completed.returncode == 0, completed.stderr
    recording = load(tmp_path / "recording")
    (line,) = recording.oversubscription
    assert line.startswith("2 ranks shared 1 processor of ")
    assert recording.texts(0)["processors"] == str(processor)
