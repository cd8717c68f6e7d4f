"""How far apart ranks leave a barrier: run by `benchmarks.validation.emulated_simulation` on emulated hosts.

These have one clock. Before each barrier, messages go round a ring, as ranks come from one when they are measured. Rank
0 prints a JSON list with a list for each barrier: by how many seconds each rank left it later than the first one.
"""

import json
import sys
import time

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
before, after = (world.rank - 1) % world.size, (world.rank + 1) % world.size
outgoing = np.zeros(100 * 1024, dtype=np.uint8)
incoming = np.empty_like(outgoing)
exits = []
for _ in range(int(sys.argv[1])):
    world.Sendrecv(outgoing, after, 0, incoming, before, 0)
    world.Barrier()
    exits.append(time.clock_gettime(time.CLOCK_MONOTONIC))
gathered = world.gather(exits)
if gathered is not None:
    print(json.dumps([[end - min(row) for end in row] for row in zip(*gathered, strict=True)]))
