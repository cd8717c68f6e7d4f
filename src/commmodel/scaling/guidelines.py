"""Rules between functions, checked on series of measurements. Main entry: `broken_guidelines`.

Source: Shudler and others (2015), Sections 2.4 and 4.2; Träff (2012). A rule is broken where launches break it by more
than they scatter, and at a target scale where models of (nearly) all data drawn do. Launches differ by more than their
repetitions show, so what times of one or two launches break is seen, but not called broken.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commmodel.arrays import Array
from commmodel.choices import Statistic
from commmodel.docstrings import with_attributes
from commmodel.scaling.bootstrap import Ensemble
from commmodel.scaling.expectations import Guideline
from commmodel.scaling.fitting import FEWEST_SCALES
from commmodel.scaling.permutation import FEWEST_PLAIN, PLAIN, fewest_launches
from commmodel.scaling.rules import FunctionRule, class_violation, measured_violation, modelled_violation
from commmodel.scaling.samples import reduce
from commmodel.scaling.series import Fixed, Series
from commmodel.scaling.settings import CheckSettings
from commmodel.units import listed

_DRAWS = 1000
_MOST_NAMES = 8
"""Of functions that were not measured, in a note."""


@with_attributes
@dataclass(frozen=True)
class BrokenRule:
    """A broken rule, and where.

    Attributes
    ----------
    rule : FunctionRule
    metric, over : str
    fixed : tuple of (str, float or str)
        The left side's other parameters.
    kind : "measured", "modelled" or "class"
        What breaks it: measurements; models at a target scale; classes of growth, at some scale that is not known.
    scale : float
        The smallest at which it is broken; nan for a class.
    ratio : float
        Left over right: the largest measured one; of models the one at the target; nan for a class.
    certain : bool
        False for what may be so, or what happens at an unknown scale: it is worth a look, and no failure.
    launches : int
        That measured each of its functions.
    name : str
        What others call the rule; empty where it has no name.
    """

    rule: FunctionRule
    metric: str
    over: str
    fixed: Fixed
    kind: str
    scale: float
    ratio: float
    certain: bool
    launches: int = 1
    name: str = ""


@dataclass(frozen=True)
class _Group:
    """The series of one test, reduced to the scales that all have."""

    guideline: Guideline
    fixed: Fixed
    series: dict[str, Series]
    scales: tuple[float, ...]

    @property
    def samples(self) -> dict[str, list[Array]]:
        return {
            name: [series.samples[series.scales.index(scale)] for scale in self.scales]
            for name, series in self.series.items()
        }

    @property
    def is_timed(self) -> bool:
        """Whether launches differ: counts and bytes are the same each time."""
        return next(iter(self.series.values())).unit == "s"

    @property
    def launches(self) -> int:
        """How many measured each of its functions."""
        return min(len(launches) for samples in self.samples.values() for launches in samples)


def _agrees(fixed: Fixed, other: Iterable[tuple[str, float | str]]) -> bool:
    """Whether parameters that both have are equal.

    >>> _agrees((("n", 8.0), ("start", "barrier")), [("n", 8.0)]), _agrees((("n", 8.0),), [("n", 16.0)])
    (True, False)
    """
    values = dict(fixed)
    return all(values.get(name, value) == value for name, value in other)


def _partner(left: Series, candidates: Sequence[Series]) -> Series | None:
    """Return the series with the same parameters as the left side."""
    equal = [candidate for candidate in candidates if candidate.fixed == left.fixed]
    alike = equal or [candidate for candidate in candidates if _agrees(left.fixed, candidate.fixed)]
    return alike[0] if len(alike) == 1 else None


def _sized(left: Series, candidates: Sequence[Series], guideline: Guideline, name: str) -> Series | None:
    """Return a series with the smallest sufficient message size of a rule at each scale.

    A larger message only makes the right side larger, so that what is broken all the same is broken.
    """
    product = dict(dict(guideline.sizes)[name])
    parameters = dict(left.fixed)
    size = parameters.pop("n", None)
    if not isinstance(size, float):
        return None
    of_size = {
        number: candidate
        for candidate in candidates
        if isinstance(number := dict(candidate.fixed).get("n"), float)
        and _agrees(tuple(parameters.items()), ((key, value) for key, value in candidate.fixed if key != "n"))
    }
    scales, samples = [], []
    for scale in left.scales:
        values = {"n": size, guideline.over: scale}
        least = math.prod(float(growth(values[parameter])) for parameter, growth in product.items())
        partner = next((of_size[n] for n in sorted(of_size) if n >= least and scale in of_size[n].scales), None)
        if partner is not None:
            scales.append(scale)
            samples.append(partner.samples[partner.scales.index(scale)])
    return Series(name, left.metric, left.unit, left.over, left.fixed, tuple(scales), tuple(samples))


def _groups(guideline: Guideline, series: Sequence[Series]) -> Iterator[tuple[Series, _Group | None]]:
    """Yield each series of the left side, with the series of the right side."""
    of = [member for member in series if member.metric == guideline.metric and member.over == guideline.over]
    sized = dict(guideline.sizes)
    for left in of:
        if left.name != guideline.rule.left or not all(item in left.fixed for item in guideline.where):
            continue
        partners: dict[str, Series | None] = {left.name: left}
        for _, name in guideline.rule.right:
            candidates = [member for member in of if member.name == name]
            partners[name] = _sized(left, candidates, guideline, name) if name in sized else _partner(left, candidates)
        complete = {name: partner for name, partner in partners.items() if partner is not None}
        scales = [scale for scale in left.scales if all(scale in partner.scales for partner in complete.values())]
        testable = len(complete) == len(partners) and bool(scales)
        yield left, _Group(guideline, left.fixed, complete, tuple(scales)) if testable else None


def _raised(rule: FunctionRule, least: float) -> FunctionRule:
    return FunctionRule(rule.left, tuple((factor * (1 + least), name) for factor, name in rule.right))


def _measured(group: _Group, settings: CheckSettings, comparisons: int, farthest: float) -> BrokenRule | None:
    """Return where measurements break a rule beyond their scatter, corrected for `comparisons` tests.

    `farthest` is the largest distance of a launch from its median, as a logarithm, in all groups.
    """
    rule, samples = group.guideline.rule, group.samples
    values = {name: reduce(values_, settings.statistic) for name, values_ in samples.items()}
    right = sum((factor * values[name] for factor, name in rule.right), np.zeros(len(group.scales)))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nan_to_num(values[rule.left] / right, nan=1.0)  # 0 <= 0 holds
    broken = ratio > 1 + settings.least
    if not broken.any():  # most rules hold, and a bootstrap takes time
        return None
    chance = (1 - settings.confidence) / comparisons
    if group.launches >= (fewest_launches(settings.confidence) if group.is_timed else 2):
        return _broken_at(group, ratio, broken & _launches_say(rule, samples, settings, chance), certain=True)
    if group.launches >= FEWEST_PLAIN:
        plain = ratio > (1 + settings.least) * math.exp(min(PLAIN * farthest, 700.0))
        if (broken & plain).any():
            return _broken_at(group, ratio, broken & plain, certain=True)
    drawn = measured_violation(
        _raised(rule, settings.least),
        group.scales,
        samples,
        statistic=settings.statistic,
        confidence=1 - chance * len(group.scales),
        draws=_DRAWS,
        seed=settings.seed,
    )
    from_scale = math.inf if drawn is None else drawn.scale
    return _broken_at(group, ratio, broken & (np.array(group.scales) >= from_scale), certain=not group.is_timed)


def _broken_at(group: _Group, ratio: Array, broken: NDArray[np.bool_], *, certain: bool) -> BrokenRule | None:
    """Return what is broken at the marked scales, nothing where there are none."""
    if not broken.any():
        return None
    scale = float(np.array(group.scales)[broken].min())
    return _broken(group, "measured", scale, float(ratio[broken].max()), certain=certain)


def _farthest(groups: Sequence[_Group], statistic: Statistic) -> float:
    """Return the largest distance of a launch's time from the median of its launches, as a logarithm."""
    farthest = 0.0
    for series in (series for group in groups if group.is_timed for series in group.samples.values()):
        for launches in series:
            values = reduce(list(launches), statistic)
            if values.min() > 0:
                farthest = max(farthest, float(np.abs(np.log(values / np.median(values))).max()))
    return farthest


def _launches_say(
    rule: FunctionRule, samples: dict[str, list[Array]], settings: CheckSettings, chance: float
) -> NDArray[np.bool_]:
    """Whether the launches' values put the left side above the right, at each scale (Welch's test).

    A bootstrap over the few launches that there are would promise too much.
    """
    from scipy.special import stdtrit

    difference, variance, weights = (np.zeros(len(samples[rule.left])) for _ in range(3))
    for factor, name in ((1.0, rule.left), *((-factor * (1 + settings.least), name) for factor, name in rule.right)):
        for scale, launches in enumerate(samples[name]):
            values = reduce(list(launches), settings.statistic)
            part = factor**2 * float(values.var(ddof=1)) / len(values)
            difference[scale] += factor * float(values.mean())
            variance[scale] += part
            weights[scale] += part**2 / (len(values) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.where(weights > 0, variance**2 / weights, np.inf)
        needed = np.where(variance > 0, -stdtrit(np.minimum(freedom, 1e6), chance) * np.sqrt(variance), 0.0)
    return np.asarray(difference > needed)


def _broken(group: _Group, kind: str, scale: float, ratio: float, *, certain: bool) -> BrokenRule:
    guideline = group.guideline
    return BrokenRule(
        guideline.rule,
        guideline.metric,
        guideline.over,
        group.fixed,
        kind,
        scale,
        ratio,
        certain,
        group.launches,
        guideline.name,
    )


def _at_target(
    group: _Group, ensembles: dict[str, Ensemble], target: float, settings: CheckSettings
) -> BrokenRule | None:
    rule = _raised(group.guideline.rule, settings.least)
    models = {name: ensemble.best for name, ensemble in ensembles.items()}
    broken = modelled_violation(rule, models, max(group.scales), target)
    if broken is None:
        return None
    random = np.random.default_rng(settings.seed)
    # Every function was drawn with the same seed: without shuffling, their errors would go together.
    drawn = {name: random.permutation(ensemble.drawn.values(target)) for name, ensemble in ensembles.items()}
    right = sum((factor * drawn[name] for factor, name in rule.right), np.zeros(len(drawn[rule.left])))
    certain = bool((drawn[rule.left] > right).mean() >= settings.confidence)
    return _broken(group, "modelled", broken.scale, broken.ratio * (1 + settings.least), certain=certain)


def _in_the_end(group: _Group, ensembles: dict[str, Ensemble]) -> BrokenRule | None:
    """Return a class of the left side that grows faster than every model of the right side."""
    rule = group.guideline.rule
    classes = {name: max(ensemble.shares) for name, ensemble in ensembles.items()} | {
        rule.left: min(ensembles[rule.left].shares)
    }
    if rule.left in rule.functions[1:] or class_violation(rule, classes) is None:
        return None
    return _broken(group, "class", math.nan, math.nan, certain=False)


def _modelled(
    group: _Group, modelled: Callable[[Series], Ensemble], at: float | None, settings: CheckSettings
) -> BrokenRule | None:
    if any(len(series.scales) < FEWEST_SCALES for series in group.series.values()):
        return None
    ensembles = {name: modelled(series) for name, series in group.series.items()}
    if at is not None and at > max(group.scales):
        broken = _at_target(group, ensembles, at, settings)
        if broken is not None:
            return broken
    return _in_the_end(group, ensembles)


def broken_guidelines(
    guidelines: Iterable[Guideline],
    series: Sequence[Series],
    modelled: Callable[[Series], Ensemble],
    at: float | None = None,
    settings: CheckSettings | None = None,
) -> tuple[list[BrokenRule], list[str], int]:
    """Return the rules that do not hold, lines on those that could not be tested, and how many series were.

    Parameters
    ----------
    guidelines : iterable of Guideline
    series : sequence of Series
        All that was measured.
    modelled : function
        From a series of three scales or more to its models.
    at : float, optional
        Scale up to which models are held against the rules; without it only measurements and classes of growth are.
    settings : CheckSettings, optional
        Confidence is of the answer to all rules together: each is asked for more.

    Notes
    -----
    A class of growth that breaks a rule says neither where nor whether ever within reach, and is never certain here.
    """
    chosen = settings or CheckSettings()
    groups, notes = [], []
    missing: dict[str, list[str]] = {}
    for guideline in guidelines:
        tested = list(_groups(guideline, series))
        groups += [group for _, group in tested if group is not None]
        untested = sum(group is None for _, group in tested)
        if absent := _absent(guideline, series):
            missing[str(guideline.rule)] = absent
        elif not tested or untested:
            notes.append(_untested(guideline, untested, len(tested)))
    if missing:
        notes.append(_unmeasured(missing))
    comparisons = sum(len(group.scales) for group in groups)
    farthest = _farthest(groups, chosen.statistic)
    broken = []
    for group in groups:
        violation = _measured(group, chosen, comparisons, farthest) or _modelled(group, modelled, at, chosen)
        broken += [violation] if violation is not None else []
    return broken, notes, len(groups)


def _absent(guideline: Guideline, series: Sequence[Series]) -> list[str]:
    """Return the functions of a rule that were not measured."""
    names = {member.name for member in series if member.metric == guideline.metric and member.over == guideline.over}
    return [name for name in guideline.rule.functions if name not in names]


def _unmeasured(missing: Mapping[str, Sequence[str]]) -> str:
    """Return the note on rules for which functions were not measured, given by rule."""
    names = [*dict.fromkeys(name for absent in missing.values() for name in absent)]
    rules = f"rule {next(iter(missing))}" if len(missing) == 1 else f"{len(missing)} rules"
    return (
        f"{rules}: not tested, since {listed(names, _MOST_NAMES)} {'was' if len(names) == 1 else 'were'} not measured"
    )


def _untested(guideline: Guideline, untested: int, among: int) -> str:
    head = f"rule {guideline.rule}"
    if not among:
        return f"{head}: not tested, since nothing was measured where it is meant for"
    part = "not tested" if untested == among else f"tested for {among - untested} of {among} series only"
    if guideline.sizes:
        missing_names = " and ".join(
            f"{name} of {' '.join(growth.text(over) for over, growth in product)} bytes"
            for name, product in guideline.sizes
        )
        return f"{head}: {part}, for want of {missing_names}: measure larger messages"
    return f"{head}: {part}: measure its functions with the same sizes and numbers of processes"
