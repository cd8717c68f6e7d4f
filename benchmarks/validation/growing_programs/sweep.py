"""Wavefronts through a grid of ranks from all four corners, in blocks of planes, as Sweep3D and Kripke do."""

import sys
import time

import numpy as np
from mpi4py import MPI

BLOCKS = int(sys.argv[1]) if len(sys.argv) > 1 else 4
world = MPI.COMM_WORLD
height, width = MPI.Compute_dims(world.size, 2)
row, column = divmod(world.rank, width)
south_face, east_face = np.ones(1600), np.ones(1200)


def pass_on(towards, buffer, sender):
    """Send or receive a face where there is a neighbour."""
    (down, right) = towards
    is_inside = 0 <= row + down < height and 0 <= column + right < width
    peer = world.rank + down * width + right
    if is_inside and sender:
        world.Send(buffer, peer)
    elif is_inside:
        world.Recv(buffer, peer)


for down, right in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
    for _ in range(BLOCKS):
        pass_on((-down, 0), south_face, sender=False)
        pass_on((0, -right), east_face, sender=False)
        time.sleep(3e-4)
        pass_on((down, 0), south_face, sender=True)
        pass_on((0, right), east_face, sender=True)
world.Allreduce(np.ones(1), np.empty(1))
