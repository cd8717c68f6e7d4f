"""Profiles of overlap and bandwidth hold what was measured, and limits are found only where there are some."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fit_samples import measurements

from commmodel.errors import InputError, MissingParameterError
from commmodel.fit import fit_machine
from commmodel.fit.overlap_parameters import fit_bandwidth, fit_overlap, full_at
from commmodel.machine import Segment, dumps, load
from commmodel.results import Header, Launch, Library, Measurements, Record
from commmodel.results.configurations import Bandwidth, Burst, PingPong, PLogPParameter, Progress, Queue, Train
from commmodel.results.file import FORMAT

PATH = "same-node"
TIMES = st.floats(1e-9, 1.0)


def record(configuration, *samples, **more):
    return Record(configuration, "s", samples, **more)


def burst(size, count, operation, seconds, path=PATH):
    return record(Burst(size, count, operation, path), seconds)


def two_sided(size, count, isend, irecv, path=PATH):
    return [burst(size, count, "isend", isend, path), burst(size, count, "irecv", irecv, path)]


def progress(size, count, share, delay=1e-3, operation="two-sided"):
    return record(Progress(size, count, PATH, operation), (2 - share) * delay, delay=delay)


def profile(*records):
    (entry,) = fit_overlap(measurements(*records))
    return entry


# Overhead


@given(st.dictionaries(st.tuples(st.sampled_from([1, 64, 4096]), st.sampled_from([1, 4, 16])), TIMES, min_size=1))
def test_the_overhead_is_what_was_measured_at_both_ends_together(times):
    result = profile(
        *(entry for (size, count), time in times.items() for entry in two_sided(size, count, time, time / 2))
    )
    assert (result.path, result.operation) == (PATH, "two-sided")
    for (size, count), time in times.items():
        assert result.overhead.at(size, count) == pytest.approx(1.5 * time, rel=1e-4)


def test_a_burst_that_was_not_measured_has_the_overhead_of_the_longest_shorter_one():
    times = {(8, 1): 1e-6, (8, 4): 2e-6, (8, 16): 3e-6, (64, 1): 4e-6, (64, 4): 5e-6, (512, 16): 6e-6}
    table = profile(*(burst(size, count, "put", time) for (size, count), time in times.items())).overhead
    assert table.sizes == (8, 64, 512)
    assert table.bursts == (1, 4, 16)
    assert table.values == ((1e-6, 2e-6, 3e-6), (4e-6, 5e-6, 5e-6), (6e-6, 6e-6, 6e-6))


def test_two_sided_messages_without_one_of_the_ends_have_no_overhead():
    assert profile(burst(8, 1, "isend", 1e-6)).overhead is None
    assert profile(burst(8, 1, "isend", 1e-6), burst(64, 1, "irecv", 1e-6)).overhead is None


def test_each_path_and_operation_has_a_profile_of_its_own():
    records = [
        *two_sided(8, 1, 1e-6, 1e-6),
        *two_sided(8, 1, 3e-6, 3e-6, "between-nodes"),
        burst(8, 1, "put", 5e-6),
        burst(8, 1, "get", 7e-6),
    ]
    values = {(entry.path, entry.operation): entry.overhead.at(8, 1) for entry in fit_overlap(measurements(*records))}
    assert values == {
        (PATH, "two-sided"): 2e-6,
        ("between-nodes", "two-sided"): 6e-6,
        (PATH, "put"): 5e-6,
        (PATH, "get"): 7e-6,
    }


def test_what_several_launches_measured_is_the_median_of_theirs():
    records = [burst(8, 1, "put", time) for time in (1e-6, 9e-6, 2e-6)]
    assert profile(*records).overhead.at(8, 1) == 2e-6


def test_messages_of_no_bytes_are_in_no_table():
    result = profile(*two_sided(0, 1, 1e-6, 1e-6), progress(0, 1, 0.5))
    assert result.overhead is None
    assert result.progress is None


# Progress, and how many bytes may be under way


@pytest.mark.parametrize(("total", "share"), [(2e-3, 0.0), (5e-3, 0.0), (1e-3, 1.0), (0.9e-3, 1.0), (1.75e-3, 0.25)])
def test_a_share_of_progress_is_between_0_and_1(total, share):
    result = profile(record(Progress(8, 1, PATH), total, delay=1e-3))
    assert result.progress.at(8, 1) == pytest.approx(share)


SIZES, BURSTS = [2**power for power in range(3, 23)], [1, 8, 64]
ROWS = [(size, count) for size, count in product(SIZES, BURSTS) if size * count <= 64 << 20]


@pytest.mark.parametrize("limit", [64 << 10, 1 << 20, 4 << 20])
def test_bytes_under_way_are_limited_where_progress_stops_with_them(limit):
    records = [progress(size, count, 0.9 if size * count <= limit else 0.1) for size, count in ROWS]
    assert profile(*records).outstanding_volume == limit


def shared_memory(size, count):
    """What is copied into the queue of short messages goes on by itself, and nothing else."""
    return 0.3 if size <= 4096 and count == 1 else 0.0


def one_outlier(size, count):
    return 0.25 if (size, count) == (131072, 8) else 0.01


@pytest.mark.parametrize(
    "share",
    [lambda *_: 0.9, lambda *_: 0.0, lambda size, _: 0.1 * (size < 4096), shared_memory, one_outlier],
    ids=["always", "never", "hardly", "short messages", "one outlier"],
)
def test_where_it_is_not_bytes_that_stop_progress_there_is_no_limit_of_them(share):
    records = [progress(size, count, share(size, count)) for size, count in ROWS]
    assert profile(*records).outstanding_volume is None


# Queue


def queue(size, times, operation="isend"):
    return record(Queue(size, operation, PATH), *times)


def row(depth, length=256, fast=1e-7, slow=1e-6, noise=0.2):
    """Return times of a queue of some depth, the first one cold, with an interruption."""
    random = np.random.default_rng(depth)
    times = np.where(np.arange(length) < depth, fast, slow) * random.uniform(1 - noise, 1 + noise, length)
    times[0] = 5 * fast
    times[depth // 2] = 50 * fast
    return times.tolist()


@pytest.mark.parametrize("depth", [8, 32, 64, 200])
def test_a_queue_is_full_where_each_further_message_takes_longer(depth):
    assert full_at(row(depth)) == depth


@given(st.lists(TIMES, max_size=40))
def test_a_place_where_a_queue_is_full_has_slow_messages_after_it(times):
    place = full_at(times)
    if place is not None:
        assert 2 <= place < len(times)
        assert np.median(times[place:]) > 3 * np.median(times[:place])


@pytest.mark.parametrize(
    "times",
    [[1e-7] * 256, row(255, slow=1e-7), [1e-7] * 100 + [1e-6] * 10 + [1e-7] * 146, [1e-7] * 250 + [1e-6] * 6],
    ids=["even", "noise", "a while", "the last few"],
)
def test_a_queue_that_never_fills_has_no_depth(times):
    assert full_at(times) is None


def test_a_depth_is_that_of_two_sizes_or_the_only_one():
    assert profile(queue(8, row(32))).queue_depth == 32
    assert profile(queue(8, row(32)), queue(64, [1e-7] * 256)).queue_depth is None
    assert profile(queue(8, row(32)), queue(64, row(64)), queue(512, [1e-7] * 16)).queue_depth == 32
    assert profile(queue(8, row(32)), queue(64, row(64)), queue(512, row(128))).queue_depth == 64
    assert profile(queue(8, row(32)), queue(8, row(32)[:100])).queue_depth == 32  # of one size, by two launches


# Latency

ENDS = two_sided(8, 1, 1e-6, 0.5e-6)
PINGS = record(PingPong(8, PATH), *([4.9e-6] * 10 + [5e-6] * 21 + [5.1e-6] * 10))
ROUND_TRIPS = record(PLogPParameter(0, "round-trip", PATH), *[8e-6] * 20)
LONE = record(Train(1, 1, PATH), *[6e-6] * 20)


@pytest.mark.parametrize(
    ("records", "latency"),
    [
        ([PINGS, ROUND_TRIPS, LONE, progress(8, 1, 0.5, 9e-6)], 3.5e-6),
        ([record(PingPong(64, PATH), 9e-6), PINGS], 3.5e-6),
        ([ROUND_TRIPS, LONE], 2.5e-6),
        ([LONE, record(Train(1, 16, PATH), 1e-3)], 1.5e-6),
        ([progress(8, 1, 0.5, 9e-6), progress(8, 8, 0.5, 1e-6)], 7.5e-6),
        ([record(PingPong(8, PATH), 1e-6)], 0.0),
    ],
    ids=["ping-pong first", "the smallest", "then plogp", "then a lone message", "then an exchange", "never negative"],
)
def test_the_latency_is_the_time_of_a_smallest_message_less_its_overhead(records, latency):
    assert profile(*ENDS, *records).L.value == pytest.approx(latency)


@pytest.mark.parametrize("records", [[], [record(PingPong(8, "between-nodes"), 5e-6)], [progress(8, 2, 0.5)]])
def test_without_such_a_time_on_the_path_there_is_no_latency(records):
    assert profile(*ENDS, *records).L is None


def test_without_an_overhead_there_is_no_latency():
    assert profile(PINGS, progress(8, 1, 0.5)).L is None


def test_the_latency_has_the_interval_of_the_time():
    value = profile(*ENDS, PINGS).L
    assert (value.low, value.value, value.high) == pytest.approx((3.4e-6, 3.5e-6, 3.6e-6), abs=0.11e-6)
    assert value.low <= value.value <= value.high
    few = profile(*ENDS, record(PingPong(8, PATH), 5e-6, 6e-6)).L
    assert (few.low, few.high) == (None, None)


def test_one_sided_messages_take_as_long_as_one_that_is_completed():
    records = [burst(8, 1, "get", 1e-6), progress(8, 1, 0.5, 9e-6, "get"), PINGS]
    assert profile(*records).L.value == pytest.approx(8e-6)
    assert profile(records[0], PINGS).L.value == pytest.approx(4e-6)


# Bandwidth


def pairs(size, processes, pattern, seconds, direction="one-way", path="any", fastest=None):
    configuration = Bandwidth(size, processes, pattern, direction, path)
    return record(configuration, seconds, fastest=(seconds,) if fastest is None else fastest)


def launched(records, placement):
    header = Header(FORMAT, 1, "", (), Library("made"), (), (), placement=placement)
    return Measurements((Launch(header, tuple(records)),))


def test_a_byte_costs_what_a_message_takes_over_its_bytes():
    records = [
        pairs(size, processes, pattern, size * processes * 1e-10, path=PATH if processes == 2 else "any")
        for size in (1000, 4000)
        for processes, pattern in ((2, "nearest-neighbour"), (4, "nearest-neighbour"), (4, "cross"))
    ]
    fit = fit_bandwidth(measurements(*records))
    assert [(entry.pattern, entry.direction) for entry in fit] == [
        ("nearest-neighbour", "one-way"),
        ("cross", "one-way"),
    ]
    for entry in fit:
        assert entry.byte_time.sizes == (1000, 4000)
        assert entry.byte_time.bursts == (2, 4)
        assert entry.byte_time.values == ((2e-10, 4e-10), (2e-10, 4e-10))
        assert entry.fastest == entry.byte_time


def test_the_fastest_pair_is_kept_where_it_is_known_everywhere():
    result = pairs(1000, 4, "cross", 4e-6, fastest=(2e-6, 2e-6, 2e-6, 9e-6))
    (entry,) = fit_bandwidth(measurements(result))
    assert (entry.byte_time.at(1000, 4), entry.fastest.at(1000, 4)) == pytest.approx((4e-9, 2e-9))
    unknown = record(Bandwidth(4000, 4, "cross", "one-way", "any"), 4e-6)
    (entry,) = fit_bandwidth(measurements(result, unknown))
    assert entry.fastest is None


def test_two_processes_are_those_that_begin_both_patterns():
    """Ranks 0 and 1 are neighbours, and P / 2 apart; without their path, the slowest counts."""
    records = [
        pairs(1000, 2, "nearest-neighbour", 1e-6, path="same-node"),
        pairs(1000, 2, "nearest-neighbour", 8e-6, path="between-nodes"),
    ]
    near = {"same-node": ((0, 1),), "between-nodes": ((0, 2),)}
    far = {"same-node": ((0, 2),), "between-nodes": ((0, 3),)}
    for placement, expected in ((near, 1e-9), (far, 8e-9)):
        (entry,) = fit_bandwidth(launched(records, placement))
        assert entry.byte_time.at(1000, 2) == pytest.approx(expected)


def test_each_direction_has_a_profile_of_its_own():
    records = [pairs(1000, 4, "cross", time, way) for way, time in (("one-way", 1e-6), ("both-ways", 2e-6))]
    assert [(entry.direction, entry.byte_time.at(1000, 4)) for entry in fit_bandwidth(measurements(*records))] == [
        ("one-way", 1e-9),
        ("both-ways", 2e-9),
    ]


# Machines


def test_a_machine_has_a_segment_for_each_path_with_a_profile():
    machine = fit_machine(measurements(*ENDS, *two_sided(8, 1, 1e-6, 1e-6, "between-nodes")))
    assert machine.segments == (Segment("all", PATH), Segment("all", "between-nodes"))
    assert fit_machine(measurements(pairs(1000, 4, "cross", 1e-6))).segments == (Segment("all", "any"),)
    with pytest.raises(MissingParameterError, match="max_rate is missing"):
        machine.max_rate(8, PATH)


def test_segments_that_were_fitted_stay_as_they_are():
    pings = [record(PingPong(size, PATH), *[1e-6 + size * 1e-9] * 20) for size in (8, 1024, 4096, 65536)]
    alone, together = fit_machine(measurements(*pings)), fit_machine(measurements(*pings, *ENDS))
    assert together.segments == alone.segments
    assert (alone.overlap, len(together.overlap)) == ((), 1)


def test_a_fitted_machine_is_read_back_from_its_file(tmp_path):
    records = [
        *ENDS,
        PINGS,
        queue(8, row(32)),
        *(progress(*entry, 0.5) for entry in ROWS),
        pairs(1000, 4, "cross", 1e-6),
    ]
    machine = fit_machine(measurements(*records))
    file = tmp_path / "machine.toml"
    file.write_text(dumps(machine), "utf-8")
    assert load(file) == machine


def test_without_anything_to_fit_all_kernels_are_named():
    with pytest.raises(InputError, match="nor of burst, queue, progress, bandwidth, one-sided"):
        fit_machine(measurements(record(PingPong(8, PATH), 1e-6)))
