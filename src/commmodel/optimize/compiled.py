"""Loops over grids, written as plain functions that numba compiles at first use. Main entry: `compiled`.

A loop calls formulas and other plain functions of its module by their global names. Compiled, these names mean their
compiled forms, so that everything is written once. It does the same arithmetic in the same order as in Python.
"""

import warnings
from functools import lru_cache
from types import FunctionType
from typing import Any
from zlib import crc32

__all__ = ["compiled"]


@lru_cache(maxsize=64)
def compiled(function: FunctionType, signature: str) -> Any:
    """Return a function compiled for one signature (numba's notation) and cached on disk."""
    import numba

    plain = {name: one for name, one in function.__globals__.items() if isinstance(one, FunctionType)}
    scope = function.__globals__ | {
        name: numba.njit(error_model="numpy")(one) for name, one in plain.items() if one.__module__ != __name__
    }
    for name, one in plain.items():
        if one.__module__ == function.__module__:
            scope[name] = numba.njit(error_model="numpy")(FunctionType(one.__code__, scope, name))
    # numba keeps compiled code under a function's name and the date of its file, and does not look at what it calls.
    codes = sorted((name, one.__code__.co_code, one.__code__.co_consts) for name, one in plain.items())
    version = crc32(repr(codes).encode())
    own = FunctionType(function.__code__, scope, f"{function.__name__}_{version:08x}")
    own.__qualname__, own.__module__ = own.__name__, function.__module__
    try:
        return numba.njit(signature, error_model="numpy", cache=True)(own)
    except RuntimeError as error:  # numba found no folder where it may write its cache
        warnings.warn(
            f"{error}; compiling in memory, at every start: set NUMBA_CACHE_DIR to a writable folder",
            RuntimeWarning,
            stacklevel=2,
        )
        return numba.njit(signature, error_model="numpy")(own)
