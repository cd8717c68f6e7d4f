"""Platforms to simulate on: hosts, links and the ways between hosts.

Made by a function (`flat`, `cabinets`, `fat_tree`, `torus`, `dragonfly`, `crossbar`), or read from a file (`load`).
"""

from commmodel.simulate.platform.description import Platform
from commmodel.simulate.platform.file import dump, dumps, load, loads, published
from commmodel.simulate.platform.topologies import build, cabinets, crossbar, dragonfly, fat_tree, flat, torus
from commmodel.simulate.platform.xml import read_xml
from commmodel.simulate.platform.xml_settings import network

__all__ = [
    "Platform", "build", "cabinets", "crossbar", "dragonfly", "dump", "dumps", "fat_tree", "flat", "load", "loads",
    "network", "published", "read_xml", "torus",
]  # fmt: skip
