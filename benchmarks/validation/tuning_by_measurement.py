"""What `commmodel tune --measure` earns, on the published times of others as its machine.

PICO (De Sensi et al. 2025) timed the algorithms of operations on Fugaku and Leonardo; a student of Trieste two on
ORFEO. Their rows stand in for launches: a measurement returns samples drawn from the quantiles of a row, and costs as
long as these samples last. The search is given a share of the time that all rows took, and the network's nominal
latency and bandwidth as its prior.

measured     each cell (operation, size, nodes) may be measured
sizes        cells of every other size may be measured, on all numbers of nodes; the rest are chosen by the model
nodes        cells of all smaller numbers of nodes may be measured; each number of nodes is chosen by the model,
             or by as many launches there as are said: of the library's own choice, then of an algorithm in each cell

`gain` is the mean share of the default's time that is saved, as a share of what the fastest algorithms save; `slower`
the share of cells in which the choice takes over 3 % longer than the default. Beside it, what taking over the fastest
algorithm of the nearest measured cell earns. With --most: what can be had in cells that were not measured if all is
known of the others, and what the fastest in a job earns in another one.

    python -m benchmarks.validation.tuning_by_measurement ../shared/data/public/pico/times.csv.xz
    python -m benchmarks.validation.tuning_by_measurement ../shared/data/public/pico/times.csv.xz --most
"""

import argparse
import csv
import lzma
import math
import operator
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from commmodel.collectives.busiest import load_of
from commmodel.collectives.library import selection
from commmodel.collectives.library.openmpi import LIBRARY_ALGORITHMS
from commmodel.collectives.operation import OPERATIONS
from commmodel.collectives.spellings import schedule_named
from commmodel.tuning.decision import decide, usable_algorithms
from commmodel.tuning.search import DEFAULT_CHOICE, AlgorithmSearch, CellChoice, CollectiveCell, Samples, explore

DEFAULTS = {"default", "default-default", "default_ompi"}
NETWORKS = {"fugaku": (1e-6, 1 / 6.8e9), "leonardo": (2e-6, 1 / 25e9), "orfeo": (2e-6, 1 / 12.5e9)}
"""Nominal seconds a message and a byte: Tofu-D, one link of 6.8 GB/s; InfiniBand, 200 and 100 Gbit/s."""
CONTRADICTORY = "2025_04_06___23_05_13"
"""A run on 256 nodes of Leonardo: 4 processes on a node by its notes, 1 by its table."""
ITERATIONS = 1000
"""Of each time of ORFEO."""
SHARE = 0.05
MOST_SAMPLES = 10
MOST_LAUNCHES = 3
"""On the next number of nodes: of the library's own choice, and of an algorithm in each cell."""
_MEASUREMENTS = 6
"""Of each cell that the time is shared among."""
_PORTS = re.compile(r"-UTOFU-\d+-(\d)$")
"""Of the study's own algorithms on Fugaku: the name ends with the number of network interfaces that share a message."""
_SLOWER = 1.03
_QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)

Table = Mapping[CollectiveCell, Mapping[str, "PublishedTimes"]]


class PublishedTimes(NamedTuple):
    """A row of PICO's table."""

    samples: int
    quantiles: tuple[float, ...]
    """In seconds, at `_QUANTILES`."""

    @property
    def median(self) -> float:
        """In seconds."""
        return self.quantiles[3]


def read_folder(path: Path, per_node: int) -> dict[tuple[str, str], Table]:
    """Return the times of files that are named after the operation and hold Open MPI's numbers of algorithms."""
    table: dict[CollectiveCell, dict[str, PublishedTimes]] = defaultdict(dict)
    for file in sorted(path.glob("*.csv")):
        operation = file.name.split("_")[0]
        with file.open() as lines:
            for row in csv.DictReader(lines) if operation in LIBRARY_ALGORITHMS else ():
                number = row["Algorithm"]
                cell = CollectiveCell(operation, int(row["Size"]), int(row["Processes"]))
                seconds = float(row["Latency(us)"]) * 1e-6
                is_default = number == "default"
                name = DEFAULT_CHOICE if is_default else LIBRARY_ALGORITHMS[operation][int(number) - 1][0]
                table[cell][name] = PublishedTimes(ITERATIONS, (seconds,) * len(_QUANTILES))
    return {
        ("orfeo", str(per_node)): {
            cell: rows for cell, rows in table.items() if DEFAULT_CHOICE in rows and len(rows) > 1
        }
    }


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with lzma.open(path, "rt") as lines:
        yield from csv.DictReader(lines)


def read(path: Path, only: str = "", *, every_run: bool = False) -> dict[tuple[str, str], Table]:
    """Return the times of each system, and of each number of processes of a node, library, and kind of memory."""
    tables: dict[tuple[str, str], dict[CollectiveCell, dict[str, PublishedTimes]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for row in _rows(path):
        if row["timestamp"] != only if only else row["timestamp"] == CONTRADICTORY and not every_run:
            continue
        operation, per_node = row["collective"].lower(), int(row["per_node"])
        processes = per_node * math.prod(map(int, row["nodes"].split("x")))
        size = int(row["bytes"])
        if OPERATIONS[operation].size_is_per_block:
            size = max(size // processes, 1)
        where = ", ".join((row["per_node"], row["library"], row["version"], row["gpu"]))
        name = DEFAULT_CHOICE if row["algorithm"].lower() in DEFAULTS else row["algorithm"]
        columns = ("min", "p10", "q25", "median", "q75", "p90", "max")
        times = PublishedTimes(int(row["n"]), tuple(float(row[column]) * 1e-9 for column in columns))
        tables[row["system"], where][CollectiveCell(operation, size, processes)].setdefault(name, times)
    return {
        key: {cell: rows for cell, rows in table.items() if DEFAULT_CHOICE in rows and len(rows) > 1}
        for key, table in tables.items()
    }


class Surrogate:
    """Launches that the table answers."""

    def __init__(self, table: Table, seconds: float, cells: int, seed: int) -> None:
        self._table, self._random = table, np.random.default_rng(seed)
        self.budget = self.seconds_left = seconds
        self._share = seconds / (_MEASUREMENTS * cells)
        self.count = 0

    def _repetitions(self, seconds: float) -> int:
        return max(1, int(min(MOST_SAMPLES, self._share / seconds)))

    def cost(self, seconds: float) -> float:
        """Return the time of a measurement."""
        return self._repetitions(seconds) * seconds

    def measure(self, picks: Mapping[CollectiveCell, str]) -> Samples:
        """Return samples."""
        measured: dict[tuple[CollectiveCell, str], Sequence[float]] = {}
        for cell, name in picks.items():
            times = self._table[cell][name]
            levels = self._random.random(self._repetitions(times.median))
            samples = np.interp(levels, _QUANTILES, times.quantiles)
            self.seconds_left -= float(samples.sum())
            self.count += 1
            measured[cell, name] = samples.tolist()
        return measured


class FewLaunches(Surrogate):
    """Launches that each measure an algorithm in all cells at once."""

    def __init__(self, table: Table, seed: int, launches: int) -> None:
        super().__init__(table, math.inf, 1, seed)
        self.launches = launches

    def cost(self, seconds: float) -> float:  # noqa: ARG002  (a launch takes its time whatever it measures)
        """Return the time of one more cell in a launch: none."""
        return 1e-9

    def measure(self, picks: Mapping[CollectiveCell, str]) -> Samples:
        """Return samples."""
        self.launches -= 1
        samples = super().measure(picks)
        self.seconds_left = float(self.launches > 0)
        return samples


class Score(NamedTuple):
    """The sums over cells."""

    cells: int = 0
    most: float = 0.0
    """Share of the default's time that the fastest saves."""
    saved: float = 0.0
    slower: int = 0
    taken_over: float = 0.0
    slower_taken_over: int = 0
    seconds: float = 0.0
    exhaustive: float = 0.0
    changed: int = 0

    def __add__(self, other: "Score") -> "Score":  # type: ignore[override]
        return Score(*map(operator.add, self, other))


def new_search(system: str, table: Table, per_node: int) -> AlgorithmSearch:
    """Return a search that knows the network's nominal figures alone."""
    names = {name for rows in table.values() for name in rows}
    selector = selection.load("openmpi")
    latency, byte_time = NETWORKS[system]

    def predicted(cell: CollectiveCell, name: str) -> float:
        schedule = schedule_named(cell.operation, name) if name else ""
        if name and not schedule:
            return math.nan
        load = load_of(cell.operation, schedule, cell.processes, cell.message_size, None, selector)
        ports = int(match[1]) if (match := _PORTS.search(name)) else 1
        return math.nan if load is None else float(load.counts @ (latency + byte_time / ports * load.sizes))

    def candidates(cell: CollectiveCell) -> Sequence[str]:
        return sorted(table.get(cell, names))

    return AlgorithmSearch(
        candidates, predicted, lambda operation, name: schedule_named(operation, name) if name else "", per_node
    )


def searched(
    system: str, table: Table, per_node: int, cells: Iterable[CollectiveCell], seed: int
) -> tuple[AlgorithmSearch, float, float]:
    """Return what is known after the time, the time that it took, and that of all rows of these cells."""
    listed = list(cells)
    exhaustive = sum(times.samples * times.median for cell in listed for times in table[cell].values())
    search = new_search(system, table, per_node)
    surrogate = Surrogate(table, SHARE * exhaustive, len(listed), seed)
    explore(search, listed, surrogate)
    return search, surrogate.budget - surrogate.seconds_left, exhaustive


def score(table: Table, picks: Iterable[CellChoice], measured: Sequence[CollectiveCell]) -> Score:
    """Return what choices earn, and what taking over the fastest of the nearest measured cell earns."""
    total = Score()
    by_operation: dict[str, list[CollectiveCell]] = defaultdict(list)
    for cell in measured:
        by_operation[cell.operation].append(cell)
    for choice in picks:
        cell, rows = choice.cell, table[choice.cell]
        default = rows[DEFAULT_CHOICE].median
        chosen = rows[choice.algorithm].median
        nearest = min(
            by_operation[cell.operation],
            key=lambda other: (
                abs(math.log(other.vector_bytes / cell.vector_bytes)) + abs(math.log(other.processes / cell.processes))
            ),
        )
        order = sorted(table[nearest], key=lambda name: table[nearest][name].median)
        neighbour = rows[next((name for name in order if name in rows), DEFAULT_CHOICE)].median
        best = min(times.median for times in rows.values())
        total += Score(
            1, 1 - best / default, 1 - chosen / default, int(chosen > _SLOWER * default), 1 - neighbour / default,
            int(neighbour > _SLOWER * default), changed=int(chosen != default),
        )  # fmt: skip
    return total


def read_everything(system: str, table: Table, per_node: int, cells: Iterable[CollectiveCell]) -> AlgorithmSearch:
    """Return a search that has measured all algorithms in cells, with no scatter."""
    search = new_search(system, table, per_node)
    for cell in cells:
        for name, times in table[cell].items():
            search.add(cell, name, [times.median] * MOST_SAMPLES)
    return search


def fastest(search: AlgorithmSearch, cells: Iterable[CollectiveCell], *, are_winners: bool) -> Iterator[CellChoice]:
    """Yield the algorithm with the least expected time, or that of those that won in the nearest cells."""
    for cell in cells:
        times = search.times(cell.operation)
        usable = usable_algorithms(times, cell, is_beyond=are_winners) | {DEFAULT_CHOICE}
        points = [point for point in search.points(cell) if point.algorithm in usable]
        yield CellChoice(cell, points[int(np.argmin(times.at(points).means))].algorithm)


def splits(table: Table) -> Iterator[tuple[str, list[CollectiveCell], list[CollectiveCell]]]:
    """Yield which cells may be measured, and which are judged."""
    groups: dict[tuple[str, int], list[CollectiveCell]] = defaultdict(list)
    for cell in sorted(table):
        groups[cell.operation, cell.processes].append(cell)
    half = [cell for cells in groups.values() for cell in cells[::2]]
    yield "measured", list(table), list(table)
    yield "sizes", half, [cell for cells in groups.values() for cell in cells[1::2]]
    for count in sorted({cell.processes for cell in table}):
        smaller = [cell for cell in table if cell.processes < count]
        operations = {cell.operation for cell in smaller}
        judged = [cell for cell in sorted(table) if cell.processes == count and cell.operation in operations]
        if judged:
            yield "nodes", smaller, judged


def evaluate(system: str, table: Table, per_node: int, seed: int) -> Iterator[tuple[str, Score]]:
    """Yield the scores of each way to measure."""
    for kind, measured, judged in splits(table):
        search, seconds, exhaustive = searched(system, table, per_node, measured, seed)
        time = Score(seconds=seconds, exhaustive=exhaustive)
        yield kind, score(table, decide(search, judged), measured) + time
        for launches in range(2, MOST_LAUNCHES + 1) if kind == "nodes" else ():
            explore(search, judged, FewLaunches(table, seed, launches if launches == 2 else 1))
            yield f"nodes, {launches} launches", score(table, decide(search, judged), measured) + time


def most(system: str, table: Table, per_node: int) -> Iterator[tuple[str, Score]]:
    """Yield what can be had in cells that were not measured, if everything is known of the others."""
    for kind, measured, judged in splits(table):
        if kind != "measured":
            search = read_everything(system, table, per_node, measured)
            yield f"{kind}, fastest", score(table, fastest(search, judged, are_winners=False), measured)
            yield f"{kind}, winners", score(table, fastest(search, judged, are_winners=True), measured)
            yield f"{kind}, chosen", score(table, decide(search, judged), measured)


def by_another_job(path: Path, *, every_run: bool) -> Iterator[tuple[str, Score]]:
    """Yield what the fastest in one job earns in another one, in the same cell."""
    jobs: dict[tuple[str, str], list[Table]] = defaultdict(list)
    for job in sorted({row["timestamp"] for row in _rows(path)} - ({CONTRADICTORY} if not every_run else set())):
        for key, table in read(path, only=job).items():
            jobs[key].append(table)
    for (system, _), tables in jobs.items():
        for before, after in permutations(tables, 2):
            shared = {cell: {name: after[cell][name] for name in before[cell].keys() & after[cell].keys()}
                    for cell in before.keys() & after.keys()}  # fmt: skip
            picks = [CellChoice(cell, min(rows, key=lambda name: before[cell][name].median))
                     for cell, rows in shared.items() if len(rows) > 1]  # fmt: skip
            yield system, score(shared, picks, list(shared))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times", type=Path, help="PICO's table, times.csv.xz, or a folder of ORFEO's")
    parser.add_argument("--seed", type=int, default=1, help="of the samples that are drawn (default: %(default)s)")
    parser.add_argument("--system", choices=sorted(NETWORKS), help="this system alone (default: all)")
    parser.add_argument(
        "--per-node", type=int, default=128,
        help="ORFEO's processes of a node; with 1, nodes are not told apart (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--most", action="store_true", help="what can be had if everything is known of other cells")
    parser.add_argument("--every-run", action="store_true", help="with the run whose notes contradict its table")
    arguments = parser.parse_args()
    heads = ("cells", "rules", "time", "best", "gain", "slower", "neighbour", "slower")
    widths = (7, 7, 7, 7, 7, 8, 11, 8)
    print(" " * 34 + "".join(f"{head:>{width}}" for head, width in zip(heads, widths, strict=True)))
    is_folder = arguments.times.is_dir()
    tables = (
        read_folder(arguments.times, arguments.per_node)
        if is_folder
        else read(arguments.times, every_run=arguments.every_run)
    )
    sums: dict[str, Score] = defaultdict(Score)
    for (system, where), table in sorted(tables.items()):
        if table and arguments.system in (None, system):
            per_node = int(where.split(",")[0])
            search = (
                most(system, table, per_node) if arguments.most else evaluate(system, table, per_node, arguments.seed)
            )
            for kind, value in search:
                sums[f"{system}, {kind}"] += value
    if arguments.most and not is_folder:
        for system, value in by_another_job(arguments.times, every_run=arguments.every_run):
            if arguments.system in (None, system):
                sums[f"{system}, another job"] += value
    for name, value in sums.items():
        if value.cells:
            print(words(name, value))


def words(name: str, value: Score) -> str:
    """Return a line."""
    most = value.most or math.inf
    return (
        f"{name:34.34}{value.cells:7}{value.changed:7}{value.seconds / (value.exhaustive or math.inf):7.1%}"
        f"{value.most / value.cells:7.1%}{value.saved / most:7.0%}{value.slower / value.cells:8.1%}"
        f"{value.taken_over / most:11.0%}{value.slower_taken_over / value.cells:8.1%}"
    )


if __name__ == "__main__":
    main()
