"""Shadow execution: what a program says of itself so that thousands of its ranks can be simulated on one machine.

`sampled` marks a block that is timed a few times and charged its mean then; `shared_array` makes an array that all
ranks share, for data of which only the size matters. Both do so where the program runs simulated (``commmodel simulate
WHERE run``) and nothing in any other run: the block runs, and each rank has an array of its own. The header
``commmodel.h`` has the same for C. The source of both is Bédaride et al. 2013, Section III.

Main entries: `sampled`, `shared_array`. Also as ``commmodel.sampled`` and ``commmodel.shared_array``.
"""

import ctypes
import math
import sys
from collections.abc import Hashable, Iterator
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from commmodel.arguments import Count, Whole
from commmodel.errors import InputError
from commmodel.signatures import checked

__all__ = ["SampledBlock", "include_folder", "sampled", "shared_array"]


@cache
def _library() -> Any:
    """Return the library of the simulation in which this process is a rank; None where it is none."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "commmodel_sample_begin"):
        return None
    library.commmodel_shared_memory.restype = ctypes.c_void_p
    library.commmodel_shared_memory.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    return library


class SampledBlock:
    """A block of a program, to be entered by ``for`` or ``with``; see `sampled`."""

    def __init__(self, site: str, runs: int, by_all: bool) -> None:
        self._site, self._runs, self._by_all = site.encode("utf-8", "replace"), runs, by_all

    def __iter__(self) -> Iterator[None]:
        """Yield once where the block has to run."""
        library = _library()
        if library is None:
            yield
        elif library.commmodel_sample_begin(self._site, self._runs, self._by_all, 1):
            try:
                yield
            finally:
                library.commmodel_sample_end()

    def __enter__(self) -> Self:
        """Begin a block that always runs."""
        library = _library()
        if library is not None:
            library.commmodel_sample_begin(self._site, self._runs, self._by_all, 0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End it."""
        library = _library()
        if library is not None:
            library.commmodel_sample_end()


def _call_site() -> str:
    """Return file and line from which a function here is called, behind the check of its arguments."""
    frame = sys._getframe(3)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


@checked
def sampled(runs: Count = 3, *, by_all: bool = False, key: Hashable = None) -> SampledBlock:
    """Return a block whose time is measured in its first runs at this line, and then taken to be their mean.

    ``for _ in sampled():`` says that the result is not needed: after these runs the block is skipped. ``with
    sampled():`` runs it always. A block computes only: in a simulation, it must not call MPI.

    Parameters
    ----------
    runs : int
        How many times it is timed.
    by_all : bool
        Whether so many runs of all ranks together are enough, in place of so many of each.
    key : hashable, optional
        What its time depends on, as the size of a problem: each key is timed by itself.

    Raises
    ------
    InputError
        Where `runs` is below 1.

    Examples
    --------
    >>> from commmodel import sampled
    >>> total = 0
    >>> for step in range(100):
    ...     for _ in sampled(5):
    ...         total += step
    >>> total  # no simulation: all of it has run
    4950
    """
    if runs < 1:
        raise InputError(f"a block that is sampled {runs} times: it must run once at least")
    name = _call_site()
    return SampledBlock(name if key is None else f"{name} {key!r}", runs, by_all)


@checked
def shared_array(shape: Whole | tuple[Whole, ...], dtype: Any = float) -> Any:
    """Return an array of zeros that all ranks share which ask for that many bytes at this line.

    What stands in it is then what any of them has written last, so that it is for data whose values do not steer the
    program. In any other run, and without MPI, it is an array of the rank's own.

    Parameters
    ----------
    shape : int or tuple of int
        Elements, 0 or more, in each dimension.
    dtype : data type

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> from commmodel import shared_array
    >>> shared_array((2, 3)).sum()
    np.float64(0.0)
    """
    import numpy as np

    library = _library()
    size = np.dtype(dtype).itemsize * math.prod(shape if isinstance(shape, tuple) else (shape,))
    if library is None or not size:
        return np.zeros(shape, dtype)
    address = library.commmodel_shared_memory(_call_site().encode("utf-8", "replace"), size)
    if not address:  # before MPI has begun
        return np.zeros(shape, dtype)
    return np.frombuffer((ctypes.c_char * size).from_address(address), dtype).reshape(shape)


def include_folder() -> str:
    """Return the folder of ``commmodel.h``, which has the same for C."""
    return str(Path(__file__).with_name("include"))
