"""Conjugate gradients for a Laplacian in one dimension: borders by MPI_Sendrecv, dot products by MPI_Allreduce."""

import argparse

import numpy as np
from mpi4py import MPI

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--size", type=int, default=20000, help="unknowns of a rank")
parser.add_argument("--steps", type=int, default=200)
arguments = parser.parse_args()

world = MPI.COMM_WORLD
left = world.rank - 1 if world.rank else MPI.PROC_NULL
right = world.rank + 1 if world.rank + 1 < world.size else MPI.PROC_NULL


def product(vector):
    """Return the matrix times a distributed vector."""
    padded = np.zeros(vector.size + 2)
    padded[1:-1] = vector
    world.Sendrecv(vector[:1], left, 0, padded[-1:], right, 0)
    world.Sendrecv(vector[-1:], right, 1, padded[:1], left, 1)
    return 2.0 * vector - padded[:-2] - padded[2:]


def dot(first, second):
    """Return the dot product of distributed vectors."""
    local, whole = np.array([first @ second]), np.empty(1)
    world.Allreduce(local, whole)
    return whole[0]


solution = np.zeros(arguments.size)
residual = np.ones(arguments.size)
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
