"""V-cycles of multigrid on a line of ranks: on coarser levels only every second, fourth, ... rank takes part."""

import sys
import time

import numpy as np
from mpi4py import MPI

CYCLES = int(sys.argv[1]) if len(sys.argv) > 1 else 4
world = MPI.COMM_WORLD
levels = world.size.bit_length()
border, other = np.ones(1024), np.empty(1024)


def neighbours(level):
    """Return the ranks beside this one that are on a level, where it is; else None."""
    distance = 1 << level
    if world.rank % distance:
        return None
    before, after = world.rank - distance, world.rank + distance
    return before if before >= 0 else MPI.PROC_NULL, after if after < world.size else MPI.PROC_NULL


def smooth_and_restrict(level):
    """Exchange borders on the way down."""
    if ranks := neighbours(level):
        world.Sendrecv(border, ranks[1], 0, other, ranks[0], 0)
        world.Sendrecv(border, ranks[0], 1, other, ranks[1], 1)
        time.sleep(4e-4)


def prolong_and_smooth(level):
    """Exchange borders on the way up."""
    if ranks := neighbours(level):
        world.Sendrecv(border, ranks[1], 2, other, ranks[0], 2)
        world.Sendrecv(border, ranks[0], 3, other, ranks[1], 3)
        time.sleep(4e-4)


for _ in range(CYCLES):
    for level in range(levels):
        smooth_and_restrict(level)
    for level in reversed(range(levels)):
        prolong_and_smooth(level)
    world.Allreduce(np.ones(1), np.empty(1))
