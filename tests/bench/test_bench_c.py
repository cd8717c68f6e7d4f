"""bench_c builds with the MPI compiler at hand; its program and its comparison do what they say.

Times are not looked at: on a shared machine they say nothing. pytest itself starts no MPI here.
"""

import json
import shutil
import subprocess
import sys

import pytest
from support.launching import ENVIRONMENT, error_lines, find, launch
from support.paths import ROOT

from commmodel import results

pytestmark = pytest.mark.mpi
BENCH_C = ROOT / "bench_c"


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    missing = [name for name in ("mpicc", "mpiexec") if not find(name)]
    missing += [name for name in ("make", "cc") if not shutil.which(name)]
    if missing or not BENCH_C.is_dir():
        pytest.skip(f"bench_c cannot be built here: no {', '.join(missing) or BENCH_C}")
    folder = tmp_path_factory.mktemp("build")
    command = ["make", "-C", str(BENCH_C), f"MPICC={find('mpicc')}", f"BUILD={folder}"]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return folder


def measure(build, output, *options):
    completed = launch(2, build / "yardstick", "-o", output, *options)
    assert completed.returncode == 0, completed.stderr
    return results.load(output)


@pytest.mark.any_library
def test_program_writes_one_record_for_each_size_in_the_order_asked(build, tmp_path):
    measured = measure(build, tmp_path / "r.jsonl", "--sizes", "1024,0,70000", "--repetitions", "30", "--batch", "4")
    records = list(measured.records)
    assert measured.notes == ()
    assert [record.configuration for record in records] == [
        results.configurations.PingPong(size, "same-node", 4) for size in (1024, 0, 70000)
    ]
    assert all(len(record.samples) == 30 for record in records)
    assert all((record.unit, record.batch, record.stop) == ("s", 4, "repetitions") for record in records)
    assert all(0 < min(record.samples) < 1 for record in records)
    # Each sample is the mean time of one of eight messages; thirty of them cannot last longer than all of it.
    assert all(8 * sum(record.samples) < record.duration for record in records)


@pytest.mark.parametrize("options", [[], ["--as-osu"]])
def test_program_measures_streams_and_allreduces_as_our_kernels_do(build, tmp_path, options):
    loops = ["allreduce", "pingpong", "stream"]
    sizes = ["--sizes", "1,1024,1048576", "--repetitions", "3"]
    measured = measure(build, tmp_path / "r.jsonl", *loops, *sizes, *options)
    configurations = [record.configuration for record in measured.records]
    buffers, windows = ("one", (64, 64, 64)) if options else ("each", (64, 64, 16))
    values = (1, 1024, 1 << 20)
    assert configurations == [
        *(results.configurations.PingPong(size, "same-node") for size in values),
        *(
            results.configurations.Stream(size, 1, "same-node", window, buffers=buffers)
            for size, window in zip(values, windows, strict=True)
        ),
        *(results.configurations.Collective("allreduce", size, 2) for size in values),
    ]
    assert all(len(record.samples) == 3 and min(record.samples) > 0 for record in measured.records)


@pytest.mark.parametrize("level", ["single", "multiple"])
def test_program_starts_mpi_at_the_level_asked_for_and_says_so(build, tmp_path, level):
    measured = measure(build, tmp_path / "r.jsonl", "--sizes", "8", "--repetitions", "2", "--thread-level", level)
    mpi = measured.launches[0].header.mpi
    assert (mpi.thread_level, mpi.thread_level_asked) == (level, level)


@pytest.mark.any_library
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("against_c", ("ours / C", "control: C / C", "ours / as OSU", "stream, one buffer")),
        ("thread_level", ("multiple / single", "control: single / single")),
    ],
)
def test_launches_in_turn_end_in_a_table(build, script, expected):
    command = [sys.executable, "-m", f"benchmarks.speed.{script}", "--mpiexec", find("mpiexec")]
    command += ["--launches", "2", "--sizes", "8", "--repetitions", "3", "--time", "0.2s"]
    command += ["--build", build] if script == "against_c" else []
    completed = subprocess.run(
        [*map(str, command)], env=ENVIRONMENT, cwd=BENCH_C.parent, capture_output=True, text=True
    )
    assert completed.returncode == 0, completed.stderr
    for words in (*expected, "ping-pong", "stream, a buffer each", "allreduce"):
        assert words in completed.stdout
    if script == "against_c":
        assert "allreduce, 8 B: within 2 % of C: unclear" in completed.stdout  # two launches tell nothing


def test_header_says_on_what_was_measured(build, tmp_path):
    output = tmp_path / "r.jsonl"
    (launched,) = measure(build, output, "--sizes", "8", "--repetitions", "5", "--huge-pages", "system").launches
    header = launched.header
    assert header.command[1:3] == ("-o", str(output))
    assert header.mpi.version
    assert header.mpi.abi in {"mpich", "openmpi", "mpiabi"}
    assert [(rank.rank, rank.host) for rank in header.ranks] == [(0, 0), (1, 0)]
    (host,) = header.hosts
    assert host.clock is not None
    assert host.clock.frequency > 1e6
    assert host.clock.resolution > 0
    assert header.buffers == results.Buffers(2 << 20, "system")


def test_default_sizes_double_from_1_byte_to_4_mebibytes(build, tmp_path):
    measured = measure(build, tmp_path / "r.jsonl", "--repetitions", "2")
    assert [record.configuration.message_size for record in measured.records] == [2**n for n in range(23)]


@pytest.mark.any_library
def test_any_file_name_survives_in_the_header(build, tmp_path):
    output = tmp_path / 'a "b" \\ \t é.jsonl'
    (launched,) = measure(build, output, "--sizes", "1", "--repetitions", "1").launches
    assert launched.header.command[2] == str(output)


@pytest.mark.any_library
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--sizes", "1,z"], "--sizes 1,z: must be"),
        (["--sizes", "4294967296"], "--sizes 4294967296: must be"),
        (["--sizes", ""], "--sizes : must be"),
        (["--repetitions", "0"], "--repetitions 0: must be"),
        (["--batch", "-1"], "--batch -1: must be"),
        (["--batch", "1x"], "--batch 1x: must be"),
        (["--huge-pages", "maybe"], "--huge-pages maybe: must be"),
        (["--speed"], "--speed: no such option"),
        (["--batch"], "--batch: no such option, or its value is missing"),
        (["more.jsonl"], "more.jsonl: must be one of pingpong stream allreduce start-up"),
        (["--stream-buffers", "two"], "--stream-buffers two: must be one of each one"),
        (["--thread-level", "many"], "--thread-level many: must be one of single"),
    ],
)
def test_wrong_arguments_of_the_program_are_one_line_and_exit_code_2(build, tmp_path, options, expected):
    output = tmp_path / "r.jsonl"
    completed = launch(2, build / "yardstick", "-o", output, *options)
    (line,) = error_lines(completed, "yardstick")
    assert line.startswith(f"yardstick: {expected}")
    assert completed.returncode == 2
    assert not output.exists()


@pytest.mark.any_library
def test_program_overwrites_nothing(build, tmp_path):
    output = tmp_path / "r.jsonl"
    output.write_text("precious")
    completed = launch(2, build / "yardstick", "-o", output)
    assert error_lines(completed, "yardstick") == [f"yardstick: {output} exists: name another file with -o"]
    assert completed.returncode == 2
    assert output.read_text() == "precious"


@pytest.mark.any_library
def test_program_says_where_it_cannot_write(build, tmp_path):
    completed = launch(2, build / "yardstick", "-o", tmp_path / "no" / "r.jsonl")
    (line,) = error_lines(completed, "yardstick")
    assert "cannot be written" in line
    assert completed.returncode == 2


def test_one_rank_is_told_to_start_two_and_exits_3(build, tmp_path):
    completed = launch(1, build / "yardstick", "-o", tmp_path / "r.jsonl")
    (line,) = error_lines(completed, "yardstick")
    assert "mpiexec -n 2" in line
    assert completed.returncode == 3


def test_further_ranks_do_not_disturb_the_program(build, tmp_path):
    output = tmp_path / "r.jsonl"
    assert launch(3, build / "yardstick", "-o", output, "--sizes", "1", "--repetitions", "2").returncode == 0
    measured = results.load(output)
    assert len(measured.launches[0].header.ranks) == 3
    assert len(list(measured.records)) == 1


def compare(build, ranks, *options):
    return launch(ranks, sys.executable, BENCH_C / "compare.py", "--build", build, *options)


@pytest.mark.any_library
@pytest.mark.parametrize(
    ("loop", "contestants"),
    [
        ("pingpong", {"c_a", "c_b", "cython", "mpi4py"}),
        ("touched-pingpong", {"c_a", "c_b", "cython"}),
        ("blocking-train", {"c_a", "c_b", "cython"}),
        ("immediate-train", {"c_a", "c_b", "cython"}),
        ("unexpected", {"c_a", "c_b", "cython"}),
        ("persistent-allreduce", {"c_a", "c_b", "cython"}),
    ],
)
def test_comparison_reports_every_contestant_of_every_round(build, loop, contestants):
    options = ["--json", "--sizes", "0,1,2KiB", "--repetitions", "8", "--time", "1ms", "--batch", "2"]
    completed = compare(build, 2, loop, *options)
    assert completed.returncode == 0, completed.stderr
    report = json.loads(completed.stdout)
    assert (report["loop"], report["rounds"], report["batch"], report["tolerance"]) == (loop, 8, 2, 0.02)
    assert [result["message_size"] for result in report["results"]] == [0, 1, 2048]
    assert set(report["contestants"]) == contestants
    for result in report["results"]:
        assert set(result["rounds"]) == set(result["seconds"]) == contestants
        assert all(len(times) == 8 and min(times) > 0 for times in result["rounds"].values())
        assert set(result["ratios"]) == contestants - {"c_a"}
        for ratio in result["ratios"].values():
            assert ratio["minimum"] <= ratio["low"] <= ratio["median"] <= ratio["high"] <= ratio["maximum"]
        control, cython = (abs(result["ratios"][name]["median"] - 1) <= 0.02 for name in ("c_b", "cython"))
        expected = ("yes" if cython else "no") if control else "unclear"
        assert result["verdict"] == expected


@pytest.mark.any_library
@pytest.mark.parametrize(
    ("loop", "level"),
    [
        ("column-type", "multiple"), ("column-pack", "multiple"), ("threads", "multiple"),
        ("threads-window", "multiple"), ("threads", "single"),
    ],
)  # fmt: skip
def test_loops_with_buffers_of_their_own_are_compared(build, loop, level):
    words = [sys.executable, BENCH_C / "compare.py", "--build", build, loop, "--json", "--sizes", "8"]
    words += ["--repetitions", "7", "--time", "1ms"]
    completed = launch(2, "env", f"MPI4PY_RC_THREAD_LEVEL={level}", *words)
    if level == "single":
        assert "set MPI4PY_RC_THREAD_LEVEL=multiple" in error_lines(completed, "compare.py")[0]
        assert completed.returncode == 3
        return
    assert completed.returncode == 0, completed.stderr
    (result,) = json.loads(completed.stdout)["results"]
    assert set(result["rounds"]) == {"c_a", "c_b", "cython"}
    assert all(min(times) > 0 for times in result["rounds"].values())


def test_program_times_its_start(build, tmp_path):
    records = list(measure(build, tmp_path / "r.jsonl", "start-up").records)
    assert [record.configuration for record in records] == [
        results.configurations.StartUp(stage, 2) for stage in ("init", "first-barrier")
    ]
    (init,), (barrier,) = (record.samples for record in records)
    assert 0 < init <= barrier < 60


@pytest.mark.any_library
@pytest.mark.parametrize("loop", ["pingpong", "blocking-train"])
def test_comparison_prints_a_table_and_a_verdict_for_each_size(build, loop):
    completed = compare(build, 2, loop, "--sizes", "1,2KiB", "--repetitions", "7", "--time", "1ms")
    assert completed.returncode == 0, completed.stderr
    assert f"{loop}, time of one message" in completed.stdout
    assert "Cython / C A" in completed.stdout
    assert "\n1 B: Cython within 2.0 % of C: " in completed.stdout
    assert "\n2 KiB: Cython within 2.0 % of C: " in completed.stdout
    assert "\x1b" not in completed.stdout


@pytest.mark.any_library
@pytest.mark.parametrize(
    "options",
    [
        ["--repetitions", "6"],
        ["--batch", "0"],
        ["--sizes", "64K"],
        ["--sizes", "2GiB"],
        ["--time", "soon"],
        ["--fast"],
        ["train"],
    ],
)
def test_wrong_arguments_of_the_comparison_are_one_line_and_exit_code_2(build, options):
    completed = compare(build, 2, *options)
    assert len(error_lines(completed, "compare.py")) == 1
    assert completed.returncode == 2


def test_comparison_says_how_to_build_what_is_missing(tmp_path):
    if not find("mpiexec"):
        pytest.skip("no mpiexec")
    completed = compare(tmp_path, 2)
    (line,) = error_lines(completed, "compare.py")
    assert "make -C bench_c" in line
    assert completed.returncode == 2


def test_comparison_on_one_rank_exits_3(build):
    completed = compare(build, 1)
    assert "mpiexec -n 2" in error_lines(completed, "compare.py")[0]
    assert completed.returncode == 3
