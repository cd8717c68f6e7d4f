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
from launching import ENVIRONMENT, find, launch, said

from commmodel import results
from commmodel.bench.kernels import REGISTRY
from commmodel.bench.options import KERNELS, parse
from commmodel.bench.placement import place
from commmodel.results import Pairs, Ping, PingPong, Threshold

pytestmark = pytest.mark.skipif(find("mpiexec") is None, reason="no mpiexec beside this Python or on PATH")
QUICK = ("--sizes", "1,1KiB,64KiB", "--time", "0.5s")


def bench(ranks, *arguments):
    return launch(ranks, sys.executable, "-m", "commmodel.bench", *arguments)


def complaint(completed):
    """Return what the benchmark itself said, which must be one line."""
    lines = said(completed, "commmodel.bench")
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


def test_a_run_without_kernels_measures_a_sensible_set(measured):
    output, completed = measured
    (launched,) = results.read(output).launches
    kinds = Counter(type(record.configuration) for record in launched.records)
    assert kinds == {Threshold: 1, PingPong: 3, Ping: 6}
    assert f"next: commmodel fit {output}" in completed.stdout


def test_the_header_says_on_what_was_measured(measured):
    header = results.read(measured[0]).launches[0].header
    assert [rank.rank for rank in header.ranks] == [0, 1]
    assert header.mpi.abi in {"mpich", "openmpi", "mpiabi"}
    assert header.mpi.version
    host = header.hosts[0]
    assert host.cpus >= 1
    assert host.cpu_model
    assert host.load is not None
    assert host.clock.kind in {"tsc", "cntvct", "timebase", "clock_gettime"}
    assert 0 <= host.clock.resolution < 1e-5
    assert abs(host.clock.against_wtime) < 0.01
    assert header.buffers.alignment >= 4096
    assert header.options.seed == 7
    assert header.placement == {"same-node": ((0, 1),)}
    assert "-m" in header.command


def test_every_record_has_its_samples_and_its_reason_to_stop(measured):
    for record in results.read(measured[0]).records:
        if isinstance(record.configuration, Threshold):
            low, above = record.bracket
            assert record.samples == (low,)
            assert above is None or above == low + 1
        else:
            assert len(record.samples) >= 10
            assert min(record.samples) > 0
            assert record.stop in {"interval", "time", "repetitions"}
            assert record.warmup >= 1
            assert record.batch >= 1


def test_large_messages_take_longer_and_sends_of_small_ones_are_shorter_than_their_round_trip(measured):
    medians = {record.configuration: record.summary.median for record in results.read(measured[0]).records}
    assert medians[PingPong(65536, "same-node", 1)] > medians[PingPong(1, "same-node", 1)]


def test_the_seed_decides_the_order(measured, tmp_path):
    orders = []
    for seed in ("7", "8"):
        output = tmp_path / f"{seed}.jsonl"
        assert bench(2, *QUICK, "--seed", seed, "-o", output).returncode == 0
        orders.append([record.configuration for record in results.read(output).records])
    assert orders[0] == [record.configuration for record in results.read(measured[0]).records]
    assert orders[0] != orders[1]
    assert set(orders[0]) == set(orders[1])


def test_four_ranks_make_two_pairs(tmp_path):
    output = tmp_path / "results.jsonl"
    completed = bench(4, "pairs", "pingpong", "--sizes", "8", "--time", "0.3s", "-o", output)
    assert completed.returncode == 0, completed.stderr
    found = {record.configuration for record in results.read(output).records}
    assert found == {PingPong(8, "same-node", 1), Pairs(8, 1, "same-node"), Pairs(8, 2, "same-node")}
    if (os.cpu_count() or 1) < 4:
        assert "ranks share" in completed.stderr


def test_one_rank_is_told_how_to_start():
    completed = bench(1, "--quick")
    assert completed.returncode == 3
    assert "mpiexec -n 2 python -m commmodel.bench" in complaint(completed)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bandwidth"], f"unknown kernel 'bandwidth': choose from {', '.join(KERNELS)}"),
        (["--sizes", "4:1"], "--sizes: '4:1': the range ends before it begins"),
        (["--sizes", "64K"], "write it like 8, 64KiB"),
        (["--sizes", "-1"], "--sizes"),
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


def test_more_pairs_than_ranks_give_is_exit_code_3(tmp_path):
    completed = bench(2, "pairs", "--pairs", "2", "-o", tmp_path / "results.jsonl")
    assert completed.returncode == 3
    assert "there are 1: start more ranks" in complaint(completed)


def test_help_is_printed_once():
    completed = bench(2, "--help")
    assert completed.returncode == 0
    assert completed.stdout.count("usage:") == 1


def test_an_existing_file_is_left_alone(measured):
    before = measured[0].read_bytes()
    completed = bench(2, "-o", measured[0])
    assert completed.returncode == 2
    assert "complete it with --resume" in complaint(completed)
    assert measured[0].read_bytes() == before


def test_a_damaged_file_is_not_resumed_and_stays_as_it_is(tmp_path):
    output = tmp_path / "results.jsonl"
    output.write_text('{"type":"header","format":"commmodel-results"\n')
    completed = bench(2, "--resume", "-o", output)
    assert completed.returncode == 2
    assert "line 1" in complaint(completed)
    assert output.read_text().endswith("\n")


def test_a_full_disk_ends_the_run_in_one_line_and_leaves_what_was_measured(tmp_path):
    output = tmp_path / "results.jsonl"
    code = (
        "import resource; from mpi4py import MPI\n"  # MPI first: it makes files of its own
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))\n"
        "from commmodel.bench.command import run\n"
        f"run(['pingpong', '--ci', '0.01%', '--sizes', '1:4KiB', '--time', '5s', '-o', {str(output)!r}])"
    )
    completed = launch(2, sys.executable, "-c", code)
    assert completed.returncode != 0
    assert "go on with --resume" in complaint(completed)
    assert results.read(output).launches


def kill_run(output: Path) -> None:
    """Start a run on two ranks, and SIGKILL every process of it once three records are there."""
    command = [find("mpiexec"), "-n", "2", sys.executable, "-m", "commmodel.bench", "--seed", "3", "--ci", "0.01%"]
    command += ["--sizes", "1:4KiB", "--time", "20s", "-o", str(output)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=ENVIRONMENT, start_new_session=True, **quiet)
    while not output.exists() or output.read_bytes().count(b"\n") < 4:
        assert process.poll() is None
        time.sleep(0.05)
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and str(output).encode() in _command_line(entry):
            os.kill(int(entry.name), signal.SIGKILL)
    process.wait(timeout=60)


def _command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:  # it ended meanwhile
        return b""


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="finds the ranks through /proc")
def test_a_killed_run_keeps_what_was_finished_and_resumes(tmp_path):
    output = tmp_path / "results.jsonl"
    kill_run(output)
    with output.open("ab") as file:
        file.write(b'{"type":"record","configu')  # as if the kill had come in the middle of a write
    kept = list(results.read(output).records)
    assert len(kept) >= 3
    planned = 1 + 13 + 26

    refused = bench(3, "--resume", "-o", output)
    assert refused.returncode == 2
    assert "its ranks was 2, now it is 3" in complaint(refused)
    refused = bench(2, "--resume", "--sizes", "8", "-o", output)
    assert refused.returncode == 2
    assert "--sizes differs" in complaint(refused)

    completed = bench(2, "--resume", "--json", "-o", output)
    assert completed.returncode == 0, completed.stderr
    whole = results.read(output)
    assert list(whole.records)[: len(kept)] == kept
    counts = Counter(record.configuration for record in whole.records)
    assert len(counts) == planned
    assert set(counts.values()) == {1}
    assert [launched.header.resumes for launched in whole.launches] == [False, True]

    again = bench(2, "--resume", "-o", output)
    assert again.returncode == 0
    assert "nothing left to measure" in again.stdout
    assert json.loads(bench(2, "--resume", "--json", "-o", output).stdout)["records"] == 0
    assert results.read(output) == whole


def test_each_path_is_measured_with_as_many_pairs_as_it_has():
    asked = parse(["pairs", "--pairs", "1:4", "--sizes", "8"]).options
    plan = REGISTRY["pairs"].plan(asked, place([0, 0, 0, 0, 1, 1, 1, 1]))
    most = {path: max(one.pairs for one in plan if one.path == path) for path in ("same-node", "between-nodes")}
    assert most == {"same-node": 2, "between-nodes": 4}


def test_pairs_are_placed_within_a_node_and_between_nodes():
    assert place([0, 0, 0, 0]) == {"same-node": ((0, 1), (2, 3))}
    assert place([0, 1, 2, 3]) == {"between-nodes": ((0, 1),)}
    assert place([0, 1, 0, 1]) == {"same-node": ((0, 2),), "between-nodes": ((0, 1), (2, 3))}
    assert place([0]) == {}


def read_all(terminal: int, into: list[bytes]) -> None:
    """Read a pseudo terminal until its other side is closed."""
    while True:
        try:
            into.append(os.read(terminal, 4096))
        except OSError:
            return


def test_a_progress_bar_is_drawn_where_the_launcher_writes_to_a_terminal(tmp_path):
    """A rank's own standard error is a pipe under mpiexec."""
    terminal, end = os.openpty()
    seen: list[bytes] = []
    reader = threading.Thread(target=read_all, args=(terminal, seen))
    reader.start()
    command = [find("mpiexec"), "-n", "2", sys.executable, "-m", "commmodel.bench", "pingpong"]
    command += ["--sizes", "1:8", "--time", "0.2s", "-o", str(tmp_path / "results.jsonl")]
    completed = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=end, timeout=120)
    os.close(end)
    reader.join(timeout=60)
    os.close(terminal)
    assert completed.returncode == 0
    assert b"4/4" in b"".join(seen)
