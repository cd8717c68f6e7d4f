"""Which schedule an algorithm follows that a library or a study calls by another name. Main entry: `schedule_named`."""

from commmodel.collectives.algorithms.registry import ALGORITHMS

_ENDS = ("-ompi", "-mpich", "-over")
"""Who wrote it, at the end of a name of PICO: Open MPI, MPICH, or the study itself, over point to point."""
_ALIASES = {
    "allgather": {
        "neighbor": "neighbor-exchange", "k-bruck": "bruck", "brucks": "bruck", "k-brucks": "bruck",
        "sparbit": "recursive-doubling",
    },
    "allreduce": {
        "rabenseifner": "reduce-scatter-allgather", "segmented-ring": "ring", "ring-segmented": "ring",
        "nonoverlapping": "reduce-broadcast", "basic-linear": "linear",
    },
    "alltoall": {"linear-sync": "linear", "modified-bruck": "bruck", "brucks": "bruck"},
    "bcast": {
        "basic-linear": "linear", "binary-tree": "binary", "scatter-allgather": "scatter-recursive-doubling",
        "scatter-allgather-ring": "scatter-ring",
    },
    "gather": {"basic-linear": "linear", "linear-sync": "linear", "linear-synch": "linear"},
    "reduce": {
        "rabenseifner": "reduce-scatter-gather", "in-order-binary": "binary-in-order", "in-order": "binary-in-order",
    },
    "reduce_scatter": {"recursive-distance-doubling": "recursive-halving"},
    "scatter": {"basic-linear": "linear", "linear-nb": "linear"},
}  # fmt: skip
"""Operation -> name elsewhere -> ours. What is left out has no schedule here, or is not known to have one of ours."""
_TREES = {
    "allgather": (("block-by-block", "ring"), ("vec-doubling-blocks", "ring"), ("", "recursive-doubling")),
    "allreduce": (
        ("l", "recursive-doubling"), ("block-by-block", "ring"), ("", "reduce-scatter-allgather"),
    ),
    "alltoall": (("", "bruck"),),
    "bcast": (("scatter", "scatter-recursive-doubling"), ("bdw", "scatter-recursive-doubling"), ("", "binomial")),
    "gather": (("", "binomial"),),
    "reduce": (("reduce-scatter", "reduce-scatter-gather"), ("bdw", "reduce-scatter-gather"), ("", "binomial")),
    "reduce_scatter": (("block-by-block", "ring"), ("", "recursive-halving")),
    "scatter": (("", "binomial"),),
}  # fmt: skip
"""Operation -> (begin of the name after the family's, algorithm), the first that fits.

Bine trees (De Sensi et al. 2025), and recursive doubling by the same authors, send as many messages of the same sizes
as the binomial tree or butterfly here; the partners are others. Block by block, there is a message for each block, as
many as in a ring.
"""
_FAMILIES = ("bine-", "recdoub-", "bruck-")


def schedule_named(operation: str, name: str) -> str:
    """Return the name here of the algorithm whose messages have the same sizes; empty where there is none.

    >>> schedule_named("allreduce", "rabenseifner_ompi"), schedule_named("allreduce", "BINE-L-UTOFU-0-1")
    ('reduce-scatter-allgather', 'recursive-doubling')
    >>> schedule_named("bcast", "knomial_ompi"), schedule_named("reduce_scatter_block", "ring")
    ('', 'ring')
    """
    word = name.lower().replace("_", "-").removeprefix("default-")
    for end in _ENDS:
        word = word.removesuffix(end)
    table = "reduce_scatter" if operation == "reduce_scatter_block" else operation
    if word in ALGORITHMS.get(operation, {}):
        return word
    if (alias := _ALIASES.get(table, {}).get(word)) is not None:
        return alias
    for family in _FAMILIES:
        if word.startswith(family):
            rest = word.removeprefix(family)
            return next((algorithm for begin, algorithm in _TREES.get(table, ()) if rest.startswith(begin)), "")
    return ""
