"""The collective operations of MPI and what distinguishes them, one row each. Main entry: `OPERATIONS`.

Whoever needs to know whether an operation has a root, combines data or moves a block per process reads it here. Names
are MPI's, without the prefix and in lower case.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from commmodel.arguments import choice
from commmodel.docstrings import with_attributes

ScheduledName = Literal[
    "barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "reduce_scatter_block",
    "reduce_scatter", "scan",
]  # fmt: skip
"""Operations that have schedules, so that they can be predicted, simulated and tuned.

Blocks of reduce_scatter are equal ones.
"""
CollectiveName = Literal[
    "barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "reduce_scatter_block",
    "scan", "exscan",
    "gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw", "reduce_scatter",
    "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw",
    "bcast_binary_tree", "bcast_linear",
]  # fmt: skip
"""Operations that the benchmark measures.

Forms with counts (v, w, reduce_scatter) get equal ones. Neighbours are those of a periodic grid of two dimensions. The
last two are broadcasts written by hand with MPI_Send and MPI_Recv: known algorithms, to test a test with.
"""
Group = Literal["usual", "v-forms", "neighbours", "by-hand"]
Blocks = Literal["one", "per-process", "per-neighbour"]


ELEMENT_SIZE = 8
"""Bytes of an element where nothing says it: a double's."""
Operator = Literal["predefined", "commutative", "non-commutative"]
"""What an MPI_Op is to a library: predefined, like MPI_SUM, or a user's, which commutes or does not."""
OPERATORS: tuple[Operator, ...] = get_args(Operator)


@with_attributes
@dataclass(frozen=True, slots=True)
class Operation:
    """A collective operation."""

    name: CollectiveName
    """MPI's name without ``MPI_``, in lower case."""
    group: Group = "usual"
    """Word that stands for this and similar operations on the benchmark's command line."""
    has_root: bool = False
    """Whether one process is the source or the destination."""
    combines: bool = False
    """Whether data are combined with an MPI_Op."""
    has_size: bool = True
    """Whether data move at all, as they do not in a barrier."""
    sent: Blocks = "one"
    received: Blocks = "one"
    """Blocks of the message size that a process sends and receives at most, one, or one per process or neighbour."""

    @property
    def mpi_name(self) -> str:
        """Name of the MPI function; empty for operations written by hand."""
        return "" if self.group == "by-hand" else f"MPI_{self.name.capitalize()}"

    @property
    def size_is_per_block(self) -> bool:
        """Whether the message size is that of one process's (or neighbour's) block, not of the whole vector."""
        return (self.sent, self.received) != ("one", "one")


_ROWS = (
    Operation("barrier", has_size=False),
    Operation("bcast", has_root=True),
    Operation("reduce", has_root=True, combines=True),
    Operation("allreduce", combines=True),
    Operation("gather", has_root=True, received="per-process"),
    Operation("scatter", has_root=True, sent="per-process"),
    Operation("allgather", received="per-process"),
    Operation("alltoall", sent="per-process", received="per-process"),
    Operation("reduce_scatter_block", combines=True, sent="per-process"),
    Operation("scan", combines=True),
    Operation("exscan", combines=True),
    Operation("gatherv", "v-forms", has_root=True, received="per-process"),
    Operation("scatterv", "v-forms", has_root=True, sent="per-process"),
    Operation("allgatherv", "v-forms", received="per-process"),
    Operation("alltoallv", "v-forms", sent="per-process", received="per-process"),
    Operation("alltoallw", "v-forms", sent="per-process", received="per-process"),
    Operation("reduce_scatter", "v-forms", combines=True, sent="per-process"),
    Operation("neighbor_allgather", "neighbours", received="per-neighbour"),
    Operation("neighbor_allgatherv", "neighbours", received="per-neighbour"),
    Operation("neighbor_alltoall", "neighbours", sent="per-neighbour", received="per-neighbour"),
    Operation("neighbor_alltoallv", "neighbours", sent="per-neighbour", received="per-neighbour"),
    Operation("neighbor_alltoallw", "neighbours", sent="per-neighbour", received="per-neighbour"),
    Operation("bcast_binary_tree", "by-hand", has_root=True),
    Operation("bcast_linear", "by-hand", has_root=True),
)
OPERATIONS: dict[str, Operation] = {row.name: row for row in _ROWS}
"""Name -> operation, by groups."""
SCHEDULED: tuple[ScheduledName, ...] = get_args(ScheduledName)
"""Names of the operations that have schedules."""


def operation(name: str) -> Operation:
    """Return an operation that has schedules by its name; raise `InputError` naming all of them.

    >>> operation("reduce_scatter_block").mpi_name, operation("bcast").has_root
    ('MPI_Reduce_scatter_block', True)
    """
    return OPERATIONS[choice("operation", name, ScheduledName)]
