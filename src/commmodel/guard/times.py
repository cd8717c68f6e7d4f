"""Times of both sides of a guard, measured in turns for a while. Main entries: `measure_sides`, `best_repetitions`.

Launches of one program differ by more than their repetitions show, so many short launches say more than a few long
ones. Where a launch takes s seconds to start and r for a repetition, launches have the variance B between them and
repetitions W within one, the mean is known best if a launch has sqrt(s W / (r B)) repetitions (Kalibera and Jones 2013,
"Rigorous benchmarking in reasonable time").
"""

import math
import os
import tempfile
from collections.abc import Sequence
from time import monotonic

import numpy as np

from commmodel.guard.file import REPETITIONS, GuardTimes
from commmodel.results import Launch, Measurements
from commmodel.results.configurations import Configuration
from commmodel.sweep.interleaving import MOST_PAIRS, measure_in_turns, turns

FIRST_REPETITIONS = 20
"""Of the launches from which the best number is computed."""
FEWEST_REPETITIONS, MOST_REPETITIONS = 3, 100
"""Fewer let a single disturbance decide about a launch."""

Sides = tuple[Measurements, Measurements]


def measure_sides(times: GuardTimes, folder: str, seed: int) -> Sides:
    """Return launches of both folders in turns, in pairs, as many as there is time for.

    Where the command takes a number of repetitions, the first launches tell which one is best.
    """
    begin, folders, command = monotonic(), (folder, os.getcwd()), times.command
    parts: list[Sides] = []
    with tempfile.TemporaryDirectory(prefix="commmodel-") as place:
        if REPETITIONS in command:
            first = turns(command.replace(REPETITIONS, str(FIRST_REPETITIONS)), folders, seed)
            parts.append(measure_in_turns(first, times.launches, os.path.join(place, "first")))
            seconds = (monotonic() - begin) / (2 * times.launches)
            command = command.replace(REPETITIONS, str(best_repetitions(parts[0], seconds)))
        plan, start = turns(command, folders, seed + 1), monotonic()
        pairs = 2 if parts else times.launches
        room = pairs if not parts or start - begin < times.seconds else 0
        while room:
            measured = measure_in_turns(plan, pairs, os.path.join(place, "turns"))
            now = monotonic()
            left = int(pairs * (times.seconds - (now - begin)) / (now - start))
            room = min(max(2, left // 4 * 2), MOST_PAIRS - pairs) if left > 1 else 0  # either side begins a half
            if not room:
                parts.append(measured)
            pairs += room
    before, after = (Measurements(tuple(launch for part in parts for launch in part[side].launches)) for side in (0, 1))
    return before, after


def best_repetitions(sides: Sides, seconds: float) -> int:
    """Return the repetitions of a launch with which means over launches are known best in a given time.

    Parameters
    ----------
    sides : (Measurements, Measurements)
        Launches in pairs.
    seconds : float
        That one of them takes in the mean, its start included.

    Examples
    --------
    >>> from commmodel.results import Header, Library, Record
    >>> from commmodel.results.configurations import Function
    >>> header = Header("commmodel-results", 1, "", (), Library("MPI"), (), ())
    >>> def side(*means):
    ...     records = [Record(Function("f", "time", ()), "s", (0.9 * mean, 1.1 * mean) * 10) for mean in means]
    ...     return Measurements(tuple(Launch(header, (record,)) for record in records))
    >>> before, scattered = side(1.0, 1.1, 1.0, 1.2), side(2.0, 0.5, 1.5, 0.7)
    >>> best_repetitions((before, scattered), 40.0), best_repetitions((before, before), 40.0)
    (3, 100)
    """
    tables = [[_logs(launch) for launch in side.launches] for side in sides]
    launches = [launch for side in tables for launch in side]
    repeated = [logs for launch in launches for logs in launch.values() if len(logs) > 1]
    if not repeated:
        return FIRST_REPETITIONS
    measured = float(np.mean([sum(float(np.exp(logs).sum()) for logs in launch.values()) for launch in launches]))
    repetitions = float(np.median([len(logs) for logs in repeated]))
    within = float(np.median([logs.var(ddof=1) for logs in repeated]))
    between = _variance_between(*tables) - within / repetitions
    start = max(seconds - measured, 0.0)
    if between <= 0:
        return MOST_REPETITIONS
    best = math.sqrt(start / (measured / repetitions) * within / between)
    return round(min(max(best, FEWEST_REPETITIONS), MOST_REPETITIONS))


_Logs = dict[Configuration, np.ndarray]


def _logs(launch: Launch) -> _Logs:
    """Return the logarithms of a launch's times."""
    return {
        record.configuration: np.log(record.samples)
        for record in launch.records
        if record.unit == "s" and min(record.samples) > 0
    }


def _variance_between(before: Sequence[_Logs], after: Sequence[_Logs]) -> float:
    """Return the variance of launches beside what both of a pair have in common: the median over configurations."""
    differences: dict[Configuration, list[float]] = {}
    for first, second in zip(before, after, strict=True):
        for configuration in first.keys() & second.keys():
            difference = float(np.median(second[configuration]) - np.median(first[configuration]))
            differences.setdefault(configuration, []).append(difference)
    variances = [float(np.var(row, ddof=1)) / 2 for row in differences.values() if len(row) > 1]
    return float(np.median(variances)) if variances else 0.0
