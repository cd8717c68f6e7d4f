"""Checks of all arguments of a function, and of all fields of a struct, by the types that they are annotated with.

A Literal takes its words alone, a number is no NaN, no text and no truth value, a struct is one, a function takes as
many arguments as it is called with. What numpy and pandas call a number or a list becomes one. Bounds are those of
``msgspec.Meta``; all others are left to `commmodel.arguments`. Main entries: `checked`, `check_fields`, `returned`.
"""

import builtins
import inspect
import math
import operator
import os
import re
import sys
from collections import ChainMap, abc
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from functools import cache, partial, wraps
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, Unpack, cast, get_args, get_origin

from commmodel.arguments import Bounds, choice, numbers, refuse, whole
from commmodel.errors import InputError

__all__ = ["check_fields", "checked", "returned"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Check = Callable[[str, Any], Any]
"""Takes the name and the value of an argument; returns the value, or raises `InputError`."""


def checked(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Let a function refuse arguments that are not of the types which it is annotated with.

    >>> @checked
    ... def scaled(sharing: Literal["split", "shared"], by: int) -> int:
    ...     return by
    >>> import numpy as np
    >>> scaled("split", np.array(2))
    2
    >>> scaled("splt", 2)
    Traceback (most recent call last):
    commmodel.errors.InputError: sharing is 'splt': did you mean split? Choose one of split, shared
    >>> scaled("split", by=None)
    Traceback (most recent call last):
    commmodel.errors.InputError: by is None: give a whole number
    """
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    _with_bounds(function)

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        checks = _checks_of(function)
        values = [checks.get(name, _anything)(name, value) for name, value in zip(names, arguments, strict=False)]
        for name, value in keywords.items():
            keywords[name] = checks.get(name, _anything)(name, value)
        return function(*values, *arguments[len(names) :], **keywords)

    return call


def check_fields(struct: Any) -> None:
    """Do the same for the fields of a struct; called by its ``__post_init__``."""
    for name, check in _checks_of(cast(Any, type(struct))).items():
        value = getattr(struct, name)
        if (new := check(name, value)) is not value:
            _set(struct, name, new)


def returned(call: str, value: Any, kind: Any) -> Any:
    """Return what a function of the user's returned, which is of a type; `call` says how it was called.

    >>> returned("overhead(8, 1)", "many", float)
    Traceback (most recent call last):
    commmodel.errors.InputError: overhead(8, 1) is 'many': give a number
    """
    return _check(kind)(call, value)


def _set(struct: Any, name: str, value: object) -> None:
    if hasattr(struct, "__struct_fields__"):
        from msgspec.structs import force_setattr

        force_setattr(struct, name, value)
    else:
        object.__setattr__(struct, name, value)


@cache
def _checks_of(owner: Any) -> dict[str, _Check]:
    """Return name -> check of what a function or a class, with those it inherits from, is annotated with."""
    checks: dict[str, _Check] = {}
    for part in reversed(owner.__mro__) if isinstance(owner, type) else (owner,):
        names = _Names(vars(sys.modules[part.__module__]), vars(builtins))
        for name, annotation in getattr(part, "__annotations__", {}).items():
            try:
                if get_origin(annotation) is Unpack:
                    checks |= _checks_of(get_args(annotation)[0])
                    continue
                checks[name] = _check(eval(annotation, {}, names) if isinstance(annotation, str) else annotation)  # noqa: S307  # our own
            except (TypeError, AttributeError):  # what no value can be checked against
                checks[name] = _anything
    return checks


class _Unloaded(type):
    """A class that its user's module names for type checkers alone: whatever is of it is known by its name."""

    def __getattr__(cls, name: str) -> "_Unloaded":
        if name.startswith("_"):
            raise AttributeError(name)
        return _Unloaded(name, (), {})

    def __getitem__(cls, _: object) -> "_Unloaded":
        return cls

    def __instancecheck__(cls, value: object) -> bool:
        return cls.__name__ in {part.__name__ for part in type(value).__mro__}


class _Names(ChainMap[str, Any]):
    def __missing__(self, name: str) -> _Unloaded:
        return _Unloaded(name, (), {})


def _check(annotation: Any) -> _Check:
    """Return the check of an annotation."""
    kind, inner = get_origin(annotation) or annotation, get_args(annotation)
    if kind is Annotated:
        bounds = _bounds_of(inner[1:])
        return _check(inner[0]) if bounds is None else partial(_bounded, _check(inner[0]), bounds)
    if kind is Literal:
        return partial(choice, words=annotation)
    if kind in (Union, UnionType):
        words = [*dict.fromkeys(word for part in inner if get_origin(part) is Literal for word in get_args(part))]
        checks = [_check(part) for part in inner]
        classes = {check.args[0] for check in checks if isinstance(check, partial) and check.func is _instance}
        return partial(_union, checks, classes, _alternatives(inner), words)
    if kind is abc.Callable and inner and isinstance(inner[0], list):
        return partial(_callable, len(inner[0]))
    if kind in _CHECKS:
        return _CHECKS[kind]
    if (
        not isinstance(kind, type)
        or kind.__module__ == "typing"
        or getattr(kind, "_is_runtime_protocol", True) is False
    ):
        return _anything
    if kind.__module__.startswith("numpy"):  # what numpy makes arrays of is checked where it makes them
        return _array if kind.__name__ == "ndarray" else _anything
    if kind in _LISTS:
        return partial(
            _list, kind, [_check(part) for part in inner if part is not ...], kind is tuple and ... not in inner
        )
    if kind in (dict, Mapping, abc.MutableMapping):
        return partial(_mapping, [_check(part) for part in inner or (Any, Any)])
    return partial(_instance, kind)


def _alternatives(annotations: Sequence[Any]) -> str:
    """Return what to give for one of several annotations."""
    if len(annotations) > _MANY:
        words = (re.sub("^an? ", "", _description(annotation)) for annotation in annotations)
        return f"one of {', '.join(dict.fromkeys(words))}"
    return " or ".join(map(_description, annotations))


def _description(annotation: Any) -> str:
    """Return what to give for an annotation."""
    kind = get_origin(annotation) or annotation
    if kind is Literal:
        return " or ".join(map(str, get_args(annotation)))
    if kind is abc.Callable:
        return _function_of(len(inner[0]) if (inner := get_args(annotation)) and isinstance(inner[0], list) else None)
    if kind is Annotated:
        return _description(get_args(annotation)[0])
    if kind in _NAMES:
        return _NAMES[kind]
    if getattr(kind, "__name__", "") == "ndarray":
        return "an array"
    if kind in _LISTS or kind is Mapping:
        return "a mapping" if kind is Mapping else "a list"
    return f"a{'n' * (kind.__name__[0] in 'AEIO')} {kind.__name__}" if isinstance(kind, type) else f"{annotation}"


def _anything(_: str, value: Any) -> Any:
    return value


def _callable(count: int | None, name: str, value: Any) -> Any:
    """Check a function, and that it can be called with so many arguments."""
    if not callable(value):
        raise refuse(name, value, f"give {_function_of(count)}")
    if count is not None:
        try:
            signature = inspect.signature(value)
        except (TypeError, ValueError):  # of a class or a builtin that does not tell
            return value
        try:
            signature.bind(*[None] * count)
        except TypeError:
            function = f"{getattr(value, '__name__', type(value).__name__)}{signature}"
            raise InputError(f"{name} is {function}: give {_function_of(count)}", name) from None
    return value


def _function_of(count: int | None) -> str:
    return "a function" if count is None else f"a function of {count} argument{'s' * (count != 1)}"


_BOUNDS = Bounds._fields
_MANY = 6


def _bounds_of(parts: Iterable[Any]) -> Bounds | None:
    """Return the bounds of an annotation's parts; None where they have none."""
    bounds = {name: value for part in parts for name in _BOUNDS if (value := getattr(part, name, None)) is not None}
    return Bounds(**bounds) if bounds else None


_SAYS = re.compile(r"at least \d|\d or more|[≥>] ?\d|above \d|from \d|between \d|positive")
"""What of an entry of a docstring says bounds."""


def _with_bounds(function: Any) -> None:
    """Say in the docstring of a function what numbers may be, as its types have it, where it does not say so itself."""
    bounds = {}
    for name, annotation in function.__annotations__.items():
        for part in (annotation, *(get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ())):
            if get_origin(part) is Annotated and (limits := _bounds_of(get_args(part)[1:])) is not None:
                bounds[name] = limits
    if not bounds or not function.__doc__:
        return
    head, title, rest = inspect.cleandoc(function.__doc__).partition("Parameters\n----------\n")
    if not title:
        head, *parts = re.split(r"\n\n(?=\w+\n-{4}|>>> )", head, maxsplit=1)
        parts = [f"Examples\n--------\n{part}" if part.startswith(">>> ") else part for part in parts]
        entries = [f"{name}\n    {limits}.".replace("\n    at", "\n    At") for name, limits in bounds.items()]
        function.__doc__ = "\n\n".join([head, "Parameters\n----------\n" + "\n".join(entries), *parts])
        return
    section, gap, behind = rest.partition("\n\n")
    entries = re.split(r"\n(?=\S)", section)
    for number, entry in enumerate(entries):
        line, _, words = entry.partition("\n")
        names = [name.strip(" *") for name in line.partition(" : ")[0].split(",")]
        limited = [name for name in names if name in bounds]
        if not limited or _SAYS.search(entry):
            continue
        if len({bounds[name] for name in limited}) == 1 and limited == names:
            sentence = f"{bounds[names[0]]}".capitalize()
        else:
            sentence = "; ".join(f"`{name}` {bounds[name]}" for name in limited)
        entries[number] = f"{line}\n    {f'{words.strip()} ' * bool(words.strip())}{sentence}."
    function.__doc__ = head + title + "\n".join(entries) + gap + behind


def _bounded(check: _Check, bounds: Bounds, name: str, value: Any) -> Any:
    value = check(name, value)
    if bounds.min_length is not None and len(value) < bounds.min_length:
        raise refuse(name, value, f"give at least {bounds.min_length}")
    if bounds.min_length is None and not bounds.hold(value, value):
        raise bounds.refusal(name, value, is_whole=check is whole)
    return value


def _are_right(check: _Check, values: Sequence[Any]) -> bool:
    """Whether many floats are right, in one go."""
    bounds = Bounds()
    if isinstance(check, partial) and check.func is _bounded:
        check, bounds = check.args
    return (
        check is _float and {*map(type, values)} == {float} and not any(map(math.isnan, values))
        and bounds.hold(min(values), max(values))
    )  # fmt: skip


_MAKERS = {
    "Expectations": "scaling.load", "Machine": "machine.load", "Measurements": "formats.load",
    "Place": "simulate.scenario.place", "Platform": "simulate.platform.load", "Recording": "record.load",
}  # fmt: skip
"""What makes a struct of a name or a path, which is often given in its place."""


def _maker_of(kind: type, value: Any) -> str:
    """Return how to make a struct of a name or path that is given in its place."""
    maker = _MAKERS.get(kind.__name__) if isinstance(value, str | os.PathLike) else None
    return "" if maker is None else f", as commmodel.{maker} makes of a name or a file"


def _instance(kind: type, name: str, value: Any) -> Any:
    if isinstance(value, kind):
        return value
    raise refuse(name, value, f"give {_description(kind)}{_maker_of(kind, value)}")


def _truth(name: str, value: Any) -> bool:
    if isinstance(value, bool) or type(value).__name__ == "bool":  # numpy's
        return bool(value)
    raise refuse(name, value, "give True or False")


def _float(name: str, value: Any) -> float:
    """Return a number that is no NaN; it may be infinite."""
    if type(value) in (int, float) and value == value:
        return value  # type: ignore[no-any-return]
    if isinstance(value, float) and value == value and not hasattr(value, "dtype"):
        return value  # of a class that tells more, such as a size
    no_number = isinstance(value, str | bytes | bool) or bool(getattr(value, "ndim", 0))
    try:
        number = math.nan if no_number else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isnan(number):
        raise refuse(name, value, "give a number")
    return number


def _array(name: str, value: Any) -> Any:
    if name in _WRITTEN and not hasattr(value, "strides"):
        raise refuse(name, value, "give an array")
    if not hasattr(value, "strides"):
        import numpy as np

        floats, array = numbers(name, value), np.asarray(value)
        return array if array.dtype.kind in "iu" else floats
    return value


def _list(kind: type, parts: Sequence[_Check], is_fixed: bool, name: str, value: Any) -> Any:
    """Check a list and what it holds; an iterator, which can be gone through once alone, is left alone."""
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__") or getattr(value, "ndim", 1) == 0:
        raise refuse(name, value, "give a list")
    if not isinstance(value, kind):
        value = _LISTS[kind](value.tolist() if hasattr(value, "tolist") else value)
    if not parts or not isinstance(value, Sized):
        return value
    if is_fixed and len(parts) != len(value):
        raise refuse(name, value, f"give a list of {len(parts)}")
    before = list(cast(Any, value))
    if not is_fixed and _are_right(parts[0], before):
        return value
    checks = parts if is_fixed else [parts[0]] * len(before)
    items = [check(f"{name}[{index}]", item) for index, (check, item) in enumerate(zip(checks, before, strict=True))]
    return value if all(map(operator.is_, items, before)) else _LISTS[kind](items)


def _mapping(parts: Sequence[_Check], name: str, value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise refuse(name, value, "give a mapping")
    key, part = parts
    return {key(name, word): part(f"{name}[{word!r}]", item) for word, item in value.items()}


def _union(
    checks: Sequence[_Check], classes: set[type], description: str, words: Sequence[str], name: str, value: Any
) -> Any:
    if type(value) in classes:
        return value
    if type(value) is float and _float in checks:  # which is no whole number where both are possible
        return _float(name, value)
    within = None
    for check in checks:
        try:
            return check(name, value)
        except InputError as error:
            is_of_bounds = isinstance(check, partial) and check.func is _bounded and _is_of(check.args[0], name, value)
            within = within or (error if error.parameter != name or is_of_bounds else None)
    if within is None and callable(value):
        for check in checks:
            if isinstance(check, partial) and check.func is _callable:
                check(name, value)
    if within is None and words and isinstance(value, str):
        choice(name, value, words)
    maker = next(filter(None, (_maker_of(kind, value) for kind in classes)), "")
    raise within or refuse(name, value, f"give {description}{maker}")


def _is_of(check: _Check, name: str, value: Any) -> bool:
    """Whether a value passes a check."""
    try:
        check(name, value)
    except InputError:
        return False
    return True


_WRITTEN = {"field", "out"}
"""Arguments that take a result: a copy of a list would take it in vain."""
_CHECKS: dict[Any, _Check] = {
    int: whole, float: _float, bool: _truth, Any: _anything, object: _anything, abc.Callable: partial(_callable, None)
}  # fmt: skip
_NAMES: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    str: "a text",
    NoneType: "None",
}
_LISTS: dict[Any, Callable[..., Any]] = {
    list: list, tuple: tuple, set: set, frozenset: frozenset, Sequence: list, abc.Collection: list, Iterable: list
}  # fmt: skip
