"""A matrix, distributed by rows, is transposed again and again by MPI_Alltoall."""

import argparse

import numpy as np
from mpi4py import MPI

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--size", type=int, default=65536, help="numbers that each rank sends to each")
parser.add_argument("--steps", type=int, default=3)
arguments = parser.parse_args()

world = MPI.COMM_WORLD
rows = np.arange(world.size * arguments.size, dtype=float) + world.rank
columns = np.empty_like(rows)
for _ in range(arguments.steps):
    world.Alltoall(rows, columns)
    rows[:] = np.sqrt(columns + 1.0)
total = world.reduce(float(rows.sum()))
if world.rank == 0:
    print(total)
