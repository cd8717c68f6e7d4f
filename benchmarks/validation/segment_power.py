"""How often a limit is found in times of one line, and how often a planted one is found or missed.

Ping-pong times of 1 B ... 16 MiB are made of T = alpha + n/R with alpha between 0.3 and 10 us and R between 0.6 and
30 GB/s, with noise of each size; of the disturbed data sets one record in ten is slower by a factor of 1.3 to 3. None
of the limits found in one line is real. Then alpha, R or both are worse by a factor from some size on, anywhere where
that changes what was measured. The last column of numbers is the share that the best test of all would find: one that
knows the noise, that no record is disturbed and that there is one limit at most, with 3 % false ones.

    python -m benchmarks.validation.segment_power --sets 200
"""

import argparse
from collections.abc import Iterator

import numpy as np

from commmodel.fit.points import Points
from commmodel.fit.protocol_limits import change_points

SIZES = 2 ** np.arange(25)
NOISES = (0.03, 0.05, 0.10)
DISTURBED, LEAST_FACTOR, LARGEST_FACTOR = 0.1, 1.3, 3.0
FALSE = 0.03  # of the best test
NEAR = 2.1  # times the planted limit: the next size
KINDS = ("one line", "both", "both at the bend", "latency", "byte time")


def planted(kind: str, factor: float, random: np.random.Generator) -> tuple[np.ndarray, int]:
    """Return exact times, and the largest size below a change of latency, byte time or both by a factor."""
    alpha, rate = 10 ** random.uniform(-6.5, -5), 10 ** random.uniform(8.8, 10.5)
    bend = int(np.log2(alpha * rate))
    ranges = {
        "one line": (24, 24),
        "both at the bend": (bend, bend),
        "latency": (3, max(4, bend - 2)),
        "byte time": (bend + 1, 20),
        "both": (5, 20),
    }
    power = int(random.integers(*ranges[kind], endpoint=True))
    beyond = np.where(np.arange(25) > power, factor, 1.0)
    latency, byte_time = (beyond if name in kind or "both" in kind else 1.0 for name in ("latency", "byte time"))
    return latency * alpha + byte_time * SIZES / rate, 1 << power


def data_sets(
    kind: str, factor: float, noise: float, sets: int, *, disturbed: float = 0.0
) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
    """Yield measured and exact times, and the planted limit."""
    random = np.random.default_rng([2026, KINDS.index(kind), round(1000 * noise), round(100 * disturbed)])
    for _ in range(sets):
        exact, limit = planted(kind, factor, random)
        slower = np.where(random.random(25) < disturbed, random.uniform(LEAST_FACTOR, LARGEST_FACTOR, 25), np.ones(25))
        yield exact * slower * np.exp(noise * random.standard_normal(25)), exact, limit


def found_shares(kind: str, factor: float, noise: float, sets: int, *, disturbed: float = 0.0) -> tuple[float, float]:
    """Return the share of data sets in which a limit is found, and in which it is near the planted one."""
    any_limit, near = 0, 0
    for seconds, _, limit in data_sets(kind, factor, noise, sets, disturbed=disturbed):
        limits = change_points(Points(SIZES, np.ones_like(SIZES), seconds, seconds, seconds))
        any_limit += bool(limits)
        near += any(1 / NEAR < below / limit < NEAR for below, _ in limits)
    return any_limit / sets, near / sets


def best_statistics(kind: str, factor: float, noise: float, sets: int) -> np.ndarray:
    """Return by how much two lines fit better than one, in squares of the known noise."""
    gains = []
    for seconds, exact, _ in data_sets(kind, factor, noise, sets):
        whole = _squares(SIZES, seconds, exact)
        halves = [
            _squares(SIZES[:place], seconds[:place], exact[:place])
            + _squares(SIZES[place:], seconds[place:], exact[place:])
            for place in range(3, 23)
        ]
        gains.append((whole - min(halves)) / noise**2)
    return np.array(gains)


def _squares(size: np.ndarray, seconds: np.ndarray, exact: np.ndarray) -> float:
    """Return the squares of relative residuals of the best line."""
    design = np.stack([1 / exact, size / size[-1] / exact], axis=1)
    return float(np.linalg.lstsq(design, seconds / exact)[1].sum())


def best_share(kind: str, factor: float, noise: float, sets: int) -> float:
    """Return the share that the best test finds."""
    bound = np.quantile(best_statistics("one line", factor, noise, 5 * sets), 1 - FALSE)
    return float((best_statistics(kind, factor, noise, sets) > bound).mean())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="false and missed limits")
    parser.add_argument("--sets", type=int, default=200, help="data sets of each cell (200)")
    parser.add_argument(
        "--factor", type=float, default=1.5, help="by which the planted change makes things slower (1.5)"
    )
    options = parser.parse_args()
    factor, sets = options.factor, options.sets

    def row(name: str, values: list[str]) -> None:
        print(f"| {name} | {' | '.join(values)} |", flush=True)

    def percent(*shares: float) -> str:
        return ", ".join(f"{100 * share:.0f} %" for share in shares)

    columns = [f"{percent(noise)} noise" for noise in NOISES]
    row("times", [*columns, "the best test"])
    print(f"|---{'|---' * (len(NOISES) + 1)}|")
    for disturbed in (0.0, DISTURBED):
        words = ", one in ten disturbed" if disturbed else ""
        for kind in KINDS:
            shares = [found_shares(kind, factor, noise, sets, disturbed=disturbed) for noise in NOISES]
            name = kind if kind == KINDS[0] else f"{kind} × {factor:g}"
            cells = [percent(any_limit) if kind == KINDS[0] else percent(any_limit, near) for any_limit, near in shares]
            best = [best_share(kind, factor, noise, sets) for noise in NOISES]
            row(name + words, [*cells, percent(*best) if kind != KINDS[0] and not disturbed else ""])


if __name__ == "__main__":
    main()
