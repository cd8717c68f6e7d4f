"""Formulas over large grids, compiled to run at memory speed. Main entry: `over_grid`.

numba's universal functions calculate four or eight numbers at once only where every argument has as many elements as
the result. Where arguments are broadcast, sizes down and pairs across, they go one by one, at the pace of the
division. Called inside compiled code, they are loops of their own over the very types at hand: a number stays in a
register, a column is read once a row. They do the same arithmetic in the same order.

Stores past the cache were tried and left out: they win a third where 80 MB at hand are written over, but nothing once
these are read, and they lose where the memory is fresh or the result fits in a cache.
"""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from commmodel.arrays import Array
from commmodel.models.compiled import compile_cached

_LARGE = 1_000_000
"""Elements from which on the loop saves more than loading it costs."""
_LONG = 64
"""Elements of a row below which its beginning and its end cost more than the loop saves."""
_HUGE = 2**21 // 8
"""Elements of a huge page."""


def is_worthwhile(shape: tuple[int, ...]) -> bool:
    """Whether a result of this shape is large enough, with long rows."""
    return bool(shape) and shape[-1] >= _LONG and int(np.prod(shape, dtype=np.int64)) >= _LARGE


def takes_grid(out: Array, shape: tuple[int, ...], arguments: Sequence[Array]) -> bool:
    """Whether the loop may write to this array: contiguous, of the result's shape, not shared with an argument.

    >>> grid = np.zeros((2, 3))
    >>> takes_grid(grid, (2, 3), [np.array(1.0)]), takes_grid(grid, (2, 3), [grid[0]])
    (True, False)
    """
    return (
        isinstance(out, np.ndarray)
        and out.dtype == np.float64
        and out.shape == shape
        and out.flags.carray
        and not any(np.may_share_memory(out, argument) for argument in arguments)
    )


def over_grid(formula: Any, arguments: Sequence[Array], shape: tuple[int, ...], out: Array | None = None) -> Array:
    """Return the values of a formula over arrays that broadcast to `shape` (at least one dimension).

    An `out` that `takes_grid` is written to and returned.

    >>> from commmodel.models import postal
    >>> over_grid(postal.time, [np.array([[0.0], [8.0]]), np.array([1.0, 2.0]), np.array(0.5)], (2, 2))
    array([[1., 2.],
           [5., 6.]])
    """
    columns = shape[-1]
    result = _fresh(shape) if out is None else out
    table = np.asarray(result).reshape(-1, columns)
    _loop(formula)(tuple(_two_dimensional(argument, shape) for argument in arguments), table)
    return result


def _two_dimensional(argument: Array, shape: tuple[int, ...]) -> Any:
    """Return an argument as a number, a row, a column or a table, contiguous, of a result in rows of its last axis."""
    across = argument.ndim > 0 and argument.shape[-1] != 1
    down = any(length != 1 for length in argument.shape[:-1])
    if not down:
        return _plain(argument.reshape(-1)) if across else argument.item()
    width = shape[-1] if across else 1
    return _plain(np.broadcast_to(argument, (*shape[:-1], width))).reshape(-1, width)


@cache
def _loop(formula: Any) -> Any:
    """Return a loop that writes a formula to a table."""
    import numba

    function: Any = formula.compiled if numba.config.DISABLE_JIT else formula  # type: ignore[attr-defined]

    def write(arguments: tuple[Any, ...], table: Array) -> None:
        function(*arguments, table)

    return compile_cached(partial(numba.njit, error_model="numpy"), write, formula.python)


def _fresh(shape: tuple[int, ...]) -> Array:
    """Return new memory aligned to a huge page, which saves hundreds of page faults at its beginning."""
    count = int(np.prod(shape, dtype=np.int64))
    memory = np.empty(count + _HUGE)
    start = -memory.ctypes.data // memory.itemsize % _HUGE
    return memory[start : start + count].reshape(shape)


def _plain(array: Array) -> Array:
    """Return the same numbers contiguous in memory, to read only; a copy only where they are not."""
    plain = np.require(array, requirements=["C", "A"]).view()
    plain.flags.writeable = False  # arrays to read and to write are different types to numba
    return plain
