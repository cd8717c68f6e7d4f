"""Measurements as series over one parameter, the form in which expectations are checked. Main entry: `series_over`."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from commmodel.arrays import Array
from commmodel.results import Measurements, describe
from commmodel.results.configurations import Function
from commmodel.results.parameters import METRICS
from commmodel.signatures import check_fields, checked
from commmodel.values import Value

Fixed = tuple[tuple[str, float | str], ...]
Key = tuple[str, str, str, Fixed]
"""Name, metric, parameter and the others: what tells series apart."""


@dataclass(frozen=True)
class Series(Value):
    """Measurements of a function over one parameter, all other parameters fixed.

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
        The others, such as ``("n", 1024.0)`` and ``("start", "round-time")``: numbers before words, both in
        alphabetical order.
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

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def key(self) -> Key:
        """What tells it from others."""
        return self.name, self.metric, self.over, self.fixed

    def at_scales(self, is_kept: Callable[[float], bool]) -> "Series":
        """Return the series at some of its scales."""
        members = [(scale, values) for scale, values in zip(self.scales, self.samples, strict=True) if is_kept(scale)]
        return replace(
            self, scales=tuple(scale for scale, _ in members), samples=tuple(values for _, values in members)
        )


def growth_parameters(measurements: Measurements) -> Iterator[str]:
    """Yield the parameters over which growth is looked for: `p`, and those of functions that other programs measured.

    Of a benchmark suite's tests `p` alone: over the message size, times have several parts, as those of our kernels.
    """
    for launch in measurements.launches:
        is_of_suite = launch.header.options is None and bool(launch.header.versions)
        for record in launch.records:
            if isinstance(record.configuration, Function) and not is_of_suite:
                yield from (name for name, _ in record.configuration.parameters)
            else:
                yield "p"


def _thinned(launches: list[Array]) -> Array:
    shortest = min(len(launch) for launch in launches)
    at = (np.arange(shortest) + 0.5) / shortest
    return np.array([launch if len(launch) == shortest else np.quantile(launch, at) for launch in launches])


@checked
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
    >>> from commmodel.results.configurations import Collective
    >>> records = tuple(Record(Collective("bcast", 8, p), "s", (1e-6 * p, 2e-6 * p)) for p in (4, 2))
    >>> header = Header("commmodel-results", 1, "", (), Library("MPI"), (), ())
    >>> (found,) = series_over(Measurements((Launch(header, records),)))
    >>> found.name, found.metric, found.fixed, found.scales, found.samples[1].shape
    ('bcast', 'time', (('n', 8.0), ('start', 'barrier')), (2.0, 4.0), (1, 2))
    """
    grouped: dict[tuple[str, str, str, Fixed], dict[float, dict[int, list[float]]]] = {}
    for number, launch in enumerate(measurements.launches):
        for record in launch.records:
            name, metric, parameters = describe(record.configuration)
            scale = parameters.pop(over, None)
            if not isinstance(scale, float):
                continue
            key = name, metric or METRICS[record.unit], record.unit, tuple(parameters.items())
            scales = grouped.setdefault(key, defaultdict(lambda: defaultdict(list)))
            scales[scale][number].extend(record.samples)
    for (name, metric, unit, fixed), scales in grouped.items():
        ordered = sorted(scales)
        samples = tuple(_thinned([np.array(values) for values in scales[scale].values()]) for scale in ordered)
        yield Series(name, metric, unit, over, fixed, tuple(ordered), samples)
