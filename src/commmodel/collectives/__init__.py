"""Collective operations: each algorithm as a schedule of messages, and which algorithm a library picks.

Used by predict and by simulate alike. `OPERATIONS` describes the operations, `ALGORITHMS` holds their algorithms,
`build` makes a schedule of one, and `commmodel.collectives.verification` checks it. What needs numpy is loaded when it
is first used.
"""

from typing import TYPE_CHECKING

from commmodel.collectives.operation import OPERATIONS, Operation
from commmodel.lazy import attributes

if TYPE_CHECKING:
    from commmodel.collectives import library, verification
    from commmodel.collectives.algorithms.registry import ALGORITHMS, Algorithm, algorithm, build, summary
    from commmodel.collectives.schedule import Nodes, Problem, Schedule
    from commmodel.collectives.settings import CollectiveSettings
else:
    __getattr__, __dir__ = attributes(__name__)

__all__ = [
    "ALGORITHMS", "OPERATIONS", "Algorithm", "CollectiveSettings", "Nodes", "Operation", "Problem", "Schedule",
    "algorithm", "build", "library", "summary", "verification",
]  # fmt: skip
