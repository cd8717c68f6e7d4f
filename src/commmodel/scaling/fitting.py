"""Models c₀ + c₁ t(x): every term t of a space fitted to many kernels at once. Main entry: `fit`.

Source: Shudler and others (2015), Section 2.3, and the leave-one-out errors of a linear fit in closed form, residual
over 1 − leverage (Allen 1974). Residuals count relative to the measured value, since times scatter in proportion to
themselves. Simple terms are preferred until the data speak against them, and terms win over the constant only where
noise alone would not have done as well.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commmodel.arguments import Scale, Whole, numbers, refuse
from commmodel.arrays import Array
from commmodel.errors import InputError
from commmodel.scaling.exact import exact_sums
from commmodel.scaling.growth import ONE, Growth
from commmodel.scaling.search_space import prior_odds
from commmodel.signatures import checked
from commmodel.values import Value

Criterion = Literal["residuals", "cross-validation"]
Prior = Callable[[Growth], float]

FEWEST_SCALES = 3
CHANCE = 0.03
"""How often noise about a constant may be taken for growth."""
BELOW_ZERO = 1 / 20
"""Odds of a model that falls below 0 at some x ≥ 1, where no value does, and of a constant below 0."""
FROM_ZERO = 1 / 4
"""Odds of models that are 0 at x = 1, such as p − 1, over the root of 2π: those of constants within a factor of 1.9."""
_DRAWS, _SEED = 4000, 1
_EXACT = 1e-10  # relative residuals below are rounding
ROUNDED = 1e-9  # of the largest value: what a term that describes the values leaves at most
_LEAST_FREEDOM = 1e-9  # of 1 − leverage: a term that one scale alone determines cannot be tested there
_SMALLEST_SHARE = 1e-6  # of the largest value: what smaller values, 0 among them, are compared with
_BLOCK = 1 << 17  # numbers in one array of the search: they should stay in the cache
_FACTORS = 1 << 14  # numbers in one product of matrices: more are shared out to threads, which cost more than they save


@dataclass(frozen=True)
class Model(Value):
    """`constant` + `coefficient` · `term`(x) + `lower`; a constant has `coefficient` 0 and the term 1.

    `adjusted_r2` is nan for a constant, and where it does not come from a fit; it can be negative. `lower` has further
    terms, (coefficient, term), where values follow the sum exactly.

    >>> model = Model(16e6, 0.56e6, Growth(power=1))
    >>> float(model(8192)), model.text("p")
    (4603520000.0, '1.6e+07 + 560000 p')
    """

    constant: float
    coefficient: float
    term: Growth
    adjusted_r2: float = float("nan")
    lower: tuple[tuple[float, Growth], ...] = ()

    def __call__(self, x: ArrayLike) -> Array:
        """Return the values at `x` ≥ 1, of its shape."""
        if not self.coefficient:
            return self.constant * ONE(x)
        further = sum((coefficient * term(x) for coefficient, term in self.lower), 0.0)
        return np.asarray(self.constant + self.coefficient * self.term(x) + further)

    @property
    def growth(self) -> Growth:
        """Class of growth, the term or 1."""
        return self.term if self.coefficient else ONE

    @checked
    def text(self, over: str) -> str:
        """Return the formula with its numbers."""
        if not self.coefficient:
            return f"{self.constant:.4g}"
        parts = [(self.coefficient, self.term), *self.lower]
        signed = (f"{'-' if number < 0 else '+'} {abs(number):.6g} {term.text(over)}" for number, term in parts)
        return " ".join([f"{self.constant:.4g}", *signed])


@dataclass(frozen=True)
class Fits(Value):
    """The models of many kernels: arrays of shape (kernels,); `chosen` counts in `terms`.

    `exact` has those that follow a sum of several terms exactly, by kernel.
    """

    terms: tuple[Growth, ...]
    chosen: NDArray[np.int64]
    constant: Array
    coefficient: Array
    adjusted_r2: Array
    exact: dict[int, Model] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.chosen)

    @checked
    def model(self, kernel: Whole) -> Model:
        """Return the model of one kernel; they are numbered from 0."""
        if kernel >= len(self):
            raise refuse("kernel", kernel, f"the {len(self)} kernels are numbered from 0")
        return self.exact.get(kernel) or Model(
            float(self.constant[kernel]),
            float(self.coefficient[kernel]),
            self.terms[self.chosen[kernel]],
            float(self.adjusted_r2[kernel]),
        )

    @checked
    def values(self, x: Scale) -> Array:
        """Return the models' values at one `x`, shape (kernels,)."""
        at = np.array([float(term(x)) for term in self.terms])[self.chosen]
        values = self.constant + np.where(self.coefficient == 0, 0.0, self.coefficient * at)
        for kernel, model in self.exact.items():
            values[kernel] = model(x)
        return values


def check_scales(scales: ArrayLike) -> Array:
    """Return the scales as an array.

    Raises
    ------
    InputError
        With fewer than three, one that is no number or below 1, or two that are the same.
    """
    x = numbers("scales", scales)
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
    """Of every kernel and term, shape (kernels, terms): coefficients and sums of squares; infinite where not allowed.

    `rss` is of residuals, `loo` of leave-one-out errors, `spread` of the terms about their means; `odds` is the
    logarithm of how much the curve itself speaks for the model, before its residuals. `mean` and `total`, shape
    (kernels,), are the constant and its sum of squares, that of logarithms where it is larger: relative to itself, a
    value far above a constant is beside it by 1 at most.
    """

    slope: Array
    constant: Array
    rss: Array
    loo: Array
    odds: Array
    spread: Array
    mean: Array
    total: Array


def _sums(values: Array, weights: Array, column: Array, freedom: Array) -> tuple[Array, Array, Array, Array]:
    """Return slopes, and sums of squares of residuals, leave-one-out errors and `column`, of shape (kernels, terms).

    `column` and `freedom` have the shape (kernels, terms, scales); `freedom` is 1 less what the constant takes.
    """
    weighted = column * weights[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.einsum("kts,kts->kt", weighted, column)
        slope = np.einsum("kts,ks->kt", weighted, values) / spread
        residual = values[:, None] - slope[..., None] * column
        residual *= np.sqrt(weights)[:, None]
        freedom = freedom - weighted * column / spread[..., None]
        rss = np.einsum("kts,kts->kt", residual, residual)
        residual /= freedom
        loo = np.einsum("kts,kts->kt", residual, residual)
        usable = (slope > 0) & (freedom.min(axis=2) > _LEAST_FREEDOM)
    return slope, np.where(usable, rss, np.inf), np.where(usable, loo, np.inf), spread


def search(columns: Array, values: Array, weights: Array) -> Search:
    """Fit every term, a row of `columns` (terms, scales), to every kernel, a row of `values` (kernels, scales)."""
    share = weights / weights.sum(axis=1, keepdims=True)
    mean = (share * values).sum(axis=1)
    off = values - mean[:, None]
    centre = share @ columns.T
    slope, rss, loo, spread = _sums(off, weights, columns[None] - centre[..., None], 1 - share[:, None])
    with np.errstate(invalid="ignore"):
        constant = mean[:, None] - slope * centre
    total = np.maximum((weights * off**2).sum(axis=1), _of_logarithms(values))
    return Search(slope, constant, rss, loo, np.zeros_like(rss), spread, mean, total)


def _of_logarithms(values: Array) -> Array:
    """Return sums of squares about a constant of the logarithms of positive values, otherwise 0; shape (kernels,)."""
    positive = values.min(axis=1) > 0
    logarithms = np.log(np.where(positive[:, None], values, 1.0))
    return np.asarray(((logarithms - logarithms.mean(axis=1, keepdims=True)) ** 2).sum(axis=1))


def search_positive(columns: Array, lowest: Array, values: Array, weights: Array) -> Search:
    """As `search`, with odds against models that fall below 0 at some x ≥ 1 though no value does.

    `lowest`, shape (terms,), is what each term is at least. Where the odds are worse than the residuals gain, the model
    is the best of those that just reach 0.
    """
    free = search(columns, values, weights)
    slope, rss, loo, _ = _sums(values, weights, (columns - lowest[:, None])[None], np.ones((1, 1, 1)))
    with np.errstate(invalid="ignore"):
        below = (free.constant + free.slope * lowest < 0) & (values.min(axis=1) >= 0)[:, None]
    least = _rounding(columns)
    worth = BELOW_ZERO ** (-1 / _sharpness(columns))
    is_allowed = below & (np.maximum(rss, least) <= worth * np.maximum(free.rss, least))
    return Search(
        np.where(is_allowed, slope, free.slope),
        np.where(is_allowed, -slope * lowest, free.constant),
        np.where(is_allowed, rss, free.rss),
        np.where(is_allowed, loo, free.loo),
        np.where(below & ~is_allowed, np.log(BELOW_ZERO), 0.0),
        free.spread,
        free.mean,
        free.total,
    )


def _sharpness(columns: Array) -> float:
    """Return by how much the log odds of a term rise while the logarithm of its sum of squares falls by 1."""
    return int(columns.shape[1]) / 2 - 1


def _rounding(columns: Array) -> float:
    """Return the sum of squares of what is rounding alone."""
    return int(columns.shape[1]) * _EXACT**2


def evidence(search_result: Search, columns: Array, prior: Array, criterion: Criterion) -> Array:
    """Return the log odds of each term over the constant, shape (kernels, terms), but for a number common to all.

    `prior`, shape (terms,), are their odds before anything was measured (`commmodel.scaling.search_space.prior_odds`).
    """
    errors = search_result.loo if criterion == "cross-validation" else search_result.rss
    least = _rounding(columns)
    gain = np.log(np.maximum(search_result.total, least))[:, None] - np.log(np.maximum(errors, least))
    return np.asarray(np.log(prior) + search_result.odds + _sharpness(columns) * gain)


def needed_evidence(columns: Array, prior: Array, criterion: Criterion, draws: int) -> float:
    """Return the evidence that the best term exceeds by chance in a share `CHANCE` of all cases.

    These are cases of noise about a constant; `draws` of them are simulated. Their weights are all the same, so that
    their sums of squares are products of matrices.
    """
    terms, scales = columns.shape
    off = columns - columns.mean(axis=1, keepdims=True)
    along = off / np.sqrt((off**2).sum(axis=1, keepdims=True))
    freedom = 1 - 1 / scales - along**2
    usable = freedom.min(axis=1) > _LEAST_FREEDOM
    left_out = np.where(usable[:, None], np.maximum(freedom, _LEAST_FREEDOM) ** -2, 1.0)
    noise = np.random.default_rng(_SEED).normal(size=(draws, scales))
    noise -= noise.mean(axis=1, keepdims=True)
    sharpness = _sharpness(columns)
    dearer = prior ** (-1 / sharpness)  # what odds are worth as a factor of the errors
    best = np.empty(draws)
    block = max(1, _FACTORS // terms)
    for start in range(0, draws, block):
        part = noise[start : start + block]
        slope = part @ along.T
        total = (part**2).sum(axis=1)
        if criterion == "cross-validation":
            errors = part**2 @ left_out.T - 2 * slope * (part @ (left_out * along).T)
            errors += slope**2 * (left_out * along**2).sum(axis=1)
        else:
            errors = total[:, None] - slope**2
        errors = np.where((slope > 0) & usable, np.maximum(errors, _rounding(columns)) * dearer, np.inf)
        best[start : start + block] = sharpness * (np.log(total) - np.log(errors.min(axis=1)))
    return float(np.quantile(best, 1 - CHANCE))


@dataclass(frozen=True)
class _Space:
    """The terms that vary and stay finite over the scales, as indices, prepared for the search.

    `columns` are their values over `largest`, shape (terms, scales), `lowest` the least of them at any x ≥ 1.
    """

    usable: NDArray[np.int64]
    columns: Array
    largest: Array
    lowest: Array
    prior: Array


def _over(scales: Array, terms: tuple[Growth, ...], prior: Prior = prior_odds) -> _Space:
    values = np.array([term(scales) for term in terms])
    largest = values.max(axis=1)
    usable = np.flatnonzero(np.isfinite(values).all(axis=1) & (largest > values.min(axis=1)))
    usable_terms = [terms[place] for place in usable]
    # What falls is 0 in the end; what grows is least at 1, or where its logarithm in the denominator lets it.
    lowest = np.array(
        [0.0 if term < ONE else min(float(term(1.0)), float(term(scales).min())) for term in usable_terms]
    )
    before = np.array([prior(term) for term in usable_terms], dtype=np.float64)
    if not (np.isfinite(before) & (before > 0)).all():
        raise InputError(
            f"prior odds {before.tolist()}: each must be a positive number: leave out terms that cannot be"
        )
    return _Space(usable, values[usable] / largest[usable, None], largest[usable], lowest / largest[usable], before)


def volume(fits: Search, over: _Space, weights: Array, variance: Array) -> Array:
    """Return the logarithm of how many constants and coefficients describe the values, shape (kernels, terms).

    `evidence` takes the best ones; with this they are integrated (Laplace's method, Student's distribution). Before the
    measurement the logarithms of both are even, so that no unit matters; a constant below 0 has odds of `BELOW_ZERO`,
    and what is 0 at x = 1 those of `FROM_ZERO`. `variance`, shape (kernels, terms), is that of relative residuals.

    >>> x, terms = np.array([2.0, 4, 8, 16, 32]), (Growth(power=1), Growth(log=1))
    >>> y, weights, _ = normalised(np.array([1 + 3 * x]))
    >>> over = _over(x, terms)
    >>> fits = search(over.columns, y, weights)
    >>> volume(fits, over, weights, np.full_like(fits.rss, 1e-4)).round(1).tolist()
    [[1.4, -3.0]]
    """
    total = weights.sum(axis=1, keepdims=True)
    centre = weights @ over.columns.T / total
    freedom = over.columns.shape[1] - 2
    with np.errstate(divide="ignore", invalid="ignore"):
        first = fits.constant + fits.slope * over.lowest
        of_constant, of_first = (variance * (1 / total + (centre - at) ** 2 / fits.spread) for at in (0.0, over.lowest))
        # Student's distribution with two degrees of freedom: how likely the constant is above 0.
        above = 0.5 + fits.constant / np.sqrt(2 * of_constant + fits.constant**2) / 2
        constants = (above + BELOW_ZERO * (1 - above)) / np.sqrt(fits.constant**2 + of_constant)
        from_zero = (1 + first**2 / of_first / freedom) ** (-(freedom + 1) / 2) / np.sqrt(of_first)
        slopes = total * (fits.slope**2 * fits.spread + variance)
        return np.asarray(np.log(constants + FROM_ZERO * from_zero) - np.log(slopes) / 2)


@functools.lru_cache(maxsize=64)
def _prepared(
    scales: tuple[float, ...], terms: tuple[Growth, ...], criterion: Criterion, prior: Prior
) -> tuple[_Space, float]:
    """Return the space, and the evidence that a term needs."""
    space = _over(np.array(scales), terms, prior)
    return space, needed_evidence(space.columns, space.prior, criterion, _DRAWS) if space.usable.size else np.inf


def _adjusted_r2(values: Array, fitted: Array) -> Array:
    n = values.shape[1]
    total = ((values - values.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1 - ((values - fitted) ** 2).sum(axis=1) / (n - 2) / (total / (n - 1)))


@checked
def fit(
    scales: ArrayLike,
    values: ArrayLike,
    terms: Sequence[Growth],
    criterion: Criterion = "residuals",
    prior: Prior = prior_odds,
) -> Fits:
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
        Whether sums of squares or leave-one-out errors speak for the terms. All have two coefficients, so that sums of
        squares are comparable; with few scales they find the right term more often.
    prior : function of a Growth
        How likely a term is before anything was measured, > 0; by default simple terms are more likely.

    Raises
    ------
    InputError
        For scales that show no growth, values of another shape, no finite ones, or odds that are not positive.

    Notes
    -----
    Shudler 2015, Section 2.3. Coefficients are positive: what falls is a constant here, unless the space has terms that
    fall. The most probable term is taken: its odds before the measurement (`prior`), times 1/20 where the model falls
    below 0 at some x ≥ 1 though no value does, times its likelihood, S^(1 − n/2) for a sum of squares S over n scales,
    times how many constants and coefficients describe the values as well. The constant is kept unless the best odds,
    without that last factor, are better than noise about a constant reaches in 3 % of all cases, with these scales and
    these terms; that limit is simulated once for each pair of them.

    Examples
    --------
    >>> p = np.array([4, 8, 16, 32, 64])
    >>> found = fit(p, [1 + 3 * p, 2 + np.log2(p), 0 * p + 5], [Growth(log=1), Growth(power=1)])
    >>> [found.model(kernel).text("p") for kernel in range(3)]
    ['1 + 3 p', '2 + 1 log p', '5']
    """
    x = check_scales(scales)
    y = numbers("values", values)
    if y.ndim != 2 or y.shape[1] != x.size:
        raise InputError(f"values of shape {y.shape}: give one row for each kernel, with {x.size} values, one a scale")
    if not np.isfinite(y).all():
        raise InputError("values: one is no finite number: leave its scale out")
    space = tuple(dict.fromkeys((ONE, *terms)))
    over, needed = _prepared(tuple(x.tolist()), space, criterion, prior)
    y, weights, unit = normalised(y)
    kernels = len(y)
    chosen, coefficient = np.zeros(kernels, np.int64), np.zeros(kernels)
    constant = (weights * y).sum(axis=1) / weights.sum(axis=1)
    fitted = np.repeat(constant[:, None], x.size, axis=1)
    block = max(1, _BLOCK // max(over.columns.size, 1))
    for start in range(0, kernels if over.usable.size else 0, block):
        rows = slice(start, start + block)
        fits = search_positive(over.columns, over.lowest, y[rows], weights[rows])
        odds = evidence(fits, over.columns, over.prior, criterion)
        variance = np.maximum(fits.rss, _rounding(over.columns)) / (x.size - 2)
        posterior = np.where(np.isfinite(odds), odds + volume(fits, over, weights[rows], variance), -np.inf)
        best = posterior.argmax(axis=1)
        rows_ = np.arange(len(best))
        grows = (fits.total > x.size * _EXACT**2) & (odds.max(axis=1) >= needed)
        chosen[rows] = np.where(grows, over.usable[best], 0)
        coefficient[rows] = np.where(grows, fits.slope[rows_, best] / over.largest[best], 0.0)
        constant[rows] = np.where(grows, fits.constant[rows_, best], fits.mean)
        growth = np.where(grows, fits.slope[rows_, best], 0.0)[:, None] * over.columns[best]
        fitted[rows] = constant[rows, None] + growth
    r2 = np.where(coefficient == 0, np.nan, _adjusted_r2(y, fitted))
    exact = _exact_models(x, y, unit, np.abs(y - fitted).max(axis=1) > ROUNDED, space)
    for kernel, model in exact.items():
        chosen[kernel], r2[kernel] = space.index(model.term), model.adjusted_r2
        constant[kernel], coefficient[kernel] = np.array([model.constant, model.coefficient]) / unit[kernel]
    return Fits(space, chosen, constant * unit, coefficient * unit, r2, exact)


def _exact_models(
    scales: Array, values: Array, unit: Array, is_beside: NDArray[np.bool_], space: tuple[Growth, ...]
) -> dict[int, Model]:
    """Return the models of kernels that a single term does not describe, but a sum exactly does; values over `unit`."""
    kernels = np.flatnonzero(is_beside)
    models = {}
    for row, shares in exact_sums(scales, values[kernels]).items():
        parts = [(share * float(unit[kernels[row]]), growth) for share, growth in shares]
        (coefficient, term), *lower = (part for part in parts if part[1] != ONE)
        constant = sum(part for part, growth in parts if growth == ONE)
        if term in space:
            models[int(kernels[row])] = Model(constant, coefficient, term, 1.0, tuple(lower))
    return models


def probabilities(scales: Array, values: Array, terms: Sequence[Growth], noise: float, prior: Prior) -> Array:
    """Return the probability of each term, shape (terms,), for values of shape (scales,) that grow.

    It is odds times likelihood times `volume`, of the constant that for which `fit` would take neither it nor a term.
    Values scatter by `noise`, relative to themselves, as far as repetitions show it, or as they do about the best term
    where that is more (the ratio of Birge 1932).
    """
    space = tuple(terms)
    over, needed = _prepared(tuple(scales.tolist()), space, "residuals", prior)
    y, weights, _ = normalised(values[None])
    fits = search_positive(over.columns, over.lowest, y, weights)
    squares, total = fits.rss[0], fits.total[0]
    variance = max(noise**2, float(squares.min()) / (scales.size - 2), _rounding(over.columns))
    log_odds = np.full(len(space), -np.inf)
    of_terms = np.log(over.prior) + fits.odds[0] - squares / (2 * variance)
    volumes = volume(fits, over, weights, np.full_like(fits.rss, variance))[0]
    relative = volumes - volumes[of_terms.argmax()]
    log_odds[over.usable] = np.where(np.isfinite(of_terms), of_terms + relative, -np.inf)
    log_odds[space.index(ONE)] = needed - total / (2 * variance)
    odds = np.exp(log_odds - log_odds.max())
    return np.asarray(odds / odds.sum())


def growing_share(scales: Array, values: Array, terms: Sequence[Growth]) -> Array:
    """Return which share of the fitted value at the largest scale each term makes up, shape (kernels, terms).

    Each term is fitted whether or not it is better than others; 0 for terms that cannot be, or that would fall.
    """
    space = tuple(terms)
    over = _over(scales, space)
    y, weights, _ = normalised(values)
    fits = search(over.columns, y, weights)
    last = fits.slope * over.columns[:, int(scales.argmax())]
    total = fits.constant + last
    share = np.zeros((len(y), len(space)))
    with np.errstate(divide="ignore", invalid="ignore"):
        share[:, over.usable] = np.where(np.isfinite(fits.rss) & (total != 0), last / np.abs(total), 0.0)
    return share


def misfit(scales: Array, values: Array, terms: Sequence[Growth], tolerance: Array) -> float:
    """Return the residual of the best model, values of shape (scales,): a root mean square over the tolerance.

    Both are relative to the values. From 1 on no class fits. 0 where a value is none that anything is relative to.

    >>> x = np.array([2.0, 4, 8, 16, 32])
    >>> cliff = np.array([1.0, 1, 1, 1, 9])
    >>> [round(misfit(x, y, [Growth(power=1)], np.full(5, 0.25)), 1) for y in (x, x + 3, cliff)]
    [0.0, 0.0, 1.8]
    """
    if values.min() <= 0:
        return 0.0
    y, weights, _ = normalised(values[None])
    weights = weights / tolerance**2
    fits = search(_over(scales, tuple(terms)).columns, y, weights)
    of_constant = float((weights * (y - fits.mean) ** 2).sum()) / (scales.size - 1)
    return math.sqrt(min(of_constant, float(fits.rss.min(initial=np.inf)) / (scales.size - 2)))


@checked
def fit_term(scales: ArrayLike, values: ArrayLike, term: Growth) -> Model:
    """Return the model with this term, even if another is better.

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
    array = numbers("values", values)
    if array.shape != x.shape or not np.isfinite(array).all():
        raise InputError(f"values of shape {array.shape}: give {x.size} finite numbers, one a scale")
    y, weights, (unit,) = normalised(array[None])
    if term == ONE:
        return Model(float((weights * y).sum() / weights.sum() * unit), 0.0, ONE)
    over = _over(x, (term,))
    if not over.usable.size:
        raise InputError(f"term {term.text('x')}: it is too large for a number at {x.max():g}: use smaller scales")
    fits = search(over.columns, y, weights)
    model = Model(float(fits.constant[0, 0]), float(fits.slope[0, 0] / over.largest[0]), term)
    r2 = float(_adjusted_r2(y, model(x)[None])[0])
    return Model(model.constant * float(unit), model.coefficient * float(unit), term, r2)
