"""The models of one protocol segment, fitted, with intervals and a word on whether to trust them.

Minimises Σ rᵢ²/nᵢ as Gropp 2016 (Section 4.1) does. Main entries: the functions `fit_..._model`, one a model.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commmodel.fit import bootstrap
from commmodel.fit.judge import FLAT, judge, rounded
from commmodel.fit.latency_aware import LatencyAwareFit, fit_latency_aware
from commmodel.fit.least_squares import MaxRateFit, fit_extended, fit_max_rate, fit_postal, fit_unlimited
from commmodel.fit.points import Points
from commmodel.machine import Extended, LatencyAware, MaxRate, Parameter, Postal
from commmodel.units import format_rate

__all__ = [
    "Settings",
    "fit_extended_model",
    "fit_latency_aware_model",
    "fit_max_rate_model",
    "fit_postal_model",
    "ping_pong_error",
    "postal_times",
]

Array = NDArray[np.float64]
Solver = Callable[[Array, Array, Array, Array], MaxRateFit]

_LIMITING_MARGIN = 1 + 1e-9


@dataclass(frozen=True)
class Settings:
    """How intervals are made: their confidence, the number of resampled data sets, the seed."""

    confidence: float = 0.95
    samples: int = 1000
    seed: int = 1


def _rate(seconds_per_byte: Array) -> Array:
    """Return bytes per second, infinite where the times do not grow with the size."""
    rate: Array = np.where(seconds_per_byte > FLAT, 1 / np.maximum(seconds_per_byte, FLAT), np.inf)
    return rate


def _not_flat(beta: Any) -> Any:
    """Return seconds per byte, 0 where the times do not grow with the size."""
    return beta * (beta > FLAT)


def _parameter(value: float, estimates: Array | None, unit: str, settings: Settings) -> Parameter:
    if estimates is None:
        return Parameter(rounded(value), unit)
    low, high = bootstrap.interval(estimates, settings.confidence)
    return Parameter(rounded(value), unit, rounded(low), rounded(high))


def _columns(points: Points) -> tuple[Array, Array, Array]:
    """Return size, pairs and weight of each point as the solvers want them."""
    size, pairs = points.message_size.astype(np.float64), points.pairs.astype(np.float64)
    return size, pairs, 1 / np.maximum(size, 1)


def _resampled(points: Points, design: list[Array], fitted: Array, settings: Settings) -> Array | None:
    """Return data sets that might have been measured instead; None where the data say nothing about noise."""
    rest = (settings.samples, settings.confidence, settings.seed)
    design = [column for column in design if column.any()]  # a parameter that touches no point is not free
    if len(points) - len(design) >= 2:
        weights = _columns(points)[2]
        return bootstrap.resample(np.stack(design, axis=1), weights, fitted, points.seconds, *rest)
    return bootstrap.resample_medians(fitted, (points.high - points.low) / 2, *rest)


def fit_postal_model(points: Points, settings: Settings) -> Postal | None:
    """Fit T = α + n β to the points of one pair; None where there are fewer than two sizes of these."""
    points = points.where(points.pairs == 1)
    size, _, weights = _columns(points)
    if np.unique(size).size < 2:
        return None
    fit = fit_postal(size, weights, points.seconds[None])
    alpha, beta = float(fit.alpha[0]), float(fit.beta[0])
    fitted = alpha + beta * size
    design = [np.ones_like(size) * (alpha > 0), size * (beta > FLAT)]
    resampled = _resampled(points, design, fitted, settings)
    estimates = None if resampled is None else fit_postal(size, weights, resampled)
    parameters = {
        "alpha": _parameter(alpha, estimates and estimates.alpha, "s", settings),
        "beta": _parameter(_not_flat(beta), estimates and _not_flat(estimates.beta), "s/B", settings),
    }
    return Postal(**parameters, quality=judge(points, weights, fitted, parameters, []))


def postal_times(points: Points, pairs: int | None) -> Array | None:
    """Return what the postal model says for all points, fitted to those of so many pairs, or of all (None).

    The variants of Table 2 of Gropp 2016; None where there are fewer than two sizes to fit.
    """
    part = points if pairs is None else points.where(points.pairs == pairs)
    size, _, weights = _columns(part)
    if np.unique(size).size < 2:
        return None
    fit = fit_postal(size, weights, part.seconds[None])
    times: Array = fit.alpha[0] + points.message_size * fit.beta[0]
    return times


def ping_pong_error(points: Points) -> float | None:
    """Return the mean relative error over all points of the postal model of one pair, as a ping-pong gives it."""
    times = postal_times(points, 1)
    return None if times is None else float(np.abs(times / points.seconds - 1).mean())


def fit_max_rate_model(points: Points, settings: Settings) -> MaxRate | None:
    """Fit T = α + k n / min(R_N, k R_C); None where there are fewer than two sizes.

    R_N is left out where only one number of pairs was measured. It is infinite, with the lowest rate that the
    data allow as its low end, where the data show no limit: where the interval of its estimate has no upper end.
    """
    size, pairs, weights = _columns(points)
    if np.unique(size).size < 2:
        return None
    remarks = []
    several = np.unique(pairs).size > 1
    solve: Solver = fit_max_rate if several else fit_unlimited
    fit = solve(size, pairs, weights, points.seconds[None])
    estimates = _estimates(points, fit, settings, solve)
    R_N = None
    if not several:
        remarks.append(f"R_N is not measured: {int(pairs[0])} pair(s) only; run the kernel pairs on more ranks")
    else:
        R_N = _node_rate(fit, estimates, pairs.max(), settings)
        if not R_N.is_limiting:
            remarks.append(_not_limiting(pairs, R_N))
            fit = fit_unlimited(size, pairs, weights, points.seconds[None])
            estimates = _estimates(points, fit, settings, fit_unlimited)
        elif fit.b[0] <= pairs.min() * fit.c[0] * _LIMITING_MARGIN:
            remarks.append("R_C is only known to be no less: one pair fills the node already")
    parameters = {
        "alpha": _parameter(float(fit.alpha[0]), estimates and estimates.alpha, "s", settings),
        "R_C": _parameter(float(_rate(fit.b)[0]), estimates and _rate(estimates.b), "B/s", settings),
    }
    quality = judge(points, weights, fit.predict(size, pairs)[0], parameters | ({"R_N": R_N} if R_N else {}), remarks)
    return MaxRate(**parameters, R_N=R_N, quality=quality)


def fit_extended_model(points: Points, settings: Settings) -> Extended | None:
    """Fit T = α + k n / min(R_N, R_Cb + (k − 1) R_Ci) with R_Ci ≥ 0; None where fewer than three numbers of pairs are.

    With two, R_Ci and R_N cannot be told apart.
    """
    size, pairs, weights = _columns(points)
    if np.unique(size).size < 2 or np.unique(pairs).size < 3:
        return None
    fit = fit_extended(size, pairs, weights, points.seconds[None])
    estimates = _estimates(points, fit, settings, fit_extended)
    R_N = _node_rate(fit, estimates, pairs.max(), settings)
    remarks = [] if R_N.is_limiting else [_not_limiting(pairs, R_N)]
    parameters = {
        "alpha": _parameter(float(fit.alpha[0]), estimates and estimates.alpha, "s", settings),
        "R_Cb": _parameter(float(_rate(fit.b)[0]), estimates and _rate(estimates.b), "B/s", settings),
        "R_Ci": _parameter(
            float((fit.share * _rate(fit.b))[0]), estimates and estimates.share * _rate(estimates.b), "B/s", settings
        ),
        "R_N": R_N,
    }
    return Extended(**parameters, quality=judge(points, weights, fit.predict(size, pairs)[0], parameters, remarks))


def fit_latency_aware_model(points: Points, settings: Settings) -> LatencyAware | None:
    """Fit T = max(k n / R_N, α + n / R_C); None where only one number of pairs or of sizes was measured."""
    size, pairs, weights = _columns(points)
    if np.unique(size).size < 2 or np.unique(pairs).size < 2:
        return None
    fit = fit_latency_aware(size, pairs, weights, points.seconds[None])
    fitted, limited = fit.predict(size, pairs)[0], fit.is_limited(size, pairs)[0]
    design = [~limited * (fit.alpha[0] > 0) * 1.0, np.where(limited, 0.0, size), np.where(limited, pairs * size, 0.0)]
    resampled = _resampled(points, design, fitted, settings)
    estimates = None if resampled is None else fit_latency_aware(size, pairs, weights, resampled)
    R_N = _latency_aware_node_rate(fit, estimates, size, pairs, settings)
    parameters = {
        "alpha": _parameter(float(fit.alpha[0]), estimates and estimates.alpha, "s", settings),
        "R_C": _parameter(float(_rate(fit.b)[0]), estimates and _rate(estimates.b), "B/s", settings),
        "R_N": R_N,
    }
    remarks = [] if R_N.is_limiting else [_not_limiting(pairs, R_N)]
    return LatencyAware(**parameters, quality=judge(points, weights, fitted, parameters, remarks))


def _not_limiting(pairs: Array, R_N: Parameter) -> str:
    return f"R_N does not limit: {int(pairs.max())} pairs show no limit up to {format_rate(R_N.low or 0.0)}"


def _estimates(points: Points, fit: MaxRateFit, settings: Settings, solve: Solver) -> MaxRateFit | None:
    """Return the parameters fitted to resampled data."""
    size, pairs, weights = _columns(points)
    limited = fit.is_limited(pairs)[0]
    share = fit.share[0]
    free = np.where(limited, 0.0, size * pairs / (1 + (pairs - 1) * share))
    design = [np.ones_like(size) * (fit.alpha[0] > 0), free, np.where(limited, pairs * size, 0.0)]
    if solve is fit_extended and share > 0:
        design.append(free * (pairs - 1) / (1 + (pairs - 1) * share))
    resampled = _resampled(points, design, fit.predict(size, pairs)[0], settings)
    return None if resampled is None else solve(size, pairs, weights, resampled)


def _node_rate(fit: MaxRateFit, estimates: MaxRateFit | None, most_pairs: float, settings: Settings) -> Parameter:
    """Return R_N, infinite where the data show no limit."""

    def reached(one: MaxRateFit) -> Array:
        """Return the rate of the most pairs without the node's limit."""
        return _rate(one.b) * (1 + (most_pairs - 1) * one.share)

    def limiting(one: MaxRateFit) -> Array:
        rate: Array = np.where(_rate(one.c) * _LIMITING_MARGIN < reached(one), _rate(one.c), np.inf)
        return rate

    rates = None if estimates is None else limiting(estimates)
    return _limiting_rate(float(limiting(fit)[0]), rates, float(reached(fit)[0]), settings)


def _latency_aware_node_rate(
    fit: LatencyAwareFit, estimates: LatencyAwareFit | None, size: Array, pairs: Array, settings: Settings
) -> Parameter:
    """Return R_N, infinite where no point shows the node's limit."""

    def limiting(one: LatencyAwareFit) -> Array:
        rate: Array = np.where(one.is_limited(size, pairs).any(axis=1), _rate(one.c), np.inf)
        return rate

    rates = None if estimates is None else limiting(estimates)
    fastest = float((pairs * size / fit.predict(size, pairs)[0]).max())
    return _limiting_rate(float(limiting(fit)[0]), rates, fastest, settings)


def _limiting_rate(value: float, estimates: Array | None, reached: float, settings: Settings) -> Parameter:
    """Return a rate with its interval; where that has no upper end, an infinite one with the rate reached below it."""
    if estimates is None:
        return Parameter(rounded(value), "B/s")
    low, high = bootstrap.interval(estimates, settings.confidence)
    if math.isfinite(high) and math.isfinite(value):
        return Parameter(rounded(value), "B/s", rounded(low), rounded(high))
    return Parameter(math.inf, "B/s", rounded(min(low, reached)), math.inf)
