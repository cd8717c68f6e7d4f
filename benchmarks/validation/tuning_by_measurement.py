"""What `commmodel tune --measure` earns, on the published times of PICO as its machine.

PICO (De Sensi et al. 2025) timed the algorithms of operations on Fugaku and Leonardo. Its rows stand in for launches:
a measurement returns samples drawn from the quantiles of a row, and costs as long as these samples last. The search is
given a share of the time that all rows took, and the network's nominal latency and bandwidth as its prior.

measured     each cell (operation, size, nodes) may be measured
sizes        cells of every other size may be measured, on all numbers of nodes; the rest are chosen by the model
nodes        cells of all smaller numbers of nodes may be measured; each number of nodes is chosen by the model

`gain` is the mean share of the default's time that is saved, as a share of what the fastest algorithms save; `slower`
the share of cells in which the choice takes over 3 % longer than the default. Beside it, for cells that may not be
measured, what taking over the fastest algorithm of the nearest measured cell earns.

    python -m benchmarks.validation.tuning_by_measurement ../shared/data/public/pico/times.csv.xz
"""

import argparse
import csv
import lzma
import math
import operator
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from commmodel.collectives.busiest import load_of
from commmodel.collectives.library import selection
from commmodel.collectives.operation import OPERATIONS
from commmodel.collectives.spellings import schedule_named
from commmodel.tuning.search import DEFAULT_CHOICE, AlgorithmSearch, CollectiveCell, Samples, explore

DEFAULTS = {"default", "default-default", "default_ompi"}
NETWORKS = {"fugaku": (1e-6, 1 / 6.8e9), "leonardo": (2e-6, 1 / 25e9)}
"""Nominal seconds a message and a byte: Tofu-D, one link of 6.8 GB/s; InfiniBand, 200 Gbit/s."""
SHARE = 0.05
MOST_SAMPLES = 10
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


def read(path: Path) -> dict[tuple[str, str], Table]:
    """Return the times of each system, and of each operation, processes of a node, library, and kind of memory."""
    tables: dict[tuple[str, str], dict[CollectiveCell, dict[str, PublishedTimes]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    with lzma.open(path, "rt") as lines:
        for row in csv.DictReader(lines):
            operation, per_node = row["collective"].lower(), int(row["per_node"])
            processes = per_node * math.prod(map(int, row["nodes"].split("x")))
            size = int(row["bytes"])
            if OPERATIONS[operation].size_is_per_block:
                size = max(size // processes, 1)
            where = ", ".join((operation, row["per_node"], row["library"], row["version"], row["gpu"]))
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
        return max(1, min(MOST_SAMPLES, int(self._share / seconds)))

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


def new_search(system: str, table: Table) -> AlgorithmSearch:
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
        candidates, predicted, lambda operation, name: schedule_named(operation, name) if name else ""
    )


def searched(
    system: str, table: Table, cells: Iterable[CollectiveCell], seed: int
) -> tuple[AlgorithmSearch, float, float]:
    """Return what is known after the time, the time that it took, and that of all rows of these cells."""
    listed = list(cells)
    exhaustive = sum(times.samples * times.median for cell in listed for times in table[cell].values())
    search = new_search(system, table)
    surrogate = Surrogate(table, SHARE * exhaustive, len(listed), seed)
    explore(search, listed, surrogate)
    return search, surrogate.budget - surrogate.seconds_left, exhaustive


def score(
    table: Table, search: AlgorithmSearch, cells: Iterable[CollectiveCell], measured: Sequence[CollectiveCell]
) -> Score:
    """Return what the choices earn in cells, and what taking over the fastest of the nearest measured cell earns."""
    total = Score()
    for cell in cells:
        rows = table[cell]
        default = rows[DEFAULT_CHOICE].median
        chosen = rows[search.choice(cell).algorithm].median
        nearest = min(measured, key=lambda other: abs(math.log(other.vector_bytes / cell.vector_bytes))
                      + abs(math.log(other.processes / cell.processes)))  # fmt: skip
        order = sorted(table[nearest], key=lambda name: table[nearest][name].median)
        neighbour = rows[next((name for name in order if name in rows), DEFAULT_CHOICE)].median
        best = min(times.median for times in rows.values())
        total += Score(
            1, 1 - best / default, 1 - chosen / default, int(chosen > _SLOWER * default), 1 - neighbour / default,
            int(neighbour > _SLOWER * default), changed=int(chosen != default),
        )  # fmt: skip
    return total


def evaluate(system: str, table: Table, seed: int) -> dict[str, Score]:
    """Return the scores of an operation on a system."""
    scores: dict[str, Score] = {}
    by_processes: dict[int, list[CollectiveCell]] = defaultdict(list)
    for cell in sorted(table):
        by_processes[cell.processes].append(cell)
    half = [cell for cells in by_processes.values() for cell in cells[::2]]
    rest = [cell for cells in by_processes.values() for cell in cells[1::2]]
    for name, measured, judged in (("measured", list(table), list(table)), ("sizes", half, rest)):
        search, seconds, exhaustive = searched(system, table, measured, seed)
        scores[name] = score(table, search, judged, measured)._replace(seconds=seconds, exhaustive=exhaustive)
    scores["nodes"] = Score()
    for count in sorted(by_processes)[1:]:
        smaller = [cell for cell in table if cell.processes < count]
        search, seconds, exhaustive = searched(system, table, smaller, seed)
        part = score(table, search, by_processes[count], smaller)
        scores["nodes"] += part._replace(seconds=seconds, exhaustive=exhaustive)
    return scores


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times", type=Path, help="PICO's table, times.csv.xz")
    parser.add_argument("--seed", type=int, default=1, help="of the samples that are drawn (default: %(default)s)")
    parser.add_argument("--system", choices=sorted(NETWORKS), help="this system alone (default: all)")
    parser.add_argument("--listed", action="store_true", help="a line for each operation, too")
    arguments = parser.parse_args()
    heads = ("cells", "rules", "time", "best", "gain", "slower", "neighbour", "slower")
    widths = (7, 7, 7, 7, 7, 8, 11, 8)
    print(" " * 34 + "".join(f"{head:>{width}}" for head, width in zip(heads, widths, strict=True)))
    for system in [arguments.system] if arguments.system else sorted(NETWORKS):
        sums: dict[str, Score] = defaultdict(Score)
        for (name, where), table in sorted(read(arguments.times).items()):
            if name == system and table:
                for kind, value in evaluate(system, table, arguments.seed).items():
                    sums[kind] += value
                    if arguments.listed:
                        print(words(f"  {kind} {where}", value), flush=True)
        for kind, value in sums.items():
            print(words(f"{system}, {kind}", value), flush=True)


def words(name: str, value: Score) -> str:
    """Return a line."""
    most = value.most or math.inf
    if not value.cells:
        return f"{name:34.34}      0"
    return (
        f"{name:34.34}{value.cells:7}{value.changed:7}{value.seconds / value.exhaustive:7.1%}"
        f"{value.most / value.cells:7.1%}{value.saved / most:7.0%}{value.slower / value.cells:8.1%}"
        f"{value.taken_over / most:11.0%}{value.slower_taken_over / value.cells:8.1%}"
    )


if __name__ == "__main__":
    main()
