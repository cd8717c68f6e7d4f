"""Lower and upper triangular sweeps over planes on a grid of ranks, and an exchange of faces, as NAS LU has them."""

import sys
import time

import numpy as np
from mpi4py import MPI

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 3
PLANES = 10
world = MPI.COMM_WORLD
height, width = MPI.Compute_dims(world.size, 2)
row, column = divmod(world.rank, width)
north = world.rank - width if row else MPI.PROC_NULL
south = world.rank + width if row + 1 < height else MPI.PROC_NULL
west = world.rank - 1 if column else MPI.PROC_NULL
east = world.rank + 1 if column + 1 < width else MPI.PROC_NULL
line_a, line_b = np.ones(5 * 1024 // height), np.ones(5 * 1024 // width)
face_a, face_b = np.ones(10 * line_a.size), np.ones(10 * line_b.size)
for _ in range(STEPS):
    for _ in range(PLANES):
        world.Recv(line_b, north, 0)
        world.Recv(line_a, west, 0)
        time.sleep(0.2 / world.size)
        world.Send(line_b, south, 0)
        world.Send(line_a, east, 0)
    for _ in range(PLANES):
        world.Recv(line_b, south, 0)
        world.Recv(line_a, east, 0)
        time.sleep(0.2 / world.size)
        world.Send(line_b, north, 0)
        world.Send(line_a, west, 0)
    world.Sendrecv(face_b, south, 1, np.empty_like(face_b), north, 1)
    world.Sendrecv(face_a, east, 1, np.empty_like(face_a), west, 1)
    time.sleep(0.5 / world.size)
    world.Allreduce(np.ones(5), np.empty(5))
