"""Measurements as a table of the same points for all functions, the content of interchange formats.

What is no parameter of the table goes into the function's name, `results.with_labels`. Main entry: `tabulate`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from commmodel.errors import InputError, choice_of
from commmodel.formats.extrap import written_metric
from commmodel.results import Measurements, Record, describe, with_labels
from commmodel.results.configurations import Function, Queue
from commmodel.results.parameters import METRICS

Point = tuple[float, ...]
MOST_PARAMETERS = 4
"""Of a table: what Extra-P reads of its text format."""
_MOST_TRIED = 6
"""Parameters of which all choices are tried."""


class Row(NamedTuple):
    """One function and metric."""

    callpath: str
    metric: str
    samples: dict[Point, list[float]]


class SampleTable(NamedTuple):
    """Rows measured at the same points."""

    parameters: tuple[str, ...]
    points: tuple[Point, ...]
    rows: tuple[Row, ...]


class LeftOut:
    """Names of what could not be written, by reason."""

    def __init__(self) -> None:
        """Begin empty."""
        self._names: dict[str, dict[str, None]] = defaultdict(dict)

    def add(self, reason: str, name: str) -> None:
        """Add the name of something left out."""
        self._names[reason][name if name.isprintable() else ascii(name)] = None

    def notes(self) -> tuple[str, ...]:
        """Return a line for each reason."""
        return tuple(
            f"not written: {', '.join([*names][:4])}{f' and {len(names) - 4} more' if len(names) > 4 else ''}: {reason}"
            for reason, names in self._names.items()
        )


class _Entry(NamedTuple):
    """A record and its description."""

    record: Record
    launch: int
    name: str
    metric: str
    parameters: dict[str, float | str]

    @property
    def numbers(self) -> dict[str, float]:
        return {name: value for name, value in self.parameters.items() if isinstance(value, float)}


def _entries(measurements: Measurements, left_out: LeftOut) -> Iterator[_Entry]:
    for number, launch in enumerate(measurements.launches):
        for record in launch.records:
            name, metric, parameters = describe(record.configuration)
            metric = metric or METRICS[record.unit]
            entry = _Entry(record, number, name, metric, parameters)
            if isinstance(record.configuration, Queue):
                left_out.add("its samples are no repetitions, but one initiation after the other", name)
            elif not entry.numbers:
                left_out.add("it depends on no number", name)
            else:
                yield entry


class _Grouped(NamedTuple):
    """Series over some parameters."""

    series: dict[tuple[str, str, str, tuple[tuple[str, float | str], ...]], dict[Point, list[float]]]
    points: frozenset[Point]
    """At which most of the series were measured."""

    @property
    def incomplete(self) -> int:
        return sum(samples.keys() != self.points for samples in self.series.values())


def _grouped(entries: Sequence[_Entry], over: Sequence[str]) -> _Grouped:
    series: dict[tuple[str, str, str, tuple[tuple[str, float | str], ...]], dict[Point, list[float]]] = {}
    for entry in entries:
        numbers = entry.numbers
        fixed = tuple((name, value) for name, value in entry.parameters.items() if name not in over)
        samples = series.setdefault((entry.name, entry.metric, entry.record.unit, fixed), {})
        samples.setdefault(tuple(numbers[name] for name in over), []).extend(map(float, entry.record.samples))
    counted = Counter(frozenset(samples) for samples in series.values())
    points = max(counted, key=lambda point: (counted[point], len(point)))
    return _Grouped(series, points)


def _choices(entries: Sequence[_Entry]) -> Iterator[tuple[str, ...]]:
    """Yield the possible parameters of a table: numbers that all records have and that vary."""
    names = {name for entry in entries for name in entry.numbers}
    values_of = {name: {entry.numbers.get(name) for entry in entries} for name in sorted(names)}
    everywhere = {name: values for name, values in values_of.items() if None not in values}
    varying = [name for name, values in everywhere.items() if len(values) > 1]
    # There is no logarithm of 0, so that no model of such a parameter comes of it.
    varying = [name for name in varying if 0.0 not in everywhere[name]] or varying
    for count in range(min(len(varying), MOST_PARAMETERS), 0, -1):
        yield from combinations(varying[:_MOST_TRIED], count)
    if all(len(values) == 1 for values in values_of.values()):
        yield tuple(everywhere)[:MOST_PARAMETERS]


def _chosen(entries: Sequence[_Entry]) -> tuple[str, ...]:
    """Return the parameters that leave out the fewest series; among these, the most parameters."""
    choices = [*_choices(entries)]
    if not choices:
        names = sorted({name for entry in entries for name in entry.numbers})
        raise InputError(f"no parameter that all have and that varies: choose with `over` among {', '.join(names)}")
    return min(choices, key=lambda over: (_grouped(entries, over).incomplete, -len(over)))


def _with_all(entries: Sequence[_Entry], over: Sequence[str], left_out: LeftOut) -> list[_Entry]:
    if not over or len(set(over)) < len(over):
        raise InputError(f"`over`: name one parameter at least, and each once, not {', '.join(over) or 'none'}")
    names = {name for entry in entries for name in entry.numbers}
    for name in over:
        if name not in names:
            raise InputError(f"`over`: nothing was measured over {name!r}: {choice_of(name, sorted(names))}")
    complete = []
    for entry in entries:
        if missing := [name for name in over if name not in entry.numbers]:
            left_out.add(f"it does not depend on {', '.join(missing)}", entry.name)
        else:
            complete.append(entry)
    if not complete:
        raise InputError(f"`over`: nothing was measured over {' and '.join(over)} together: name fewer")
    return complete


def _row(
    name: str, metric: str, unit: str, fixed: tuple[tuple[str, float | str], ...], over: Sequence[str]
) -> tuple[str, str] | None:
    """Return call path and metric of a series; None where reading could not restore it."""
    callpath = with_labels(name, fixed)
    again = describe(Function(callpath, metric, tuple((parameter, 1.0) for parameter in over)))
    numbers = {**dict(fixed), **dict.fromkeys(over, 1.0)}
    return (callpath, written_metric(metric, unit)) if again == (name, metric, numbers) else None  # type: ignore[arg-type]


def tabulate(measurements: Measurements, over: Sequence[str] | None, left_out: LeftOut) -> tuple[SampleTable, bool]:
    """Return a table, and whether its values join several launches; the rest is added to `left_out`.

    `over` names its parameters; None: of those that everything depends on, that choice with which the fewest series are
    left out. `InputError` where nothing is left to write, or `over` names what nothing depends on.
    """
    entries = [*_entries(measurements, left_out)]
    if not entries:
        raise InputError("; ".join(left_out.notes()) or "no measurements to write: name a file that has some")
    if over is None:
        over = _chosen(entries)
    else:
        entries = _with_all(entries, over, left_out)
    grouped = _grouped(entries, over)
    rows = []
    for (name, metric, unit, fixed), samples in grouped.series.items():
        words = _row(name, metric, unit, fixed, over)
        if samples.keys() != grouped.points:
            left_out.add(
                f"measured at other points of {', '.join(over)} than most others; Extra-P wants the same points"
                " for all: write it to a file of its own, or choose other parameters",
                with_labels(name, fixed),
            )
        elif words is None:
            left_out.add("its name would be read as name and parameters: rename it", with_labels(name, fixed))
        else:
            rows.append(Row(*words, samples))
    launches = defaultdict(set)
    for entry in entries:
        launches[entry.name, tuple(entry.parameters.items())].add(entry.launch)
    table = SampleTable(tuple(over), tuple(sorted(grouped.points)), tuple(rows))
    return table, any(len(group) > 1 for group in launches.values())
