"""How far apart ranks leave a barrier: run by `benchmarks.validation.emulated_simulation` on emulated hosts.

These have one clock. Before each barrier there is an exchange of 100 KiB: in which order ranks come to a barrier hangs
on what they did before. Rank 0 prints a JSON object: exchange -> a list for each barrier, of by how many seconds each
rank left it later than the first one.
"""

import json
import sys
import time

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
before, after = (world.rank - 1) % world.size, (world.rank + 1) % world.size
outgoing = np.zeros((world.size + 4, 100 * 1024), dtype=np.uint8)
incoming = np.empty_like(outgoing)
grid = world.Create_cart(MPI.Compute_dims(world.size, 2), periods=(True, True))
EXCHANGES = {
    "ring": lambda: world.Sendrecv(outgoing[0], after, 0, incoming[0], before, 0),
    "alltoall": lambda: world.Alltoall(outgoing[: world.size], incoming[: world.size]),
    "neighbor_alltoall": lambda: grid.Neighbor_alltoall(outgoing[:4], incoming[:4]),
}
exits_after = {}
for name, exchange in EXCHANGES.items():
    exits = []
    for _ in range(int(sys.argv[1])):
        exchange()
        world.Barrier()
        exits.append(time.clock_gettime(time.CLOCK_MONOTONIC))
    gathered = world.gather(exits) or []
    exits_after[name] = [[end - min(row) for end in row] for row in zip(*gathered, strict=True)]
if world.rank == 0:
    print(json.dumps(exits_after))
