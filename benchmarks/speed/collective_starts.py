"""How collectives must begin to be timed right: barriers, fixed windows and announced starts beside each other.

Measures some operations of all ranks with each of the three starts in turn, round after round, and prints a table:
medians, their ratio to those of announced starts (round-time), and the share of repetitions that a rank was late for.
The ratio has the interval of the median over the rounds. Run it as

    mpiexec -n 2 python -m benchmarks.speed.collective_starts
"""

import argparse
from itertools import product

import numpy as np
from mpi4py import MPI

from commmodel.bench.buffers import allocate
from commmodel.bench.clock import choose
from commmodel.bench.kernels.synchronisation_scheme import measure_started
from commmodel.bench.options import parse
from commmodel.bench.session import Session
from commmodel.bench.synchronisation import GroupClock
from commmodel.results.configurations import Collective
from commmodel.statistics import median_interval
from commmodel.units import format_ratio, format_size, format_time

STARTS = ("barrier", "fixed-window", "round-time")
OPERATIONS = (("barrier", 0), ("bcast", 8), ("bcast", 64 << 10), ("allreduce", 8), ("allreduce", 64 << 10),
              ("alltoall", 1 << 10))  # fmt: skip


def measured(session, operation, size):
    """Return the record of each start, on the root; None where one was left out."""
    return {start: measure_started(session, Collective(operation, size, session.comm.size, start)) for start in STARTS}


def row(operation, size, rounds):
    """Return the cells of an operation: rounds are records by start."""
    medians = {start: np.array([round_[start].summary.median for round_ in rounds]) for start in STARTS}
    cells = [operation, format_size(size)]
    for start in STARTS:
        cells.append(format_time(float(np.median(medians[start]))))
        if start != "round-time":
            ratios = medians[start] / medians["round-time"]
            low, high = median_interval(ratios)
            bounds = f" [{low:.2f}, {high:.2f}]" if np.isfinite(high) else ""
            cells.append(f"{np.median(ratios):.2f}{bounds}")
        if start != "barrier":
            late = sum(round_[start].late for round_ in rounds)
            cells.append(format_ratio(late / (late + sum(len(round_[start].samples) for round_ in rounds))))
    cells.append(format_time(float(np.median([round_["round-time"].clock_error for round_ in rounds]))))
    return cells


def main():
    """Measure, and print the table on rank 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each operation with each start, at most (0.3)")
    arguments = parser.parse_args()
    comm = MPI.COMM_WORLD
    clock = choose() if comm.rank == 0 else None
    clock = comm.bcast(clock) if comm.Split_type(MPI.COMM_TYPE_SHARED).size == comm.size else choose()
    room = comm.size * max(size for _, size in OPERATIONS)
    options = parse(["--ci", "1%"]).options
    session = Session(comm, clock, options, allocate(room, "never"), allocate(room, "never"), arguments.seconds,
                      GroupClock(comm, clock))  # fmt: skip
    measured_rounds = {operation: [] for operation in OPERATIONS}
    for _, case in product(range(arguments.rounds), OPERATIONS):
        records = measured(session, *case)
        if comm.rank == 0 and None not in records.values():
            measured_rounds[case].append(records)
    if comm.rank:
        return
    print(f"{comm.size} ranks, {MPI.Get_library_version().splitlines()[0].strip()}")
    headings = ("operation", "size", "barrier", "over round-time", "fixed window", "over round-time", "late",
                "round-time", "late", "clocks apart")  # fmt: skip
    print("| " + " | ".join(headings) + " |")
    print("|" + "---|" * len(headings))
    for case, rounds in measured_rounds.items():
        cells = row(*case, rounds) if rounds else [case[0], format_size(case[1]), "no common start was met"]
        print("| " + " | ".join([*cells, *[""] * (len(headings) - len(cells))]) + " |")


if __name__ == "__main__":
    main()
