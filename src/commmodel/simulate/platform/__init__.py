"""Platforms to simulate on: hosts, links and the routes between hosts.

Made by a function (`flat`, `cabinets`, `fat_tree`, `torus`, `dragonfly`, `crossbar`, `hyperx`), or read from a file
(`load`). Each function stands in a module of `commmodel.simulate.platform.topologies`, with its description.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from commmodel.simulate.platform.description import Platform
from commmodel.simulate.platform.file import dump, dumps, load, loads, published
from commmodel.simulate.platform.topologies import BUILDERS
from commmodel.simulate.platform.xml import read_xml
from commmodel.simulate.platform.xml_settings import network

__all__ = ["Platform", "dump", "dumps", "load", "loads", "network", "published", "read_xml", *BUILDERS]

globals().update(BUILDERS)
if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Platform]: ...
