"""Names of a package that are loaded at their first use. Main entry: `attributes`."""

import re
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, cast

__all__ = ["attributes"]


def attributes(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package: its imports under ``if TYPE_CHECKING:``, and ``__all__``.

    Parameters
    ----------
    package : str
        Its ``__name__``.

    Examples
    --------
    >>> import commmodel
    >>> attribute, names = attributes("commmodel")
    >>> attribute("sampled").__module__, attribute("errors").__name__, "errors" in names()
    ('commmodel.shadow', 'commmodel.errors', True)
    >>> attribute("nosuch")
    Traceback (most recent call last):
    AttributeError: module 'commmodel' has no attribute 'nosuch'
    """

    def attribute(name: str) -> Any:
        if name.startswith("__") or name not in (module_of := _imports(package)):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = module_of[name]
        return import_module(f"{package}.{name}") if module == package else getattr(import_module(module), name)

    return attribute, lambda: [*sys.modules[package].__all__]


@cache
def _imports(package: str) -> dict[str, str]:
    """Return name -> module of the imports under ``if TYPE_CHECKING:`` in a package's ``__init__.py``."""
    module = sys.modules[package]
    source = cast(Any, module.__loader__).get_data(str(module.__file__)).decode()
    _, _, rest = source.partition("\nif TYPE_CHECKING:\n")
    block = re.split(r"\n(?=\S)", rest, maxsplit=1)[0]
    imports = re.findall(r"from ([\w.]+) import (?:\(([^)]*)\)|(.*))", block)
    return {name: module for module, *names in imports for name in re.findall(r"(\w+)(?: as \w+)?", "".join(names))}
