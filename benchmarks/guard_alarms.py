"""How often guards give a false alarm, and how often they see a change: ``python benchmarks/guard_alarms.py``.

On made measurements: a time is its class's value, times what a launch is off by at each configuration, times what a
repetition is off by, both lognormal. `commmodel compare` and `commmodel check --baseline` are called as functions.
"""

import argparse
import math

import numpy as np

from commmodel.results import Collective, Header, Launch, Library, Measurements, Record
from commmodel.scaling import check, differences, parse

PROCESSES = (2, 4, 8, 16, 32, 64)
CLASSES = {
    "barrier": "log p", "bcast": "log p", "reduce": "log p", "allreduce": "log p", "gather": "p", "allgather": "p",
    "alltoall": "p log p", "scan": "log p",
}  # fmt: skip
CONSTANT = 5.0
HEADER = Header("commmodel-results", 1, "", (), Library("made"), (), ())


def noise(random: np.random.Generator, count: int, memory: float) -> np.ndarray:
    """Return values of unit variance, each of which remembers a share `memory` of the one before."""
    series = random.normal(size=count)
    for index in range(1, count):
        series[index] = memory * series[index - 1] + math.sqrt(1 - memory**2) * series[index]
    return series


def made(
    random: np.random.Generator,
    times: dict[Collective, float],
    launches: int,
    between: float,
    within: float,
    count: int = 20,
    memory: float = 0.0,
) -> Measurements:
    """Return launches in which each configuration takes its time, but for launch and repetition."""

    def record(configuration: Collective, seconds: float) -> Record:
        off = between * random.normal() + within * noise(random, count, memory)
        return Record(configuration, "s", tuple((seconds * np.exp(off)).tolist()))

    return Measurements(tuple(Launch(HEADER, tuple(record(*item) for item in times.items())) for _ in range(launches)))


def collectives(**changed: str) -> dict[Collective, float]:
    """Return what each operation takes on each number of processes; `changed` names other classes of growth."""
    return {
        Collective(name, 8, p, "round-time"): 1e-6 * (CONSTANT + float(parse(growth)(p)))
        for name, growth in (CLASSES | changed).items()
        for p in PROCESSES
    }


def changes(before: Measurements, after: Measurements) -> list[str]:
    """Return what `compare` calls each configuration, where any effect counts."""
    return [row.change for row in differences(before, after, least=0.0).rows]


def compared(count: int, seed: int) -> None:
    """Print alarms of `compare`, and what it finds."""
    usual = {Collective("bcast", 8, p): 1e-6 for p in range(2, 10)}
    slower = dict.fromkeys(usual, 1.1e-6)
    print("compare, eight configurations, launches off by 3 %, repetitions by 3 %, --least 0")
    print("launches on each side  any false alarm  10 % slower found")
    for launches in (2, 3, 5, 10):
        false = found = 0
        for trial in range(count):
            random = np.random.default_rng((seed, trial))
            before, same, after = (made(random, times, launches, 0.03, 0.03) for times in (usual, usual, slower))
            false += bool({"slower", "faster"} & set(changes(before, same)))
            found += changes(before, after).count("slower")
        print(f"{launches:21}  {f'{false} of {count}':>15}  {found / count / len(usual):17.0%}")
    one = {Collective("bcast", 8, 2): 1e-6}
    for memory, samples in ((0.8, 200), (0.9, 100)):
        false = 0
        for trial in range(count):
            random = np.random.default_rng((seed, trial))
            before, same = (made(random, one, 1, 0.0, 0.03, samples, memory) for _ in range(2))
            false += bool({"slower", "faster"} & set(changes(before, same)))
        print(f"one launch of {samples} repetitions that remember {memory}: {false} of {count} false alarms")


def checked(count: int, seed: int) -> None:
    """Print alarms of `check --baseline`, and whether a broadcast that has become linear is found."""
    print("\ncheck --baseline, eight functions on 2 to 64 processes, 20 repetitions")
    print("launches off by  repetitions off by  launches  file with a false alarm  linear broadcast found  as a class")
    for between, within, launches in ((0.0, 0.05, 1), (0.05, 0.02, 1), (0.05, 0.02, 3)):
        false = found = mismatches = 0
        for trial in range(count):
            random = np.random.default_rng((seed, trial))
            before, same, linear = (
                made(random, times, launches, between, within)
                for times in (collectives(), collectives(), collectives(bcast="p"))
            )
            false += not check(same, baseline=before).holds
            after = check(linear, baseline=before)
            (verdict,) = [row.judgement.verdict for row in after.rows if row.series.name == "bcast"]
            mismatches += verdict == "mismatch"
            found += verdict == "mismatch" or any(one.name == "bcast" for one in after.slower)
        print(
            f"{between:15.0%}  {within:18.0%}  {launches:8}  {f'{false} of {count}':>23}  {f'{found} of {count}':>22}"
            f"  {f'{mismatches} of {count}':>10}",
            flush=True,
        )


def main() -> None:
    """Make measurements, guard them, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=200, help="of each row of compare (default: %(default)s)")
    parser.add_argument("--files", type=int, default=50, help="pairs of files of each row of check (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the noise (%(default)s)")
    asked = parser.parse_args()
    compared(asked.trials, asked.seed)
    checked(asked.files, asked.seed)


if __name__ == "__main__":
    main()
