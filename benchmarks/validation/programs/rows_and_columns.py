"""Multiplication of matrices by broadcasts in rows and columns of a grid of processes (SUMMA)."""

import argparse

import numpy as np
from mpi4py import MPI

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--size", type=int, default=256, help="rows of a rank's block")
parser.add_argument("--steps", type=int, default=5)
arguments = parser.parse_args()

world = MPI.COMM_WORLD
height, width = MPI.Compute_dims(world.size, 2)
in_row = world.Split(world.rank // width, world.rank)
in_column = world.Split(world.rank % width, world.rank)
shape = (arguments.size, arguments.size)
left, right, result = np.full(shape, 1e-3 * world.rank), np.ones(shape), np.zeros(shape)
for step in range(arguments.steps):
    of_row = left.copy() if in_row.rank == step % width else np.empty(shape)
    of_column = right.copy() if in_column.rank == step % height else np.empty(shape)
    in_row.Bcast(of_row, step % width)
    in_column.Bcast(of_column, step % height)
    result += of_row @ of_column
total = world.reduce(float(result.sum()))
if world.rank == 0:
    print(total)
