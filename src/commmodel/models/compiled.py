"""Functions compiled by numba, which is loaded at the first use of one. Main entry: `compiled`.

Compiled code does the same arithmetic in the same order as Python. It may call by name what is `compiled` and every
`Formula`: to numba an object is what its ``_numba_type_`` says, and theirs is that of their compiled form.

Compiled code is kept on disk from one start to the next, where there is a folder for it. numba keeps it under the name
of the function, and compiles anew where the file of that function has changed; of formulas in other files it knows
nothing. So `compile_cached` adds a digest to the name, of that file and of all files of this folder.
"""

import warnings
from collections.abc import Callable
from functools import cache, cached_property, partial, update_wrapper
from pathlib import Path
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar
from zlib import crc32

import numpy as np

from commmodel.progress import ProgressLine

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_FEW = 50_000
"""Evaluations that take plain Python about as long as loading numba and compiled code."""


_COMPILING = "compiling the formulas, once"


class Compiled(Generic[Arguments, Result]):
    """A function that runs compiled where that pays, and that other compiled functions may call."""

    evaluations = 0
    """In plain Python so far, of all functions that count them."""

    def __init__(self, function: Callable[Arguments, Result], count: Callable[..., int] | None = None) -> None:
        self.python = function
        """The function as plain Python."""
        self._count = count
        update_wrapper(self, function)

    def __call__(self, *arguments: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        """Run the plain form while evaluations are few, then the compiled form; parts of other functions run plain."""
        if self._count is None:
            return self.python(*arguments, **keywords)
        if "compiled" not in vars(self):
            Compiled.evaluations += self._count(*arguments, **keywords)
            if Compiled.evaluations < _FEW:
                with np.errstate(all="ignore"):
                    return self.python(*arguments, **keywords)
        result: Result = self.compiled(*arguments, **keywords)
        return result

    @cached_property
    def compiled(self) -> Any:
        """The compiled form: kept on disk, or part of the functions that call it."""
        import numba

        compile_with = partial(numba.njit, error_model="numpy")
        return compile_with(self.python) if self._count is None else compile_cached(compile_with, self.python)

    @property
    def _numba_type_(self) -> Any:
        import numba

        return numba.typeof(self.compiled)


def compiled(
    count: Callable[..., int] | None = None,
) -> Callable[[Callable[Arguments, Result]], Compiled[Arguments, Result]]:
    """Compile a function for the types of its arguments, or without `count`, as part of those that call it.

    `count` takes the arguments and returns the number of evaluations: few are done in plain Python, with the same bits.
    """
    return partial(Compiled, count=count)


def compile_cached(compile_with: Callable[..., Any], function: Callable[..., Any], named_after: Any = None) -> Any:
    """Return a compiled function that is kept on disk, or where there is no folder for it, in memory.

    Its name there is its own or that of another function, which it calls, with the digest of that function's sources.
    """
    name_giver = named_after or function
    function = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )  # a copy: users see the name of the other in messages
    function.__qualname__ = f"{name_giver.__name__}_{_digest(name_giver.__code__.co_filename)}"
    _show_compiling()
    try:
        with ProgressLine(_COMPILING, at_terminal=True):
            return compile_with(cache=True)(function)
    except RuntimeError:  # numba found no folder where it may write its cache
        _warn_of_no_folder()
        return compile_with()(function)


@cache
def _show_compiling() -> None:
    """Show a line while numba compiles a function of commmodel for new types, at its call."""
    from numba.core import event

    lines: list[ProgressLine] = []  # a lock of numba lets one thread compile

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            if event.data["dispatcher"].py_func.__module__.startswith("commmodel."):
                lines.append(ProgressLine(_COMPILING, at_terminal=True).__enter__())

        def on_end(self, event: Any) -> None:
            if lines and event.data["dispatcher"].py_func.__module__.startswith("commmodel."):
                lines.pop().__exit__(None, None, None)

    event.register("numba:compile", Listener())


@cache
def _warn_of_no_folder() -> None:
    problem = "numba finds no folder for compiled formulas; compiling in memory, at every start"
    warnings.warn(f"{problem}: set NUMBA_CACHE_DIR to a writable folder", RuntimeWarning, stacklevel=4)


@cache
def _digest(path: str) -> str:
    """Return a digest of a source file and of all formulas."""
    files = {Path(path), *Path(__file__).parent.glob("*.py")}
    return f"{crc32(b''.join(file.read_bytes() for file in sorted(files) if file.is_file())):08x}"
