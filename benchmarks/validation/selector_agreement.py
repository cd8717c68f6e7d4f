"""SMPI's selectors and algorithms, by SMPI and by us: ``python -m benchmarks.validation.selector_agreement``.

Every algorithm that SMPI 3.32 lists for a collective, and its selectors ompi, mpich, mvapich2 and impi for all of them at
once, on 16, 24 and 64 hosts of six platforms, and with several ranks on a host: a program that calls it four times, and
the replay of a trace with such calls. SMPI works out all rates anew at each event, and tells times apart to 1e-12 s.
Wanted is 1e-6 for the time of each call and of each replay; where another is found that has no reason, the exit code is
1. Where SMPI ends, its message is listed. SMPI must be installed.
"""

import argparse
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tools.peers import smpi
from tools.peers.collectives import OPERATIONS, Deployment, PeerCollectives, our_replay, our_times, selection_of

from commmodel.simulate.work.smpi_selection import SMPI_SELECTORS

WANTED = 1e-6
KINDS = ("flat", "cabinets", "fat-tree", "torus", "dragonfly", "heterogeneous")
DEPLOYMENTS = (
    *(Deployment.blocks(kind, hosts) for hosts in (16, 24, 64) for kind in KINDS),
    Deployment.blocks("flat", 16, 4),
    Deployment.cycles("cabinets", 16, 4),
    Deployment.blocks("fat-tree", 16, 2),
    Deployment.blocks("torus", 24, 2),
    Deployment.cycles("dragonfly", 16, 2),
    Deployment.blocks("heterogeneous", 16, 4),
    Deployment("flat", 16, (*range(16), *range(8))),
)
"""One rank on each host; some on each, in blocks and in turn; and two on some."""
CALLED = {"alltoall": (200, 800), "alltoallv": (200, 800)}
CALLED_ELSE = (1000, 20000)
"""Bytes of calls in the program, whose ranks have memory of their own."""
REPLAYED = {"alltoall": (400, 70000), "alltoallv": (400, 70000)}
REPLAYED_ELSE = (1000, 100000)
"""Bytes of calls in the trace."""
ASKS = "asks who has arrived, by probes that take time"
WITHOUT_SCHEDULE = {
    ("bcast", "arrival_pattern_aware"): ASKS,
    ("bcast", "arrival_pattern_aware_wait"): ASKS,
    ("bcast", "arrival_scatter"): ASKS,
    ("reduce", "arrival_pattern_aware"): ASKS,
}
"""Algorithms whose messages depend on times."""
AUTOMATIC = "automatic"
EXPLAINED: dict[tuple[str, str], str] = {}
"""Operation and algorithm -> why its times differ."""


@dataclass(frozen=True)
class Trial:
    """An algorithm on a deployment: relative differences, or why there are none."""

    operation: str
    algorithm: str
    deployment: Deployment
    program: tuple[float, ...] = ()
    """Of the increments of time from call to call."""
    replay: float | None = None
    ends: str = ""
    """What SMPI says where it ends."""
    problem: str = ""
    """What we say where it does not."""

    @property
    def difference(self) -> float:
        """The largest difference."""
        return max((*self.program, *(() if self.replay is None else (self.replay,))), default=0.0)


def _increments(times: Sequence[float]) -> list[float]:
    return [after - before for before, after in pairwise((0.0, *times))]


def _attempt(task: Callable[[], float | list[float]]) -> tuple[list[float], str]:
    """Return numbers, or what went wrong."""
    try:
        result = task()
    except ValueError as error:
        return [], " ".join(str(error).split())
    return (result if isinstance(result, list) else [result]), ""


def _difference(value: float, reference: float) -> float:
    return abs(value / reference - 1) if reference else float(value != 0)


def examine(case: tuple[str, str, Deployment]) -> Trial:
    """Return the trial of a case."""
    operation, algorithm, deployment = case
    selection = selection_of(operation, algorithm, deployment)
    called = CALLED.get(operation, CALLED_ELSE)
    replayed = REPLAYED.get(operation, REPLAYED_ELSE)
    differences: list[list[float]] = []
    problems, ends = [], []
    with tempfile.TemporaryDirectory() as folder:
        peer = PeerCollectives(Path(folder))
        arguments = [(deployment, operation, sizes, selection) for sizes in (called, replayed)]
        for name, theirs, ours in (
            ("program", lambda: _increments(peer.times(*arguments[0])), lambda: _increments(our_times(*arguments[0]))),
            ("replay", lambda: peer.replay(*arguments[1]), lambda: our_replay(*arguments[1])),
        ):
            references, end = _attempt(theirs)
            if end:
                ends.append(f"{name}: {end}")
                differences.append([])
                continue
            values, problem = _attempt(ours)
            problems += [f"{name}: {problem}"] if problem else []
            differences.append([_difference(*pair) for pair in zip(values, references, strict=False)])
    program, replay = differences
    return Trial(
        operation, algorithm, deployment, tuple(program), replay[0] if replay else None,
        "; ".join(ends), "; ".join(problems),
    )  # fmt: skip


def cases(operations: Sequence[str], algorithms: Sequence[str], deployments: Sequence[Deployment]) -> Iterator[
    tuple[str, str, Deployment]
]:
    """Yield the cases, all that SMPI lists or those of given algorithms."""
    with tempfile.TemporaryDirectory() as folder:
        peer = PeerCollectives(Path(folder))
        for operation in operations:
            listed = [*peer.algorithms(operation), *(f"selector {name}" for name in SMPI_SELECTORS)]
            for algorithm in algorithms or listed:
                if algorithm in listed:
                    yield from ((operation, algorithm, deployment) for deployment in deployments)


def is_compared(case: tuple[str, str, Deployment]) -> bool:
    """Whether the messages of a case are determined."""
    operation, algorithm, _ = case
    return algorithm != AUTOMATIC and (operation, algorithm) not in WITHOUT_SCHEDULE


@dataclass
class Summary:
    """All trials of an algorithm."""

    trials: list[Trial] = field(default_factory=list)

    def row(self, operation: str, algorithm: str) -> tuple[list[str], bool]:
        """Return the cells of a table's row, and whether it is as wanted."""
        if not self.trials:
            reason = WITHOUT_SCHEDULE.get((operation, algorithm), "runs all others in turn, with those that ask")
            return [operation, algorithm, "", "", "", f"no schedule: {reason}"], True
        programs = [max(trial.program) for trial in self.trials if trial.program]
        replays = [trial.replay for trial in self.trials if trial.replay is not None]
        worst = max(self.trials, key=lambda trial: trial.difference)
        far, reasons = worst.difference > WANTED, []
        if far:
            reasons.append(f"{EXPLAINED.get((operation, algorithm), 'differs')}: {worst.deployment}")
        ends = Counter(shortened(trial.ends) for trial in self.trials if trial.ends)
        reasons += [f"SMPI ends on {count}: {message}" for message, count in ends.most_common()]
        problems = [trial for trial in self.trials if trial.problem]
        reasons += [f"{trial.problem[:90]}: {trial.deployment}" for trial in problems[:1]]
        is_wanted = (not far or (operation, algorithm) in EXPLAINED) and not problems
        cells = [
            operation, algorithm, str(len(programs) + len(replays)),
            f"{max(programs):.0e}" if programs else "", f"{max(replays):.0e}" if replays else "", "; ".join(reasons),
        ]  # fmt: skip
        return cells, is_wanted


def shortened(message: str) -> str:
    """Return what SMPI says without what differs from case to case."""
    parts = []
    for part in message.split("; "):
        name, _, text = part.partition(": ")
        found = re.search(r"(can't be used with|SIGSEGV|Segmentation|[Dd]eadlock|longer than|MPI_ERR\w+|with -?\d+)", text)
        parts.append(f"{name} ({text[found.start() : found.start() + 70] if found else text[:70]})")
    return ", ".join(parts)


def main() -> None:
    """Compare, print the table and what SMPI ends on."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=list(OPERATIONS), choices=OPERATIONS, metavar="OPERATION")
    parser.add_argument("--algorithms", nargs="+", default=[], help="names, or 'selector NAME' (all)")
    parser.add_argument("--deployments", nargs="+", type=int, help="their numbers (all)")
    parser.add_argument("--workers", type=int, default=2, help="cases side by side (%(default)s)")
    parser.add_argument("--all", action="store_true", help="each case that differs, too")
    options = parser.parse_args()
    if not smpi.available():
        sys.exit("SMPI is not installed: there must be an smpirun")
    deployments = [DEPLOYMENTS[number] for number in options.deployments or range(len(DEPLOYMENTS))]
    listed = list(cases(options.only, options.algorithms, deployments))
    compared = [case for case in listed if is_compared(case)]
    summaries: dict[tuple[str, str], Summary] = defaultdict(Summary)
    for case in listed:
        _ = summaries[case[:2]]
    with ProcessPoolExecutor(options.workers) as executor:
        for number, trial in enumerate(executor.map(examine, compared, chunksize=4), 1):
            summaries[trial.operation, trial.algorithm].trials.append(trial)
            if options.all and (trial.difference > WANTED or trial.problem):
                shown = ", ".join(f"{value:.1e}" for value in trial.program)
                replay = "none" if trial.replay is None else f"{trial.replay:.1e}"
                print(f"{trial.operation} {trial.algorithm}, {trial.deployment}: {shown}; replay {replay} {trial.problem}")
            if number % 500 == 0:
                print(f"{number} of {len(compared)} cases", file=sys.stderr, flush=True)
    table = Table("collective", "algorithm", "runs", "program", "replay", "remarks", box=None)
    as_wanted, compared_runs = True, 0
    for (operation, algorithm), summary in summaries.items():
        cells, is_wanted = summary.row(operation, algorithm)
        as_wanted &= is_wanted
        compared_runs += int(cells[2] or 0)
        table.add_row(*cells)
    Console(width=170).print(table)
    print(f"{len(summaries)} algorithms, {len(compared)} cases, {compared_runs} times compared")
    sys.exit(0 if as_wanted else 1)


if __name__ == "__main__":
    main()
