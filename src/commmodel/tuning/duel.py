"""Launches with the library's own choices and with rules, in turn: which rules win. Main entry: `duel`."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from commmodel.collectives.library.rules import Selector
from commmodel.statistics import log_half_width
from commmodel.tuning.launches import LEAST_PAIRS, RuleLaunches
from commmodel.tuning.search import DEFAULT_CHOICE, HARDLY_SLOWER, AlgorithmSearch, CellChoice, CollectiveCell

MOST_PAIRS = 15


class Gain(NamedTuple):
    """The library's own time over that with the rules, from pairs of launches, with its interval of 95 %."""

    ratio: float
    low: float
    high: float
    pairs: int


def duel(
    launches: RuleLaunches, picks: Mapping[CollectiveCell, str], rules: Selector, search: AlgorithmSearch
) -> dict[CollectiveCell, Gain]:
    """Return the gain in each cell of operations with rules, from as many pairs of launches as the time allows.

    Which of a pair comes first changes from pair to pair, so that a machine that slows down favours neither. The search
    takes the samples in, too.
    """
    logs: dict[CollectiveCell, list[float]] = defaultdict(list)
    default = dict.fromkeys(picks, DEFAULT_CHOICE)
    for pair in range(MOST_PAIRS):
        if pair >= LEAST_PAIRS and launches.seconds_in_all < 2 * launches.duration:
            break
        medians: dict[bool, dict[CollectiveCell, float]] = {}
        for is_default in (True, False) if pair % 2 == 0 else (False, True):
            samples = launches.measure(default) if is_default else launches.measure(picks, rules)
            medians[is_default] = {cell: float(np.median(values)) for (cell, _), values in samples.items()}
            for (cell, name), values in samples.items():
                if is_default or name:
                    search.add(cell, name, values)
        for cell in medians[True].keys() & medians[False].keys():
            logs[cell].append(math.log(max(medians[True][cell], 1e-12) / max(medians[False][cell], 1e-12)))
    gains = {}
    for cell, values in logs.items():
        mean, width = math.fsum(values) / len(values), log_half_width(np.exp(values))
        ratio = math.exp(mean)
        gains[cell] = Gain(ratio, ratio * math.exp(-width), ratio * math.exp(min(width, 700.0)), len(values))
    return gains


def winners(
    choices: Iterable[CellChoice], gains: Mapping[CollectiveCell, Gain], *, by_operation: bool
) -> list[CellChoice]:
    """Return the choices that remain: a rule that does not win becomes the library's own choice.

    One between measured sizes remains beside a rule that wins, and one for more processes than were measured where a
    rule for the operation wins. `by_operation`: rules leave a part of the library aside for an operation as a whole on
    so many processes, so either they win in some cell and lose in none, or all are dropped.
    """
    groups: dict[tuple[str, int], list[CellChoice]] = defaultdict(list)
    for choice in sorted(choices):
        groups[choice.cell.operation, choice.cell.processes].append(choice)
    result: dict[CellChoice, CellChoice] = {}
    winning: set[str] = set()
    for (operation, _), row in sorted(groups.items()):
        if not any(choice.cell in gains for choice in row):
            remaining = row if operation in winning else [*map(_default, row)]  # of more processes than were measured
        elif by_operation:
            remaining = [_with_gain(choice, gains) for choice in row] if _wins(row, gains) else [*map(_default, row)]
        else:
            remaining = _judged(row, gains)
        if any(choice.algorithm for choice in remaining):
            winning.add(operation)
        result |= zip(row, remaining, strict=True)
    return [result[choice] for choice in choices]


def _wins(row: Sequence[CellChoice], gains: Mapping[CollectiveCell, Gain]) -> bool:
    measured = [gains[choice.cell] for choice in row if choice.cell in gains]
    return any(gain.low > 1 for gain in measured) and not any(gain.high < 1 / HARDLY_SLOWER for gain in measured)


def _judged(row: Sequence[CellChoice], gains: Mapping[CollectiveCell, Gain]) -> list[CellChoice]:
    """Return the choices at ascending sizes that win, and those between that are beside one."""
    judged = [
        (_with_gain(choice, gains) if gains[choice.cell].low > 1 else _default(choice))
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
