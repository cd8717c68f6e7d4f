"""Models of two parameters at once, such as processes and message size. Main entry: `fit_surface`.

Source: Calotoiu and others, "Fast Multi-Parameter Performance Modeling" (2016): a product of two terms or their sum.
Here all pairs of terms are tried, in closed form as in `commmodel.scaling.fitting`; what depends on the points and the
terms alone is worked out once.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commmodel.arguments import numbers
from commmodel.arrays import Array
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError
from commmodel.scaling.fitting import evidence, needed_evidence, normalised, search
from commmodel.scaling.growth import ONE, Growth
from commmodel.scaling.search_space import prior_odds
from commmodel.signatures import checked

FEWEST_POINTS = 9
_DRAWS = 500
_EXACT = 1e-10  # relative residuals below are rounding
_CANDIDATES = 64  # with the least residuals, among which leave-one-out errors choose
_LEAST_GAIN = 0.8  # a sum has one number more than a product: it must leave less than this share of its error


@with_attributes
@dataclass(frozen=True)
class SurfaceModel:
    """`constant` + Σ coefficient · first(x) · second(y), over (coefficient, first, second) in `parts`.

    No parts for a constant, one for a product, two for a sum.
    """

    constant: float
    parts: tuple[tuple[float, Growth, Growth], ...]

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the values at `x` and `y`, arrays that broadcast."""
        total = np.full(np.broadcast_shapes(np.shape(x), np.shape(y)), self.constant)
        for coefficient, first, second in self.parts:
            total = total + coefficient * first(x) * second(y)
        return total

    @checked
    def text(self, first: str, second: str) -> str:
        """Return the formula with its numbers.

        Parameters
        ----------
        first, second : str
            Names of the parameters.
        """
        words = [f"{self.constant:.4g}"]
        for coefficient, *growths in self.parts:
            factors = zip(growths, (first, second), strict=True)
            words.append(
                " ".join([f"{coefficient:.6g}", *(growth.text(over) for growth, over in factors if growth != ONE)])
            )
        return " + ".join(words)


@dataclass(frozen=True)
class _Design:
    """The search prepared for these points and terms, independent of the values.

    `first` and `second`, shapes (firsts, points) and (seconds, points), are the terms' values over their `largest`, the
    constant first; `columns` are their products but for the constant, `squares` of these, `prior` the products of their
    odds, `needed` is the evidence that a product needs.
    """

    firsts: tuple[Growth, ...]
    seconds: tuple[Growth, ...]
    first: Array
    second: Array
    largest: tuple[Array, Array]
    columns: Array
    squares: Array
    prior: Array
    needed: float


def _values(terms: Sequence[Growth], at: Array) -> tuple[tuple[Growth, ...], Array, Array]:
    """Return the terms that stay finite and vary, the constant first, their values over the largest, and these."""
    chosen, rows = [ONE], [np.ones_like(at)]
    for term in dict.fromkeys(terms):
        row = term(at)
        if np.isfinite(row).all() and row.max() > row.min():
            chosen.append(term)
            rows.append(row)
    values = np.array(rows)
    largest = values.max(axis=1)
    return tuple(chosen), values / largest[:, None], largest


@functools.lru_cache(maxsize=16)
def _designed(
    x: tuple[float, ...], y: tuple[float, ...], first: tuple[Growth, ...], second: tuple[Growth, ...]
) -> _Design:
    """Return the design, with the simulated evidence that noise about a constant reaches."""
    firsts, f, f_largest = _values(first, np.array(x))
    seconds, g, g_largest = _values(second, np.array(y))
    columns = (f[:, None] * g[None]).reshape(-1, len(x))[1:]
    prior = np.outer([prior_odds(growth) for growth in firsts], [prior_odds(growth) for growth in seconds]).ravel()[1:]
    needed = needed_evidence(columns, prior, "cross-validation", _DRAWS) if len(columns) else np.inf
    return _Design(firsts, seconds, f, g, (f_largest, g_largest), columns, columns**2, prior, needed)


def _best_products(design: _Design, values: Array, weights: Array) -> NDArray[np.int64]:
    """Return the indices in `design.columns` of the products with the best evidence."""
    off = values - weights @ values / weights.sum()
    along = design.columns @ (weights * off)
    spread = design.squares @ weights - (design.columns @ weights) ** 2 / weights.sum()
    total = float(weights @ off**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.maximum(total - along**2 / spread, values.size * _EXACT**2)
        odds = np.log(design.prior) - (values.size / 2 - 1) * np.log(left)
    odds = np.where((spread > 0) & (along > 0), odds, -np.inf)
    return np.argpartition(odds, -min(_CANDIDATES, odds.size))[-_CANDIDATES:]


def _best_sums(first: Array, second: Array, values: Array, weights: Array) -> tuple[NDArray[np.int64], ...]:
    """Return the pairs of terms whose sums c₀ + c₁ f + c₂ g leave the least residuals, as places (firsts, seconds)."""
    share = weights / weights.sum()
    off = values - share @ values
    f, g = (columns_ - (columns_ @ share)[:, None] for columns_ in (first, second))
    f_squares, g_squares = (f**2) @ weights, (g**2) @ weights
    products = (f * weights) @ g.T
    along_f, along_g = (f * weights) @ off, (g * weights) @ off
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = f_squares[:, None] * g_squares - products**2
        c1 = (g_squares * along_f[:, None] - products * along_g) / determinant
        c2 = (f_squares[:, None] * along_g - products * along_f[:, None]) / determinant
        gain = c1 * along_f[:, None] + c2 * along_g
        gain = np.where((determinant > _EXACT * f_squares[:, None] * g_squares) & (c1 > 0) & (c2 > 0), gain, -np.inf)
    best = np.argpartition(gain.ravel(), -min(_CANDIDATES, gain.size))[-_CANDIDATES:]
    return np.unravel_index(best[np.isfinite(gain.ravel()[best])], gain.shape)


def _sums(first: Array, second: Array, values: Array, weights: Array) -> tuple[Array, Array]:
    """Return leave-one-out errors of c₀ + c₁ f + c₂ g for rows of f and g, shape (pairs,), and these c, (pairs, 3)."""
    design = np.stack([np.ones_like(first), first, second], axis=-1)
    root = np.sqrt(weights)
    # The orthogonal factor gives the fit and the leverage at once.
    orthogonal, triangle = np.linalg.qr(design * root[:, None])
    target = values * root
    along = np.einsum("ipc,p->ic", orthogonal, target)
    residual = target - np.einsum("ipc,ic->ip", orthogonal, along)
    freedom = 1 - (orthogonal**2).sum(axis=-1)
    solvable = np.abs(np.diagonal(triangle, axis1=-2, axis2=-1)).min(axis=-1) > _EXACT
    solvable &= freedom.min(axis=-1) > _EXACT
    numbers = np.zeros((len(design), 3))
    numbers[solvable] = np.linalg.solve(triangle[solvable], along[solvable][..., None])[..., 0]
    errors = (residual / np.where(freedom > 0, freedom, 1.0)) ** 2
    usable = solvable & (numbers[:, 1:] > 0).all(axis=-1)
    return np.where(usable, errors.sum(axis=-1), np.inf), numbers


@checked
def fit_surface(
    x: ArrayLike, y: ArrayLike, values: ArrayLike, first: Sequence[Growth], second: Sequence[Growth]
) -> SurfaceModel:
    """Return the best model over two parameters: a constant, c₀ + c₁ f(x) g(y), or c₀ + c₁ f(x) + c₂ g(y).

    Parameters
    ----------
    x, y, values : shape (points,)
        The two parameters, each ≥ 1, and what was measured there, repetitions reduced; at least nine points.
    first, second : sequences of Growth
        Terms of `x` and of `y`. Where one parameter makes no difference, a term of the other alone is found.

    Raises
    ------
    InputError
        For too few points, shapes that differ, or numbers that cannot be.

    Notes
    -----
    The smallest leave-one-out error of relative residuals chooses. Coefficients are positive; a product must be better
    than noise about a constant would be (as in `fit`), and a sum must be clearly better than the best product.

    Examples
    --------
    >>> from commmodel.scaling.growth import parse_growth
    >>> p, n = np.meshgrid([2.0, 4, 8, 16, 32], [1.0, 10, 100, 1000, 10000])
    >>> terms = [parse_growth(text) for text in ("log p", "p^0.5", "p")]
    >>> fit_surface(p.ravel(), n.ravel(), (3 + 2 * np.log2(p) * n).ravel(), terms, terms).text("p", "n")
    '3 + 2 log p n'
    >>> fit_surface(p.ravel(), n.ravel(), (3 + 2 * np.log2(p) + 5 * n).ravel(), terms, terms).text("p", "n")
    '3 + 2 log p + 5 n'
    """
    at_x, at_y, measured = (numbers(name, value) for name, value in (("x", x), ("y", y), ("values", values)))
    if not at_x.shape == at_y.shape == measured.shape or at_x.ndim != 1:
        raise InputError(f"shapes {at_x.shape}, {at_y.shape} and {measured.shape}: give one list each, equally long")
    if measured.size < FEWEST_POINTS:
        raise InputError(f"{measured.size} points: too few for two parameters: measure at {FEWEST_POINTS}, better 25")
    if not (np.isfinite([at_x, at_y, measured]).all() and (at_x >= 1).all() and (at_y >= 1).all()):
        raise InputError("points: values must be finite numbers, and both parameters at least 1")
    design = _designed(tuple(at_x.tolist()), tuple(at_y.tolist()), tuple(first), tuple(second))
    shares, weights, (unit,) = normalised(measured[None])
    unit, exact = float(unit), measured.size * _EXACT**2
    products = _best_products(design, shares[0], weights[0]) if len(design.columns) else np.empty(0, np.int64)
    columns = design.columns[products]
    fits = search(columns, shares, weights)
    constant = SurfaceModel(float(fits.mean[0]) * unit, ())
    if float(fits.total[0]) <= exact or not products.size:
        return constant
    odds = evidence(fits, columns, design.prior[products], "cross-validation")[0]
    best = int(odds.argmax())
    if float(odds[best]) < design.needed:
        return constant
    i, j = divmod(int(products[best]) + 1, len(design.seconds))
    slope = float(fits.slope[0, best]) * unit / float(design.largest[0][i] * design.largest[1][j])
    product = SurfaceModel(float(fits.constant[0, best]) * unit, ((slope, design.firsts[i], design.seconds[j]),))
    product_error = float(fits.loo[0, best])
    if len(design.firsts) < 2 or len(design.seconds) < 2 or product_error <= exact:
        return product
    i_, j_ = _best_sums(design.first[1:], design.second[1:], shares[0], weights[0])
    if not i_.size:
        return product
    errors, fitted = _sums(design.first[i_ + 1], design.second[j_ + 1], shares[0], weights[0])
    least = int(errors.argmin())
    if not errors[least] < _LEAST_GAIN * product_error:
        return product
    i, j = int(i_[least]) + 1, int(j_[least]) + 1
    c0, c1, c2 = (float(coefficient) * unit for coefficient in fitted[least])
    first_term = c1 / float(design.largest[0][i]), design.firsts[i], ONE
    other = c2 / float(design.largest[1][j]), ONE, design.seconds[j]
    return SurfaceModel(c0, (first_term, other))
