"""A field of 256 points cubed in pencils: Alltoall in the rows and in the columns of a grid of ranks."""

import sys
import time

import numpy as np
from mpi4py import MPI

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 3
world = MPI.COMM_WORLD
height, width = MPI.Compute_dims(world.size, 2)
in_row = world.Split(world.rank // width, world.rank)
in_column = world.Split(world.rank % width, world.rank)
points = 256**3 // world.size
for _ in range(STEPS):
    for part in (in_row, in_column):
        time.sleep(points * 1e-9)
        block = points // part.size
        part.Alltoall(np.ones(part.size * block), np.empty(part.size * block))
    time.sleep(points * 1e-9)
