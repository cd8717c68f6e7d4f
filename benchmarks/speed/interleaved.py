"""Launches of several programs in turn, each with its own MPI_Init, and ratios of what they measured. It has no main.

Launches differ by several percent on one machine, as processes and memory lie differently in each, and whatever else
the machine does comes and goes. So every program is launched once in each round, in shuffled order; a launch gives one
low quantile of its samples for each thing measured; a ratio is taken within a round; and the median of the ratios has
the interval that order statistics give. Main entries: `measure` and `Ratio.of`.
"""

import argparse
import random
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from commmodel.results import Record, load
from commmodel.results.configurations import Collective, PingPong, StartUp, Stream
from commmodel.statistics import median_interval
from commmodel.units import format_size, format_time, parse_fraction, parse_sizes

OURS = (
    "start-up", "pingpong", "stream", "collective", "--collectives", "allreduce", "--process-counts", "2",
    "--start", "barrier",
)  # fmt: skip
"""What is measured of ours: the kernels, and collectives as most benchmarks begin them."""

KINDS = (
    "ping-pong", "stream, a buffer each", "stream, one buffer", "allreduce", "start-up, init", "start-up, first-barrier"
)  # fmt: skip
"""What is compared."""

Row = tuple[str, int]
"""What is measured, and the message size."""
Seconds = dict[Row, list[float]]
"""A value for each launch."""


@dataclass(frozen=True)
class Ratio:
    """Of two programs' launches, taken round by round."""

    median: float
    low: float
    high: float
    """Of the 95 % interval of the median; infinite where there are too few rounds."""
    of_fastest: float
    """The fastest launch of the one over the fastest of the other."""

    @classmethod
    def of(cls, above: Sequence[float], below: Sequence[float]) -> "Ratio":
        """Return the ratio of two programs' launches.

        >>> Ratio.of([2.0] * 7, [1.0] * 7)
        Ratio(median=2.0, low=2.0, high=2.0, of_fastest=2.0)
        """
        ratios = np.asarray(above) / np.asarray(below)
        low, high = median_interval(ratios)
        return cls(float(np.median(ratios)), float(low), float(high), min(above) / min(below))

    def __str__(self) -> str:
        """Return the ratio for a table."""
        bounds = f" [{self.low:.3g}, {self.high:.3g}]" if np.isfinite(self.high) else ""
        return f"{self.median:.3f}{bounds}"

    def verdict(self, tolerance: float) -> str:
        """Say whether the ratio is 1 within a tolerance: ``unclear`` where its interval tells neither.

        >>> [Ratio(1.0, low, high, 1.0).verdict(0.02) for low, high in ((0.99, 1.01), (1.03, 1.05), (0.9, 1.1))]
        ['yes', 'no', 'unclear']
        """
        if self.low >= 1 - tolerance and self.high <= 1 + tolerance:
            return "yes"
        return "no" if np.isfinite(self.high) and (self.low > 1 + tolerance or self.high < 1 - tolerance) else "unclear"


def parser(description: str, launches: int) -> argparse.ArgumentParser:
    """Return a parser with the options that all such comparisons have."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument(
        "--mpiexec", default=str(Path(sys.executable).with_name("mpiexec")), help="launcher, options too"
    )
    options.add_argument("--launches", type=int, default=launches, help=f"of each program ({launches})")
    options.add_argument("--sizes", type=parse_sizes, default="1,1KiB,64KiB,1MiB", help="message sizes (%(default)s)")
    options.add_argument("--repetitions", type=int, default=200, help="of each thing in a launch (200)")
    options.add_argument("--time", default="10s", help="most that a launch of ours measures (10s)")
    options.add_argument(
        "--quantile", type=parse_fraction, default="10%", help="of a launch's samples that stands for it (%(default)s)"
    )
    options.add_argument("--seed", type=int, default=1, help="of the order within a round (1)")
    return options


def our_command(arguments: argparse.Namespace, *options: str) -> list[str]:
    """Return the command of a launch of the benchmark, without its output."""
    limits = ["--repetitions", str(arguments.repetitions), "--ci", "0.001%", "--time", arguments.time]
    sizes = ["--sizes", ",".join(map(str, arguments.sizes))]
    return [sys.executable, "-m", "commmodel.bench", *OURS, "--buffers", "untouched", *limits, *sizes, *options]


def row_of(record: Record) -> Row | None:
    """Return what a record measured; None where it is not compared."""
    match record.configuration:
        case PingPong(message_size=size):
            return KINDS[0], size
        case Stream(message_size=size, buffers="each"):
            return KINDS[1], size
        case Stream(message_size=size):
            return KINDS[2], size
        case Collective(operation="allreduce", message_size=size):
            return KINDS[3], size
        case StartUp(stage=stage):
            return f"start-up, {stage}", 0
    return None


def launch(arguments: argparse.Namespace, command: Sequence[str], output: Path) -> dict[Row, float]:
    """Launch a program on two ranks and return the quantile of each thing that it measured, seconds."""
    words = [*shlex.split(arguments.mpiexec), "-n", "2", *command, "-o", str(output)]
    completed = subprocess.run(words, capture_output=True, text=True, check=False)
    if completed.returncode:
        raise SystemExit(f"{shlex.join(words)} ended with exit code {completed.returncode}:\n{completed.stderr}")
    medians = {
        row_of(record): float(np.quantile(record.samples, arguments.quantile)) for record in load(output).records
    }
    return {row: seconds for row, seconds in medians.items() if row is not None}


def measure(
    arguments: argparse.Namespace, commands: dict[str, Sequence[str]], say: Callable[[str], None] = print
) -> dict[str, Seconds]:
    """Launch every program once a round; return what each measured, a value for each round."""
    order = random.Random(arguments.seed)  # noqa: S311  (an order, no secret)
    seconds_of: dict[str, Seconds] = {name: {} for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.launches):
            for name in order.sample(list(commands), k=len(commands)):
                for row, seconds in launch(arguments, commands[name], Path(folder) / f"{number}-{name}.jsonl").items():
                    seconds_of[name].setdefault(row, []).append(seconds)
    say(
        f"{arguments.launches} launches of each, in turn; {arguments.repetitions} repetitions in each launch, "
        "of which the "
        f"{100 * arguments.quantile:.0f} % quantile; medians of the ratios [95 % interval], * of the fastest launches"
    )
    return seconds_of


def table(rows: Sequence[Row], seconds: Seconds, columns: dict[str, tuple[Seconds, Seconds]]) -> list[str]:
    """Return the lines of a table: each row's median time, and in each column a ratio where both programs have it."""
    lines = [f"{'':24}{'size':>8}{'time':>10}" + "".join(f"{heading:>36}" for heading in columns)]
    for row in sorted(rows, key=lambda row: (KINDS.index(row[0]), row[1])):
        cells = []
        for above, below in columns.values():
            ratio = Ratio.of(above[row], below[row]) if row in above and row in below else None
            cells.append(f"{ratio} *{ratio.of_fastest:.3f}" if ratio else "")
        time = format_time(float(np.median(seconds[row])))
        lines.append(f"{row[0]:24}{format_size(row[1]):>8}{time:>10}" + "".join(f"{cell:>36}" for cell in cells))
    return lines
