"""A matrix, distributed by rows, is transposed again and again: pack, MPI_Alltoall, unpack."""

import sys

import numpy as np
from mpi4py import MPI

size, steps = (int(word) for word in (sys.argv[1:] or ("256", "500")))
world = MPI.COMM_WORLD
local = size // world.size
rows = np.arange(local * size, dtype=float).reshape(local, size) + world.rank
packed = np.empty((world.size, local, local))
received = np.empty_like(packed)
world.Barrier()
begin = MPI.Wtime()
for _ in range(steps):
    packed[:] = rows.reshape(local, world.size, local).swapaxes(0, 1)
    world.Alltoall(packed, received)
    rows.reshape(local, world.size, local)[:] = received.transpose(2, 0, 1)
if world.rank == 0:
    print(f"seconds {MPI.Wtime() - begin:.9f} sum {rows[0, -1]}")
