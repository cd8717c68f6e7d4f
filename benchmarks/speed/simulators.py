"""What simulating costs, beside other simulators: ``python -m benchmarks.speed.simulators``.

Every row is simulated by us and, where it is installed, by the peer, in turns: SimGrid's SMPI (`smpirun`) or LogGOPSim
(``--loggopsim FOLDER`` with its programs `LogGOPSim` and `txt2bin`). Figures are seconds of processor time, user and
system, of a process of its own, less those of an empty run, which are shown in brackets: SMPI beginning and ending on
the platform, Python with everything loaded. Ours is all of it: reading the platform, making the program, simulating it;
schedules both read in a binary form of their own.
"same" is our own second run over the first: how far a ratio can be off. A peer that takes minutes runs once.
``--before TREE`` names a checkout of earlier code, built, which runs every row in turns with ours.
``--growth FILE.svg`` draws the cost over P, and writes the numbers into FILE.csv, from which `draw_growth` draws again.
"""

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table
from tools.peers import ours, smpi, traces

from commmodel.collectives import CollectiveSettings, Problem, build
from commmodel.collectives.schedule import Round
from commmodel.simulate import SMPI, DelayModel, DelayParameters, Program, SimulationResult, delays, goal, run
from commmodel.simulate import smpi_collectives as algorithms
from commmodel.simulate.platform import Platform, fat_tree
from commmodel.simulate.traces import replay
from commmodel.simulate.work import collective, halo, repeat, ring, shifts
from commmodel.simulate.work.block_streams import Block, program_of
from commmodel.simulate.work.rounds import blocks_of

PARAMETERS = DelayParameters(L=2500e-9, o=1500e-9, g=1000e-9, G=6e-9, S=65535)
LOGGOPS = ("-L", "2500", "-o", "1500", "-g", "1000", "-G", "6", "-O", "0", "-S", "65535")
NOTHING = "nothing"
LONGEST = 1200.0
"""Seconds after which a peer is stopped."""
_PARTS = ("operations", "offsets", "dependencies")
_ACTIONS = 11
"""Of a step of the halo trace."""


@dataclass(frozen=True)
class Row:
    """Something to simulate."""

    name: str
    work: Callable[[Path], SimulationResult]
    peer: str
    platform: tuple[str, int] = ("flat", 2)
    arguments: tuple[object, ...] = ()
    algorithms: tuple[tuple[str, str], ...] = ()
    target: float = 10.0
    """How many times less than the peer."""
    minutes: bool = False
    """Whether the peer takes so long that it runs once."""
    small: bool = False
    """Whether it belongs to ``--quick``."""


def on_flows(kind: str, program: Program) -> SimulationResult:
    """Simulate a program on a platform of the peers, with SMPI's parameters."""
    return run(program, SMPI, ours.platform(kind, program.processes))


def _alltoall(kind: str, processes: int, **more: object) -> Row:
    return Row(
        f"alltoall pairwise, {kind}, P = {processes}",
        lambda _: on_flows(kind, algorithms.program("alltoall", 102400, processes, "ring")),
        "smpi",
        (kind, processes),
        ("alltoall", 102400, 1),
        (("alltoall", "ring"),),
        **more,  # type: ignore[arg-type]
    )


def _irregular(kind: str, rounds: int, processes: int, **more: object) -> Row:
    return Row(
        f"irregular shifts, {kind}, P = {processes}, {rounds} rounds",
        lambda _: on_flows(kind, shifts(65536, processes, rounds)),
        "smpi",
        (kind, processes),
        ("irregular", 65536, rounds),
        **more,  # type: ignore[arg-type]
    )


def _replay(processes: int, actions: int, **more: object) -> Row:
    index = Path(f"trace-{processes}-{actions}") / "index.txt"
    return Row(
        f"replay of {actions} actions, P = {processes}",
        lambda folder: on_flows("flat", replay(folder / index, settings=CollectiveSettings("smpi"))),
        "smpi",
        ("flat", processes),
        ("-replay", index),
        **more,  # type: ignore[arg-type]
    )


def _schedule(operation: str, algorithm: str, processes: int, **more: object) -> Row:
    """Return a row of a schedule that both read from a file in their own binary form."""
    name = f"{operation}-{algorithm}-{processes}"

    def work(folder: Path) -> SimulationResult:
        parts = [np.load(folder / f"{name}-{part}.npy") for part in _PARTS]
        return delays.run_schedule(goal.GoalSchedule(*parts), PARAMETERS, rules="newer")

    return Row(
        f"{operation} {algorithm}, LogGOPS, P = {processes}",
        work,
        "loggopsim",
        arguments=("-f", name),
        target=1.0,
        **more,  # type: ignore[arg-type]
    )


def write_schedule(path: Path) -> None:
    """Write a schedule in our form and as text, from its name; all messages are of 8 bytes, those of a barrier too."""
    operation, algorithm, processes = path.name.split("-")
    size = 0 if operation == "barrier" else 8
    schedule = goal.from_collective(build(operation, algorithm, Problem(int(processes), size)))
    schedule.operations["value"][schedule.operations["kind"] != goal.Kind.CALCULATE] = 8
    for part in _PARTS:
        np.save(path.with_name(f"{path.name}-{part}.npy"), getattr(schedule, part))
    goal.dump(schedule, path.with_name(f"{path.name}.goal"))


def _repeated(name: str, program: Callable[[int, int], Program], processes: int, times: int, **more: object) -> Row:
    return Row(
        f"{name} of 1 KiB, P = {processes}, {times} times",
        lambda _: on_flows("flat", repeat(program(1024, processes), times)),
        "smpi",
        ("flat", processes),
        (name, 1024, times),
        **more,  # type: ignore[arg-type]
    )


def first_rounds(processes: int, rounds: int, distance: int = 37) -> Program:
    """Return some rounds of a pairwise alltoall of 100 KiB, one partner at a time."""
    rank, size = np.arange(processes), np.full(processes, 102400)

    def blocks() -> Iterator[Block]:
        steps = range(distance, distance * (rounds + 1), distance)
        return blocks_of(processes, (Round(rank, (rank + step) % processes, size) for step in steps))

    return program_of(processes, blocks, f"{rounds} rounds on {processes} processes")


def large_fat_tree() -> Platform:
    """Return a fat tree of 16,384 hosts."""
    return fat_tree([32, 32, 16], [1, 32, 16], [1, 1, 1], 125e6, 15e-6, loopback=(5e9, 0.0))


ROWS = (
    _alltoall("flat", 64, target=30.0, small=True),
    _alltoall("flat", 256, target=30.0),
    _alltoall("cabinets", 64, target=30.0, small=True),
    _alltoall("cabinets", 256, target=30.0),
    _alltoall("flat", 1024, target=30.0),
    _alltoall("cabinets", 1024, target=30.0),
    *(_irregular(kind, 10, 64, small=True) for kind in ("flat", "cabinets", "fat-tree", "torus")),
    _irregular("flat", 50, 1024),
    *(_irregular(kind, 50, 1024, minutes=True) for kind in ("cabinets", "fat-tree", "torus")),
    _repeated("ring", ring, 1024, 50),
    _repeated("halo", halo, 1024, 12),
    _replay(64, 100_000, small=True),
    _replay(64, 1_000_000),
    _replay(256, 1_000_000),
    _schedule("alltoall", "linear", 64, small=True),
    _schedule("alltoall", "linear", 256),
    _schedule("alltoall", "linear", 512, minutes=True),
    _schedule("alltoall", "linear", 1024, minutes=True),
    _schedule("barrier", "dissemination", 1024, small=True),
    _schedule("barrier", "dissemination", 16384),
    _schedule("barrier", "dissemination", 65536),
    Row(
        "alltoall pairwise, flat, P = 4096",
        lambda _: on_flows("flat", collective("alltoall", Problem(4096, 102400), algorithm="pairwise")),
        "",
    ),
    Row(
        "alltoall pairwise, fat tree, P = 16384, 10 rounds",
        lambda _: run(first_rounds(16384, 10), SMPI, large_fat_tree()),
        "",
    ),
    *(
        Row(
            f"alltoall {algorithm}, fat tree, P = 16384",
            lambda _, algorithm=algorithm: run(  # type: ignore[misc]
                collective("alltoall", Problem(16384, 102400), algorithm=algorithm), SMPI, large_fat_tree()
            ),
            "",
            minutes=True,
        )
        for algorithm in ("pairwise-xor", "pairwise")
    ),
    Row(
        "barrier dissemination, LogGP, P = 1000000",
        lambda _: run(
            collective("barrier", Problem(10**6), algorithm="dissemination"), DelayModel(PARAMETERS, "loggp")
        ),
        "",
    ),
)


def child(name: str, folder: Path) -> None:
    """Simulate one row, or nothing, and print what came out."""
    begin = time.process_time()
    print(f"empty {begin}")
    row = next((candidate for candidate in ROWS if candidate.name == name), None)
    if row is not None:
        outcome = row.work(folder)
        print(f"used {time.process_time() - begin}")
        print(f"seconds {outcome.seconds:.12f}")
        print(f"messages {outcome.messages}")
        print(f"peak {Path('/proc/self/status').read_text().partition('VmHWM:')[2].split()[0]}")


@dataclass(frozen=True)
class Cost:
    """Seconds of the processor, those of an empty run, bytes at the peak, seconds simulated."""

    seconds: float
    empty: float
    peak: int
    simulated: float


def ourselves(*words: str, tree: Path | None = None) -> list[str]:
    """Return the command that runs this program, with commmodel of another tree where there is one."""
    where = [] if tree is None else ["env", f"PYTHONPATH={tree.absolute() / 'src'}"]
    return [*where, sys.executable, "-m", "benchmarks.speed.simulators", *words]


def commmodel_cost(row: Row, folder: Path, tree: Path | None = None) -> Cost:
    """Simulate a row in a process of its own; what that has used when it has loaded everything is its empty run."""
    process = smpi.measured(ourselves("--child", row.name, "--folder", str(folder), tree=tree))
    values = dict(line.split() for line in process.output.splitlines())
    return Cost(float(values["used"]), float(values["empty"]), int(values["peak"]) * 1024, process.seconds)


@dataclass(frozen=True)
class Peers:
    """What is installed."""

    folder: Path
    loggopsim: Path
    """Where its programs are, or are not."""

    def has(self, row: Row) -> bool:
        """Whether the row's peer is here."""
        return (row.peer == "smpi" and smpi.available()) or (
            row.peer == "loggopsim" and (self.loggopsim / "LogGOPSim").exists()
        )

    @cache  # noqa: B019  (lives as long as the program)
    def _smpi(self) -> smpi.Peer:
        return smpi.Peer(self.folder)

    @cache  # noqa: B019
    def _empty(self, kind: str, processes: int) -> float:
        """Return what SMPI takes to begin and to end on a platform."""
        return median(self._smpi().run(kind, processes, [NOTHING, 1, 1]).processor_seconds for _ in range(3))

    @cache  # noqa: B019
    def _schedule(self, name: str) -> Path:
        """Return a schedule in LogGOPSim's own format."""
        text, binary = self.folder / f"{name}.goal", self.folder / f"{name}.bin"
        subprocess.run([self.loggopsim / "txt2bin", "-i", text, "-o", binary], check=True, stdout=subprocess.DEVNULL)
        return binary

    def cost(self, row: Row) -> Cost:
        """Let the peer simulate a row."""
        if row.peer == "loggopsim":
            path = self._schedule(str(row.arguments[1]))
            command = [str(self.loggopsim / "LogGOPSim"), "-f", str(path), *LOGGOPS]
            process = smpi.measured(command, LONGEST)
            times = [
                int(word)
                for word in re.findall(r"^(?:Maximum finishing time at host|Host) \d+: (\d+)", process.output, re.M)
            ]
            return Cost(process.processor_seconds, 0.0, process.peak_bytes, 1e-9 * max(times, default=0))
        kind, processes = row.platform
        arguments, log = [*row.arguments], "root.thres:error"
        if arguments[0] == "-replay":
            arguments, log = ["-replay", self.folder / str(arguments[1])], "smpi_replay.thres:info"
        empty = self._empty(kind, processes)
        process = self._smpi().run(kind, processes, arguments, dict(row.algorithms), log=log, timeout=LONGEST)
        match = re.search(r"(?:^seconds|Simulation time) (\S+)", process.output, re.MULTILINE)
        return Cost(
            process.processor_seconds - empty, empty, process.peak_bytes, float(match[1]) if match else float("nan")
        )


def prepare(row: Row, folder: Path) -> None:
    """Write the trace that a row replays, or its schedule."""
    if row.arguments[:1] == ("-f",):
        write_schedule(folder / str(row.arguments[1]))
    elif row.arguments[:1] == ("-replay",):
        processes, actions = map(int, re.findall(r"\d+", str(row.arguments[1])))
        traces.write(traces.halo(processes, actions // processes // _ACTIONS), (folder / str(row.arguments[1])).parent)


def compared(row: Row, peers: Peers, repetitions: int, before: Path | None = None) -> list[str]:
    """Return the cells of a row."""
    folder = peers.folder
    costs, again, peer_costs, earlier = [], [], [], []
    for repetition in range(repetitions):
        if before is not None:
            earlier.append(commmodel_cost(row, folder, before))
        costs.append(commmodel_cost(row, folder))
        if peers.has(row) and not (row.minutes and repetition):
            try:
                peer_costs.append(peers.cost(row))
            except ValueError as error:
                if "-9" not in str(error):
                    raise
                peer_costs.append(Cost(LONGEST, 0.0, 0, float("nan")))
        again.append(commmodel_cost(row, folder))
    control = [max(two.seconds, 1e-3) / max(first.seconds, 1e-3) for first, two in zip(costs, again, strict=True)]
    peak = max(cost.peak for cost in costs) / 2**20
    cells = [row.name, f"{median(cost.seconds for cost in costs):.3f} ({costs[0].empty:.2f})", f"{peak:.0f}"]
    if peer_costs:
        # Less than a millisecond is not told from nothing.
        ratios = [two.seconds / max(cost.seconds, 1e-3) for cost, two in zip(costs, peer_costs, strict=False)]
        spread = f" [{min(ratios):.0f}-{max(ratios):.0f}]" if len(ratios) > 1 else ""
        cells += [
            f"{median(their.seconds for their in peer_costs):.3f} ({peer_costs[0].empty:.2f})",
            f"{peer_costs[0].peak / 2**20:.0f}",
            f"{median(ratios):.3g}{spread}",
            f"{row.target:.0f}",
        ]
    else:
        cells += ["", "", "", ""]
    if earlier:
        if earlier[0].simulated != costs[0].simulated:
            raise ValueError(f"{row.name}: {earlier[0].simulated} s before, and {costs[0].simulated} s now")
        gains = [old.seconds / max(cost.seconds, 1e-3) for old, cost in zip(earlier, costs, strict=True)]
        cells.append(f"{median(cost.seconds for cost in earlier):.3f}, {median(gains):.2f}")
    cells.append(f"{min(control):.2f}-{max(control):.2f}")
    cells.append(f"{costs[0].simulated:.6g}" + (f" / {peer_costs[0].simulated:.6g}" if peer_costs else ""))
    return cells


GROWING = {
    "alltoall pairwise, flat": r"alltoall pairwise, flat, P = (\d+)",
    "irregular shifts, flat": r"irregular shifts, flat, P = (\d+)",
    "irregular shifts, torus": r"irregular shifts, torus, P = (\d+)",
}
"""Work of which the cost over P is drawn -> its rows."""
_GROWTH_HEADING = ["work", "simulator", "processes", "seconds"]


def measure_growth(path: Path, peers: Peers, largest: int) -> None:
    """Write the processor time of exchanges over the number of processes, ours and SMPI's, as CSV."""
    lines: list[tuple[str, str, int, str]] = []
    for title, pattern in GROWING.items():
        for row in ROWS:
            match = re.match(pattern, row.name)
            if not match or int(match[1]) > largest:
                continue
            costs = {"commmodel": commmodel_cost(row, peers.folder)}
            if peers.has(row):
                costs["SMPI"] = peers.cost(row)
            lines += [(title, name, int(match[1]), f"{cost.seconds:.3g}") for name, cost in costs.items()]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([_GROWTH_HEADING, *sorted(lines)])


def draw_growth(costs: Path, path: Path) -> None:
    """Draw what `measure_growth` has written; an SVG file has the numbers as its description."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    text = costs.read_text("utf-8")
    points: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for row in csv.DictReader(text.splitlines()):
        points.setdefault((row["work"], row["simulator"]), []).append((int(row["processes"]), float(row["seconds"])))
    numbers = sorted({number for line in points.values() for number, _ in line})
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": path.stem}):
        figure = Figure(figsize=(7, 4.5), layout="constrained", facecolor="white")
        axes = figure.subplots()
        for number, title in enumerate(GROWING):
            for name, style in (("commmodel", "-o"), ("SMPI", "--s")):
                if line := sorted(points.get((title, name), [])):
                    axes.loglog(*zip(*line, strict=True), style, color=f"C{number}", label=f"{title}: {name}")
        axes.set_xticks(numbers, [str(number) for number in numbers])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter("{x:g}")
        axes.grid(color="0.9")
        axes.set(xlabel="processes", ylabel="processor time in s")
        axes.legend(fontsize="small")
        is_svg = path.suffix == ".svg"
        figure.savefig(path, metadata={"Date": None, "Creator": None, "Description": text} if is_svg else None)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="", help="only those whose name this regular expression finds")
    parser.add_argument("--quick", action="store_true", help="small rows only")
    parser.add_argument("--repetitions", type=int, default=3, help="of each row (3)")
    parser.add_argument("--peers", default="smpi,loggopsim", help="which peers run, where installed (all); '' for none")
    parser.add_argument(
        "--loggopsim", type=Path, default=os.environ.get("LOGGOPSIM", "LogGOPSim"), help="folder of its programs"
    )
    parser.add_argument("--before", type=Path, help="checkout of earlier code, built, to run every row too")
    parser.add_argument(
        "--growth",
        type=Path,
        help="draw the cost over P into this file (SVG or PNG), the numbers beside it as CSV, no table",
    )
    parser.add_argument("--largest", type=int, default=4096, help="P up to which --growth goes (4096)")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--prepare", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, arguments.folder)
        return
    if arguments.prepare:
        prepare(next(row for row in ROWS if row.name == arguments.prepare), arguments.folder)
        return
    rows = [row for row in ROWS if re.search(arguments.rows, row.name) and (row.small or not arguments.quick)]
    names = arguments.peers.split(",")
    rows = [row if row.peer in names else Row(row.name, row.work, "", row.platform, row.arguments) for row in rows]
    with tempfile.TemporaryDirectory() as name:
        peers = Peers(Path(name), arguments.loggopsim)
        if arguments.growth:
            costs = arguments.growth.with_suffix(".csv")
            measure_growth(costs, peers, arguments.largest)
            draw_growth(costs, arguments.growth)
            return
        for row in rows:
            # In another process: what this one has in memory counts for those that it begins.
            smpi.measured(ourselves("--prepare", row.name, "--folder", name))
        titles = ["work", "ours, s", "MiB", "peer, s", "MiB", "peer / ours", "target", "same", "simulated, s"]
        if arguments.before is not None:
            titles.insert(7, "before, s, and over ours")
        table = Table(*titles, box=None)
        for row in rows:
            table.add_row(*compared(row, peers, arguments.repetitions, arguments.before))
        Console(width=170).print(table)
        installed = smpi.version() if smpi.available() else "no SMPI"
        print(f"\n{installed}; seconds of processor time less those of an empty run, which are in brackets")


if __name__ == "__main__":
    main()
