"""Measurements as series over one parameter: what expectations are held against. Main entry: `series_over`."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commmodel.results import Collective, Configuration, Function, Measurements, Memory

__all__ = ["Series", "series_over"]

Array = NDArray[np.float64]
Fixed = tuple[tuple[str, float | str], ...]

SYMBOLS = {"processes": "p", "message_size": "n", "pairs": "k"}
"""Field of a configuration -> what the parameter is called; all others keep their names."""
_METRICS = {"s": "time", "B": "memory", "1": "count"}


@dataclass(frozen=True)
class Series:
    """One function's measurements over one parameter, all else the same.

    Attributes
    ----------
    name : str
        The function: a collective operation as MPI names it (``bcast``, ``ibcast``), an operation that keeps memory, a
        kernel, or what another program calls it.
    metric : str
        ``time``, ``memory``, ``private memory``, ``pss memory``, ``overlapped time``, or another program's.
    unit : "s", "B" or "1"
    over : str
        The parameter, such as ``p``.
    fixed : tuple of (str, float or str)
        The others, such as ``("n", 1024.0)`` and ``("start", "round-time")``, in the order of the configuration.
    scales : tuple of float
        Values of the parameter, ascending.
    samples : tuple of arrays
        At each scale (launches, repetitions). Launches of different lengths are thinned to the shortest at evenly
        spaced quantiles, so that quartiles stay what they are.
    """

    name: str
    metric: str
    unit: str
    over: str
    fixed: Fixed
    scales: tuple[float, ...]
    samples: tuple[Array, ...]


def _described(configuration: Configuration) -> tuple[str, str, dict[str, float | str]]:
    """Return the name, the metric (empty: what the unit says) and the parameters of a configuration."""
    match configuration:
        case Function(name=name, metric=metric, parameters=parameters):
            return name, metric, dict(parameters)
        case Memory(operation=operation, processes=processes, measure=measure):
            return operation, "memory" if measure == "allocated" else f"{measure} memory", {"p": float(processes)}
    fields = {name: getattr(configuration, name) for name in configuration.__struct_fields__}
    name, metric = str(type(configuration).__struct_config__.tag), ""
    if isinstance(configuration, Collective):
        name, mode = fields.pop("operation"), fields.pop("mode")
        if mode != "blocking":
            name = f"i{name}"
        if mode == "overlapped":
            metric = "overlapped time"
    return (
        name,
        metric,
        {
            SYMBOLS.get(field, field): float(value) if isinstance(value, int | float) else str(value)
            for field, value in fields.items()
        },
    )


def _thinned(launches: list[Array]) -> Array:
    shortest = min(len(launch) for launch in launches)
    at = (np.arange(shortest) + 0.5) / shortest
    return np.array([launch if len(launch) == shortest else np.quantile(launch, at) for launch in launches])


def series_over(measurements: Measurements, over: str = "p") -> Iterator[Series]:
    """Yield each function's measurements over a parameter, in the order in which they first appear.

    Parameters
    ----------
    measurements : Measurements
        Of one launch or several; of a configuration that a launch measured twice, the samples are put together.
    over : str
        The parameter: ``p`` processes, ``n`` message size, ``k`` pairs, another field of the kernels, or a parameter
        of another program. Records without it, or where it is no number, are left out.

    Examples
    --------
    >>> from commmodel.results import Header, Launch, Library, Record
    >>> records = tuple(Record(Collective("bcast", 8, p), "s", (1e-6 * p, 2e-6 * p)) for p in (4, 2))
    >>> header = Header("commmodel-results", 1, "", (), Library("MPI"), (), ())
    >>> (found,) = series_over(Measurements((Launch(header, records),)))
    >>> found.name, found.metric, found.fixed, found.scales, found.samples[1].shape
    ('bcast', 'time', (('n', 8.0), ('start', 'barrier')), (2.0, 4.0), (1, 2))
    """
    found: dict[tuple[str, str, str, Fixed], dict[float, dict[int, list[float]]]] = {}
    for number, launch in enumerate(measurements.launches):
        for record in launch.records:
            name, metric, parameters = _described(record.configuration)
            scale = parameters.pop(over, None)
            if not isinstance(scale, float):
                continue
            key = name, metric or _METRICS[record.unit], record.unit, tuple(parameters.items())
            scales = found.setdefault(key, defaultdict(lambda: defaultdict(list)))
            scales[scale][number].extend(record.samples)
    for (name, metric, unit, fixed), scales in found.items():
        ordered = sorted(scales)
        samples = tuple(_thinned([np.array(one) for one in scales[scale].values()]) for scale in ordered)
        yield Series(name, metric, unit, over, fixed, tuple(ordered), samples)
