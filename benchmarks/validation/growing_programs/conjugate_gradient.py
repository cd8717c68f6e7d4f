"""Conjugate gradients for 8,192 rows that are cut into blocks: borders by Sendrecv, dot products by Allreduce."""

import sys
import time

import numpy as np
from mpi4py import MPI

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 10
world = MPI.COMM_WORLD
rows = 8192 // world.size
above = world.rank - 1 if world.rank else MPI.PROC_NULL
below = world.rank + 1 if world.rank + 1 < world.size else MPI.PROC_NULL
row, other, value, total = np.ones(8192), np.empty(8192), np.ones(1), np.empty(1)
for _ in range(STEPS):
    world.Sendrecv(row, above, 0, other, below, 0)
    world.Sendrecv(row, below, 1, other, above, 1)
    time.sleep(8192 * rows * 2e-9)
    world.Allreduce(value, total)
    time.sleep(8192 * rows * 0.5e-9)
    world.Allreduce(value, total)
norm = np.array([1.0, 2.0])
world.Reduce(norm, np.empty(2), root=0)
