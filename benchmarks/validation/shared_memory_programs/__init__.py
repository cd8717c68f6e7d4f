"""Small programs of C and mpi4py whose messages and computation both matter on shared memory.

Each is run as ``mpiexec -n 2 PROGRAM`` and prints on rank 0 how long its loop took. `processors.c` has no MPI.
"""
