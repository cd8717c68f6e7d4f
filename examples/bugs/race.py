"""A message race: the first message is taken as rank 1's, whoever sent it.

commmodel simulate graphene run -p 3 --orders all -- python race.py
"""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
if comm.rank == 0:
    value = np.zeros(2)
    for place in range(2):
        comm.Recv(value[place : place + 1], source=MPI.ANY_SOURCE)
    if value[0] != 1.0:
        raise SystemExit("the first message is not rank 1's")
else:
    comm.Send(np.full(1, float(comm.rank)), 0)
