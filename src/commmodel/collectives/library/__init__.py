"""Algorithm selection of MPI libraries: selectors, rule files of MPICH and Open MPI, and rules from predictions.

Main entries: `load`, which knows published selectors by name, `select` and `dump`.
"""

from commmodel.collectives.library.selection import (
    SelectionRule,
    Selector,
    dump,
    dumps,
    load,
    published,
    select,
    with_rules,
)
from commmodel.lazy import attributes

__all__ = ["SelectionRule", "Selector", "dump", "dumps", "load", "published", "select", "with_rules"]
__dir__ = attributes(__name__)[1]
