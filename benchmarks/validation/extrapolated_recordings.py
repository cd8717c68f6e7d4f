"""Recordings extrapolated to more ranks, held against the program itself, simulated on as many.

Programs whose messages follow from the number of ranks (`benchmarks/validation/growing_programs`) run simulated on some
small numbers of ranks of graphene, and are recorded there. From the recordings the program is extrapolated to a large
number. Then the program itself runs simulated on as many ranks. Messages and bytes must be the same; simulated times
should be within 5 % in the median and 10 % at worst. Computation is a sleep of known length, so no time here is
measured. A program that cannot be extrapolated is a miss with its reason; the exit code is 1 where there is one.

    python -m benchmarks.validation.extrapolated_recordings

``--large 4096`` extrapolates each program to as many ranks of a fat tree, too, and says how long that takes.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from commmodel import record, simulate
from commmodel.errors import CommModelError
from commmodel.simulate import platform
from commmodel.simulate.online import Outlets
from commmodel.simulate.result import SimulationResult
from commmodel.units import format_time

MEDIAN, WORST = 0.05, 0.10
PROGRAMS = Path(__file__).with_name("growing_programs")
SIZES = {"halo_3d": (8, 16, 64)}
"""Numbers of ranks of a program's recordings, where the usual ones leave something open."""
PLATFORM = "graphene"


class Row(NamedTuple):
    """A program, extrapolated and run."""

    program: str
    sizes: tuple[int, ...]
    messages: tuple[int, int]
    """Extrapolated, and of the program itself."""
    volumes: tuple[int, int]
    """Bytes of all messages, the same."""
    seconds: tuple[float, float]
    """Simulated."""
    work: tuple[float, float]
    """Processor time of the extrapolation with its simulation, and wall time of the program's own run."""
    miss: str = ""

    @property
    def error(self) -> float:
        """Relative error of the time."""
        return self.seconds[0] / self.seconds[1] - 1


def direct(name: str, ranks: int) -> SimulationResult:
    """Return the simulated run of a program itself."""
    outlets = Outlets(output=subprocess.DEVNULL, clocks="simulated")
    words = [sys.executable, str(PROGRAMS / f"{name}.py")]
    return simulate.command(words, ranks, on=PLATFORM, computation=0.0, outlets=outlets, record=True)


def recording(name: str, ranks: int, folder: Path) -> Path:
    """Record a simulated run of a program."""
    target = folder / f"{name}-{ranks}"
    words = [sys.executable, str(PROGRAMS / f"{name}.py")]
    with record.recording_simulated_ranks(words, target, PLATFORM):
        direct(name, ranks)
    return target


def rows(names: list[str], ranks: int, sizes: tuple[int, ...], folder: Path, large: int) -> Iterator[Row]:
    """Yield each program."""
    for name in names:
        counts = SIZES.get(name, sizes) if max(SIZES.get(name, sizes)) < ranks else sizes
        recordings = [recording(name, count, folder) for count in counts]
        begin = time.process_time()
        try:
            extrapolated = simulate.replay(recordings, ranks, on=PLATFORM, record=True)
        except CommModelError as error:
            yield Row(name, counts, (0, 0), (0, 0), (np.nan, np.nan), (np.nan, np.nan), str(error))
            continue
        work, begin = time.process_time() - begin, time.perf_counter()
        run = direct(name, ranks)
        if large and name != "transpose":  # its messages are as many as the pairs of ranks
            enlarge(name, large, recordings)
        volumes = [int(result.transfers["size"].sum()) for result in (extrapolated, run)]
        yield Row(
            name, counts, (extrapolated.messages, run.messages), (volumes[0], volumes[1]),
            (extrapolated.seconds, run.seconds), (work, time.perf_counter() - begin),
        )  # fmt: skip


def enlarge(name: str, ranks: int, recordings: list[Path]) -> None:
    """Extrapolate a program to many ranks of a fat tree of 4,096 hosts, and say how long that takes."""
    tree = platform.fat_tree(
        down=[16, 16, 16], up=[1, 8, 8], parallel=[1, 1, 1], bandwidth=12.5e9, latency=1e-6, cores=-(-ranks // 4096)
    )
    begin = time.process_time()
    result = simulate.replay(recordings, ranks, on=tree)
    seconds = time.process_time() - begin
    print(
        f"{name} on {ranks:,} ranks of a fat tree: {format_time(result.seconds)}, {result.messages:,} messages, in "
        f"{seconds:.0f} s of processor time",
        flush=True,
    )


def table(results: list[Row], ranks: int) -> Table:
    """Return the table of all programs."""
    listing = Table(title=f"Extrapolated to {ranks} ranks of {PLATFORM}, and run there")
    heads = (
        "program",
        "recorded on",
        "messages",
        "bytes",
        "extrapolated",
        "run",
        "error",
        "processor time",
        "run takes",
    )
    for column in heads:
        listing.add_column(column, justify="left" if column == "program" else "right")
    for row in results:
        counts = ", ".join(map(str, row.sizes))
        if row.miss:
            listing.add_row(row.program, counts, *["-"] * 7)
            continue
        cells = [
            f"{first:,}" if first == second else f"{first:,}, not {second:,}"
            for first, second in (row.messages, row.volumes)
        ]
        times = [*map(format_time, row.seconds)]
        listing.add_row(row.program, counts, *cells, *times, f"{100 * row.error:+.2f} %", *map(format_time, row.work))
    return listing


def main(words: list[str] | None = None) -> int:
    """Make the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=512)
    parser.add_argument("--recorded", default="16,32,64", help="ranks of the recordings")
    parser.add_argument("--large", type=int, default=0, help="ranks of a further extrapolation (default: none)")
    names = sorted(path.stem for path in PROGRAMS.glob("*.py") if path.stem != "__init__")
    parser.add_argument("--programs", default=",".join(names))
    options = parser.parse_args(words)
    sizes = tuple(map(int, options.recorded.split(",")))
    with tempfile.TemporaryDirectory() as folder:
        results = list(rows(options.programs.split(","), options.ranks, sizes, Path(folder), options.large))
    console = Console(width=150)
    console.print(table(results, options.ranks))
    complete = [row for row in results if not row.miss]
    exact = [row for row in complete if row.messages[0] == row.messages[1] and row.volumes[0] == row.volumes[1]]
    errors = sorted(abs(row.error) for row in complete)
    for row in results:
        if row.miss:
            print(f"miss: {row.program}: {row.miss}")
    if not errors:
        return 1
    median, worst = float(np.median(errors)), errors[-1]
    print(f"{len(exact)} of {len(results)} programs with the same messages and bytes")
    print(f"error of the time: {100 * median:.2f} % in the median, {100 * worst:.2f} % at worst")
    return int(len(exact) < len(results) or median > MEDIAN or worst > WORST)


if __name__ == "__main__":
    sys.exit(main())
