"""Conjugate gradients for a Laplacian in two dimensions: borders by MPI_Sendrecv, dot products by MPI_Allreduce."""

import argparse

import numpy as np
from mpi4py import MPI

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--size", type=int, default=65536, help="columns, the numbers of a border")
parser.add_argument("--rows", type=int, default=4, help="of a rank")
parser.add_argument("--steps", type=int, default=6)
arguments = parser.parse_args()

world = MPI.COMM_WORLD
above = world.rank - 1 if world.rank else MPI.PROC_NULL
below = world.rank + 1 if world.rank + 1 < world.size else MPI.PROC_NULL


def product(field):
    """Return the matrix times a field that is distributed by rows."""
    padded = np.zeros((arguments.rows + 2, arguments.size + 2))
    padded[1:-1, 1:-1] = field
    upper, lower = np.zeros(arguments.size), np.zeros(arguments.size)
    world.Sendrecv(field[0], above, 0, lower, below, 0)
    world.Sendrecv(field[-1], below, 1, upper, above, 1)
    padded[0, 1:-1], padded[-1, 1:-1] = upper, lower
    return 4.0 * field - padded[:-2, 1:-1] - padded[2:, 1:-1] - padded[1:-1, :-2] - padded[1:-1, 2:]


def dot(first, second):
    """Return the dot product of distributed fields."""
    local, whole = np.array([np.vdot(first, second)]), np.empty(1)
    world.Allreduce(local, whole)
    return whole[0]


solution = np.zeros((arguments.rows, arguments.size))
residual = np.ones_like(solution)
direction = residual.copy()
square = dot(residual, residual)
for _ in range(arguments.steps):
    image = product(direction)
    step = square / dot(direction, image)
    solution += step * direction
    residual -= step * image
    previous, square = square, dot(residual, residual)
    direction = residual + square / previous * direction
total = dot(solution, solution)
if world.rank == 0:
    print(total)
