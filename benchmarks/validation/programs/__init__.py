"""Small mpi4py programs that differ in how they communicate: what recordings and replays are tried on.

Each is run as ``mpiexec -n P python FILE [--size N] [--steps K]`` and prints the sum of its result on rank 0.
"""
