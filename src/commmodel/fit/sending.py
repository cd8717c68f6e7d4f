"""Times of data in pieces and of Python objects by each way to send them. Main entry: `fit_sending`.

A cell is a size, and of data in pieces also the bytes of a piece; each distance between pieces has cells of its own.
Its time is that of its visits (`visits`), of all launches. Longer pieces cost no more than shorter ones of the same
size together, so over the pieces times are made to fall, by the best such step function of their logarithms (pool
adjacent violators): what disturbs a cell is averaged with its neighbours, without a law for what caches and protocols
do. Between sizes costs are interpolated; how far that is off is told by each inner size left out and interpolated from
its neighbours.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from commmodel.arrays import Array
from commmodel.fit.points import Points, points_of
from commmodel.fit.trust import rounded, scatter_of
from commmodel.fit.undisturbed import Undisturbed
from commmodel.fit.visits import visit_times
from commmodel.machine import MeasuredTimes, ObjectTimes, PieceCosts, Sending
from commmodel.machine.tables import interpolated
from commmodel.results import Measurements
from commmodel.results.configurations import Datatype, PythonObject

_AS_FAR = 0.5  # of the distance at which a size left out is from its neighbours: that of a size in the middle
_Visits = dict[tuple[int, int], list[Undisturbed]]
"""Size and bytes of a piece, 1 of an object -> times of the visits of all launches."""


def fit_sending(measurements: Measurements) -> tuple[Sending, ...]:
    """Return the times of each path on which data in pieces or objects were measured; empty where none were."""
    pieces: dict[str, dict[Any, _Visits]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    objects: dict[str, dict[Any, _Visits]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    contiguous: dict[str, _Visits] = defaultdict(lambda: defaultdict(list))
    for record in measurements.records:
        match record.configuration:
            case Datatype(way="contiguous") as configuration:
                contiguous[configuration.path][configuration.message_size, 1] += visit_times(record)
            case Datatype() as configuration:
                visits = pieces[configuration.path][configuration.layout, configuration.way, _distance(configuration)]
                visits[configuration.message_size, configuration.block] += visit_times(record)
            case PythonObject() as configuration:
                visits = objects[configuration.path][configuration.kind, configuration.way]
                visits[configuration.message_size, 1] += visit_times(record)
    return tuple(
        _of_path(path, contiguous.get(path, {}), pieces.get(path, {}), objects.get(path, {}))
        for path in dict.fromkeys([*contiguous, *objects])
    )


def _of_path(path: str, contiguous: _Visits, pieces: Mapping[Any, _Visits], objects: Mapping[Any, _Visits]) -> Sending:
    floor = None if not contiguous else _measured(_points(contiguous))
    costs = {} if floor is None else {key: _points(visits) for key, visits in sorted(pieces.items())}
    return Sending(
        path,
        floor,
        tuple(_costs(key, points, floor) for key, points in costs.items() if floor is not None),
        tuple(_object_times(kind, way, _points(visits)) for (kind, way), visits in sorted(objects.items())),
    )


def _distance(configuration: Datatype) -> int:
    """Return how far apart pieces begin; 0 where that is twice their length."""
    return 0 if configuration.stride == 2 * configuration.block else configuration.stride


def _points(visits: _Visits) -> Points:
    return points_of([(size, block, times) for (size, block), times in visits.items()])


def _measured(points: Points) -> MeasuredTimes:
    def column(values: Array) -> tuple[float, ...]:
        return tuple(map(rounded, values.tolist()))

    bounded = bool(np.isfinite(points.low).all() and np.isfinite(points.high).all() and (points.low > 0).all())
    ends = {"low": column(points.low), "high": column(points.high)} if bounded else {}
    return MeasuredTimes(tuple(points.message_size.tolist()), column(points.seconds), **ends)


def _costs(key: tuple[Any, Any, int], points: Points, floor: MeasuredTimes) -> PieceCosts:
    """Return what a layout's way adds to each byte at a stride, 0: twice a piece.

    Where a block does not fit a size, it is what the nearest block adds.
    """
    sizes, blocks = np.unique(points.message_size).tolist(), np.unique(points.pairs).tolist()
    rows, residuals = [], []
    for size in sizes:
        part = points.where(points.message_size == size)
        logs = np.log(part.seconds)
        fitted = falling(logs)
        residuals += (logs - fitted).tolist()
        added = np.maximum(np.exp(fitted) - floor.at(size), 0.0) / size
        nearest = np.abs(np.log(part.pairs[:, None] / np.array(blocks))).argmin(axis=0)
        rows.append(tuple(map(rounded, added[nearest].tolist())))

    def left_out(index: int) -> list[float]:
        """Return how far the times of a size are from those interpolated without it, in logarithms."""
        rest, values = sizes[:index] + sizes[index + 1 :], rows[:index] + rows[index + 1 :]
        part = points.where(points.message_size == sizes[index])
        times = [floor.at(sizes[index]) + sizes[index] * interpolated(rest, blocks, values, sizes[index], block)
                 for block in part.pairs.tolist()]  # fmt: skip
        return np.log(part.seconds / times).tolist()  # type: ignore[no-any-return]

    scatter = _scatter(residuals, left_out, len(sizes))
    layout, way, stride = key
    return PieceCosts(layout, way, tuple(sizes), tuple(blocks), tuple(rows), scatter, stride or None)


def _object_times(kind: Any, way: Any, points: Points) -> ObjectTimes:
    times = _measured(points)
    errors = points.error.tolist()

    def left_out(index: int) -> list[float]:
        rest = [place for place in range(len(points)) if place != index]
        part = MeasuredTimes(tuple(times.sizes[other] for other in rest), tuple(times.seconds[other] for other in rest))
        return [math.log(times.seconds[index] / part.at(times.sizes[index]))]

    return ObjectTimes(kind, way, times, _scatter(errors, left_out, len(times.sizes)))


def _scatter(residuals: Sequence[float], left_out: Callable[[int], list[float]], sizes: int) -> float:
    """Return the deviation of log times: of what is measured from what is fitted, and of interpolated ones."""
    between = [_AS_FAR * log for index in range(1, sizes - 1) for log in left_out(index)]
    parts = [scatter_of(np.array(logs), 1) for logs in (residuals, between) if logs]
    return rounded(math.hypot(*parts))


def falling(values: Array) -> Array:
    """Return the nearest values, in squares, of which none is larger than the one before it.

    >>> falling(np.array([3.0, 1.0, 2.0, 0.0])).tolist()
    [3.0, 1.5, 1.5, 0.0]
    """
    pools: list[tuple[float, int]] = []
    for value in values.tolist():
        mean, count = value, 1
        while pools and pools[-1][0] < mean:
            before, number = pools.pop()
            mean, count = (mean * count + before * number) / (count + number), count + number
        pools.append((mean, count))
    return np.repeat(*map(np.array, zip(*pools, strict=True)))
