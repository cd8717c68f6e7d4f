"""Functions compiled by numba, which is loaded here alone and at the first use.

All do the same arithmetic in the same order as in Python. Compiled code is kept on disk from one start to the next,
where there is a folder for it. Main entries: `vectorized`, `loop_over_grid` and `compiled`.
"""

import warnings
from collections.abc import Callable
from functools import lru_cache, partial
from types import FunctionType
from typing import Any
from zlib import crc32

__all__ = ["compiled", "loop_over_grid", "vectorized"]


def _kept(compile_with: Callable[..., Any], function: Callable[..., Any]) -> Any:
    """Return a compiled function that is kept on disk, or where there is no folder for it, in memory."""
    try:
        return compile_with(cache=True)(function)
    except RuntimeError as error:  # numba found no folder where it may write its cache
        warnings.warn(
            f"{error}; compiling in memory, at every start: set NUMBA_CACHE_DIR to a writable folder",
            RuntimeWarning,
            stacklevel=3,
        )
        return compile_with()(function)


def vectorized(function: Callable[..., float]) -> Any:
    """Return a function of numbers as a universal function of numpy, of float64."""
    import numba

    signature = numba.float64(*[numba.float64] * function.__code__.co_argcount)
    return _kept(partial(numba.vectorize, [signature], nopython=True), function)


@lru_cache(maxsize=256)
def loop_over_grid(function: Callable[..., float], kinds: str) -> Any:
    """Return a loop that writes a formula to a grid; a letter of `kinds` for each argument.

    Letters: s, a single number; c, a column; r, a row; f, a full grid.
    """
    import numba

    names = [f"argument{index}" for index in range(len(kinds))]
    named = list(zip(names, kinds, strict=True))
    elements = {"s": "{}", "c": "{}_here", "r": "{}[j]", "f": "{}[i, j]"}
    source = [
        "    for i in range(result.shape[0]):",
        *(f"        {name}_here = {name}[i]" for name, kind in named if kind == "c"),
        "        for j in range(result.shape[1]):",
        f"            result[i, j] = formula({', '.join(elements[kind].format(name) for name, kind in named)})",
    ]
    # Named after its text, and with the place of the formula: numba keeps compiled code under both.
    name = f"{function.__name__.strip('<>')}_over_grid_{kinds}_{crc32(repr(source).encode()):08x}"
    text = "\n".join([f"def {name}(result, {', '.join(names)}):", *source])
    scope: dict[str, Any] = {"formula": numba.njit(error_model="numpy")(function), "__name__": function.__module__}
    exec(compile(text, function.__code__.co_filename, "exec"), scope)  # noqa: S102, of the text above alone
    number = numba.float64
    line, grid = (numba.types.Array(number, dimensions, "C", readonly=True) for dimensions in (1, 2))
    types = {"s": number, "c": line, "r": line, "f": grid}
    signature = numba.void(number[:, ::1], *(types[kind] for kind in kinds))
    return _kept(partial(numba.njit, signature, error_model="numpy"), scope[name])


@lru_cache(maxsize=64)
def compiled(function: FunctionType, signature: str) -> Any:
    """Return a function with loops, compiled for one signature in numba's words.

    It calls formulas and other plain functions by the global names of its module; compiled, these names mean their
    compiled forms, so that everything is written once.
    """
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
    return _kept(partial(numba.njit, signature, error_model="numpy"), own)
