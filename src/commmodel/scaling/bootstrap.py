"""The set of models that the data cannot distinguish. Main entry: `ensemble`.

Every class has a probability: its likelihood, where values scatter at least as their repetitions say, and even odds for
(nearly) all terms, since a preference for simple ones would hide what else the data allow. Models for predictions are
fitted to data that might as well have been measured. They are made in two ways: by drawing from the repetitions of each
scale, and from the residuals of the best model, which also know of what repeating does not show: that scales lie beside
the curve.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from commmodel.arguments import finite, integer, share
from commmodel.arrays import Array
from commmodel.choices import Statistic
from commmodel.scaling.fitting import (
    ROUNDED,
    Fits,
    Model,
    check_scales,
    fit,
    growing_share,
    misfit,
    probabilities,
)  # fmt: skip
from commmodel.scaling.growth import ONE, Growth
from commmodel.scaling.samples import STATISTIC, check_samples, reduce, resample
from commmodel.scaling.search_space import drawn_odds
from commmodel.values import Value

__all__ = ["Ensemble", "ensemble"]

MOST_DRAWS = 1_000_000
OFTEN_ENOUGH = 0.05
"""Probability from which on a model is in the set."""
TELLING_SHARE = 0.5
"""Where the best model is a constant: which share of the value at the largest scale a term may make up unnoticed."""

TOLERATED = 0.25
"""How far a value may be beside its model, relative to itself, though repetitions do not scatter by so much."""
PLAIN = 5.0
"""How many times its scatter a value may be beside its model."""


@dataclass(frozen=True)
class Ensemble(Value):
    """The best model, and the others that the data allow.

    Attributes
    ----------
    scales, values : shape (scales,)
        What was fitted.
    best : Model
        The model of the measured data.
    drawn : Fits
        Those of the data made anew; first those drawn from repetitions, then as many from residuals.
    probabilities : dict
        Class of growth -> its probability, the best first, then the most probable. Where the best is a constant: the
        share of the draws in which the class may make up half of the value at the largest scale.
    noise : float
        How much a value scatters, relative to itself.
    misfit : float
        How far values are beside the best of all models, constants among them: a root mean square, over what each value
        may be beside it, `TOLERATED` or `PLAIN` times its scatter.
    goes_one_way : bool
        Whether the values only rise or only fall, but for as much.
    """

    scales: Array
    values: Array
    best: Model
    drawn: Fits
    probabilities: dict[Growth, float]
    noise: float
    misfit: float = 0.0
    goes_one_way: bool = True

    @property
    def fits(self) -> bool:
        """Whether any class fits; otherwise the best model says nothing about growth."""
        return self.misfit < 1

    @property
    def shares(self) -> dict[Growth, float]:
        """The classes of the set with their probabilities; the best one's is there always."""
        likely = self.probabilities.items()
        return {growth: share for growth, share in likely if share >= OFTEN_ENOUGH or growth == self.best.growth}

    def likely(self, growth: Growth) -> bool:
        """Whether a class is not far less probable than the most probable one."""
        most = max(self.probabilities.values())
        return self.probabilities.get(growth, 0.0) >= OFTEN_ENOUGH * most or growth == self.best.growth

    def chance(self, is_meant: Callable[[Growth], bool]) -> float:
        """Return how probable classes that are meant are together; beside a constant, the most probable one counts."""
        if self.best.growth != ONE:
            return sum(share for growth, share in self.probabilities.items() if is_meant(growth))
        is_best = is_meant(ONE)
        beside = [share for growth, share in self.probabilities.items() if is_meant(growth) != is_best]
        return 1 - max(beside, default=0.0) if is_best else max(beside, default=0.0)

    def interval(self, x: float, confidence: float = 0.95) -> tuple[float, float]:
        """Return the models' interval at `x` ≥ 1 with probability `confidence`; `x` may be beyond the scales.

        Raises
        ------
        InputError
            For an `x` below 1, or a confidence that is none.
        """
        half = share("confidence", confidence) / 2
        low, high = np.quantile(self.drawn.values(finite("scale", x, 1)), (0.5 - half, 0.5 + half))
        return float(low), float(high)


def _from_residuals(scales: Array, values: Array, best: Model, count: int, random: np.random.Generator) -> Array:
    fitted = best(scales)
    # A value of 0 has no relative residual, and a counted one none that matters.
    size = np.where(fitted == 0, 1.0, np.abs(fitted))
    parameters = 2 if best.coefficient else 1
    off = np.where(np.abs(values - fitted) <= ROUNDED * np.abs(values).max(), 0.0, values - fitted)
    relative = off / size * math.sqrt(len(values) / (len(values) - parameters))
    drawn = random.choice(relative, (count, len(values))) * random.choice([-1.0, 1.0], (count, len(values)))
    return np.asarray(fitted + size * drawn)


def ensemble(
    scales: ArrayLike,
    samples: Sequence[ArrayLike],
    terms: Sequence[Growth],
    *,
    statistic: Statistic = STATISTIC,
    draws: int = 200,
    seed: int = 1,
    noise: float = 0.0,
) -> Ensemble:
    """Return the best model among the terms, and those that the data cannot distinguish from it.

    Parameters
    ----------
    scales : shape (scales,)
        Values of the parameter, at least three, each ≥ 1.
    samples : sequence of arrays
        At each scale the repetitions, shape (repetitions,), or (launches, repetitions), where whole launches are drawn.
    terms : sequence of Growth
        The search space.
    statistic : str
        What repetitions are reduced to, one of `commmodel.scaling.samples.STATISTICS`.
    draws : int
        Data sets made in each of the two ways.
    seed : int
        Of the random numbers.
    noise : float
        How much values scatter at least, relative to themselves, where more is known of it than repetitions show.

    Raises
    ------
    InputError
        Where scales and samples do not belong together or show no growth, or without draws.

    Examples
    --------
    >>> p = [4, 8, 16, 32, 64]
    >>> found = ensemble(p, [[3.0 * n, 3.1 * n, 3.05 * n] for n in p], [Growth(log=1), Growth(power=1)])
    >>> {growth.text("p"): share for growth, share in found.shares.items()}
    {'p': 1.0}
    """
    noise = finite("noise", noise, 0)
    count, seed = integer("draws", draws, 1, MOST_DRAWS), integer("seed", seed, 0, 2**64)
    x = check_scales(scales)
    arrays = check_samples(x, samples)
    values = reduce(samples, statistic)
    best = fit(x, values[None], terms).model(0)
    random = np.random.default_rng(seed)
    resamples = resample(arrays, count, statistic, random), _from_residuals(x, values, best, count, random)
    together = np.concatenate(resamples)
    drawn = fit(x, together, terms, prior=drawn_odds)
    scatter = [fits.std(axis=0) / np.where(values == 0, 1.0, np.abs(values)) for fits in resamples]
    repeated = max(float(np.median(scatter[0])), noise)
    tolerance = np.maximum(TOLERATED, PLAIN * np.maximum(scatter[0], noise))
    off = misfit(x, values, terms, tolerance)
    shares = _hidden(drawn, together, x) if best.growth == ONE else _probable(x, values, best, drawn.terms, repeated)
    rest = sorted((growth for growth in shares if growth != best.growth), key=lambda growth: -shares[growth])
    likely = {growth: shares[growth] for growth in (best.growth, *rest)}
    scattered = max(repeated, float(np.median(scatter[1])))
    return Ensemble(x, values, best, drawn, likely, scattered, off, _goes_one_way(x, values, tolerance))


def _goes_one_way(scales: Array, values: Array, tolerance: Array) -> bool:
    """Whether values are monotonic, within the tolerance.

    >>> x, tolerance = np.arange(2.0, 7.0), np.full(5, 0.25)
    >>> [_goes_one_way(x, np.array(y), tolerance) for y in ([1, 1.1, 1, 1, 9], [9, 8, 3, 2, 1], [1, 1, 5, 1, 1])]
    [True, True, False]
    """
    if values.min() <= 0:
        return True
    order = np.argsort(scales)
    logarithms, squares = np.log(values[order]), tolerance[order] ** 2
    change = (logarithms[None] - logarithms[:, None]) / np.sqrt(squares[None] + squares[:, None])
    later = np.triu(change, 1)
    return bool(min(later.max(), -later.min()) < 1)


def _probable(
    scales: Array, values: Array, best: Model, terms: tuple[Growth, ...], noise: float
) -> dict[Growth, float]:
    """Return the probability of each class; values that follow a sum of terms exactly have no other."""
    if best.lower:
        return {best.growth: 1.0}
    return dict(zip(terms, probabilities(scales, values, terms, noise, drawn_odds).tolist(), strict=True))


def _hidden(drawn: Fits, fits: Array, scales: Array) -> dict[Growth, float]:
    """Return how often each class may make up half of the value at the largest scale, beneath noise.

    Under noise a fit prefers the constant, so that it tells nothing of the growth which noise may hide. The share is
    the larger of the two ways to draw.
    """
    is_chosen = growing_share(scales, fits, drawn.terms) >= TELLING_SHARE
    is_chosen[:, drawn.terms.index(ONE)] = drawn.chosen == drawn.terms.index(ONE)
    often = is_chosen.reshape(2, -1, is_chosen.shape[1]).mean(axis=1).max(axis=0)
    return dict(zip(drawn.terms, often.tolist(), strict=True))
