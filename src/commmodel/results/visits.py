"""Several visits to a configuration within a launch, joined. Main entries: `join_visits`, `visit_samples`.

A disturbance of some milliseconds takes a whole record where a configuration is measured at once. Where the plan is
gone through several times, it takes one visit, and the others tell.
"""

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from commmodel.results.configurations import Configuration
from commmodel.results.records import Record

STOPS = ("found", "interval", "repetitions", "time")
"""Why records end, the worst last."""


def as_one(records: Sequence[Record]) -> Record:
    """Return one record with the samples of several records of one configuration."""
    if len(records) == 1:
        return records[0]
    delays = [record.delay for record in records if record.delay is not None]
    fastest = [record.fastest for record in records if record.fastest is not None]
    return msgspec.structs.replace(
        records[0],
        delay=_median(delays) if delays else None,
        fastest=tuple(sample for samples in fastest for sample in samples) if fastest else None,
        samples=tuple(sample for record in records for sample in record.samples),
        visits=tuple(visit for record in records for visit in record.visits),
        stop=max((record.stop for record in records), key=STOPS.index),
        duration=sum(record.duration for record in records),
    )


def _median(numbers: Sequence[float]) -> float:
    """Return the median; the middle of two numbers of any size does not overflow."""
    ascending = sorted(numbers)
    low, high = ascending[(len(ascending) - 1) // 2], ascending[len(ascending) // 2]
    return low + (high - low) / 2


def join_visits(records: Iterable[Record]) -> tuple[Record, ...]:
    """Return records with the visits of each configuration joined, in the order of the first visits.

    Examples
    --------
    >>> from commmodel.results.configurations import PingPong
    >>> visits = [Record(PingPong(8, "same-node"), "s", (time,), visits=(1,)) for time in (1e-6, 3e-6)]
    >>> [(record.samples, record.visits) for record in join_visits(visits)]
    [((1e-06, 3e-06), (1, 1))]
    """
    records = tuple(records)
    if not any(record.visits for record in records):  # a million of them take no list each
        return records
    parts: list[list[Record]] = []
    of: dict[Configuration, list[Record]] = {}
    for record in records:
        if record.visits and record.configuration in of:
            of[record.configuration].append(record)
            continue
        parts.append([record])
        if record.visits:
            of[record.configuration] = parts[-1]
    return tuple(map(as_one, parts))


def visit_samples(record: Record) -> list[tuple[float, ...]]:
    """Return the samples of each visit; all together where the record does not tell visits apart.

    >>> from commmodel.results.configurations import PingPong
    >>> visit_samples(Record(PingPong(8, "same-node"), "s", (1.0, 1.1, 9.0, 1.2), visits=(2, 1, 1)))
    [(1.0, 1.1), (9.0,), (1.2,)]
    """
    if len(record.visits) < 2 or sum(record.visits) != len(record.samples):
        return [record.samples]
    ends = np.cumsum(record.visits).tolist()
    return [record.samples[end - count : end] for end, count in zip(ends, record.visits, strict=True)]
