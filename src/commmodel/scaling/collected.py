"""What a comparison needs of measurements, in a tenth of their memory. Main entry: `collect`."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from commmodel.arrays import Array
from commmodel.choices import Unit
from commmodel.results import Configuration, Launch, Measurements, whole_launches
from commmodel.values import Value


@dataclass
class Samples:
    """The samples of a configuration, launch after launch: without an object for each of a million."""

    unit: Unit
    numbers: "array[int]" = field(default_factory=lambda: array("q"))
    """Of the launches that have it."""
    ends: "array[int]" = field(default_factory=lambda: array("q"))
    """Of each launch's samples."""
    values: "array[float]" = field(default_factory=lambda: array("d"))

    def add(self, number: int, samples: Sequence[float]) -> None:
        """Add the samples of a record; those of one launch follow each other."""
        self.values.extend(samples)
        if self.numbers and self.numbers[-1] == number:
            self.ends[-1] = len(self.values)
        else:
            self.numbers.append(number)
            self.ends.append(len(self.values))

    @property
    def launches(self) -> list[Array]:
        """The samples of each launch."""
        return np.split(np.asarray(self.values), self.ends[:-1])


@dataclass(frozen=True)
class CollectedSeries(Value):
    """One side of a comparison: what is compared, without the records that it is of.

    Attributes
    ----------
    runs : tuple of Launch
        Without records; those that resumed another are part of it.
    launches : tuple of Launch
        All, without records.
    notes : tuple of str
        Of the reader.
    samples : dict
        Configuration -> its samples.
    identities : frozenset
        Of the launches that have records: equal ones are the same launch.
    """

    runs: tuple[Launch, ...]
    launches: tuple[Launch, ...]
    notes: tuple[str, ...]
    samples: dict[Configuration, Samples]
    identities: frozenset[tuple[int, int]]


def collect(measurements: Measurements) -> CollectedSeries:
    """Return what `differences` compares, so that the records of one side need not stay until the other is read.

    Parameters
    ----------
    measurements : Measurements
        A launch's records of one configuration are joined.
    """
    joined = whole_launches(measurements)
    measured: dict[Configuration, Samples] = {}
    for number, launch in enumerate(joined):
        for record in launch.records:
            if record.configuration not in measured:
                measured[record.configuration] = Samples(record.unit)
            measured[record.configuration].add(number, record.samples)
    bare, all_bare = (
        tuple(Launch(launch.header, ()) for launch in launches) for launches in (joined, measurements.launches)
    )
    identities = frozenset(_identity(launch) for launch in measurements.launches if launch.records)
    return CollectedSeries(bare, all_bare, measurements.notes, measured, identities)


def _identity(launch: Launch) -> tuple[int, int]:
    return hash(msgspec.json.encode(launch.header)), hash(launch.records)
