"""Regimes of a few sizes within a protocol, too few for a line of their own. Main entry: `regimes`.

A limit needs three sizes on either side. Fewer that leave the line of the others are not disturbed for that: their own
samples agree, and other launches would say the same, such as of the last size before a cache is full. At an end of a
protocol, or where several neighbours agree, they are a regime: no line is fitted to them, and predictions follow their
measured times. It must be one that can be: at a limit its times lie between the lines of both sides; elsewhere larger
messages never take less, or all numbers of pairs say the same. A lone size elsewhere is no regime: it contradicts the
line, and `trust` says so.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.arrays import Array
from commmodel.fit.least_squares import fit_unlimited
from commmodel.fit.points import Points
from commmodel.fit.robust import minimise
from commmodel.fit.trust import BEYOND, LEAST_SCATTER, NORMAL
from commmodel.statistics import TO_DEVIATION

_LEAST_SIZES = 4  # of the line that remains
_FAR = BEYOND * NORMAL, math.log(1.1)  # deviations, and at least so much: no part of the line
_BETWEEN = NORMAL, math.log(1.05)  # the same of the one size beside a limit, which may belong to neither side
_ALIKE = 1.05  # times that are no order
_PLAUSIBLE = math.log(2.0)  # beside the line, of the one last size, which no further size confirms


class _Row(NamedTuple):
    """The times of one number of pairs: arrays of shape (sizes,)."""

    size: Array
    seconds: Array
    is_quiet: NDArray[np.bool_]
    """Whether some record of the size was not disturbed."""
    is_sampled: NDArray[np.bool_]
    """Whether its own samples give the time an interval."""
    alpha: float
    beta: float

    def line(self, size: Array) -> Array:
        return np.maximum(self.alpha + self.beta * size, np.finfo(float).tiny)


def _row(points: Points, pairs: int) -> _Row | None:
    """Return the row of a number of pairs with a robust line through it; None of fewer than two sizes."""
    row = points.where((points.pairs == pairs) & (points.seconds > 0))
    size, inverse = np.unique(row.message_size, return_inverse=True)
    if size.size < 2:
        return None

    def of_each(values: Array) -> Array:
        return np.array([np.median(values[inverse == index]) for index in range(size.size)])

    sizes, seconds, alone = size.astype(np.float64), of_each(row.seconds), np.ones(size.size)
    tiny = seconds * 1e-9

    def solve(weights: Array, times: Array) -> tuple[float, float]:
        fit = fit_unlimited(sizes, alone, weights, times[None])
        return float(fit.alpha[0]), float(fit.b[0])

    fitted = minimise(
        solve, lambda line: np.maximum(line[0] + line[1] * sizes, tiny), sizes, seconds, of_each(row.error), 2
    )
    return _Row(sizes, seconds, of_each(row.disturbed) < 1, np.isfinite(of_each(row.high)), *fitted.fit)


def _runs(mask: NDArray[np.bool_], logs: Array) -> list[range]:
    """Return the runs of neighbours in a mask that lie to the same side of the line."""
    runs: list[range] = []
    for index in np.flatnonzero(mask):
        last = runs[-1] if runs else range(0)
        if last and last.stop == index and (logs[index] > 0) == (logs[last[-1]] > 0):
            runs[-1] = range(last.start, index + 1)
        else:
            runs.append(range(index, index + 1))
    return runs


def _ascends(row: _Row, run: range, before: _Row | None, after: _Row | None) -> bool:
    """Whether larger messages take no less, from the size before a run to the size after it."""
    earlier = row.seconds[run.start - 1] if run.start else before.seconds[-1] if before is not None else 0.0
    later = row.seconds[run.stop] if run.stop < row.size.size else after.seconds[0] if after is not None else math.inf
    times = np.array([earlier, *row.seconds[run], later])
    return bool((times[1:] * _ALIKE >= times[:-1]).all())


def _is_regime(
    row: _Row, run: range, before: _Row | None, after: _Row | None, logs: Array, confirmed: NDArray[np.bool_]
) -> bool:
    """Whether the sizes of a run have a regime of their own; else they contradict the line."""
    other = before if run.start == 0 else after if run.stop == row.size.size else None
    is_end = run.start == 0 or run.stop == row.size.size
    if is_end and other is not None:
        ends = np.sort([row.line(row.size[run]), other.line(row.size[run])], axis=0)
        if (row.seconds[run] * _ALIKE >= ends[0]).all() and (row.seconds[run] <= ends[1] * _ALIKE).all():
            return True
    if len(run) == 1:
        is_plausible = abs(logs[run.start]) <= _PLAUSIBLE and bool(row.is_sampled[run.start])
        return is_end and other is None and is_plausible and _ascends(row, run, before, after)
    return bool(confirmed[run].all()) or _ascends(row, run, before, after)


def _logs(row: _Row) -> Array:
    """Return how far each size lies from the line."""
    return np.log(row.seconds / row.line(row.size))


def _far(row: _Row, before: _Row | None, after: _Row | None) -> NDArray[np.bool_]:
    """Return which sizes of a row leave its line."""
    count, logs = row.size.size, _logs(row)
    if count <= _LEAST_SIZES:
        return np.zeros(count, dtype=bool)
    scatter = max(TO_DEVIATION * float(np.median(np.abs(logs))) * math.sqrt(count / (count - 2)), LEAST_SCATTER)
    far, between = (
        row.is_quiet & (np.abs(logs) > max(deviations * scatter, least)) for deviations, least in (_FAR, _BETWEEN)
    )
    for place, neighbour in ((0, before), (count - 1, after)):
        far[place] |= between[place] and neighbour is not None
    return np.asarray(far)


def _sizes(row: _Row, before: _Row | None, after: _Row | None, confirmed: Array) -> Array:
    """Return the sizes of a row that belong to regimes, given those at which all numbers of pairs leave their line."""
    logs, is_confirmed = _logs(row), np.isin(row.size, confirmed)
    runs = _runs(_far(row, before, after), logs)
    chosen = [run for run in runs if _is_regime(row, run, before, after, logs, is_confirmed)]
    places = [place for run in chosen for place in run]
    return row.size[places] if row.size.size - len(places) >= _LEAST_SIZES else np.empty(0)


def _confirmed(rows: Sequence[tuple[_Row, _Row | None, _Row | None]]) -> Array:
    """Return the sizes at which all of several numbers of pairs leave their lines to the same side."""
    sides = [dict(zip(row.size, _far(row, *beside) * np.sign(_logs(row)), strict=True)) for row, *beside in rows]
    sizes = set.intersection(*map(set, sides)) if len(sides) > 1 else set()
    agreed = [size for size in sizes if sides[0][size] and len({side[size] for side in sides}) == 1]
    return np.array(sorted(agreed))


def regimes(parts: Sequence[Points]) -> list[NDArray[np.bool_]]:
    """Return for each protocol, ascending, which of its points belong to a regime of a few sizes.

    Examples
    --------
    >>> size = 2 ** np.arange(8, 16)
    >>> times = 1e-6 + size / 1e9 * np.where(size < 1 << 14, 1.0, 1.6)
    >>> (mask,) = regimes([Points(size, np.ones_like(size), times, times, times)])
    >>> size[mask].tolist()
    [16384, 32768]
    """
    rows = {
        pairs: [None, *(_row(points, pairs) for points in parts), None]
        for pairs in sorted({int(count) for points in parts for count in points.pairs})
    }
    masks = [np.zeros(len(points), dtype=bool) for points in parts]
    for index, (points, mask) in enumerate(zip(parts, masks, strict=True)):
        beside = {
            pairs: (row, of_parts[index], of_parts[index + 2])
            for pairs, of_parts in rows.items()
            if (row := of_parts[index + 1]) is not None
        }
        confirmed = _confirmed(list(beside.values()))
        for pairs, row_and_beside in beside.items():
            inside = np.isin(points.message_size, _sizes(*row_and_beside, confirmed))
            mask |= inside & (points.pairs == pairs)
    return masks
