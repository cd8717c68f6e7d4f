"""Rules between functions, such as ``allreduce <= reduce + bcast``: on measurements, on models, on classes of growth.

Source: Shudler and others (2015), Sections 2.1, 2.4 and 3.1; the rules of MPI are Träff's (2012). Main entries:
`parse_rule`, `measured_violation`, `modelled_violation` and `class_violation`.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commmodel.arguments import finite, integer, numbers, share
from commmodel.choices import Statistic
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError
from commmodel.scaling.bootstrap import MOST_DRAWS
from commmodel.scaling.fitting import Model
from commmodel.scaling.growth import Growth
from commmodel.scaling.samples import STATISTIC, check_samples, reduce, resample
from commmodel.signatures import check_fields, checked

_PART = re.compile(r"\s*(?:(?P<factor>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*\*?\s*)?(?P<name>[^\W\d][\w.-]*)\s*")
_DOUBLINGS = 64  # up to which multiple of the largest scale models are compared: 2^64
_BISECTIONS = 60


@with_attributes
@dataclass(frozen=True)
class FunctionRule:
    """`left` ≤ Σ factor · function, over (factor, function) in `right`."""

    left: str
    right: tuple[tuple[float, str], ...]

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def functions(self) -> tuple[str, ...]:
        """All functions in the rule."""
        return (self.left, *(name for _, name in self.right))

    def __str__(self) -> str:
        return f"{self.left} <= " + " + ".join(
            f"{factor:g} {name}" if factor != 1 else name for factor, name in self.right
        )


@with_attributes
@dataclass(frozen=True)
class Violation:
    """A violation of a rule.

    Attributes
    ----------
    rule : FunctionRule
    kind : "measured", "modelled" or "class"
        What breaks it.
    scale : float
        The smallest scale at which it is broken; nan for a class of growth.
    ratio : float
        Left over right: the largest measured one; of models the one at the target; nan for a class.
    """

    rule: FunctionRule
    kind: str
    scale: float
    ratio: float


@checked
def parse_rule(text: str) -> FunctionRule:
    """Return the rule that `text` says.

    Parameters
    ----------
    text : str
        ``function <= function + 2 function``.

    Raises
    ------
    InputError
        Where it is none.

    Examples
    --------
    >>> str(parse_rule("allreduce<=reduce + 2*bcast"))
    'allreduce <= reduce + 2 bcast'
    >>> parse_rule("allreduce < bcast")
    Traceback (most recent call last):
    commmodel.errors.InputError: rule 'allreduce < bcast': write it as allreduce <= reduce + bcast, with <= once
    """
    left, *rest = text.replace("≤", "<=").split("<=")
    if len(rest) != 1:
        raise InputError(f"rule {text!r}: write it as allreduce <= reduce + bcast, with <= once")
    matches = [_PART.fullmatch(part) for part in (left, *rest[0].split("+"))]
    if any(part is None for part in matches):
        raise InputError(f"rule {text!r}: each side is made of names of functions, and + between those of the right")
    parts = [(float(part["factor"] or 1), part["name"]) for part in matches if part]
    if parts[0][0] != 1 or not all(0 < factor < math.inf for factor, _ in parts):
        raise InputError(f"rule {text!r}: the left side has no factor, and none is 0 or beyond a number: divide by it")
    return FunctionRule(parts[0][1], tuple(parts[1:]))


def _needed(rule: FunctionRule, functions: Mapping[str, object], kind: str) -> None:
    missing = [name for name in rule.functions if name not in functions]
    if missing:
        raise InputError(f"rule {str(rule)!r}: no {kind} of {missing[0]}: add it, or leave the rule out")


@checked
def class_violation(rule: FunctionRule, classes: Mapping[str, Growth]) -> Violation | None:
    """Return the violation where the left side grows faster than all of the right; else None.

    Raises
    ------
    InputError
        Where a function has no class.

    Examples
    --------
    >>> linear, more = Growth(power=1), Growth(power=1) ** 1.25
    >>> class_violation(parse_rule("allgather <= gather"), {"allgather": more, "gather": linear}).kind
    'class'
    """
    _needed(rule, classes, "class of growth")
    broken = classes[rule.left] > max(classes[name] for _, name in rule.right)
    return Violation(rule, "class", float("nan"), float("nan")) if broken else None


def modelled_violation(
    rule: FunctionRule, models: Mapping[str, Model], largest: float, target: float
) -> Violation | None:
    """Return the scale between the largest measured one and the target from which the models break a rule.

    Parameters
    ----------
    rule : FunctionRule
    models : dict
        Function -> its model.
    largest, target : float
        Largest measured scale, and the one up to which the rule should hold; at least as large.

    Raises
    ------
    InputError
        Where a function has no model, or the target is below the largest scale.

    Examples
    --------
    >>> models = {"allgather": Model(0.0, 1.0, Growth(power=1)), "gather": Model(100.0, 0.0, Growth())}
    >>> broken = modelled_violation(parse_rule("allgather <= gather"), models, 64, 1000)
    >>> round(broken.scale, 6), broken.ratio
    (100.0, 10.0)
    """
    _needed(rule, models, "model")
    largest, target = finite("largest scale", largest, 1), finite("target", target, 1)
    if not target >= largest:
        raise InputError(f"target {target:g}: below the largest scale, {largest:g}: choose a larger one")

    def excess(scale: float) -> float:
        return float(models[rule.left](scale)) - sum(factor * float(models[name](scale)) for factor, name in rule.right)

    steps = min(_DOUBLINGS, max(1, int(np.ceil(np.log2(target / largest)))))
    scales = np.geomspace(largest, target, steps + 1).tolist()
    broken = next((step for step, scale in enumerate(scales) if excess(scale) > 0), None)
    if broken is None:
        return None
    low, high = scales[max(broken - 1, 0)], scales[broken]
    for _ in range(_BISECTIONS if broken else 0):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(middle) > 0 else (middle, high)
    right = float(models[rule.left](target)) - excess(target)
    return Violation(rule, "modelled", high, float(models[rule.left](target)) / right if right else float("inf"))


def measured_violation(
    rule: FunctionRule,
    scales: ArrayLike,
    samples: Mapping[str, Sequence[ArrayLike]],
    *,
    statistic: Statistic = STATISTIC,
    confidence: float = 0.95,
    draws: int = 1000,
    seed: int = 1,
) -> Violation | None:
    """Return the violation in measurements beyond their scatter; else None.

    Parameters
    ----------
    rule : FunctionRule
    scales : shape (scales,)
        At which every function was measured.
    samples : dict
        Function -> at each scale the repetitions, shape (repetitions,) or (launches, repetitions).
    statistic : str
        One of `commmodel.scaling.samples.STATISTICS`.
    confidence : float
        Of the whole answer: each of the n scales is asked for 1 − (1 − confidence) / n.
    draws, seed : int
        Of the bootstrap.

    Raises
    ------
    InputError
        Where a function was not measured, samples do not belong to the scales, or an option is none.

    Examples
    --------
    >>> samples = {"allgather": [[5.0, 5.1, 5.2]], "gather": [[4.0, 4.1, 4.3]]}
    >>> measured_violation(parse_rule("allgather <= gather"), [8], samples).scale
    8.0
    """
    _needed(rule, samples, "samples")
    x = numbers("scales", scales)
    if not x.size or x.ndim != 1 or not np.isfinite(x).all():
        raise InputError(f"scales {x.tolist()}: give a list of numbers")
    share("confidence", confidence)
    draws = integer("draws", draws, 1, MOST_DRAWS)
    random = np.random.default_rng(integer("seed", seed, 0, 2**64))
    drawn = {
        name: resample(check_samples(x, samples[name]), draws, statistic, random)
        for name in dict.fromkeys(rule.functions)
    }
    values = {name: reduce(samples[name], statistic) for name in drawn}

    def ratio(of: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        right = sum((factor * of[name] for factor, name in rule.right), np.zeros_like(of[rule.left]))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.nan_to_num(of[rule.left] / right, nan=1.0))  # 0 <= 0 holds

    lowest = np.quantile(ratio(drawn), (1 - confidence) / x.size, axis=0, method="lower")
    broken = lowest > 1
    if not broken.any():
        return None
    return Violation(rule, "measured", float(x[broken].min()), float(ratio(values)[broken].max()))
