"""How far apart ranks leave a barrier: run by `benchmarks.validation.emulated_simulation` on emulated hosts.

These have one clock. Rank 0 prints a JSON list with a list for each barrier: by how many seconds each rank left it
later than the first one.
"""

import json
import sys
import time

from mpi4py import MPI

world = MPI.COMM_WORLD
exits = []
for _ in range(int(sys.argv[1])):
    world.Barrier()
    world.Barrier()
    exits.append(time.clock_gettime(time.CLOCK_MONOTONIC))
gathered = world.gather(exits)
if gathered is not None:
    print(json.dumps([[end - min(row) for end in row] for row in zip(*gathered, strict=True)]))
