"""Whether to trust a fit, and which model to use. Main entries: `judge` and `recommend`.

The paper's own advice is followed: the simplest model that is good enough.
"""

import math

import numpy as np
from numpy.typing import NDArray

from commmodel.fit.points import Points
from commmodel.machine import Parameter, Quality, Segment
from commmodel.units import format_ratio

__all__ = ["FLAT", "judge", "recommend", "rounded"]

Array = NDArray[np.float64]

FLAT = 1e-30
"""Seconds per byte that are no time at all."""
_DIGITS = 6
_LEAST_SIZES = 4
_POOR_MEAN_ERROR = 0.2
_POOR_MAX_ERROR = 0.5
_WIDE_INTERVAL = 0.5
_GOOD_ENOUGH = 1.25  # mean relative error over that of the best model
_SMALL_ERROR = 0.03  # at which nothing more is asked for


def rounded(value: float) -> float:
    """Return a number as it is kept in a machine."""
    return float(f"{value:.{_DIGITS}g}")


def judge(points: Points, weights: Array, fitted: Array, parameters: dict[str, Parameter], extra: list[str]) -> Quality:
    """Judge a fit by its errors, its parameters and the number of sizes behind it; `extra` are remarks, no doubts."""
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
    doubts += [doubt for name, parameter in parameters.items() if (doubt := _doubt(name, parameter))]
    return Quality(
        points=len(points),
        relative_error_sum=rounded(errors.sum()),
        relative_error_mean=rounded(errors.mean()),
        relative_error_max=rounded(errors.max()),
        trusted=not doubts,
        remarks=(*doubts, *extra),
        information_criterion=_information_criterion(points, weights, fitted, len(parameters)),
    )


def _doubt(name: str, parameter: Parameter) -> str:
    """Return why a parameter is not to be trusted, or nothing."""
    if parameter.value <= FLAT:
        return f"{name} is at its bound 0: the times of this segment do not determine it"
    if name in {"R_C", "R_Cb"} and not parameter.is_limiting:
        return f"{name} is not determined: the times of this segment do not grow with the size"
    if parameter.low is None or parameter.high is None:
        return f"{name} has no interval: too few points and too few samples for one"
    if parameter.is_limiting and (parameter.high - parameter.low) / 2 > _WIDE_INTERVAL * parameter.value:
        return f"{name} is hardly determined: its interval is wider than half its value"
    return ""


def _information_criterion(points: Points, weights: Array, fitted: Array, parameters: int) -> float | None:
    """Return Akaike's criterion for the weighted squares that were minimised, corrected for few points (AICc)."""
    count, estimated = len(points), parameters + 1  # and the noise
    squares = float(weights @ (fitted - points.seconds) ** 2)
    if count - estimated - 1 <= 0 or squares <= 0:
        return None
    correction = 2 * estimated * (estimated + 1) / (count - estimated - 1)
    return rounded(count * math.log(squares / count) + 2 * estimated + correction)


def recommend(segment: Segment, postal_error: float | None) -> tuple[str, str]:
    """Return the model to use for a segment and why; `postal_error` is that of the postal model over all pairs.

    The simplest whose mean relative error is at most a quarter above the best one's, or at most 3 %.
    """
    if segment.max_rate is None or segment.max_rate.quality is None:
        return "", ""
    if segment.max_rate.R_N is None:
        return "postal", "one number of pairs was measured: all models are this one"
    errors = {"postal": postal_error} if postal_error is not None else {}
    models = {"max-rate": segment.max_rate, "latency-aware": segment.latency_aware, "extended": segment.extended}
    errors |= {name: model.quality.relative_error_mean for name, model in models.items() if model and model.quality}
    best = min(errors, key=lambda name: errors[name])
    enough = max(_GOOD_ENOUGH * errors[best], _SMALL_ERROR)
    chosen = next(name for name, error in errors.items() if error <= enough)
    reason = f"the simplest that is good enough: mean error {format_ratio(errors[chosen])}"
    others = ", ".join(f"{name} {format_ratio(error)}" for name, error in errors.items() if name != chosen)
    return chosen, f"{reason} ({others})"
