"""A master hands out pieces of work to whichever worker answers first: a matched probe for any source and any tag."""

import argparse

import numpy as np
from mpi4py import MPI

WORK, STOP = 1, 2
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--size", type=int, default=65536, help="numbers of a piece")
parser.add_argument("--steps", type=int, default=20, help="pieces")
arguments = parser.parse_args()

world = MPI.COMM_WORLD
piece, status = np.ones(arguments.size), MPI.Status()
if world.rank == 0:
    total, sent = 0.0, 0
    for worker in range(1, world.size):
        world.Send(piece * sent, worker, WORK)
        sent += 1
    answer = np.empty(1)
    for _received in range(max(arguments.steps, world.size - 1)):
        world.Mprobe(MPI.ANY_SOURCE, MPI.ANY_TAG, status).Recv(answer)
        total += answer[0]
        more = sent < arguments.steps
        world.Send(piece * sent if more else piece[:0], status.Get_source(), WORK if more else STOP)
        sent += more
    print(total)
else:
    while True:
        world.Recv(piece, 0, MPI.ANY_TAG, status)
        if status.Get_tag() == STOP:
            break
        world.Send(np.array([np.sqrt(piece).sum()]), 0, WORK)
