"""Platforms to simulate on: hosts, links and the ways between hosts.

Made by a function (`flat`, `cabinets`, `fat_tree`, `torus`, `dragonfly`, `crossbar`), or read from a file (`read`).
"""

from commmodel.simulate.platform.description import Platform
from commmodel.simulate.platform.file import loads, published, read, write
from commmodel.simulate.platform.topologies import build, cabinets, crossbar, dragonfly, fat_tree, flat, torus
from commmodel.simulate.platform.xml import read_xml
from commmodel.simulate.platform.xml_settings import network

__all__ = [
    "Platform", "build", "cabinets", "crossbar", "dragonfly", "fat_tree", "flat", "loads", "network", "published",
    "read", "read_xml", "torus", "write",
]  # fmt: skip
