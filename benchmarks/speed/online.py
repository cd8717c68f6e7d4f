"""What it costs to simulate programs while they run: ``python -m benchmarks.speed.online``; part of ``make bench``.

Two tables; each figure is the least of some runs, which are repeated in turns. Calls of MPI a second, of messages of 8
bytes in C: what more rounds of `tools/peers/operations.c` take, in wall time and in processor time of all processes.
Wanted are 100,000 a second. And the programs of `tools/peers/programs.c` on 64 ranks, by us and by SMPI from the same
source, where that is installed: seconds less those of a run of none of them, which touches the same memory. Wanted is
at most 3 times SMPI's time where each rank has its own link, and less than its time where ranks share links. In the
last column what it takes to touch the program's own memory first counts, too.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from tools.peers import smpi
from tools.peers.programs import Twins

WANTED_CALLS = 100_000
WANTED_RATIO = {"flat": 3.0, "cabinets": 1.0}
EXCHANGES = {"pingpong": (2, 2, 1000, 11000), "ring": (16, 1, 100, 5100), "halo": (16, 9, 100, 2100)}
"""Operations -> ranks, calls of a rank in a round, and two numbers of rounds."""
WORK = {
    "halo": (10000, 200), "transpose": (1000, 20), "conjugate_gradient": (10000, 200), "objects": (20000, 50),
    "master_and_workers": (10000, 5000), "rows_and_columns": (10000, 200), "pipelined_ring": (5000, 200),
    "spectral": (3000, 100),
}  # fmt: skip
"""Programs -> numbers in a message, and steps."""
NOTHING = "nothing"
"""`programs.c` without a program: its communicators, a barrier and two reductions."""


class Cost(NamedTuple):
    """Seconds of a run."""

    wall: float
    processor: float

    def less(self, other: "Cost") -> "Cost":
        """Return what is more than another's."""
        return Cost(max(self.wall - other.wall, 1e-9), max(self.processor - other.processor, 1e-9))


def simulated_run(twins: Twins, source: str, kind: str, ranks: int, words: Sequence[object]) -> smpi.Run:
    """Run a program by our simulator, and return what it cost."""
    return twins.simulated_run(source, kind, ranks, words).cost


def least(runs: Sequence[Callable[[], smpi.Run]], repetitions: int) -> list[Cost]:
    """Return the least seconds of each of some runs, which are repeated in turns."""
    rounds = [[run() for run in runs] for _ in range(repetitions)]
    return [
        Cost(min(cost.wall_seconds for cost in costs), min(cost.processor_seconds for cost in costs))
        for costs in zip(*rounds, strict=True)
    ]


def calls_table(twins: Twins, repetitions: int) -> Table:
    """Return the table of calls a second."""
    columns = ("messages of 8 bytes", "ranks", "calls", "a second, wall", "a second, processor", "wanted")
    table = Table(*columns, title="Calls of MPI a second", box=None)
    for name, (ranks, calls, few, many) in EXCHANGES.items():
        runs = [partial(simulated_run, twins, "operations", "flat", ranks, (name, 8, count)) for count in (few, many)]
        short, long = least(runs, repetitions)
        more = long.less(short)
        count = ranks * calls * (many - few)
        rates = (count / more.wall, count / more.processor)
        table.add_row(name, str(ranks), f"{count:,}", *(f"{rate:,.0f}" for rate in rates), f"{WANTED_CALLS:,}")
    return table


def peer_table(twins: Twins, kind: str, ranks: int, repetitions: int) -> Table:
    """Return the table of programs beside SMPI."""
    titles = (
        "program", "start, ours s", "SMPI s", "steps, ours, wall s", "processor s", "SMPI, wall s", "processor s",
        "ours / SMPI", "processor", "wanted", "with memory",
    )  # fmt: skip
    table = Table(*titles, title=f"{ranks} ranks, {kind}", box=None)
    bare = least(beside(twins, kind, ranks, (NOTHING, 1, 1)), repetitions)
    for name, (numbers, steps) in WORK.items():
        runs = [
            *beside(twins, kind, ranks, (name, numbers, steps)),
            *beside(twins, kind, ranks, (NOTHING, numbers, 1)),
        ]
        whole, start = np.reshape(np.array(least(runs, repetitions)), (2, 2, 2))  # ours and SMPI's, wall and processor
        (simulator, peer), with_memory = whole - start, whole - np.array(bare)
        seconds = (f"{value:.2f}" for value in (*start[:, 0], *simulator, *peer))
        ratios = (f"{value:.2f}" for value in simulator / peer)
        table.add_row(
            name, *seconds, *ratios, f"<= {WANTED_RATIO[kind]:g}", f"{with_memory[0, 0] / with_memory[1, 0]:.2f}"
        )
    return table


def beside(twins: Twins, kind: str, ranks: int, words: tuple[object, ...]) -> list[Callable[[], smpi.Run]]:
    """Return the runs of a program by us and by SMPI."""
    return [
        partial(simulated_run, twins, "programs", kind, ranks, words),
        partial(twins.peers["programs"].run, kind, ranks, words),
    ]


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=5, help="of each run, in turns (%(default)s)")
    parser.add_argument("--ranks", type=int, default=64, help="of programs: 16, 64 or 256 (%(default)s)")
    parser.add_argument("--kinds", default=",".join(WANTED_RATIO), help="of platforms (%(default)s)")
    parser.add_argument("--calls", action="store_true", help="only the calls a second")
    options = parser.parse_args()
    console = Console(width=160)
    with tempfile.TemporaryDirectory() as temporary:
        twins = Twins(Path(temporary))
        console.print(calls_table(twins, options.repetitions))
        if options.calls:
            return
        if not twins.peers:
            print("beside SMPI: left out: smpicc and smpirun are not installed", file=sys.stderr)
            return
        for kind in options.kinds.split(","):
            console.print(peer_table(twins, kind, options.ranks, options.repetitions))


if __name__ == "__main__":
    main()
