"""What is worth measuring, and what measurements decide, on a machine whose times are known."""

import math
from collections import Counter

import numpy as np
import pytest

from commmodel.tuning.log_times import LogTimes, MeasuredPoint, TimePoint
from commmodel.tuning.search import DEFAULT_CHOICE, AlgorithmSearch, CollectiveCell, explore

ALPHA, BETA = 2e-6, 1e-9
COSTS = {"tree": (3, 3.0), "ring": (14, 1.75), "linear": (7, 7.0), "slow": (30, 30.0)}
SIZES = [2**power for power in range(3, 23)]


def seconds(cell, name):
    """The library takes the ring from 1 MiB on, too late: it is faster from some KiB on."""
    rounds, factor = COSTS[name or ("ring" if cell.message_size >= 1 << 20 else "tree")]
    return ALPHA * rounds + BETA * factor * cell.message_size


class KnownMachine:
    """Answers at once, with some scatter."""

    def __init__(self, launches=50, failing=()):
        self.left, self.failing, self.count = launches, failing, Counter()
        self.random = np.random.default_rng(1)

    @property
    def seconds_left(self):
        return float(self.left)

    def cost(self, seconds):
        return 1e-9 * seconds

    def measure(self, picks):
        self.left -= 1
        self.count.update(name for name in picks.values())
        return {
            (cell, name): (seconds(cell, name) * np.exp(self.random.normal(0, 0.02, 9))).tolist()
            for cell, name in picks.items()
            if name not in self.failing
        }


def search(factor=1.5):
    def predicted(cell, name):
        return factor * seconds(cell, name or "tree")

    return AlgorithmSearch(lambda _: [*COSTS], predicted, lambda _, name: name)


def cells(sizes):
    return [CollectiveCell("bcast", size, 8) for size in sizes]


def test_the_fastest_is_measured_and_chosen_and_the_slow_is_left_alone():
    tried, machine = search(), KnownMachine()
    explore(tried, cells(SIZES), machine)
    for cell in cells(SIZES):
        best = min(COSTS, key=lambda name: seconds(cell, name))
        gain = seconds(cell, DEFAULT_CHOICE) / seconds(cell, best)
        choice = tried.choice(cell)
        if gain > 1.1:
            assert choice.algorithm == best
            assert choice.low < gain < choice.high
        elif choice.algorithm:
            assert seconds(cell, choice.algorithm) < 1.03 * seconds(cell, DEFAULT_CHOICE)
    assert machine.count[DEFAULT_CHOICE] == len(SIZES)
    assert machine.count["slow"] < len(SIZES) / 4


def test_without_time_the_library_decides():
    tried, machine = search(), KnownMachine(launches=0)
    explore(tried, cells(SIZES), machine)
    assert set(machine.count) == {DEFAULT_CHOICE}


def test_what_fails_is_not_tried_again_nor_chosen():
    tried, machine = search(), KnownMachine(failing={"ring"})
    explore(tried, cells(SIZES), machine)
    assert machine.count["ring"] <= len(SIZES)
    assert all(tried.choice(cell).algorithm != "ring" for cell in cells(SIZES))


def test_a_cell_that_cannot_be_measured_is_left_out():
    tried, machine = search(), KnownMachine(failing={DEFAULT_CHOICE})
    explore(tried, cells(SIZES[:3]), machine)
    assert set(machine.count) == {DEFAULT_CHOICE}
    assert not any(tried.choice(cell).algorithm for cell in cells(SIZES))


def test_intervals_of_log_times_widen_away_from_measurements():
    points = [TimePoint("ring", "ring", float(size), 8, 0.0) for size in (8, 64, 1 << 20)]
    times = LogTimes([MeasuredPoint(points[0], 0.1, 1e-4)])
    near, far = (math.sqrt(times.at([point]).covariance[0, 0]) for point in points[1:])
    assert near < far
    assert times.at(points[:1]).means[0] == pytest.approx(0.1, abs=0.02)
