"""Formulas written once for numbers, which numba compiles for arrays. Main entry: `formula`.

numba is loaded at the first call with an array, so that importing the models costs nothing and code that asks
for single numbers never pays for it.
"""

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial, update_wrapper
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeAlias, overload

import numpy as np

from commmodel.arguments import Numbers, numbers, refuse
from commmodel.arrays import Array
from commmodel.errors import InputError
from commmodel.models.compiled import compile_cached
from commmodel.models.surface import is_worthwhile, over_grid, takes_grid

if TYPE_CHECKING:
    Real: TypeAlias = Any
else:
    Real = float
"""What a formula takes: for itself a number, for its callers and their type checkers also an array."""
_Parameters = ParamSpec("_Parameters")
_NUMBERS = {int, float, np.float64}


class Formula(Generic[_Parameters]):
    """A formula that takes numbers or arrays that broadcast.

    >>> from commmodel.models import postal
    >>> postal.time(1000, 2e-6, 1e-9)
    3e-06
    >>> postal.time(np.array([0, 1000]), 2e-6, 1e-9)
    array([2.e-06, 3.e-06])

    An array as `out` takes the result, by the rules of numpy's universal functions:

    >>> seconds = np.empty(2)
    >>> postal.time(np.array([0, 1000]), 2e-6, 1e-9, out=seconds) is seconds
    True
    """

    def __init__(self, function: Callable[_Parameters, float]) -> None:
        self.python: Any = function
        """The formula as plain Python."""
        update_wrapper(self, function)
        self.__doc__ = _with_parameters(function)

    @overload  # of numbers alone a number: the second overload takes them, too, and is not asked
    def __call__(self, *arguments: float) -> float: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, *arguments: float | Numbers, out: Array | None = None) -> Array: ...
    @overload
    def __call__(self, *arguments: _Parameters.args, **keywords: _Parameters.kwargs) -> Any: ...
    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Return a float, or where an argument is an array, an array of float64 of the broadcast shape.

        Give `out` where large results are made again and again: fresh memory, which the system fills with zeros
        first, can take longer than the formula.
        """
        out = keywords.pop("out", None)
        if out is not None and not hasattr(out, "strides"):
            raise refuse("out", out, "give an array")
        if keywords or len(arguments) != self.python.__code__.co_argcount:
            arguments = self._bound(arguments, keywords)
        is_plain = _NUMBERS.issuperset(map(type, arguments))  # the usual case, and quick
        if out is None and (
            is_plain
            or not any(hasattr(argument, "__iter__") and getattr(argument, "ndim", 1) for argument in arguments)
        ):
            if not is_plain:
                arguments = tuple(
                    numbers(name, value).item()
                    for name, value in zip(self.python.__code__.co_varnames, arguments, strict=False)
                )
            if (total := sum(arguments)) != total:
                self._refuse_nan(arguments)
            return self.python(*arguments)
        arrays = [*map(numbers, self.python.__code__.co_varnames, arguments)]
        if any(array.size and (most := array.max()) != most for array in arrays):
            self._refuse_nan(arrays)
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        if is_worthwhile(shape) and (out is None or takes_grid(out, shape, arrays)):
            return over_grid(self, arrays, shape, out)
        with np.errstate(all="ignore"):  # vector code computes both sides of a branch, and flags what it throws away
            return self.compiled(*arrays, out=out)

    def _bound(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """Return the arguments in their order; raise where one is missing, unknown or too many."""
        signature = inspect.signature(self.python)
        try:
            return signature.bind(*arguments, **keywords).args
        except TypeError as error:
            title = f"{self.python.__module__.rpartition('.')[2]}.{self.python.__name__}"
            raise InputError(f"{title}: {error}: it takes {', '.join(signature.parameters)}") from None

    def _refuse_nan(self, arguments: Sequence[Any]) -> None:
        for name, values in zip(self.python.__code__.co_varnames, arguments, strict=False):
            if np.isnan(values).any():
                raise refuse(name, float("nan"), "give numbers")

    @cached_property
    def compiled(self) -> Any:
        """The formula as a numpy universal function of float64, compiled at first use."""
        import numba

        signature = numba.float64(*[numba.float64] * self.python.__code__.co_argcount)
        return compile_cached(partial(numba.vectorize, [signature], nopython=True), self.python)

    def __reduce__(self) -> Any:
        """Pickle by name, as functions are; numba tells compiled code that calls formulas apart by that."""
        name = self.python.__name__
        if getattr(sys.modules.get(self.__module__), name, None) is self:
            return name
        return Formula, (self.python,)

    @property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target

        return cpu_target.typing_context.resolve_value_type(self.compiled)


def _with_parameters(function: Callable[..., float]) -> str | None:
    """Return a formula's docstring, with what its module's docstring says of its arguments."""
    text, arguments = inspect.getdoc(function), _arguments(function.__globals__.get("__doc__") or "")
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    if text is None or "Parameters\n" in text or not arguments.keys() >= set(names):
        return text
    return f"{text}\n\nParameters\n----------\n" + "".join(f"{name} : float\n{arguments[name]}" for name in names)


@cache
def _arguments(glossary: str) -> dict[str, str]:
    r"""Return what the docstring of a module says of each argument: the name on a line, an indented text below.

    >>> _arguments("Times in seconds.\n\nL, o\n    Seconds.\n")
    {'L': '    Seconds.\n', 'o': '    Seconds.\n'}
    """
    entries = re.findall(r"^(\w+(?:, \w+)*)\n((?:    .+\n)+)", glossary, re.MULTILINE)
    return {name: text for names, text in entries for name in names.split(", ")}


def formula(function: Callable[_Parameters, float]) -> Formula[_Parameters]:
    """Turn a function of numbers into a `Formula`."""
    return Formula(function)
