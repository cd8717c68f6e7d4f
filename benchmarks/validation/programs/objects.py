"""Python objects: a dictionary is broadcast, each rank's answer is reduced, as mpi4py's lower-case methods do it."""

import argparse
import operator

import numpy as np
from mpi4py import MPI

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--size", type=int, default=65536, help="numbers in the object")
parser.add_argument("--steps", type=int, default=3)
arguments = parser.parse_args()

world = MPI.COMM_WORLD
work = {"step": 0, "values": np.linspace(0.0, 1.0, arguments.size)}
for step in range(arguments.steps):
    work = world.bcast(work if world.rank == 0 else None)
    answer = work["values"] * (world.rank + 1)
    total = world.reduce(answer, op=operator.add)
    if world.rank == 0:
        work = {"step": step + 1, "values": total / np.abs(total).max()}
if world.rank == 0:
    print(float(work["values"].sum()))
