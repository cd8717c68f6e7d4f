"""One clock for several ranks, on simulated clocks and networks; how starts adapt; records of started collectives."""

import json
import sys
from collections import defaultdict, deque

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.launching import launch

from commmodel.bench.kernels import REGISTRY
from commmodel.bench.kernels.synchronisation_scheme import Pace
from commmodel.bench.options import parse
from commmodel.bench.synchronisation import (
    Exchanges,
    GlobalClock,
    Reading,
    anchor,
    best_reading,
    fitted,
    residuals,
    rounds,
    spread_ranks,
    synchronise,
)
from commmodel.errors import InputError
from commmodel.report.measurements.collectives import collective_tables
from commmodel.results import Header, Launch, Library, Measurements, Record
from commmodel.results.configurations import Clocks

CAME, BEGAN, ENDED = 1, 2, 4


class Simulation:
    """Ranks whose clocks are lines of the true time, on a network whose messages take a time that jitters.

    A rank that asks sees to the other's answer as well, so ranks may run one after the other, parents first.
    """

    def __init__(self, drifts, offsets, latency=2e-6, jitter=0.0, seed=0):
        self.drifts, self.offsets = drifts, offsets
        self.latency, self.jitter = latency, jitter
        self.random = np.random.default_rng(seed)
        self.queues = defaultdict(deque)
        self.now = [0.0] * len(drifts)

    def read(self, rank, true):
        return self.offsets[rank] + true * (1 + self.drifts[rank])

    def one_way(self, count):
        return self.latency + self.jitter * self.random.random(count)

    def everywhere(self, function, *of_each):
        """Return what each rank's function gives, in an order in which nobody hears what was not told yet."""
        size = len(self.drifts)
        order = sorted(range(size), key=lambda rank: (learnt_in(rank, size), rank))
        values = {rank: function(SimulatedWires(self, rank), *(entry[rank] for entry in of_each)) for rank in order}
        return [values[rank] for rank in range(size)]


class SimulatedWires:
    def __init__(self, simulation, rank):
        self.simulation, self.rank = simulation, rank
        self.size = len(simulation.drifts)

    def ask(self, peer, count):
        network = self.simulation
        result, back = network.one_way(count), network.one_way(count)
        end = network.now[self.rank] + np.cumsum(result + back)
        network.now[self.rank] = end[-1]
        reading = network.read(peer, end - back)
        return Exchanges(network.read(self.rank, end - back - result), network.read(self.rank, end), reading)

    def answer(self, peer, count):
        pass

    def tell(self, peer, numbers):
        self.simulation.queues[self.rank, peer].append(numbers)

    def hear(self, peer):
        return self.simulation.queues[peer, self.rank].popleft()

    def pause(self, seconds):
        self.simulation.now[self.rank] += seconds


def learnt_in(rank, size):
    """Return in which round a rank learns the time; -1 for rank 0."""
    rows = [number for number, pairs in enumerate(rounds(size)) if rank in {child for _, child in pairs}]
    return rows[0] if rows else -1


def errors(simulation, clocks, wait):
    """Return how far each rank's global time is from rank 0's clock, `wait` seconds after the last exchange."""
    true = max(simulation.now) + wait
    zero = simulation.read(0, true)
    return [abs(clock.to_global(simulation.read(rank, true)) - zero) for rank, clock in enumerate(clocks)]


sizes = st.integers(1, 20)


@given(st.integers(1, 3000))
def test_every_rank_but_the_first_learns_once_from_one_who_knows(size):
    names = {0}
    for pairs in rounds(size):
        parents, children = {parent for parent, _ in pairs}, [child for _, child in pairs]
        assert parents <= names
        assert not names & set(children)
        assert len({*parents, *children}) == 2 * len(pairs)  # nobody is in two pairs at once
        names |= set(children)
    assert names == set(range(size))
    assert len(rounds(size)) == size.bit_length() - 1 + (size & size - 1 > 0)


@given(st.integers(1, 3000), st.integers(1, 100))
def test_spread_ranks_are_different_and_reach_the_last(size, most):
    result = spread_ranks(size, most)
    assert len(result) == min(most, size - 1)
    assert list(result) == sorted(set(result) - {0})
    assert size == 1 or result[-1] == size - 1


def simulated(data, size, jitter):
    numbers = st.lists(st.floats(-1, 1), min_size=size, max_size=size)
    drifts = [1e-4 * entry for entry in data.draw(numbers)]
    offsets = [1e3 * entry for entry in data.draw(numbers)]
    return Simulation(drifts, offsets, latency=3e-6, jitter=jitter, seed=data.draw(st.integers(0, 1 << 32)))


@given(st.data(), sizes, st.floats(0, 2e-6))
@settings(max_examples=40)
def test_offsets_and_drifts_are_found_to_within_what_the_jitter_allows(data, size, jitter):
    simulation = simulated(data, size, jitter)
    clocks = simulation.everywhere(synchronise)
    hops = max(len(rounds(size)), 1)
    rounding = 1e-11 * hops  # of a thousand seconds in a double, over a tenth of a second
    assert clocks[0] == GlobalClock()
    # A reading is wrong by at most half the jitter; a line through 20 of them, over 0.1 s, by at most 1.5 times that a
    # tenth of a second. Weights and drifts too small to be told from noise may double it.
    worst_slope = hops * (4 * jitter / 0.1 + 40 * rounding)
    for wait in (0.0, 5.0):
        assert max(errors(simulation, clocks, wait)) <= hops * jitter + rounding + worst_slope * (wait + 1)


@given(st.data(), sizes)
@settings(max_examples=20)
def test_without_jitter_every_drift_is_found_and_the_offset_alone_knows_none(data, size):
    simulation = simulated(data, size, 0.0)
    clocks = simulation.everywhere(synchronise)
    first = 1 + simulation.drifts[0]
    for clock, drift in zip(clocks, simulation.drifts, strict=True):
        assert clock.slope == pytest.approx(first / (1 + drift) - 1, abs=1e-8)
    alone = simulation.everywhere(lambda wires: synchronise(wires, "offset"))
    for clock, offset in zip(alone, simulation.offsets, strict=True):
        assert clock.slope == 0
        assert clock.intercept == pytest.approx(simulation.offsets[0] - offset, abs=1e-3)


def test_hca3_stays_right_where_the_offset_alone_does_not():
    simulation = Simulation([0.0, 3e-5, -2e-5, 1e-5, 5e-5], [0.0, 7.0, -3.0, 1.0, 2.0], jitter=1e-7, seed=1)
    hca3 = max(errors(simulation, simulation.everywhere(synchronise), 5.0))
    offset = max(errors(simulation, simulation.everywhere(lambda wires: synchronise(wires, "offset")), 5.0))
    assert offset > 100e-6
    assert hca3 < offset / 5


def test_the_intercept_measured_again_mends_what_a_wrong_slope_has_done():
    simulation = Simulation([0.0, 2e-5], [0.0, 1.0])
    clocks = simulation.everywhere(lambda wires: synchronise(wires, "offset"))
    simulation.now = [10.0, 10.0]
    assert max(errors(simulation, clocks, 0.0)) > 100e-6
    again = simulation.everywhere(anchor, clocks)
    assert max(errors(simulation, again, 0.0)) < 1e-8


@given(st.integers(2, 20), st.integers(1, 8))
def test_residuals_are_what_a_clock_is_wrong_by(size, most):
    simulation = Simulation([0.0] * size, list(range(size)))
    right = simulation.everywhere(lambda wires: synchronise(wires, "offset"))
    wrong = [GlobalClock(clock.slope, clock.intercept + 1e-3 * rank) for rank, clock in enumerate(right)]
    for rank in range(1, size):
        residuals(SimulatedWires(simulation, rank), wrong[rank], most)
    result = residuals(SimulatedWires(simulation, 0), wrong[0], most)
    assert result == pytest.approx([1e-3 * rank for rank in spread_ranks(size, most)])


def test_the_fastest_exchange_is_believed():
    exchanges = Exchanges(np.array([0.0, 10.0, 20.0]), np.array([4.0, 12.0, 29.0]), np.array([103.0, 111.0, 128.0]))
    assert best_reading(exchanges) == Reading(11.0, 111.0, 2.0)


def test_a_slow_reading_counts_little():
    readings = [Reading(entry, entry + 1.0, 1e-6) for entry in np.arange(0, 0.1, 0.01)]
    spoilt = [*readings, Reading(0.1, 1.101, 1e-3)]
    assert fitted(spoilt, GlobalClock()).slope == pytest.approx(0, abs=1e-6)
    assert fitted(spoilt, GlobalClock()).intercept == pytest.approx(1, abs=1e-8)


def test_a_drift_that_noise_may_be_is_none():
    noise = 1e-7 * np.random.default_rng(3).standard_normal(20)
    readings = [Reading(0.005 * place, 0.005 * place + error, 1e-6) for place, error in enumerate(noise)]
    assert fitted(readings, GlobalClock()).slope == 0
    assert fitted([Reading(1.0, 2.0, 1e-6)], GlobalClock()) == GlobalClock(0.0, 1.0)


@given(st.floats(-1e-3, 1e-3), st.floats(-1e3, 1e3), st.floats(0, 1e4))
def test_there_and_back_is_the_same_time(slope, intercept, local):
    clock = GlobalClock(slope, intercept)
    assert clock.to_local(clock.to_global(local)) == pytest.approx(local, abs=1e-11)


# How starts adapt


def adapted(pace, late, how, count=100, seconds=1e-4):
    values = np.zeros(count, np.uint8)
    values[:late] = how
    pace.adapt(np.full(count, seconds), values)


@pytest.mark.parametrize("how", [CAME, ENDED, CAME | BEGAN])
def test_more_time_is_given_where_ranks_come_late(how):
    pace = Pace(1e-5, shortest=1e-4)
    adapted(pace, 20, how)
    assert pace.seconds == 1e-5
    adapted(pace, 21, how)
    assert pace.seconds == 2e-5


def test_more_time_is_not_given_to_who_lost_the_processor_but_more_slack_up_to_a_quarter_of_what_is_measured():
    pace = Pace(1e-5, shortest=1e-4)
    for _ in range(10):
        adapted(pace, 100, BEGAN)
    assert pace.seconds == 1e-5
    assert pace.slack == 2.5e-5


def test_a_busy_first_look_does_not_let_ranks_begin_late_for_ever():
    pace = Pace(1e-5, shortest=1e-2)
    assert pace.slack == pytest.approx(5e-4)
    adapted(pace, 0, 0, seconds=1e-3)
    adapted(pace, 0, 0, seconds=1e-4)
    adapted(pace, 0, 0, seconds=1e-2)
    assert pace.slack == pytest.approx(5e-6)
    adapted(pace, 0, 0, seconds=0.0)
    assert pace.slack == 1e-6


@given(st.lists(st.tuples(st.integers(0, 100), st.sampled_from([CAME, BEGAN, ENDED]))), st.floats(1e-6, 1.0))
def test_time_stays_within_its_bounds_and_goes_down_again(history, least):
    pace = Pace(least, shortest=1e-3)
    for late, how in history:
        adapted(pace, late, how)
        assert least <= pace.seconds <= max(least, 0.1)
    for _ in range(250):  # 0.95 ** 250 is less than 1e-6 / 0.1
        adapted(pace, 0, 0)
    assert pace.seconds == least


def test_a_window_is_never_shorter_than_it_needs_to_be():
    pace = Pace(1e-5, shortest=1e-5)
    pace.need(4e-5)
    assert pace.seconds == 4e-5
    pace.need(2e-5)
    assert pace.seconds == 4e-5
    adapted(pace, 0, 0)
    assert 2e-5 < pace.seconds < 4e-5


# Records


def test_clocks_are_looked_at_by_both_methods_on_several_ranks_after_each_wait():
    options = msgspec.structs.replace(parse(["clocks", "--waits", "1s,0,1s"]).options, procs=(1, 2, 4))
    expected = {Clocks(method, ranks, wait) for method in ("hca3", "offset") for ranks in (2, 4) for wait in (0.0, 1.0)}
    plan = REGISTRY["clocks"].plan(options, {})
    assert set(plan) == expected
    assert len(plan) == len(expected)
    assert REGISTRY["clocks"].by_default is None


@pytest.mark.parametrize(("flag", "value"), [("--waits", "-1"), ("--waits", "soon"), ("--start", "gun")])
def test_what_cannot_be_waited_for_is_refused(flag, value):
    with pytest.raises(InputError, match=flag):
        parse(["clocks", f"{flag}={value}"])


def test_the_report_has_a_row_for_each_look_at_clocks():
    records = (
        Record(Clocks("offset", 2, 1.0), "s", (3e-6,)),
        Record(Clocks("hca3", 16, 0.0), "s", (1e-6, 5e-6, 2e-6)),
        Record(Clocks("hca3", 4, 0.0), "s", (1e-6,)),
    )
    header = Header("commmodel-results", 1, "2026-01-01T00:00:00Z", (), Library("MPI"), (), ())
    (table,) = collective_tables(Measurements((Launch(header, records),)))
    assert [column.heading for column in table.columns] == ["method", "p", "after", "median", "largest"]
    assert [tuple(cell.value for cell in row) for row in table.rows] == [
        ("hca3", "4", "0 ns", "1.00 us", "1.00 us"),
        ("hca3", "16", "0 ns", "2.00 us", "5.00 us"),
        ("offset", "2", "1.00 s", "3.00 us", "3.00 us"),
    ]


def measured(folder, *arguments):
    output = folder / "r.jsonl"
    command = (sys.executable, "-m", "commmodel.bench", *arguments, "--ci", "50%", "--time", "2s", "-o", output)
    completed = launch(2, *command)
    assert completed.returncode == 0, completed.stderr
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    return [line for line in lines if line["type"] == "record"], completed.stderr


@pytest.mark.mpi
@pytest.mark.parametrize("start", ["barrier", "round-time", "fixed-window"])
def test_a_record_says_how_its_repetitions_began(tmp_path, start):
    arguments = ("collective", "--collectives", "allreduce", "--sizes", "1MiB", "--start", start, "--per-rank")
    records, errors_said = measured(tmp_path, *arguments)
    if not records:  # a machine so busy that no common start was met says so
        assert "left out allreduce of 1 MiB on 2 processes: a rank was late for" in errors_said
        return
    (record,) = records
    assert record["configuration"]["start"] == start
    assert len(record["ranks"]) == 2
    assert [max(entry) for entry in zip(*record["ranks"], strict=True)] == record["samples"]
    common = start != "barrier"
    assert (record.get("window") is not None) == common
    assert (record.get("clock_error") is not None) == common
    assert common or not record.get("late")


@pytest.mark.mpi
def test_the_kernel_clocks_tells_what_is_left_after_each_wait(tmp_path):
    records, _ = measured(tmp_path, "clocks", "--waits", "0,10ms")
    rows = {(entry["configuration"]["method"], entry["configuration"]["wait"]) for entry in records}
    assert rows == {(method, wait) for method in ("hca3", "offset") for wait in (0.0, 0.01)}
    assert all(len(record["samples"]) == 1 and record["unit"] == "s" for record in records)
