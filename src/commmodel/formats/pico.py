"""PICO (De Sensi et al. 2025): times of collectives, algorithm by algorithm, one row of a csv for each.

Two forms are read: ``aggregated_results_summary.csv``, which it writes, and the digest of it with columns
``collective``, ``algorithm`` and ``median``. Times are medians of the slowest process's, in nanoseconds. Sizes are
those of the whole vector: of allgather, alltoall, gather, scatter and reduce_scatter a process has 1/P of them. A test
of a job is a launch. Main entry: `parse`.
"""

import csv
import math
from collections.abc import Sequence

import msgspec

from commmodel.collectives.operation import OPERATIONS, SCHEDULED, ScheduledName
from commmodel.formats.lines import Text, TextLine, launch, passed_over, shown
from commmodel.results import Launch, Library, Measurements, Record
from commmodel.results.configurations import Collective

_COLUMNS = {
    "operation": ("collective_type", "collective"), "algorithm": ("algo_name", "algorithm"),
    "bytes": ("buffer_size", "bytes"), "nodes": ("nnodes", "nodes"), "per_node": ("tasks_per_node", "per_node"),
    "seconds": ("median",), "library": ("mpi_lib", "library"), "version": ("mpi_lib_version", "version"),
    "gpu": ("gpu_awareness", "gpu"), "job": ("timestamp",), "test": ("test_id", "test"), "system": ("system",),
}  # fmt: skip
"""What is read -> its column in either form."""
_NEEDED = ("operation", "algorithm", "bytes", "nodes", "per_node", "seconds", "job")
_NS = 1e9
_LIBRARIES = {"OMPI": "Open MPI", "FJMPI": "Fujitsu MPI, of Open MPI", "MPICH": "MPICH", "CRAY_MPICH": "MPICH, of Cray"}
_CHOSEN = {"default", "default-default", "default_ompi", "default_mpich"}
"""Names of what the library chooses."""


def recognise(lines: Sequence[str]) -> int:
    """Return the number of the header line, 0 where there is none."""
    return next((number for number, line in enumerate(lines, 1) if _columns(line)), 0)


def _columns(line: str) -> dict[str, int]:
    """Return the place of each column of a header; empty where a line is none."""
    names = line.lower().split(",")
    places = {
        column: names.index(name) for column, spellings in _COLUMNS.items() for name in spellings if name in names
    }  # fmt: skip
    return places if all(column in places for column in _NEEDED) else {}


def parse(text: Text) -> Measurements:
    """Return the rows of a file, a launch for each job, test and kind of memory."""
    columns: dict[str, int] = {}
    launches: dict[tuple[str, ...], list[Record]] = {}
    foreign: list[TextLine] = []
    notes: list[str] = []
    for line in text.numbered(recognise(text.lines)):
        if not columns:
            columns = _columns(line.content)
        elif line.content:
            words = next(csv.reader([line.content]))
            if len(words) <= max(columns.values()):
                foreign.append(line)
                continue
            row = {column: words[place] for column, place in columns.items()}
            name = row["operation"].lower()
            if name not in SCHEDULED:
                notes.append(line.note(f"the operation {shown(row['operation'])} is left out: it has no schedule here"))
                continue
            key = tuple(row.get(column, "") for column in ("system", "job", "test", "library", "version", "gpu"))
            launches.setdefault(key, []).append(_record(line, next(op for op in SCHEDULED if op == name), row))
    return Measurements(
        tuple(_launch(key, records) for key, records in launches.items()), (*notes, *passed_over(foreign))
    )


def _record(line: TextLine, operation: ScheduledName, row: dict[str, str]) -> Record:
    per_node = line.whole(row["per_node"], "ranks of a node", 1)
    nodes = math.prod(line.whole(word, "nodes", 1) for word in row["nodes"].lower().split("x"))  # 4x4x4 of a torus
    size, processes = line.whole(row["bytes"], "bytes"), nodes * per_node
    algorithm = "" if row["algorithm"].lower() in _CHOSEN else row["algorithm"]
    if OPERATIONS[operation].size_is_per_block:
        size = max(size // processes, 1)
    call = Collective(operation, size, processes, algorithm=algorithm, per_node=per_node)
    return line.record(call, line.real(row["seconds"], "median") / _NS)


def _launch(key: tuple[str, ...], records: Sequence[Record]) -> Launch:
    system, job, test, library, version, gpu = key
    memory = ("-d", "cuda") if gpu == "yes" else ()
    plain = launch("PICO", ("pico", *memory), records, versions={"pico": "unknown", "system": system}, created=job)
    name = next((full for word, full in _LIBRARIES.items() if library.upper().endswith(word)), library)
    header = msgspec.structs.replace(
        plain.header,
        mpi=Library(f"{name} {version}".strip() or plain.header.mpi.version),
        launch=f"{job} {test}".strip(),
    )
    return msgspec.structs.replace(plain, header=header)
