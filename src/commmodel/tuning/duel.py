"""Launches with the library's own choices and with rules, in turn: which rules win. Main entry: `duel`."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from commmodel.collectives.library.rules import Selector
from commmodel.statistics import false_discovery_limit, log_half_width
from commmodel.tuning.launches import LEAST_PAIRS, RuleLaunches
from commmodel.tuning.search import DEFAULT_CHOICE, HARDLY_SLOWER, AlgorithmSearch, CellChoice, CollectiveCell, Samples

MOST_PAIRS = 15
FALSE_WINS = 0.025
"""Share of the rules that win without a gain: with one rule, its interval of 95 % lies above 1."""


class Gain(NamedTuple):
    """The library's own time over that with the rules, from pairs of launches, with its interval of 95 %."""

    ratio: float
    low: float
    high: float
    pairs: int
    chance: float
    """Of such a mean of the pairs or a larger one, were there no gain: Student's test."""


def duel(
    launches: RuleLaunches,
    picks: Mapping[CollectiveCell, str],
    rules: Selector,
    search: AlgorithmSearch,
    before: Sequence[tuple[Samples, Samples]] = (),
) -> dict[CollectiveCell, Gain]:
    """Return the gain in each cell of operations with rules, from as many pairs of launches as the time allows.

    Which of a pair comes first changes from pair to pair, so that a machine that slows down favours neither. The search
    takes the samples in, too. `before`: pairs of an interrupted run, without and with the rules, which count as well.
    """
    logs: dict[CollectiveCell, list[float]] = defaultdict(list)

    def compare(pair: Mapping[bool, Mapping[CollectiveCell, float]]) -> None:
        for cell in pair[True].keys() & pair[False].keys():
            logs[cell].append(math.log(max(pair[True][cell], 1e-12) / max(pair[False][cell], 1e-12)))

    for without, under_rules in before:
        compare({True: _medians(without), False: _medians(under_rules)})
    default = dict.fromkeys(picks, DEFAULT_CHOICE)
    for pair in range(len(before), MOST_PAIRS):
        if pair >= LEAST_PAIRS and launches.seconds_in_all < 2 * launches.duration:
            break
        medians: dict[bool, dict[CollectiveCell, float]] = {}
        for is_default in (True, False) if pair % 2 == 0 else (False, True):
            samples = launches.measure(default) if is_default else launches.measure(picks, rules)
            medians[is_default] = _medians(samples)
            for (cell, name), values in samples.items():
                if is_default or name:
                    search.add(cell, name, values)
        compare(medians)
    gains = {}
    for cell, values in logs.items():
        mean, width = math.fsum(values) / len(values), log_half_width(np.exp(values))
        ratio = math.exp(mean)
        gains[cell] = Gain(
            ratio, ratio * math.exp(-width), ratio * math.exp(min(width, 700.0)), len(values), _chance(values)
        )
    return gains


def _medians(samples: Samples) -> dict[CollectiveCell, float]:
    return {cell: float(np.median(values)) for (cell, _), values in samples.items()}


def _chance(logs: Sequence[float]) -> float:
    """Return the one-sided p-value of the mean against 0."""
    from scipy.special import stdtr

    if len(logs) < 2:
        return 1.0
    error = float(np.std(logs, ddof=1)) / math.sqrt(len(logs))
    mean = math.fsum(logs) / len(logs)
    return float(stdtr(len(logs) - 1, -mean / error)) if error else float(mean <= 0)


def winners(
    choices: Sequence[CellChoice], gains: Mapping[CollectiveCell, Gain], *, by_operation: bool
) -> list[CellChoice]:
    """Return the choices that remain: a rule that does not win becomes the library's own choice.

    Many rules are compared at once, so a win has the limit at which on average `FALSE_WINS` of the winners do not
    gain: each rule is of use by itself, and one that does not gain costs hardly any time.

    One between measured sizes remains beside a rule that wins, and one for more processes than were measured where a
    rule for the operation wins. `by_operation`: rules leave a part of the library aside for an operation as a whole on
    so many processes, so either they win in some cell and lose in none, or all are dropped.
    """
    groups: dict[tuple[str, int], list[CellChoice]] = defaultdict(list)
    for choice in sorted(choices):
        groups[choice.cell.operation, choice.cell.processes].append(choice)
    chances = [gains[choice.cell].chance for choice in choices if choice.algorithm and choice.cell in gains]
    limit = false_discovery_limit(chances, FALSE_WINS)
    result: dict[CellChoice, CellChoice] = {}
    winning: set[str] = set()
    for (operation, _), row in sorted(groups.items()):
        if not any(choice.cell in gains for choice in row):
            remaining = row if operation in winning else [*map(_default, row)]  # of more processes than were measured
        elif by_operation:
            remaining = (
                [_with_gain(choice, gains) for choice in row] if _wins(row, gains, limit) else [*map(_default, row)]
            )
        else:
            remaining = _judged(row, gains, limit)
        if any(choice.algorithm for choice in remaining):
            winning.add(operation)
        result |= zip(row, remaining, strict=True)
    return [result[choice] for choice in choices]


def _wins(row: Sequence[CellChoice], gains: Mapping[CollectiveCell, Gain], limit: float) -> bool:
    measured = [gains[choice.cell] for choice in row if choice.cell in gains]
    has_winner = any(choice.algorithm and choice.cell in gains and gains[choice.cell].chance <= limit for choice in row)
    return has_winner and not any(gain.high < 1 / HARDLY_SLOWER for gain in measured)


def _judged(row: Sequence[CellChoice], gains: Mapping[CollectiveCell, Gain], limit: float) -> list[CellChoice]:
    """Return the choices at ascending sizes that win, and those between that are beside one."""
    judged = [
        (_with_gain(choice, gains) if gains[choice.cell].chance <= limit else _default(choice))
        if choice.cell in gains else None
        for choice in row
    ]  # fmt: skip
    remaining = []
    for place, choice in enumerate(row):
        before = next((other for other in reversed(judged[:place]) if other is not None), None)
        after = next((other for other in judged[place + 1 :] if other is not None), None)
        is_beside = any(other is not None and other.algorithm for other in (before, after))
        remaining.append(judged[place] or (choice if is_beside else _default(choice)))
    return remaining


def _with_gain(choice: CellChoice, gains: Mapping[CollectiveCell, Gain]) -> CellChoice:
    gain = gains.get(choice.cell)
    if gain is None or not choice.algorithm:
        return choice
    return choice._replace(gain=gain.ratio, low=gain.low, high=gain.high, is_measured=True)


def _default(choice: CellChoice) -> CellChoice:
    return CellChoice(choice.cell, DEFAULT_CHOICE)
