"""How often the intervals of alpha, R_C and R_N hold the truth, on made records of known parameters.

Records of several numbers of pairs and sizes are made of one max-rate law, each of 60 samples, with noise of four
kinds, and fitted as `commmodel fit` does. Prints the share of data sets whose interval holds each parameter.

    python -m benchmarks.validation.interval_coverage --sets 300
"""

import argparse

import numpy as np

from commmodel.fit import FitSettings
from commmodel.fit.points import collect
from commmodel.fit.segment import fit_max_rate_model
from commmodel.models import maxrate
from commmodel.results import Header, Launch, Library, Measurements, Record
from commmodel.results.configurations import Pairs
from commmodel.results.file import FORMAT

SIZES = 2 ** np.arange(4, 23)
PAIRS = (1, 2, 4, 8)
TRUTH = {"alpha": 2e-6, "R_C": 4e9, "R_N": 1.2e10}
SAMPLES = 60
WITHIN = 0.03  # of the samples of a record


def records_apart(kind: str, size: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return by which factor each record is off: what a fit sees as noise."""
    deviation = np.where(size < 1024, 0.08, 0.02) if kind == "uneven" else 0.03
    off = np.exp(deviation * random.standard_normal(size.size))
    if kind == "disturbed":  # as a whole, one in eight
        off *= np.where(random.random(size.size) < 1 / 8, random.uniform(1.3, 3.0, size.size), 1.0)
    return off


def samples_of(kind: str, seconds: float, size: int, random: np.random.Generator) -> np.ndarray:
    """Return the samples of one record whose undisturbed time is given."""
    samples = seconds * np.exp(WITHIN * random.standard_normal(SAMPLES))
    if kind == "two-moded" and size >= 1 << 18:  # the scheduler takes the core away, from a third to three quarters
        disturbed = random.random(SAMPLES) < random.uniform(0.3, 0.75)
        samples += disturbed * random.uniform(0.8e-3, 1.6e-3, SAMPLES)
    return samples


def covered(kind: str, seed: int, settings: FitSettings) -> dict[str, bool]:
    """Make and fit one data set."""
    random = np.random.default_rng(seed)
    size, pairs = np.repeat(SIZES, len(PAIRS)), np.tile(PAIRS, len(SIZES))
    seconds = maxrate.time(size, pairs, TRUTH["alpha"], TRUTH["R_N"], TRUTH["R_C"]) * records_apart(kind, size, random)
    records = tuple(
        Record(Pairs(n, k, "same-node"), "s", tuple(samples_of(kind, time, n, random).tolist()))
        for n, k, time in zip(size.tolist(), pairs.tolist(), seconds.tolist(), strict=True)
    )
    launch = Launch(Header(FORMAT, 1, "", (), Library("made"), (), ()), records)
    model = fit_max_rate_model(collect(Measurements((launch,)))["same-node"], settings)
    return {name: getattr(model, name).low <= value <= getattr(model, name).high for name, value in TRUTH.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="coverage of intervals")
    parser.add_argument("--sets", type=int, default=200, help="data sets of each kind (200)")
    parser.add_argument("--samples", type=int, default=400, help="bootstrap samples of each interval (400)")
    parser.add_argument("--loss", choices=("robust", "paper"), default="robust")
    options = parser.parse_args()
    print(f"| noise | {' | '.join(TRUTH)} |\n|---{'|---' * len(TRUTH)}|")
    for kind in ("even", "uneven", "two-moded", "disturbed"):
        settings = FitSettings(samples=options.samples, loss=options.loss)
        coverage = [covered(kind, seed, settings) for seed in range(options.sets)]
        shares = (f"{np.mean([row[name] for row in coverage]):.1%}".replace("%", " %") for name in TRUTH)
        print(f"| {kind} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
