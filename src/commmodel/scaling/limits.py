"""Extrapolation of models, and the largest scale within a limit. Main entries: `predict_at` and `largest_scale`.

Source: Shudler and others (2015), Sections 2.4 and 4.2 (the memory wall).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from commmodel.arguments import NotNegative, Positive, finite
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError
from commmodel.scaling.bootstrap import Ensemble
from commmodel.scaling.fitting import Model
from commmodel.signatures import checked

_LARGEST = 2.0**64
_BISECTIONS = 80


@with_attributes
@dataclass(frozen=True)
class ScalePrediction:
    """A value at a scale with its interval, in the unit of the measurement."""

    scale: float
    value: float
    low: float
    high: float


def predict_at(ensemble: Ensemble, scale: float, confidence: float = 0.95) -> ScalePrediction:
    """Return the best model's value at a scale, with the interval of all models that the data allow.

    Parameters
    ----------
    ensemble : Ensemble
        Of the measurements.
    scale : float
        The target, ≥ 1.
    confidence : float
        Of the interval, below 1.

    Raises
    ------
    InputError
        For a scale below 1 or a confidence that is none.

    Examples
    --------
    >>> from commmodel.scaling.bootstrap import ensemble
    >>> from commmodel.scaling.growth import Growth
    >>> p = [4, 8, 16, 32, 64]
    >>> found = ensemble(p, [[2.0 * n] for n in p], [Growth(power=1)])
    >>> round(predict_at(found, 1024).value)
    2048
    """
    scale = finite("scale", scale, 1)
    low, high = ensemble.interval(scale, confidence)
    value = float(ensemble.best(scale))
    return ScalePrediction(scale, value, min(low, value), max(high, value))


@checked
def largest_scale(model: Model | Callable[[float], float], limit: NotNegative, processes: Positive = 1) -> float:
    """Return the scale up to which `processes` times the model stays within a limit: the memory wall.

    Parameters
    ----------
    model : Model or function
        From a scale to a value that never falls, such as bytes of a process over the number of processes.
    limit : float
        In the model's unit, such as the bytes of a node.
    processes : float
        How many of them share the limit, such as the processes of a node; > 0.

    Returns
    -------
    float
        Infinite where the limit is never reached (below 2^64), 0 where it is passed from the first on. Scales are not
        rounded: a number of processes is the whole part.

    Raises
    ------
    InputError
        Where `processes` is not positive, or the limit is no number from 0 up.

    Notes
    -----
    Shudler 2015, Section 4.2, Juropa: 24 GB on each node, 8 processes on it, 16 + 0.56 p MB each.

    Examples
    --------
    >>> from commmodel.scaling.growth import Growth
    >>> int(largest_scale(Model(16e6, 0.56e6, Growth(power=1)), 24e9, processes=8))
    5328
    """
    if not finite("processes", processes) > 0:
        raise InputError(f"processes = {processes:g}: it must be positive, such as the processes of a node")
    limit = finite("limit", limit, 0)

    def fits(scale: float) -> bool:
        return processes * float(model(scale)) <= limit

    if not fits(1.0):
        return 0.0
    high = 2.0
    while fits(high):
        high *= 2
        if high > _LARGEST:
            return math.inf
    low = high / 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
