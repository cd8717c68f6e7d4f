"""What a model surface and a fit cost: ``python -m benchmarks.speed.model_surfaces``.

A surface of time over message size and number of pairs, ten million points, the compiled formula against the same
formula in numpy and against writing an array of that size. Two comparisons:

- "in fresh memory": every contestant makes its array anew, as a call without `out` does. The system first fills that
  memory with zeros; "memory alone" does no more than ask for it, a number in each page.
- "in an array at hand": every contestant writes to the same array, made beforehand, as an optimiser does that asks for
  one surface after the other. "numpy" is the expression with its last step into that array; "numpy, step by step" is
  what can be had from numpy by giving up the expression: every step into that array, so that no memory is fresh.

In each round every contestant of a comparison runs once, in shuffled order; a ratio is taken within a round. "formula
again" is the control: what its ratio to "formula" is off from one by, this machine cannot tell apart. Beside it, the
fit of one segment.
"""

import argparse
import random
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from commmodel.fit import FitSettings
from commmodel.fit.points import Points
from commmodel.fit.segment import fit_max_rate_model
from commmodel.models import maxrate
from commmodel.statistics import summarise

ALPHA, R_N, R_CB, R_CI = 2.0e-5, 5.5e9, 3.6e9, 6.1e8  # Gropp 2016, Table 1, rendezvous
SIZES, PAIRS = 10_000, 1_000
FIT_SIZES, FIT_PAIRS, FIT_SAMPLES = 16, 16, 200
NOISE = 0.05
PAGE = 4096
RATIOS = (
    ("formula again", "formula", "control"),
    ("numpy", "formula", "wanted: at least 3"),
    ("numpy, step by step", "formula", "for the record"),
    ("formula", "writing the array", "wanted: at most 2"),
    ("numpy", "writing the array", "what a formula as fast as writing would win over numpy"),
    ("memory alone", "formula", "share of the formula's time"),
)
"""What is printed of each comparison: time of the first over time of the second, and what for."""

Surface = NDArray[np.float64]
Contestant = Callable[[], Surface]


def comparisons() -> dict[str, dict[str, Contestant]]:
    """Return what is compared: comparison -> name -> a call that makes the array."""
    size, pairs = np.geomspace(1, 1e8, SIZES)[:, None], np.arange(1.0, PAIRS + 1)[None, :]
    at_hand = np.zeros((SIZES, PAIRS))

    def formula(out: Surface | None = None) -> Surface:
        surface: Surface = maxrate.extended_time(size, pairs, ALPHA, R_N, R_CB, R_CI, out=out)
        return surface

    def in_numpy() -> Surface:
        surface: Surface = ALPHA + pairs * size / np.minimum(R_N, R_CB + (pairs - 1) * R_CI)
        return surface

    def in_numpy_at_hand() -> Surface:
        return np.add(ALPHA, pairs * size / np.minimum(R_N, R_CB + (pairs - 1) * R_CI), out=at_hand)

    def step_by_step() -> Surface:
        np.multiply(pairs, size, out=at_hand)
        np.divide(at_hand, np.minimum(R_N, R_CB + (pairs - 1) * R_CI), out=at_hand)
        return np.add(ALPHA, at_hand, out=at_hand)

    def memory() -> Surface:
        surface = np.empty((SIZES, PAIRS))
        surface.reshape(-1)[:: PAGE // surface.itemsize] = 1.0
        return surface

    def writing_at_hand() -> Surface:
        at_hand.fill(1.0)
        return at_hand

    expected = in_numpy()
    for contestant in (formula, lambda: formula(at_hand), in_numpy_at_hand, step_by_step):
        at_hand.fill(np.nan)
        if not np.array_equal(contestant(), expected):
            raise AssertionError("the formula and numpy disagree")
    return {
        "in fresh memory": {
            "formula": formula,
            "formula again": formula,
            "numpy": in_numpy,
            "writing the array": lambda: np.full((SIZES, PAIRS), 1.0),
            "memory alone": memory,
        },
        "in an array at hand": {
            "formula": lambda: formula(at_hand),
            "formula again": lambda: formula(at_hand),
            "numpy": in_numpy_at_hand,
            "numpy, step by step": step_by_step,
            "writing the array": writing_at_hand,
        },
    }


def interleaved(contestants: dict[str, Contestant], rounds: int, seed: int) -> dict[str, list[float]]:
    """Return the seconds of each contestant in each round."""
    order, shuffle = list(contestants), random.Random(seed)  # noqa: S311, an order, no secret
    seconds: dict[str, list[float]] = {name: [] for name in order}
    for _ in range(rounds):
        shuffle.shuffle(order)
        for name in order:
            start = time.perf_counter()
            contestant = contestants[name]()
            seconds[name].append(time.perf_counter() - start)
            del contestant
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
        fit_max_rate_model(points, FitSettings(samples=FIT_SAMPLES))
        seconds.append(time.perf_counter() - start)
    return seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Time model surfaces and a fit.")
    parser.add_argument("--rounds", type=int, default=21, help="of each comparison (21)")
    parser.add_argument("--seed", type=int, default=1, help="of the order and of the fit's data (1)")
    arguments = parser.parse_args()
    for where, contestants in comparisons().items():
        seconds = interleaved(contestants, arguments.rounds, arguments.seed)
        print(
            f"Surface of Eq 4 {where}, {SIZES} sizes x {PAIRS} pairs, {arguments.rounds} rounds: median [95 % interval]"
        )
        for name, values in seconds.items():
            print(line(name, values, "ms", 1e3))
        for other, against, meaning in RATIOS:
            if other in seconds:
                ratios = [above / below for above, below in zip(seconds[other], seconds[against], strict=True)]
                print(line(f"{other} / {against}", ratios, "  "), f" {meaning}")
    print(f"Fit of the max-rate model, {FIT_SIZES} sizes x {FIT_PAIRS} pairs, {FIT_SAMPLES} bootstrap samples")
    print(line("fit", fit_seconds(arguments.rounds, arguments.seed), "ms", 1e3))


if __name__ == "__main__":
    main()
