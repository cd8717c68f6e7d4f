"""What the kernels burst, queue, progress and bandwidth plan and record."""

import sys
from collections import Counter
from itertools import product

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.launching import error_lines, launch

from commmodel import results
from commmodel.bench.kernels import buffer_bytes, left_out, participants, sensible_kernels
from commmodel.bench.kernels.burst import few, fits, initiations
from commmodel.bench.kernels.kernel import stride
from commmodel.bench.options import parse
from commmodel.bench.placement import place
from commmodel.bench.plan import make_plan
from commmodel.errors import MPIEnvironmentError
from commmodel.fit import fit_machine
from commmodel.results import configuration_words
from commmodel.results.configurations import Bandwidth, Burst, Progress, Queue

PAIR = place([0, 0], [0, 0])
(PATH,) = PAIR
ROW_BYTES = 16 << 20


def plan_for(*arguments, procs=(2,)):
    return msgspec.structs.replace(parse(arguments).options, procs=procs)


def bench(ranks, *arguments):
    return launch(ranks, sys.executable, "-m", "commmodel.bench", *arguments)


# Plans


def test_a_burst_is_planned_at_both_ends_of_two_sided_messages_and_at_one_of_others():
    options = plan_for("burst", "--sizes", "8,64", "--bursts", "1,4", "--operations", "two-sided,put")
    plan = make_plan(options, place([0, 0, 1], [0] * 3))
    assert Counter(plan) == Counter(
        Burst(size, burst, operation, path)
        for size, burst, operation, path in product(
            (8, 64), (1, 4), ("isend", "irecv", "put"), ("same-socket", "between-nodes")
        )
    )


@pytest.mark.parametrize("kernel", ["burst", "progress"])
def test_bursts_that_do_not_fit_into_memory_are_left_out_and_named(kernel):
    options = plan_for(kernel, "--sizes", "1MiB,4MiB", "--bursts", "1,16,64")
    plan = make_plan(options, PAIR)
    assert {(entry.message_size >> 20, entry.burst) for entry in plan} == {(1, 1), (1, 16), (4, 1)}
    assert buffer_bytes(plan) == (ROW_BYTES, ROW_BYTES)
    words = "left out, as a burst exceeds 16 MiB: 16 messages above 1 MiB, 64 messages above 256 KiB"
    assert left_out(options) == [f"{kernel}: {words}"]
    assert left_out(plan_for(kernel, "--sizes", "256KiB")) == []


@given(st.integers(0, 1 << 40), st.integers(1, 1 << 20))
def test_a_burst_that_fits_has_a_place_for_each_message_in_the_room_it_asks_for(size, burst):
    if fits(size, burst):
        for configuration in (Burst(size, burst, "isend", PATH), Progress(size, burst, PATH)):
            assert all((burst - 1) * stride(size) + size <= room <= ROW_BYTES for room in buffer_bytes([configuration]))
    else:
        assert burst * stride(size) > ROW_BYTES


def test_an_exchange_is_planned_with_three_of_the_bursts():
    plan = make_plan(plan_for("progress", "--sizes", "8", "--operations", "all"), PAIR)
    assert Counter(plan) == Counter(
        Progress(8, burst, PATH, operation) for burst in (1, 8, 64) for operation in ("two-sided", "put", "get")
    )


@given(st.lists(st.integers(), min_size=1, unique=True))
def test_few_are_at_most_three_with_the_first_and_the_last(values):
    result = few(values)
    assert len(result) == min(3, len(values)) or len(values) == 2
    assert result == sorted(set(result), key=values.index)
    assert {values[0], values[-1]} <= set(result)


def test_a_queue_is_planned_with_a_few_small_sizes_or_the_smallest():
    plan = make_plan(plan_for("queue", "--sizes", "8:1MiB", "--operations", "two-sided,get"), PAIR)
    assert Counter(plan) == Counter(
        Queue(size, operation, PATH) for size in (8, 256, 4096) for operation in ("isend", "get")
    )
    (large,) = make_plan(plan_for("queue", "--sizes", "1MiB,2MiB"), PAIR)
    assert large.message_size == 1 << 20


@given(st.integers(1, 1 << 30))
def test_a_queue_has_as_many_messages_as_memory_has_room_for(size):
    count = initiations(size)
    assert 2 <= count <= 1024
    assert count == 2 or count * stride(size) <= 16 << 20
    assert buffer_bytes([Queue(size, "put", PATH)]) == (count * stride(size),) * 2


def test_two_processes_are_planned_on_each_path_and_more_in_both_patterns():
    placement = place([0, 0, 0, 0, 1, 1, 1, 1], [0] * 8)
    plan = make_plan(plan_for("bandwidth", "--sizes", "0,8", procs=(2, 3, 4, 8)), placement)
    directions = ("one-way", "both-ways")
    assert Counter(plan) == Counter(
        [Bandwidth(8, 2, "nearest-neighbour", way, path) for way in directions for path in placement]
        + [
            Bandwidth(8, count, pattern, way, "any")
            for count in (4, 8)
            for pattern in ("nearest-neighbour", "cross")
            for way in directions
        ]
    )
    assert participants(Bandwidth(8, 4, "cross", "one-way", "any"), placement) == [0, 1, 2, 3]
    assert participants(Bandwidth(8, 2, "nearest-neighbour", "one-way", "between-nodes"), placement) == [0, 4]


def test_without_an_even_number_of_processes_there_are_no_pairs():
    with pytest.raises(MPIEnvironmentError, match="--process-counts has no even number of processes"):
        make_plan(plan_for("bandwidth", procs=(1, 3)), PAIR)


def test_none_of_them_is_measured_unless_named():
    assert not {"burst", "queue", "progress", "bandwidth"} & set(sensible_kernels(PAIR))


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        (Burst(8, 16, "isend", PATH), "burst isend, 8 B, b = 16, same-socket"),
        (Queue(8, "put", PATH), "queue put, 8 B, same-socket"),
        (Progress(8, 16, PATH), "progress two-sided, 8 B, b = 16, same-socket"),
        (Bandwidth(8, 4, "cross", "one-way", "any"), "bandwidth, 8 B, p = 4, cross, one-way, any"),
    ],
)
def test_a_configuration_is_described_in_a_few_words(configuration, words):
    assert configuration_words(configuration) == words


# Whole runs


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One run of the four kernels on two ranks."""
    output = tmp_path_factory.mktemp("bursts") / "results.jsonl"
    arguments = ("--sizes", "8,8KiB", "--bursts", "1,4", "--operations", "all", "--ci", "50%", "--time", "2s")
    completed = bench(2, "burst", "queue", "progress", "bandwidth", *arguments, "-o", output)
    assert completed.returncode == 0, completed.stderr
    return output


def of_kind(run, kind):
    return [record for record in results.load(run).records if isinstance(record.configuration, kind)]


@pytest.mark.mpi
def test_a_run_measures_what_is_planned_once(run):
    (launched,) = results.load(run).launches
    plan = make_plan(launched.header.options, launched.header.placement)
    assert Counter(record.configuration for record in launched.records) == Counter(plan)
    assert len(plan) == 2 * 2 * 4 + 3 + 2 * 2 * 3 + 2 * 2
    for record in launched.records:
        assert min(record.samples) > 0


@pytest.mark.mpi
def test_a_queue_has_a_sample_for_each_message_and_ends_when_it_has_them(run):
    for record in of_kind(run, Queue):
        assert len(record.samples) == initiations(record.configuration.message_size)
        assert record.stop == "found"


@pytest.mark.mpi
def test_an_exchange_lasts_as_long_as_the_computation_in_it(run):
    for record in of_kind(run, Progress):
        assert record.delay > 0
        assert min(record.samples) >= record.delay * 0.999  # which is a whole number of ticks


@pytest.mark.mpi
def test_the_fastest_of_two_processes_is_the_slowest(run):
    for record in of_kind(run, Bandwidth):
        assert record.fastest == record.samples


@pytest.mark.mpi
def test_a_machine_comes_of_these_records_alone(run):
    machine = fit_machine(results.load(run))
    assert {profile.operation for profile in machine.overlap} == {"two-sided", "put", "get"}
    assert {profile.direction for profile in machine.bandwidth} == {"one-way", "both-ways"}
    assert [segment.protocol for segment in machine.segments] == ["all"]


@pytest.mark.mpi
def test_four_processes_communicate_in_both_patterns_and_the_fastest_pair_is_no_slower(tmp_path):
    output = tmp_path / "results.jsonl"
    arguments = ("--sizes", "8,8KiB", "--ci", "50%", "--time", "1s", "--repetitions", "20")
    completed = bench(4, "bandwidth", *arguments, "-o", output)
    assert completed.returncode == 0, completed.stderr
    table = {record.configuration: record for record in results.load(output).records}
    assert {(entry.processes, entry.pattern, entry.direction) for entry in table} == {
        (2, "nearest-neighbour", "one-way"),
        (2, "nearest-neighbour", "both-ways"),
        *product([4], ["nearest-neighbour", "cross"], ["one-way", "both-ways"]),
    }
    for record in table.values():
        assert len(record.fastest) == len(record.samples)
        assert (np.array(record.fastest) > 0).all()
        assert (np.array(record.fastest) <= record.samples).all()


@pytest.mark.mpi
def test_pairs_of_an_odd_number_of_processes_are_one_line_and_an_exit_code(tmp_path):
    completed = bench(3, "bandwidth", "--process-counts", "3", "-o", tmp_path / "results.jsonl")
    (line,) = error_lines(completed, "commmodel.bench")
    assert completed.returncode == 3
    assert "--process-counts has no even number of processes" in line
