"""Times of exchanges that use each link fully: run by `benchmarks.validation.emulated_queues` on eight emulated hosts.

Rank 0 prints a JSON list: an exchange's name, how many messages a host sends at once, and the seconds of each
repetition, from the first rank's begin to the last one's end; the hosts have one clock.
"""

import json
import sys
import time

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
message_size, repetitions = int(sys.argv[1]), int(sys.argv[2])
rank, half = world.rank, world.size // 2
partners = [rank ^ 1, rank ^ 2, rank ^ 4]
first_half = rank < half
EXCHANGES = {
    "one way, 3 receivers each": (
        [half + (rank + step) % half for step in (1, 2, 3)] if first_half else [],
        [] if first_half else [(rank - half - step) % half for step in (1, 2, 3)],
    ),
    "ring: one receiver, another sender": ([(rank + 1) % world.size], [(rank - 1) % world.size]),
    "both ways, 1 partner": (partners[:1], partners[:1]),
    "both ways, 2 partners": (partners[:2], partners[:2]),
    "both ways, 3 partners": (partners, partners),
}
"""Name -> ranks that this one sends to, and receives from."""


def seconds(receivers: list[int], senders: list[int]) -> float:
    """Return the time of an exchange."""
    world.Barrier()
    begin = time.clock_gettime(time.CLOCK_MONOTONIC)
    requests = [world.Irecv(incoming[place], sender) for place, sender in enumerate(senders)]
    requests += [world.Isend(outgoing, receiver) for receiver in receivers]
    MPI.Request.Waitall(requests)
    end = time.clock_gettime(time.CLOCK_MONOTONIC)
    return float(world.allreduce(end, MPI.MAX) - world.allreduce(begin, MPI.MIN))


outgoing = np.zeros(message_size, dtype=np.uint8)
incoming = np.zeros((len(partners), message_size), dtype=np.uint8)
measured = []
for name, (receivers, senders) in EXCHANGES.items():
    seconds(receivers, senders)  # connections
    times = [seconds(receivers, senders) for _ in range(repetitions)]
    measured.append((name, world.allreduce(len(receivers), MPI.MAX), times))
if rank == 0:
    print(json.dumps(measured))
