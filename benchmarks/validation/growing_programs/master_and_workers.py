"""A master hands a piece of work to each worker in turn, and takes the answers in the same order."""

import sys
import time

import numpy as np
from mpi4py import MPI

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
world = MPI.COMM_WORLD
piece, answer = np.ones(2048), np.empty(16)
world.Bcast(piece, root=0)
for _ in range(STEPS):
    if world.rank == 0:
        for worker in range(1, world.size):
            world.Send(piece, worker, 1)
        for worker in range(1, world.size):
            world.Recv(answer, worker, 2)
    else:
        world.Recv(piece, 0, 1)
        time.sleep(2e-3)
        world.Send(answer, 0, 2)
