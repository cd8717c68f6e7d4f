"""Platforms to simulate on: hosts, links and the routes between hosts.

Made by a function (`flat`, `cabinets`, `fat_tree`, `torus`, `dragonfly`, `crossbar`, `hyperx`), or read from a file
(`load`). The functions stand in `commmodel.simulate.platform.topologies`, with their descriptions. What reads XML is
loaded at its first use.
"""

from typing import TYPE_CHECKING

from commmodel.lazy import attributes
from commmodel.simulate.platform import topologies
from commmodel.simulate.platform.description import Platform
from commmodel.simulate.platform.file import dump, dumps, load, loads, published
from commmodel.simulate.platform.topologies import *  # noqa: F403  (its functions)
from commmodel.simulate.platform.topologies import register
from commmodel.simulate.platform.topology import Topology

if TYPE_CHECKING:
    from commmodel.simulate.platform import topology as topology
    from commmodel.simulate.platform import xml_settings as xml_settings
    from commmodel.simulate.platform.xml import read_xml
    from commmodel.simulate.platform.xml_settings import network
else:
    __getattr__, __dir__ = attributes(__name__)

__all__ = ["Platform", "Topology", "dump", "dumps", "load", "loads", "network", "published", "read_xml", "register"]
__all__ += topologies.__all__
