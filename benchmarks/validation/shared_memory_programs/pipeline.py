"""The first rank makes blocks of numbers, the others work on them and pass them on."""

import sys

import numpy as np
from mpi4py import MPI

size, steps = (int(word) for word in (sys.argv[1:] or ("16384", "2000")))
world = MPI.COMM_WORLD
before = world.rank - 1 if world.rank else MPI.PROC_NULL
after = world.rank + 1 if world.rank + 1 < world.size else MPI.PROC_NULL
block = np.full(size, 1.0)
total = np.zeros(size)
world.Barrier()
begin = MPI.Wtime()
for step in range(steps):
    world.Recv(block, before)
    np.add(block, step, out=block)
    world.Send(block, after)
    total += block
world.Barrier()
if world.rank == 0:
    print(f"seconds {MPI.Wtime() - begin:.9f} sum {total[-1]}")
