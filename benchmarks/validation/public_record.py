"""How well the times of collectives that others published are predicted: a scoreboard, the misses included.

PICO's times (De Sensi et al. 2025) of Fugaku, on 8 to 8,192 nodes, and Leonardo, on 4 to 2,048. Each algorithm of each
operation is fitted at its smallest number of processes, and all its times at larger ones are predicted: relative error,
how often the 90 % interval holds, and, fitted at all
smaller numbers of processes, how often the algorithm predicted as the fastest is so, or within 5 %. Beside it the
textbook: α times the rounds and β times the bytes of the same schedule, fitted to the same times. A cell is one
algorithm, size and number of processes; what is not predicted is counted, and named with --listed.

    python -m benchmarks.validation.public_record ../shared/data/public
    python -m benchmarks.validation.public_record ../shared/data/public --growth

With --messages: collectives from text of point-to-point tests alone, by LogGP with bounds of o and g: CSD3's two
networks and Kathleen, from which the widths of such intervals are taken, and two records of Fugaku, from which nothing
is.

    python -m benchmarks.validation.public_record ../shared/data/public --messages

With --growth: by how much the logarithm of a time changes for each doubling of the nodes beyond what recursive doubling
says, over the allreduces of the performance study (Google, AWS), which sets the default of an interval beyond one
number of processes (`commmodel.fit.collective_times.GROWTH_SCATTER`).
"""

import argparse
import csv
import lzma
import math
import re
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, permutations
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from benchmarks.validation.tuning_by_measurement import CONTRADICTORY
from scipy.optimize import nnls

from commmodel import formats, predict
from commmodel.collectives import OPERATIONS, Nodes, Problem
from commmodel.collectives.busiest import load_of
from commmodel.collectives.spellings import schedule_named
from commmodel.errors import CommModelError
from commmodel.fit import fit_machine
from commmodel.machine import Machine
from commmodel.results import Launch, Measurements
from commmodel.results.configurations import Collective

OLD_OPEN_MPI = "openmpi-4.0"
"""Selector of CSD3's Open MPI 3 and of Fugaku's library 4.0.1, which is made from Open MPI."""
FEW = 64
"""Nodes up to which the tighter of two goals holds."""
CONFIDENCE = 0.9
_AS_GOOD = 1.05
_FAR = 3.0
"""Factor from which a miss is listed."""


Time = tuple[Launch, Collective, float]
"""An operation's time in a launch, in seconds."""


class Cell(NamedTuple):
    """A published time and its prediction; None where there is none."""

    system: str
    call: Collective
    where: str
    """Library and memory."""
    measured: float
    predicted: float | None = None
    low: float = 0.0
    high: float = 0.0
    textbook: float | None = None

    @property
    def error(self) -> float:
        """Relative."""
        return abs((self.predicted or 0.0) / self.measured - 1)

    @property
    def is_far(self) -> bool:
        """Whether it has more nodes than the tighter goal is for."""
        return self.call.processes // (self.call.per_node or 1) > FEW

    def words(self) -> str:
        """Return the cell as a line."""
        call, factor = self.call, (self.predicted or math.nan) / self.measured
        name = call.algorithm or "the library's"
        return f"{self.system}  {call.operation} {name}, {call.message_size} B, p = {call.processes}: {factor:.2f}"


def series(measurements: Measurements) -> Iterator[tuple[str, str, list[Time]]]:
    """Yield (system, library and memory, times) of each algorithm of each operation."""
    series_of: dict[tuple[str, str, str, str, str], list[Time]] = defaultdict(list)
    for launch in measurements.launches:
        header = launch.header
        where = header.mpi.version + (", GPU" if "-d" in header.command else "")
        for record in launch.records:
            call = record.configuration
            if not isinstance(call, Collective):
                continue
            names = (header.versions["system"], where, call.operation, call.algorithm, str(call.per_node))
            series_of[names].append((launch, call, record.summary.median))
    for key, times in series_of.items():
        yield key[0], key[1], times


def textbook(times: Sequence[tuple[Collective, float]], calls: Sequence[Collective], machine: Machine) -> list[float]:
    """Return α S + β V of calls, of the rounds S and bytes V of their schedule, fitted to times of one P."""

    def row(call: Collective) -> list[float]:
        schedule = schedule_named(call.operation, call.algorithm) if call.algorithm else ""
        selector = machine.algorithm_selector(machine.selector_name)
        load = load_of(call.operation, schedule, call.processes, call.message_size, call.per_node, selector)
        return [0.0, 0.0] if load is None else [float(load.counts.sum()), float(load.counts @ load.sizes)]

    system = np.array([row(call) for call, _ in times]) / np.array([[seconds] for _, seconds in times])
    scale = np.maximum(np.linalg.norm(system, axis=0), 1e-300)
    parameters = nnls(system / scale, np.ones(len(system)))[0] / scale
    return [float(np.array(row(call)) @ parameters) for call in calls]


def cells_of(system: str, where: str, fitted: Sequence[Time], unseen: Sequence[Time]) -> Iterator[Cell]:
    """Yield the cells of an algorithm whose times are left out of the fit."""
    chosen = {id(call) for _, call, _ in fitted}
    parts = []
    for launch in {id(launch): launch for launch, _, _ in fitted}.values():
        records = tuple(record for record in launch.records if id(record.configuration) in chosen)
        parts.append(msgspec.structs.replace(launch, records=records))
    try:
        machine = fit_machine(Measurements(tuple(parts)), confidence=CONFIDENCE)
    except CommModelError:
        machine = None
    if machine is None or not machine.collectives:
        yield from (Cell(system, call, where, seconds) for _, call, seconds in unseen)
        return
    plain = textbook([row[1:] for row in fitted], [call for _, call, _ in unseen], machine)
    for (_, call, seconds), of_textbook in zip(unseen, plain, strict=True):
        nodes = None if call.per_node is None else Nodes(call.per_node)
        problem = Problem(call.processes, call.message_size, nodes=nodes)
        try:
            time = predict.collective(machine, call.operation, problem, algorithm=call.algorithm or None).time
        except CommModelError:
            yield Cell(system, call, where, seconds)
            continue
        yield Cell(system, call, where, seconds, time.seconds, time.low or 0.0, time.high or math.inf, of_textbook)


def from_smallest(system: str, where: str, times: Sequence[Time]) -> Iterator[Cell]:
    """Yield the cells of an algorithm at all numbers of processes but the smallest, which is fitted."""
    smallest = min(call.processes for _, call, _ in times)
    unseen = [row for row in times if row[1].processes != smallest]
    if unseen:
        yield from cells_of(system, where, [row for row in times if row[1].processes == smallest], unseen)


def from_smaller(system: str, where: str, times: Sequence[Time]) -> Iterator[Cell]:
    """Yield the cells of an algorithm, each number of processes but the smallest by a fit of all smaller ones."""
    for processes in sorted({call.processes for _, call, _ in times})[1:]:
        unseen = [row for row in times if row[1].processes == processes]
        yield from cells_of(system, where, [row for row in times if row[1].processes < processes], unseen)


def summary(name: str, cells: Sequence[Cell]) -> str:
    """Return a line of the table."""
    answered = [cell for cell in cells if cell.predicted]
    errors = np.array([cell.error for cell in answered])
    plain = np.array([abs((cell.textbook or 0.0) / cell.measured - 1) for cell in answered])
    holds = np.mean([cell.low <= cell.measured <= cell.high for cell in answered])
    return (
        f"{name:34}{len(cells):7}{len(answered):10}{np.median(errors):9.0%}{np.median(plain):10.0%}"
        f"{np.quantile(errors, 0.9):9.0%}{holds:8.0%}"
    )


def choices(cells: Iterable[Cell]) -> tuple[int, int, int]:
    """Return how many choices of an algorithm there are, how many are right, and how many cost at most 5 %."""
    rows: dict[tuple[object, ...], list[Cell]] = defaultdict(list)
    for cell in cells:
        call = cell.call
        if cell.predicted and call.algorithm:
            key = cell.system, cell.where, call.operation, call.message_size, call.processes, call.per_node
            rows[key].append(cell)
    several = [row for row in rows.values() if len(row) > 1]
    right = good = 0
    for row in several:
        fastest = min(row, key=lambda cell: cell.measured)
        picked = min(row, key=lambda cell: cell.predicted or math.inf)
        right += picked is fastest
        good += picked.measured <= _AS_GOOD * fastest.measured
    return len(several), right, good


def taken_over(rows: Iterable[tuple[str, str, list[Time]]]) -> tuple[int, int]:
    """Return how many choices are taken over from the next smaller number of processes, and how many cost ≤ 5 %."""
    times: dict[tuple[object, ...], dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for system, where, series_times in rows:
        for _, call, seconds in series_times:
            if call.algorithm:
                whole = call.message_size
                if OPERATIONS[call.operation].size_is_per_block:
                    whole *= call.processes
                key = system, where, call.operation, call.per_node, whole
                times[key][call.processes][call.algorithm] = seconds
    count = good = 0
    for by_processes in times.values():
        for smaller, larger in pairwise(sorted(by_processes)):
            before, after = by_processes[smaller], by_processes[larger]
            if len(names := before.keys() & after.keys()) > 1:
                picked = min(names, key=lambda name: before[name])
                count += 1
                good += after[picked] <= _AS_GOOD * min(after[name] for name in names)
    return count, good


def by_another_job(rows: Iterable[tuple[str, str, list[Time]]], *, every_run: bool) -> tuple[int, int]:
    """Return how many choices another job on as many nodes makes, and how many of them cost ≤ 5 %."""
    times: dict[tuple[object, ...], dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for system, where, series_times in rows:
        for launch, call, seconds in series_times:
            if call.algorithm and (every_run or launch.header.created != CONTRADICTORY):
                key = system, where, call.operation, call.per_node, call.message_size, call.processes
                times[key][launch.header.created][call.algorithm] = seconds
    count = good = 0
    for jobs in times.values():
        for before, after in permutations(jobs.values(), 2):
            if len(names := before.keys() & after.keys()) > 1:
                picked = min(names, key=lambda name: before[name])
                count += 1
                good += after[picked] <= _AS_GOOD * min(after[name] for name in names)
    return count, good


def from_messages(name: str, files: Sequence[Path], selector: str, calls: Measurements) -> Iterator[Cell]:
    """Yield collectives predicted by a machine of point-to-point tests alone."""
    messages = formats.load_all(files)
    machine = fit_machine(messages, confidence=CONFIDENCE)
    for launch in calls.launches:
        for record in launch.records:
            call = record.configuration
            if not isinstance(call, Collective) or not call.message_size:
                continue
            schedule = schedule_named(call.operation, call.algorithm) if call.algorithm else None
            nodes = None if call.per_node is None else Nodes(call.per_node)
            problem = Problem(call.processes, call.message_size, nodes=nodes)
            picks = selector if schedule is None else None
            try:
                time = predict.collective(
                    machine, call.operation, problem, algorithm=schedule, selector=picks, model="loggp"
                ).time
            except CommModelError:
                yield Cell(name, call, selector, record.summary.median)
                continue
            yield Cell(
                name, call, selector, record.summary.median, time.seconds, time.low or 0.0, time.high or math.inf
            )


def print_messages(data: Path) -> None:
    """Print a line for each system whose collectives are predicted from messages."""
    julia = data / "fugaku-julia"
    fugaku = julia / "giordano+julia-on-fugaku/benchmarks"
    kathleen = julia / "JuliaParallel+MPIBenchmarks.jl/examples/ucl-kathleen"
    print(f"{'system':24}{'cells':>7}{'predicted':>10}{'factor':>8}{'90 %':>7}{'log T':>7}{'held':>7}")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(data / "hpc-tests/csd3.tar.xz") as packed:
            packed.extractall(folder, filter="data")
        for network in ("ib", "roce"):
            tests = Path(folder) / f"csd3/cclake-{network}-gcc9-ompi3-ucx/omb"
            files = sorted(tests.glob("Osu_*/*.out"))
            of_messages = [file for file in files if re.search("Osu_(latency|bw|mbw_mr)", str(file))]
            print_factors(
                f"CSD3, {network}", from_messages(network, of_messages, OLD_OPEN_MPI, formats.load_all(files))
            )
    of_collectives = sorted(kathleen.glob("*_osu_[ar]*.csv")) + sorted(kathleen.glob("*_imb_[ar]*.csv"))
    calls = formats.load_all(of_collectives, placement=formats.Placement(60, 4))
    print_factors("Kathleen", from_messages("kathleen", [kathleen / "julia_osu_latency.csv"], "mpich", calls))
    latency = [fugaku / "mpi-point-to-point/julia_osu_latency.csv"]
    calls = formats.load_all([fugaku / "mpi-collective"])
    print_factors("Fugaku, 1,536 ranks", from_messages("fugaku", latency, OLD_OPEN_MPI, calls))
    calls = library_algorithms(formats.load(data / "pico/times.csv.xz"))
    print_factors("Fugaku, PICO", from_messages("fugaku", latency, OLD_OPEN_MPI, calls))


def library_algorithms(measurements: Measurements) -> Measurements:
    """Return what Fugaku's library was told to do by an algorithm of known schedule, on at most `FEW` nodes."""
    launches = []
    for launch in measurements.launches:
        records = tuple(
            record for record in launch.records
            if isinstance(call := record.configuration, Collective) and call.algorithm.startswith("default-")
            and schedule_named(call.operation, call.algorithm) and call.processes <= FEW
        )  # fmt: skip
        launches += [msgspec.structs.replace(launch, records=records)] if records else []
    return Measurements(tuple(launches))


def print_factors(name: str, cells: Iterable[Cell]) -> None:
    """Print by what factor cells are off, in the median and at worst in 90 %, and how many intervals hold."""
    members = list(cells)
    answered = [cell for cell in members if cell.predicted]
    logs = np.array([math.log((cell.predicted or 1.0) / cell.measured) for cell in answered])
    holds = np.mean([cell.low <= cell.measured <= cell.high for cell in answered])
    print(
        f"{name:24}{len(members):7}{len(answered):10}{np.exp(np.median(np.abs(logs))):8.2f}"
        f"{np.exp(np.quantile(np.abs(logs), 0.9)):7.2f}{np.sqrt(np.mean(logs**2)):7.2f}{holds:7.0%}"
    )


def growth(path: Path) -> None:
    """Print by how much times grow for each doubling of the nodes beyond the schedule's word."""
    with lzma.open(path, "rt") as lines:
        rows = [row for row in csv.DictReader(lines) if row["test"] == "osu_allreduce"]
    times: dict[tuple[str, str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        times[row["cloud"], row["processor"], row["bytes"]][int(row["nodes"])].append(float(row["value"]))
    steps = []
    for of_nodes in times.values():
        first = min(of_nodes)
        for nodes in of_nodes.keys() - {first}:
            ratio = np.median(of_nodes[nodes]) / np.median(of_nodes[first]) * math.log2(first) / math.log2(nodes)
            steps.append(math.log(ratio) / math.log2(nodes / first))
    deviation = 1.4826 * float(np.median(np.abs(steps)))
    print(f"{len(steps)} growths: robust standard deviation of log T for each doubling of the nodes {deviation:.2f}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with pico/times.csv.xz and performance-study")
    parser.add_argument("--messages", action="store_true", help="collectives from point-to-point tests alone")
    parser.add_argument("--growth", action="store_true", help="what the default of intervals rests on")
    parser.add_argument("--listed", action="store_true", help=f"list what is off by a factor of more than {_FAR:g}")
    arguments = parser.parse_args()
    if arguments.messages:
        print_messages(arguments.data)
        return
    if arguments.growth:
        growth(arguments.data / "performance-study/osu_times.csv.xz")
        return
    rows = [*series(formats.load(arguments.data / "pico/times.csv.xz"))]
    cells = [cell for row in rows for cell in from_smallest(*row)]
    chosen = [cell for row in rows for cell in from_smaller(*row)]
    systems = sorted({cell.system for cell in cells})
    print(f"{'system, nodes':34}{'cells':>7}{'predicted':>10}{'median':>9}{'textbook':>10}{'90 %':>9}{'held':>8}")
    for system in [*systems, "all"]:
        for name, is_far in ((f"to {FEW}", False), ("more", True)):
            of_scale = [cell for cell in cells if cell.is_far == is_far and system in (cell.system, "all")]
            if of_scale:
                print(summary(f"{system}, {name}", of_scale))
    for system in systems:
        for operation in sorted({cell.call.operation for cell in cells if cell.system == system}):
            print(summary(f"{system}, {operation}", [
                cell for cell in cells if cell.system == system and cell.call.operation == operation
            ]))  # fmt: skip
    for system in [*systems, "all"]:
        count, right, good = choices(cell for cell in chosen if system in (cell.system, "all"))
        print(f"{system}: of {count} choices of an algorithm {right / count:.0%} right, {good / count:.0%} within 5 %")
    count, good = taken_over(rows)
    print(f"all: of {count} taken over from the next smaller number of processes {good / count:.0%} within 5 %")
    for every_run in (False, True):
        count, good = by_another_job(rows, every_run=every_run)
        words = ", with the run whose notes contradict its table" if every_run else ""
        print(f"all: of {count} as the fastest in another job on as many nodes {good / count:.0%} within 5 %{words}")
    missing = sorted({f"{cell.system} {cell.call.operation} {cell.call.algorithm or 'of the library'}"
                      for cell in cells if not cell.predicted})  # fmt: skip
    print(f"not predicted, as their schedules are not known: {len(missing)} algorithms: {', '.join(missing)}")
    if arguments.listed:
        answered = [cell for cell in cells if cell.predicted]
        far = [cell for cell in answered if abs(math.log((cell.predicted or 1.0) / cell.measured)) > math.log(_FAR)]
        print(f"{len(far)} cells are off by a factor of more than {_FAR:g} (predicted over measured):")
        print(*sorted(cell.words() for cell in far), sep="\n")


if __name__ == "__main__":
    main()
