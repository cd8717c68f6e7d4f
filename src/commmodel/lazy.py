"""Names of a package that are loaded at their first use. Main entry: `attributes`."""

from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any

__all__ = ["attributes"]


def attributes(
    package: str, names: Mapping[str, str] | None = None, modules: Collection[str] = ()
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    names : mapping, optional
        Name -> module within the package that has it.
    modules : collection of str
        Modules within the package that are reached as its attributes.

    Examples
    --------
    >>> package = attributes("commmodel", {"parse_size": "units"}, ["errors"])
    >>> package("parse_size")("64KiB"), package("errors").__name__
    (65536, 'commmodel.errors')
    >>> package("nosuch")
    Traceback (most recent call last):
    AttributeError: module 'commmodel' has no attribute 'nosuch'
    """
    module_of = names or {}

    def attribute(name: str) -> Any:
        if name in module_of:
            return getattr(import_module(f"{package}.{module_of[name]}"), name)
        if name in modules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return attribute
