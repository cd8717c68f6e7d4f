"""Fits of all models to one protocol, with intervals and a verdict on each.

Minimises `robust`'s loss, or Σ rᵢ²/nᵢ as Gropp 2016 (Section 4.1) does. Main entries: the functions `fit_..._model`,
one a model.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.arguments import share, whole
from commmodel.errors import InputError
from commmodel.fit import bootstrap
from commmodel.fit.latency_aware import LatencyAwareFit, fit_latency_aware
from commmodel.fit.least_squares import MaxRateFit, fit_extended, fit_max_rate, fit_rate, fit_unlimited
from commmodel.fit.points import Points
from commmodel.fit.robust import minimise
from commmodel.fit.trust import FLAT, judge, mean_error, modes_remark, rounded
from commmodel.machine import Extended, LatencyAware, MaxRate, Parameter, Postal, Quality
from commmodel.units import format_rate

__all__ = [
    "FitSettings", "Loss", "fit_extended_model", "fit_latency_aware_model", "fit_max_rate_model", "fit_postal_model",
    "ping_pong_error", "postal_times",
]  # fmt: skip

Array = NDArray[np.float64]
Solver = Callable[[Array, Array, Array, Array], MaxRateFit]
Loss = Literal["robust", "paper"]

_LIMITING_MARGIN = 1 + 1e-9
_NO_TIME = 1e-9  # of the measured one: what a model without latency gives no bytes


@dataclass(frozen=True)
class FitSettings:
    """Loss, confidence level of intervals, number of resampled data sets, and seed."""

    confidence: float = 0.95
    samples: int = 1000
    seed: int = 1
    loss: Loss = "robust"
    """``robust``: the biweight of the logarithms; ``paper``: Σ rᵢ²/nᵢ of Gropp 2016."""

    def __post_init__(self) -> None:
        share("confidence", self.confidence)
        if whole("samples", self.samples) < 20 or whole("seed", self.seed) < 0:
            raise InputError(f"samples {self.samples}, seed {self.seed}: give 20 samples or more, and a seed from 0 up")


def _rate(seconds_per_byte: Array) -> Array:
    """Return bytes per second; infinite where times do not grow with the size."""
    rate: Array = np.where(seconds_per_byte > FLAT, 1 / np.maximum(seconds_per_byte, FLAT), np.inf)
    return rate


def _further_rate(fit: MaxRateFit) -> Array:
    """Return what each further pair adds to the rate of the first; 0 where it adds nothing, of an infinite one too."""
    rate: Array = np.multiply(fit.share, _rate(fit.b), out=np.zeros_like(fit.b), where=fit.share > 0)
    return rate


def _not_flat(beta: Any) -> Any:
    """Return seconds per byte; 0 where times do not grow with the size."""
    return beta * (beta > FLAT)


def _parameter(value: float, estimates: Array | None, unit: str, settings: FitSettings) -> Parameter:
    return bootstrap.parameter(value, estimates, unit, settings.confidence)


def _columns(points: Points) -> tuple[Array, Array]:
    """Return size and pairs of each point in the solvers' layout."""
    return points.message_size.astype(np.float64), points.pairs.astype(np.float64)


class _Best(NamedTuple):
    """The fit with the smallest loss and what the bootstrap needs: arrays of shape (points,)."""

    fit: Any
    fitted: Array
    weights: Array
    times: Array
    """Of which the fit is the weighted least squares solution."""
    noise: Array | None
    """Relative, of each point; None where it is taken as even."""

    @property
    def squares(self) -> Array | None:
        """The weights of the squares; None of a robust fit."""
        return self.weights if self.noise is None else None


def _best(points: Points, solve: Callable[..., Any], parameters: int, settings: FitSettings) -> _Best:
    """Return the best fit of a model with so many parameters."""
    size, pairs = _columns(points)

    def predict(fit: Any) -> Array:
        times: Array = np.maximum(fit.predict(size, pairs)[0], _NO_TIME * points.seconds)  # no time is 0
        return times

    if settings.loss == "paper":
        weights = 1 / np.maximum(size, 1)
        fit = solve(size, pairs, weights, points.seconds[None])
        fitted = predict(fit)
        return _Best(fit, fitted, weights, points.seconds, None)
    estimate = minimise(
        lambda weights, times: solve(size, pairs, weights, times[None]),
        predict, size, points.seconds, points.error, parameters,
    )  # fmt: skip
    weights = 1 / (estimate.fitted * estimate.noise) ** 2
    return _Best(estimate.fit, estimate.fitted, weights, estimate.pseudo, estimate.noise)


def _resampled(
    points: Points, design: list[Array], best: _Best, solve: Callable[..., Any], settings: FitSettings
) -> Any:
    """Return the model fitted to resampled data; None where the noise is unknown."""
    size, pairs = _columns(points)
    design = [column for column in design if column.any()]  # a parameter that touches no point is not free
    resampled: Array | None
    if len(points) - len(design) >= 2:
        columns = np.stack(design, axis=1)
        fit = bootstrap.WeightedFit(
            columns,
            best.weights,
            best.fitted,
            best.times,
            best.noise,
            size,
            points.drift,
            points.freedom,
        )
        resampled = bootstrap.resample(fit, settings.samples, settings.seed)
    else:
        resampled = bootstrap.resample_medians(
            best.fitted, (points.high - points.low) / 2, settings.samples, settings.confidence, settings.seed
        )
    return None if resampled is None else solve(size, pairs, best.weights, resampled)


def _spread(points: Points, best: _Best, estimates: Any, settings: FitSettings) -> Array | None:
    """Return the distances of the interval of the model's time at each point, shape (2, points); None without one."""
    return (
        None
        if estimates is None
        else bootstrap.distances(estimates.predict(*_columns(points)), best.fitted, settings.confidence)
    )


def _postal(size: Array, pairs: Array, weights: Array, times: Array) -> MaxRateFit:
    return fit_unlimited(size, np.ones_like(pairs), weights, times)


def _one_pair(points: Points, settings: FitSettings) -> tuple[_Best, MaxRateFit | None, Parameter]:
    """Fit T = α + n β, or T = n β where the sizes do not determine α."""
    size, _ = _columns(points)
    best = _best(points, _postal, 2, settings)
    alpha, beta = float(best.fit.alpha[0]), float(best.fit.b[0])
    design = [np.ones_like(size) * (alpha > 0), size * (beta > FLAT)]
    estimates = _resampled(points, design, best, _postal, settings)
    latency = _parameter(alpha, estimates and estimates.alpha, "s", settings)
    if (alpha > 0 and (latency.low is None or latency.low > 0)) or beta <= FLAT or size.min() == 0:
        return best, estimates, latency
    best = _best(points, fit_rate, 1, settings)
    estimates = _resampled(points, [size], best, fit_rate, settings)
    return best, estimates, Parameter(0.0, "s", *(() if latency.high is None else (0.0, latency.high)))


def fit_postal_model(points: Points, settings: FitSettings) -> Postal | None:
    """Fit T = α + n β to the points of one pair; None with fewer than two sizes.

    Where the sizes do not determine α, because its interval begins at 0, it is T = n β, and α is 0 up to that
    interval's end.
    """
    points = points.where(points.pairs == 1)
    if np.unique(points.message_size).size < 2:
        return None
    best, estimates, alpha = _one_pair(points, settings)
    beta = _not_flat(float(best.fit.b[0]))
    parameters = {
        "alpha": alpha,
        "beta": _parameter(beta, estimates and _not_flat(estimates.b), "s/B", settings),
    }
    return Postal(**parameters, quality=_judged(points, best, estimates, parameters, modes_remark(points), settings))


def _judged(
    points: Points,
    best: _Best,
    estimates: Any,
    parameters: dict[str, Parameter],
    remarks: list[str],
    settings: FitSettings,
) -> Quality:
    spread = _spread(points, best, estimates, settings)
    return judge(
        points, best.fitted, parameters, remarks, spread=spread, weights=best.squares, confidence=settings.confidence
    )


def postal_times(points: Points, pairs: int | None, settings: FitSettings) -> Array | None:
    """Return the postal model's times at all points, fitted to those of so many pairs, or of all (None).

    The variants of Table 2 of Gropp 2016; None where there are fewer than two sizes to fit.
    """
    part = points if pairs is None else points.where(points.pairs == pairs)
    if np.unique(part.message_size).size < 2:
        return None
    fit = _best(part, _postal, 2, settings).fit
    times: Array = fit.alpha[0] + points.message_size * fit.b[0]
    return np.maximum(times, _NO_TIME * points.seconds)  # no time is 0


def ping_pong_error(points: Points, settings: FitSettings) -> float | None:
    """Return the mean error over all undisturbed points of the postal model fitted to one pair."""
    times = postal_times(points, 1, settings)
    quiet = ~points.disturbed if not points.disturbed.all() else slice(None)
    return None if times is None else mean_error(times[quiet], points.seconds[quiet])


def fit_max_rate_model(points: Points, settings: FitSettings, streams: MaxRate | None = None) -> MaxRate | None:
    """Fit T = α + k n / min(R_N, k R_C); None with fewer than two sizes.

    R_N is left out where only one number of pairs was measured. It is infinite, with the lowest rate that the
    data allow as its low end, where the data show no limit: where the interval of its estimate has no upper end.
    """
    size, pairs = _columns(points)
    if np.unique(size).size < 2:
        return None
    remarks = []
    if np.unique(pairs).size == 1:
        best, estimates, alpha = _one_pair(points, settings)
        R_N = None
        count = f"{int(pairs[0])} pair{'s' if pairs[0] > 1 else ''}"
        scope = " of ping-pongs, unlike that of streams," if streams is not None and streams.R_N is not None else ""
        remarks.append(f"R_N{scope} is not measured: {count} only; run the kernel pairs on more ranks")
    else:
        best = _best(points, fit_max_rate, 3, settings)
        estimates = _estimates(points, best, settings, fit_max_rate)
        R_N = _node_rate(best.fit, estimates, pairs.max(), settings)
        if not R_N.is_limiting:
            remarks.append(_not_limiting(pairs, R_N))
            best = _best(points, fit_unlimited, 2, settings)
            estimates = _estimates(points, best, settings, fit_unlimited)
        elif best.fit.b[0] <= pairs.min() * best.fit.c[0] * _LIMITING_MARGIN:
            remarks.append("R_C is only known to be no less: one pair fills the node already")
        alpha = _parameter(float(best.fit.alpha[0]), estimates and estimates.alpha, "s", settings)
    parameters = {
        "alpha": alpha,
        "R_C": _parameter(float(_rate(best.fit.b)[0]), estimates and _rate(estimates.b), "B/s", settings),
    }
    complete = parameters | ({"R_N": R_N} if R_N else {})
    return MaxRate(**parameters, R_N=R_N, quality=_judged(points, best, estimates, complete, remarks, settings))


def fit_extended_model(points: Points, settings: FitSettings) -> Extended | None:
    """Fit T = α + k n / min(R_N, R_Cb + (k − 1) R_Ci), R_Ci ≥ 0; None with fewer than three numbers of pairs.

    With two, R_Ci and R_N cannot be told apart.
    """
    size, pairs = _columns(points)
    if np.unique(size).size < 2 or np.unique(pairs).size < 3:
        return None
    best = _best(points, fit_extended, 4, settings)
    estimates = _estimates(points, best, settings, fit_extended)
    fit = best.fit
    R_N = _node_rate(fit, estimates, pairs.max(), settings)
    remarks = [] if R_N.is_limiting else [_not_limiting(pairs, R_N)]
    parameters = {
        "alpha": _parameter(float(fit.alpha[0]), estimates and estimates.alpha, "s", settings),
        "R_Cb": _parameter(float(_rate(fit.b)[0]), estimates and _rate(estimates.b), "B/s", settings),
        "R_Ci": _parameter(float(_further_rate(fit)[0]), estimates and _further_rate(estimates), "B/s", settings),
        "R_N": R_N,
    }
    return Extended(**parameters, quality=_judged(points, best, estimates, parameters, remarks, settings))


def fit_latency_aware_model(points: Points, settings: FitSettings) -> LatencyAware | None:
    """Fit T = max(k n / R_N, α + n / R_C); None with only one number of pairs or size."""
    size, pairs = _columns(points)
    if np.unique(size).size < 2 or np.unique(pairs).size < 2:
        return None
    best = _best(points, fit_latency_aware, 3, settings)
    fit, limited = best.fit, best.fit.is_limited(size, pairs)[0]
    design = [~limited * (fit.alpha[0] > 0) * 1.0, np.where(limited, 0.0, size), np.where(limited, pairs * size, 0.0)]
    estimates = _resampled(points, design, best, fit_latency_aware, settings)
    R_N = _latency_aware_node_rate(fit, estimates, size, pairs, settings)
    parameters = {
        "alpha": _parameter(float(fit.alpha[0]), estimates and estimates.alpha, "s", settings),
        "R_C": _parameter(float(_rate(fit.b)[0]), estimates and _rate(estimates.b), "B/s", settings),
        "R_N": R_N,
    }
    remarks = [] if R_N.is_limiting else [_not_limiting(pairs, R_N)]
    return LatencyAware(**parameters, quality=_judged(points, best, estimates, parameters, remarks, settings))


def _not_limiting(pairs: Array, R_N: Parameter) -> str:
    return f"R_N does not limit: {int(pairs.max())} pairs show no limit up to {format_rate(R_N.low or 0.0)}"


def _estimates(points: Points, best: _Best, settings: FitSettings, solve: Solver) -> MaxRateFit | None:
    """Return the parameters fitted to resampled data."""
    size, pairs = _columns(points)
    fit: MaxRateFit = best.fit
    limited = fit.is_limited(pairs)[0]
    share = fit.share[0]
    free = np.where(limited, 0.0, size * pairs / (1 + (pairs - 1) * share))
    design = [np.ones_like(size) * (fit.alpha[0] > 0), free, np.where(limited, pairs * size, 0.0)]
    if solve is fit_extended and share > 0:
        design.append(free * (pairs - 1) / (1 + (pairs - 1) * share))
    estimates: MaxRateFit | None = _resampled(points, design, best, solve, settings)
    return estimates


def _node_rate(fit: MaxRateFit, estimates: MaxRateFit | None, most_pairs: float, settings: FitSettings) -> Parameter:
    """Return R_N; infinite where the data show no limit."""

    def reached(fit: MaxRateFit) -> Array:
        """Return the rate of the most pairs without the node's limit."""
        return _rate(fit.b) * (1 + (most_pairs - 1) * fit.share)

    def limiting(fit: MaxRateFit) -> Array:
        rate: Array = np.where(_rate(fit.c) * _LIMITING_MARGIN < reached(fit), _rate(fit.c), np.inf)
        return rate

    rates = None if estimates is None else limiting(estimates)
    return _limiting_rate(float(limiting(fit)[0]), rates, float(reached(fit)[0]), settings)


def _latency_aware_node_rate(
    fit: LatencyAwareFit, estimates: LatencyAwareFit | None, size: Array, pairs: Array, settings: FitSettings
) -> Parameter:
    """Return R_N; infinite where no point shows the node's limit."""

    def limiting(candidate: LatencyAwareFit) -> Array:
        rate: Array = np.where(candidate.is_limited(size, pairs).any(axis=1), _rate(candidate.c), np.inf)
        return rate

    rates = None if estimates is None else limiting(estimates)
    fastest = float((pairs * size / fit.predict(size, pairs)[0]).max())
    return _limiting_rate(float(limiting(fit)[0]), rates, fastest, settings)


def _limiting_rate(value: float, estimates: Array | None, reached: float, settings: FitSettings) -> Parameter:
    """Return a rate with interval; without an upper end, an infinite one with the rate reached below it."""
    if estimates is None:
        return Parameter(rounded(value), "B/s")
    low, high = bootstrap.interval(estimates, settings.confidence)
    if math.isfinite(high) and math.isfinite(value):
        return _parameter(value, estimates, "B/s", settings)
    return Parameter(math.inf, "B/s", rounded(min(low, reached)), math.inf)
