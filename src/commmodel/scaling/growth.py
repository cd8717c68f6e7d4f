"""Classes of growth: products of powers of log₂ x, x and 2^x, read and printed as people write them.

Source: Shudler and others, "Exascaling Your Library" (2015), Section 2.3: classes F₁, F₂ and F₃. Main entries: `Growth`
and `parse_growth`.
"""

import functools
import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commmodel.arguments import numbers, refuse
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError
from commmodel.signatures import checked

_LONGEST = 200
_LARGEST_EXPONENT = 1000
_LOGARITHMS = {"log", "log2", "lg", "ln", "log10"}  # their bases differ by a constant factor
_WRITTEN = {"**": "^", "·": "*", "×": "*", "−": "-", "√": " sqrt ", "₂": "2", "²": "^2", "³": "^3", "Θ": "O"}
_TOKEN = re.compile(r"\s*(?:(?P<number>[0-9]+\.?[0-9]*|\.[0-9]+)|(?P<name>[^\W\d]\w*)|(?P<sign>[-+*/^()]))")


def _exact(exponent: Fraction | float, name: str = "exponent") -> Fraction:
    try:
        return Fraction(exponent)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise refuse(name, exponent, "give a number") from None


@with_attributes
@functools.total_ordering
@dataclass(frozen=True)
class Growth:
    """log₂^`log` x · x^`power` · 2^(`exponential` x); ordered by asymptotic growth.

    Attributes
    ----------
    log, power, exponential : Fraction
        Exponents, of any sign; integers will do.

    Examples
    --------
    >>> linear, logarithmic = Growth(power=1), Growth(log=1)
    >>> logarithmic < linear, (linear * logarithmic).text("p"), (logarithmic / linear).text("p")
    (True, 'p log p', 'log p / p')
    >>> float(linear(1024.0)), Growth() == logarithmic**0
    (1024.0, True)
    """

    log: Fraction = Fraction(0)
    power: Fraction = Fraction(0)
    exponential: Fraction = Fraction(0)
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        for name in ("log", "power", "exponential"):
            object.__setattr__(self, name, _exact(getattr(self, name), name))
        # Hashing fractions is slow, and spaces of many terms are looked up again and again.
        object.__setattr__(self, "_hash", hash(self._order()))

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: "Growth") -> bool:
        return self._order() < other._order()

    def __mul__(self, other: "Growth") -> "Growth":
        return Growth(self.log + other.log, self.power + other.power, self.exponential + other.exponential)

    def __truediv__(self, other: "Growth") -> "Growth":
        return self * other**-1

    def __pow__(self, exponent: Fraction | float) -> "Growth":
        exponent = _exact(exponent)
        return Growth(self.log * exponent, self.power * exponent, self.exponential * exponent)

    def _order(self) -> tuple[Fraction, Fraction, Fraction]:
        return self.exponential, self.power, self.log

    def __call__(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the values at `x` ≥ 1, of its shape; infinite where they are too large for a number.

        Raises
        ------
        InputError
            Where one of `x` is no number, or below 0.
        """
        at = numbers("x", x)
        if not (at >= 0).all():
            raise InputError(f"x = {at.min():g}: a class of growth is of numbers of at least 1")
        value = np.ones_like(at)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            if self.exponential:
                value = value * np.exp2(at * float(self.exponential))
            if self.power:
                value = value * at ** float(self.power)
            if self.log:
                value = value * np.log2(at) ** float(self.log)
        return np.asarray(value)

    @checked
    def text(self, over: str) -> str:
        """Return the usual notation, as `parse_growth` reads it.

        >>> [parse_growth(text).text("k") for text in ("O(sqrt(k))", "k^3 2^k", "k^(1/3)/log^2(k)", "1", "2^(-k/2)")]
        ['k^0.5', 'k^3 2^k', 'k^(1/3) / log^2 k', '1', '1 / 2^(k/2)']
        """
        above, below = (
            [
                *([over + _superscript(sign * self.power)] if sign * self.power > 0 else []),
                *([f"log{_superscript(sign * self.log)} {over}"] if sign * self.log > 0 else []),
                *([_exponential(sign * self.exponential, over)] if sign * self.exponential > 0 else []),
            ]
            for sign in (1, -1)
        )
        numerator, denominator = " ".join(above) or "1", " ".join(below)
        if not below:
            return numerator
        return f"{numerator} / ({denominator})" if len(below) > 1 else f"{numerator} / {denominator}"


ONE = Growth()
"""The class of constants."""


def _plain(number: Fraction) -> str:
    short = str(float(number))
    return short if number.denominator > 1 and len(short) <= 6 and Fraction(short) == number else str(number)


def _superscript(exponent: Fraction) -> str:
    if exponent == 1:
        return ""
    plain = _plain(exponent)
    return f"^({plain})" if "/" in plain else f"^{plain}"


def _exponential(rate: Fraction, over: str) -> str:
    if rate == 1:
        return f"2^{over}"
    factor = f"{rate.numerator} " if rate.numerator != 1 else ""
    divisor = f"/{rate.denominator}" if rate.denominator != 1 else ""
    return f"2^({factor}{over}{divisor})"


Product = dict[str, Growth]
"""Parameter -> its class."""


def _times(left: Product, right: Product, sign: int = 1) -> Product:
    names = [*left, *(name for name in right if name not in left)]
    return {name: left.get(name, ONE) * right.get(name, ONE) ** sign for name in names}


class _GrowthParser:
    """Reads one class: a descent over the tokens of `text`, one method for each rule of the notation."""

    def __init__(self, text: str) -> None:
        self.text = text
        if not isinstance(text, str):
            self.fail("it must be text, such as 'p log p'")
        if len(text) > _LONGEST:
            self.text = f"{text[:20]}..."
            self.fail(f"longer than {_LONGEST} characters, which no class of growth is")
        for spelling, replacement in _WRITTEN.items():
            text = text.replace(spelling, replacement)
        self.tokens: list[str] = []
        position = 0
        text = text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                self.fail(
                    f"{text[position:].strip()[0]!r} has no meaning here: write such as p log p, p^0.5 or 2^(k/2)"
                )
            self.tokens.append(match.group().strip())
            position = match.end()
        self.position = 0

    def fail(self, problem: str) -> NoReturn:
        raise InputError(f"class of growth {self.text!r}: {problem}")

    def next(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self, token: str) -> bool:
        is_next = bool(token) and self.next() == token
        self.position += is_next
        return is_next

    def close(self) -> None:
        if not self.take(")"):
            self.fail("a ) is missing")

    def parse(self) -> Product:
        if not self.tokens:
            self.fail("nothing is there: write 1 for a constant")
        product = self.product()
        if self.next() in {"+", "-"}:
            self.fail("one term is asked for: keep the one that grows fastest")
        if self.next():
            self.fail(f"{self.next()!r} has no meaning here")
        return product

    def product(self) -> Product:
        product = self.factor()
        while self.next() not in {"", ")", "+", "-"}:
            sign = -1 if self.take("/") else 1
            if sign == 1:
                self.take("*")
            product = _times(product, self.factor(), sign)
        return product

    def factor(self) -> Product:
        token = self.next()
        if token[:1].isdigit() or token[:1] == ".":
            return self.number()
        base = self.base()
        if not self.take("^"):
            return base
        exponent, name = self.exponent()
        if name:
            self.fail(f"a parameter in the exponent needs a number below it: write 2^{name}")
        return {parameter: growth**exponent for parameter, growth in base.items()}

    def base(self) -> Product:
        token = self.next()
        self.position += 1
        if token == "(":  # noqa: S105 - a token of the notation
            product = self.product()
            self.close()
            return product
        if token == "O" and self.next() == "(":  # noqa: S105 - a token of the notation
            return self.base()
        if token in _LOGARITHMS:
            return self.logarithm()
        if token == "sqrt":  # noqa: S105 - a token of the notation
            return {name: growth ** Fraction(1, 2) for name, growth in self.base().items()}
        if not token or not (token[0].isalpha() or token[0] == "_"):
            self.fail(f"a term is missing before {token!r}" if token else "it ends too early")
        if "log" in token:
            self.fail(f"write {token!r} with spaces, such as n log n")
        return {token: Growth(power=Fraction(1))}

    def logarithm(self) -> Product:
        exponent = Fraction(1)
        if self.take("^"):
            exponent, name = self.exponent()
            if name:
                self.fail("the exponent of a logarithm is a number")
        bare = not self.take("(")
        name = self.next()
        if name in _LOGARITHMS:
            self.fail("a logarithm of a logarithm is no class that we know: use log p")
        if not name or not name[0].isalpha():
            self.fail("a logarithm needs a parameter: write log p")
        self.position += 1
        if not bare and self.next() != ")":
            self.fail("a logarithm is of the parameter alone: write log p, or log^2 p for its square")
        if not bare:
            self.close()
        elif self.next() == "^":
            self.fail(f"{'log ' + name + '^'!r} can be read in two ways: write log^2 {name} for the square of the log")
        return {name: Growth(log=exponent)}

    def number(self) -> Product:
        value = Fraction(self.next())
        self.position += 1
        if not self.take("^"):
            if value != 1:
                self.fail(f"a class has no coefficients: leave out the {_plain(value)}, or write p^(1/2), 2^(k/2)")
            return {}
        exponent, name = self.exponent()
        if not name:
            self.fail("a class has no coefficients: leave out the number, or put a parameter in its exponent")
        doublings = value.numerator.bit_length() - 1
        if value != 2**doublings or doublings < 1:
            self.fail(f"the base must be a power of 2: write {_plain(value)}^{name} as 2^(c {name}), c its log2")
        return {name: Growth(exponential=exponent * doublings)}

    def exponent(self) -> tuple[Fraction, str]:
        """Return (factor, parameter or nothing) of ``2``, ``-1``, ``k``, ``(1/3)``, ``(3 k / 2)``."""
        if not self.take("("):
            sign = -1 if self.take("-") else 1
            factor, name = self.part()
            return self.bounded(sign * factor), name
        factor, name, divide = Fraction(-1 if self.take("-") else 1), "", False
        while True:
            part, parameter = self.part()
            if parameter and (name or divide):
                self.fail("an exponent is a number, or a number times the parameter")
            if divide and not part:
                self.fail("a division by 0")
            factor, name = factor / part if divide else factor * part, name or parameter
            if self.take(")"):
                return self.bounded(factor), name
            if self.next() in {"", "+", "-"}:
                self.fail("an exponent is a number, or a number times the parameter, in ( )")
            divide = self.take("/")
            if not divide:
                self.take("*")

    def part(self) -> tuple[Fraction, str]:
        token = self.next()
        self.position += 1
        if token[:1].isdigit() or token[:1] == ".":
            return Fraction(token), ""
        if not token or not token[0].isalpha() or token in {*_LOGARITHMS, "sqrt"}:
            self.fail("an exponent is missing: write such as p^2, p^(1/3), p^-1 or 2^k")
        return Fraction(1), token

    def bounded(self, exponent: Fraction) -> Fraction:
        if abs(exponent) > _LARGEST_EXPONENT:
            self.fail(f"an exponent beyond {_LARGEST_EXPONENT} is none that a program has")
        return exponent


def parse_product(text: str) -> dict[str, Growth]:
    """Return parameter -> class of a product that may have several parameters; empty for 1.

    Raises
    ------
    InputError
        Where `text` is no such product.

    Examples
    --------
    >>> {name: growth.text(name) for name, growth in parse_product("n log p").items()}
    {'n': 'n', 'p': 'log p'}
    """
    return _GrowthParser(text).parse()


@checked
def parse_growth(text: str, over: str | None = None) -> Growth:
    """Return the class of growth that `text` says.

    Parameters
    ----------
    text : str
        Such as ``log p``, ``p log^2 p``, ``p^0.5``, ``p^(1/3)``, ``sqrt(p)``, ``2^(k/2)``, ``k^3 2^k``, ``1 / p``,
        ``1``; with or without O( ). Exponents are exact: p^0.33 is not p^(1/3).
    over : str, optional
        The parameter that must be meant; by default whichever is named.

    Raises
    ------
    InputError
        Where `text` is no product of powers of log x, x and 2^x, has coefficients, several terms or parameters.

    Notes
    -----
    Shudler 2015, Section 2.3. The base of a logarithm makes no difference.

    Examples
    --------
    >>> parse_growth("p log^2 p") == Growth(log=2, power=1), parse_growth("O(4^k)") == Growth(exponential=2)
    (True, True)
    >>> parse_growth("n log n", over="p")
    Traceback (most recent call last):
    commmodel.errors.InputError: class of growth 'n log n': it is over n, not over p: write it over p
    """
    product = parse_product(text)
    if len(product) > 1:
        raise InputError(f"class of growth {text!r}: parameters {' and '.join(product)}, but only one is asked for")
    for name, growth in product.items():
        if over is not None and name != over:
            raise InputError(f"class of growth {text!r}: it is over {name}, not over {over}: write it over {over}")
        return growth
    return ONE
