"""Sums of simple terms that values follow exactly, such as p² − p. Main entry: `exact_sums`.

Times scatter, counts do not. Of messages, comparisons or bytes a formula often subtracts a lower term, which one term
alone cannot show: near p² − p lies p^1.75 log p. So what such a sum describes to the last digits has its leading term.
"""

import functools
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from commmodel.arrays import Array
from commmodel.scaling.growth import ONE, Growth, parse_growth

Sum = tuple[tuple[float, Growth], ...]
"""(coefficient, term), the leading term first, a constant last."""

_SIMPLE = tuple(map(parse_growth, ("x^3", "x^2 log x", "x^2", "x log x", "x", "log x")))
_EXACT = 1e-9  # of a value: what is beside it by less is rounding
_LEAST = 1e-3  # of the largest value: rounding of smaller ones is that of it


@functools.lru_cache(maxsize=64)
def _candidates(scales: tuple[float, ...]) -> tuple[tuple[tuple[Growth, ...], Array, Array], ...]:
    """Return sums with a scale to spare, those of fewest terms first: terms, their values, and what solves for them."""

    def prepared() -> Iterator[tuple[tuple[Growth, ...], Array, Array]]:
        for count in range(2, min(len(scales) - 2, 3) + 1):
            for terms in combinations(_SIMPLE, count):
                columns = np.stack([term(scales) for term in (*terms, ONE)], axis=1)
                largest = columns.max(axis=0)
                if np.isfinite(largest).all():
                    yield (*terms, ONE), columns, np.linalg.pinv(columns / largest) / largest[:, None]

    return tuple(prepared())


def exact_sums(scales: Array, values: Array) -> dict[int, Sum]:
    """Return the sums of two or three terms and a constant that kernels follow exactly, by row of `values`.

    >>> p = np.array([2.0, 4, 8, 16, 32])
    >>> (total,) = exact_sums(p, np.array([p**2 - p, p**1.5])).values()
    >>> [(round(coefficient, 6), term.text("p")) for coefficient, term in total]
    [(1.0, 'p^2'), (-1.0, 'p')]
    """
    sums: dict[int, Sum] = {}
    largest = np.abs(values).max(axis=1, keepdims=True)
    tolerance = _EXACT * np.maximum(np.abs(values), _LEAST * largest)
    for terms, columns, solver in _candidates(tuple(scales.tolist())):
        coefficients = values @ solver.T
        is_exact = (np.abs(coefficients @ columns.T - values) <= tolerance).all(axis=1)
        for kernel in np.flatnonzero(is_exact).tolist():
            sizes = np.abs(coefficients[kernel]) * columns.max(axis=0)
            is_there = sizes > _EXACT * largest[kernel, 0]
            if kernel not in sums and is_there[:-1].all() and coefficients[kernel, 0] > 0:
                parts = zip(coefficients[kernel].tolist(), terms, is_there.tolist(), strict=True)
                sums[kernel] = tuple((coefficient, term) for coefficient, term, is_kept in parts if is_kept)
    return sums
