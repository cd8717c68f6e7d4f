"""Heat equation on a square of points, blocks of rows: borders exchanged with both neighbours."""

import argparse

import numpy as np
from mpi4py import MPI

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--size", type=int, default=2048, help="points of a row, and rows of all ranks")
parser.add_argument("--steps", type=int, default=20)
arguments = parser.parse_args()

world = MPI.COMM_WORLD
above = world.rank - 1 if world.rank > 0 else MPI.PROC_NULL
below = world.rank + 1 if world.rank + 1 < world.size else MPI.PROC_NULL
rows = np.full((arguments.size // world.size + 2, arguments.size), float(world.rank))
largest = 0.0
for step in range(arguments.steps):
    world.Sendrecv(rows[1], above, 0, rows[-1], below, 0)
    world.Sendrecv(rows[-2], below, 1, rows[0], above, 1)
    rows[1:-1, 1:-1] = 0.25 * (rows[:-2, 1:-1] + rows[2:, 1:-1] + rows[1:-1, :-2] + rows[1:-1, 2:])
    if step % 10 == 9:
        largest = world.allreduce(float(rows.max()), MPI.MAX)
if world.rank == 0:
    print(largest)
