"""Collective operations: each algorithm as a schedule of messages, and which algorithm a library picks.

Used by predict and by simulate alike. A new algorithm is one function and one row in `ALGORITHMS`. Main entries:
`build`, `summary`, `ALGORITHMS`; `commmodel.collectives.verification` checks a schedule.
"""

from commmodel.collectives.algorithms import (
    allgather,
    allreduce,
    alltoall,
    barrier,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    scan,
)
from commmodel.collectives.schedule import Algorithm, Problem, Round, Schedule, flatten
from commmodel.errors import InputError

__all__ = ["ALGORITHMS", "Problem", "Round", "Schedule", "algorithm", "build", "flatten", "summary"]

ALGORITHMS: dict[str, dict[str, Algorithm]] = {
    "barrier": {
        "linear": barrier.linear,
        "dissemination": barrier.dissemination,
        "recursive-doubling": barrier.recursive_doubling,
        "binomial": barrier.binomial,
    },
    "bcast": {
        "linear": broadcast.linear,
        "binomial": broadcast.binomial,
        "binomial-at-once": broadcast.binomial_at_once,
        "binary": broadcast.binary,
        "chain": broadcast.chain,
        "scatter-recursive-doubling": broadcast.scatter_recursive_doubling,
        "scatter-ring": broadcast.scatter_ring,
    },
    "reduce": {
        "linear": reduce.linear,
        "binomial": reduce.binomial,
        "reduce-scatter-gather": reduce.reduce_scatter_gather,
    },
    "allreduce": {
        "recursive-doubling": allreduce.recursive_doubling,
        "reduce-scatter-allgather": allreduce.reduce_scatter_allgather,
        "ring": allreduce.ring,
        "reduce-broadcast": allreduce.reduce_broadcast,
    },
    "gather": {
        "linear": gather.gather_linear,
        "binomial": gather.gather_binomial,
    },
    "scatter": {
        "linear": gather.scatter_linear,
        "binomial": gather.scatter_binomial,
    },
    "allgather": {
        "ring": allgather.ring,
        "recursive-doubling": allgather.recursive_doubling,
        "bruck": allgather.bruck,
        "neighbor-exchange": allgather.neighbor_exchange,
    },
    "alltoall": {
        "linear": alltoall.linear,
        "pairwise": alltoall.pairwise,
        "pairwise-xor": alltoall.pairwise_xor,
        "bruck": alltoall.bruck,
    },
    "reduce_scatter": {
        "recursive-halving": reduce_scatter.recursive_halving,
        "pairwise": reduce_scatter.pairwise,
        "ring": reduce_scatter.ring,
    },
    "scan": {
        "linear": scan.linear,
        "recursive-doubling": scan.recursive_doubling,
    },
}
"""Operation -> name of an algorithm -> function that makes its rounds."""


def algorithm(operation: str, name: str) -> Algorithm:
    """Return an algorithm by name; raise `InputError` naming those that there are."""
    if operation not in ALGORITHMS:
        raise InputError(f"{operation!r} is no collective operation: choose one of {', '.join(ALGORITHMS)}")
    if name not in ALGORITHMS[operation]:
        raise InputError(f"{operation} has no algorithm {name!r}: choose one of {', '.join(ALGORITHMS[operation])}")
    return ALGORITHMS[operation][name]


def build(operation: str, name: str, problem: Problem) -> Schedule:
    """Return the schedule of an algorithm.

    >>> build("barrier", "dissemination", Problem(8)).messages
    24
    """
    return flatten(problem.processes, algorithm(operation, name)(problem))


def summary(operation: str, name: str) -> str:
    """Return one line on what an algorithm does, with its source.

    >>> summary("barrier", "dissemination")
    'In round i process r tells r + 2^i, for ⌈log₂P⌉ rounds (Hensgen, Finkel and Manber 1988).'
    """
    return (algorithm(operation, name).__doc__ or "").partition("\n")[0]
