"""Names of a package that are loaded at their first use. Main entry: `attributes`."""

import re
import sys
from collections.abc import Callable, Collection
from functools import cache
from importlib import import_module
from typing import Any, cast

__all__ = ["attributes"]


def attributes(package: str, modules: Collection[str] = ()) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package: it loads what the package imports under ``if TYPE_CHECKING:``.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    modules : collection of str
        Modules within the package that are reached as its attributes.

    Examples
    --------
    >>> import commmodel
    >>> package = attributes("commmodel", ["errors"])
    >>> package("sampled").__module__, package("errors").__name__
    ('commmodel.shadow', 'commmodel.errors')
    >>> package("nosuch")
    Traceback (most recent call last):
    AttributeError: module 'commmodel' has no attribute 'nosuch'
    """

    def attribute(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if not name.startswith("__") and name in (module_of := _imports(package)):
            return getattr(import_module(module_of[name]), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return attribute


@cache
def _imports(package: str) -> dict[str, str]:
    """Return name -> module of the imports under ``if TYPE_CHECKING:`` in a package's ``__init__.py``."""
    module = sys.modules[package]
    source = cast(Any, module.__loader__).get_data(str(module.__file__)).decode()
    _, _, rest = source.partition("\nif TYPE_CHECKING:\n")
    block = re.split(r"\n(?=\S)", rest, maxsplit=1)[0]
    imports = re.findall(r"from ([\w.]+) import (?:\(([^)]*)\)|(.*))", block)
    return {name: module for module, *names in imports for name in re.findall(r"\w+", "".join(names))}
