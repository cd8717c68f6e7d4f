"""Verdict on a fit, and the model to use. Main entries: `judge` and `recommend`.

The paper's own advice is followed: the simplest model that is good enough, of those that can be trusted.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from commmodel.fit.points import Points
from commmodel.machine import Parameter, Quality, Segment
from commmodel.units import format_ratio, format_size, format_time

__all__ = ["FLAT", "judge", "mean_error", "modes_remark", "recommend", "rounded"]

Array = NDArray[np.float64]

FLAT = 1e-30
"""Seconds per byte that are no time at all."""
_DIGITS = 6
_LEAST_SIZES = 4
_POOR_MEAN_ERROR = 0.15
_FAR = 0.5  # of a point from the model
_MOST_FAR = 0.25  # of all points
_UNSURE = 1 / 3  # half the interval of the model's time, relative
_WIDE_INTERVAL = 0.5
_BESIDE = 0.25  # slower than the model by so much: a record that was disturbed as a whole
_MOST_BESIDE = 0.25  # of the points are set aside as such
_GOOD_ENOUGH = 1.25  # mean relative error over that of the best model
_SMALL_ERROR = 0.03  # at which nothing more is asked for
_SHOWN = 3  # sizes of which modes are told


def rounded(value: float) -> float:
    """Return a number rounded as machine files hold it."""
    return float(f"{value:.{_DIGITS}g}")


def mean_error(fitted: Array, seconds: Array) -> float:
    """Return the mean factor between times, less 1: twice and half the time both count 1.

    >>> round(mean_error(np.array([2.0, 0.5]), np.array([1.0, 1.0])), 9)
    1.0
    """
    return float(np.expm1(np.abs(np.log(fitted / seconds)).mean()))


def judge(
    points: Points,
    fitted: Array,
    parameters: dict[str, Parameter],
    extra: Sequence[str],
    *,
    spread: Array | None,
    weights: Array | None = None,
) -> Quality:
    """Return the quality of a fit: its error, how well its parameters are determined, and remarks.

    Parameters
    ----------
    points : Points
        What it was fitted to.
    fitted : shape (points,)
        The model's times.
    parameters : dict of Parameter
        By name.
    extra : sequence of str
        Remarks that are no doubts.
    spread : shape (points,) or None
        Half the interval of the model's time at each point, relative to it; None where there is no interval.
    weights : shape (points,), optional
        Of the squares that were minimised, where it was squares. Left out for a robust fit, which bears disturbed
        records: these are named and not counted in the mean.

    Notes
    -----
    The one rule of trust. A fit is trusted if it has at least four sizes; if the model is off by at most 15 % on
    average, and by more than 50 % at no more than a quarter of the points; and if the interval of the model's time is
    within a third of it at every size.
    """
    logs = np.abs(np.log(fitted / points.seconds))
    counted = np.ones(len(points), dtype=bool) if weights is not None else ~_beside(points.seconds, fitted)
    errors = np.expm1(logs)
    mean = float(np.expm1(logs[counted].mean()))
    doubts = []
    sizes = np.unique(points.message_size)
    if sizes.size < _LEAST_SIZES:
        doubts.append(f"too few sizes ({sizes.size}): measure more with --sizes {sizes[0]}:{sizes[-1]}:+STEP")
    remarks = [remark for name, parameter in parameters.items() if (remark := _remark(name, parameter))]
    if mean > _POOR_MEAN_ERROR or (errors > _FAR).mean() > _MOST_FAR:
        remarks = []  # of a model that is none
        worst = int(errors.argmax())
        doubts.append(
            f"the model is off by {format_ratio(mean)} on average and {format_ratio(errors[worst])} at "
            f"{points.message_size[worst]} B: the times do not lie on one line, {_why(points)}"
        )
    elif spread is None:
        doubts.append("no interval: too few points and too few samples for one")
    elif spread.max() > _UNSURE:
        worst = int(spread.argmax())
        doubts.append(
            f"the model's time of {format_size(int(points.message_size[worst]))} is only known within "
            f"{format_ratio(spread[worst])}: measure more sizes, longer, or in more launches"
        )
    remarks += [_beside_remark(points, fitted, ~counted)] if not counted.all() else []
    return Quality(
        points=len(points),
        relative_error_sum=rounded(float(np.abs(fitted / points.seconds - 1).sum())),
        relative_error_mean=rounded(mean),
        relative_error_max=rounded(float(errors.max())),
        trusted=not doubts,
        remarks=(*doubts, *remarks, *extra),
        information_criterion=_information_criterion(points, fitted, len(parameters), weights),
    )


def _beside(seconds: Array, fitted: Array) -> NDArray[np.bool_]:
    """Return which points come from records disturbed as a whole: clearly slower than the model, and few."""
    logs = np.log(seconds / fitted)
    beside = logs > math.log1p(_BESIDE)
    most = int(_MOST_BESIDE * seconds.size)
    if beside.sum() > most:
        beside &= np.argsort(np.argsort(-logs)) < most
    return beside


def _beside_remark(points: Points, fitted: Array, beside: NDArray[np.bool_]) -> str:
    slower = points.seconds[beside] / fitted[beside]
    shown = dict(zip(points.message_size[beside].tolist(), slower.tolist(), strict=True))
    words = ", ".join(f"{format_size(size)} {factor:.1f} times" for size, factor in list(shown.items())[:_SHOWN])
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    count = f"{beside.sum()} of {len(points)} records"
    return f"{count} are slower than the model, not counted in its mean error: {words}{more}"


def _why(points: Points) -> str:
    """Return possible causes for times that no line describes."""
    disturbed = [1 - modes[0].share if modes else 0.0 for modes in points.modes]
    if np.mean(disturbed) > _MOST_FAR:
        share = format_ratio(float(np.mean(disturbed)))
        return f"as {share} of their samples were disturbed: measure on a quieter machine"
    return "look at the residuals, and if they show another limit give it with --limits"


def modes_remark(points: Points) -> list[str]:
    """Return a line on the sizes whose samples have several modes, with their shares; empty without any."""
    remarks = {
        int(size): modes
        for size, modes in zip(points.message_size, points.modes, strict=True)
        if modes  # of several records of a size, the last
    }
    if not remarks:
        return []
    least = sorted(remarks, key=lambda size: remarks[size][0].share)[:_SHOWN]
    words = [
        f"{format_size(size)} "
        + ", ".join(f"{format_ratio(mode.share)} at {format_time(mode.median)}" for mode in remarks[size])
        for size in sorted(least)
    ]
    more = f"; and {len(remarks) - len(least)} more" if len(remarks) > len(least) else ""
    sizes = np.unique(points.message_size).size
    return [
        f"samples of {len(remarks)} of {sizes} sizes have several modes, "
        f"the fastest is fitted: {'; '.join(words)}{more}"
    ]


def _remark(name: str, parameter: Parameter) -> str:
    """Return a remark on a parameter, or nothing."""
    if name == "alpha" and parameter.value <= FLAT:
        high = "" if parameter.high is None else f" (at most {format_time(parameter.high)})"
        return f"alpha is not determined by these sizes{high}: T = n / R"
    if parameter.value <= FLAT:
        return f"{name} is at its bound 0: the times of this segment do not determine it"
    if name in {"R_C", "R_Cb"} and not parameter.is_limiting:
        return f"{name} is not determined: the times of this segment do not grow with the size"
    if parameter.low is None or parameter.high is None:
        return f"{name} has no interval: too few points and too few samples for one"
    if parameter.is_limiting and (parameter.high - parameter.low) / 2 > _WIDE_INTERVAL * parameter.value:
        return f"{name} is hardly determined: its interval is wider than half its value"
    return ""


def _information_criterion(points: Points, fitted: Array, parameters: int, weights: Array | None) -> float | None:
    """Return Akaike's criterion, corrected for few points (AICc).

    Of the weighted squares, for Gauss's noise, or of the absolute logarithms, for Laplace's.
    """
    count, estimated = len(points), parameters + 1  # and the noise
    if weights is None:
        loss, factor = float(np.abs(np.log(fitted / points.seconds)).sum()), 2.0
    else:
        loss, factor = float(weights @ (fitted - points.seconds) ** 2), 1.0
    if count - estimated - 1 <= 0 or loss <= 0:
        return None
    correction = 2 * estimated * (estimated + 1) / (count - estimated - 1)
    return rounded(factor * count * math.log(loss / count) + 2 * estimated + correction)


def recommend(segment: Segment, postal_error: float | None) -> tuple[str, str]:
    """Return the model to use for a segment, and why; `postal_error` is the postal model's over all pairs.

    Of the models that are trusted, or of all where none is: the simplest whose mean error is at most a quarter above
    the best one's, or at most 3 %.
    """
    if segment.max_rate is None or segment.max_rate.quality is None:
        return "", ""
    if segment.max_rate.R_N is None:
        return "postal", "one number of pairs was measured: all models are this one"
    errors = {"postal": postal_error} if postal_error is not None else {}
    models = {"max-rate": segment.max_rate, "latency-aware": segment.latency_aware, "extended": segment.extended}
    errors |= {name: model.quality.relative_error_mean for name, model in models.items() if model and model.quality}
    trusted = {name for name, model in models.items() if model and model.quality and model.quality.trusted}
    postal = segment.postal.quality if segment.postal else None
    if postal is not None and postal.trusted and postal_error is not None and postal_error <= _POOR_MEAN_ERROR:
        trusted.add("postal")
    choice = {name: error for name, error in errors.items() if name in trusted} or errors
    enough = max(_GOOD_ENOUGH * min(choice.values()), _SMALL_ERROR)
    chosen = next(name for name, error in choice.items() if error <= enough)
    criterion = "the simplest that is good enough" + (
        " of those that are trusted" if 0 < len(trusted) < len(errors) else ""
    )
    alternatives = ", ".join(f"{name} {format_ratio(error)}" for name, error in errors.items() if name != chosen)
    return chosen, f"{criterion}: mean error {format_ratio(errors[chosen])} ({alternatives})"
