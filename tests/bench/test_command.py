"""The benchmark as its user runs it: mpiexec, a results file, and what happens when something is wrong."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from support.commands import joined
from support.launching import ENVIRONMENT, error_lines, find, launch

from commmodel import results
from commmodel.bench.options import KERNELS, parse
from commmodel.errors import InputError
from commmodel.results.configurations import Pairs, Ping, PingPong, Stream, Threshold

QUICK = ("--sizes", "1,1KiB,64KiB", "--time", "0.5s")


def bench(ranks, *arguments):
    return launch(ranks, sys.executable, "-m", "commmodel.bench", *arguments)


def complaint(completed):
    """Return what the benchmark itself said, which must be one line."""
    lines = error_lines(completed, "commmodel.bench")
    assert len(lines) == 1, completed.stderr
    assert "Traceback" not in completed.stderr
    return lines[0]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """One run of everything on two ranks."""
    output = tmp_path_factory.mktemp("bench") / "results.jsonl"
    completed = bench(2, *QUICK, "--seed", "7", "-o", output)
    assert completed.returncode == 0, completed.stderr
    return output, completed


@pytest.mark.mpi
def test_a_run_without_kernels_measures_a_sensible_set(measured):
    output, completed = measured
    (launched,) = results.load(output).launches
    kinds = Counter(type(record.configuration) for record in launched.records)
    assert kinds == {Threshold: 1, PingPong: 3, Ping: 6}
    assert f"next: commmodel fit {output}" in joined(completed.stdout)


@pytest.mark.mpi
def test_the_header_says_on_what_was_measured(measured):
    header = results.load(measured[0]).launches[0].header
    assert [rank.rank for rank in header.ranks] == [0, 1]
    assert header.mpi.abi in {"mpich", "openmpi", "mpiabi"}
    assert header.mpi.version
    host = header.hosts[0]
    assert host.cpus >= 1
    assert host.cpu_model
    assert host.load is not None
    assert host.other_processes is not None
    assert host.clock.kind in {"tsc", "cntvct", "timebase", "clock_gettime"}
    assert 0 <= host.clock.resolution < 1e-5
    assert host.clock.against_wtime is not None
    assert header.buffers.alignment >= 4096
    assert header.options.seed == 7
    assert set(header.placement) <= {"same-socket", "same-node"}  # as the machine and its launcher have it
    assert list(header.placement.values()) == [((0, 1),)]
    one_socket = header.ranks[0].socket is not None and header.ranks[0].socket == header.ranks[1].socket
    assert ("same-socket" in header.placement) == one_socket
    assert "-m" in header.command


@pytest.mark.mpi
def test_every_record_has_its_samples_and_its_reason_to_stop(measured):
    for record in results.load(measured[0]).records:
        if isinstance(record.configuration, Threshold):
            low, above = record.bracket
            assert record.samples == (low,)
            assert above is None or above == low + 1
        else:
            assert len(record.samples) >= 3  # of a message that takes long on a busy machine
            assert min(record.samples) > 0
            assert record.stop in {"interval", "time", "repetitions"}
            assert record.warmup >= 1
            assert record.batch >= 1


@pytest.mark.mpi
def test_every_size_has_a_record(measured):
    configurations = [record.configuration for record in results.load(measured[0]).records]
    assert {item.message_size for item in configurations if isinstance(item, PingPong)} == {1, 1024, 65536}


@pytest.mark.any_library
@pytest.mark.mpi
def test_the_seed_decides_the_order(measured, tmp_path):
    orders = []
    for seed in ("7", "8"):
        output = tmp_path / f"{seed}.jsonl"
        assert bench(2, *QUICK, "--seed", seed, "-o", output).returncode == 0
        orders.append([record.configuration for record in results.load(output).records])
    assert orders[0] == [record.configuration for record in results.load(measured[0]).records]
    assert orders[0] != orders[1]
    assert set(orders[0]) == set(orders[1])


@pytest.mark.mpi
def test_four_ranks_make_two_pairs(tmp_path):
    output = tmp_path / "results.jsonl"
    completed = bench(4, "pairs", "stream", "pingpong", "--sizes", "8,1MiB", "--time", "0.6s", "-o", output)
    assert completed.returncode == 0, completed.stderr
    (launched,) = results.load(output).launches
    configurations = [record.configuration for record in launched.records]
    planned = []
    for path, pairs in launched.header.placement.items():
        assert pairs[0][0] == 0
        planned += [PingPong(8, path), PingPong(1 << 20, path)]
        for count in range(1, len(pairs) + 1):
            planned += [Pairs(8, count, path), Pairs(1 << 20, count, path)]
            planned += [Stream(8, count, path, 64), Stream(1 << 20, count, path, 16)]
    assert Counter(configurations) == Counter(planned)
    assert Stream in map(type, configurations)
    assert all(min(record.samples) > 0 for record in launched.records)
    if (os.cpu_count() or 1) < 4:
        assert "ranks share" in completed.stderr


@pytest.mark.mpi
def test_one_rank_is_told_how_to_start():
    completed = bench(1, "--quick")
    assert completed.returncode == 3
    assert "mpiexec -n 2 python -m commmodel.bench" in complaint(completed)


@pytest.mark.any_library
@pytest.mark.mpi
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["latency"], f"unknown kernel 'latency': choose one of {', '.join(KERNELS)}"),
        (["--sizes", "4:1"], "--sizes: '4:1': the range ends before it begins"),
        (["--sizes", "64K"], "did you mean kB or KiB?"),
        (["--sizes", "-1"], "--sizes"),
        (["--node-pairs", "0:2"], "--node-pairs: '0:2': counts begin at 1"),
        (["--time", "0s"], "--time: '0s' must be more than 0"),
        (["--ci", "two"], "--ci: 'two' is no share"),
        (["--batch", "0"], "--batch: '0' is no whole number from 1 up"),
        (["--frobnicate"], "unrecognized arguments: --frobnicate"),
        (["--huge-pages", "perhaps"], "invalid choice: 'perhaps'"),
        (["--sizes", "4TiB"], "do not fit into a host's free memory"),
    ],
)
def test_a_wrong_word_is_one_line_from_rank_0_and_exit_code_2(arguments, words, tmp_path):
    output = tmp_path / "results.jsonl"
    completed = bench(2, *arguments, "-o", output)
    assert completed.returncode == 2
    assert words in complaint(completed)
    assert not output.exists()


@pytest.mark.mpi
def test_more_pairs_than_ranks_give_is_exit_code_3(tmp_path):
    completed = bench(2, "pairs", "--pairs", "2", "-o", tmp_path / "results.jsonl")
    assert completed.returncode == 3
    assert "there are 1: start more ranks" in complaint(completed)


@pytest.mark.mpi
def test_more_pairs_of_hosts_than_there_are_is_exit_code_3_and_says_how_many_hosts_they_take(tmp_path):
    completed = bench(2, "stream", "--node-pairs", "1:3", "-o", tmp_path / "results.jsonl")
    assert completed.returncode == 3
    assert "there are 0: start ranks on 6 hosts, or ask for at most 1" in complaint(completed)


@pytest.mark.mpi
def test_help_is_printed_once():
    completed = bench(2, "--help")
    assert completed.returncode == 0
    assert completed.stdout.count("usage:") == 1


def alone(*arguments):
    """Run the benchmark without a launcher before it."""
    command = [sys.executable, "-m", "commmodel.bench", *map(str, arguments)]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=900)


@pytest.mark.any_library
@pytest.mark.mpi
def test_several_launches_go_into_one_file_and_go_on_where_they_were_stopped(tmp_path):
    output = tmp_path / "results.jsonl"
    words = ("pingpong", *QUICK, "--visits", "1", "--launcher", f"{find('mpiexec')} -n 2", "-o", output)
    completed = alone(*words, "--launches", "2")
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.startswith(f"{output}: 2 launches, 6 records in ")
    # As if the third had been stopped within its first record.
    first = output.read_bytes().splitlines(keepends=True)
    header = first[0].replace(b'"launch":"', b'"launch":"c')
    (tmp_path / ".results.jsonl.launch").write_bytes(header + first[1] + b"{")
    completed = alone(*words, "--launches", "4", "--resume", "--json")
    assert completed.returncode == 0, completed.stderr
    assert json.loads(completed.stdout)["launches"] == 4
    loaded = results.load(output)
    assert len({launch.header.launch for launch in loaded.launches}) == 5
    assert [launch.header.resumes for launch in loaded.launches] == [False, False, False, True, False]
    assert [len(run.records) for run in results.whole_launches(loaded)] == [3, 3, 3, 3]
    assert loaded.launches[2].records == loaded.launches[0].records[:1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.jsonl"]
    assert "complete it with --resume" in complaint(alone(*words, "--launches", "5"))


@pytest.mark.mpi
def test_launches_are_not_started_from_within_a_launch(tmp_path):
    completed = bench(2, "--launches", "2", "-o", tmp_path / "r.jsonl")
    assert completed.returncode == 2
    assert "--launches starts the launcher itself" in complaint(completed)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--launches", "2", "--launcher", "none-such -n 2"), 3, "none-such: No such file or directory"),
        (("--launches", "2", "--launcher", "'"), 2, "No closing quotation"),
        (("--launches", "2", "--launcher", " "), 2, "it is empty"),
    ],
)
def test_a_launcher_that_cannot_be_started_is_said_in_one_line(words, code, message, tmp_path):
    completed = alone(*words, "-o", tmp_path / "r.jsonl")
    assert completed.returncode == code
    assert message in complaint(completed)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [(["--launches", "0"], "--launches: '0'"), (["--launcher", "srun"], "--launcher goes with --launches")],
)
def test_numbers_of_launches_that_cannot_be_are_refused(words, message):
    with pytest.raises(InputError, match=message):
        parse(words)


@pytest.mark.mpi
def test_an_existing_file_is_left_alone(measured):
    before = measured[0].read_bytes()
    completed = bench(2, "-o", measured[0])
    assert completed.returncode == 2
    assert "complete it with --resume, replace it with --force" in complaint(completed)
    assert measured[0].read_bytes() == before


@pytest.mark.any_library
@pytest.mark.mpi
def test_an_existing_file_is_replaced_by_force(tmp_path):
    output = tmp_path / "results.jsonl"
    output.write_text("of last year")
    completed = bench(2, "pingpong", *QUICK, "--visits", "1", "--force", "-o", output)
    assert completed.returncode == 0, completed.stderr
    (before,) = results.load(output).launches
    words = ("pingpong", *QUICK, "--visits", "1", "--launcher", f"{find('mpiexec')} -n 2", "--launches", "1")
    assert alone(*words, "--force", "-o", output).returncode == 0
    (after,) = results.load(output).launches
    assert before.header.launch != after.header.launch
    refused = bench(2, "--force", "--resume", "-o", output)
    assert refused.returncode == 2
    assert "--resume completes a file and --force begins it anew" in complaint(refused)


@pytest.mark.any_library
@pytest.mark.mpi
def test_a_damaged_file_is_not_resumed_and_stays_as_it_is(tmp_path):
    output = tmp_path / "results.jsonl"
    output.write_text('{"type":"header","format":"commmodel-results"\n')
    completed = bench(2, "--resume", "-o", output)
    assert completed.returncode == 2
    assert "line 1" in complaint(completed)
    assert output.read_text().endswith("\n")


@pytest.mark.any_library
@pytest.mark.mpi
@pytest.mark.parametrize("resume", [(), ("--resume",)])
def test_an_empty_file_as_a_full_disk_leaves_it_is_begun(resume, tmp_path):
    output = tmp_path / "results.jsonl"
    output.touch()
    completed = bench(2, "pingpong", "--sizes", "8", "--time", "0.2s", "-o", output, *resume)
    assert completed.returncode == 0, completed.stderr
    assert [launched.header.resumes for launched in results.load(output).launches] == [False]


@pytest.mark.any_library
@pytest.mark.mpi
def test_a_resumed_run_may_take_longer_but_not_measure_something_else(tmp_path):
    output = tmp_path / "results.jsonl"
    begun = bench(2, "pingpong", "--sizes", "8,64", "--time", "0.5s", "--visits", "1", "-o", output)
    assert begun.returncode == 0
    lines = output.read_bytes().splitlines(keepends=True)
    output.write_bytes(b"".join(lines[:-1]))
    completed = bench(2, "--resume", "--quick", "--time", "1s", "--ci", "3%", "-o", output)
    assert completed.returncode == 0, completed.stderr
    first, second = results.load(output).launches
    assert (second.header.options.time, second.header.options.ci) == (1.0, 0.03)
    assert second.header.options.sizes == first.header.options.sizes
    assert len(second.records) == 1
    for words in (("--sizes", "8"), ("--repetitions", "7"), ("--seed", "1"), ("--visits", "4"), ("stream", "ping")):
        typed = words[0] if words[0].startswith("-") else " ".join(words)
        assert f"{typed} differs" in complaint(bench(2, "--resume", *words, "-o", output))


@pytest.mark.any_library
@pytest.mark.mpi
def test_a_file_that_a_living_launch_writes_is_not_resumed(tmp_path):
    output = tmp_path / "results.jsonl"
    command = [find("mpiexec"), "-n", "2", sys.executable, "-m", "commmodel.bench", "--ci", "0.01%", "--time", "60s"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([*command, "-o", str(output)], env=ENVIRONMENT, start_new_session=True, **quiet)
    try:
        while not output.exists() or output.read_bytes().count(b"\n") < 2:
            assert process.poll() is None
            time.sleep(0.05)
        refused = bench(2, "--resume", "-o", output)
        assert refused.returncode == 2
        assert "is still writing into it: wait for it or end it" in complaint(refused)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=900)
    counts = Counter(record.configuration for record in results.load(output).records)
    assert set(counts.values()) == {1}


@pytest.mark.any_library
@pytest.mark.mpi
def test_a_full_disk_ends_the_run_in_one_line_and_leaves_what_was_measured(tmp_path):
    output = tmp_path / "results.jsonl"
    code = (
        "import resource; from mpi4py import MPI\n"  # MPI first: it makes files of its own
        "resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, resource.RLIM_INFINITY))\n"
        "from commmodel.bench.command import run\n"
        f"run(['pingpong', '--ci', '0.01%', '--sizes', '1:4KiB', '--time', '5s', '-o', {str(output)!r}])"
    )
    completed = launch(2, sys.executable, "-c", code)
    assert completed.returncode != 0
    assert "go on with --resume" in complaint(completed)
    assert results.load(output).launches


def kill_run(output: Path) -> None:
    """Start a run on two ranks, and SIGKILL every process of it once three records are there."""
    command = [find("mpiexec"), "-n", "2", sys.executable, "-m", "commmodel.bench", "--seed", "3", "--ci", "0.01%"]
    command += ["--sizes", "1:32", "--time", "8s", "--visits", "1", "-o", str(output)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=ENVIRONMENT, start_new_session=True, **quiet)
    while not output.exists() or output.read_bytes().count(b"\n") < 4:
        assert process.poll() is None
        time.sleep(0.05)
    numbers = [entry for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    killed = [entry for entry in numbers if str(output).encode() in _content(entry / "cmdline")]
    for entry in killed:
        os.kill(int(entry.name), signal.SIGKILL)
    process.wait(timeout=900)
    while any(_state(entry) not in {b"", b"Z", b"X"} for entry in killed):  # until then the file may be locked
        time.sleep(0.01)


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # the process ended meanwhile
        return b""


def _state(process: Path) -> bytes:
    return _content(process / "stat").rpartition(b") ")[2][:1]


@pytest.mark.mpi
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="finds the ranks through /proc")
def test_a_killed_run_keeps_what_was_finished_and_resumes(tmp_path):
    output = tmp_path / "results.jsonl"
    kill_run(output)
    with output.open("ab") as file:
        file.write(b'{"type":"record","configu')  # as if the kill had come in the middle of a write
    result = list(results.load(output).records)
    assert len(result) >= 3
    planned = 1 + 6 + 12  # and no sizes between, of which a busy machine leaves some to a further run

    refused = bench(3, "--resume", "-o", output)
    assert refused.returncode == 2
    assert "was measured on 2 ranks, now it is 3" in complaint(refused)
    refused = bench(2, "--resume", "--sizes", "8", "-o", output)
    assert refused.returncode == 2
    assert "--sizes differs" in complaint(refused)

    completed = bench(2, "--resume", "--json", "--ci", "50%", "-o", output)
    assert completed.returncode == 0, completed.stderr
    whole = results.load(output)
    assert list(whole.records)[: len(result)] == result
    counts = Counter(record.configuration for record in whole.records)
    assert len(counts) == planned
    assert set(counts.values()) == {1}
    assert [launched.header.resumes for launched in whole.launches] == [False, True]

    again = bench(2, "--resume", "-o", output)
    assert again.returncode == 0
    assert "nothing left to measure" in again.stdout
    assert json.loads(bench(2, "--resume", "--json", "-o", output).stdout)["records"] == 0
    assert results.load(output) == whole


def read_all(terminal: int, into: list[bytes]) -> None:
    """Read a pseudo terminal until its other side is closed."""
    while True:
        try:
            into.append(os.read(terminal, 4096))
        except OSError:
            return


@pytest.mark.mpi
def test_a_progress_bar_is_drawn_where_the_launcher_writes_to_a_terminal(tmp_path):
    """A rank's own standard error is a pipe under mpiexec."""
    terminal, end = os.openpty()
    rows: list[bytes] = []
    reader = threading.Thread(target=read_all, args=(terminal, rows))
    reader.start()
    command = [find("mpiexec"), "-n", "2", sys.executable, "-m", "commmodel.bench", "pingpong"]
    command += ["--sizes", "1:8", "--time", "0.2s", "--visits", "1", "-o", str(tmp_path / "results.jsonl")]
    completed = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=end, timeout=900)
    os.close(end)
    reader.join(timeout=900)
    os.close(terminal)
    assert completed.returncode == 0
    assert b"4/4" in b"".join(rows)


@pytest.mark.any_library
@pytest.mark.mpi
def test_a_second_campaign_into_the_same_file_is_refused_and_harms_nothing(tmp_path):
    output, launcher, go = (tmp_path / name for name in ("results.jsonl", "launcher", "go"))
    output.touch()  # as a full disk leaves it
    launcher.write_text(f'while [ ! -e "{go}" ]; do sleep 0.05; done; exec "{find("mpiexec")}" -n 2 "$@"')
    words = ["pingpong", "--sizes", "8", "--time", "0.2s", "--launches", "2", "-o", str(output)]
    command = [sys.executable, "-m", "commmodel.bench", *words, "--launcher", f"bash {launcher}"]
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": ENVIRONMENT}
    first = subprocess.Popen(command, **quiet)
    while not (tmp_path / ".results.jsonl.lock").exists():
        assert first.poll() is None, first.communicate()
        time.sleep(0.02)
    second = subprocess.run(command, check=False, timeout=900, **quiet)
    go.touch()
    assert second.returncode == 2
    assert "results.jsonl: process" in second.stderr
    assert "is still writing into it" in second.stderr
    error_lines = first.communicate(timeout=900)
    assert first.returncode == 0, error_lines
    assert len(results.load(output).launches) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"results.jsonl", "launcher", "go"}


@pytest.mark.any_library
@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [2, 4])
def test_what_would_begin_far_too_late_is_left_to_resume(ranks, tmp_path):
    output = tmp_path / "results.jsonl"
    impatient = tmp_path / "impatient.py"
    impatient.write_text(  # on ranks that stay
        "from unittest import mock\n"
        "from commmodel.bench import command, driver\n"
        "ends = iter([1e6, 1e6])\n"
        "with mock.patch.object(driver, 'latest', lambda seconds: next(ends, 0.0)):\n"
        "    code = command.run()\n"
        "raise SystemExit(code)\n"
    )
    words = "pairs", "pingpong", "--sizes", "1,2", "--time", "0.5s", "-o", output
    completed = launch(ranks, sys.executable, impatient, *words, "--json")
    assert completed.returncode == 0, completed.stderr
    (begun,) = results.load(output).launches
    assert len(begun.records) == 2
    planned = begun.header.planned
    warning = f"{planned - 2} of {planned} configurations are not measured, as the time is long over"
    assert any(warning in item for item in json.loads(completed.stdout)["warnings"])
    completed = bench(ranks, "--resume", "-o", output)
    assert completed.returncode == 0, completed.stderr
    assert "not measured" not in completed.stderr
    launches = results.load(output).launches
    assert len({record.configuration for element in launches for record in element.records}) == planned
