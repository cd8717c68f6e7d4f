"""Common parts of Extra-P's two formats: metrics, and values gathered to records.

Both say for each call path and metric what was measured at points of one or several parameters. They have no units:
`metric_and_unit` says which a metric has. Main entries: `FunctionRecords` and `metric_and_unit`.
"""

import re
from collections.abc import Iterable, Sequence
from typing import get_args

from commmodel.choices import Unit
from commmodel.formats.lines import TextLine, launch, shown
from commmodel.results import Measurements, Record
from commmodel.results.configurations import Function

ROOT = "<root>"
"""Name of a function where a file has none, as Extra-P shows it."""
DEFAULT_METRIC = "<default>"

_UNITS: dict[str, Unit] = {f"({unit})": unit for unit in get_args(Unit)}
_TIMES = {"time", "runtime", "walltime", "duration", "seconds", "sec", "s"}
_BYTES = {"bytes", "memory"}
_OTHER_UNITS = {"ms", "us", "ns", "min", "minutes", "hours", "kb", "mb", "gb", "kib", "mib", "gib", "per", "percent"}
_WORDS = re.compile(r"[a-z0-9]+")


def metric_and_unit(name: str) -> tuple[str, Unit]:
    """Return a metric's name without its unit, and the unit.

    A unit that stands behind the name counts. Else a metric whose last word is time (runtime, duration, seconds) is in
    seconds, and one whose last word is memory or bytes, or whose first is bytes, in bytes. All others are plain
    numbers; so are those in other units, which are not converted.

    >>> metric_and_unit("time"), metric_and_unit("bytes_sent"), metric_and_unit("visits")
    (('time', 's'), ('bytes_sent', 'B'), ('visits', '1'))
    >>> metric_and_unit("wait (s)"), metric_and_unit("time in ms"), metric_and_unit("bytes/s")
    (('wait', 's'), ('time in ms', '1'), ('bytes/s', '1'))
    """
    before, _, last = name.rpartition(" ")
    if before.strip() and last in _UNITS:
        return before, _UNITS[last]
    words = _WORDS.findall(name.lower())
    if not words or "/" in name or _OTHER_UNITS & set(words):
        return name, "1"
    if words[-1] in _TIMES:
        return name, "s"
    return name, "B" if words[-1] in _BYTES or words[0] == "bytes" else "1"


def written_metric(metric: str, unit: Unit) -> str:
    """Return the text from which `metric_and_unit` restores both.

    >>> written_metric("time", "s"), written_metric("wait", "s")
    ('time', 'wait (s)')
    """
    return metric if metric_and_unit(metric) == (metric, unit) else f"{metric} ({unit})"


class FunctionRecords:
    """Values of a file, by call path, metric and point, in the order in which they first appear."""

    def __init__(self) -> None:
        """Begin without values."""
        self._samples: dict[tuple[str, str, tuple[tuple[str, float], ...]], list[float]] = {}
        self._names: dict[tuple[str, Unit], str] = {}

    def add(
        self,
        line: TextLine,
        callpath: str,
        metric: str,
        parameters: Sequence[tuple[str, float]],
        values: Iterable[float],
    ) -> None:
        """Add the values of a line; repeated points are further repetitions."""
        metric_unit = metric_and_unit(metric)
        if self._names.setdefault(metric_unit, metric) != metric:
            other = self._names[metric_unit]
            raise line.damaged(f"metric {shown(metric)} is {shown(other)} written otherwise: give both one name")
        self._samples.setdefault((callpath, metric, tuple(parameters)), []).extend(values)

    def measurements(self, notes: Sequence[str] = ()) -> Measurements:
        """Return all values as one launch; no launch where nothing was added."""
        records = []
        for (callpath, metric, parameters), samples in self._samples.items():
            name, unit = metric_and_unit(metric)
            records.append(Record(Function(callpath, name, parameters), unit, tuple(samples)))
        launches = (launch("Extra-P", ("extrap",), records),) if records else ()
        return Measurements(launches, tuple(notes))
