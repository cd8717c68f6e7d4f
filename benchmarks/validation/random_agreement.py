"""Random programs on random platforms, by SMPI and by us: ``python -m benchmarks.validation.random_agreement``.

Case i of a seed is the same everywhere. Both replay it as a time-independent trace, SMPI with its exact solver. Wanted
is that all times agree to 1e-4. A case that does not is shrunk to the smallest that still does not, and written to a
folder; then the exit code is 1. Cases on which SMPI ends with an exception are counted. SMPI must be installed.
"""

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table
from tools.peers import smpi
from tools.peers.differences import Comparison, Experiment, compare, random_experiment, shrunk
from tools.peers.random_platforms import elements_of
from tools.peers.random_programs import Collective, Computation, Exchange
from tools.peers.replays import PeerReplays

WANTED = 1e-4


@dataclass(frozen=True)
class Row:
    """A case and its times."""

    number: int
    features: tuple[str, ...]
    comparison: Comparison
    smallest: Experiment | None = None
    """Of one that differs: the smallest that still does."""


def features(experiment: Experiment) -> tuple[str, ...]:
    """Return what a case has, for the table."""
    root = elements_of(experiment.platform)
    elements = list(root.iter())
    topologies = [element.attrib.get("topology", "flat cluster") for element in elements if element.tag == "cluster"]
    routings = [element.attrib["routing"] for element in elements if element.tag == "zone"]
    kinds = ["zones within zones"] if len(routings) + len(topologies) > 1 else [*routings, *topologies]
    policies = {element.attrib.get("sharing_policy", "SHARED") for element in elements if element.tag == "link"}
    kinds += [f"{policy} links" for policy in sorted(policies)]
    for attribute in ("limiter_link", "loopback_bw", "bb_bw"):
        if any(attribute in element.attrib for element in elements):
            kinds.append(attribute)
    if len(set(experiment.hosts)) < len(experiment.hosts):
        kinds.append("several ranks on a host")
    for phase in experiment.phases:
        match phase:
            case Exchange(style=style):
                kinds.append(f"exchange, {style}")
            case Collective(action=action) | Computation(action=action):
                kinds.append(action)
    return tuple(dict.fromkeys(kinds))


def examine(seed: int, limit: float, shrinks: bool, number: int) -> Row:
    """Return the row of a case."""
    experiment = random_experiment(seed, number)
    with tempfile.TemporaryDirectory() as folder:
        peer = PeerReplays(Path(folder))
        comparison = compare(experiment.case(), peer)
        smallest = None
        if comparison.problem or comparison.error > limit:
            smallest = shrunk(experiment, peer, limit) if shrinks and not comparison.problem else experiment
        return Row(number, features(experiment), comparison, smallest)


def rows(seed: int, numbers: range, limit: float, shrinks: bool, workers: int) -> Iterator[Row]:
    """Yield the rows of some cases, made side by side."""
    with ProcessPoolExecutor(workers) as executor:
        yield from executor.map(partial(examine, seed, limit, shrinks), numbers)


def main() -> None:
    """Compare, print the table, write what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200, help="how many (%(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of all cases (%(default)s)")
    parser.add_argument("--limit", type=float, default=WANTED, help="relative difference (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="cases side by side (%(default)s)")
    parser.add_argument("--whole", action="store_true", help="keep cases that differ as they are, do not shrink them")
    parser.add_argument("--output", type=Path, default=Path("differences"), help="folder of these (%(default)s)")
    options = parser.parse_args()
    if not smpi.available():
        sys.exit("SMPI is not installed: there must be an smpirun")
    errors: dict[str, list[float]] = defaultdict(list)
    numbers = range(options.first, options.first + options.cases)
    far = aborted = 0
    for row in rows(options.seed, numbers, options.limit, not options.whole, options.workers):
        comparison = row.comparison
        if row.smallest is not None:
            options.output.mkdir(parents=True, exist_ok=True)
            times = f"seconds = {comparison.commmodel!r}\nsmpi = {comparison.peer!r}"
            text = f"[[case]]\n{times}\n{row.smallest.case().text()}"
            (options.output / f"{options.seed}-{row.number}.toml").write_text(text)
            verdict = comparison.problem or f"{comparison.commmodel:.12g} s, SMPI {comparison.peer:.12g} s"
            print(f"case {row.number}: {' '.join(verdict.split())[:200]}: {', '.join(features(row.smallest))}")
            aborted += not comparison.peer
            far += bool(comparison.peer)
        if not comparison.problem:
            for feature in ("all", *row.features):
                errors[feature].append(comparison.error)
        if (row.number + 1) % 500 == 0:
            print(f"{row.number + 1 - options.first} cases", file=sys.stderr, flush=True)
    table = Table("cases with", "number", "median", "largest", "beyond", box=None)
    for feature, listed in sorted(errors.items(), key=lambda item: -len(item[1])):
        beyond = sum(error > options.limit for error in listed)
        table.add_row(feature, str(len(listed)), f"{median(listed):.1e}", f"{max(listed):.1e}", str(beyond))
    Console(width=120).print(table)
    verdict = f"{far} differ by more than {options.limit:g}, on {aborted} SMPI ends"
    print(f"{len(numbers)} cases, seed {options.seed}: {verdict}")
    sys.exit(1 if far else 0)


if __name__ == "__main__":
    main()
