"""Jacobi's method on a ring of ranks, as a program to guard: each step exchanges borders and sums a residual.

`commmodel guard` in this folder simulates it on 4 to 64 ranks. With --everybody, each rank's residual is broadcast to
all others, as a careless change might do: n messages from each of n ranks.
"""

import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
STEPS, SIZE = 10, 1024


def exchange(field: np.ndarray) -> None:
    """Send the borders to both neighbours."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    comm.Sendrecv(field[-2:-1], right, recvbuf=field[:1], source=left)
    comm.Sendrecv(field[1:2], left, recvbuf=field[-1:], source=right)


def residual(change: np.ndarray) -> float:
    """Return the norm of all ranks' changes."""
    own = np.array([change @ change])
    if "--everybody" in sys.argv:
        parts = np.empty(comm.size)
        parts[comm.rank] = own[0]
        for rank in range(comm.size):
            comm.Bcast(parts[rank : rank + 1], rank)
        return float(parts.sum())
    total = np.empty(1)
    comm.Allreduce(own, total)
    return float(total[0])


field = np.zeros(SIZE)
field[1] = comm.rank
for _ in range(STEPS):
    exchange(field)
    new = (field[:-2] + field[2:]) / 2
    norm = residual(new - field[1:-1])
    field[1:-1] = new
