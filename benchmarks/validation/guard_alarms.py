"""How often guards give a false alarm, and see a change: ``python -m benchmarks.validation.guard_alarms``.

On made measurements: a time is its class's value, times what a launch is off by at each configuration, times what a
repetition is off by, both lognormal; or a shared machine's. With names of files, on launches that were measured.
`commmodel compare` and `commmodel check --baseline` are called as functions.
"""

import argparse
import itertools
import math

import msgspec
import numpy as np

from commmodel.results import Header, Launch, Library, Measurements, Record, load
from commmodel.results.configurations import Collective
from commmodel.scaling import CheckSettings, Differences, check, differences, parse_growth
from commmodel.scaling import load as load_expectations
from commmodel.scaling.permutation import unpaired

PROCESSES = (2, 4, 8, 16, 32, 64)
CLASSES = {
    "barrier": "log p", "bcast": "log p", "reduce": "log p", "allreduce": "log p", "gather": "p", "allgather": "p",
    "alltoall": "p log p", "scan": "log p",
}  # fmt: skip
CONSTANT = 5.0
SWITCHES = 0.2
"""How often load comes or goes between two launches of a shared machine."""
MACHINES = {"off by 0 %, then 5 %": (0.0, 0.05), "off by 5 %, then 2 %": (0.05, 0.02), "of a shared machine": None}
"""By how much a launch is off at each configuration, then a repetition; None where load comes and goes."""
CHECKED_LAUNCHES = (1, 2, 3, 5)
HEADER = Header("commmodel-results", 1, "2026-11-22T00:00:00+00:00", (), Library("generated"), (), ())
"""Launches that began at the same time can be exchanged; those that do not say when may have drifted."""


def noise(random: np.random.Generator, count: int, memory: float) -> np.ndarray:
    """Return values of unit variance, each of which remembers a share `memory` of the one before."""
    series = random.normal(size=count)
    for index in range(1, count):
        series[index] = memory * series[index - 1] + math.sqrt(1 - memory**2) * series[index]
    return series


def generated(
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


def collectives(linear: float = 0.0) -> dict[Collective, float]:
    """Return what each operation takes on each number of processes; `linear` is the slope of a planted broadcast."""
    times = {
        Collective(name, 8, p, "round-time"): 1e-6 * (CONSTANT + float(parse_growth(growth)(p)))
        for name, growth in CLASSES.items()
        for p in PROCESSES
    }
    planted = {Collective("bcast", 8, p, "round-time"): 1e-6 * (CONSTANT + linear * p) for p in PROCESSES}
    return times | planted if linear else times


def shared(random: np.random.Generator, times: dict[Collective, float], launches: int) -> Measurements:
    """Return launches of a shared machine: load comes and goes, and some configurations are then many times slower."""
    launches_, loaded = [], False
    for number in range(launches):
        loaded = loaded != (random.random() < SWITCHES)
        load = abs(random.normal()) if loaded else 0.0

        def record(configuration: Collective, seconds: float, load: float = load) -> Record:
            slow = 2.5 if random.random() < (0.4 if load else 0.05) else 0.0
            off = load + slow * random.random() + 0.07 * random.normal() + 0.03 * random.normal(size=10)
            return Record(configuration, "s", tuple((seconds * np.exp(off)).tolist()))

        header = msgspec.structs.replace(HEADER, created=f"2026-11-22T{number // 60:02}:{number % 60:02}:00+00:00")
        launches_.append(Launch(header, tuple(record(*item) for item in times.items())))
    return Measurements(tuple(launches_))


def halves(measurements: Measurements) -> tuple[Measurements, Measurements]:
    """Return the first half of the launches, and the second."""
    half = len(measurements.launches) // 2
    return Measurements(measurements.launches[:half]), Measurements(measurements.launches[half:])


def is_alarm(result: Differences) -> bool:
    """Whether anything is called slower or faster."""
    together = result.together.change if result.together else ""
    return bool({"slower", "faster"} & {together, *(row.change for row in result.rows)})


def compared(count: int, seed: int) -> None:
    """Print alarms of `compare`, and what it finds."""
    usual = {Collective("bcast", 8, p): 1e-6 for p in range(2, 10)}
    slower = dict.fromkeys(usual, 1.1e-6)
    print("compare, eight configurations, launches off by 3 %, repetitions by 3 %, --least 0")
    print("launches on each side  any false alarm  10 % slower found  configurations called so")
    for launches in (1, 2, 3, 4, 5, 10):
        false = detected = doubtful = 0
        for trial in range(count):
            random = np.random.default_rng((seed, trial))
            before, unchanged, after = (
                generated(random, times, launches, 0.03, 0.03) for times in (usual, usual, slower)
            )
            false += is_alarm(differences(before, unchanged, least=0.0))
            differ = differences(before, after, least=0.0)
            detected += bool(differ.together and differ.together.change == "slower")
            doubtful += sum(row.change == "slower" for row in differ.rows)
        print(
            f"{launches:21}  {f'{false} of {count}':>15}  {detected / count:17.0%}  "
            f"{doubtful / count / len(usual):24.0%}"
        )
    print("\ncompare, 21 configurations on a shared machine whose load comes and goes, one side after the other")
    print("launches on each side  any false alarm")
    for launches in (1, 2, 3, 5, 10):
        false = 0
        for trial in range(count):
            times = {Collective("bcast", 8, p): 1e-6 for p in range(2, 23)}
            false += is_alarm(differences(*halves(shared(np.random.default_rng((seed, trial)), times, 2 * launches))))
        print(f"{launches:21}  {f'{false} of {count}':>15}")


def drifting(count: int, seed: int) -> None:
    """Print alarms of `compare` where the machine drifts and files do not say when launches began."""
    print("\ncompare, configurations off by 3 %, no start times, one side after the other: any false alarm, by drift")
    print("launches on each side  walk of 5 %  steady, 2 %  slow load, 15 %  none: 1.5 times slower found")
    configurations = [Collective("bcast", 8, p) for p in range(2, 10)]
    header = msgspec.structs.replace(HEADER, created="")

    def side(logs: np.ndarray) -> Measurements:
        return Measurements(
            tuple(
                Launch(header, tuple(
                    Record(configuration, "s", (1e-6 * math.exp(log),) * 3)
                    for configuration, log in zip(configurations, launch, strict=True)
                ))
                for launch in logs.T
            )
        )  # fmt: skip

    for launches in (3, 5, 10, 20):
        false, detected = [0, 0, 0], 0
        for trial in range(count):
            random = np.random.default_rng((seed, trial))
            drifts = (
                np.cumsum(0.05 * random.normal(size=2 * launches)),
                0.02 * random.normal() * np.arange(2 * launches),
                0.15 * noise(random, 2 * launches, 0.9),
            )
            alone = 0.03 * random.normal(size=(8, 2 * launches))
            for place, drift in enumerate(drifts):
                before, after = np.split(drift + alone, 2, axis=1)
                false[place] += is_alarm(differences(side(before), side(after)))
            before, after = np.split(alone, 2, axis=1)
            detected += differences(side(before), side(after + math.log(1.5))).is_worse
        cells = [f"{number} of {count}" for number in false]
        print(f"{launches:21}  {cells[0]:>11}  {cells[1]:>11}  {cells[2]:>15}  {detected / count:27.0%}", flush=True)


def one_after_other(count: int, seed: int) -> None:
    """Print which change of one configuration is found where sides are measured one after the other, with no drift."""
    factors = (1.5, 2, 3, 5, 10)
    print("\ncompare, one of eight configurations slower, one side after the other, with start times: found, by factor")
    print("launches off by  launches on each side" + "".join(f"{factor:>10}" for factor in factors))
    for scatter, launches in itertools.product((0.03, 0.07, 0.15), (3, 5, 10)):
        cells = ""
        for factor in factors:
            detected = 0
            for trial in range(count):
                logs = scatter * np.random.default_rng((seed, trial)).normal(size=(8, 2 * launches))
                logs[0, launches:] += math.log(factor)
                pooled = Measurements(
                    tuple(
                        Launch(
                            msgspec.structs.replace(HEADER, created=f"2026-11-22T{number:02}:00:00+00:00"),
                            tuple(
                                Record(Collective("bcast", 8, p), "s", (1e-6 * math.exp(log),) * 3)
                                for p, log in enumerate(logs[:, number], 2)
                            ),
                        )
                        for number in range(2 * launches)
                    )
                )
                detected += differences(*halves(pooled)).is_worse
            cells += f"{detected / count:10.0%}"
        print(f"{scatter:15.0%}  {launches:21}{cells}", flush=True)


def few_launches(count: int, seed: int) -> None:
    """Print how often three launches on each side, too few for p-values, show a change that is none."""
    print("\nthree launches on each side that differ by nothing but scatter: any false alarm")
    print("configurations  normal  Student's t, 2 degrees  two modes, twelve times apart")
    for configurations in (1, 2, 8):
        false = np.zeros(3, dtype=int)
        for trial in range(count):
            random = np.random.default_rng((seed, trial))
            shape = (configurations, 6)
            modes = 2.5 * (random.random(shape) < random.random((configurations, 1))) + 0.05 * random.normal(size=shape)
            for index, logs in enumerate((random.normal(size=shape), random.standard_t(2, size=shape), modes)):
                tests = unpaired(0.05 * logs if index < 2 else logs, np.arange(6) >= 3)
                false[index] += bool(tests.plain.any() or min(tests.together, *tests.among_all) <= 0.05)
        cells = [f"{number} of {count}" for number in false]
        print(f"{configurations:14}  {cells[0]:>6}  {cells[1]:>22}  {cells[2]:>29}", flush=True)


def in_turns(count: int, seed: int) -> None:
    """Print what `compare --run` finds in ten pairs of launches that scatter by 7 %, by how much of it pairs share."""
    print("\ncompare --run, 21 configurations, launches off by 7 %, 5 % slower")
    print("off on its own: a launch  a configuration  pairs  any false alarm  5 % slower found")
    configurations = [Collective("bcast", 8, p) for p in range(2, 23)]
    rows = ((0.0, 0.01), (0.0, 0.07), (0.02, 0.05), (0.03, 0.05), (0.04, 0.05), (0.07, 0.0))
    for launch_alone, alone, pairs in (*((*row, 10) for row in rows), (0.07, 0.0, 30)):
        drift = math.sqrt(max(0.0, 0.07**2 - launch_alone**2 - alone**2))
        false = detected = 0
        for trial in range(count):
            random = np.random.default_rng((seed, trial))
            shares = drift * np.repeat(random.normal(size=pairs), 2)
            off = shares + launch_alone * random.normal(size=2 * pairs) + alone * random.normal(size=(21, 2 * pairs))
            swapped = random.random(pairs) < 0.5
            logs = off.reshape(21, pairs, 2)
            logs[:, swapped] = logs[:, swapped, ::-1]
            for factor in (1.0, 1.05):
                sides = [
                    Measurements(
                        tuple(
                            Launch(
                                HEADER,
                                tuple(
                                    Record(configuration, "s", (times * 1e-6 * math.exp(logs[row, pair, side]),) * 3)
                                    for row, configuration in enumerate(configurations)
                                ),
                            )
                            for pair in range(pairs)
                        )
                    )
                    for side, times in ((0, 1.0), (1, factor))
                ]
                result = differences(*sides, least=0.02, in_pairs=True)
                if factor == 1.0:
                    false += is_alarm(result)
                else:
                    detected += result.is_worse
        print(
            f"{launch_alone:24.0%}  {alone:15.0%}  {pairs:5}  {f'{false} of {count}':>15}  {detected / count:16.0%}",
            flush=True,
        )


def of_files(names: list[str], count: int, seed: int) -> None:
    """Print alarms between launches of an unchanged library, each in a file of its own, in the order of their begin."""
    launches = sorted((load(name).launches[0] for name in names), key=lambda launch: launch.header.created)
    print(f"compare and check --baseline, {len(launches)} launches of files, unchanged")
    print("launches on each side  drawn            alarms of compare  alarms of check  of check with expectations")
    expectations = load_expectations("mpi")
    random = np.random.default_rng(seed)
    for size in (1, 2, 3, 5, 10):
        if 2 * size > len(launches):
            continue
        in_a_row = [list(range(start, start + 2 * size)) for start in range(len(launches) - 2 * size + 1)]
        at_random = [random.choice(len(launches), 2 * size, replace=False).tolist() for _ in range(count)]
        for how, drawn in (("one after other", in_a_row[:count]), ("at random", at_random)):
            compared_ones = checked_ones = expected_ones = 0
            for numbers in drawn:
                before, after = (
                    Measurements(tuple(launches[number] for number in side))
                    for side in (numbers[:size], numbers[size:])
                )
                compared_ones += is_alarm(differences(before, after))
                settings = CheckSettings(draws=20)
                checked_ones += not check(after, baseline=before, settings=settings).holds
                expected_ones += not check(after, expectations, baseline=before, settings=settings).holds
            cells = [f"{alarms} of {len(drawn)}" for alarms in (compared_ones, checked_ones, expected_ones)]
            print(f"{size:21}  {how:15}  {cells[0]:>17}  {cells[1]:>15}  {cells[2]:>26}", flush=True)


def checked(count: int, seed: int) -> None:
    """Print alarms of `check`, and whether a broadcast that has become linear is found by its class."""
    print(
        "\ncheck, eight functions on 2 to 64 processes, 10 repetitions: files with a false alarm by expectations and by"
    )
    print("a baseline; a broadcast found that is linear, 7 and 43 times slower on 64 processes, by both")
    print("launches                 on each side  expectations   baseline    7 times    7 times   43 times   43 times")
    expectations, settings = load_expectations("mpi"), CheckSettings(draws=40)
    for (name, noises), launches in itertools.product(MACHINES.items(), CHECKED_LAUNCHES):
        alarms = np.zeros(6, dtype=int)
        for trial in range(count):
            files = []
            for times in (collectives(), collectives(1.1), collectives(7.3)):
                random = np.random.default_rng((seed, trial))  # so that only the broadcast differs
                if noises is None:
                    files.append(halves(shared(random, times, 2 * launches)))
                else:
                    files.append(halves(generated(random, times, 2 * launches, *noises, count=10)))
            before = files[0][0]
            alarms[0] += not check(files[0][1], expectations, settings=settings).holds
            alarms[1] += not check(files[0][1], baseline=before, settings=settings).holds
            for place, (_, linear) in enumerate(files[1:], 1):
                for column, expected in enumerate((expectations, None)):
                    result = check(linear, expected, baseline=None if expected else before, settings=settings)
                    rows = [row for row in result.rows if row.series.name == "bcast"]
                    alarms[2 * place + column] += any(row.verdict == "mismatch" for row in rows)
        cells = "  ".join(f"{f'{number} of {count}':>9}" for number in alarms)
        print(f"{name:23}  {launches:12}  {cells}", flush=True)


def main() -> None:
    """Make measurements, guard them, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=200, help="of each row of compare (default: %(default)s)")
    parser.add_argument("--files", type=int, default=50, help="pairs of files of each row of check (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the noise (%(default)s)")
    parser.add_argument("results", nargs="*", help="instead: files of one launch each of an unchanged library")
    arguments = parser.parse_args()
    if arguments.results:
        of_files(arguments.results, arguments.trials, arguments.seed)
        return
    compared(arguments.trials, arguments.seed)
    drifting(arguments.trials, arguments.seed)
    one_after_other(arguments.files, arguments.seed)
    few_launches(5 * arguments.trials, arguments.seed)
    in_turns(arguments.trials, arguments.seed)
    checked(arguments.files, arguments.seed)


if __name__ == "__main__":
    main()
