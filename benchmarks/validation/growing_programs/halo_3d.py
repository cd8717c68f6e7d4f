"""Stencil on a grid in three dimensions with open borders, 512 points cubed for all ranks together."""

import sys
import time

import numpy as np
from mpi4py import MPI

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
world = MPI.COMM_WORLD
sides = MPI.Compute_dims(world.size, 3)
grid = world.Create_cart(sides, periods=[False] * 3)
extent = [512 // side for side in sides]
faces = [extent[1] * extent[2], extent[0] * extent[2], extent[0] * extent[1]]
neighbours = [(rank, faces[dimension]) for dimension in range(3) for rank in grid.Shift(dimension, 1)]
for _ in range(STEPS):
    requests = []
    for rank, face in neighbours:
        requests.append(grid.Irecv(np.empty(face), rank, 0))
    for rank, face in neighbours:
        requests.append(grid.Isend(np.ones(face), rank, 0))
    MPI.Request.Waitall(requests)
    time.sleep(1e-9 * extent[0] * extent[1] * extent[2])
