"""Whether programs that run while they are simulated take the right time.

The command is ``python -m benchmarks.validation.online_agreement``; it is part of ``make bench``. All is without
computation. Programs of Python (`benchmarks/validation/programs`) run on graphene, and their recordings are replayed
there: recordings made under mpiexec, and recordings of the simulated run itself, where a receive from any source gets
the same message in both. Wanted is 1e-9. Programs of C (`tools/peers/programs.c` and `operations.c`) run on platforms
of six kinds, and from the same source under SMPI with its exact solver. Wanted is 1e-6, and the same sums. So do
collectives as programs may call them (`tools/peers/calls.c`): non-blocking, waited for at once or after an exchange;
reductions whose operator does not commute or whose datatype is derived; and all of them where messages take a
processor's time. Each program runs twice; wanted are the same bits. Where a row is not as wanted, the exit code is 1.
What is not installed (SMPI, mpi4py-fft) is left out, with a line that says so.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.validation.recorded_programs import NAMES, PROGRAMS
from rich.console import Console
from rich.table import Table
from tools.peers import programs, smpi
from tools.peers.platforms import KINDS
from tools.peers.programs import Twins, simulate

import commmodel
from commmodel import record
from commmodel.simulate import Code, Program
from commmodel.simulate.operations import Operations
from commmodel.simulate.scenario import place, prepare

REPLAYED, BESIDE_SMPI = 1e-9, 1e-6
SMALL = {"rows_and_columns": 32, "spectral": 24}
"""Sizes of programs of Python; else `SIZE`."""
SIZE = 2000
ANY_SOURCE = ("master_and_workers",)
"""Programs whose messages come in another order under mpiexec."""
CORE = Path(commmodel.__file__).parent / "_core"
RECORDER = CORE / "record" / "libcommmodel-record.mpich.so"
LIBRARY = CORE / "online" / "libmpi.mpich.so"
OPERATIONS = {
    "pingpong": (100000, 10), "ring": (10000, 5), "halo": (10000, 5), "irregular": (10000, 5), "pairwise": (10000, 1),
    "nonblocking": (10000, 1), "barrier": (1, 3), "bcast": (100000, 2), "allreduce": (100000, 2),
    "allgather": (10000, 2), "alltoall": (10000, 2),
}  # fmt: skip
"""Operations of `operations.c` -> bytes, and repetitions."""


ALL_CALLS = (
    "barrier", "bcast", "gather", "scatter", "gatherv", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv",
    "reduce", "allreduce", "reduce_scatter_block", "reduce_scatter", "scan", "exscan",
)  # fmt: skip
REDUCTIONS = ALL_CALLS[10:]
CALLS = {
    "flat": {
        "blocking": ALL_CALLS, "pending": ALL_CALLS, "beside": ALL_CALLS, "ordered": REDUCTIONS, "pairs": REDUCTIONS,
    },
    "overheads": {"blocking": ALL_CALLS, "pending": ALL_CALLS, "ordered": REDUCTIONS},
}  # fmt: skip
"""Kind of platform -> form of the call, as in `calls.c` -> operations."""
CALL_SIZES = (800, 80000)


class Agreement(NamedTuple):
    """A program, its time, and another simulator's or the replay's."""

    name: str
    seconds: float
    other: float
    is_repeated: bool
    remark: str = ""

    @property
    def error(self) -> float:
        """Relative difference."""
        return abs(self.seconds / self.other - 1)


def without_computation(program: Program) -> Program:
    """Return the program of a recording without its computation, be it ever so short: that decides who is first."""

    def next_operations(rank: int) -> Operations:
        while (operations := program.refill(rank)).size:
            messages = operations[operations["code"] != Code.COMPUTE]
            if messages.size:
                return messages
        return operations

    is_message = program.operations["code"] != Code.COMPUTE
    offsets = np.concatenate([[0], np.cumsum(is_message)])[program.offsets]
    return Program(program.operations[is_message], offsets, next_operations, program.name)


def replayed(recording: Path) -> float:
    """Return the time of a recording on graphene without computation."""
    graphene = place("graphene")
    workload = record.workload(graphene, record.load(recording))
    messages = replace(workload, program=lambda *arguments: without_computation(workload.program(*arguments)))
    return prepare(graphene, messages).run().seconds


def replays(folder: Path, processes: int) -> Iterator[Agreement]:
    """Yield the programs of Python, run and replayed."""
    mpiexec = Path(sys.executable).with_name("mpiexec")
    for name in NAMES:
        if name == "spectral" and find_spec("mpi4py_fft") is None:
            print("spectral: left out: mpi4py-fft is not installed", file=sys.stderr)
            continue
        words = [sys.executable, PROGRAMS / f"{name}.py", "--size", SMALL.get(name, SIZE)]
        run = ("graphene", "run", "-p", processes, "--compute", 0, "--json", "--")
        runs = [simulate(*run, *words) for _ in range(2)]
        is_repeated = runs[0].bits == runs[1].bits
        seconds = runs[0].result["seconds"]
        recording, simulated = folder / name, folder / f"{name}-simulated"
        recorder = [sys.executable, "-m", "commmodel", "record", "-o", recording, "--"]
        command = [str(word) for word in (mpiexec, "-n", processes, *recorder, *words)]
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)
        if name not in ANY_SOURCE:
            yield Agreement(f"{name}, mpiexec", seconds, replayed(recording), is_repeated)
        simulated.mkdir()
        shutil.copy(recording / "recording.json", simulated)
        loaded = (f"LD_PRELOAD={RECORDER}:{LIBRARY}", f"COMMMODEL_RECORD_PRELOAD={RECORDER}")
        simulate(*run, "env", *loaded, f"COMMMODEL_RECORD={simulated}", *words)
        yield Agreement(f"{name}, simulated", seconds, replayed(simulated), is_repeated)


def beside_smpi(twins: Twins, kind: str, processes: int) -> Iterator[Agreement]:
    """Yield the programs of C, run by both simulators."""
    work = [("programs", name, *sizes) for name, sizes in programs.PROGRAMS.items()]
    work += [("operations", name, *sizes) for name, sizes in OPERATIONS.items()]
    yield from compared(twins, kind, processes, work)


def calls_beside_smpi(twins: Twins, kind: str, processes: int) -> Iterator[Agreement]:
    """Yield the forms of collective calls, carried out by both simulators."""
    forms = CALLS[kind].items()
    work = [("calls", form, name, size, 2) for form, names in forms for name in names for size in CALL_SIZES]
    yield from compared(twins, kind, processes, work)


def compared(twins: Twins, kind: str, processes: int, work: Iterable[Sequence[Any]]) -> Iterator[Agreement]:
    """Yield programs, each given as its source and its arguments, as both simulators run them."""
    for source, *words in work:
        runs = [twins.simulated_run(source, kind, processes, words) for _ in range(2)]
        peer = twins.peer_run(source, kind, processes, words)
        outputs = (runs[0].cost.output, peer.output)
        sums = [[line for line in text.splitlines() if line.startswith("sum ")] for text in outputs]
        remark = "" if sums[0] == sums[1] else f"{sums[0]} is not {sums[1]}"
        is_repeated = runs[0].bits == runs[1].bits
        name = " ".join(map(str, words[:-1])) if source == "calls" else words[0]
        yield Agreement(f"{name}, {source}.c", runs[0].cost.seconds, peer.seconds, is_repeated, remark)


def show(title: str, rows: Iterator[Agreement], limit: float) -> bool:
    """Print a table, and return whether all of it is as wanted."""
    table = Table("program", "run, s", "other, s", "difference", "two runs", "", title=title, box=None)
    is_kept, worst = True, 0.0
    for row in rows:
        is_far = row.error > limit
        is_kept = is_kept and not is_far and row.is_repeated and not row.remark
        worst = max(worst, row.error)
        difference = f"{row.error:.1e}{' FAR' * is_far}"
        bits = "same bits" if row.is_repeated else "DIFFER"
        table.add_row(row.name, f"{row.seconds:.12f}", f"{row.other:.12f}", difference, bits, row.remark)
    Console(width=120).print(table)
    print(f"{title}: {table.row_count} rows, largest difference {worst:.1e}, wanted {limit:g}", flush=True)
    return is_kept


def main() -> None:
    """Run, print the tables, and say whether all is as wanted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=8, help="of the programs of Python (%(default)s)")
    parser.add_argument("--hosts", type=int, default=16, help="of the programs of C: 16, 64 or 256 (%(default)s)")
    parser.add_argument("--kinds", default=",".join(KINDS), help="of platforms (%(default)s)")
    parser.add_argument("--selector", default="smpi", help="of programs of C, also smpi-ompi and so on (%(default)s)")
    parser.add_argument("--only", default="", help="tables whose titles contain this")
    options = parser.parse_args()
    tables: list[tuple[str, Callable[[], Iterator[Agreement]], float]] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        title = f"replay, {options.processes} ranks on graphene"
        tables.append((title, lambda: replays(folder, options.processes), REPLAYED))
        if smpi.available():
            twins = Twins(folder, options.selector)
            for kind in options.kinds.split(","):
                title = f"SMPI, {options.hosts} hosts, {kind}"
                tables.append((title, lambda kind=kind: beside_smpi(twins, kind, options.hosts), BESIDE_SMPI))
            for kind in CALLS:
                title = f"SMPI, calls, {options.hosts} hosts, {kind}"
                tables.append((title, lambda kind=kind: calls_beside_smpi(twins, kind, options.hosts), BESIDE_SMPI))
        else:
            print("programs of C: left out: smpicc and smpirun are not installed", file=sys.stderr)
        verdicts = [show(title, rows(), limit) for title, rows, limit in tables if options.only in title]
    raise SystemExit(0 if all(verdicts) else 1)


if __name__ == "__main__":
    main()
