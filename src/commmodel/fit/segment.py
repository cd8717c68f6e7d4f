"""The models of one protocol segment, fitted, with intervals and a word on whether to trust them.

Minimises Σ rᵢ²/nᵢ as Gropp 2016 (Section 4.1) does. Main entries: `fit_postal_model` and `fit_max_rate_model`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commmodel.fit import bootstrap
from commmodel.fit.least_squares import MaxRateFit, fit_max_rate, fit_postal, fit_unlimited
from commmodel.fit.points import Points
from commmodel.machine import MaxRate, Parameter, Postal, Quality
from commmodel.units import format_rate, format_ratio

__all__ = ["Settings", "fit_max_rate_model", "fit_postal_model"]

Array = NDArray[np.float64]

_LEAST_SIZES = 4
_DIGITS = 6
_POOR_MEAN_ERROR = 0.2
_POOR_MAX_ERROR = 0.5
_WIDE_INTERVAL = 0.5
Solver = Callable[[Array, Array, Array, Array], MaxRateFit]
_FLAT = 1e-30  # seconds per byte: no time at all


@dataclass(frozen=True)
class Settings:
    """How intervals are made: their confidence, the number of resampled data sets, the seed."""

    confidence: float = 0.95
    samples: int = 1000
    seed: int = 1


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _rate(seconds_per_byte: Array) -> Array:
    """Return bytes per second, infinite where the times do not grow with the size."""
    with np.errstate(divide="ignore"):
        rate: Array = np.where(seconds_per_byte > _FLAT, 1 / seconds_per_byte, np.inf)
    return rate


def _not_flat(beta: Any) -> Any:
    """Return seconds per byte, 0 where the times do not grow with the size."""
    return beta * (beta > _FLAT)


def _parameter(value: float, estimates: Array | None, unit: str, settings: Settings) -> Parameter:
    if estimates is None:
        return Parameter(_rounded(value), unit)
    low, high = bootstrap.interval(estimates, settings.confidence)
    return Parameter(_rounded(value), unit, _rounded(low), _rounded(high))


def _weights(points: Points) -> Array:
    weights: Array = 1 / np.maximum(points.message_size, 1).astype(np.float64)
    return weights


def _resampled(points: Points, design: list[Array], weights: Array, fitted: Array, settings: Settings) -> Array | None:
    """Return data sets that might have been measured instead; None where the data say nothing about noise."""
    rest = (settings.samples, settings.confidence, settings.seed)
    if len(points) - len(design) >= 2:
        return bootstrap.resample(np.stack(design, axis=1), weights, fitted, points.seconds, *rest)
    return bootstrap.resample_medians(fitted, (points.high - points.low) / 2, *rest)


def _quality(points: Points, fitted: Array, parameters: dict[str, Parameter], extra: list[str]) -> Quality:
    """Judge a fit by its errors, its parameters and the number of sizes behind it."""
    errors = np.abs(fitted / points.seconds - 1)
    doubts = []
    sizes = np.unique(points.message_size)
    if sizes.size < _LEAST_SIZES:
        doubts.append(f"too few sizes ({sizes.size}): measure more with --sizes {sizes[0]}:{sizes[-1]}:+STEP")
    if errors.mean() > _POOR_MEAN_ERROR or errors.max() > _POOR_MAX_ERROR:
        worst = int(errors.argmax())
        doubts.append(
            f"the model is off by {format_ratio(errors.mean())} on average and {format_ratio(errors.max())} at "
            f"{points.message_size[worst]} B: the times do not lie on one line, look at the residuals, "
            "and if they show another limit give it with --limits"
        )
    for name, parameter in parameters.items():
        if parameter.value <= _FLAT:
            doubts.append(f"{name} is at its bound 0: the times of this segment do not determine it")
        elif name == "R_C" and not parameter.is_limiting:
            doubts.append("R_C is not determined: the times of this segment do not grow with the size")
        elif parameter.low is None or parameter.high is None:
            doubts.append(f"{name} has no interval: too few points and too few samples for one")
        elif parameter.is_limiting and (parameter.high - parameter.low) / 2 > _WIDE_INTERVAL * parameter.value:
            doubts.append(f"{name} is hardly determined: its interval is wider than half its value")
    return Quality(
        points=len(points),
        relative_error_sum=_rounded(errors.sum()),
        relative_error_mean=_rounded(errors.mean()),
        relative_error_max=_rounded(errors.max()),
        trusted=not doubts,
        remarks=(*doubts, *extra),
    )


def fit_postal_model(points: Points, settings: Settings) -> Postal | None:
    """Fit T = α + n β to the points of one pair; None where there are fewer than two sizes of these."""
    points = points.where(points.pairs == 1)
    size = points.message_size.astype(np.float64)
    if np.unique(size).size < 2:
        return None
    weights = _weights(points)
    fit = fit_postal(size, weights, points.seconds[None])
    alpha, beta = float(fit.alpha[0]), float(fit.beta[0])
    fitted = alpha + beta * size
    free = [column for column, value in ((np.ones_like(size), alpha), (size, beta)) if value > _FLAT]
    resampled = _resampled(points, free, weights, fitted, settings)
    estimates = None if resampled is None else fit_postal(size, weights, resampled)
    parameters = {
        "alpha": _parameter(alpha, estimates and estimates.alpha, "s", settings),
        "beta": _parameter(_not_flat(beta), estimates and _not_flat(estimates.beta), "s/B", settings),
    }
    return Postal(**parameters, quality=_quality(points, fitted, parameters, []))


def fit_max_rate_model(points: Points, settings: Settings) -> MaxRate | None:
    """Fit T = α + k n / min(R_N, k R_C); None where there are fewer than two sizes.

    R_N is left out where only one number of pairs was measured. It is infinite, with the lowest rate that the
    data allow as its low end, where the data show no limit: where the interval of its estimate has no upper end.
    """
    size, pairs = points.message_size.astype(np.float64), points.pairs.astype(np.float64)
    if np.unique(size).size < 2:
        return None
    weights = _weights(points)
    remarks = []
    several = np.unique(pairs).size > 1
    solve = fit_max_rate if several else fit_unlimited
    fit = solve(size, pairs, weights, points.seconds[None])
    estimates = _estimates(points, fit, weights, settings, solve)
    R_N = None
    if not several:
        remarks.append(f"R_N is not measured: {int(pairs[0])} pair(s) only; run the kernel pairs on more ranks")
    else:
        R_N = _node_rate(fit, estimates, pairs.max(), settings)
        if not R_N.is_limiting:
            remarks.append(
                f"R_N does not limit: {int(pairs.max())} pairs show no limit up to {format_rate(R_N.low or 0.0)}"
            )
            fit = fit_unlimited(size, pairs, weights, points.seconds[None])
            estimates = _estimates(points, fit, weights, settings, fit_unlimited)
        elif fit.b[0] <= pairs.min() * fit.c[0] * (1 + 1e-9):
            remarks.append("R_C is only known to be no less: one pair fills the node already")
    parameters = {
        "alpha": _parameter(float(fit.alpha[0]), estimates and estimates.alpha, "s", settings),
        "R_C": _parameter(float(_rate(fit.b)[0]), estimates and _rate(estimates.b), "B/s", settings),
    }
    quality = _quality(points, fit.predict(size, pairs)[0], parameters | ({"R_N": R_N} if R_N else {}), remarks)
    return MaxRate(**parameters, R_N=R_N, quality=quality)


def _estimates(points: Points, fit: MaxRateFit, weights: Array, settings: Settings, solve: Solver) -> MaxRateFit | None:
    """Return the parameters fitted to resampled data."""
    size, pairs = points.message_size.astype(np.float64), points.pairs.astype(np.float64)
    limited = pairs * fit.c[0] > fit.b[0]
    columns = [np.ones_like(size), np.where(limited, 0.0, size), np.where(limited, pairs * size, 0.0)]
    bounds = [fit.alpha[0] > 0, not limited.all(), limited.any()]
    free = [column for column, wanted in zip(columns, bounds, strict=True) if wanted]
    resampled = _resampled(points, free, weights, fit.predict(size, pairs)[0], settings)
    return None if resampled is None else solve(size, pairs, weights, resampled)


def _node_rate(fit: MaxRateFit, estimates: MaxRateFit | None, most_pairs: float, settings: Settings) -> Parameter:
    """Return R_N, infinite where the data show no limit."""
    reached = most_pairs * float(_rate(fit.b)[0])
    if estimates is None:
        rate = float(_rate(fit.c)[0])
        return Parameter(_rounded(rate) if rate < reached else math.inf, "B/s")
    limits = estimates.c * most_pairs > estimates.b * (1 + 1e-9)
    rates = np.where(limits, _rate(estimates.c), np.inf)
    low, high = bootstrap.interval(rates, settings.confidence)
    if math.isfinite(high):
        return Parameter(_rounded(1 / fit.c[0]), "B/s", _rounded(low), _rounded(high))
    return Parameter(math.inf, "B/s", _rounded(min(low, reached)), math.inf)
