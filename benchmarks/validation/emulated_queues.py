"""What a host's single queue costs exchanges with several partners: ``make cluster-bench`` (root, Linux).

Eight emulated hosts exchange messages in ways that use all links fully, so that each should take as long as its
messages one after the other. Hosts have one queue for all that they send, then one for each other host, then one for
acknowledgements, which go first, and one for the rest. In one queue, acknowledgements for one partner wait behind data
for another.
The table has each exchange's rate, relative to that of messages which all go one way.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import numpy as np
from benchmarks.validation.emulated_simulation import BUCKET, RECEIVE_BUFFER, SEND_BUFFER
from rich.console import Console
from rich.table import Table
from tools import emulated_cluster

from commmodel.units import format_size, format_time, parse_sizes

HOSTS = 8
EXCHANGES = Path(__file__).with_name("queue_exchanges.py")


def exchanges(
    mpiexec: str, hosts: Sequence[str], variables: dict[str, str], words: Sequence[object]
) -> list[tuple[str, int, float]]:
    """Return name, messages at once and median seconds of each exchange."""
    command = [*emulated_cluster.launcher(mpiexec, hosts, 1), sys.executable, str(EXCHANGES), *map(str, words)]
    environment = os.environ | emulated_cluster.mpi_environment() | variables
    completed = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
    return [(name, count, float(np.median(times))) for name, count, times in json.loads(completed.stdout)]


def main() -> None:
    """Measure and print."""
    parser = emulated_cluster.parser("Exchanges between hosts with one queue and with several.", keeps=False)
    parser.add_argument("--sizes", default="100KiB,1MiB", type=parse_sizes, help="of the messages (100KiB,1MiB)")
    parser.add_argument("--repetitions", type=int, default=9, help="of each exchange (%(default)s)")
    arguments = parser.parse_args()
    if problem := emulated_cluster.missing():
        raise SystemExit(f"no emulated cluster here: {problem}")
    table = Table("a host's queues", "bytes", "exchange", "median", "rate, one way = 1")
    for queues in get_args(emulated_cluster.Queues):
        with emulated_cluster.cluster(HOSTS) as hosts:
            emulated_cluster.set_sockets(SEND_BUFFER, RECEIVE_BUFFER, hosts)
            emulated_cluster.set_rate(arguments.rate, hosts, BUCKET, queues)
            for size in arguments.sizes:
                words = (size, arguments.repetitions)
                rows = exchanges(arguments.mpiexec, hosts, dict(arguments.variable), words)
                _, messages, seconds = rows[0]  # one way
                for name, count, median in rows:
                    rate = count / median / (messages / seconds)
                    table.add_row(queues, format_size(size), name, format_time(median), f"{rate:.2f}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
