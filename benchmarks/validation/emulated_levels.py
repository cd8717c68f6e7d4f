"""Collectives in two levels on emulated hosts with several ranks each: ``make cluster-bench`` (root, Linux).

The machine's parameters within and between hosts are measured with all ranks there. Then the library is told by the
files of rules that commmodel writes to take a flat algorithm, or one in two levels, for broadcast, allreduce and
allgather, with MPICH scan, too. Its forms in memory that a node shares, of alltoall and allgather, are no matter of
that file: a variable names them, another makes the program end where they cannot be taken. Whether the library does as
it is told is counted: the bytes that cross the network in ten calls, beside those of the schedule; with ``--count``
only this. Times are measured and predicted. Wanted: the bytes within 15 %, and the algorithm that is predicted to be
the fastest never slower than 1.25 times the fastest one measured; with less the exit code is 1.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.validation.emulated_collectives import measured
from rich.console import Console
from tools import emulated_cluster

from commmodel.collectives import Nodes, Problem, build
from commmodel.collectives.library import selection
from commmodel.collectives.library.rules import SEVERAL, SelectionRule, Selector
from commmodel.collectives.library.selection import with_levels
from commmodel.fit import fit_machine
from commmodel.machine import Machine
from commmodel.predict import algorithm_seconds
from commmodel.report.kit.tables import Table, left, plain_rows, right
from commmodel.results import Measurements
from commmodel.units import format_size, format_time, parse_sizes

BYTES, SLOWER = 0.15, 1.25
CALLS = 10
SETS = {
    "mpich": (
        {
            "bcast": "scatter-ring",
            "allreduce": "recursive-doubling",
            "allgather": "ring",
            "alltoall": "linear",
            "scan": "recursive-doubling",
        },
        {"bcast": "two-level", "allreduce": "two-level", "scan": "two-level"},
        {"allgather": "two-level-multi-leader", "alltoall": "two-level"},
    ),
    "openmpi": (
        {"bcast": "binomial-at-once", "allreduce": "recursive-doubling", "allgather": "ring"},
        {"bcast": "two-level", "allreduce": "two-level", "allgather": "two-level"},
        {"bcast": "two-level-pipelined", "allreduce": "two-level-pipelined"},
    ),
}
"""Library -> operation -> algorithm, as told to it: flat ones first."""
SHARED_MEMORY = {
    "MPIR_CVAR_ALLGATHER_COMPOSITION": "1", "MPIR_CVAR_ALLGATHER_SHM_PER_RANK": str(2**20),
    "MPIR_CVAR_ALLTOALL_COMPOSITION": "1", "MPIR_CVAR_ALLTOALL_SHM_PER_RANK": str(2**20),
}  # fmt: skip
"""MPICH's variables for forms in memory that a node shares, which its device has."""
OR_ENDS = {"MPIR_CVAR_COLLECTIVE_FALLBACK": "error"}
"""MPICH then ends where it cannot do as it is told."""
LEVELS = {
    "bcast": "binomial", "allreduce": "recursive-doubling", "allgather": "ring", "reduce": "binomial",
    "gather": "binomial", "scan": "recursive-doubling",
}  # fmt: skip
"""Operation -> algorithm on each level."""
COUNTING = f"""
import sys
from mpi4py import MPI
world = MPI.COMM_WORLD
def sent():
    with open("/proc/self/net/dev") as lines:
        return next(int(line.partition(":")[2].split()[8]) for line in lines if line.split(":")[0].strip() == "eth0")
node = world.Split_type(MPI.COMM_TYPE_SHARED)
for word in sys.argv[1:]:
    operation, size = word.split(":")
    block, every = bytearray(int(size)), bytearray(int(size) * world.size)
    call = {{"bcast": lambda: world.Bcast([block, MPI.DOUBLE]), "allgather": lambda: world.Allgather(block, every),
             "alltoall": lambda: world.Alltoall(every, bytearray(int(size) * world.size)),
             "scan": lambda: world.Scan([block, MPI.DOUBLE], [bytearray(int(size)), MPI.DOUBLE]),
             "allreduce": lambda: world.Allreduce([block, MPI.DOUBLE], [bytearray(int(size)), MPI.DOUBLE])}}[operation]
    call()
    world.Barrier()
    before = sent() if node.rank == 0 else 0
    for _ in range({CALLS}):
        call()
    world.Barrier()
    bytes_sent = world.reduce(sent() - before if node.rank == 0 else 0)
    if world.rank == 0:
        print(operation, size, bytes_sent / {CALLS})
"""


class Case(NamedTuple):
    """An algorithm of an operation, predicted and measured."""

    operation: str
    size: int
    algorithm: str
    predicted: float
    measured: float
    bytes_predicted: float
    bytes_counted: float


def rules_for(library: str, chosen: dict[str, str], folder: Path, largest: int) -> tuple[Selector, dict[str, str]]:
    """Return rules that pick these algorithms, and the variables with which the library follows them.

    Levels have up to `largest` processes.
    """
    shared = library == "mpich" and "two-level-multi-leader" in chosen.values()
    listed = [SelectionRule(operation, name, distribution=SEVERAL) for operation, name in chosen.items() if not shared]
    for operation, name in LEVELS.items():
        name_there = "binomial-at-once" if (library, operation) == ("openmpi", "bcast") else name
        listed.append(SelectionRule(operation, name_there, processes_upto=largest))
    listed += [SelectionRule(operation, name) for operation, name in SETS[library][0].items()]
    selector = Selector("chosen", tuple(listed), fallback="mpich-5.0" if library == "mpich" else "openmpi")
    path = folder / "rules"
    selection.dump(selector, path, library)
    if library == "mpich":
        return selector, {
            "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": str(path), "MPIR_CVAR_BCAST_SHORT_MSG_SIZE": "2147483647",
            **(SHARED_MEMORY if shared else {"MPIR_CVAR_DEVICE_COLLECTIVES": "none"}),
        }  # fmt: skip
    selection.dump(selector, folder / "rules.han", "openmpi-han")
    return selector, {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_dynamic_rules_filename": str(path),
        "OMPI_MCA_coll_han_use_dynamic_file_rules": "1", "OMPI_MCA_coll_han_dynamic_rules_filename": f"{path}.han",
    }  # fmt: skip


def counted(command: Sequence[str], words: Sequence[str], rules: dict[str, str]) -> dict[tuple[str, int], float]:
    """Return the bytes that cross the network in a call: (operation, size) -> bytes."""
    environment = os.environ | emulated_cluster.mpi_environment() | rules | OR_ENDS
    completed = subprocess.run(
        [*command, sys.executable, "-m", "mpi4py", "-c", COUNTING, *words],
        env=environment, capture_output=True, text=True, check=False, timeout=280,
    )  # fmt: skip
    if completed.returncode:
        raise SystemExit(completed.stderr)
    rows = (line.split() for line in completed.stdout.splitlines())
    return {(operation, int(size)): float(count) for operation, size, count in rows}


def cases(
    machine: Machine | None,
    selector: Selector,
    chosen: dict[str, str],
    problem: Problem,
    times: dict[tuple[str, int], float],
    crossed: dict[tuple[str, int], float],
) -> list[Case]:
    """Return what was predicted beside what was measured."""
    rows = []
    for (operation, size), seconds in times.items():
        if operation in chosen:
            algorithm = chosen[operation]
            case = Problem(problem.processes, size, nodes=problem.nodes)
            case = with_levels(selector, operation, algorithm, case)
            schedule = build(operation, algorithm, case)
            per_node = case.nodes.per_node if case.nodes else 1
            crosses = schedule.sender // per_node != schedule.receiver // per_node
            predicted = algorithm_seconds(machine, operation, algorithm, case) if machine else math.nan
            across = float(schedule.size[crosses].sum())
            rows.append(Case(operation, size, algorithm, predicted, seconds, across, crossed[operation, size]))
    return rows


def machine_of(hosts: Sequence[str], arguments: argparse.Namespace, folder: Path) -> Machine:
    """Return the parameters within and between hosts, measured with all ranks there."""
    rest = ("--time", arguments.time)
    upto = 1 << max(arguments.sizes).bit_length()
    parameters = measured(
        folder / "parameters.jsonl", arguments.mpiexec, hosts,
        ("loggp", "plogp", "--sizes", f"1,64,1KiB:{upto}", *rest), {}, arguments.per_node,
    )  # fmt: skip
    # Only streams tell what a host sends one way: ping-pongs of several pairs go both ways at once.
    streams = measured(
        folder / "streams.jsonl", arguments.mpiexec, hosts,
        ("stream", "--pairs", f"1,{arguments.per_node}", "--sizes", "1KiB,4KiB,16KiB,32KiB,64KiB", *rest), {},
        arguments.per_node,
    )  # fmt: skip
    return fit_machine(Measurements((*parameters.launches, *streams.launches)))


def main() -> None:
    """Measure, predict and print."""
    parser = emulated_cluster.parser(__doc__.partition("\n")[0])
    parser.add_argument("--hosts", type=int, default=2, help="(2)")
    parser.add_argument("--per-node", type=int, default=4, help="ranks on each host (4)")
    parser.add_argument("--sizes", default="16KiB,64KiB", type=parse_sizes, help="of the collectives (16KiB,64KiB)")
    parser.add_argument("--time", default="12s", help="of each measurement (12s)")
    parser.add_argument("--congestion", default="reno", help="TCP's congestion control on the hosts (reno)")
    parser.add_argument("--count", action="store_true", help="only count bytes: measure and predict no time")
    arguments = parser.parse_args()
    if problem := emulated_cluster.missing():
        raise SystemExit(f"no emulated cluster here: {problem}")
    library = "openmpi" if b"Open MPI" in subprocess.check_output([arguments.mpiexec, "--version"]) else "mpich"
    sizes: Sequence[int] = arguments.sizes
    per_node, processes = arguments.per_node, arguments.per_node * arguments.hosts
    listed: list[Case] = []
    with tempfile.TemporaryDirectory() as temporary, emulated_cluster.cluster(arguments.hosts) as hosts:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        emulated_cluster.set_congestion(arguments.congestion, hosts)
        emulated_cluster.set_rate(arguments.rate, hosts)
        machine = None if arguments.count else machine_of(hosts, arguments, folder)
        for number, chosen in enumerate(SETS[library]):
            selector, rules = rules_for(library, chosen, folder, max(per_node, arguments.hosts))
            rules |= dict(arguments.variable)
            times = {(operation, size): math.nan for operation in chosen for size in sizes}
            if machine is not None:
                results = measured(
                    folder / f"collectives-{number}.jsonl", arguments.mpiexec, hosts,
                    ("collective", "--start", "barrier", "--collectives", ",".join(chosen), "--process-counts",
                     str(processes), "--sizes", ",".join(map(str, sizes)), "--time", arguments.time),
                    rules, per_node,
                )  # fmt: skip
                times = {
                    (record.configuration.operation, record.configuration.message_size): record.summary.median
                    for record in results.records
                }
            words = [f"{operation}:{size}" for operation in chosen for size in sizes]
            command = emulated_cluster.launcher(arguments.mpiexec, hosts, per_node)
            crossed = counted(command, words, rules)
            listed += cases(machine, selector, chosen, Problem(processes, nodes=Nodes(per_node)), times, crossed)
    listed.sort(key=lambda case: (case.operation, case.size))
    if not arguments.count:
        link = f"{arguments.rate / 1e6:g} Mbit/s, {arguments.congestion}"
        show(listed, f"{library}, {processes} ranks on {arguments.hosts} hosts, {link}")
    if arguments.keep:
        (folder / "levels.json").write_text(json.dumps([case._asdict() for case in listed]), encoding="utf-8")
    raise SystemExit(0 if judged(listed) else 1)


def show(listed: Sequence[Case], title: str) -> None:
    """Print the cases."""
    rows = [
        (
            case.operation, format_size(case.size), case.algorithm, format_time(case.predicted),
            format_time(case.measured), f"{case.predicted / case.measured - 1:+.0%}",
            format_size(round(case.bytes_predicted)), format_size(round(case.bytes_counted)),
        )
        for case in listed
    ]  # fmt: skip
    columns = (
        *left("operation"), *right("n"), *left("algorithm"),
        *right("predicted", "measured", "error", "bytes across", "counted"),
    )  # fmt: skip
    Console(width=140).print(Table(title, columns, plain_rows(rows)))


def judged(listed: Sequence[Case]) -> bool:
    """Print and return whether the library took the algorithms, and the predicted order holds."""
    errors = np.abs([case.bytes_counted / case.bytes_predicted - 1 for case in listed])
    bytes_off = f"bytes off by {errors.max():.1%} at most (wanted: below {BYTES:.0%})"
    if any(math.isnan(case.predicted) for case in listed):
        print(bytes_off)
        return bool(errors.max() < BYTES)
    ratios = []
    for operation, size in {(case.operation, case.size) for case in listed}:
        alike = [case for case in listed if (case.operation, case.size) == (operation, size)]
        best = min(alike, key=lambda case: case.predicted)
        ratios.append(best.measured / min(case.measured for case in alike))
    off = np.abs([case.predicted / case.measured - 1 for case in listed])
    holds = bool(errors.max() < BYTES and max(ratios) < SLOWER)
    print(
        f"{bytes_off}; predicted fastest over measured fastest {max(ratios):.2f} at most (below {SLOWER:g}); errors "
        f"of times {np.median(off):.1%} in the median, {off.max():.1%} at most: {'kept' if holds else 'not kept'}"
    )
    return holds


if __name__ == "__main__":
    main()
