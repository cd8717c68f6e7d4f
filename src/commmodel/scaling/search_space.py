"""Terms of the model search, and deviation limits of an expectation. Main entry: `search_space`.

Source: Shudler and others (2015), Section 2.3, with the gaps closed that ``docs/theory/scaling.md`` names. Main
entries: `default_deviation`, `deviation_limits`, `default_space` and `judged_space`.
"""

import functools
from fractions import Fraction
from itertools import product

from commmodel.errors import InputError
from commmodel.scaling.growth import ONE, Growth
from commmodel.signatures import checked

__all__ = [
    "case_study_space", "default_deviation", "default_space", "deviation_limits", "drawn_odds", "judged_space",
    "prior_odds", "search_space", "ticks",
]  # fmt: skip

_CLASSES = ("exponential", "power", "log")
"""F₃, F₂, F₁: the fields of `Growth`."""
_TICKS = 8  # between 1 and E², by halving three times
_ZERO, _UNIT = Fraction(0), Fraction(1)
_SQUARE = 2  # of the logarithm
_LEAST_SIMPLE = 4  # finer parts than quarters are as likely as quarters
_EXTRA_P = (
    "1/4 1/3 1/2 2/3 3/4 4/5 1 5/4 4/3 3/2 5/3 7/4 2 9/4 7/3 5/2 8/3 11/4 3",
    "0 1/4 1/3 1/2 2/3 3/4 1 5/4 4/3 3/2 2 5/2 3",
    "0 1/4 1/3 1/2 2/3 3/4 1 3/2 2 5/2",
)
"""Exponents of x beside log^0, log^1 and log^2 x among which Extra-P 4.2.5 searches by default."""


@checked
def _class_of(growth: Growth) -> str:
    """Return the class of the leading factor; the lowest for a constant."""
    return next((name for name in _CLASSES if getattr(growth, name)), "log")


@checked
def default_deviation(expectation: Growth) -> Growth:
    """Return D, the factor by which growth may differ from the expectation.

    It is of the class of the expectation's leading factor, with half the exponent and nothing else; 1 for a constant.

    Notes
    -----
    Shudler 2015, Section 2.3. An expectation that falls, such as 1 / p, has the D of what it falls with.

    Examples
    --------
    >>> from commmodel.scaling.growth import parse_growth
    >>> [default_deviation(parse_growth(text)).text("x") for text in ("x log x", "log x", "x^3 2^x", "1 / x", "1")]
    ['x^0.5', 'log^0.5 x', '2^(x/2)', 'x^0.5', '1']
    """
    leading = _class_of(expectation)
    return Growth(**{leading: abs(getattr(expectation, leading)) / 2})


@checked
def deviation_limits(expectation: Growth, deviation: Growth | None = None) -> tuple[Growth, Growth]:
    """Return (E / D, E · D), both allowed.

    Raises
    ------
    InputError
        For a deviation below 1, and for what is no class of growth.

    Notes
    -----
    Shudler 2015, Section 2.3.

    Examples
    --------
    >>> from commmodel.scaling.growth import parse_growth
    >>> [limit.text("p") for limit in deviation_limits(parse_growth("p"))]
    ['p^0.5', 'p^1.5']
    """
    D = default_deviation(expectation) if deviation is None else deviation
    if D < ONE:
        raise InputError(f"deviation {D.text('x')}: it falls, but must be 1 or grow: write its inverse")
    return expectation / D, expectation * D


@checked
def ticks(expectation: Growth) -> tuple[Growth, ...]:
    """Return the coarse grid: nine powers of the leading class between 1 and E², ascending.

    A constant has those of log x.

    >>> [tick.text("p") for tick in ticks(Growth(power=1))][:4]
    ['1', 'p^0.25', 'p^0.5', 'p^0.75']
    """
    leading = _class_of(expectation)
    exponent = getattr(expectation, leading) or _UNIT
    return tuple(sorted(Growth(**{leading: 2 * exponent * step / _TICKS}) for step in range(_TICKS + 1)))


def _finer(expectation: Growth) -> set[Growth]:
    """Return the factors of the fine grid: the next lower class with exponent 1, and those near the expected one."""
    leading = _class_of(expectation)
    if leading == "log":
        return {ONE}
    lower = _CLASSES[_CLASSES.index(leading) + 1]
    expected = getattr(expectation, lower)
    exponents = {_ZERO, _UNIT}
    if expected not in exponents:
        exponents |= {expected - 1, expected, expected + 1}
    return {Growth(**{lower: exponent}) for exponent in exponents}


@functools.lru_cache(maxsize=64)
@checked
def search_space(expectation: Growth) -> tuple[Growth, ...]:
    """Return the terms of the search, ascending, with a constant and the expectation.

    The ticks, each also times the next lower class, as far as they do not leave 1 … E². Where the expectation has
    another exponent in that class than 0 or 1, that and its neighbours are there too. Constants and powers of log x
    have no lower class, and nothing up to E² to show a linear growth with: they get the terms of `case_study_space`
    beside their ticks.

    Notes
    -----
    Shudler 2015, Section 2.3.

    Examples
    --------
    >>> len(search_space(Growth(power=1)))
    17
    >>> from commmodel.scaling.growth import parse_growth
    >>> [parse_growth(text) in search_space(parse_growth("k^3 2^k")) for text in ("k^2 2^k", "k^4 2^k", "k^7 2^k")]
    [True, True, False]
    """
    if _class_of(expectation) == "log":
        return tuple(sorted({*ticks(expectation), *case_study_space(), expectation}))
    boundary = expectation**2
    low, high = min(ONE, boundary), max(ONE, boundary)
    terms = {tick * finer for tick, finer in product(ticks(expectation), _finer(expectation))}
    return tuple(sorted({*(term for term in terms if low <= term <= high), ONE, expectation}))


def case_study_space() -> tuple[Growth, ...]:
    """Return the terms of the paper's study of MPI: powers by quarters and by thirds up to 2, with log x and without.

    Notes
    -----
    Shudler 2015, Section 3.3.

    Examples
    --------
    >>> len(case_study_space())
    26
    """
    powers = {Fraction(step, parts) for parts in (3, 4) for step in range(2 * parts + 1)}
    return tuple(sorted(Growth(log=log, power=power) for power in powers for log in (_ZERO, _UNIT)))


@functools.lru_cache(maxsize=1)
def default_space() -> tuple[Growth, ...]:
    """Return the terms of the search without an expectation: those of Extra-P and of the paper's study of MPI.

    Powers up to x^3, beside the squares of log x up to x^(5/2) log^2 x.

    Notes
    -----
    Extra-P 4.2.5, ``SingleParameterModeler.create_default_building_blocks``; and `case_study_space`, which adds two.

    Examples
    --------
    >>> from commmodel.scaling.growth import parse_growth
    >>> len(default_space()), [parse_growth(text) in default_space() for text in ("x^3", "x log^2 x", "x^4")]
    (45, [True, True, False])
    """
    published = {
        Growth(Fraction(log), Fraction(power)) for log, powers in enumerate(_EXTRA_P) for power in powers.split()
    }
    return tuple(sorted(published | set(case_study_space())))


@functools.lru_cache(maxsize=64)
@checked
def judged_space(expectation: Growth) -> tuple[Growth, ...]:
    """Return the terms of the search for a verdict.

    `search_space`, and `default_space` beside it: what grows faster than E² should be found as well, and not be taken
    for a constant because nothing near it is among the terms.

    Examples
    --------
    >>> Growth(power=3) in search_space(Growth(power=1)), Growth(power=3) in judged_space(Growth(power=1))
    (False, True)
    """
    return tuple(sorted({*search_space(expectation), *default_space()}))


@checked
def prior_odds(term: Growth) -> float:
    """Return the prior odds of a term against one with integer exponents.

    Algorithms grow like log x, x, x log x and x², rarely like x^(3/4). Each exponent divides the odds by its
    denominator, at most by 4, a logarithm's beyond 1 by itself, and `drawn_odds` count.

    Examples
    --------
    >>> from commmodel.scaling.growth import parse_growth
    >>> [prior_odds(parse_growth(text)) for text in ("x log x", "x^0.5", "x^0.25", "x log^2 x")]
    [1.0, 0.5, 0.25, 0.5]
    """
    likely = 1.0
    for name in _CLASSES:
        likely /= min(getattr(term, name).denominator, _LEAST_SIMPLE)
    return likely * drawn_odds(term) / max(float(term.log), 1.0)


def drawn_odds(term: Growth) -> float:
    """Return the odds of terms for drawing models that the data allow: even, with two exceptions.

    Squares of the logarithm beside a power that is not whole have 1/4: over any range that can be measured, x^(1/3)
    log^2 x looks like x, though it grows less in the end, so that hardly a linear growth would be certain. Powers of
    the logarithm that are not whole have 1/2: they surround log x, and no algorithm grows so.

    >>> from commmodel.scaling.growth import parse_growth
    >>> terms = "x^0.75", "log^2 x", "x log^2 x", "log^0.75 x", "x^(1/3) log^2 x"
    >>> [drawn_odds(parse_growth(text)) for text in terms]
    [1.0, 1.0, 1.0, 0.5, 0.25]
    """
    if term.log.denominator > 1:
        return 1 / 2
    return 1 / _LEAST_SIMPLE if term.log >= _SQUARE and term.power.denominator > 1 else 1.0
