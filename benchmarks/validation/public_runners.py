"""What a guard says on noisy public runners: ``python -m benchmarks.validation.public_runners``.

Times: synthetic runners on which two versions of a program are launched in turns, within the ten minutes that
``commmodel guard --times`` takes; a launch has as many repetitions as the guard finds best, or as ``--repetitions``
says. The speed of a runner drifts (an Ornstein-Uhlenbeck process), is taken away by
neighbours in bursts, and differs from launch to launch and repetition to repetition; all together the launches of an
unchanged program scatter by 20 to 50 %. `commmodel.scaling.differences` judges them as the guard does. Counts:
synthetic counts of programs, with and without messages from everybody to everybody, which `commmodel.guard` judges by a
baseline and by growth; with ``--real``, simulated runs of examples/guard.
"""

import argparse
import math
import os
import time
from pathlib import Path

import msgspec
import numpy as np

from commmodel import guard
from commmodel.guard import verdict
from commmodel.guard.times import FIRST_REPETITIONS, best_repetitions
from commmodel.results import Header, Launch, Library, Measurements, Record
from commmodel.results.configurations import Function
from commmodel.scaling import Differences, differences
from commmodel.sweep.interleaving import Turns

DEFAULTS = guard.GuardTimes("run {side} {output}")
BUDGET = DEFAULTS.seconds
STEP = 0.1
"""Seconds between two values of a runner's speed."""
START, REPETITION = 1.0, 0.1
"""Of a launch on an idle runner: seconds until it measures, and of each repetition."""
LEAST_SCATTER, MOST_SCATTER = 0.2, 0.5
KINDS = ("drift", "bursts", "both", "launches")
P = (4, 8, 16, 32, 64)
EXAMPLE = Path(__file__).parents[2] / "examples" / "guard"
HEADER = Header("commmodel-results", 1, "", (), Library("generated"), (), ())


class Runner:
    """A synthetic runner.

    Parameters
    ----------
    random : Generator
    kind : str
        What most of its noise is: ``drift``, ``bursts``, ``both``, or ``launches`` (half of single ones).
    """

    def __init__(self, random: np.random.Generator, kind: str) -> None:
        self._random = random
        self.scatter = random.uniform(LEAST_SCATTER, MOST_SCATTER)
        self._speed = math.exp(random.normal(0, 0.3))  # of its processor
        self._launch = self.scatter / 2 if kind == "launches" else random.uniform(0.01, 0.04)
        self._repetition = random.uniform(0.03, 0.10)
        steps = int(BUDGET / STEP)
        drift, bursts = self._drift(steps, random.uniform(30, 600)), np.zeros(steps)
        while not bursts.any():
            bursts = self._bursts(steps, random.uniform(5, 40), random.uniform(0.15, 0.4))
        share = {"drift": 1.0, "bursts": 0.0}.get(kind, random.uniform(0.2, 0.8))
        slow = math.sqrt(share) * drift / drift.std() + math.sqrt(1 - share) * bursts / bursts.std()
        self._slow = slow / slow.std() * math.sqrt(self.scatter**2 - self._launch**2)

    def _drift(self, steps: int, memory: float) -> np.ndarray:
        keep = math.exp(-STEP / memory)
        noise = self._random.normal(size=steps) * math.sqrt(1 - keep**2)
        values = np.empty(steps)
        value = self._random.normal()
        for step in range(steps):
            value = keep * value + noise[step]
            values[step] = value
        return values

    def _bursts(self, steps: int, duration: float, share: float) -> np.ndarray:
        """Return load that comes and goes: lasting `duration` seconds in the mean, for a share of the time."""
        values, step = np.zeros(steps), 0
        while step < steps:
            step += 1 + int(self._random.exponential(duration * (1 - share) / share) / STEP)
            end = step + 1 + int(self._random.exponential(duration) / STEP)
            values[step:end] = self._random.lognormal(0, 0.5)
            step = end
        return values

    def _factor(self, now: float) -> float:
        return self._speed * math.exp(self._slow[min(int(now / STEP), len(self._slow) - 1)])

    def launch(self, now: float, factor: float, repetitions: int) -> tuple[float, tuple[float, ...]]:
        """Return when a launch that begins now ends, and what it has measured."""
        off = math.exp(self._random.normal(0, self._launch))
        now += START * self._factor(now)
        samples = []
        for _ in range(repetitions):
            noise = math.exp(abs(self._random.normal(0, self._repetition)))
            seconds = REPETITION * factor * off * self._factor(now) * noise
            samples.append(seconds)
            now += seconds
        return now, tuple(samples)

    def measure(self, factor: float, seed: int, repetitions: int | None) -> tuple[Measurements, Measurements]:
        """Return launches of both sides in turns, as many pairs as there is time for.

        Where `repetitions` is None, the first launches tell which number is best, as for the guard.
        """
        configuration = Function("program", "time", ())
        sides: tuple[list[Launch], list[Launch]] = ([], [])
        now, count = 0.0, FIRST_REPETITIONS if repetitions is None else repetitions
        for number, turn in enumerate(Turns("", ("base", "head"), seed).order(1000)):
            if repetitions is None and number == 2 * DEFAULTS.launches:
                count = best_repetitions((_pairs(sides[0]), _pairs(sides[1])), now / number)
            now, samples = self.launch(now, factor if turn.side else 1.0, count)
            if now > BUDGET:
                break
            sides[turn.side].append(Launch(HEADER, (Record(configuration, "s", samples),)))
        pairs = min(map(len, sides))
        return _pairs(sides[0][:pairs]), _pairs(sides[1][:pairs])


def _pairs(launches: list[Launch]) -> Measurements:
    return Measurements(tuple(launches))


def judged(before: Measurements, after: Measurements, statistic: str, least: float) -> Differences:
    """Return the verdict, as ``commmodel guard --times`` gives it."""
    return differences(before, after, statistic=statistic, least=least, in_pairs=True)  # type: ignore[arg-type]


def interval(count: int, total: int) -> str:
    """Return a share with its 95 % interval (Wilson)."""
    share, z = count / total, 1.96
    centre = (share + z**2 / (2 * total)) / (1 + z**2 / total)
    half = z * math.sqrt(share * (1 - share) / total + z**2 / (4 * total**2)) / (1 + z**2 / total)
    return f"{count} of {total}, {share:.1%} [{max(centre - half, 0):.1%}, {min(centre + half, 1):.1%}]"


def times(
    count: int,
    seed: int,
    statistics: list[str],
    slowdown: float,
    least: float,
    *,
    repetitions: int | None,
    kinds: list[str],
) -> None:
    """Print false alarms and detections on synthetic runners."""
    print(f"{count} runners of each kind, {BUDGET:.0f} s each; smallest change that counts: {least:.0%}")
    for kind in kinds:
        false, detected = dict.fromkeys(statistics, 0), dict.fromkeys(statistics, 0)
        pairs, scatter = [], []
        for number in range(count):
            sides = []
            for factor in (1.0, slowdown):
                random = np.random.default_rng((seed, number, round(1000 * factor)))
                sides.append(Runner(random, kind).measure(factor, number, repetitions))
            launches = sides[0][0].launches
            pairs.append(len(launches))
            scatter.append(np.std([math.log(np.median(launch.records[0].samples)) for launch in launches]))
            for statistic in statistics:
                unchanged, slower = (judged(*side, statistic, least) for side in sides)
                false[statistic] += any(row.change in {"slower", "faster"} for row in unchanged.rows)
                detected[statistic] += any(row.change == "slower" for row in slower.rows)
        low, high = np.quantile(scatter, (0.05, 0.95))
        print(
            f"{kind}: {np.median(pairs):.0f} pairs; launches of nine runners in ten scatter by {low:.0%} to {high:.0%}"
        )
        for statistic in statistics:
            print(f"  {statistic:14}  false alarms: {interval(false[statistic], count)}")
            print(f"  {'':14}  {slowdown - 1:.0%} slower found: {interval(detected[statistic], count)}", flush=True)


def counts(count: int, seed: int) -> None:
    """Print false alarms and detections of planted messages in synthetic counts."""
    false = detected = grown = wrong = 0
    for number in range(count):
        random = np.random.default_rng((seed, number))
        linear, logarithmic, constant, planted = (int(value) for value in random.integers(1, 50, size=4))
        rules = guard.Guard((guard.GuardedProgram("program", P, expect={"messages": "p log p"}),))

        def program_counts(square: int, a: int = linear, b: int = logarithmic, c: int = constant) -> guard.Counts:
            return guard.Counts(runs=tuple(
                guard.RunCounts("program", p, messages=a * p + b * p * (p.bit_length() - 1) + c + square * p * (p - 1))
                for p in P
            ))  # fmt: skip

        before, unchanged, after = program_counts(0), program_counts(0), program_counts(planted)
        false += bool(guard.compare(before, unchanged, rules).larger)
        detected += bool(guard.compare(before, after, rules).larger)
        wrong += any(row.verdict == "mismatch" for row in verdict.growth(rules, unchanged).rows)
        grown += any(row.verdict == "mismatch" for row in verdict.growth(rules, after).rows)
    print(
        f"\n{count} programs, p = {', '.join(map(str, P))}, expected p log p; planted: 1 to 49 times p (p - 1) messages"
    )
    print(f"against a baseline: false alarms: {interval(false, count)}  found: {interval(detected, count)}")
    print(f"by growth alone:    false alarms: {interval(wrong, count)}  found: {interval(grown, count)}")


def real(count: int) -> None:
    """Print what simulated runs of examples/guard say, again and again."""
    os.chdir(EXAMPLE)
    rules = guard.load("guard.toml")
    program = msgspec.structs.replace(rules.program[0], name="solver", command="python solver.py --everybody")
    planted = msgspec.structs.replace(rules, program=(program,))
    baseline = guard.count(rules)
    false = detected = 0
    begin = time.monotonic()
    for _ in range(count):
        false += not guard.run(rules, baseline).holds
        detected += not guard.run(planted, baseline).holds
    seconds = (time.monotonic() - begin) / count
    print(
        f"\nexamples/guard, simulated {count} times, {seconds:.0f} s each, load {os.getloadavg()[0]:.1f} on "
        f"{os.cpu_count()} processors: {false} false alarms, {detected} planted found"
    )


def main() -> None:
    """Print all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runners", type=int, default=200, help="of each kind (default: %(default)s)")
    parser.add_argument("--statistics", default="median", help="of a launch's repetitions, with commas between")
    parser.add_argument("--slower", type=float, default=1.1, help="factor of the slower program (default: %(default)s)")
    parser.add_argument(
        "--least", type=float, default=DEFAULTS.tolerance, help="smallest change that counts (default: %(default)s)"
    )
    parser.add_argument("--repetitions", type=int, help="of each launch (default: as many as are best)")
    parser.add_argument("--kinds", default=",".join(KINDS), help="of runners, with commas between (default: all)")
    parser.add_argument("--real", type=int, default=0, help="simulated runs of examples/guard (default: none)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    times(
        arguments.runners, arguments.seed, arguments.statistics.split(","), arguments.slower, arguments.least,
        repetitions=arguments.repetitions, kinds=arguments.kinds.split(","),
    )  # fmt: skip
    counts(arguments.runners, arguments.seed)
    if arguments.real:
        real(arguments.real)


if __name__ == "__main__":
    main()
