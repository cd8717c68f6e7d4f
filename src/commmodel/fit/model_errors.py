"""Errors of all models on the same points: the sums of relative errors of Gropp 2016, Table 2.

The postal model is there three times, as the paper has it: fitted to one pair, as a ping-pong would, to the most pairs,
and to all. Main entry: `error_sums`.
"""

from typing import NamedTuple

import numpy as np

from commmodel.fit.points import between, collect
from commmodel.fit.segment import FitSettings, postal_times
from commmodel.machine import Machine
from commmodel.results import Measurements


class ErrorSums(NamedTuple):
    """Σ |T_model − T| / T over all points of a segment, by model."""

    protocol: str
    path: str
    points: int
    sums: dict[str, float]


def error_sums(measurements: Measurements, machine: Machine, settings: FitSettings | None = None) -> list[ErrorSums]:
    """Return a row for each segment with several numbers of pairs.

    The machine must have been fitted to these measurements, with these settings.
    """
    settings = settings or FitSettings()
    rows = []
    points_of = collect(measurements)
    below: dict[str, float] = {}
    for segment in machine.segments:
        upto = np.inf if segment.limit is None else float(segment.limit.value)
        points = points_of.get(segment.path)
        begin, below[segment.path] = below.get(segment.path, -1.0), upto
        if points is None:
            continue
        points = between(points, begin, upto)
        if np.unique(points.pairs).size < 2:
            continue
        models = {"extended": segment.extended, "max-rate": segment.max_rate, "latency-aware": segment.latency_aware}
        sums = {name: model.quality.relative_error_sum for name, model in models.items() if model and model.quality}
        most = int(points.pairs.max())
        variants: tuple[tuple[str, int | None], ...] = (("1 pair", 1), (f"{most} pairs", most), ("all", None))
        for name, pairs in variants:
            times = postal_times(points, pairs, settings)
            if times is not None:
                sums[f"postal, {name}"] = float(np.abs(times / points.seconds - 1).sum())
        rows.append(ErrorSums(segment.protocol, segment.path, len(points), sums))
    return rows
