"""Topologies: each is a module here, with a description derived from `Topology` and a function of the module's name.

A module is registered by being in this folder. Main entries: `BUILDERS`, `Description`.
"""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Union

from commmodel.simulate.platform.description import Platform
from commmodel.simulate.platform.topology import Topology

__all__ = ["BUILDERS", "Description"]

BUILDERS: dict[str, Callable[..., Platform]] = {
    module.name: getattr(import_module(f"{__name__}.{module.name}"), module.name) for module in iter_modules(__path__)
}
"""Name of the function -> the function that makes a platform of the topology."""

Description: Any = Union[tuple(Topology.__subclasses__())]  # noqa: UP007
"""Any topology, as a type to decode files by."""
