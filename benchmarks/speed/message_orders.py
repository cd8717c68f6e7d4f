"""Processor time that other orders of messages take, and wall time: ``python -m benchmarks.speed.message_orders``.

A master receives from any source what its workers send, so many messages of each: with 7 workers and one message there
are 5,040 orders, with two more than 680 million; with `--barrier` all ranks meet at the end. Measured is what
`commmodel simulate graphene run --orders N` takes in all processes, an order beyond what the first run and the start
take: for a program of Python, and for one of C where mpicc of MPICH is there.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

PYTHON = """
import sys
from mpi4py import MPI
comm = MPI.COMM_WORLD
messages = int(sys.argv[1])
if comm.rank == 0:
    for _ in range(messages * (comm.size - 1)):
        comm.recv(source=MPI.ANY_SOURCE)
else:
    for _ in range(messages):
        comm.send(comm.rank, 0)
if len(sys.argv) > 2:
    comm.Barrier()
"""
C = """
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank, size, value, messages = atoi(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; rank == 0 && i < messages * (size - 1); i++)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; rank > 0 && i < messages; i++) MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (argc > 2) MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
"""


def programs(folder: Path) -> dict[str, list[str]]:
    """Return the words of each program, written into a folder."""
    script, source = folder / "master.py", folder / "master.c"
    script.write_text(PYTHON, "utf-8")
    source.write_text(C, "utf-8")
    words = {"Python": [sys.executable, str(script)]}
    mpicc = shutil.which("mpicc", path=f"{sys.prefix}/bin")
    if mpicc is not None:
        program = folder / "master"
        subprocess.run([mpicc, "-O1", "-g", source, "-o", program], check=True)
        if b"libmpi.so.12" in program.read_bytes():
            words["C"] = [str(program)]
    return words


def explore(words: list[str], processes: int, orders: int) -> tuple[float, float, int]:
    """Return the processor and wall time of an exploration in seconds, and how many orders it has run."""
    before, begin = os.times(), time.perf_counter()
    command = [sys.executable, "-m", "commmodel", "simulate", "graphene", "run", "-p", str(processes)]
    done = subprocess.run([*command, "--orders", str(orders), "--", *words], capture_output=True, text=True, check=True)
    after, wall = os.times(), time.perf_counter() - begin
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    notes = [line.split() for line in done.stderr.splitlines() if "orders of messages were run" in line]
    return seconds, wall, int(notes[0][1]) if notes else 1


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=8, help="the master and its workers (%(default)s)")
    parser.add_argument("--messages", type=int, default=2, help="of each worker (%(default)s)")
    parser.add_argument("--orders", type=int, default=10000, help="at most (%(default)s)")
    parser.add_argument("--barrier", action="store_true", help="at the end")
    options = parser.parse_args()
    table = Table("program", "ranks", "orders", "processor time, s", "wall time, s", "ms an order", box=None)
    with tempfile.TemporaryDirectory() as folder:
        for name, words in programs(Path(folder)).items():
            arguments = [*words, str(options.messages), *(["barrier"] if options.barrier else [])]
            start, _, _ = explore(arguments, options.ranks, 1)
            seconds, wall, orders = explore(arguments, options.ranks, options.orders)
            mean = f"{1e3 * (seconds - start) / orders:.1f}"
            table.add_row(name, str(options.ranks), str(orders), f"{seconds:.1f}", f"{wall:.1f}", mean)
    Console(width=100).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
