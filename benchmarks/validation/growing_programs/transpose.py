"""A matrix of 8,192 rows and columns, cut by rows, is transposed by Alltoall, as for a Fourier transform."""

import sys
import time

import numpy as np
from mpi4py import MPI

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 3
world = MPI.COMM_WORLD
block = (8192 // world.size) ** 2
rows, columns = np.ones(world.size * block), np.empty(world.size * block)
for _ in range(STEPS):
    time.sleep(rows.size * 2e-9)
    world.Alltoall(rows, columns)
world.Barrier()
