"""Models c₀ + c₁ t(x): every term t of a space fitted to many kernels at once. Main entry: `fit`.

Source: Shudler and others (2015), Section 2.3, and the leave-one-out errors of a linear fit in closed form, residual
over 1 − leverage (Allen 1974). Residuals count relative to the measured value, since times scatter in proportion to
themselves. Terms win over the constant only where noise alone would not have done as well.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commmodel.errors import InputError
from commmodel.scaling.growth import ONE, Growth

__all__ = ["FEWEST_SCALES", "Fits", "Model", "check_scales", "fit", "fit_term"]

Array = NDArray[np.float64]
Criterion = Literal["residuals", "cross-validation"]

FEWEST_SCALES = 3
CHANCE = 0.03
"""How often noise about a constant may be taken for growth."""
_DRAWS, _SEED = 4000, 1
_EXACT = 1e-10  # relative residuals below are rounding
_LEAST_FREEDOM = 1e-9  # of 1 − leverage: a term that one scale alone determines cannot be tested there
_SMALLEST_SHARE = 1e-6  # of the largest value: what smaller values, 0 among them, are compared with
_BLOCK = 1 << 17  # numbers in one array of the search: they should stay in the cache


@dataclass(frozen=True)
class Model:
    """`constant` + `coefficient` · `term`(x); a constant has `coefficient` 0 and the term 1.

    `adjusted_r2` is nan for a constant, and where it does not come from a fit; it can be negative.

    >>> model = Model(16e6, 0.56e6, Growth(power=1))
    >>> float(model(8192)), model.text("p")
    (4603520000.0, '1.6e+07 + 560000 p')
    """

    constant: float
    coefficient: float
    term: Growth
    adjusted_r2: float = float("nan")

    def __call__(self, x: ArrayLike) -> Array:
        """Return the values at `x`, of its shape."""
        if not self.coefficient:
            return np.full(np.shape(x), self.constant)
        return np.asarray(self.constant + self.coefficient * self.term(x))

    @property
    def growth(self) -> Growth:
        """The class of growth: the term, or 1."""
        return self.term if self.coefficient else ONE

    def text(self, over: str) -> str:
        """Return the formula with its numbers."""
        if not self.coefficient:
            return f"{self.constant:.4g}"
        return f"{self.constant:.4g} + {self.coefficient:.6g} {self.term.text(over)}"


@dataclass(frozen=True)
class Fits:
    """The models of many kernels: arrays of shape (kernels,); `chosen` counts in `terms`."""

    terms: tuple[Growth, ...]
    chosen: NDArray[np.int64]
    constant: Array
    coefficient: Array
    adjusted_r2: Array

    def __len__(self) -> int:
        return len(self.chosen)

    def model(self, kernel: int) -> Model:
        """Return the model of one kernel."""
        return Model(
            float(self.constant[kernel]),
            float(self.coefficient[kernel]),
            self.terms[self.chosen[kernel]],
            float(self.adjusted_r2[kernel]),
        )

    def values(self, x: float) -> Array:
        """Return the models' values at one `x`, shape (kernels,)."""
        at = np.array([float(term(x)) for term in self.terms])[self.chosen]
        return self.constant + np.where(self.coefficient == 0, 0.0, self.coefficient * at)


def check_scales(scales: ArrayLike) -> Array:
    """Return the scales as an array.

    Raises
    ------
    InputError
        With fewer than three, one below 1, or two that are the same.
    """
    x = np.asarray(scales, dtype=np.float64)
    if x.ndim != 1 or x.size < FEWEST_SCALES:
        raise InputError(f"{x.size} scales: no growth can be seen: measure at {FEWEST_SCALES} or more, better 5")
    if not (np.isfinite(x) & (x >= 1)).all():
        raise InputError(f"scales {x.tolist()}: each must be a number of at least 1")
    if len(np.unique(x)) < x.size:
        raise InputError(f"scales {x.tolist()}: one is there twice: merge its samples")
    return x


def normalised(values: Array) -> tuple[Array, Array, Array]:
    """Return values (kernels, scales) over the largest, the weights of relative residuals, and the largest.

    Without it, squares of values that numbers can still hold would not be numbers.
    """
    largest = np.abs(values).max(axis=1, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    shares = values / unit[:, None]
    weights = np.where(largest[:, None] > 0, np.maximum(np.abs(shares), _SMALLEST_SHARE) ** -2.0, 1.0)
    return shares, weights, unit


@dataclass(frozen=True)
class Search:
    """Of every kernel and term, shape (kernels, terms): slopes, and sums of squares, infinite where none may be."""

    slope: Array
    centre: Array
    rss: Array
    loo: Array
    mean: Array
    total: Array


def search(columns: Array, values: Array, weights: Array) -> Search:
    """Fit every term, a row of `columns` (terms, scales), to every kernel, a row of `values` (kernels, scales)."""
    share = weights / weights.sum(axis=1, keepdims=True)
    mean = (share * values).sum(axis=1)
    off = values - mean[:, None]
    total = (weights * off**2).sum(axis=1)
    centre = share @ columns.T
    column = columns[None] - centre[..., None]
    weighted = column * weights[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.einsum("kts,kts->kt", weighted, column)
        slope = np.einsum("kts,ks->kt", weighted, off) / spread
        residual = off[:, None] - slope[..., None] * column
        residual *= np.sqrt(weights)[:, None]
        freedom = 1 - share[:, None] - weighted * column / spread[..., None]
        rss = np.einsum("kts,kts->kt", residual, residual)
        residual /= freedom
        loo = np.einsum("kts,kts->kt", residual, residual)
        usable = (slope > 0) & (freedom.min(axis=2) > _LEAST_FREEDOM)
    return Search(slope, centre, np.where(usable, rss, np.inf), np.where(usable, loo, np.inf), mean, total)


def _columns(scales: Array, terms: tuple[Growth, ...]) -> tuple[NDArray[np.int64], Array, Array]:
    """Return which terms vary and stay finite over the scales, their values over the largest, and these largest."""
    values = np.array([term(scales) for term in terms])
    largest = values.max(axis=1)
    usable = np.flatnonzero(np.isfinite(values).all(axis=1) & (largest > values.min(axis=1)))
    return usable, values[usable] / largest[usable, None], largest[usable]


@functools.lru_cache(maxsize=64)
def _needed_r2(scales: tuple[float, ...], terms: tuple[Growth, ...]) -> float:
    _, columns, _ = _columns(np.array(scales), terms)
    return needed_r2(columns, _DRAWS)


def needed_r2(columns: Array, draws: int) -> float:
    """Return which R² the best of the columns (terms, points) reaches by chance, in a share `CHANCE` of all cases.

    These are cases of noise about a constant; `draws` of them are simulated.
    """
    noise = np.random.default_rng(_SEED).normal(size=(draws, columns.shape[1]))
    best = np.empty(draws)
    block = max(1, _BLOCK // columns.size)
    for start in range(0, draws, block):
        part = noise[start : start + block]
        found = search(columns, part, np.ones_like(part))
        best[start : start + block] = 1 - found.rss.min(axis=1) / found.total
    return float(np.quantile(best, 1 - CHANCE))


def _adjusted_r2(values: Array, fitted: Array) -> Array:
    n = values.shape[1]
    total = ((values - values.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1 - ((values - fitted) ** 2).sum(axis=1) / (n - 2) / (total / (n - 1)))


def fit(scales: ArrayLike, values: ArrayLike, terms: Sequence[Growth], criterion: Criterion = "residuals") -> Fits:
    """Return the best model of each kernel.

    Parameters
    ----------
    scales : shape (scales,)
        Values of the parameter, at least three, each ≥ 1.
    values : shape (kernels, scales)
        What was measured, repetitions reduced to one value (`commmodel.scaling.samples.reduce`).
    terms : sequence of Growth
        The search space; the constant is always in it. Terms too large for a number at some scale are left out.
    criterion : "residuals" or "cross-validation"
        Whether the smallest sum of squares or the smallest leave-one-out error chooses among the terms. All have two
        coefficients, so that sums of squares are comparable; with few scales they find the right term more often.

    Raises
    ------
    InputError
        For scales that show no growth, values of another shape, or no finite ones.

    Notes
    -----
    Shudler 2015, Section 2.3. Coefficients are positive: what falls is a constant here, unless the space has terms that
    fall. The constant is kept unless R² of the best term is larger than noise about a constant reaches in 3 % of all
    cases, with these scales and these terms; that limit is simulated once for each pair of them.

    Examples
    --------
    >>> p = np.array([4, 8, 16, 32, 64])
    >>> found = fit(p, [1 + 3 * p, 2 + np.log2(p), 0 * p + 5], [Growth(log=1), Growth(power=1)])
    >>> [found.model(kernel).text("p") for kernel in range(3)]
    ['1 + 3 p', '2 + 1 log p', '5']
    """
    x = check_scales(scales)
    y = np.asarray(values, dtype=np.float64)
    if y.ndim != 2 or y.shape[1] != x.size:
        raise InputError(f"values of shape {y.shape}: give one row for each kernel, with {x.size} values, one a scale")
    if not np.isfinite(y).all():
        raise InputError("values: one is no finite number: leave its scale out")
    if criterion not in {"cross-validation", "residuals"}:
        raise InputError(f"criterion {criterion!r}: choose cross-validation or residuals")
    space = tuple(dict.fromkeys((ONE, *terms)))
    usable, columns, largest = _columns(x, space)
    y, weights, unit = normalised(y)
    kernels = len(y)
    chosen, coefficient = np.zeros(kernels, np.int64), np.zeros(kernels)
    constant = (weights * y).sum(axis=1) / weights.sum(axis=1)
    if usable.size:
        needed = _needed_r2(tuple(x.tolist()), space)
        block = max(1, _BLOCK // columns.size)
        for start in range(0, kernels, block):
            rows = slice(start, start + block)
            found = search(columns, y[rows], weights[rows])
            best = (found.loo if criterion == "cross-validation" else found.rss).argmin(axis=1)
            each = np.arange(len(best))
            grows = found.total > x.size * _EXACT**2
            grows &= found.rss.min(axis=1) <= (1 - needed) * found.total
            slope = found.slope[each, best]
            chosen[rows] = np.where(grows, usable[best], 0)
            coefficient[rows] = np.where(grows, slope / largest[best], 0.0)
            constant[rows] = np.where(grows, found.mean - slope * found.centre[each, best], found.mean)
    fits = Fits(space, chosen, constant, coefficient, np.full(kernels, np.nan))
    fitted = np.stack([fits.values(float(scale)) for scale in x], axis=1)
    r2 = np.where(coefficient == 0, np.nan, _adjusted_r2(y, fitted))
    return Fits(space, chosen, constant * unit, coefficient * unit, r2)


def growing_share(scales: Array, values: Array, terms: Sequence[Growth]) -> Array:
    """Return which share of the fitted value at the largest scale each term makes up, shape (kernels, terms).

    Each term is fitted whether or not it is better than others; 0 for terms that cannot be, or that would fall.
    """
    space = tuple(terms)
    usable, columns, _ = _columns(scales, space)
    y, weights, _ = normalised(values)
    found = search(columns, y, weights)
    last = columns[:, int(scales.argmax())]
    whole = found.mean[:, None] + found.slope * (last - found.centre)
    share = np.zeros((len(y), len(space)))
    with np.errstate(divide="ignore", invalid="ignore"):
        share[:, usable] = np.where(np.isfinite(found.rss) & (whole != 0), found.slope * last / np.abs(whole), 0.0)
    return share


def fit_term(scales: ArrayLike, values: ArrayLike, term: Growth) -> Model:
    """Return the model with this term, whether or not it is better than others.

    Parameters
    ----------
    scales, values : shape (scales,)
        As in `fit`, of one kernel.
    term : Growth
        1 for the constant.

    Raises
    ------
    InputError
        As `fit`, and where the term is too large for a number.

    Examples
    --------
    >>> fit_term([1, 2, 4], [3.0, 5.0, 9.0], Growth(power=1)).text("p")
    '1 + 2 p'
    """
    x = check_scales(scales)
    y, weights, (unit,) = normalised(np.asarray(values, dtype=np.float64)[None])
    if term == ONE:
        return Model(float((weights * y).sum() / weights.sum() * unit), 0.0, ONE)
    usable, columns, largest = _columns(x, (term,))
    if not usable.size:
        raise InputError(f"term {term.text('x')}: it is too large for a number at {x.max():g}: use smaller scales")
    found = search(columns, y, weights)
    slope = float(found.slope[0, 0])
    model = Model(float(found.mean[0]) - slope * float(found.centre[0, 0]), slope / float(largest[0]), term)
    r2 = float(_adjusted_r2(y, model(x)[None])[0])
    return Model(model.constant * float(unit), model.coefficient * float(unit), term, r2)
