"""Collective operations: each algorithm as a schedule of messages, and which algorithm a library picks.

Used by predict and by simulate alike. `OPERATIONS` describes the operations, `ALGORITHMS` holds their algorithms,
`build` makes a schedule of one, and `commmodel.collectives.verification` checks it. What needs numpy is loaded when it
is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from commmodel.collectives.operation import OPERATIONS, Operation

if TYPE_CHECKING:
    from commmodel.collectives.algorithms.registry import ALGORITHMS, Algorithm, algorithm, build, summary
    from commmodel.collectives.schedule import Nodes, Problem, Schedule

__all__ = [
    "ALGORITHMS", "OPERATIONS", "Algorithm", "Nodes", "Operation", "Problem", "Schedule", "algorithm", "build",
    "summary",
]  # fmt: skip
_SCHEDULE = {"Nodes", "Problem", "Schedule"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'schedule' if name in _SCHEDULE else 'algorithms.registry'}"), name)
