"""Collective operations: each algorithm as a schedule of messages, and which algorithm a library picks.

Used by predict and by simulate alike. `OPERATIONS` describes the operations, `ALGORITHMS` holds their algorithms,
`build` makes a schedule of one, `verify` checks it, and `register` adds one, which `vector_round` and `block_round`
help to write. What needs numpy is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from commmodel.collectives.operation import OPERATIONS, Operation
from commmodel.lazy import attributes

if TYPE_CHECKING:
    from commmodel.collectives import library, verification
    from commmodel.collectives.algorithms.blocks import block_round, vector_round
    from commmodel.collectives.algorithms.registry import ALGORITHMS, Algorithm, algorithm, build, register, summary
    from commmodel.collectives.schedule import Nodes, Problem, Round, Schedule
    from commmodel.collectives.settings import CollectiveSettings
    from commmodel.collectives.verification import verify
else:
    __getattr__, __dir__ = attributes(__name__)

__all__ = [
    "ALGORITHMS", "OPERATIONS", "Algorithm", "CollectiveSettings", "Nodes", "Operation", "Problem", "Round",
    "Schedule", "algorithm", "block_round", "build", "library", "register", "summary", "vector_round", "verification",
    "verify",
]  # fmt: skip
