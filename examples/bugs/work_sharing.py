"""Ranks that share work while each waits in a send to the next one, as described in hpc/libcircle#45.

commmodel simulate graphene run -p 4 --check -- python work_sharing.py
"""

from mpi4py import MPI

comm = MPI.COMM_WORLD
work = bytearray(8000)
asked = (comm.rank + 1) % comm.size
comm.send("request", asked, tag=1)
thief = (comm.rank - 1) % comm.size
comm.recv(source=thief, tag=1)
comm.Send(work, thief, tag=2)  # nobody serves the others' requests meanwhile
comm.Recv(work, asked, tag=2)
