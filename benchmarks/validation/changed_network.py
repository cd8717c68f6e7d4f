"""Programs on emulated hosts whose network is changed, and what was predicted of that: as root on Linux, MPICH.

Six mpi4py programs run on four emulated hosts, one rank on each, whose links have a rate (tc's token bucket) and a
delay (`tools/emulated_cluster`). Two of the hosts are measured by our benchmark once; of each program, a recording of
each launch is replayed on that machine as it is, with half and twice the latency, and with half and twice the
bandwidth. Then rate or delay of the links is changed, the programs run again, and the change of their time from
MPI_Init to MPI_Finalize is held against the change that was predicted. Launches take turns: each program in each
network once, and so on.

A latency is scaled as a user would who knows by how much it changes: of the machine's, which has the library's and
the kernel's time in it, what the links' delay does to it. Computation in the programs is a sleep or little, so that
ranks that share two processors do not wait for each other.

Wanted: each change right within five points; with less the exit code is 1. A folder that keeps a calibration is
calibrated from that.
"""

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.validation.emulated_collectives import forced
from benchmarks.validation.emulated_simulation import BUCKET
from benchmarks.validation.recorded_programs import SETTINGS, calibrated, launched
from rich.console import Console
from rich.table import Table
from tools import emulated_cluster

from commmodel import machine as machines
from commmodel import record, simulate
from commmodel.fit import fit_machine
from commmodel.machine import Machine
from commmodel.simulate import from_machine
from commmodel.simulate.scenario import Scale
from commmodel.units import format_time

WANTED = 5.0
"""Points of a change in percent."""
SOCKET = 1 << 19
"""Bytes of a socket's buffer, each way: more than what is under way on the longest link at the highest rate."""
GROWING = Path(__file__).with_name("growing_programs")
PROGRAMS = Path(__file__).with_name("programs")
COMMANDS = {
    "halo in one dimension": [GROWING / "halo_1d.py", "200"],
    "halo in two dimensions": [GROWING / "halo_2d.py", "40"],
    "conjugate gradient": [GROWING / "conjugate_gradient.py", "40"],
    "transpose": [PROGRAMS / "transpose.py", "--size", "16384", "--steps", "20"],
    "norms": [PROGRAMS / "norms.py", "--steps", "400"],
    "sweep": [GROWING / "sweep.py", "60"],
}
"""Program -> its words."""


class Link(NamedTuple):
    """What the links of all hosts are."""

    rate: float
    """Bits a second."""
    delay: float
    """Seconds from one host to another."""


CHANGES = {"latency × 0.5": (1, 0.5), "latency × 2": (1, 2), "bandwidth × 0.5": (0.5, 1), "bandwidth × 2": (2, 1)}
"""Change -> factors of rate and delay."""
BASE = "as it is"


class Row(NamedTuple):
    """A program and a change of its network."""

    program: str
    change: str
    before: float
    """Seconds, the median of the launches."""
    after: float
    predicted: float
    """Percent, the median of those of all recordings."""
    spread: float
    """Points between the largest and the smallest change of one launch."""

    @property
    def measured(self) -> float:
        """Percent."""
        return 100 * (self.after / self.before - 1)

    @property
    def points(self) -> float:
        """How many points the prediction is above the measurement."""
        return self.predicted - self.measured


def scale_of(change: str, machine: Machine, delay: float) -> Scale:
    """Return a change as factors of the machine."""
    rate, factor = CHANGES[change]
    latency, _ = from_machine.reference(machine.hybrid_model())
    return Scale(bandwidth=rate, latency=(latency + (factor - 1) * delay) / latency)


def run_all(
    options: argparse.Namespace, folder: Path, hosts: Sequence[str], set_delay: Callable[[float], None]
) -> dict[tuple[str, str], list[Path]]:
    """Run each program in each network, in turns; return the recordings of each program and change."""
    _, rules = forced(folder, options.mpiexec)
    environment = os.environ | emulated_cluster.mpi_environment() | rules | SETTINGS | dict(options.variable)
    launcher = emulated_cluster.launcher(options.mpiexec, hosts, 1)
    recordings: dict[tuple[str, str], list[Path]] = {}
    for number in range(options.launches):
        for change, (rate, factor) in ({BASE: (1.0, 1.0)} | CHANGES).items():
            set_network(Link(options.rate * rate, options.delay * factor), hosts, set_delay)
            for name in options.programs.split(","):
                path = folder / f"{name}, {change}, {number}"
                program = [sys.executable, *map(str, COMMANDS[name])]
                target = [sys.executable, "-m", "commmodel", "record", "--force", "-o", str(path), "--"]
                launched([*launcher, *target, *program], environment)
                recordings.setdefault((name, change), []).append(path)
    return recordings


def set_network(link: Link, hosts: Sequence[str], set_delay: Callable[[float], None]) -> None:
    """Change the links of all hosts."""
    emulated_cluster.set_rate(link.rate, hosts, BUCKET, "each")
    set_delay(link.delay)


def rows(options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Yield each program and change."""
    folder.mkdir(parents=True, exist_ok=True)
    with emulated_cluster.cluster(options.hosts) as hosts, emulated_cluster.delays(hosts) as set_delay:
        emulated_cluster.set_sockets(SOCKET, SOCKET, hosts)
        set_network(Link(options.rate, options.delay), hosts, set_delay)
        machine = fit_machine(calibrated(options, folder / "calibration.jsonl", hosts[:2]))
        machines.dump(machine, folder / "machine.toml")
        recordings = run_all(options, folder, hosts, set_delay)
    selector, _ = forced(folder, options.mpiexec)
    for name in options.programs.split(","):
        seconds = {
            change: [record.efficiency(record.load(path)).seconds for path in recordings[name, change]]
            for change in (BASE, *CHANGES)
        }
        for change in CHANGES:
            scale = scale_of(change, machine, options.delay)
            predicted = []
            for path in recordings[name, BASE]:
                before, after = (
                    simulate.replay(path, on=machine, selector=selector, scale=factors).seconds
                    for factors in (Scale(), scale)
                )
                predicted.append(100 * (after / before - 1))
            pairs = zip(seconds[BASE], seconds[change], strict=True)
            changes = [100 * (after / before - 1) for before, after in pairs]
            yield Row(
                name, change, statistics.median(seconds[BASE]), statistics.median(seconds[change]),
                statistics.median(predicted), max(changes) - min(changes),
            )  # fmt: skip


def show(results: Sequence[Row]) -> bool:
    """Print predictions beside measurements; return whether all are as near as wanted."""
    table = Table(title="Times of programs where the network is changed")
    for column in ("program", "change", "before", "after", "measured", "spread", "predicted", "points"):
        table.add_column(column, justify="left" if column in {"program", "change"} else "right")
    for row in results:
        shares = [f"{value:+.1f} %" for value in (row.measured, row.predicted)]
        table.add_row(
            row.program, row.change, format_time(row.before), format_time(row.after), shares[0], f"{row.spread:.1f}",
            shares[1], f"{row.points:+.1f}",
        )  # fmt: skip
    Console(width=130).print(table)
    misses = [row for row in results if abs(row.points) > WANTED]
    for row in misses:
        print(f"miss: {row.program}, {row.change}: {row.points:+.1f} points")
    print(f"{len(results) - len(misses)} of {len(results)} changes right within {WANTED:g} points")
    return not misses


def main() -> None:
    """Measure, change, predict and print."""
    parser = emulated_cluster.parser("Programs on emulated hosts whose network is changed, and predictions of that.")
    parser.set_defaults(rate=40e6)
    parser.add_argument("--delay", type=float, default=5e-3, help="seconds from one host to another (0.005)")
    parser.add_argument("--hosts", type=int, default=4, help="(4)")
    parser.add_argument("--launches", type=int, default=3, help="of each program in each network (3)")
    parser.add_argument("--programs", default=",".join(COMMANDS), help=f"({','.join(COMMANDS)})")
    parser.add_argument("--random-sizes", default="80", help="for the calibration (80)")
    parser.add_argument("--calibration-time", default="30s", help="of the calibration, which may take longer (30s)")
    options = parser.parse_args()
    if problem := emulated_cluster.missing():
        raise SystemExit(f"no emulated cluster here: {problem}")
    with tempfile.TemporaryDirectory() as temporary:
        results = list(rows(options, options.keep or Path(temporary)))
    raise SystemExit(0 if show(results) else 1)


if __name__ == "__main__":
    main()
