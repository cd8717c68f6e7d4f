"""The table of run times with noise. Main entries: `noise_table`, `noise_lines`, `noise_title`."""

import numpy as np

from commmodel.report.kit.tables import Table, left, plain_rows, right
from commmodel.simulate.noise import NoiseSpread
from commmodel.units import format_ratio, format_time

_SENTENCES = {
    "amplifies": "It amplifies noise: it ends {factor:.3g} times as much later as a rank has noise.",
    "absorbs": "It absorbs noise: of what a rank has, {share} arrives at its end.",
    "passes on": "It passes noise on: it ends later by what a rank has.",
    "": "None of its operations met any noise.",
}


def noise_title(study: NoiseSpread) -> str:
    """Return what was simulated, where, and by which model."""
    return f"{study.title}, {study.where}, {study.model}"


def noise_table(study: NoiseSpread) -> Table:
    """Return the time without noise and its spread with it, and the noise of ranks."""
    names = "run time", "noise of a rank", "of the rank with the most"
    rows = []
    for name, values in zip(names, (study.seconds, study.rank_noise, study.most_noise), strict=True):
        quiet = format_time(study.quiet) if values is study.seconds else "0"
        rows.append((name, quiet, *(format_time(float(np.quantile(values, share))) for share in (0.5, 0.05, 0.95))))
    columns = (*left("quantity"), *right("without noise", "median", "5 %", "95 %"))
    note = f"Noise of {study.noise}, {study.seeds.size} seeds."
    return Table("", columns, plain_rows(rows), (note,))


def noise_lines(study: NoiseSpread) -> list[str]:
    """Return sentences: how much longer the program takes, and whether it amplifies noise or absorbs it."""
    factor = study.amplification
    verdict = _SENTENCES[study.verdict].format(
        factor=factor, share=format_ratio(max(factor, 0.0)) if study.verdict else ""
    )
    if study.quiet <= 0:
        return [verdict]
    median, low, high = (format_ratio(study.quantile(share) / study.quiet - 1) for share in (0.5, 0.05, 0.95))
    return [f"Noise makes it {median} slower, from {low} to {high} for nine of ten seeds. {verdict}"]
