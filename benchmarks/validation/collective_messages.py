"""Messages of collectives as schedules have them, and as MPI libraries send them: counted on 2 to 16 ranks of one host.

``python -m benchmarks.validation.collective_messages --mpiexec MPIEXEC`` forces each algorithm of the library, lets it
choose by itself, too, and counts with `benchmarks.validation.counting_messages`. Vectors have one element, one less
than there are processes, as many, and more: algorithms turn into others where there are too few, or an odd number of
processes. Elements have 1, 4, 8, 16 and more bytes; operators are predefined or a user's, which commute or not; buffers
are in place. A call agrees where the library sends as many messages as ours and as many bytes; where a vector is no
multiple of the blocks, they may end an element apart: ours are cut at bytes. Algorithms to which ours is only the
nearest are listed, and do not count. With any other row that disagrees the exit code is 1.

Open MPI 5 counts by its component monitoring, for MPICH (with UCX, as PyPI's is) a C compiler is needed. Processes
count as one a node: ``coll/han`` is switched off, MPICH's shared memory, too. ``--output`` writes what was counted,
which `tests/oracles/collective_messages.toml` keeps.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from math import lcm
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from commmodel.collectives import CollectiveSettings, Problem
from commmodel.collectives.library import Selector, mpich, openmpi
from commmodel.collectives.library.rules import SelectionRule
from commmodel.collectives.library.selection import load, select_for
from commmodel.collectives.operation import OPERATIONS, SCHEDULED
from commmodel.collectives.schedule import Operator
from commmodel.simulate import Code
from commmodel.simulate.work import collective

__all__ = ["Counted", "agrees", "expected", "is_nearest", "main", "selector_of"]

COUNTER = Path(__file__).with_name("counting_messages.py")
PRELOADED = Path(__file__).with_name("ucp_messages.c")
BY_ITSELF = "default"
SELECTORS = {"openmpi": "openmpi", "mpich": "mpich-5.0"}
PROCESSES = (2, 3, 4, 5, 6, 8, 9, 12, 15, 16)
VECTOR, BLOCK = (0, 8, 64, 128, 256, 1000, 2048, 4096, 8192, 65536, 1 << 20), (0, 8, 64, 256, 264, 1024, 8192, 65536)
ELEMENT = 8
ELEMENTS = (1, 4, 8, 16, 12, 1 << 18)
_ONLY_TWO = "two_proc"
_MPICH = {
    "allgather": ("brucks", "recursive_doubling", "ring"),
    "allreduce": ("recursive_doubling", "reduce_scatter_allgather"),
    "alltoall": ("brucks", "scattered", "pairwise"),
    "bcast": ("binomial", "scatter_recursive_doubling_allgather", "scatter_ring_allgather"),
    "reduce": ("binomial", "reduce_scatter_gather"),
    "reduce_scatter": ("recursive_halving", "pairwise", "recursive_doubling"),
    "reduce_scatter_block": ("recursive_halving", "pairwise", "recursive_doubling"),
    "scan": ("recursive_doubling",),
}
"""Operation -> MPICH's algorithms that its rules pick; with another one forced where it cannot work it picks again."""


class Counted(NamedTuple):
    """What a library sends in a call on all ranks."""

    library: str
    operation: str
    algorithm: str
    element: int
    operator: Operator
    in_place: bool
    root: int
    processes: int
    size: int
    messages: int
    bytes: int

    @property
    def problem(self) -> Problem:
        """The call as a problem."""
        return Problem(
            self.processes, self.size, self.root,
            element_size=self.element, operator=self.operator, in_place=self.in_place,
        )  # fmt: skip


def selector_of(library: str, operation: str, algorithm: str) -> Selector:
    """Return the selector that stands for a library, by itself or with an algorithm forced."""
    if algorithm == BY_ITSELF:
        return load(SELECTORS[library])
    if library == "mpich":
        nearest = mpich.NAMES[operation][algorithm]
        if (operation, nearest) == ("alltoall", "pairwise"):
            xor = SelectionRule(operation, "pairwise-xor", power_of_two=True)
            return Selector("forced", (xor, SelectionRule(operation, nearest)))
        return Selector("forced", (SelectionRule(operation, nearest),))
    number = [native for native, _, _ in openmpi.LIBRARY_ALGORITHMS[operation]].index(algorithm) + 1
    return openmpi.parse(Path("rules"), f"1 {openmpi.IDS[operation]} 1 0 1 0 {number} 0 0")


def is_nearest(library: str, operation: str, algorithm: str) -> bool:
    """Whether ours is only the nearest to what the library does."""
    if library == "mpich" or algorithm == BY_ITSELF:
        return False
    listed = openmpi.LIBRARY_ALGORITHMS[operation]
    return not next(is_equal for native, _, is_equal in listed if native == algorithm)


def expected(counted: Counted) -> tuple[int, int]:
    """Return the messages and bytes of our schedule."""
    settings = CollectiveSettings(selector_of(counted.library, counted.operation, counted.algorithm))
    operations = collective(counted.operation, counted.problem, settings=settings).operations
    sent = operations["value"][operations["code"] == Code.ISEND]
    return sent.size, int(sent.sum())


def agrees(counted: Counted) -> bool:
    """Whether a library sends as many messages and bytes as our schedule."""
    messages, size = expected(counted)
    whole = lcm(counted.processes, 1 << (counted.processes.bit_length() - 1)) * counted.element
    apart = 0 if counted.size % whole == 0 else counted.element * messages
    # MPICH sends long blocks of a gather, and what recursive doubling leaves of blocks, as derived datatypes, and their
    # bytes are not counted.
    doubles = counted.algorithm == "recursive_doubling" or counted.operator == "non-commutative"
    of_parts = counted.operation == "gather" and counted.size >= 1024
    unseen = counted.library == "mpich" and (of_parts or (doubles and counted.operation.startswith("reduce_scatter")))
    return messages == counted.messages and (unseen or abs(size - counted.bytes) <= apart)


def cases(library: str, processes: int) -> Iterator[list[Any]]:
    """Yield calls to count: operation, algorithm (0: the library's own), element, operator, in place, root, sizes."""
    usual = "predefined", False, 0
    for operation in SCHEDULED:
        described = OPERATIONS[operation]
        sizes = (0,) if not described.has_size else BLOCK if described.size_is_per_block else VECTOR
        yield [operation, 0, ELEMENT, *usual, sizes]
        some = sizes[1::3]
        if described.has_size and operation != "bcast":
            yield [operation, 0, ELEMENT, "predefined", True, 0, some]
        if described.combines:
            yield [operation, 0, ELEMENT, "commutative", False, 0, some]
            for root in {0, processes // 2, processes - 1} if described.has_root else {0}:
                # On no bytes MPICH goes the whole way where operators do not commute.
                yield [operation, 0, ELEMENT, "non-commutative", False, root, sizes[1:]]
    for operation in ("allreduce", "reduce", "bcast", "reduce_scatter_block"):
        counts = dict.fromkeys((1, processes - 1, processes, 600))
        for element in ELEMENTS:
            operator = "predefined" if element in ELEMENTS[:4] or operation == "bcast" else "commutative"
            most = (1 << 22) // (processes if OPERATIONS[operation].size_is_per_block else 1)
            sizes = [element * count for count in counts if element * count <= most]
            yield [operation, 0, element, operator, False, 0, sizes]
    few = [ELEMENT * count for count in dict.fromkeys((1, processes - 1, processes, 4 * processes))]
    for operation in SCHEDULED:
        if library == "mpich":
            for name in _MPICH.get(operation, ()):
                is_power = processes & (processes - 1) == 0
                if is_power or (operation, name) != ("allgather", "recursive_doubling"):
                    needed = 1 << (processes.bit_length() - 1)  # else it picks again
                    least = needed * ELEMENT if name.startswith("reduce_scatter_") else 0
                    yield [operation, name, ELEMENT, *usual, [size for size in few if size >= least]]
            continue
        sizes = few if OPERATIONS[operation].has_size else [0]
        for number, (name, nearest, _) in enumerate(openmpi.LIBRARY_ALGORITHMS[operation], 1):
            if nearest and (name != _ONLY_TWO or processes == 2):
                yield [operation, number, ELEMENT, *usual, sizes]
                for condition, _ in openmpi.FALLBACKS.get((operation, nearest), ()):
                    if condition == "commutative":
                        yield [operation, number, ELEMENT, "non-commutative", False, 0, sizes]
                    elif condition == "in_place":
                        yield [operation, number, ELEMENT, "predefined", True, 0, sizes]


def launch(library: str, mpiexec: str, processes: int, folder: Path) -> list[Counted]:
    """Count on so many ranks."""
    file = folder / "cases.json"
    listed = list(cases(library, processes))
    file.write_text(json.dumps(listed))
    environment = dict(os.environ)
    if library == "openmpi":
        options = {
            "pml_monitoring_enable": 1, "pml": "^ucx,cm", "coll": "^han,sm,adapt", "coll_tuned_use_dynamic_rules": 1,
            "mpi_yield_when_idle": 1,
        }  # fmt: skip
        words = ["--oversubscribe", *(word for option in options.items() for word in ("--mca", *map(str, option)))]
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    else:
        preloaded = folder / "ucp_messages.so"
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", preloaded, PRELOADED, "-ldl"], check=True)
        words = ["-env", "LD_PRELOAD", str(preloaded)]
        environment |= {"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1", "UCX_TLS": "self,tcp"}
    environment["LD_LIBRARY_PATH"] = str(Path(sys.prefix) / "lib")
    command = [mpiexec, "-n", str(processes), *words, sys.executable, str(COUNTER), str(file)]
    output = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True, timeout=300).stdout
    rows = []
    for line in output.splitlines():
        operation, algorithm, *call = json.loads(line)
        if isinstance(algorithm, int):
            names = openmpi.LIBRARY_ALGORITHMS[operation]
            algorithm = names[algorithm - 1][0] if algorithm else BY_ITSELF
        rows.append(Counted(library, operation, algorithm, *call))
    if len(rows) != sum(len(sizes) for *_, sizes in listed):
        raise SystemExit(f"{len(rows)} calls counted on {processes} ranks: {command}")
    return rows


def grouped(rows: Sequence[Counted]) -> Mapping[tuple[Any, ...], list[Counted]]:
    """Return the rows of each algorithm, element, operator and so on; of roots all."""
    groups: dict[tuple[Any, ...], list[Counted]] = {}
    for row in rows:
        groups.setdefault(row[:6], []).append(row)
    return groups


def as_toml(rows: Sequence[Counted]) -> str:
    """Return TOML: for each algorithm rows of the root, ranks, bytes of the call, messages and their bytes."""
    lines = ["# Messages counted in MPI libraries: python -m benchmarks.validation.collective_messages --output FILE."]
    for (library, operation, algorithm, element, operator, in_place), counted in grouped(rows).items():
        lines += ["", "[[algorithms]]", f'library = "{library}"', f'operation = "{operation}"']
        lines += [f'algorithm = "{algorithm}"', f"element = {element}", f'operator = "{operator}"']
        lines += [f"in_place = {str(in_place).lower()}", "rows = ["]
        for processes in dict.fromkeys(row.processes for row in counted):
            calls = (list(row[6:]) for row in counted if row.processes == processes)
            lines.append(f"  {', '.join(map(str, calls))},")
        lines.append("]")
    return "\n".join(lines) + "\n"


def table(rows: Sequence[Counted]) -> Table:
    """Return a table of the algorithms."""
    shown = Table(
        "library", "operation", "algorithm", "call", "ours", "agree", "first other: root, ranks, bytes", "counted, ours"
    )
    for (library, operation, algorithm, element, operator, in_place), counted in grouped(rows).items():
        wrong = [row for row in counted if not agrees(row)]
        picked = select_for(selector_of(library, operation, algorithm), operation, counted[-1].problem).algorithm
        note = ", the nearest" if is_nearest(library, operation, algorithm) else ""
        where = f"{wrong[0].root}, {wrong[0].processes}, {wrong[0].size}" if wrong else ""
        figures = f"{wrong[0].messages} ({wrong[0].bytes} B), {expected(wrong[0])}" if wrong else ""
        picks = "as its rules say" if algorithm == BY_ITSELF else picked
        share = f"{len(counted) - len(wrong)} of {len(counted)}"
        call = f"{element} B, {operator}{', in place' * in_place}"
        shown.add_row(library, operation, algorithm, call, picks + note, share, where, figures)
    return shown


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, compare and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mpiexec", default=str(Path(sys.prefix) / "bin" / "mpiexec"), help="(default: %(default)s)")
    parser.add_argument("-p", "--processes", nargs="+", type=int, default=PROCESSES, help="numbers of ranks")
    parser.add_argument("-o", "--output", type=Path, help="TOML file of what was counted")
    options = parser.parse_args(arguments)
    is_openmpi = b"Open MPI" in subprocess.check_output([options.mpiexec, "--version"])
    library = "openmpi" if is_openmpi else "mpich"
    rows: list[Counted] = []
    with tempfile.TemporaryDirectory() as folder:
        for processes in options.processes:
            rows += launch(library, options.mpiexec, processes, Path(folder))
    if options.output is not None:
        options.output.write_text(as_toml(rows))
    Console(width=160).print(table(rows))
    wrong = [row for row in rows if not is_nearest(*row[:3]) and not agrees(row)]
    print(f"{len(rows)} calls counted, {len(wrong)} unlike ours")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
