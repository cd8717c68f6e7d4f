"""Verdict on growth against an expectation: divergence δ and its class. Main entry: `judge`.

Source: Shudler and others (2015), Section 2.4. Beyond it, a verdict is that of all models which the data cannot tell
apart (`commmodel.scaling.bootstrap`); where these disagree, it is `uncertain` and says what to measure next. What
rises, or falls, and no class fits is a mismatch, whatever was expected.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from commmodel.arguments import Count, Whole, numbers
from commmodel.choices import Statistic
from commmodel.frames import Tabular, draw
from commmodel.scaling.bootstrap import OFTEN_ENOUGH, Ensemble, ensemble
from commmodel.scaling.fitting import FEWEST_SCALES, fit_term, misfit
from commmodel.scaling.growth import ONE, Growth
from commmodel.scaling.samples import STATISTIC
from commmodel.scaling.search_space import default_deviation, deviation_limits, judged_space
from commmodel.signatures import checked
from commmodel.values import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Verdict = Literal["match", "approximate", "mismatch", "uncertain"]
"""Whether a model grows as expected."""
LEAST_ADJUSTED_R2 = 0.5
"""A model that grows must explain this share of the variation."""
ENOUGH_SCALES = 5
"""Shudler 2015, Section 2.3: as many as the search needs by the authors' experience."""
_CLEAR = 3.0  # standard deviations between two models from which on a measurement tells them apart
_NEAR = 0.05  # of a value: so far beside it a class may be that three scales do not tell from others
_STEPS = 3  # scales beyond the largest that are worth proposing
_MOST_REPETITIONS = 100  # times as many as there were


@dataclass(frozen=True)
class Judgement(Tabular, Value):
    """The expectation, the model, and the verdict.

    Attributes
    ----------
    expectation, deviation : Growth
        E and D.
    verdict : "match", "approximate", "mismatch" or "uncertain"
        A match where classes outside the limits have less than 5 % of the probability and the expected one is not far
        less probable than others; approximate where it is; a mismatch where those within have less than 5 %, and where
        values rise or fall as no class does (`Ensemble.fits`).
    divergence : Growth
        δ = G / E of the best model.
    ensemble : Ensemble
        The best model G and those that the data cannot tell from it.
    advice : str
        What to measure next where the verdict is uncertain, or what to look at where no class fits; otherwise nothing.
    beyond : float
        How probable classes outside the limits are together.
    """

    expectation: Growth
    deviation: Growth
    verdict: Verdict
    divergence: Growth
    ensemble: Ensemble
    advice: str
    beyond: float

    def to_dict(self) -> dict[str, list[float]]:
        """Return a row for each scale: ``scale``, ``value``, the best ``model`` there, and its interval."""
        scales, best = self.ensemble.scales, self.ensemble.best(self.ensemble.scales)
        low, high = zip(*(self.ensemble.interval(scale) for scale in scales.tolist()), strict=True)
        return {
            "scale": scales.tolist(), "value": self.ensemble.values.tolist(), "model": best.tolist(),
            "low": [*low], "high": [*high],
        }  # fmt: skip

    def plot(self, axes: "Axes | None" = None, *, over: str = "p", metric: str = "time", unit: str = "s") -> "Axes":
        """Draw what was measured, the best model with its interval, and the best of the expected class.

        Parameters
        ----------
        axes : matplotlib axes, optional
            By default those of a new figure.
        over, metric, unit : str
            Labels of the axes, and the unit of the values: ``s``, ``B``, or ``1``.

        Raises
        ------
        MissingPackageError
            Without matplotlib.
        """
        rows, scales = self.to_dict(), self.ensemble.scales
        expected = fit_term(scales, self.ensemble.values, self.expectation)
        curves = {
            "measured": rows["value"],
            f"best model: {self.ensemble.best.growth.text(over)}": (rows["model"], rows["low"], rows["high"]),
            f"expected: {self.expectation.text(over)}": expected(scales),
        }
        return draw(axes, rows["scale"], curves, (over, ""), (metric, "" if unit == "1" else unit))


@checked
def divergence(model: Growth, expectation: Growth) -> Growth:
    """Return δ = G / E (Shudler 2015, Section 2.4).

    >>> divergence(Growth(power=1), Growth(power=1, log=1)).text("p")
    '1 / log p'
    """
    return model / expectation


@checked
def rank(model: Growth, expectation: Growth, deviation: Growth | None = None) -> Verdict:
    """Return the order of a class of growth relative to the expected one; D by default as `default_deviation`.

    Raises
    ------
    InputError
        For a deviation below 1.

    Notes
    -----
    Shudler 2015, Section 2.4; models at the limits are within them.

    Examples
    --------
    >>> half = Growth(power=1) ** 0.5
    >>> rank(Growth(log=1) * half, Growth(log=1), half), rank(Growth(power=1), Growth(log=1), half)
    ('approximate', 'mismatch')
    """
    low, high = deviation_limits(expectation, deviation)
    if model == expectation:
        return "match"
    return "approximate" if low <= model <= high else "mismatch"


def published_verdict(
    model: Growth, adjusted_r2: float, expectation: Growth, deviation: Growth | None = None
) -> Verdict:
    """Return the verdict on a model without its data: `rank`, but uncertain for a poor fit.

    Parameters
    ----------
    model, expectation, deviation : Growth
        G, E and D.
    adjusted_r2 : float
        nan where there is none, as for a constant.

    Raises
    ------
    InputError
        For a deviation below 1.

    Examples
    --------
    >>> logarithm = Growth(log=1)
    >>> published_verdict(logarithm, 0.23, logarithm), published_verdict(logarithm, 0.99, logarithm)
    ('uncertain', 'match')
    """
    verdict = rank(model, expectation, deviation)
    return "uncertain" if numbers("adjusted_r2", adjusted_r2).min(initial=math.inf) < LEAST_ADJUSTED_R2 else verdict


@checked
def judge(
    scales: ArrayLike,
    samples: Sequence[ArrayLike],
    expectation: Growth,
    deviation: Growth | None = None,
    *,
    over: str = "p",
    statistic: Statistic = STATISTIC,
    draws: Count = 200,
    seed: Whole = 1,
) -> Judgement:
    """Return the verdict on whether measurements grow as expected.

    Parameters
    ----------
    scales : shape (scales,)
        Values of the parameter, at least three, each ≥ 1.
    samples : sequence of arrays
        At each scale the repetitions, shape (repetitions,), or (launches, repetitions).
    expectation : Growth
        E.
    deviation : Growth, optional
        D, by default `default_deviation`.
    over : str
        What the advice calls the parameter.
    statistic, draws, seed
        As of `commmodel.scaling.bootstrap.ensemble`.

    Raises
    ------
    InputError
        For scales that show no growth, samples that do not belong to them, or a deviation below 1.

    Notes
    -----
    Shudler 2015, Sections 2.3 and 2.4.

    Examples
    --------
    >>> p = [2, 4, 8, 16, 32, 64]
    >>> found = judge(p, [[n, 1.01 * n, 1.02 * n] for n in p], Growth(log=1), Growth(power=1) ** 0.5)
    >>> found.verdict, found.divergence.text("p")
    ('mismatch', 'p / log p')
    """
    deviation_limits(expectation, deviation)  # refuses what is no deviation
    models = ensemble(scales, samples, judged_space(expectation), statistic=statistic, draws=draws, seed=seed)
    return judge_models(models, expectation, deviation, over)


def judge_models(models: Ensemble, expectation: Growth, deviation: Growth | None, over: str) -> Judgement:
    """Return the verdict on models among the terms of `judged_space`; as `judge`."""
    D = default_deviation(expectation) if deviation is None else deviation
    is_outside = {growth: rank(growth, expectation, D) == "mismatch" for growth in models.probabilities}
    beyond, best_is_outside = models.chance(is_outside.__getitem__), is_outside[models.best.growth]
    inside, outside = 1 - beyond >= OFTEN_ENOUGH or not best_is_outside, beyond >= OFTEN_ENOUGH or best_is_outside
    verdict: Verdict = "mismatch" if not inside else "match" if models.likely(expectation) else "approximate"
    advice = ""
    if not models.fits:
        verdict, advice = _without_class(models, over)
        beyond = float(verdict == "mismatch")
    elif inside and outside:
        near, far = (next(growth for growth in is_outside if is_outside[growth] == out) for out in (False, True))
        verdict, advice = "uncertain", _advice(models, near, far, over)
    elif outside and _too_few(models, expectation):
        verdict = "uncertain"
        advice = f"{FEWEST_SCALES} scales hardly show a growth: measure at {ENOUGH_SCALES} or more"
    elif models.best.adjusted_r2 < LEAST_ADJUSTED_R2:
        verdict = "uncertain"
        advice = f"the model explains {max(models.best.adjusted_r2, 0):.0%} of the variation: repeat more often"
    return Judgement(expectation, D, verdict, divergence(models.best.growth, expectation), models, advice, beyond)


def _without_class(ensemble: Ensemble, over: str) -> tuple[Verdict, str]:
    """Return the verdict where no class fits; with few scales or jumps, disturbances may be the reason."""
    far = f"no class fits: values are beside the best by {ensemble.misfit:.2g} times what is tolerated"
    if len(ensemble.scales) < ENOUGH_SCALES:
        return "uncertain", f"no class fits {len(ensemble.scales)} scales: measure at {ENOUGH_SCALES} or more"
    if not ensemble.goes_one_way:
        return "uncertain", f"{far}, and go up and down: measure again, and powers of two apart from other numbers"
    low, high = ensemble.values.min(), ensemble.values.max()
    if ensemble.best.growth == ONE and ensemble.values[np.argmax(ensemble.scales)] == low:
        return "mismatch", f"no class fits: it falls to 1/{high / low:.3g}: expect such as 1 / {over}"
    return "mismatch", f"{far}: judge apart what lies on either side of a change of algorithm or of hosts"


def _too_few(ensemble: Ensemble, expectation: Growth) -> bool:
    """Whether there are too few scales for a mismatch, unless all values are equal.

    A growth says enough where the expected class is plainly beside the values: some class is near any three of them.
    """
    if len(ensemble.scales) > FEWEST_SCALES or not np.ptp(ensemble.values):
        return False
    near = np.full(FEWEST_SCALES, _NEAR)
    return ensemble.best.growth == ONE or misfit(ensemble.scales, ensemble.values, [expectation], near) < 1


def _next_scales(scales: np.ndarray) -> list[float]:
    """Return further scales, spaced as the last two: by their step if all steps are equal."""
    ordered = np.sort(scales)
    steps = np.diff(ordered)
    last = float(ordered[-1])
    if np.allclose(steps, steps[0]):
        return [last + step * float(steps[0]) for step in range(1, _STEPS + 1)]
    ratio = max(2.0, float(ordered[-1] / ordered[-2]))
    return [float(round(last * ratio**step)) for step in range(1, _STEPS + 1)]


def _advice(ensemble: Ensemble, inside: Growth, outside: Growth, over: str) -> str:
    """Return the scales at which the two classes differ, or the number of repetitions that would show it."""
    names = f"{inside.text(over)} and {outside.text(over)}"
    if len(ensemble.scales) < ENOUGH_SCALES:
        return f"{names} both fit {len(ensemble.scales)} scales: measure at {ENOUGH_SCALES} or more"
    models = [fit_term(ensemble.scales, ensemble.values, growth) for growth in (inside, outside)]
    gap = 0.0
    beyond = _next_scales(ensemble.scales)
    for scale in beyond:
        low, high = sorted(float(model(scale)) for model in models)
        gap = (high - low) / max(abs(low), 1e-300)
        if gap > _CLEAR * ensemble.noise:
            return f"{names} both fit: measure also at {over} = {scale:g}, where they differ by {gap:.0%}"
    factor = (_CLEAR * ensemble.noise / gap) ** 2 if gap else math.inf
    if factor > _MOST_REPETITIONS:
        return (
            f"{names} both fit: values scatter by {ensemble.noise:.0%}: find what disturbs them, or measure far beyond"
        )
    times = math.ceil(factor)
    return f"{names} both fit: measure also at {over} = {beyond[-1]:g}, with {times} times the repetitions everywhere"
