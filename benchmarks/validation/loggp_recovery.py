"""How well L, o, g and G are recovered from made trains of messages, in runs of the kernel loggp.

The files are those of `interval_coverage`, of laws drawn at random. For each kind of noise and each parameter: how many
intervals hold the truth, the error that nine of ten values keep within, and the median width of the interval, both
relative to the truth; and the share of the fits that are trusted.

    python -m benchmarks.validation.loggp_recovery --sets 100
"""

import argparse

import numpy as np
from benchmarks.validation.interval_coverage import LOGGP, NOISE, PATH, measurements_of

from commmodel.fit import FitSettings
from commmodel.fit.loggp import collect_trains, fit_loggp_model
from commmodel.machine import LogGP

KINDS = ("even", "uneven", "sizes deviate", "two-moded", "slow visits", "slow records")


def fitted(kind: str, seed: int, settings: FitSettings) -> tuple[dict[str, float], LogGP | None]:
    """Draw a law, make a file of it, and fit that."""
    random = np.random.default_rng([seed, KINDS.index(kind)])
    latency = 10 ** random.uniform(-6, -4.7)
    overhead = latency * random.uniform(0.15, 0.4)
    law = {"L": latency, "o": overhead, "g": overhead * random.uniform(1.1, 2.5), "G": 10 ** random.uniform(-10, -8.5)}
    LOGGP.update(law)
    trains = collect_trains(measurements_of(NOISE[kind], ("loggp",), random), "blocking")[PATH]
    return law, fit_loggp_model(trains, settings)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="recovery of LogGP's parameters")
    parser.add_argument("--sets", type=int, default=100, help="files of each kind (100)")
    parser.add_argument("--samples", type=int, default=400, help="bootstrap samples of each interval (400)")
    options = parser.parse_args()
    print(f"| noise | trusted | {' | '.join(LOGGP)} |\n|---{'|---' * (len(LOGGP) + 1)}|")
    for kind in KINDS:
        runs = [fitted(kind, seed, FitSettings(samples=options.samples)) for seed in range(options.sets)]
        cells = [f"{100 * np.mean([model.quality.trusted for _, model in runs if model.quality]):.0f} %"]
        for name in LOGGP:
            rows = [(law[name], getattr(model, name)) for law, model in runs]
            holds = np.mean([parameter.low <= truth <= parameter.high for truth, parameter in rows])
            error = np.quantile([abs(parameter.value / truth - 1) for truth, parameter in rows], 0.9)
            width = np.median([(parameter.high - parameter.low) / truth for truth, parameter in rows])
            cells.append(f"{100 * holds:.0f} %, {100 * error:.0f} %, {100 * width:.0f} %")
        print(f"| {kind} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
