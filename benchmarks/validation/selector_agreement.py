"""SMPI's selectors and algorithms, by SMPI and by us: ``python -m benchmarks.validation.selector_agreement``.

Every algorithm that SMPI 3.32 lists for a collective, and its selectors ompi, mpich, mvapich2 and impi for all of them
at once, on 16, 24 and 64 hosts of six platforms, and with several ranks on a host: a program that calls it four times,
and the replay of a trace with such calls. SMPI works out all rates anew at each event, and tells times apart to
1e-12 s. Wanted is 1e-6 for the time of each call and of each replay. Unstable runs, in which a change of our links'
rates by 1e-9 makes such a difference, are counted for themselves; where another differs, the exit code is 1. Where
SMPI ends, the reason is listed. SMPI must be installed.
"""

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tools.peers import smpi
from tools.peers.collectives import (
    OPERATIONS,
    Change,
    Deployment,
    PeerCollectives,
    our_replay,
    our_times,
    selection_of,
    shaken,
)

from commmodel.collectives.library.smpi_selection import SMPI_SELECTORS

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
ENDS = {
    "power of two|non power": "for a power of two only",
    "TRUNCATE": "takes a message that a call before has left over",
    "[Dd]eadlock": "hangs",
    "longer than": "takes longer than five minutes",
    "mesh": "no such mesh",
    "invalid pointer": "breaks down where it looks for nodes",
    "ended with -": "breaks down",
}
"""Pattern of what SMPI says -> a short form."""
SHAKES = 3
"""How often rates are changed by rounding."""


@dataclass(frozen=True)
class Trial:
    """An algorithm on a deployment, called by a program or replayed: relative differences, or why there are none."""

    operation: str
    algorithm: str
    deployment: Deployment
    way: str
    differences: tuple[float, ...] = ()
    """Of the increments of time from call to call, or of all calls of a replay."""
    sensitivity: float = 0.0
    """The largest difference that a change of link rates by 1e-9 makes with us; looked at where others differ."""
    ends: str = ""
    """What SMPI says where it ends."""
    problem: str = ""
    """What we say where it does not."""

    @property
    def difference(self) -> float:
        """The largest difference."""
        return max(self.differences, default=0.0)

    @property
    def is_unstable(self) -> bool:
        """Whether a small change makes such a difference, too."""
        return self.sensitivity > 0.01 * self.difference

    @property
    def is_wanted(self) -> bool:
        """Whether times agree, or cannot."""
        return not self.problem and (self.difference <= WANTED or self.is_unstable)


def _increments(times: Sequence[float]) -> list[float]:
    return [after - before for before, after in pairwise((0.0, *times))]


def _differences(values: Sequence[float], references: Sequence[float]) -> tuple[float, ...]:
    return tuple(
        abs(value / reference - 1) if reference else float(value != 0)
        for value, reference in zip(values, references, strict=True)
    )


def attempt(way: str, case: tuple[str, str, Deployment], sizes: Sequence[int]) -> Trial:
    """Return the trial of calls of some sizes."""
    operation, algorithm, deployment = case
    arguments = deployment, operation, sizes, selection_of(operation, algorithm, deployment)
    with tempfile.TemporaryDirectory() as folder:
        peer = PeerCollectives(Path(folder))
        try:
            references = _increments(peer.times(*arguments)) if way == "program" else [peer.replay(*arguments)]
        except ValueError as error:
            return Trial(*case, way, ends=" ".join(str(error).split()))

    def values(change: Change | None = None) -> list[float]:
        if way == "program":
            return _increments(our_times(*arguments, change))
        return [our_replay(*arguments, change)]

    try:
        unchanged = values()
        differences = _differences(unchanged, references)
        sensitivity = 0.0
        if max(differences) > WANTED:
            sensitivity = max(max(_differences(values(shaken(seed)), unchanged)) for seed in range(SHAKES))
    except ValueError as error:
        return Trial(*case, way, problem=" ".join(str(error).split()))
    return Trial(*case, way, differences, sensitivity)


def examine(case: tuple[str, str, Deployment]) -> list[Trial]:
    """Return the trials of a case; where SMPI ends in calls of several sizes, of each size, too."""
    trials = []
    for way, sizes in (
        ("program", CALLED.get(case[0], CALLED_ELSE)),
        ("replay", REPLAYED.get(case[0], REPLAYED_ELSE)),
    ):
        trials.append(attempt(way, case, sizes))
        if trials[-1].ends:
            trials += [attempt(way, case, (size,)) for size in sizes]
    return trials


def cases(
    operations: Sequence[str], algorithms: Sequence[str], deployments: Sequence[Deployment]
) -> Iterator[tuple[str, str, Deployment]]:
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


def row(operation: str, algorithm: str, trials: Sequence[Trial]) -> list[str]:
    """Return the cells of a table's row."""
    if not trials:
        reason = WITHOUT_SCHEDULE.get((operation, algorithm), "runs all others in turn")
        return [operation, algorithm, "", "", "", f"no schedule: {reason}"]
    remarks = []
    unstable = [trial for trial in trials if trial.difference > WANTED and trial.is_unstable]
    if unstable:
        worst = max(unstable, key=lambda trial: trial.difference)
        remarks.append(f"{len(unstable)} unstable, to {worst.difference:.0e}: {worst.way}, {worst.deployment}")
    unwanted = [trial for trial in trials if not trial.is_wanted]
    remarks += [
        f"{trial.way}, {trial.deployment}: {trial.problem[:90] or f'differs by {trial.difference:.0e}'}"
        for trial in unwanted[:2]
    ]
    ends = Counter(f"{shortened(trial.ends)} in {trial.way}" for trial in trials if trial.ends)
    remarks += [f"SMPI: {message}, {count} times" for message, count in ends.most_common()]
    compared = [trial for trial in trials if trial.differences]
    stable = [trial for trial in compared if trial not in unstable]
    largest = {
        way: max((trial.difference for trial in stable if trial.way == way), default=None)
        for way in ("program", "replay")
    }
    shown = ["" if value is None else f"{value:.0e}" for value in largest.values()]
    return [operation, algorithm, str(len(compared)), *shown, "; ".join(remarks)]


def shortened(message: str) -> str:
    """Return what SMPI says without what differs from case to case."""
    for pattern, name in ENDS.items():
        if re.search(pattern, message):
            return name
    return message[:80]


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
    trials: dict[tuple[str, str], list[Trial]] = {case[:2]: [] for case in listed}
    with ProcessPoolExecutor(options.workers) as executor:
        for number, examined in enumerate(executor.map(examine, compared, chunksize=4), 1):
            trials[examined[0].operation, examined[0].algorithm] += examined
            for trial in examined:
                if not trial.is_wanted or (options.all and trial.difference > WANTED):
                    values = ", ".join(f"{value:.1e}" for value in trial.differences)
                    text = trial.problem or f"{values}; by a change {trial.sensitivity:.1e}"
                    print(f"{trial.operation} {trial.algorithm}, {trial.deployment}, {trial.way}: {text}", flush=True)
            if number % 500 == 0:
                print(f"{number} of {len(compared)} cases", file=sys.stderr, flush=True)
    table = Table("collective", "algorithm", "runs", "program", "replay", "remarks", box=None)
    for (operation, algorithm), of_algorithm in trials.items():
        table.add_row(*row(operation, algorithm, of_algorithm))
    Console(width=170).print(table)
    examined_trials = [trial for of_algorithm in trials.values() for trial in of_algorithm]
    runs = [trial for trial in examined_trials if trial.differences]
    unstable = sum(trial.difference > WANTED and trial.is_unstable for trial in runs)
    unwanted = sum(not trial.is_wanted for trial in examined_trials)
    print(
        f"{len(trials)} algorithms, {len(runs)} runs: {len(runs) - unstable - unwanted} within {WANTED:g}, "
        f"{unstable} unstable, {unwanted} others; SMPI ends {sum(bool(trial.ends) for trial in examined_trials)} times"
    )
    sys.exit(1 if unwanted else 0)


if __name__ == "__main__":
    main()
