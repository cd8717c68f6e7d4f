"""How often a limit is found in times of one line, and how often a planted one is found or missed.

Ping-pong times of 1 B ... 16 MiB are made of T = alpha + n/R with alpha between 0.3 and 10 us and R between 0.6 and
30 GB/s, with noise of each size, that all visits to it have; of the disturbed data sets one size in ten is slower by a
factor of 1.3 to 3; where one visit wanders, the noise of neighbouring sizes is alike. None of the limits found in one
line is real. Then alpha, R or both are worse by a factor from some size on, anywhere where that changes what was
measured. The best test of all knows the noise, that no size is disturbed and that there is one limit at most, though
not where; 3 % of its limits in one line are false. The best that does not know the noise is told by the ratio of the
squares that one line and two lines leave.

A default run visits the sizes of the benchmark's plan, and then those that the benchmark asks for, given what it has
measured (`kernels.refinements`), until it asks for none.

    python -m benchmarks.validation.segment_power --sets 200
    python -m benchmarks.validation.segment_power --runs --sets 100
    python -m benchmarks.validation.segment_power --criterion --sets 1000

The last prints quantiles of the evidence for a limit in times without one, drawn from the distribution that the fit
assumes; its seeds are its own, and disturbed sizes have other factors.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from commmodel.bench.kernels import refinements
from commmodel.bench.options import parse
from commmodel.bench.plan import in_rounds, make_plan
from commmodel.fit.points import Points, collect
from commmodel.fit.protocol_limits import change_points, evidence
from commmodel.results import Header, Launch, Library, Measurements, Record
from commmodel.results.file import FORMAT

SIZES = 2 ** np.arange(25)
NOISES = (0.03, 0.05, 0.10)
OF_RUNS = (0.10,)
DISTURBED, LEAST_FACTOR, LARGEST_FACTOR = 0.1, 1.3, 3.0
ALIKE = 0.9  # correlation of the noise of sizes an octave apart, where all of one visit wander together
FALSE = 0.03  # of the best test
NEAR = 2.1  # times the planted limit: the next size
KINDS = ("one line", "both", "both at the bend", "latency", "byte time")
SAMPLES, SCATTER = 15, 0.03  # of a visit
ASSUMED = {"disturbed": 0.1, "faster": 0.02, "mean logarithm": 0.5}
"""What the fit assumes of records."""


@dataclass
class Machine:
    """Ping-pong times of a made machine.

    Attributes
    ----------
    alpha, byte_time : float
        Below the limit.
    limit : int
        Largest size below the change.
    factors : (float, float)
        Of latency and byte time beyond the limit.
    noise, disturbed : float
        Relative deviation of each size, and share of the sizes that are disturbed.
    alike : float
        Correlation of the deviations of sizes an octave apart.
    """

    alpha: float
    byte_time: float
    limit: int
    factors: tuple[float, float]
    noise: float
    disturbed: float
    random: np.random.Generator
    alike: float = 0.0
    _deviations: dict[int, float] = field(default_factory=dict)

    def exact(self, size: int) -> float:
        """Return the time without noise."""
        latency, byte_time = self.factors if size > self.limit else (1.0, 1.0)
        return latency * self.alpha + byte_time * self.byte_time * size

    def seconds(self, size: int) -> float:
        """Return the time, always the same."""
        if size not in self._deviations:
            slower = self.random.uniform(LEAST_FACTOR, LARGEST_FACTOR) if self.random.random() < self.disturbed else 1.0
            self._deviations[size] = slower * np.exp(self.noise * self.random.standard_normal())
        return self.exact(size) * self._deviations[size]

    def points(self) -> Points:
        """Return the points of all powers of two."""
        if self.alike:
            octaves = np.arange(SIZES.size)
            root = np.linalg.cholesky(self.alike ** np.abs(np.subtract.outer(octaves, octaves)))
            deviations = np.exp(self.noise * root @ self.random.standard_normal(SIZES.size))
            self._deviations.update(zip(SIZES.tolist(), deviations.tolist(), strict=True))
        seconds = np.array([self.seconds(size) for size in SIZES.tolist()])
        return Points(SIZES, np.ones_like(SIZES), seconds, seconds, seconds)


def machines(
    kind: str, factor: float, noise: float, sets: int, *, disturbed: float = 0.0, alike: float = 0.0
) -> Iterator[Machine]:
    """Yield made machines with a change of latency, byte time or both by a factor."""
    random = np.random.default_rng([2026, KINDS.index(kind), round(1000 * noise), round(100 * disturbed)])
    latency, byte_time = (factor if name in kind or "both" in kind else 1.0 for name in ("latency", "byte time"))
    for _ in range(sets):
        alpha, rate = 10 ** random.uniform(-6.5, -5), 10 ** random.uniform(8.8, 10.5)
        bend = int(np.log2(alpha * rate))
        ranges = {
            "one line": (24, 24),
            "both at the bend": (bend, bend),
            "latency": (3, max(4, bend - 2)),
            "byte time": (bend + 1, 20),
            "both": (5, 20),
        }
        limit = 1 << int(random.integers(*ranges[kind], endpoint=True))
        yield Machine(alpha, 1 / rate, limit, (latency, byte_time), noise, disturbed, random, alike)


def default_run(machine: Machine) -> tuple[Points, int]:
    """Return the points of a default run of two ranks, and how many sizes it has added to its plan."""
    options = parse(["--seed", "1", "pingpong"]).options
    records: list[Record] = []
    ahead = plan = make_plan(options, {"same-node": ((0, 1),)})
    while ahead:
        for configuration, visits in in_rounds(ahead, options).visits.items():
            scatter = SCATTER * machine.random.standard_normal(visits * SAMPLES)
            samples = machine.seconds(configuration.message_size) * np.exp(scatter)
            records.append(Record(configuration, "s", tuple(samples.tolist()), visits=(SAMPLES,) * visits))
        ahead = refinements(options, records)
    header = Header(FORMAT, 1, "", (), Library("made"), (), ())
    return collect(Measurements((Launch(header, tuple(records)),)))["same-node"], len(records) - len(plan)


def found_shares(of_points: Iterator[tuple[Points, int]]) -> tuple[float, float]:
    """Return the share of data sets in which a limit is found, and in which it is near the planted one."""
    rows = []
    for points, planted in of_points:
        limits = change_points(points)
        rows.append((bool(limits), any(1 / NEAR < below / planted < NEAR for below, _ in limits)))
    any_limit, near = np.mean(rows, axis=0)
    return float(any_limit), float(near)


def best_statistics(kind: str, factor: float, noise: float, sets: int) -> np.ndarray:
    """Return by how much two lines fit better than one, in squares of the known noise, and by which factor."""
    gains = []
    for machine in machines(kind, factor, noise, sets):
        seconds, exact = machine.points().seconds, np.array([machine.exact(size) for size in SIZES.tolist()])
        whole = _squares(SIZES, seconds, exact)
        halves = [
            _squares(SIZES[:place], seconds[:place], exact[:place])
            + _squares(SIZES[place:], seconds[place:], exact[place:])
            for place in range(3, 23)
        ]
        gains.append(((whole - min(halves)) / noise**2, whole / min(halves)))
    return np.array(gains)


def _squares(size: np.ndarray, seconds: np.ndarray, exact: np.ndarray) -> float:
    """Return the squares of relative residuals of the best line."""
    design = np.stack([1 / exact, size / size[-1] / exact], axis=1)
    return float(np.linalg.lstsq(design, seconds / exact)[1].sum())


def best_shares(kind: str, factor: float, noise: float, sets: int) -> list[float]:
    """Return the shares that the best test finds where it knows the noise, and where it does not."""
    bounds = np.quantile(best_statistics("one line", factor, noise, 5 * sets), 1 - FALSE, axis=0)
    shares: list[float] = (best_statistics(kind, factor, noise, sets) > bounds).mean(axis=0).tolist()
    return shares


def assumed_evidence(sizes: int, noise: float, sets: int) -> np.ndarray:
    """Return the evidence for a limit over that needed, in times of one line, drawn from what the fit assumes."""
    random = np.random.default_rng([1, sizes, round(1000 * noise)])
    size = 2 ** np.linspace(0, 24, sizes)
    falls = []
    for _ in range(sets):
        line = 10 ** random.uniform(-6.5, -5) + size / 10 ** random.uniform(8.8, 10.5)
        excess = random.exponential(ASSUMED["mean logarithm"], sizes)
        excess *= np.where(random.random(sizes) < ASSUMED["faster"], -1, 1)
        is_disturbed = random.random(sizes) < ASSUMED["disturbed"]
        seconds = line * np.exp(np.where(is_disturbed, excess, noise * random.standard_normal(sizes)))
        whole = np.round(size).astype(np.int64)
        first, *_ = evidence((), "same-node", Points(whole, np.ones_like(whole), seconds, seconds, seconds))
        falls.append(first.fall / first.needed)
    return np.array(falls)


def _row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def _percent(*shares: float) -> str:
    return ", ".join(f"{100 * share:.0f} %" for share in shares)


def print_criterion(sets: int) -> None:
    """Print quantiles of the evidence over that needed, and how often it is enough."""
    shares = (0.5, 0.95, 0.97, 0.98, 0.99)
    _row("sizes", "noise", *map(_percent, shares), "enough")
    print("|---" * (len(shares) + 3) + "|")
    for sizes, noise in ((9, 0.1), (17, 0.1), (25, 0.05), (25, 0.1), (25, 0.2), (49, 0.1)):
        falls = assumed_evidence(sizes, noise, sets)
        quantiles = (f"{value:.2f}" for value in np.quantile(falls, shares))
        _row(str(sizes), _percent(noise), *quantiles, f"{100 * (falls > 1).mean():.1f} %")


def print_shares(kinds: list[str], factor: float, sets: int, *, runs: bool) -> None:
    """Print the table of planned sizes, or that of default runs."""
    noises = OF_RUNS if runs else NOISES
    ends = ["sizes added"] if runs else ["the best test", "noise unknown"]
    _row("times", *(f"{_percent(noise)} noise" for noise in noises), *ends)
    print("|---" * (len(noises) + len(ends) + 1) + "|")
    forms = {"": (0.0, 0.0), ", one in ten disturbed": (DISTURBED, 0.0), ", one visit that wanders": (0.0, ALIKE)}
    for form, (disturbed, alike) in list(forms.items())[: 2 if runs else 3]:
        for kind in kinds:
            cells: list[str] = []
            last: list[list[str]] = [[] for _ in ends]
            for noise in noises:
                drawn = list(machines(kind, factor, noise, sets, disturbed=disturbed, alike=alike))
                data = [default_run(machine) if runs else (machine.points(), 0) for machine in drawn]
                planted = (machine.limit for machine in drawn)
                shares = found_shares(zip((points for points, _ in data), planted, strict=True))
                cells.append(_percent(*shares[: 1 if kind == KINDS[0] else 2]))
                if runs:
                    last[0].append(f"{np.mean([added for _, added in data]):.0f}")
                elif kind != KINDS[0] and not form:
                    for column, share in zip(last, best_shares(kind, factor, noise, sets), strict=True):
                        column.append(_percent(share))
            name = kind if kind == KINDS[0] else f"{kind} × {factor:g}"
            _row(name + form, *cells, *map(", ".join, last))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description="false and missed limits")
    parser.add_argument("--sets", type=int, default=200, help="data sets of each cell (200)")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="of times (all)")
    parser.add_argument("--factor", type=float, default=1.5, help="of the planted change (1.5)")
    parser.add_argument("--runs", action="store_true", help="of default runs, which measure more where they doubt")
    parser.add_argument("--criterion", action="store_true", help="quantiles of the evidence in times without limits")
    options = parser.parse_args()
    if options.criterion:
        print_criterion(options.sets)
    else:
        print_shares(options.kinds, options.factor, options.sets, runs=options.runs)


if __name__ == "__main__":
    main()
