"""Measured range of a machine: sizes, pairs, and errors of the models on them.

Main entries: `measured`, `most_processes` and `warnings`.
"""

import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from commmodel.fit.points import Points
from commmodel.fit.trust import rounded
from commmodel.machine import MeasuredPairs, MeasuredTimes, Segment
from commmodel.machine.model_choice import DESCRIBES, ONE_WAY, model_of, seconds, two_way
from commmodel.results import Header, Launch, Measurements, kernel_name, oversubscription_warnings, whole_launches

__all__ = ["measured", "most_processes", "warnings"]

Array = NDArray[np.float64]
_SLOWER = 1.2  # times as long, at least, is worth a word


def measured(segment: Segment, points: Points, streams: Points) -> Segment:
    """Return a segment with its measured times and the errors of its models on them.

    Parameters
    ----------
    segment : Segment
        With its models.
    points, streams : Points
        Of ping-pongs and of streams, of this segment alone. Streams count where it has no ping-pongs.

    Returns
    -------
    Segment
        With a `MeasuredPairs` for each number of pairs; where no model describes it, with the times themselves. Errors
        are the mean abs(ln(T_model / T)) over the sizes, each with the median of its points: an underestimate by a
        factor weighs what an overestimate by it does.
    """
    names = list(two_way(segment)) if len(points) else [ONE_WAY] if segment.one_way is not None else []
    timed = points if len(points) else streams
    rows = []
    for pairs in np.unique(timed.pairs):
        selection = timed.where((timed.pairs == pairs) & (timed.seconds > 0))
        sizes, times = _medians(selection)
        if not sizes.size:
            continue
        errors = {
            name: error
            for name in names
            if math.isfinite(error := _error([_seconds(segment, name, size, int(pairs)) for size in sizes], times))
        }
        is_described = min(errors.values(), default=math.inf) <= DESCRIBES
        table = None if is_described or not names else _table(selection, sizes, times)
        extent = int(sizes[0]), int(sizes[-1])
        rows.append(MeasuredPairs(int(pairs), extent, _rounded(errors), table, _disturbed(selection)))
    return msgspec.structs.replace(segment, measured=tuple(rows))


def _table(points: Points, sizes: Array, times: Array) -> MeasuredTimes:
    """Return the median of each size, with confidence limits where all have them."""
    ends = [
        np.array([np.median(column[points.message_size == size]) for size in sizes])
        for column in (points.low, points.high)
    ]
    is_bounded = all((np.isfinite(end) & (end > 0)).all() for end in ends)
    columns = [tuple(rounded(float(value)) for value in column) for column in (times, *ends)]
    return MeasuredTimes(tuple(map(int, sizes)), columns[0], *(columns[1:] if is_bounded else ()))


def _disturbed(points: Points) -> MeasuredTimes | None:
    """Return the median of all samples at the sizes where the fastest mode has less than half; None without any."""
    medians: dict[int, list[float]] = {}
    for size, fastest, modes in zip(points.message_size, points.seconds, points.modes, strict=True):
        middle = int(np.searchsorted(np.cumsum([mode.share for mode in modes]), 0.5))
        medians.setdefault(int(size), []).append(modes[middle].median if 0 < middle < len(modes) else fastest)
    typical = {size: float(np.median(several)) for size, several in medians.items()}
    slow = [size for size, fitted in zip(*_medians(points), strict=True) if typical[int(size)] > _SLOWER * fitted]
    if not slow:
        return None
    return MeasuredTimes(tuple(map(int, slow)), tuple(rounded(typical[int(size)]) for size in slow))


def _rounded(errors: dict[str, float]) -> dict[str, float]:
    return {name: rounded(error) for name, error in errors.items()}


def _medians(points: Points) -> tuple[Array, Array]:
    """Return the distinct sizes, ascending, and the median of the times of each."""
    order = np.argsort(points.message_size, kind="stable")
    sizes, begins = np.unique(points.message_size[order], return_index=True)
    parts = np.split(points.seconds[order], begins[1:]) if sizes.size else []
    return sizes.astype(np.float64), np.array([np.median(part) for part in parts])


def _seconds(segment: Segment, name: str, size: float, pairs: int) -> float:
    model = model_of(segment, name)
    if model is None or (pairs > 1 and getattr(model, "R_N", 0) is None):  # of one number of pairs
        return math.nan
    return seconds(model, size, pairs)


def _error(expected: Iterable[float], times: Array) -> float:
    """Return the mean absolute difference of logarithms."""
    modelled = np.fromiter(expected, dtype=np.float64)
    if not (modelled > 0).all():
        return math.inf
    return float(np.abs(np.log(modelled / times)).mean())


def most_processes(headers: Iterable[Header]) -> int:
    """Return the number of ranks of the largest launch."""
    return max((len(header.ranks) for header in headers), default=0)


def warnings(measurements: Measurements, results: Sequence[str] = ()) -> tuple[str, ...]:
    """Return problems of launches that affect every model fitted to them, a line each."""
    launches = whole_launches(measurements)
    lines = [line for launch in launches for line in oversubscription_warnings(launch.header)]
    lines += [words for launch in launches if (words := _partial(launch, launches, results))]
    return tuple(dict.fromkeys(lines))


def _partial(launch: Launch, launches: Sequence[Launch], results: Sequence[str]) -> str:
    """Return what of a launch's plan no launch like it measured; empty where that is nothing."""
    options = launch.header.options
    if options is None:
        return ""
    alike = [other for other in launches if other.header.options and other.header.options.kernels == options.kernels]
    measured = {record.configuration for other in alike for record in other.records}
    if len(measured) >= launch.header.planned:
        return ""
    kernels = {kernel_name(configuration).removeprefix("random-") for configuration in measured}
    missing = ", ".join(name for name in options.kernels if name not in kernels)
    file = results[0] if len(results) == 1 else "its file"
    return (
        f"partial measurement: {len(measured)} of {launch.header.planned} planned configurations"
        f"{f', none of {missing}' if missing else ''}: complete {file} with --resume, then fit again"
    )
