"""Blocks go around a ring in pieces, and each rank adds to a piece while the next one is on its way."""

import argparse

import numpy as np
from mpi4py import MPI

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--size", type=int, default=32768, help="numbers of a piece")
parser.add_argument("--steps", type=int, default=4, help="pieces of a block")
arguments = parser.parse_args()

world = MPI.COMM_WORLD
before, after = (world.rank - 1) % world.size, (world.rank + 1) % world.size
block = np.full((arguments.steps, arguments.size), float(world.rank))
incoming = np.empty_like(block)
for _ in range(world.size):
    receives = [world.Irecv(piece, before, number) for number, piece in enumerate(incoming)]
    sends = []
    for number, piece in enumerate(block):
        sends.append(world.Isend(piece, after, number))
    for number, receive in enumerate(receives):
        receive.Wait()
        incoming[number] = incoming[number] * 0.5 + 1.0
    MPI.Request.Waitall(sends)
    block, incoming = incoming, block
total = world.reduce(float(block.sum()))
if world.rank == 0:
    print(total)
