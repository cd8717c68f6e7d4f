"""Diffusion on a line of ranks, of 2,097,152 points together: both borders by non-blocking messages."""

import sys
import time

import numpy as np
from mpi4py import MPI

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 10
world = MPI.COMM_WORLD
points = 2_097_152 // world.size
left, right = world.rank - 1, world.rank + 1
borders, received = np.ones((2, 512)), np.empty((2, 512))
for _ in range(STEPS):
    requests = []
    if left >= 0:
        requests += [world.Irecv(received[0], left, 1), world.Isend(borders[0], left, 2)]
    if right < world.size:
        requests += [world.Irecv(received[1], right, 2), world.Isend(borders[1], right, 1)]
    MPI.Request.Waitall(requests)
    time.sleep(2e-9 * points)
