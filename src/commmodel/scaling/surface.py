"""Models of two parameters at once, such as processes and message size. Main entry: `fit_surface`.

Source: Calotoiu and others, "Fast Multi-Parameter Performance Modeling" (2016): a product of two terms or their sum.
Here all pairs of terms are tried, in closed form as in `commmodel.scaling.fitting`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commmodel.errors import InputError
from commmodel.scaling.fitting import evidence, needed_evidence, normalised, search
from commmodel.scaling.growth import ONE, Growth
from commmodel.scaling.space import prior_odds

__all__ = ["SurfaceModel", "fit_surface"]

Array = NDArray[np.float64]

FEWEST_POINTS = 9
_DRAWS = 500
_EXACT = 1e-10  # relative residuals below are rounding
_LEAST_GAIN = 0.8  # a sum has one number more than a product: it must leave less than this share of its error


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

    def text(self, first: str, second: str) -> str:
        """Return the formula with its numbers; `first` and `second` name the parameters."""
        words = [f"{self.constant:.4g}"]
        for coefficient, *growths in self.parts:
            named = zip(growths, (first, second), strict=True)
            words.append(" ".join([f"{coefficient:.6g}", *(one.text(over) for one, over in named if one != ONE)]))
        return " + ".join(words)


def _values(terms: Sequence[Growth], at: Array) -> tuple[list[Growth], Array, Array]:
    """Return the terms that stay finite and vary, the constant first, their values over the largest, and these."""
    kept, rows = [ONE], [np.ones_like(at)]
    for term in dict.fromkeys(terms):
        row = term(at)
        if np.isfinite(row).all() and row.max() > row.min():
            kept.append(term)
            rows.append(row)
    values = np.array(rows)
    largest = values.max(axis=1)
    return kept, values / largest[:, None], largest


def _sums(first: Array, second: Array, values: Array, weights: Array) -> tuple[Array, Array]:
    """Return leave-one-out errors of c₀ + c₁ f + c₂ g, shape (firsts, seconds), and these c, the last axis."""
    shape = (len(first), len(second), len(values))
    design = np.stack([np.ones(shape), *np.broadcast_arrays(first[:, None], second[None])], axis=-1)
    root = np.sqrt(weights)
    # The orthogonal factor gives the fit and the leverage at once.
    orthogonal, triangle = np.linalg.qr(design * root[:, None])
    target = values * root
    along = np.einsum("fgpc,p->fgc", orthogonal, target)
    residual = target - np.einsum("fgpc,fgc->fgp", orthogonal, along)
    freedom = 1 - (orthogonal**2).sum(axis=-1)
    solvable = np.abs(np.diagonal(triangle, axis1=-2, axis2=-1)).min(axis=-1) > _EXACT
    solvable &= freedom.min(axis=-1) > _EXACT
    numbers = np.zeros((*shape[:2], 3))
    numbers[solvable] = np.linalg.solve(triangle[solvable], along[solvable][..., None])[..., 0]
    errors = (residual / np.where(freedom > 0, freedom, 1.0)) ** 2
    usable = solvable & (numbers[..., 1:] > 0).all(axis=-1)
    return np.where(usable, errors.sum(axis=-1), np.inf), numbers


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
    >>> from commmodel.scaling.growth import parse
    >>> p, n = np.meshgrid([2.0, 4, 8, 16, 32], [1.0, 10, 100, 1000, 10000])
    >>> terms = [parse(text) for text in ("log p", "p^0.5", "p")]
    >>> fit_surface(p.ravel(), n.ravel(), (3 + 2 * np.log2(p) * n).ravel(), terms, terms).text("p", "n")
    '3 + 2 log p n'
    >>> fit_surface(p.ravel(), n.ravel(), (3 + 2 * np.log2(p) + 5 * n).ravel(), terms, terms).text("p", "n")
    '3 + 2 log p + 5 n'
    """
    at_x, at_y, measured = (np.asarray(one, dtype=np.float64) for one in (x, y, values))
    if not at_x.shape == at_y.shape == measured.shape or at_x.ndim != 1:
        raise InputError(f"shapes {at_x.shape}, {at_y.shape} and {measured.shape}: give one list each, equally long")
    if measured.size < FEWEST_POINTS:
        raise InputError(f"{measured.size} points: too few for two parameters: measure at {FEWEST_POINTS}, better 25")
    if not (np.isfinite(measured).all() and (at_x >= 1).all() and (at_y >= 1).all()):
        raise InputError("points: values must be finite numbers, and both parameters at least 1")
    firsts, f, f_largest = _values(first, at_x)
    seconds, g, g_largest = _values(second, at_y)
    shares, weights, (unit,) = normalised(measured[None])
    columns = (f[:, None] * g[None]).reshape(-1, measured.size)
    found = search(columns[1:], shares, weights)
    unit, mean = float(unit), float(found.mean[0])
    total = float(found.total[0])
    if total <= measured.size * _EXACT**2 or not len(columns) > 1:
        return SurfaceModel(mean * unit, ())
    before = np.outer([prior_odds(one) for one in firsts], [prior_odds(one) for one in seconds]).ravel()[1:]
    odds = evidence(found, columns[1:], before, "cross-validation")[0]
    if float(odds.max()) < needed_evidence(columns[1:], before, "cross-validation", _DRAWS):
        product_error, product = np.inf, SurfaceModel(mean * unit, ())
    else:
        best = int(odds.argmax())
        i, j = divmod(best + 1, len(seconds))
        slope = float(found.slope[0, best])
        scale = float(f_largest[i] * g_largest[j])
        product_error = float(found.loo[0, best])
        constant = float(found.constant[0, best])
        product = SurfaceModel(constant * unit, ((slope * unit / scale, firsts[i], seconds[j]),))
    if not product.parts or len(firsts) < 2 or len(seconds) < 2:
        return product
    errors, numbers = _sums(f[1:], g[1:], shares[0], weights[0])
    i, j = divmod(int(errors.argmin()), errors.shape[1])
    if not (errors[i, j] < _LEAST_GAIN * product_error and product_error > measured.size * _EXACT**2):
        return product
    c0, c1, c2 = (float(one) * unit for one in numbers[i, j])
    one = c1 / float(f_largest[i + 1]), firsts[i + 1], ONE
    other = c2 / float(g_largest[j + 1]), ONE, seconds[j + 1]
    return SurfaceModel(c0, (one, other))
