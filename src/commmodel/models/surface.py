"""Formulas over large grids, compiled to run at memory speed. Main entry: `over_grid`.

numba's universal functions calculate four or eight numbers at once only where every argument has as many elements as
the result. Where arguments are broadcast, sizes down and pairs across, they go one by one, at the pace of the
division. So for large results a loop is written for the very shapes at hand: a number stays in a register, a column is
read once a row. It does the same arithmetic in the same order. Main entry: `over_grid`.

Stores past the cache were tried and left out: they win a third where 80 MB at hand are written over, but nothing once
these are read, and they lose where the memory is fresh or the result fits in a cache.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commmodel.models.compiled import loop_over_grid

__all__ = ["Array", "is_worthwhile", "over_grid", "takes_grid"]

Array = NDArray[np.float64]

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


def over_grid(
    function: Callable[..., float], arguments: Sequence[Array], shape: tuple[int, ...], out: Array | None = None
) -> Array:
    """Return the values of a function of numbers over arrays that broadcast to `shape` (at least one dimension).

    An `out` that `takes_grid` is written to and returned.

    >>> from commmodel.models import postal
    >>> over_grid(postal.time.python, [np.array([[0.0], [8.0]]), np.array([1.0, 2.0]), np.array(0.5)], (2, 2))
    array([[1., 2.],
           [5., 6.]])
    """
    columns = shape[-1]
    result = _fresh(shape) if out is None else out
    kinds, given = "", []
    for argument in arguments:
        across = argument.ndim > 0 and argument.shape[-1] != 1
        down = any(length != 1 for length in argument.shape[:-1])
        value: Any
        if across and down:
            kind, value = "f", _plain(np.broadcast_to(argument, shape)).reshape(-1, columns)
        elif across:
            kind, value = "r", _plain(argument.reshape(-1))
        elif down:
            kind, value = "c", _plain(np.broadcast_to(argument[..., 0], shape[:-1])).reshape(-1)
        else:
            kind, value = "s", argument.item()
        kinds += kind
        given.append(value)
    loop_over_grid(function, kinds)(np.asarray(result).reshape(-1, columns), *given)
    return result


def _fresh(shape: tuple[int, ...]) -> Array:
    """Return new memory aligned to a huge page, which saves hundreds of page faults at its beginning."""
    count = int(np.prod(shape, dtype=np.int64))
    memory = np.empty(count + _HUGE)
    start = -memory.ctypes.data // memory.itemsize % _HUGE
    return memory[start : start + count].reshape(shape)


def _plain(array: Array) -> Array:
    """Return the same numbers contiguous in memory; a copy only where they are not."""
    return np.require(array, requirements=["C", "A"])
