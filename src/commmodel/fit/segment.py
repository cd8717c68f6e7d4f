"""Fits of all models to one protocol, with intervals and a verdict on each.

Minimises `robust`'s loss, or Σ rᵢ²/nᵢ as Gropp 2016 (Section 4.1) does. Main entries: the functions `fit_..._model`,
one a model.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.arguments import share, whole
from commmodel.arrays import Array
from commmodel.choices import Loss
from commmodel.docstrings import with_attributes
from commmodel.fit import bootstrap
from commmodel.fit.latency_aware import LatencyAwareFit, fit_latency_aware
from commmodel.fit.least_squares import MaxRateFit, fit_extended, fit_max_rate, fit_rate, fit_unlimited
from commmodel.fit.message_rate import fit_message_rate
from commmodel.fit.pipelines import fit_pipeline, unlimited_pipeline
from commmodel.fit.points import Points
from commmodel.fit.robust import minimise
from commmodel.fit.trust import FLAT, judge, mean_error, modes_remark, rounded
from commmodel.machine import Extended, LatencyAware, MaxRate, MessageRate, Parameter, Postal, Quality
from commmodel.machine.model_choice import seconds
from commmodel.signatures import check_fields
from commmodel.units import format_rate

__all__ = [
    "FitSettings", "Loss", "fit_extended_model", "fit_latency_aware_model", "fit_max_rate_model", "fit_postal_model",
    "fit_streams_model", "ping_pong_error", "postal_times",
]  # fmt: skip

Solver = Callable[[Array, Array, Array, Array], MaxRateFit]

_LIMITING_MARGIN = 1 + 1e-9
_CLEAR = 17.0  # fall of −2 log likelihood for one more parameter of streams, as for a node's message rate
_LEAST_ERROR = 0.01  # mean, in logarithms, that is told from none
_NO_TIME = 1e-9  # of the measured one: what a model without latency gives no bytes


@with_attributes
@dataclass(frozen=True)
class FitSettings:
    """Loss, confidence level of intervals, number of resampled data sets, and seed."""

    confidence: float = 0.95
    samples: int = 1000
    seed: int = 1
    loss: Loss = "robust"
    """``robust``: the biweight of the logarithms; ``paper``: Σ rᵢ²/nᵢ of Gropp 2016."""

    def __post_init__(self) -> None:
        check_fields(self)
        share("confidence", self.confidence)
        whole("samples", self.samples, 20)
        whole("seed", self.seed, 0)


def settings_of(settings: FitSettings | None, seed: int | None, confidence: float | None) -> FitSettings:
    """Return settings with what is given in place of theirs."""
    changes: dict[str, Any] = {"seed": seed, "confidence": confidence}
    return replace(settings or FitSettings(), **{name: value for name, value in changes.items() if value is not None})


def _rate(seconds_per_byte: Array) -> Array:
    """Return bytes per second; infinite where times do not grow with the size."""
    return np.where(seconds_per_byte > FLAT, 1 / np.maximum(seconds_per_byte, FLAT), np.inf)


def _further_rate(fit: MaxRateFit) -> Array:
    """Return what each further pair adds to the rate of the first; 0 where it adds nothing, of an infinite one too."""
    return np.multiply(fit.share, _rate(fit.b), out=np.zeros_like(fit.b), where=fit.share > 0)


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


class _Fitted(NamedTuple):
    """A model fitted to points, and to resampled ones: None where their noise is unknown."""

    points: Points
    settings: FitSettings
    best: _Best
    estimates: Any
    judged: tuple[Points, Array] | None = None
    """Those that it is judged by, where it was fitted to a part of them, with the least α of each."""

    def parameter(self, of: Callable[[Any], Array], unit: str) -> Parameter:
        """Return what `of` makes of a fit, with its interval."""
        estimates = None if self.estimates is None else of(self.estimates)
        return bootstrap.parameter(float(of(self.best.fit)[0]), estimates, unit, self.settings.confidence)

    @property
    def alpha(self) -> Parameter:
        """The latency."""
        return self.parameter(lambda fit: fit.alpha, "s")

    @property
    def rate(self) -> Parameter:
        """R_C, or R_Cb."""
        return self.parameter(lambda fit: _rate(fit.b), "B/s")

    def quality(self, parameters: dict[str, Parameter], remarks: list[str]) -> Quality:
        """Return the verdict on the fit."""
        points, fitted, spread, weights = self.points, self.best.fitted, None, self.best.squares
        least: Array | float = 0.0
        if self.judged is not None:
            points, least = self.judged
            fitted = _no_less(self.best.fit, points, least)[0]
            weights = None if weights is None else 1 / np.maximum(_columns(points)[0], 1)
        if self.estimates is not None:
            spread = bootstrap.distances(_no_less(self.estimates, points, least), fitted, self.settings.confidence)
        return judge(
            points, fitted, parameters, remarks, spread=spread, weights=weights, confidence=self.settings.confidence
        )


def _no_less(fit: Any, points: Points, least: Array | float) -> Array:
    """Return the times of a fit, whose α is no less than some latency."""
    return np.asarray(fit.predict(*_columns(points)) + np.maximum(least - fit.alpha[:, None], 0.0))


def _best(points: Points, solve: Callable[..., Any], parameters: int, settings: FitSettings) -> _Best:
    """Return the best fit of a model with so many parameters."""
    size, pairs = _columns(points)

    def predict(fit: Any) -> Array:
        return np.asarray(np.maximum(fit.predict(size, pairs)[0], _NO_TIME * points.seconds))  # no time is 0

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
) -> _Fitted:
    """Return the fit, and those of the same model to resampled data."""
    size, pairs = _columns(points)
    design = [column for column in design if column.any()]  # a parameter that touches no point is not free
    resampled: Array | None
    if len(points) - len(design) >= 2:
        columns = np.stack(design, axis=1)
        fit = bootstrap.WeightedFit(
            columns, best.weights, best.fitted, best.times, best.noise, size, points.drift, points.freedom
        )
        resampled = bootstrap.resample(fit, settings.samples, settings.seed)
    else:
        resampled = bootstrap.resample_medians(
            best.fitted, (points.high - points.low) / 2, settings.samples, settings.confidence, settings.seed
        )
    estimates = None if resampled is None else solve(size, pairs, best.weights, resampled)
    return _Fitted(points, settings, best, estimates)


def _postal(size: Array, pairs: Array, weights: Array, times: Array) -> MaxRateFit:
    return fit_unlimited(size, np.ones_like(pairs), weights, times)


def _one_pair(points: Points, settings: FitSettings) -> tuple[_Fitted, Parameter]:
    """Fit T = α + n β, or T = n β where the sizes do not determine α; return α, too."""
    size, _ = _columns(points)
    best = _best(points, _postal, 2, settings)
    alpha, beta = float(best.fit.alpha[0]), float(best.fit.b[0])
    fitted = _resampled(points, [np.ones_like(size) * (alpha > 0), size * (beta > FLAT)], best, _postal, settings)
    latency = fitted.alpha
    if (alpha > 0 and (latency.low is None or latency.low > 0)) or beta <= FLAT or size.min() == 0:
        return fitted, latency
    best = _best(points, fit_rate, 1, settings)
    bounds = () if latency.high is None else (0.0, latency.high)
    return _resampled(points, [size], best, fit_rate, settings), Parameter(0.0, "s", *bounds)


def fit_postal_model(points: Points, settings: FitSettings) -> Postal | None:
    """Fit T = α + n β to the points of one pair; None with fewer than two sizes.

    Where the sizes do not determine α, because its interval begins at 0, it is T = n β, and α is 0 up to that
    interval's end.
    """
    points = points.where(points.pairs == 1)
    if np.unique(points.message_size).size < 2:
        return None
    fitted, alpha = _one_pair(points, settings)
    parameters = {"alpha": alpha, "beta": fitted.parameter(lambda fit: fit.b * (fit.b > FLAT), "s/B")}
    return Postal(**parameters, quality=fitted.quality(parameters, modes_remark(points)))


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


def fit_streams_model(
    points: Points, regime: NDArray[np.bool_], settings: FitSettings
) -> tuple[MaxRate | None, tuple[MessageRate, ...]]:
    """Fit the max-rate model to streams, and the message rates of a node where they limit.

    Then the model's α and rates are of the others, and it is judged with the rates by all. A `regime` of a few sizes
    is left out where no rate explains it.
    """
    model = _fit_one_way(points, regime, settings)
    if model is None or model.R_N is None:
        return model, ()
    size, pairs = _columns(points)
    byte_seconds = pairs * size / np.minimum(model.R_N.value, pairs * model.R_C.value)
    rates, floor = fit_message_rate(points, byte_seconds, settings.confidence)
    unlimited = points.where(~floor.is_reached)
    if not rates or np.unique(unlimited.message_size).size < 2:
        return model, ()
    if np.unique(unlimited.pairs).size < 2:  # one pair tells nothing of R_N: the model is of all, the floor above it
        unlimited = points.where(~regime)
    return fit_max_rate_model(unlimited, settings, judged=(points, floor.seconds)), rates


def _fit_one_way(points: Points, regime: NDArray[np.bool_], settings: FitSettings) -> MaxRate | None:
    """Fit the max-rate model to streams, with an overlap of α and bytes where that is clearly better.

    An overlap bends the line of a number of pairs, so that it explains what is taken for a `regime` otherwise.
    """
    model = fit_max_rate_model(points.where(~regime), settings)
    if model is None or (before := _off(model, points)) <= _LEAST_ERROR:
        return model
    pairs = points.pairs
    several = np.unique(pairs).size > 1
    fitted, R_N = _fitted_pipeline(points, settings, fit_pipeline if several else unlimited_pipeline), None
    remarks = []
    if several and not (R_N := _node_rate(fitted)).is_limiting:
        remarks.append(_not_limiting(_columns(points)[1], R_N))
        fitted = _fitted_pipeline(points, settings, unlimited_pipeline)
    fit = fitted.best.fit
    if R_N is not None and R_N.is_limiting and fit.b[0] <= pairs.min() * fit.c[0] * _LIMITING_MARGIN:
        remarks.append("R_C is only known to be no less: one pair fills the node already")
    overlap = Parameter(rounded(float(fit.alpha[0] - fit.rest[0])), "s")
    parameters = {"alpha": fitted.alpha, "R_C": fitted.rate} | ({"R_N": R_N} if R_N else {})
    pipeline = MaxRate(**parameters, quality=fitted.quality(parameters, remarks), overlap=overlap)
    gain = before / max(_off(pipeline, points), _LEAST_ERROR)
    return pipeline if overlap.value > 0 and 2 * len(points) * math.log(gain) > _CLEAR else model


def _off(model: MaxRate, points: Points) -> float:
    """Return the mean absolute logarithm of a model's times over those of the points that were not disturbed."""
    quiet = points.where(~points.disturbed) if not points.disturbed.all() else points
    times = np.array([seconds(model, *point) for point in zip(quiet.message_size, quiet.pairs, strict=True)])
    return float(np.abs(np.log(np.maximum(times, _NO_TIME * quiet.seconds) / quiet.seconds)).mean())


def _fitted_pipeline(points: Points, settings: FitSettings, solve: Callable[..., Any]) -> _Fitted:
    """Fit a model with an overlap to the points, and to resampled ones."""
    size, pairs = _columns(points)
    best = _best(points, solve, 4, settings)
    direct = solve(size, pairs, 1 / points.seconds**2, points.seconds[None])  # a robust core may lack what tells R_C
    fitted = direct.predict(size, pairs)[0]
    if best.noise is not None and mean_error(fitted, points.seconds) < mean_error(best.fitted, points.seconds):
        best = _Best(direct, fitted, 1 / (fitted * best.noise) ** 2, points.seconds, best.noise)
    waits, limited = best.fit.waits(size, pairs)[0], best.fit.is_limited(pairs)[0]
    design = [
        np.where(waits, 1.0, 0.0),
        np.where(~waits & (best.fit.rest[0] > 0), 1.0, 0.0),
        np.where(waits | limited, 0.0, size),
        np.where(~waits & limited, pairs * size, 0.0),
    ]
    return _resampled(points, design, best, solve, settings)


def fit_max_rate_model(
    points: Points,
    settings: FitSettings,
    streams: MaxRate | None = None,
    judged: tuple[Points, Array] | None = None,
) -> MaxRate | None:
    """Fit T = α + k n / min(R_N, k R_C); None with fewer than two sizes.

    R_N is left out where only one number of pairs was measured. It is infinite, with the lowest rate that the
    data allow as its low end, where the data show no limit: where the interval of its estimate has no upper end.
    """
    size, pairs = _columns(points)
    if np.unique(size).size < 2:
        return None
    remarks = []
    if np.unique(pairs).size == 1:
        fitted, alpha = _one_pair(points, settings)
        R_N = None
        count = f"{int(pairs[0])} pair{'s' if pairs[0] > 1 else ''}"
        scope = " of ping-pongs, unlike that of streams," if streams is not None and streams.R_N is not None else ""
        remarks.append(f"R_N{scope} is not measured: {count} only; run the kernel pairs on more ranks")
    else:
        fitted = _fitted(points, 3, settings, fit_max_rate)
        R_N = _node_rate(fitted)
        if not R_N.is_limiting:
            remarks.append(_not_limiting(pairs, R_N))
            fitted = _fitted(points, 2, settings, fit_unlimited)
        elif fitted.best.fit.b[0] <= pairs.min() * fitted.best.fit.c[0] * _LIMITING_MARGIN:
            remarks.append("R_C is only known to be no less: one pair fills the node already")
        alpha = fitted.alpha
    parameters = {"alpha": alpha, "R_C": fitted.rate} | ({"R_N": R_N} if R_N else {})
    return MaxRate(**parameters, quality=fitted._replace(judged=judged).quality(parameters, remarks))


def fit_extended_model(points: Points, settings: FitSettings) -> Extended | None:
    """Fit T = α + k n / min(R_N, R_Cb + (k − 1) R_Ci), R_Ci ≥ 0; None with fewer than three numbers of pairs.

    With two, R_Ci and R_N cannot be told apart.
    """
    size, pairs = _columns(points)
    if np.unique(size).size < 2 or np.unique(pairs).size < 3:
        return None
    fitted = _fitted(points, 4, settings, fit_extended)
    R_N = _node_rate(fitted)
    remarks = [] if R_N.is_limiting else [_not_limiting(pairs, R_N)]
    further = fitted.parameter(_further_rate, "B/s")
    parameters = {"alpha": fitted.alpha, "R_Cb": fitted.rate, "R_Ci": further, "R_N": R_N}
    return Extended(**parameters, quality=fitted.quality(parameters, remarks))


def fit_latency_aware_model(points: Points, settings: FitSettings) -> LatencyAware | None:
    """Fit T = max(k n / R_N, α + n / R_C); None with only one number of pairs or size."""
    size, pairs = _columns(points)
    if np.unique(size).size < 2 or np.unique(pairs).size < 2:
        return None
    best = _best(points, fit_latency_aware, 3, settings)
    fit, limited = best.fit, best.fit.is_limited(size, pairs)[0]
    design = [~limited * (fit.alpha[0] > 0) * 1.0, np.where(limited, 0.0, size), np.where(limited, pairs * size, 0.0)]
    fitted = _resampled(points, design, best, fit_latency_aware, settings)

    def limiting(candidate: LatencyAwareFit) -> Array:
        return np.where(candidate.is_limited(size, pairs).any(axis=1), _rate(candidate.c), np.inf)

    R_N = _limiting_rate(fitted, limiting, float((pairs * size / fit.predict(size, pairs)[0]).max()))
    parameters = {"alpha": fitted.alpha, "R_C": fitted.rate, "R_N": R_N}
    remarks = [] if R_N.is_limiting else [_not_limiting(pairs, R_N)]
    return LatencyAware(**parameters, quality=fitted.quality(parameters, remarks))


def _not_limiting(pairs: Array, R_N: Parameter) -> str:
    return f"R_N does not limit: {int(pairs.max())} pairs show no limit up to {format_rate(R_N.low or 0.0)}"


def _fitted(points: Points, parameters: int, settings: FitSettings, solve: Solver) -> _Fitted:
    """Fit a model with so many parameters to the points, and to resampled ones."""
    size, pairs = _columns(points)
    best = _best(points, solve, parameters, settings)
    fit: MaxRateFit = best.fit
    limited = fit.is_limited(pairs)[0]
    share = fit.share[0]
    free = np.where(limited, 0.0, size * pairs / (1 + (pairs - 1) * share))
    design = [np.ones_like(size) * (fit.alpha[0] > 0), free, np.where(limited, pairs * size, 0.0)]
    if solve is fit_extended and share > 0:
        design.append(free * (pairs - 1) / (1 + (pairs - 1) * share))
    return _resampled(points, design, best, solve, settings)


def _node_rate(fitted: _Fitted) -> Parameter:
    """Return R_N; infinite where the data show no limit."""
    most_pairs = fitted.points.pairs.max()

    def reached(fit: MaxRateFit) -> Array:
        """Return the rate of the most pairs without the node's limit."""
        return np.asarray(_rate(fit.b) * (1 + (most_pairs - 1) * fit.share))

    def limiting(fit: MaxRateFit) -> Array:
        return np.where(_rate(fit.c) * _LIMITING_MARGIN < reached(fit), _rate(fit.c), np.inf)

    return _limiting_rate(fitted, limiting, float(reached(fitted.best.fit)[0]))


def _limiting_rate(fitted: _Fitted, limiting: Callable[[Any], Array], reached: float) -> Parameter:
    """Return a rate with interval; without an upper end, an infinite one with the rate reached below it."""
    value = float(limiting(fitted.best.fit)[0])
    if fitted.estimates is None:
        return Parameter(rounded(value), "B/s")
    low, high = bootstrap.interval(limiting(fitted.estimates), fitted.settings.confidence)
    if math.isfinite(high) and math.isfinite(value):
        return fitted.parameter(limiting, "B/s")
    return Parameter(math.inf, "B/s", rounded(min(low, reached)), math.inf)
