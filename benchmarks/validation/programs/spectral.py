"""A field in three dimensions, transformed and back with mpi4py-fft, which must be installed."""

import argparse

import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--size", type=int, default=96, help="points in each dimension")
parser.add_argument("--steps", type=int, default=2)
arguments = parser.parse_args()

world = MPI.COMM_WORLD
transform = PFFT(world, [arguments.size] * 3, axes=(0, 1, 2), dtype=float)
field = newDistArray(transform, False)
field[:] = np.random.default_rng(world.rank).random(field.shape)
for _ in range(arguments.steps):
    field = transform.backward(transform.forward(field))
total = world.reduce(float(np.asarray(field).sum()))
if world.rank == 0:
    print(total)
