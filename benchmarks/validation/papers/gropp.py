"""Gropp, Olson and Samfass 2016: max-rate models, their fits, their errors. Main entry: `paper`."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from benchmarks.validation.papers.rows import Gap, Paper, Row, off
from benchmarks.validation.published_measurements.ping_pongs import SizeTable, medians, tables
from benchmarks.validation.published_measurements.trains import LIMITS

from commmodel import formats
from commmodel.fit import FitSettings, fit_machine
from commmodel.fit.model_errors import error_sums
from commmodel.machine import Machine
from commmodel.models import maxrate, postal
from commmodel.optimize import communicating_processes
from commmodel.results import Header, Launch, Library, Measurements, Record
from commmodel.results.configurations import Pairs
from commmodel.units import format_rate

__all__ = ["paper"]

TABLE_1 = {
    "short": {"alpha": 4.0e-6, "R_N": math.inf, "R_Cb": 6.3e8, "R_Ci": -1.8e7},
    "eager": {"alpha": 1.1e-5, "R_N": math.inf, "R_Cb": 1.7e9, "R_Ci": 6.2e7},
    "rendezvous": {"alpha": 2.0e-5, "R_N": 5.5e9, "R_Cb": 3.6e9, "R_Ci": 6.1e8},
}
TABLE_2 = {
    "short": (1.23, 1.31, 7.40, 2.59, 1.81),
    "eager": (1.71, 1.85, 10.97, 3.54, 2.37),
    "rendezvous": (7.60, 8.37, 58.78, 109.39, 46.87),
}
"""Sums of relative errors of the models that follow."""
MODELS = ("extended", "max-rate", "postal, 1 pair", "postal, 16 pairs", "postal, all")
FIGURE_2 = {"max_rate": 0.24, "extended": 0.18}
"""Largest relative errors."""
LARGE = 1e15
"""Bytes of a message beside which the latency is nothing."""
PAIRS = 16
SETTINGS = FitSettings(samples=20, loss="paper")


def made_times(seed: int, noise: float = 0.05) -> dict[int, list[float]]:
    """Return ping-pongs of 1 to 16 pairs that take what Table 1 says, rendezvous, but for lognormal noise."""
    random = np.random.default_rng(seed)
    return {
        1 << exponent: [
            extended_seconds(1 << exponent, pairs) * off_by
            for pairs, off_by in enumerate(np.exp(noise * random.normal(size=PAIRS)).tolist(), 1)
        ]
        for exponent in range(11, 21)
    }


def measurements_of(name: str, times: SizeTable) -> Measurements:
    """Return the records of a table of sizes and numbers of pairs."""
    records = [
        Record(Pairs(size, pairs, "any", 1), "s", (float(seconds),))
        for size, row in times.items()
        for pairs, seconds in enumerate(row, 1)
    ]
    header = Header("commmodel-results", 1, "2016-09-25T00:00:00+00:00", (), Library(name), (), ())
    return Measurements((Launch(header, tuple(records)),))


def extended_seconds(size: float, pairs: int) -> float:
    """Return the time of Eq 4 with Table 1, rendezvous."""
    return float(maxrate.extended_time(size, pairs, *TABLE_1["rendezvous"].values()))


def printed_models() -> Iterator[Row]:
    """Yield what the paper's own parameters give."""
    rate = float(5.9e9 / postal.time(5.9e9, 1.6e-6, 1.7e-10))
    yield Row(
        "Section 2.1",
        "rate of large messages, α 1.6 us, β 1.7e-10 s/B",
        "5.9 GB/s",
        format_rate(rate),
        off(rate, 5.9e9),
        "`models.postal.time`",
    )
    for pairs, printed in ((1, 3.6e9), (2, 4.21e9), (4, 5.43e9), (5, 5.5e9), (16, 5.5e9)):
        rate = pairs * LARGE / extended_seconds(LARGE, pairs)
        yield Row(
            "Table 1, Figure 1",
            f"rate of {pairs} pair{'s' * (pairs > 1)}, rendezvous, by Eq 4",
            format_rate(printed),
            format_rate(rate),
            off(rate, printed),
            "`models.maxrate.extended_time`",
        )
    best = float(maxrate.best_process_count(5.5e9, 3.6e9))
    yield Row(
        "Section 5",
        "processes of a node that should send, R_N / R_C",
        "5.5 / 3.6 = 1.53",
        f"{best:.2f}",
        off(best, 5.5 / 3.6),
        "`optimize.communicating_processes`",
    )
    sizes, senders = np.meshgrid(2.0 ** np.arange(25), np.arange(1, 17))
    apart = maxrate.time(sizes, senders, 2e-5, 5.5e9, 3.6e9) - maxrate.latency_aware_time(
        sizes, senders, 2e-5, 5.5e9, 3.6e9
    )
    yield Row(
        "Figure 5, Eq 5",
        "Eq 3 less Eq 5, all sizes to 16 MiB, 1 to 16 pairs",
        "between 0 and α",
        f"{apart.min() / 2e-5:.2f} α to {apart.max() / 2e-5:.2f} α",
        "holds" if 0 <= apart.min() <= apart.max() <= 2e-5 * (1 + 1e-9) else "fails",
        "`models.maxrate.latency_aware_time`",
    )


def made_fits() -> Iterator[Row]:
    """Yield what a fit finds in data made of Table 1."""
    measurements = measurements_of("made of Table 1", made_times(1))
    fitted = fit_machine(measurements, limits=(), settings=SETTINGS)
    extended = fitted.segments[0].extended
    assert extended is not None  # noqa: S101
    for name in ("alpha", "R_N", "R_Cb", "R_Ci"):
        value, printed = getattr(extended, name).value, TABLE_1["rendezvous"][name]
        text = (
            (f"{1e6 * value:.3g} us", f"{1e6 * printed:.3g} us")
            if name == "alpha"
            else (format_rate(value), format_rate(printed))
        )
        yield Row(
            "Table 1",
            f"{name}, rendezvous: fitted to data made of it, 5 % noise",
            text[1],
            text[0],
            off(value, printed),
            '`fit.fit_machine(..., loss="paper")`',
        )
    sums = error_sums(measurements, fitted, SETTINGS)[0].sums
    ratio = [sums[model] / sums["extended"] for model in MODELS]
    printed = [value / TABLE_2["rendezvous"][0] for value in TABLE_2["rendezvous"]]
    yield Row(
        "Table 2",
        f"errors over those of the extended model: {', '.join(MODELS[1:])}; data made of Table 1",
        ", ".join(f"{value:.3g}" for value in printed[1:]),
        ", ".join(f"{value:.3g}" for value in ratio[1:]),
        "the same order" if _order(ratio) == _order(printed) else "another order",
        "`fit.model_errors.error_sums`",
    )


def _order(values: list[float]) -> bool:
    """Whether the extended model is best, max-rate next, and every postal model worse."""
    return values[0] <= values[1] < min(values[2:])


def measured_fits(repository: Path) -> Iterator[Row]:
    """Yield fits of ping-pongs that others measured on Blue Waters, in 2018."""
    launches = tables(formats.load(repository / "bw_output" / "orig" / "max_rate"))
    measurements = measurements_of("Blue Waters", medians(launches))
    fitted = fit_machine(measurements, limits=LIMITS, settings=SETTINGS)
    by = f"`fit.fit_machine`, medians of {len(launches)} launches"
    for segment in fitted.segments:
        extended, table = segment.extended, TABLE_1[segment.protocol]
        assert extended is not None  # noqa: S101
        fit = {name: getattr(extended, name).value for name in table}
        yield Row(
            "Table 1",
            f"α, R_N, R_Cb, R_Ci, {segment.protocol}: other measurements of the same machine",
            _parameters(table),
            _parameters(fit),
            "other nodes, another year; limits of 500 and 8000 B in place of 32 and 1024",
            by,
        )
    for row in error_sums(measurements, fitted, SETTINGS):
        printed = [value / TABLE_2[row.protocol][0] for value in TABLE_2[row.protocol]]
        ratio = [row.sums[model] / row.sums["extended"] for model in MODELS]
        yield Row(
            "Table 2",
            f"errors over those of the extended model, {row.protocol}: {', '.join(MODELS[1:])}",
            ", ".join(f"{value:.3g}" for value in printed[1:]),
            ", ".join(f"{value:.3g}" for value in ratio[1:]),
            "the same order" if _order(ratio) == _order(printed) else "another order",
            by,
        )
    yield from _largest_errors(fitted, by)


def _parameters(values: dict[str, float]) -> str:
    rates = (_rate(value) for name, value in values.items() if name != "alpha")
    return ", ".join([f"{1e6 * values['alpha']:.3g} us", *rates])


def _rate(value: float) -> str:
    return "∞" if math.isinf(value) else format_rate(value) if value >= 0 else f"-{format_rate(-value)}"


def _largest_errors(fitted: Machine, by: str) -> Iterator[Row]:
    for name, printed in FIGURE_2.items():
        errors = [getattr(segment, name).quality.relative_error_max for segment in fitted.segments]
        yield Row(
            "Figure 2",
            f"largest relative error of {name.replace('_', '-')}, all phases",
            f"{printed:.0%}",
            f"{max(errors):.0%}",
            off(max(errors), printed),
            by,
        )
    k = communicating_processes(fitted, 1 << 20)
    yield Row(
        "Section 5",
        "processes of a node that should send 1 MiB",
        "R_N / R_C, 2 by Table 1",
        f"{k}",
        "the same" if k == 2 else "differs",
        by,
    )


def paper(folder: Path | None) -> Paper:
    """Return the rows: with the folder of public repositories, those of measurements, too."""
    rows = [*printed_models(), *made_fits()]
    gaps = [
        Gap(
            "Figure 1a",
            "its measurements are drawn, not printed",
            "other measurements of the same machine, above; "
            "on yours: `mpiexec -n 32 --map-by ppr:16:node python -m commmodel.bench pairs`, `fit`, `report`",
        ),
        Gap(
            "Figures 3, 4, 6",
            "Taub, Mira and the Cisco cluster are gone, and no numbers are printed",
            "the same command on your cluster",
        ),
        Gap(
            "Figure 7",
            "the Cisco cluster's eager limit, 25,548 B, is of its MPI library's settings",
            "`python -m commmodel.bench threshold` finds yours to the byte",
        ),
    ]
    repository = folder and folder / "BlueWatersModel"
    if repository and repository.is_dir():
        rows += measured_fits(repository)
    else:
        gaps.append(Gap("Tables 1 and 2 from measurements", "FOLDER has no clone of bienz2/BlueWatersModel", ""))
    return Paper("Gropp, Olson, Samfass 2016: max-rate", rows, gaps)
