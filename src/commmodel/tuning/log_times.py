"""Times of an operation's algorithms over sizes and numbers of processes, from few measurements and a prior.

The logarithm of measured over predicted time is a Gaussian process: one part that all algorithms of the operation
share, one of those with the same schedule, one of the algorithm itself. Each is as rough as Brownian motion over the
logarithms of bytes and processes, as times bend where protocols change; a last one is the algorithm's in a single
cell. How large and how far-reaching the parts are is fitted to the measurements by their likelihood, beside a wide
prior. Main entry: `LogTimes`.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from commmodel.arrays import Array

_PRIOR_MEANS = np.log([1.0, 0.5, 0.5, 0.3, 0.1, 8.0, 4.0, 0.02])
"""Logarithms of the deviations of a constant, and of the shared, the schedule's, the algorithm's and the cell's part,
of the reach in doublings of bytes and of processes, and of the deviation of a launch from the next one."""
_PRIOR_WIDTHS = np.array([0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.2])
"""Standard deviations of these logarithms: a factor of two each way, less of launches, which few are repeated."""
_OTHER_KIND = 1.0
"""Doublings between a number of processes that is a power of two and one like it that is none."""
_MOST_FITTED = 150
"""Measurements that the likelihood is computed of: spread evenly over all."""
_STEPS = 60
_LIMIT = 3.0
"""How far a logarithm goes from its prior's mean."""


class TimePoint(NamedTuple):
    """An algorithm at a size and a number of processes."""

    algorithm: str
    schedule: str
    message_bytes: float
    """Of the whole vector."""
    processes: int
    predicted: float
    """Prior of the logarithm of the time."""


class MeasuredPoint(NamedTuple):
    """The mean logarithm of a time measured in some launches, and the variance of it that their samples show."""

    point: TimePoint
    log_seconds: float
    variance: float
    launches: int = 1


class Estimate(NamedTuple):
    """Means and covariance of logarithms of times."""

    means: Array
    covariance: Array


class LogTimes:
    """What measurements say of an operation's times at other points.

    Parameters
    ----------
    measured : sequence of MeasuredPoint
        At least one.
    parameters : array, optional
        Of the Gaussian process, as fitted to earlier measurements; fitted to these if left out.

    Examples
    --------
    >>> points = [TimePoint("ring", "ring", float(2**power), 8, 0.0) for power in (3, 13, 8)]
    >>> times = LogTimes([MeasuredPoint(points[0], -1.0, 0.0), MeasuredPoint(points[1], 1.0, 0.0)])
    >>> mean, deviation = times.at(points).means[2], times.at(points).covariance[2, 2] ** 0.5
    >>> bool(abs(mean) < 0.3), bool(deviation > 0.1)
    (True, True)
    """

    def __init__(self, measured: Sequence[MeasuredPoint], parameters: Array | None = None) -> None:
        self.measured = measured
        self._points = [row.point for row in measured]
        residuals = np.array([row.log_seconds - row.point.predicted for row in measured])
        self.parameters = _fitted(measured, residuals) if parameters is None else parameters
        self._inverse = np.linalg.inv(_noisy(_Distances.of(self._points, self._points), measured, self.parameters))
        self._weights = self._inverse @ residuals

    def at(self, points: Sequence[TimePoint]) -> Estimate:
        """Return what is to be expected of the times at points, without the scatter of a measurement."""
        across = _covariance(_Distances.of(points, self._points), self.parameters)
        prior = _covariance(_Distances.of(points, points), self.parameters)
        means = np.array([point.predicted for point in points]) + across @ self._weights
        return Estimate(means, prior - across @ self._inverse @ across.T)

    def without(self, places: Sequence[int]) -> Estimate:
        """Return what was to be expected of some measurements, by their places, from all others alone.

        Rasmussen and Williams 2006, section 5.4.2, of several points at once.

        >>> points = [TimePoint("ring", "ring", float(2**power), 8, 0.0) for power in (3, 4, 5)]
        >>> rows = [MeasuredPoint(point, value, 0.0) for point, value in zip(points, (-1.0, 0.0, 1.0))]
        >>> times = LogTimes(rows)
        >>> others = LogTimes(rows[::2], times.parameters)
        >>> bool(np.allclose(times.without([1]).means, others.at(points[1:2]).means))
        True
        """
        covariance = np.linalg.inv(self._inverse[np.ix_(places, places)])
        rows = [self.measured[place] for place in places]
        values = np.array([row.log_seconds for row in rows])
        return Estimate(
            values - covariance @ self._weights[list(places)], covariance - np.diag(_noise(rows, self.parameters))
        )


class _Distances(NamedTuple):
    """How far points are from others, in doublings, and what they have in common."""

    message_bytes: Array
    processes: Array
    is_schedule: Array
    is_algorithm: Array
    is_cell: Array

    @classmethod
    def of(cls, rows: Sequence[TimePoint], columns: Sequence[TimePoint]) -> "_Distances":
        """Return the distances of all pairs."""
        names: dict[str, int] = {}
        left, right = _coordinates(rows, names), _coordinates(columns, names)
        distance = np.abs(left[:, None] - right[None])
        message_bytes, processes, schedule, algorithm, kind = np.moveaxis(distance, -1, 0)
        is_cell = (message_bytes == 0) & (processes == 0) & (algorithm == 0)
        return cls(message_bytes, processes + _OTHER_KIND * kind, schedule == 0, algorithm == 0, is_cell)

    def nearness(self, parameters: Array) -> Array:
        """Return the correlation of each part."""
        bytes_reach, processes_reach = np.exp(parameters[5:7])
        return np.asarray(np.exp(-self.message_bytes / bytes_reach - self.processes / processes_reach))


def _covariance(distances: _Distances, parameters: Array) -> Array:
    return np.asarray(np.exp(2 * parameters[0]) + distances.nearness(parameters) * _variances(distances, parameters))


def _variances(distances: _Distances, parameters: Array) -> Array:
    """Return the variance that each pair of points shares, were they near."""
    shared, schedule, algorithm, cell = np.exp(2 * parameters[1:5])
    parts = shared + schedule * distances.is_schedule + algorithm * distances.is_algorithm
    return np.asarray(parts + cell * distances.is_cell)


def _noisy(distances: _Distances, measured: Sequence[MeasuredPoint], parameters: Array) -> Array:
    """Return the covariance of measurements."""
    return _covariance(distances, parameters) + np.diag(_noise(measured, parameters))


def _noise(measured: Sequence[MeasuredPoint], parameters: Array) -> list[float]:
    """Return the variance of each measurement around its time."""
    return [math.exp(2 * parameters[7]) / row.launches + row.variance + 1e-10 for row in measured]


def _fitted(measured: Sequence[MeasuredPoint], residuals: Array) -> Array:
    """Return the parameters of the largest posterior density."""
    from scipy.optimize import minimize

    step = math.ceil(len(measured) / _MOST_FITTED)
    rows, values = measured[::step], residuals[::step]
    points = [row.point for row in rows]
    distances = _Distances.of(points, points)
    launches = np.array([row.launches for row in rows])

    def cost(parameters: Array) -> tuple[float, Array]:
        matrix = _noisy(distances, rows, parameters)
        inverse = np.linalg.inv(matrix)
        weights = inverse @ values
        prior = (parameters - _PRIOR_MEANS) / _PRIOR_WIDTHS
        value = float(values @ weights + np.linalg.slogdet(matrix)[1] + prior @ prior) / 2
        inner = (inverse - np.outer(weights, weights)) / 2  # derivative by the covariance
        constant, shared, schedule, algorithm, cell = np.exp(2 * parameters[:5])
        near = distances.nearness(parameters) * inner
        parts = near * _variances(distances, parameters)
        slopes = [
            2 * constant * inner.sum(),
            2 * shared * near.sum(),
            2 * schedule * near[distances.is_schedule].sum(),
            2 * algorithm * near[distances.is_algorithm].sum(),
            2 * cell * near[distances.is_cell].sum(),
            (parts * distances.message_bytes).sum() / math.exp(parameters[5]),
            (parts * distances.processes).sum() / math.exp(parameters[6]),
            2 * math.exp(2 * parameters[7]) * (np.diag(inner) / launches).sum(),
        ]
        return value, np.array(slopes) + prior / _PRIOR_WIDTHS

    limits = [(mean - _LIMIT, mean + _LIMIT) for mean in _PRIOR_MEANS]
    best = minimize(cost, _PRIOR_MEANS, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": _STEPS})
    return np.asarray(best.x)


def _coordinates(points: Sequence[TimePoint], names: dict[str, int]) -> Array:
    """Return logarithms of bytes and processes, numbers of schedules and algorithms, and whether P is no power of 2."""
    return np.array([
        (
            math.log2(point.message_bytes + 1), math.log2(point.processes),
            names.setdefault(f"schedule {point.schedule}", len(names)), names.setdefault(point.algorithm, len(names)),
            point.processes & (point.processes - 1) > 0,
        )
        for point in points
    ])  # fmt: skip
