"""Measured range of a machine: sizes, pairs, and errors of the models on them.

Main entries: `measured`, `most_processes` and `warnings`.
"""

import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from commmodel.arrays import Array
from commmodel.fit.points import Points
from commmodel.fit.trust import (
    BEYOND,
    FAR,
    LEAST_SCATTER,
    MOST_CONTRADICTING,
    NORMAL,
    rounded,
)
from commmodel.machine import MeasuredPairs, MeasuredTimes, Segment
from commmodel.machine.model_choice import DESCRIBES, ONE_WAY, model_of, seconds, two_way
from commmodel.machine.rates import message_time
from commmodel.results import Header, Launch, Measurements, kernel_name, oversubscription_warnings, whole_launches
from commmodel.results.oversubscription import load_warnings
from commmodel.statistics import TO_DEVIATION

_SLOWER = 1.2  # times as long, at least, is worth a word
_UNDERCUT = 1.1  # times as long as a larger message
_LEAST_ROUGH = 3
_SMOOTH = 5  # sizes of a call, whose times tell how they scatter


def measured(segment: Segment, points: Points, streams: Points, regime: NDArray[np.bool_] | None = None) -> Segment:
    """Return a segment with its measured times and the errors of its models on them.

    Parameters
    ----------
    segment : Segment
        With its models.
    points, streams : Points
        Of ping-pongs and of streams, of this segment alone. Streams count where it has no ping-pongs.
    regime : shape (points,), optional
        Which of them, or of the streams where these count, belong to a regime of a few sizes.

    Returns
    -------
    Segment
        With a `MeasuredPairs` for each number of pairs; where no model describes it, with the times themselves, at the
        sizes where none does. Errors are the mean abs(ln(T_model / T)) over the sizes that were not disturbed, each
        with the median of its points: an underestimate by a factor weighs what an overestimate by it does.
    """
    names = list(two_way(segment)) if len(points) else [ONE_WAY] if segment.one_way is not None else []
    timed = points if len(points) else streams
    regime = np.zeros(len(timed), dtype=bool) if regime is None else regime
    rows = []
    for pairs in np.unique(timed.pairs):
        chosen = (timed.pairs == pairs) & (timed.seconds > 0)
        selection = timed.where(chosen)
        if len(selection):
            rows.append(_row(segment, names, int(pairs), selection, regime[chosen]))
    return msgspec.structs.replace(segment, measured=tuple(rows))


def _row(
    segment: Segment, names: Sequence[str], pairs: int, points: Points, regime: NDArray[np.bool_]
) -> MeasuredPairs:
    """Return the entry of one number of pairs."""
    sizes, times = _medians(points)
    is_quiet = ~np.isin(sizes, np.setdiff1d(points.message_size, points.message_size[~points.disturbed]))
    is_quiet = is_quiet if is_quiet.any() else np.ones(sizes.size, dtype=bool)
    logs: dict[str, Array] = {}
    for name in names:
        expected = np.array([_seconds(segment, name, size, pairs) for size in sizes])
        if (expected > 0).all():
            logs[name] = np.log(times / expected)
    errors = {name: rounded(float(np.abs(log[is_quiet]).mean())) for name, log in logs.items()}
    extent = int(sizes[0]), int(sizes[-1])
    entry = MeasuredPairs(pairs, extent, errors, disturbed=_disturbed(points))
    if not logs:
        return entry
    best = min(errors, key=lambda name: errors[name])
    scatter = _scatter(segment, best)
    in_regime = np.isin(sizes, points.message_size[regime])
    contradicting = (
        is_quiet & ~in_regime & (np.abs(logs[best]) > min(BEYOND * NORMAL * max(scatter, LEAST_SCATTER), FAR))
    )
    plain = is_quiet & ~in_regime & ~contradicting
    is_described = contradicting.sum() <= MOST_CONTRADICTING * sizes.size and (
        not plain.any() or np.abs(logs[best][plain]).mean() <= DESCRIBES
    )
    if not is_described:
        scatter, contradicting = _roughness(sizes, times), _undercut(times)
        left = ~contradicting
        extent = int(sizes[left][0]), int(sizes[left][-1])
        entry = msgspec.structs.replace(entry, sizes=extent, times=_table(points, sizes[left], times[left], scatter))
    elif in_regime.any():
        inside = _around(in_regime)
        shown = np.where(in_regime, times, times / np.exp(logs[best]))  # beside the regime what the model says
        entry = msgspec.structs.replace(entry, times=_table(points, sizes[inside], shown[inside], scatter))
    if contradicting.any():
        chosen = tuple(map(int, sizes[contradicting])), tuple(rounded(float(time)) for time in times[contradicting])
        entry = msgspec.structs.replace(entry, contradicting=MeasuredTimes(*chosen))
    return entry


def _scatter(segment: Segment, name: str) -> float:
    quality = getattr(model_of(segment, name), "quality", None)
    return quality.scatter if quality is not None else 0.0


def _around(mask: NDArray[np.bool_]) -> slice:
    """Return the places from before the first that is true to after the last."""
    places = np.flatnonzero(mask)
    return slice(max(int(places[0]) - 1, 0), int(places[-1]) + 2)


def _undercut(times: Array) -> NDArray[np.bool_]:
    """Return which times some larger message undercuts, if they are few: else none can be is_quiet from the others."""
    later = np.minimum.accumulate(times[::-1])[::-1]
    undercut = times > _UNDERCUT * np.append(later[1:], math.inf)
    few: NDArray[np.bool_] = (
        undercut if undercut.sum() <= max(MOST_CONTRADICTING * times.size, 1) else np.zeros_like(undercut)
    )
    return few


def _roughness(sizes: Array, times: Array) -> float:
    """Return the standard deviation of times around what their neighbours say, relative; 0 of fewer than three."""
    octaves, logs = np.log2(np.maximum(sizes, 1)), np.log(times)
    if sizes.size < _LEAST_ROUGH:
        return 0.0
    share = (octaves[1:-1] - octaves[:-2]) / np.maximum(octaves[2:] - octaves[:-2], 1e-9)
    off = logs[1:-1] - (1 - share) * logs[:-2] - share * logs[2:]
    return float(TO_DEVIATION * np.median(np.abs(off)) / math.sqrt(1.5))


def measured_times(points: Points) -> MeasuredTimes:
    """Return the median of the times of each size, with limits."""
    sizes, times = _medians(points)
    return _table(points, sizes, times, _roughness(sizes, times) if sizes.size >= _SMOOTH else 0.0)


def _table(points: Points, sizes: Array, times: Array, scatter: float) -> MeasuredTimes:
    """Return times with limits: of their samples, of what the records of a size took, and of how sizes scatter."""
    low, high = (
        np.array([np.quantile(column[points.message_size == size], share, method="nearest") for size in sizes])
        for column, share in ((points.low, 0.025), (points.high, 0.975))
    )
    is_bounded = np.isfinite(high) & (low > 0)
    below = np.log(times / np.where(is_bounded, np.minimum(low, times), times))
    above = np.log(np.where(is_bounded, np.maximum(high, times), times) / times)
    ends = (times * np.exp(-np.hypot(below, NORMAL * scatter)), times * np.exp(np.hypot(above, NORMAL * scatter)))
    columns = [tuple(rounded(float(value)) for value in column) for column in (times, *ends)]
    has_interval = scatter > 0 or is_bounded.all()
    return MeasuredTimes(tuple(map(int, sizes)), columns[0], *(columns[1:] if has_interval else ()))


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
    return seconds(model, size, pairs, message_time(segment, size, pairs))


def most_processes(headers: Iterable[Header]) -> int:
    """Return the number of ranks of the largest launch."""
    return max((len(header.ranks) for header in headers), default=0)


def warnings(measurements: Measurements, results: Sequence[str] = ()) -> tuple[str, ...]:
    """Return problems of launches that affect every model fitted to them, a line each."""
    launches = whole_launches(measurements)
    lines = [
        line
        for launch in launches
        for line in (*oversubscription_warnings(launch.header), *load_warnings(launch.header))
    ]
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
