"""Jacobi iteration on a periodic grid in two dimensions, 4,096 points square for each rank, and a norm."""

import sys
import time

import numpy as np
from mpi4py import MPI

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 10
world = MPI.COMM_WORLD
grid = world.Create_cart(MPI.Compute_dims(world.size, 2), periods=[True, True])
neighbours = [rank for dimension in (0, 1) for rank in grid.Shift(dimension, 1)]
borders = [np.ones(4096) for _ in neighbours]
received = [np.empty(4096) for _ in neighbours]
norm, total = np.ones(1), np.empty(1)
for _ in range(STEPS):
    requests = [grid.Irecv(received[tag], rank, tag ^ 1) for tag, rank in enumerate(neighbours)]
    requests += [grid.Isend(borders[tag], rank, tag) for tag, rank in enumerate(neighbours)]
    MPI.Request.Waitall(requests)
    time.sleep(1e-3)
    world.Allreduce(norm, total)
