"""An algorithm: everybody sends its block to everybody, a rank further in each round."""

import numpy as np

from commmodel.collectives import block_round, register


@register("allgather", "shifted")
def shifted(problem):
    """In round i process r sends its own block to r + i, for P − 1 rounds."""
    ranks = np.arange(problem.processes)
    for distance in range(1, problem.processes):
        yield block_round(problem, ranks, (ranks + distance) % problem.processes, first=ranks)
