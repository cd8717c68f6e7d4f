"""From measurements to a machine. Main entry: `fit_machine`.

``points`` takes the medians, ``limits`` finds where protocols end, ``segment`` fits each model to what lies between
two limits, with ``least_squares`` and ``bootstrap`` under it.
"""

from collections.abc import Sequence
from importlib.metadata import version

import numpy as np

from commmodel.errors import InputError
from commmodel.fit.limits import Part, find_parts
from commmodel.fit.points import Points, collect
from commmodel.fit.segment import Settings, fit_max_rate_model, fit_postal_model
from commmodel.machine import Machine, Origin, Segment
from commmodel.results import Measurements

__all__ = ["Settings", "fit_machine"]


def fit_machine(
    measurements: Measurements,
    *,
    name: str | None = None,
    limits: Sequence[int] | None = None,
    settings: Settings | None = None,
    results: Sequence[str] = (),
) -> Machine:
    """Fit the postal and the max-rate model to each protocol segment of each path.

    Parameters
    ----------
    measurements : Measurements
        With records of the kernels pingpong or pairs; a record of threshold gives the protocol limit.
    name : str, optional
        Of the machine; the first host's name where left out.
    limits : sequence of int, optional
        Largest message of each protocol but the last, in bytes, instead of what is measured.
    settings : Settings, optional
        Confidence, number of bootstrap samples and seed.
    results : sequence of str, optional
        Names of the files, for the machine's origin.

    Raises
    ------
    InputError
        Where there is nothing to fit.

    Notes
    -----
    Gropp, Olson and Samfass 2016, Section 4.1: Σ rᵢ²/nᵢ is minimised over each segment. The postal model is fitted to
    one pair, as a ping-pong would, the max-rate model to all numbers of pairs.
    """
    settings = settings or Settings()
    libraries = list(dict.fromkeys(launch.header.mpi.version.partition("\n")[0] for launch in measurements.launches))
    if len(libraries) > 1:
        raise InputError(f"different MPI libraries were measured ({'; '.join(libraries)}): fit each on its own")
    segments = []
    for path, points in collect(measurements).items():
        if (points.seconds <= 0).any():
            raise InputError(f"path {path}: a median time is 0: the clock was too coarse, measure with --batch auto")
        segments += _fit_path(path, points, find_parts(measurements, path, points, limits), settings)
    if not any(segment.max_rate for segment in segments):
        raise InputError(
            "no records of the kernels pingpong or pairs with at least two sizes: "
            "measure them with mpiexec -n 2 python -m commmodel.bench"
        )
    header = measurements.launches[0].header
    hosts = tuple(dict.fromkeys(host.name for launch in measurements.launches for host in launch.header.hosts))
    origin = Origin(
        mpi=libraries[0].strip(),
        hosts=hosts,
        results=tuple(results),
        measured=header.created,
        commmodel=version("commmodel"),
        seed=settings.seed,
    )
    fitted = name or (hosts[0] if hosts else "machine")
    return Machine(fitted, tuple(segments), confidence=settings.confidence, origin=origin)


def _fit_path(path: str, points: Points, parts: Sequence[Part], settings: Settings) -> list[Segment]:
    """Fit the segments of one path; one with less than two sizes in it has no models."""
    below = -1
    segments = []
    for protocol, end in parts:
        inside = points.message_size > below
        if end is not None:
            inside &= points.message_size <= end.value
            below = end.value
        part = points.where(np.asarray(inside))
        postal, max_rate = fit_postal_model(part, settings), fit_max_rate_model(part, settings)
        segments.append(Segment(protocol, path, end, postal, max_rate))
    return segments
