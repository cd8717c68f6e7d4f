"""The kernels persistent, matching and threads: what they plan, leave out and refuse, and a run of each."""

import sys

import msgspec
import pytest
from support.launching import BENCHMARK, error_lines, launch

from commmodel.bench.kernels import buffer_bytes, left_out, participants
from commmodel.bench.options import parse
from commmodel.bench.placement import place
from commmodel.bench.plan import make_plan
from commmodel.errors import InputError
from commmodel.results import load
from commmodel.results.configurations import Matching, Persistent, PersistentCollective, StartUp, Threads

PAIR = place([0, 0], [0, 0])
(PATH,) = PAIR


def planned(*words):
    return make_plan(parse([*words, "--seed", "1"]).options, PAIR)


def test_partitioned_messages_are_planned_where_their_parts_are_equal():
    words = ("persistent", "--sizes", "0,2,64", "--partitions", "1,4", "--persistent-collectives", "none")
    plan = planned(*words)
    kinds = {(row.message_size, row.partitions) for row in plan if row.request == "partitioned"}
    assert kinds == {(0, 1), (2, 1), (64, 1), (64, 4)}
    assert {row.message_size for row in plan if row.request == "persistent"} == {0, 2, 64}
    assert left_out(parse(words).options) == ["persistent: sizes that are no multiple are left out of partitions: 1, 4"]
    assert left_out(parse(["persistent", "--sizes", "64", "--partitions", "4"]).options) == []


def test_persistent_collectives_are_planned_beside_plain_ones():
    words = ("persistent", "--sizes", "8,32MiB", "--persistent-collectives", "allreduce,alltoall")
    options = msgspec.structs.replace(parse([*words, "--seed", "1"]).options, procs=(2, 4))
    plan = [row for row in make_plan(options, PAIR) if isinstance(row, PersistentCollective)]
    assert {row.request for row in plan} == {"blocking", "non-blocking", "persistent"}
    assert {(row.operation, row.message_size, row.processes) for row in plan} == {
        ("allreduce", 8, 2), ("allreduce", 8, 4), ("allreduce", 32 << 20, 2), ("allreduce", 32 << 20, 4),
        ("alltoall", 8, 2), ("alltoall", 8, 4), ("alltoall", 32 << 20, 2),
    }  # fmt: skip
    assert buffer_bytes(plan) == (64 << 20, 64 << 20)
    assert participants(plan[0], PAIR) == list(range(plan[0].processes))
    with pytest.raises(InputError, match="--persistent-collectives: unknown collective 'scan'"):
        parse(["persistent", "--persistent-collectives", "scan"])


def test_both_queues_have_every_length_at_one_size():
    plan = planned("matching", "--queue-lengths", "0,10")
    assert {*plan} == {Matching(queue, n, 8, PATH) for queue in ("posted", "unexpected") for n in (0, 10)}


def test_threads_have_places_of_their_own_and_are_left_out_where_these_are_too_large():
    words = ("threads", "--sizes", "8,32MiB", "--threads", "1,4", "--messages-in-flight", "1,64")
    plan = planned(*words)
    assert {(row.message_size, row.threads, row.window) for row in plan} == {
        (8, 1, 1), (8, 1, 64), (8, 4, 1), (8, 4, 64), (32 << 20, 1, 1)
    }  # fmt: skip
    assert buffer_bytes(planned("threads", "--sizes", "8", "--threads", "4"))[0] == (1 + 64) * 4 * 64
    assert left_out(parse(words).options) == [
        "threads: left out, as there are over 256 threads, or 64 MiB of all their messages: 1 with windows of 64, 4, "
        "4 with windows of 64"
    ]
    with pytest.raises(InputError, match="--messages-in-flight: 65: a window has at most 64 messages"):
        parse(["threads", "--messages-in-flight", "65"])


def bench(output, *words):
    common = ("--sizes", "64", "--repetitions", "3", "--time", "60s", "-o", output)
    return launch(2, sys.executable, "-m", "commmodel.bench", *words, *common)


@pytest.mark.mpi
def test_a_run_measures_each_kernel(tmp_path):
    output = tmp_path / "results.jsonl"
    words = ("--queue-lengths", "0,10", "--partitions", "1,4", "--threads", "1,2", "--thread-level", "multiple")
    done = bench(output, "persistent", "matching", "threads", *words)
    assert done.returncode == 0, done.stderr
    records = [*load(output).records]
    assert {type(record.configuration) for record in records} == {Persistent, PersistentCollective, Matching, Threads}
    assert len(records) == 4 + 9 + 4 + 4
    assert all(min(record.samples) > 0 for record in records)
    assert "note: one visit" not in done.stderr


@pytest.mark.mpi
def test_a_look_ahead_sends_real_sizes_where_one_buffer_is_empty(tmp_path):
    """Of a look at 1 byte, a visit to 4 MiB was thought to take a minute and more."""
    words = ("threads", "--sizes", "4MiB", "--threads", "1", "--thread-level", "multiple", "--repetitions", "3")
    done = launch(2, *BENCHMARK, *words, "--time", "20s", "-o", tmp_path / "results.jsonl")
    assert done.returncode == 0, done.stderr
    assert "note: one visit" not in done.stderr


@pytest.mark.mpi
def test_a_start_that_is_over_is_one_clear_line(tmp_path):
    program = "from mpi4py import MPI; from commmodel.bench.command import run; raise SystemExit(run())"
    done = launch(2, sys.executable, "-c", program, "start-up", "-o", tmp_path / "results.jsonl")
    assert done.returncode == 2
    (line,) = error_lines(done, "commmodel.bench")
    assert "nothing to measure: start-up: left out, as MPI ran before" in line
    assert "mpiexec -n 2 python -m commmodel.bench start-up" in line
    assert not (tmp_path / "results.jsonl").exists()


@pytest.mark.mpi
def test_threads_without_their_level_are_one_clear_line(tmp_path):
    done = bench(tmp_path / "results.jsonl", "threads")
    assert done.returncode == 3
    (line,) = [line for line in done.stderr.splitlines() if "commmodel.bench:" in line]
    assert "add --thread-level multiple" in line


@pytest.mark.mpi
def test_a_start_is_one_sample_of_each_stage(tmp_path):
    output = tmp_path / "results.jsonl"
    done = bench(output, "start-up")
    assert output.exists(), done.stderr
    times = {record.configuration: record.samples for record in load(output).records}
    assert times.keys() == {StartUp("init", 2), StartUp("first-barrier", 2)}
    ((init,), (barrier,)) = (times[StartUp(stage, 2)] for stage in ("init", "first-barrier"))
    assert 0 < init <= barrier < 60
