"""How often intervals hold the truth, on made files of the default run.

The benchmark's own plan says which configurations a run of 16 ranks on two nodes visits, in which order, and how often.
Each visit has samples of one max-rate law (of LogGP for trains), which resemble each other from one to the next; visits
deviate by a law of noise. Prints how many of the files have an interval that holds the parameter, fitted as
`commmodel fit` does, and how many of the fits are trusted.

    python -m benchmarks.validation.interval_coverage --sets 200
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from commmodel.bench.options import parse
from commmodel.bench.plan import in_rounds, make_plan
from commmodel.fit import FitSettings
from commmodel.fit.loggp import collect_trains, fit_loggp_model
from commmodel.fit.points import collect
from commmodel.fit.segment import fit_max_rate_model
from commmodel.models import maxrate
from commmodel.results import Header, Launch, Library, Measurements, Record, join_visits
from commmodel.results.configurations import Configuration, Pairs, PingPong, Train
from commmodel.results.file import FORMAT

PATH = "between-nodes"
PLACEMENT = {"same-node": tuple((rank, rank + 4) for rank in range(4)),
             PATH: tuple((rank, rank + 8) for rank in range(8))}  # fmt: skip
DEFAULT_KERNELS = ("threshold", "pingpong", "ping", "pairs", "stream")
RATES = {"alpha": 2e-6, "R_C": 4e9, "R_N": 1.2e10}
LOGGP = {"L": 4e-6, "o": 1e-6, "g": 1.8e-6, "G": 2.5e-10}
WITHIN, ALIKE = 0.03, 0.5  # of samples of a visit: deviation, and correlation with the next
MOST_SAMPLES = 60
VISIT_SECONDS = 26.6e-3  # as `commmodel bench --dry-run -p 16 -k 8` says


@dataclass(frozen=True)
class Noise:
    """Relative deviations of times, by their cause."""

    visit: float = 0.03
    small: float | None = None
    """That of visits to sizes below 1 KiB, where it differs."""
    size: float = 0.0
    """Of a size from the law, in all visits."""
    round: float = 0.0
    """Of all times of a round."""
    drift: float = 0.0
    """Of a drift over time; a tenth of a round later it is half another one."""
    slow_visits: float = 0.0
    """Share of visits that are slower by a factor of 1.3 to 3."""
    slow_records: float = 0.0
    """Share of configurations that are so in all visits."""
    skewed: float = 0.0
    """Of visits that are never much faster than usual, but slower: exponential, around its median."""
    late: bool = False
    """Whether 30 to 75 % of the samples from 256 KiB on are a millisecond late."""


NOISE = {
    "even": Noise(),
    "uneven": Noise(0.02, small=0.08),
    "sizes deviate": Noise(size=0.03),
    "rounds differ": Noise(round=0.03),
    "drift": Noise(drift=0.05),
    "skewed": Noise(visit=0.0, skewed=0.05),
    "two-moded": Noise(late=True),
    "slow visits": Noise(slow_visits=1 / 8),
    "slow records": Noise(slow_records=1 / 16),
}


@cache
def visited(kernels: Sequence[str]) -> list[tuple[int, float, Configuration]]:
    """Return round, time in rounds, and configuration of each visit of the plan that is on the path fitted."""
    options = parse(["--seed", "1", *kernels]).options
    rounds = in_rounds(make_plan(options, PLACEMENT), options).rounds
    return [
        (number, number + place / len(rounds[0]), configuration)
        for number, configurations in enumerate(rounds)
        for place, configuration in enumerate(configurations)
        if isinstance(configuration, PingPong | Pairs | Train) and configuration.path == PATH
    ]


def true_seconds(configuration: Configuration) -> tuple[float, float]:
    """Return the time of a sample, and the delay of a train."""
    size = configuration.message_size
    if not isinstance(configuration, Train):
        pairs = getattr(configuration, "pairs", 1)
        return float(maxrate.time(size, pairs, RATES["alpha"], RATES["R_N"], RATES["R_C"])), 0.0
    L, o, g, G = LOGGP.values()
    lone = 2 * L + 4 * o + (size - 1) * G
    if configuration.delayed:
        return lone + (configuration.messages - 1) * (o + lone), lone
    return lone + (configuration.messages - 1) * (g + (size - 1) * G), 0.0


def deviations(noise: Noise, visits: Sequence[tuple[int, float, Configuration]], random: np.random.Generator):
    """Return by which factor each visit is off."""
    numbers, times = np.array([visit[0] for visit in visits]), np.array([visit[1] for visit in visits])
    size = np.array([visit[2].message_size for visit in visits])
    alike = {configuration: index for index, configuration in enumerate(dict.fromkeys(visit[2] for visit in visits))}
    of = np.array([alike[visit[2]] for visit in visits])
    small = noise.visit if noise.small is None else noise.small
    logs = np.where(size < 1024, small, noise.visit) * random.standard_normal(size.size)
    sizes = np.unique(size, return_inverse=True)[1]
    logs += noise.size * random.standard_normal(sizes.max() + 1)[sizes]
    logs += noise.round * random.standard_normal(numbers.max() + 1)[numbers]
    if noise.drift:
        shares = np.exp(-np.diff(times) / 0.1 * np.log(2))
        drift = [random.standard_normal()]
        for share in shares:
            drift.append(share * drift[-1] + np.sqrt(1 - share**2) * random.standard_normal())
        logs += noise.drift * np.array(drift)
    if noise.skewed:
        logs += noise.skewed * (random.standard_exponential(size.size) - np.log(2))
    slow = random.random(len(visits)) < noise.slow_visits
    slow |= (random.random(len(alike)) < noise.slow_records)[of]
    return np.exp(logs) * np.where(slow, random.uniform(1.3, 3.0, len(visits)), 1.0)


def samples_of(noise: Noise, seconds: float, size: int, random: np.random.Generator) -> tuple[float, ...]:
    """Return the samples of a visit whose undisturbed time is given."""
    count = int(np.clip(VISIT_SECONDS / 2 / seconds, 3, MOST_SAMPLES))
    logs = random.standard_normal(count)
    for place in range(1, count):
        logs[place] = ALIKE * logs[place - 1] + np.sqrt(1 - ALIKE**2) * logs[place]
    samples = seconds * np.exp(WITHIN * logs)
    if noise.late and size >= 1 << 18:
        samples += (random.random(count) < random.uniform(0.3, 0.75)) * random.uniform(0.8e-3, 1.6e-3, count)
    return tuple(samples.tolist())


def measurements_of(noise: Noise, kernels: Sequence[str], random: np.random.Generator) -> Measurements:
    """Return a made file of the benchmark's plan."""
    visits = visited(kernels)
    records = []
    for (_, _, configuration), off in zip(visits, deviations(noise, visits, random), strict=True):
        seconds, delay = true_seconds(configuration)
        samples = samples_of(noise, seconds * off, configuration.message_size, random)
        records.append(Record(configuration, "s", samples, visits=(len(samples),), delay=delay or None))
    return Measurements((Launch(Header(FORMAT, 1, "", (), Library("made"), (), ()), join_visits(records)),))


def covered(noise: Noise, seed: int, settings: FitSettings) -> dict[str, bool]:
    """Make and fit the files of one run of the default kernels and one of loggp; say which fits are trusted, too."""
    random = np.random.default_rng(seed)
    rates = fit_max_rate_model(collect(measurements_of(noise, DEFAULT_KERNELS, random))[PATH], settings)
    trains = collect_trains(measurements_of(noise, ("loggp",), random), "blocking")[PATH]
    loggp = fit_loggp_model(trains, settings)
    parameters = {name: (getattr(rates, name), value) for name, value in RATES.items()}
    parameters |= {name: (getattr(loggp, name), value) for name, value in LOGGP.items()}
    coverage = {name: parameter.low <= value <= parameter.high for name, (parameter, value) in parameters.items()}
    return coverage | {f"{name} trusted": fit.quality.trusted for name, fit in (("max-rate", rates), ("LogGP", loggp))}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="coverage of intervals")
    parser.add_argument("--sets", type=int, default=200, help="files of each kind (200)")
    parser.add_argument("--samples", type=int, default=400, help="bootstrap samples of each interval (400)")
    parser.add_argument("--seed", type=int, default=1, help="of the first file (1)")
    parser.add_argument("--noise", nargs="+", choices=list(NOISE), default=list(NOISE), help="kinds of noise (all)")
    parser.add_argument("--loss", choices=("robust", "paper"), default="robust")
    options = parser.parse_args()
    names = [*RATES, *LOGGP, "max-rate trusted", "LogGP trusted"]
    print(f"| noise | {' | '.join(names)} |\n|---{'|---' * len(names)}|")
    for kind in options.noise:
        settings = FitSettings(samples=options.samples, loss=options.loss)
        coverage = [covered(NOISE[kind], options.seed + number, settings) for number in range(options.sets)]
        shares = (f"{np.mean([row[name] for row in coverage]):.1%}".replace("%", " %") for name in names)
        print(f"| {kind} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
