"""Structs that are compared, hashed and shown by their content, of arrays too. Main entries: `Value`, `OneLine`."""

import sys
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields
from typing import Any

from commmodel.docstrings import with_attributes

__all__ = ["OneLine", "Value", "one_line"]

_LONGEST, _LONGEST_FIELD = 200, 60
"""Characters of a repr."""


class OneLine:
    """Base of a frozen dataclass or struct with many fields: a repr of one line."""

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        """Keep dataclass() from making methods of its own, as it does where a class has none."""
        super().__init_subclass__(**options)
        with_attributes(cls)
        for name in ("__eq__", "__hash__", "__repr__"):
            if name not in vars(cls) and getattr(cls, name) is not getattr(object, name):
                setattr(cls, name, getattr(cls, name))

    def __repr__(self) -> str:
        return one_line(self)

    def _repr_html_(self) -> str | None:
        """Return what `commmodel.report` shows of it, for notebooks."""
        html: str | None = sys.modules["commmodel"].report.notebook.html(self)
        return html


class Value(OneLine):
    """Base of a frozen dataclass or struct whose fields are arrays or mappings, too: ==, hash, a repr of one line.

    Arrays are equal where type, shape and bits are, so a copy is equal to its original where it holds NaN.

    >>> import numpy as np
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Samples(Value):
    ...     name: str
    ...     seconds: np.ndarray
    >>> first, second = (Samples("send", np.zeros((2, 50))) for _ in range(2))
    >>> first == second, hash(first) == hash(second), first
    (True, True, Samples(name='send', seconds=<2 × 50 float64>))
    """

    __slots__ = ()

    def _content(self) -> Sequence[Any]:
        """Return what the struct is compared by."""
        return [value for _, value in _fields(self)]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self is other or _comparable(self) == _comparable(other)

    def __hash__(self) -> int:
        return hash(_comparable(self))


def one_line(value: Any) -> str:
    """Return the repr of a struct, with what is long cut short."""
    shown = [f"{name}={_short(part)}" for name, part in _fields(value)]
    while sum(map(len, shown)) > _LONGEST:
        shown = [*shown[: -2 if shown[-1] == "..." else -1], "..."]
    return f"{type(value).__name__}({', '.join(shown)})"


def _fields(value: Any) -> list[tuple[str, Any]]:
    names = getattr(value, "__struct_fields__", None) or getattr(value, "_fields", None)
    names = [field.name for field in fields(value) if field.compare] if names is None else names
    return [(name, getattr(value, name)) for name in names]


def _comparable(value: Any) -> Any:
    """Return something hashable that is equal for equal values."""
    if isinstance(value, Value):
        return type(value), *map(_comparable, value._content())
    if hasattr(value, "dtype") and type(value).__hash__ is None:
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, str | bytes):
        return value
    if value != value:  # NaN
        return "nan"
    if hasattr(value, "__struct_fields__") or hasattr(value, "__dataclass_fields__"):
        return type(value), *(_comparable(part) for _, part in _fields(value))
    if isinstance(value, Mapping):
        return frozenset((key, _comparable(part)) for key, part in value.items())
    if isinstance(value, Set):
        return frozenset(map(_comparable, value))
    return tuple(map(_comparable, value)) if isinstance(value, Sequence) else value


def _short(value: Any) -> str:
    """Return a repr of a line at most."""
    if hasattr(value, "dtype") and value.ndim:
        return f"<{' × '.join(map(str, value.shape))} {value.dtype if value.dtype.names is None else 'rows'}>"
    is_sized = hasattr(type(value), "__len__")
    text = repr(value) if not is_sized or len(value) <= _LONGEST_FIELD else ""
    if text and len(text) <= _LONGEST_FIELD and "\n" not in text:
        return text
    if isinstance(value, str):
        return repr(value[: _LONGEST_FIELD - 5] + "...")
    return f"<{len(value)} items>" if is_sized else f"{type(value).__name__}(...)"
