"""Which rules remain after launches without and with them."""

import math

import pytest
from scipy.stats import ttest_1samp

from commmodel.tuning.duel import Gain, duel, winners
from commmodel.tuning.rules import selector_of
from commmodel.tuning.search import CellChoice, CollectiveCell

WIN, LOSS, UNSURE = Gain(1.5, 1.4, 1.6, 5, 1e-3), Gain(0.8, 0.7, 0.9, 5, 0.999), Gain(1.05, 0.95, 1.15, 5, 0.1)


def choice(size, algorithm="chain", processes=8, operation="bcast"):
    return CellChoice(CollectiveCell(operation, size, processes), algorithm, 1.3, 1.1, 1.5)


def remaining(choices, gains, **options):
    gains = {choices[place].cell: gain for place, gain in gains.items()}
    return [row.algorithm for row in winners(choices, gains, **options)]


def test_a_rule_remains_where_it_wins():
    row = [choice(size) for size in (8, 64, 512)]
    assert remaining(row, {0: WIN, 1: UNSURE, 2: LOSS}, by_operation=False) == ["chain", "", ""]


def test_among_many_rules_one_wins_only_where_chance_is_ruled_out():
    near = Gain(1.1, 1.01, 1.2, 5, 0.02)
    row = [choice(1 << power) for power in range(3, 23)]
    assert remaining(row[:1], {0: near}, by_operation=False) == ["chain"]
    rest = dict.fromkeys(range(1, 20), UNSURE)
    assert remaining(row, {0: near, **rest}, by_operation=False) == [""] * 20
    assert remaining(row, {0: WIN, **rest}, by_operation=False) == ["chain"] + [""] * 19


def test_the_chance_is_that_of_student_s_test():
    picks = {choice(8).cell: "chain"}
    gains = duel(SlowingMachine(8.5), picks, selector_of([choice(8)], "openmpi"), Samples())
    logs = [math.log(2 * 1.02 ** (-1) ** pair) for pair in range(4)]
    assert gains[choice(8).cell].chance == pytest.approx(ttest_1samp(logs, 0, alternative="greater").pvalue, rel=1e-6)


def test_the_gain_that_is_told_is_that_of_the_duel():
    row = [choice(8), choice(64)]
    first, second = winners(row, {row[0].cell: WIN, row[1].cell: WIN}, by_operation=False)
    assert (first.gain, first.low, first.high, first.is_measured) == (1.5, 1.4, 1.6, True)
    assert second.algorithm == "chain"


def test_between_sizes_a_rule_remains_beside_one_that_wins():
    row = [choice(size) for size in (8, 16, 64, 128, 512)]
    assert remaining(row, {0: LOSS, 2: WIN, 4: LOSS}, by_operation=False) == ["", "chain", "chain", "chain", ""]
    assert remaining(row, {0: LOSS, 2: UNSURE, 4: LOSS}, by_operation=False) == [""] * 5


def test_for_more_processes_a_rule_remains_where_one_of_the_operation_wins():
    row = [choice(8), choice(8, processes=16), choice(8, processes=16, operation="reduce")]
    assert remaining(row, {0: WIN}, by_operation=False) == ["chain", "chain", ""]
    assert remaining(row, {0: LOSS}, by_operation=False) == ["", "", ""]


def test_where_an_operation_is_decided_as_a_whole_nothing_may_lose():
    row = [choice(8), choice(64, ""), choice(512)]
    assert remaining(row, {0: WIN, 1: UNSURE, 2: UNSURE}, by_operation=True) == ["chain", "", "chain"]
    assert remaining(row, {0: WIN, 1: LOSS, 2: WIN}, by_operation=True) == ["", "", ""]
    assert remaining(row, {0: UNSURE, 1: UNSURE, 2: UNSURE}, by_operation=True) == ["", "", ""]


class SlowingMachine:
    """Each launch takes 2 % longer than the one before; with rules, half as long."""

    duration = 1.0

    def __init__(self, seconds):
        self.seconds_in_all, self.order = seconds, []

    def measure(self, picks, rules=None):
        self.order.append(rules is None)
        self.seconds_in_all -= self.duration
        slower = 1.02 ** len(self.order)
        return {(cell, name): [slower * (1e-3 if rules is None else 0.5e-3)] * 9 for cell, name in picks.items()}


class Samples(list):
    """What a search takes in."""

    def add(self, *row):
        self.append(row)


def test_launches_alternate_so_that_a_machine_that_slows_down_favours_neither():
    picks, machine, samples = {choice(8).cell: "chain"}, SlowingMachine(24.5), Samples()
    gains = duel(machine, picks, selector_of([choice(8)], "openmpi"), samples)
    gain = gains[choice(8).cell]
    assert machine.order[:4] == [True, False, False, True]
    assert gain.pairs == 12
    assert abs(gain.ratio - 2) < 0.01
    assert gain.low < 2 < gain.high
    assert {row[1] for row in samples} == {"", "chain"}
