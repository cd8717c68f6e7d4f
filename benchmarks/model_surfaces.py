"""What a model surface and a fit cost: ``python benchmarks/model_surfaces.py``.

A surface of time over message size and number of pairs, ten million points: the compiled formula against the same
formula in numpy, and against writing an array of that size, which no formula can beat. In each round every
contestant makes its array anew, in shuffled order; a ratio is taken within a round. "formula again" is the control:
what its ratio to "formula" is off from one by, this machine cannot tell apart. Beside it, the fit of one segment.
"""

import argparse
import random
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from commmodel.fit import Settings
from commmodel.fit.points import Points
from commmodel.fit.segment import fit_max_rate_model
from commmodel.models import maxrate
from commmodel.statistics import summarise

ALPHA, R_N, R_CB, R_CI = 2.0e-5, 5.5e9, 3.6e9, 6.1e8  # Gropp 2016, Table 1, rendezvous
SIZES, PAIRS = 10_000, 1_000
FASTER_THAN_NUMPY, SLOWER_THAN_WRITING = 3.0, 2.0
FIT_SIZES, FIT_PAIRS, FIT_SAMPLES = 16, 16, 200
NOISE = 0.05

Contestant = Callable[[], NDArray[np.float64]]


def contestants() -> dict[str, Contestant]:
    """Return what is compared: name -> a call that makes the array."""
    size, pairs = np.geomspace(1, 1e8, SIZES)[:, None], np.arange(1.0, PAIRS + 1)[None, :]

    def formula() -> NDArray[np.float64]:
        surface: NDArray[np.float64] = maxrate.extended_time(size, pairs, ALPHA, R_N, R_CB, R_CI)
        return surface

    def in_numpy() -> NDArray[np.float64]:
        surface: NDArray[np.float64] = ALPHA + pairs * size / np.minimum(R_N, R_CB + (pairs - 1) * R_CI)
        return surface

    if not np.array_equal(formula(), in_numpy()):
        raise AssertionError("the formula and numpy disagree")
    return {
        "formula": formula,
        "formula again": formula,
        "numpy": in_numpy,
        "writing the array": lambda: np.full((SIZES, PAIRS), 1.0),
    }


def interleaved(contestants: dict[str, Contestant], rounds: int, seed: int) -> dict[str, list[float]]:
    """Return the seconds of each contestant in each round."""
    order, shuffle = list(contestants), random.Random(seed)  # noqa: S311, an order, no secret
    seconds: dict[str, list[float]] = {name: [] for name in order}
    for _ in range(rounds):
        shuffle.shuffle(order)
        for name in order:
            start = time.perf_counter()
            made = contestants[name]()
            seconds[name].append(time.perf_counter() - start)
            del made
    return seconds


def line(name: str, values: list[float], unit: str, factor: float = 1.0) -> str:
    """Return a median with its 95 % interval."""
    summary = summarise(values)
    low, median, high = (factor * value for value in (summary.low, summary.median, summary.high))
    return f"  {name:32} {median:8.2f} {unit} [{low:.2f}, {high:.2f}]"


def fit_seconds(rounds: int, seed: int) -> list[float]:
    """Return the seconds of fitting the max-rate model to one segment, in each round."""
    size, pairs = np.meshgrid(2 ** np.arange(4, 4 + FIT_SIZES), np.arange(1, FIT_PAIRS + 1), indexing="ij")
    size, pairs = size.ravel(), pairs.ravel()
    noise = 1 + NOISE * np.random.default_rng(seed).standard_normal(size.size)
    times = maxrate.time(size, pairs, ALPHA, R_N, R_CB) * noise
    points = Points(size, pairs, times, times * (1 - NOISE), times * (1 + NOISE))
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        fit_max_rate_model(points, Settings(samples=FIT_SAMPLES))
        seconds.append(time.perf_counter() - start)
    return seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Time model surfaces and a fit.")
    parser.add_argument("--rounds", type=int, default=21, help="of each comparison (21)")
    parser.add_argument("--seed", type=int, default=1, help="of the order and of the fit's data (1)")
    asked = parser.parse_args()
    seconds = interleaved(contestants(), asked.rounds, asked.seed)
    print(f"Surface of Eq 4, {SIZES} sizes x {PAIRS} pairs, {asked.rounds} rounds: median [95 % interval]")
    for name, values in seconds.items():
        print(line(name, values, "ms", 1e3))
    for other, against, wanted in (
        ("formula again", "formula", "control"),
        ("numpy", "formula", f"wanted: at least {FASTER_THAN_NUMPY:g}"),
        ("formula", "writing the array", f"wanted: at most {SLOWER_THAN_WRITING:g}"),
        ("numpy", "writing the array", "what numpy reaches; the most that a formula can win over it"),
    ):
        ratios = [above / below for above, below in zip(seconds[other], seconds[against], strict=True)]
        print(line(f"{other} / {against}", ratios, "  "), f" {wanted}")
    print(f"Fit of the max-rate model, {FIT_SIZES} sizes x {FIT_PAIRS} pairs, {FIT_SAMPLES} bootstrap samples")
    print(line("fit", fit_seconds(asked.rounds, asked.seed), "ms", 1e3))


if __name__ == "__main__":
    main()
