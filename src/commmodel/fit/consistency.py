"""Agreement of LogGP from trains, LogGP from pLogP, and the ping-pong. Main entry: `consistency`.

LogGP is fitted to trains, and again derived from pLogP's table; a message's time by either is compared with the half
round trips of a ping-pong, which neither has seen: T = L + 2 o + (m − 1) G, and T = L + g(m).
"""

from typing import NamedTuple

import numpy as np

from commmodel.fit.plogp import as_loggp
from commmodel.fit.points import NO_POINTS, between, collect
from commmodel.machine import LogGP, Machine
from commmodel.results import Measurements


class Agreement(NamedTuple):
    """Parameters of one segment from trains and from pLogP, and the error of each against the ping-pong."""

    protocol: str
    path: str
    trains: LogGP | None
    plogp: LogGP | None
    points: int
    """Sizes that the ping-pong measured in the segment."""
    errors: dict[str, float]
    """Mean of |T_model − T| / T by name of the model."""


def consistency(measurements: Measurements, machine: Machine) -> list[Agreement]:
    """Return a row for each segment that has LogGP parameters from trains or from pLogP."""
    rows = []
    measured = collect(measurements)
    tables = {table.path: table for table in machine.plogp}
    below: dict[str, float] = {}
    for segment in machine.segments:
        upto = np.inf if segment.limit is None else float(segment.limit.value)
        begin, below[segment.path] = below.get(segment.path, -1.0), upto
        table = tables.get(segment.path)
        trains = segment.loggp if segment.loggp is not None and segment.loggp.quality is not None else None
        derived = None if table is None else as_loggp(table, begin, upto)
        if trains is None and derived is None:
            continue
        points = between(measured.get(segment.path, NO_POINTS), begin, upto)
        points = points.where(points.pairs == 1)
        size, errors = points.message_size.astype(float), {}
        for name, model in (("LogGP of trains", trains), ("LogGP of pLogP", derived)):
            if model is not None and model.G is not None and len(points):
                times = model.L.value + 2 * model.o.value + np.maximum(size - 1, 0) * model.G.value
                errors[name] = float(np.abs(times / points.seconds - 1).mean())
        if table is not None and len(points):
            times = table.L.value + table.at("g", size)
            errors["pLogP"] = float(np.abs(times / points.seconds - 1).mean())
        rows.append(Agreement(segment.protocol, segment.path, trains, derived, len(points), errors))
    return rows
