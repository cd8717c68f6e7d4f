"""Thousands of simulated ranks on one machine: ``python -m benchmarks.speed.online_scale``; part of ``make bench``.

Each row is a program that runs on as many ranks by ``commmodel simulate switch run``. Its memory is what the simulator,
the ranks and the interpreter that they are forks of take together: each page counted once (PSS) and page tables, the
most of many looks while it runs. Beside it stands what the command has foretold from its first two ranks, without the
pages that ranks share. Processor time is that of all processes. The exit code is 1 where a row takes more than wanted,
or does not end well.

``--ranks 16`` has at most so many ranks in each row.
"""

import argparse
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from tools.peers.programs import compiled

PROGRAMS = Path(__file__).with_name("programs")
GIB, KIB = 1 << 30, 1 << 10
TOO_LONG = 1800.0
"""Seconds after which a run is ended."""
_FORETOLD = re.compile(r"a rank takes (\S+ \S+) [^;]*ranks at least (\S+ \S+);")
_PSS = re.compile(r"^Pss: +(\d+)", re.MULTILINE)
_PAGE_TABLES = re.compile(r"^VmPTE:\s+(\d+)", re.MULTILINE)


class Case(NamedTuple):
    """A program, and what it may take."""

    ranks: int
    name: str
    words: tuple[str, ...]
    gibibytes: float
    seconds: float


class Cost(NamedTuple):
    """What a run took."""

    exit_code: int
    wall: float
    processor: float
    peak: int
    """Bytes."""
    foretold: tuple[str, str]
    """Of a rank, and of all."""


CASES = (
    Case(256, "stencil.py", ("--size", "4096"), 4, 600),
    Case(1024, "stencil.py", (), 16, 600),
    Case(4096, "ring.c", (), 16, 600),
)


def _descendants(process: int) -> Iterator[int]:
    """Yield a process and all that it has started."""
    yield process
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text("ascii").split():
                yield from _descendants(int(child))


def _kibibytes(path: Path, field: re.Pattern[str]) -> int:
    with suppress(OSError):
        match = field.search(path.read_text("ascii"))
        return int(match[1]) if match else 0
    return 0


def memory(process: int) -> int:
    """Return the bytes that a process takes with all that it has started, each page once, and their page tables."""
    folders = [Path(f"/proc/{number}") for number in _descendants(process)]
    files = (
        (folder / name, field)
        for folder in folders
        for name, field in (("smaps_rollup", _PSS), ("status", _PAGE_TABLES))
    )
    return KIB * sum(_kibibytes(*file) for file in files)


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def simulated(ranks: int, command: Sequence[str]) -> Cost:
    """Run a program on simulated ranks and look at its memory meanwhile."""
    simulate = [sys.executable, "-m", "commmodel", "simulate", "switch", "run", "-p", str(ranks), "--", *command]
    peak, before, begin = 0, _processor_seconds(), time.monotonic()
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(simulate, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            while process.poll() is None:
                look = time.monotonic()
                peak = max(peak, memory(process.pid))
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.1, time.monotonic() - look))
                if time.monotonic() - begin > TOO_LONG:
                    process.kill()
        finally:
            process.kill()
            process.wait()
        wall = time.monotonic() - begin
        errors.seek(0)
        text = errors.read()
    if process.returncode:
        print(text[-2000:], file=sys.stderr)
    match = _FORETOLD.search(text)
    return Cost(
        process.returncode, wall, _processor_seconds() - before, peak, (match[1], match[2]) if match else ("", "")
    )


def main() -> int:
    """Run all rows and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, help="at most so many in each row (all)")
    parser.add_argument("--programs", default=".", help="regular expression of the rows' programs (all)")
    options = parser.parse_args()
    titles = (
        "ranks",
        "program",
        "wall s",
        "processor s",
        "memory",
        "a rank",
        "foretold, a rank",
        "all",
        "wanted",
        "kept",
    )
    table = Table(*titles, title="Ranks on this machine", box=None)
    are_kept = True
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if not re.search(options.programs, case.name):
                continue
            ranks = min(case.ranks, options.ranks or case.ranks)
            source = PROGRAMS / case.name
            is_python = source.suffix == ".py"
            program = (
                [sys.executable, str(source)] if is_python else [str(compiled(source, Path(folder) / source.stem))]
            )
            cost = simulated(ranks, [*program, *case.words])
            is_kept = cost.exit_code == 0 and cost.peak <= case.gibibytes * GIB and cost.wall <= case.seconds
            are_kept &= is_kept
            row = (
                f"{ranks:,}", " ".join((case.name, *case.words)), f"{cost.wall:.0f}", f"{cost.processor:.0f}",
                f"{cost.peak / GIB:.2f} GiB", f"{cost.peak / ranks / (1 << 20):.1f} MiB", *cost.foretold,
                f"<= {case.gibibytes:g} GiB, {case.seconds:g} s", "yes" if is_kept else "NO",
            )  # fmt: skip
            print(*row, sep="; ", file=sys.stderr, flush=True)
            table.add_row(*row)
    Console(width=140).print(table)
    return int(not are_kept)


if __name__ == "__main__":
    raise SystemExit(main())
