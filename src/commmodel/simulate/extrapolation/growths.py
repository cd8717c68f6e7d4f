"""Sizes and times as functions of P: terms of P and of the sides of grids. Main entries: `size_law`, `time_factor`."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from commmodel.scaling.growth import Growth

_POWERS = [Fraction(text) for text in ("0", "-1", "1", "-2", "2", "-1/2", "1/2", "-1/3", "1/3", "-2/3", "2/3")]
_TERMS = [
    *(Growth(power=power) for power in _POWERS),
    *(Growth(power=power, log=log) for power in (Fraction(0), Fraction(-1)) for log in (Fraction(1), Fraction(-1))),
]
"""Terms of P, those that are most usual first."""
_EXACT = 1e-9
_WHOLE = 1e-6
_TIME_POWERS = [Fraction(text) for text in ("-1", "-2/3", "-1/2", "-1/3", "0", "1/3", "1/2", "1")]

Sides = tuple[int, ...]
"""P, and the sides of all grids."""


@dataclass(frozen=True)
class SizeLaw:
    """A function of P and the sides of grids, and what it is, for people."""

    words: str
    value: Callable[[Sides], float]


def _terms(sides: int) -> list[SizeLaw]:
    def of_place(term: Growth, place: int) -> Callable[[Sides], float]:
        return lambda at: _value(term, at[place])

    def product(powers: dict[int, int]) -> Callable[[Sides], float]:
        return lambda at: math.prod(float(at[place]) ** power for place, power in powers.items())

    listed = []
    for place in range(sides):
        name = "P" if place == 0 else f"side {place}"
        terms = _TERMS if place == 0 else [Growth(power=Fraction(power)) for power in (-1, 1, -2)]
        listed += [SizeLaw(term.text(name), of_place(term, place)) for term in terms]
    for place in range(1, sides):
        listed += [
            SizeLaw(f"1 / (P side {place})", product({0: -1, place: -1})),
            SizeLaw(f"side {place} / P", product({0: -1, place: 1})),
            SizeLaw(f"P side {place}", product({0: 1, place: 1})),
        ]
        listed += [
            SizeLaw(f"1 / (side {place} side {second})", product({place: -1, second: -1}))
            for second in range(place + 1, sides)
        ]
    return listed


def _value(term: Growth, at: int) -> float:
    power: float = float(at) ** float(term.power)
    return power * float(math.log2(at) ** float(term.log)) if term.log else power


def size_laws(samples: Sequence[tuple[Sides, int]]) -> list[SizeLaw]:
    """Return the laws that give all sizes exactly: a constant, else a term times a constant, else with a constant more.

    With two numbers of processes, one constant is determined and checked; a second one needs three.

    >>> [law.words for law in size_laws([((4,), 400), ((16,), 100)])]
    ['1600 / P']
    >>> [law.words for law in size_laws([((4,), 400), ((16,), 400)])]
    ['400']
    """
    first, value = samples[0]
    if all(size == value for _, size in samples):
        return [SizeLaw(f"{value}", lambda _: float(value))]
    laws = []
    for term in _terms(len(first)):
        scale = value / term.value(first)
        law = SizeLaw(f"{scale:g} × {term.words}".replace("× 1 /", "/"), _scaled(term, scale))
        if _fits(law, samples):
            laws.append(law)
    if laws or len(samples) < 3:
        return laws
    last, final = samples[-1]
    for term in _terms(len(first)):
        if run := term.value(last) - term.value(first):
            scale = (final - value) / run
            rest = value - scale * term.value(first)
            law = SizeLaw(f"{rest:g} + {scale:g} × {term.words}", _scaled(term, scale, rest))
            if _fits(law, samples):
                laws.append(law)
    return laws


def _scaled(term: SizeLaw, scale: float, rest: float = 0.0) -> Callable[[Sides], float]:
    return lambda sides: rest + scale * term.value(sides)


def _fits(law: SizeLaw, samples: Sequence[tuple[Sides, int]]) -> bool:
    return all(math.isclose(law.value(sides), size, rel_tol=_EXACT, abs_tol=_WHOLE) for sides, size in samples)


def whole(value: float) -> int | None:
    """Return a whole number; None where it is none, or below 0."""
    nearest = round(value)
    return nearest if abs(value - nearest) <= _WHOLE * max(1.0, abs(value)) and nearest >= 0 else None


def time_factor(samples: Sequence[tuple[int, float]], processes: int) -> float:
    """Return by how much the computation of a rank differs from that on the most processes that there are.

    The power of P that is nearest to all samples, (P, seconds), of the usual ones.

    >>> time_factor([(4, 4.1), (16, 1.0)], 64)
    0.25
    """
    most = samples[-1][0]
    if len(samples) == 1 or not all(time > 0 for _, time in samples):
        return 1.0

    def error(power: Fraction) -> float:
        logs = [math.log(time) - float(power) * math.log(count) for count, time in samples]
        mean = sum(logs) / len(logs)
        return sum((value - mean) ** 2 for value in logs)

    power = min(_TIME_POWERS, key=error)
    return float((processes / most) ** float(power))
