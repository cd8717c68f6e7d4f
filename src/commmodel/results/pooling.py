"""Pooling of many records of one configuration into few. Main entry: `pool`.

Fits and reports take time and memory for each record. What launches without number add to each other is a narrower
interval, which their samples give as well when they lie together in fewer records.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from commmodel.arguments import Count
from commmodel.results.configurations import (
    Bandwidth,
    Burst,
    Clocks,
    Collective,
    Configuration,
    Halo,
    Local,
    Pairs,
    Ping,
    PingPong,
    PLogPParameter,
    Stream,
    Train,
)
from commmodel.results.records import Launch, Measurements, Record
from commmodel.results.visits import as_one
from commmodel.signatures import checked

MOST_REPEATS = 40
"""Records of one configuration that are kept apart."""
PLAIN = PingPong | Pairs | Stream | Ping | Train | PLogPParameter
"""What is pooled for fits: times that hang on nothing else."""
TABLED = PLAIN | Bandwidth | Burst | Clocks | Collective | Halo | Local
"""What is pooled for tables and plots; models over a scale need the launches apart."""


class _Pooled(Record, frozen=True, kw_only=True):
    """A record with the samples of several."""

    stops: dict[str, int]
    """Why they ended -> how many."""


def stops(record: Record) -> dict[str, int]:
    """Return why a record ended, or those of which it was pooled: reason -> number of records."""
    return record.stops if isinstance(record, _Pooled) else {record.stop: 1}


def _pooled(records: Sequence[Record]) -> Record:
    if len(records) == 1:
        return records[0]
    joined, ended = as_one(records), Counter[str]()
    for record in records:
        ended.update(stops(record))
    return _Pooled(**{name: getattr(joined, name) for name in Record.__struct_fields__}, stops=ended)


def _groups(measurements: Measurements, kinds: Any) -> list[int]:
    """Return the group of each record; −1 for one that is not pooled."""
    of_object: dict[int, int] = {}  # objects that live on are looked up faster than they are hashed
    configurations: dict[Configuration, int] = {}
    numbers: dict[tuple[int, str, int], int] = {}
    groups = []
    for record in measurements.records:
        configuration = record.configuration
        if not isinstance(configuration, kinds) or record.ranks is not None:
            groups.append(-1)
            continue
        key = of_object.get(id(configuration))
        if key is None:
            key = of_object[id(configuration)] = configurations.setdefault(configuration, len(configurations))
        groups.append(numbers.setdefault((key, record.unit, record.batch), len(numbers)))
    return groups


@checked
def pool(measurements: Measurements, most: Count = MOST_REPEATS, kinds: Any = PLAIN) -> Measurements:
    """Return measurements with at most `most` records per configuration of some kinds.

    Parameters
    ----------
    measurements : Measurements
        Any; where nothing is repeated more often they come back as they are.
    most : int
        Records of one configuration, ≥ 1.
    kinds : union of struct types
        By default those of `PLAIN`, of which models are fitted.

    Returns
    -------
    Measurements
        Records that follow each other are pooled: one with the samples of all, in the launch of the first. A note says
        how many there were.

    Examples
    --------
    >>> from commmodel.results import Header, Library
    >>> records = tuple(Record(PingPong(8, "same-node"), "s", (float(time),)) for time in range(1, 7))
    >>> header = Header("commmodel-results", 1, "2026-01-01", (), Library("MPICH"), (), ())
    >>> [record.samples for record in pool(Measurements((Launch(header, records),)), 2).records]
    [(1.0, 2.0, 3.0), (4.0, 5.0, 6.0)]
    """
    groups = _groups(measurements, kinds)
    counts = Counter(groups)
    del counts[-1]
    if max(counts.values(), default=0) <= most:
        return measurements
    members: dict[tuple[int, int], list[Record]] = {}
    passed: Counter[int] = Counter()
    launches: list[list[Record | list[Record]]] = []
    following = iter(groups)
    for launch in measurements.launches:
        launches.append([])
        for record in launch.records:
            group = next(following)
            count = counts[group]
            if count <= most:  # and what may not be pooled
                launches[-1].append(record)
                continue
            part = group, passed[group] * most // count
            passed[group] += 1
            if part in members:
                members[part].append(record)
            else:
                members[part] = [record]
                launches[-1].append(members[part])
    result = tuple(
        Launch(launch.header, tuple(_pooled(part) if isinstance(part, list) else part for part in parts))
        for launch, parts in zip(measurements.launches, launches, strict=True)
    )
    many = sum(count for count in counts.values() if count > most)
    note = (
        f"{many} records of {sum(count > most for count in counts.values())} configurations, each measured more than "
        f"{most} times, are taken as {most} records each, with the samples of all"
    )
    return Measurements(result, (*measurements.notes, note))
