"""A check that fails on one rank; the others wait in a collective, as in underworldcode/underworld3#675.

commmodel simulate graphene run -p 4 -- python failed_rank.py
"""

from mpi4py import MPI

comm = MPI.COMM_WORLD
cells = 100 // (comm.rank + 1)
if cells < 30:
    raise SystemExit(f"rank {comm.rank} has only {cells} cells")
comm.allreduce(cells)
