"""Norms of a distributed vector, one after the other, by MPI_Allreduce of 8 bytes."""

import argparse
import time

import numpy as np
from mpi4py import MPI

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=100)
arguments = parser.parse_args()

world = MPI.COMM_WORLD
square, total = np.full(1, float(world.rank)), np.empty(1)
for _ in range(arguments.steps):
    time.sleep(1e-3)
    world.Allreduce(square, total)
if world.rank == 0:
    print(total[0])
