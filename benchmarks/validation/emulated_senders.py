"""What several senders of a host cost each other: ``make cluster-bench`` (root, Linux).

Four ranks on each of two emulated hosts: one sender, all four, pairs both ways, an alltoall; beside it the time that
the alltoall's bytes take at the link's rate, which is that of four senders of the larger messages. With the congestion
controls that this kernel lets a namespace have, one queue a host, and one for acknowledgements, which go first.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from tools import emulated_cluster

from commmodel.units import format_size, format_time, parse_sizes

RANKS = 4
ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
PROGRAM = """
import json, sys, time
import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
half, rank, size = world.size // 2, world.rank, int(sys.argv[1])
peer = (rank + half) % world.size
outgoing, incoming = np.ones(size * world.size, np.uint8), np.empty(size * world.size, np.uint8)
one = outgoing[:size], incoming[:size]
def send(senders):
    if rank % half < senders:
        world.Send(one[0], peer) if rank < half else world.Recv(one[1], peer)
cases = {
    "one sender": lambda: send(1),
    "all senders, one way": lambda: send(half),
    "all pairs, both ways": lambda: world.Sendrecv(one[0], peer, recvbuf=one[1], source=peer),
    "alltoall": lambda: world.Alltoall(outgoing, incoming),
}
for name, case in cases.items():
    case()
    seconds = []
    for _ in range(int(sys.argv[2])):
        world.Barrier()
        begun = time.perf_counter()
        case()
        seconds.append(world.allreduce(time.perf_counter() - begun, op=MPI.MAX))
    if rank == 0:
        print(json.dumps((name, seconds)), flush=True)
"""


def measured(mpiexec: str, hosts: tuple[str, ...], size: int, repetitions: int) -> dict[str, float]:
    """Return the median seconds of each case."""
    command = [*emulated_cluster.launcher(mpiexec, hosts, RANKS), sys.executable, "-m", "mpi4py", "-c", PROGRAM]
    environment = os.environ | emulated_cluster.mpi_environment()
    words = [*command, str(size), str(repetitions)]
    completed = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=True)
    return {name: float(np.median(seconds)) for name, seconds in map(json.loads, completed.stdout.splitlines())}


def main() -> None:
    """Measure and print."""
    parser = emulated_cluster.parser("Several senders of a host, behind one limit.", keeps=False)
    parser.add_argument("--sizes", default="16KiB,128KiB", type=parse_sizes, help="of the messages (16KiB,128KiB)")
    parser.add_argument("--repetitions", type=int, default=9, help="of each exchange (%(default)s)")
    arguments = parser.parse_args()
    if problem := emulated_cluster.missing():
        raise SystemExit(f"no emulated cluster here: {problem}")
    columns = ["one sender", "all senders, one way", "all pairs, both ways", "alltoall"]
    table = Table("TCP, queues", "bytes", *columns, "alltoall's bytes")
    for congestion in ALLOWED.read_text(encoding="utf-8").split():
        for queues in ("one", "acks-first"):
            with emulated_cluster.cluster(2) as hosts:
                emulated_cluster.set_congestion(congestion, hosts)
                emulated_cluster.set_rate(arguments.rate, hosts, queues=queues)
                times = {
                    size: measured(arguments.mpiexec, hosts, size, arguments.repetitions) for size in arguments.sizes
                }
            largest = max(times)
            byte_time = times[largest]["all senders, one way"] / (RANKS * largest)
            for size, row in times.items():
                cells = [format_time(row[column]) for column in columns]
                bound = format_time(byte_time * RANKS * RANKS * size)
                table.add_row(f"{congestion}, {queues}", format_size(size), *cells, bound)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
