"""Verdict on a fit, and the model to use. Main entries: `judge` and `recommend`.

The paper's own advice is followed: the simplest model that is good enough, of those that can be trusted.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import msgspec
import numpy as np
from numpy.typing import NDArray

from commmodel.arrays import Array
from commmodel.fit.points import Points
from commmodel.machine import Parameter, Quality, Segment
from commmodel.machine.model_choice import DESCRIBES
from commmodel.machine.parameters import MODELS
from commmodel.results import Header
from commmodel.results.oversubscription import crowded_hosts
from commmodel.statistics import CONFIDENCE, TO_DEVIATION
from commmodel.units import format_ratio, format_size, format_time, listed

FLAT = 1e-30
"""Seconds per byte that are no time at all."""
_DIGITS = 6
_LEAST_SIZES = 4
FAR = math.log(1.5)
"""Of an undisturbed record from a model that is trusted, at most."""
MOST_CONTRADICTING = 0.25
"""Share of the records or sizes that contradict a model; of more it is none."""
_MOST_DISTURBED = 0.25  # of the records
_UNSURE = 1 / 3  # half the interval of the model's time, relative
_WIDE_INTERVAL = 0.5
BEYOND = 3.0
"""Times half the interval of a predicted time: a record further off contradicts the model."""
_GROSS = math.log(1.25)  # off by more, and by more than the others scatter: no part of the scatter
LEAST_SCATTER = 0.01
"""Relative; two times are hardly ever more alike."""
NORMAL = 1.96
"""Standard deviations of 95 %."""
_GOOD_ENOUGH = 1.25  # mean relative error over that of the best model
_SMALL_ERROR = 0.03  # at which nothing more is asked for
_SHOWN = 3  # sizes of which modes, or contradictions, are told


def rounded(value: float) -> float:
    """Return a number rounded as machine files hold it."""
    return float(f"{value:.{_DIGITS}g}")


def mean_error(fitted: Array, seconds: Array) -> float:
    """Return the mean factor between times, less 1: twice and half the time both count 1.

    >>> round(mean_error(np.array([2.0, 0.5]), np.array([1.0, 1.0])), 9)
    1.0
    """
    return float(np.expm1(np.abs(np.log(fitted / seconds)).mean()))


def scatter_of(logs: Array, parameters: int) -> float:
    """Return the standard deviation of log times around a model with so many parameters, from their differences.

    Gross ones are left out: they contradict the model, and say nothing of the others.

    >>> round(scatter_of(np.log([1.02, 0.98, 1.03, 0.97, 1.01, 40.0]), 1), 3)
    0.026
    """
    typical = TO_DEVIATION * float(np.median(np.abs(logs)))
    usual = logs[np.abs(logs) <= max(_GROSS, BEYOND * NORMAL * typical)]
    return max(math.sqrt(float(usual @ usual) / max(usual.size - parameters, 1)), LEAST_SCATTER)


def _beyond(logs: Array, distances: Array) -> NDArray[np.bool_]:
    """Return which times, in logarithms relative to the model's, lie outside three times an interval around it."""
    below, above = np.expm1(-distances[0]), np.expm1(distances[1])
    return np.asarray((np.expm1(logs) > BEYOND * above) | (np.expm1(logs) < BEYOND * below))


def judge(
    points: Points,
    fitted: Array,
    parameters: dict[str, Parameter],
    extra: Sequence[str],
    *,
    spread: Array | None,
    weights: Array | None = None,
    confidence: float = CONFIDENCE,
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
    spread : shape (2, points) or None
        How far the interval of the model's time reaches below and above it, in logarithms; None where there is none.
    weights : shape (points,), optional
        Of the squares that were minimised, where it was squares.
    confidence : float
        Of the intervals.

    Notes
    -----
    The one rule of trust. A fit is trusted if it has at least four sizes; if the model is off by at most 15 % on
    average and 50 % anywhere; if no record lies outside three times the interval of the time that the model predicts
    for it; if the interval of the model's own time is within a third of it at every size; and if at most a quarter of
    the records were disturbed. Only what its own samples show makes a record a disturbed one, never its distance from
    the model; it is not in the errors, of which both figures are kept.
    """
    logs = np.log(points.seconds / fitted)
    disturbed = points.disturbed
    counted = ~disturbed if not disturbed.all() else np.ones(len(points), dtype=bool)
    mean, largest = _errors(logs[counted])
    scatter = scatter_of(logs[counted], len(parameters))
    distances = np.zeros((2, len(points))) if spread is None else spread
    half = np.hypot(distances, NormalDist().inv_cdf(0.5 + confidence / 2) * scatter)
    contradicting = _beyond(logs, half) | (counted & (np.abs(logs) > FAR))
    unsure = (np.exp(distances[1]) - np.exp(-distances[0])) / 2
    plain = counted & ~contradicting
    is_model = contradicting.mean() <= MOST_CONTRADICTING and plain.any() and np.abs(logs[plain]).mean() <= DESCRIBES
    doubts = []
    sizes = np.unique(points.message_size)
    if sizes.size < _LEAST_SIZES:
        doubts.append(f"too few sizes ({sizes.size}): measure more with --sizes {sizes[0]}:{sizes[-1]}:+STEP")
    remarks = [remark for name, parameter in parameters.items() if (remark := _remark(name, parameter))]
    if not is_model:
        remarks = []
        worst = int(np.abs(logs).argmax())
        doubts.append(
            f"the model is off by {format_ratio(mean)} on average and {format_ratio(math.expm1(abs(logs[worst])))} at "
            f"{points.message_size[worst]} B: the times do not lie on one line, {_why(points)}"
        )
    elif contradicting.any() or math.log1p(mean) > DESCRIBES:
        doubts.append(_contradiction(points, logs, contradicting))
    if disturbed.mean() > _MOST_DISTURBED:
        doubts.append(f"{disturbed.sum()} of {len(points)} records were disturbed: measure on a quieter machine")
    if spread is None:
        doubts.append("no interval: too few points and too few samples for one")
    elif unsure.max() > _UNSURE and is_model:
        worst = int(unsure.argmax())
        doubts.append(
            f"the model's time of {format_size(int(points.message_size[worst]))} is only known within "
            f"{format_ratio(unsure[worst])}: measure more sizes, longer, or in more launches"
        )
    left_out = int((~counted).sum())
    return Quality(
        points=len(points),
        relative_error_sum=rounded(float(np.abs(fitted / points.seconds - 1).sum())),
        relative_error_mean=rounded(mean),
        relative_error_max=rounded(largest),
        trusted=not doubts,
        remarks=(*doubts, *remarks, *extra),
        information_criterion=_information_criterion(points, fitted, len(parameters), weights),
        scatter=rounded(scatter),
        disturbed=left_out,
        errors_with_disturbed=_rounded_errors(logs) if left_out else None,
    )


def _errors(logs: Array) -> tuple[float, float]:
    """Return the mean and the largest factor, less 1."""
    return float(np.expm1(np.abs(logs).mean())), float(np.expm1(np.abs(logs).max()))


def _rounded_errors(logs: Array) -> tuple[float, float]:
    mean, largest = _errors(logs)
    return rounded(mean), rounded(largest)


def _contradiction(points: Points, logs: Array, contradicting: NDArray[np.bool_]) -> str:
    """Return a line on the records that the model cannot describe, the worst first."""
    order = [index for index in np.argsort(-np.abs(logs), kind="stable") if contradicting[index]]
    shown: dict[str, str] = {}
    for index in order:
        size = format_size(int(points.message_size[index]))
        samples = "most of its samples disturbed" if points.disturbed[index] else "though its samples agree"
        shown.setdefault(size, f"{size} {times_words(logs[index])}, {samples}")
    count = f"{len(order)} of {len(points)} records lie{'s' * (len(order) == 1)} beside the model"
    return f"{count}: {listed([*shown.values()], _SHOWN, '; ')}: measure again"


def times_words(log: float) -> str:
    """Return how a time compares with a model's, from the logarithm of their ratio.

    >>> times_words(math.log(5)), times_words(math.log(0.5))
    ('takes 5.0 times as long', 'takes 0.50 times as long')
    """
    factor = math.exp(log)
    return f"takes {factor:.{1 if factor >= 1.5 else 2}f} times as long"


def _why(points: Points) -> str:
    """Return possible causes for times that no line describes."""
    disturbed = [1 - modes[0].share if modes else 0.0 for modes in points.modes]
    if np.mean(disturbed) > _MOST_DISTURBED:
        share = format_ratio(float(np.mean(disturbed)))
        return f"as {share} of their samples were disturbed: measure on a quieter machine"
    return "look at the residuals, and if they show another limit give it with `limits`"


def doubted(segment: Segment, headers: Sequence[Header]) -> Segment:
    """Return a segment whose fits are not trusted, if half of the launches or more were measured beside other programs.

    What is measured then looks like a slower machine: neither samples nor sizes show it.
    """
    if 2 * sum(bool(crowded_hosts(header)) for header in headers) < max(len(headers), 1):
        return segment
    changes = {
        name: msgspec.structs.replace(model, quality=_doubtful(model.quality))
        for name in MODELS
        if (model := getattr(segment, name)) is not None and model.quality is not None
    }
    return msgspec.structs.replace(segment, **changes)


def _doubtful(quality: Quality) -> Quality:
    doubt = "measured while other programs wanted the ranks' processors: measure on a quiet machine"
    return msgspec.structs.replace(quality, trusted=False, remarks=(doubt, *quality.remarks))


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
    if postal is not None and postal.trusted and postal_error is not None and math.log1p(postal_error) <= DESCRIBES:
        trusted.add("postal")
    choice = {name: error for name, error in errors.items() if name in trusted} or errors
    enough = max(_GOOD_ENOUGH * min(choice.values()), _SMALL_ERROR)
    chosen = next(name for name, error in choice.items() if error <= enough)
    criterion = "the simplest that is good enough" + (
        " of those that are trusted" if 0 < len(trusted) < len(errors) else ""
    )
    alternatives = ", ".join(f"{name} {format_ratio(error)}" for name, error in errors.items() if name != chosen)
    return chosen, f"{criterion}: mean error {format_ratio(errors[chosen])} ({alternatives})"
