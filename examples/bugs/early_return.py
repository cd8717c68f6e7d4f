"""A rank without free nodes returns before a collective, as described in underworldcode/underworld3#346.

commmodel simulate graphene run -p 4 -- python early_return.py
"""

from mpi4py import MPI

comm = MPI.COMM_WORLD


def smooth(free: int) -> float:
    """Return the largest movement of all ranks."""
    if free == 0:
        return 0.0
    return comm.allreduce(1.0 / free, op=MPI.MAX)


smooth(free=3 - comm.rank)
comm.Barrier()
