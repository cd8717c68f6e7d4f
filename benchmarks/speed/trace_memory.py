"""Memory that replaying a trace takes, over its length: ``python -m benchmarks.speed.trace_memory``.

Traces of several lengths are written to a temporary folder (``--folder``), in every form that the reader knows, and
replayed by ``commmodel simulate`` in a process of its own, whose peak of resident memory the system tells. With
``--limit`` the process may not have more memory of its own than that, so a trace that is longer cannot be held. Ends
with exit code 1 where the peak of the longest trace of a form is more than ``--allowed`` above that of the shortest.

The full demonstration: ``python -m benchmarks.speed.trace_memory --sizes 128MiB,1GiB --limit 512MiB --allowed 128MiB``.
"""

import argparse
import bz2
import gzip
import lzma
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from rich.console import Console
from rich.table import Table

from commmodel.units import parse_size

__all__ = ["FORMS", "PATTERNS", "replayed", "write"]

MIB = 1 << 20
OPEN: dict[str, tuple[Any, dict[str, int]]] = {
    "": (open, {}),
    ".gz": (gzip.open, {"compresslevel": 1}),
    ".bz2": (bz2.open, {"compresslevel": 1}),
    ".xz": (lzma.open, {"preset": 0}),
}
KINDS = ("files", "merged", "sorted")
FORMS = (*KINDS, *(f"{kind}{suffix}" for kind in KINDS for suffix in OPEN if suffix))
"""A file for each rank; one in which all ranks take turns; one with rank after rank. Compressed or not."""
STEPS = 500
"""Of a piece of the trace: written once, then repeated."""


def _ring(rank: int, processes: int, step: int) -> str:
    """Return a step: computing, a ring without blocking, every tenth time a sum over all."""
    after, before = (rank + 1) % processes, (rank - 1) % processes
    text = (
        f"{rank} compute {100000 + 7919 * (step + rank) % 50000}\n{rank} irecv {before} 7 65536 6\n"
        f"{rank} isend {after} 7 65536 6\n{rank} waitall 2\n"
    )
    return text + (f"{rank} allreduce 1 0 0\n" if step % 10 == 9 else "")


def _ahead(rank: int, processes: int, step: int) -> str:
    """Return a step of which the receive of the next one is posted before that of this one is waited for."""
    after, before = (rank + 1) % processes, (rank - 1) % processes
    return (
        f"{rank} irecv {before} 7 65536 6\n{rank} compute {100000 + 7919 * (step + rank) % 50000}\n"
        f"{rank} send {after} 7 65536 6\n{rank} wait {before} {rank} 7\n"
    )


def _varied(rank: int, _: int, step: int) -> str:
    """Return a step whose message has a tag of its own, and whose collective a size that no other has."""
    other = rank ^ 1
    first, second = (f"{rank} send {other} {step} 65536 6\n", f"{rank} recv {other} {step} 65536 6\n")
    return (first + second if rank < other else second + first) + f"{rank} allreduce {1 + step} 0 6\n"


PATTERNS = {"ring": _ring, "ahead": _ahead, "varied": _varied}


def _pieces(pattern: str, rank: int, processes: int) -> Iterator[bytes]:
    """Yield the text of a rank, piece by piece and without end."""
    make = PATTERNS[pattern]
    begin = f"{rank} irecv {(rank - 1) % processes} 7 65536 6\n" if pattern == "ahead" else ""
    number = 0
    piece = b""
    while True:
        if pattern == "varied" or not number:
            steps = range(number * STEPS, (number + 1) * STEPS)
            piece = "".join(make(rank, processes, step) for step in steps).encode()
        yield begin.encode() + piece
        begin = ""
        number += 1


def write(folder: Path, form: str, size: int, processes: int, pattern: str = "ring") -> Path:
    """Write a trace of about so many bytes of text, and return what to replay."""
    kind, dot, suffix = form.partition(".")
    opened, options = OPEN[dot + suffix]
    names = [f"{number}.txt{dot}{suffix}" for number in range(processes if kind == "files" else 1)]
    with ExitStack() as stack:
        files: list[IO[bytes]] = [stack.enter_context(opened(folder / name, "wb", **options)) for name in names]
        texts = [_pieces(pattern, rank, processes) for rank in range(processes)]
        # in "sorted", one rank after the other has its share
        groups = [[rank] for rank in range(processes)] if kind == "sorted" else [list(range(processes))]
        for group in groups:
            count = 0
            while count < size // len(groups):
                for rank in group:
                    piece = next(texts[rank])
                    files[rank % len(files)].write(piece)
                    count += len(piece)
        if pattern == "ahead":  # what was posted ahead gets its message
            for rank in range(processes):
                end = f"{rank} send {(rank + 1) % processes} 7 65536 6\n{rank} waitall\n"
                files[rank % len(files)].write(end.encode())
    index = folder / "list.txt"
    index.write_text("".join(f"{name}\n" for name in names))
    return index


def replayed(index: Path, processes: int, limit: int | None = None) -> tuple[int, float]:
    """Replay a trace in a process of its own; return its peak of resident memory in bytes, and the seconds it took."""

    def limited() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    command = ["simulate", "graphene", "replay", str(index), "-p", str(processes), "--json"]
    begin = time.perf_counter()
    with tempfile.TemporaryFile() as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "commmodel", *command],
            stdout=subprocess.DEVNULL,
            stderr=log,
            preexec_fn=limited,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            log.seek(0)
            raise SystemExit(f"{index}: exit code {child.returncode}: {log.read().decode(errors='replace')[-2000:]}")
    return usage.ru_maxrss * 1024, time.perf_counter() - begin


def main() -> int:
    """Measure and show the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="20MiB,200MiB", help="bytes of text of the traces (%(default)s)")
    parser.add_argument("--forms", default=",".join(FORMS), help="(%(default)s)")
    parser.add_argument("--patterns", default="ring", help=f"of {', '.join(PATTERNS)} (%(default)s)")
    parser.add_argument("-p", "--ranks", type=int, default=8, help="(%(default)s)")
    parser.add_argument("--limit", help="memory that the process may have, like 512MiB (no limit)")
    parser.add_argument("--allowed", default="64MiB", help="that the longest may take above the shortest (%(default)s)")
    parser.add_argument("--folder", help="where traces are written (the system's for temporary files)")
    arguments = parser.parse_args()
    limit = None if arguments.limit is None else int(parse_size(arguments.limit))
    sizes = [int(parse_size(word)) for word in arguments.sizes.split(",")]
    title = f"peak of resident memory, {arguments.ranks} ranks" + (f", limit {arguments.limit}" if limit else "")
    table = Table("pattern", "form", *(f"{size / MIB:.0f} MiB" for size in sizes), "seconds of the last", title=title)
    grown = False
    for pattern in arguments.patterns.split(","):
        for form in arguments.forms.split(","):
            peaks = []
            for size in sizes:
                with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
                    index = write(Path(name), form, size, arguments.ranks, pattern)
                    peak, seconds = replayed(index, arguments.ranks, limit)
                peaks.append(peak)
            grown |= peaks[-1] - peaks[0] > parse_size(arguments.allowed)
            row = [pattern, form, *(f"{peak / MIB:.0f} MiB" for peak in peaks), f"{seconds:.0f}"]
            print(*row, file=sys.stderr, flush=True)
            table.add_row(*row)
    Console().print(table)
    return int(grown)


if __name__ == "__main__":
    raise SystemExit(main())
