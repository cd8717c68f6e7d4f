"""Jacobi iteration on a periodic grid in two dimensions: neighbours exchange borders with non-blocking messages."""

import argparse

import numpy as np
from mpi4py import MPI

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--size", type=int, default=65536, help="points of a border")
parser.add_argument("--steps", type=int, default=3)
arguments = parser.parse_args()

world = MPI.COMM_WORLD
grid = world.Create_cart(MPI.Compute_dims(world.size, 2), periods=[True, True])
neighbours = [rank for dimension in (0, 1) for rank in grid.Shift(dimension, 1)]
border = [np.full(arguments.size, float(grid.rank)) for _ in neighbours]
received = [np.empty(arguments.size) for _ in neighbours]
for _ in range(arguments.steps):
    requests = [grid.Irecv(received[tag], rank, tag ^ 1) for tag, rank in enumerate(neighbours)]
    requests += [grid.Isend(border[tag], rank, tag) for tag, rank in enumerate(neighbours)]
    MPI.Request.Waitall(requests)
    mean = sum(received) / len(received)
    border = [0.5 * buffer + 0.5 * mean for buffer in border]
total = world.reduce(float(border[0].sum()))
if world.rank == 0:
    print(total)
