"""Distinct launches, however often they were read. Main entries: `without_duplicates` and `whole_launches`."""

from collections.abc import Sequence

import msgspec

from commmodel.results.configurations import Configuration
from commmodel.results.records import Header, Launch, Measurements, Record

_encoder = msgspec.json.Encoder(order="deterministic")


def without_duplicates(parts: Sequence[tuple[str, Measurements]]) -> Measurements:
    """Return several files as one, without duplicate launches.

    A launch is known by its header, in which the benchmark writes a number that no other launch has. Of two with the
    same header, one that has no record of its own is left out. Older headers, and those of other programs, may be the
    same by chance: there the records decide alone.

    Parameters
    ----------
    parts : sequence of (str, Measurements)
        Names of files and what is in them, in order.

    Examples
    --------
    >>> from commmodel.results import Header, Library
    >>> from commmodel.results.configurations import PingPong
    >>> header = Header("commmodel-results", 1, "2026-01-01", (), Library("MPI"), (), ())
    >>> launch = Launch(header, (Record(PingPong(8, "same-node"), "s", (1e-6,)),))
    >>> found = without_duplicates([("a.jsonl", Measurements((launch,))), ("all.jsonl", Measurements((launch,)))])
    >>> len(found.launches), found.notes
    (1, ('1 launch (1 record) of all.jsonl is in a.jsonl as well: counted once',))
    """
    unique: list[Launch] = []
    places: dict[bytes, list[int]] = {}  # header -> numbers in `kept`
    source: list[str] = []
    dropped: list[tuple[str, str, int]] = []  # file, the file that has it as well, records
    for name, measurements in parts:
        for launch in measurements.launches:
            alike = places.setdefault(_encoder.encode(launch.header), [])
            place, merged, lost = _merged(launch, [(number, unique[number]) for number in alike])
            if place is None or not launch.records:
                alike.append(len(unique))
                unique.append(launch)
                source.append(name)
                continue
            unique[place] = merged
            dropped.append((name, source[place], lost))
    notes = [note for _, measurements in parts for note in measurements.notes]
    return Measurements(tuple(unique), (*notes, *([_note(dropped)] if dropped else ())))


def _merged(launch: Launch, earlier: Sequence[tuple[int, Launch]]) -> tuple[int | None, Launch, int]:
    """Return the index of the launch with this header, both as one, and the number of common records."""
    for number, other in earlier:
        new = _without(launch.records, other.records)
        lost = len(launch.records) - len(new)
        if launch.header.launch or not new or len(new) + len(other.records) == len(launch.records):
            return number, Launch(other.header, (*other.records, *new)), lost
    return None, launch, 0


def _without(records: Sequence[Record], earlier: Sequence[Record]) -> list[Record]:
    duplicates = set(earlier)
    return [record for record in records if record not in duplicates]


def _note(dropped: Sequence[tuple[str, str, int]]) -> str:
    launches, records = len(dropped), sum(lost for _, _, lost in dropped)
    files = dict.fromkeys(name for name, _, _ in dropped)
    origins = dict.fromkeys(name for _, name, _ in dropped)
    count = "1 launch" if launches == 1 else f"{launches} launches"
    of_them = "1 record" if records == 1 else f"{records} records"
    verb = "is" if launches == 1 else "are"
    where = "there twice" if files == origins else f"in {', '.join(origins)} as well"
    return f"{count} ({of_them}) of {', '.join(files)} {verb} {where}: counted once"


def whole_launches(measurements: Measurements) -> tuple[Launch, ...]:
    """Return the launches, each with the records of those that resumed it."""
    result: list[Launch] = []
    for launch in measurements.launches:
        if launch.header.resumes and result:
            result[-1] = Launch(result[-1].header, (*result[-1].records, *launch.records))
        else:
            result.append(launch)
    return tuple(result)


def unmeasured(launch: Launch) -> int:
    """Return how many configurations of its plan a whole launch lacks; 0 where the plan is not recorded."""
    measured = len({id(record.configuration) for record in launch.records})  # equal ones of a file are one object
    return max(0, launch.header.planned - measured)


def launch_count(measurements: Measurements) -> int:
    """Return the largest number of launches of a configuration; 1 where none was repeated.

    >>> launch_count(Measurements(()))
    0
    """
    counts: dict[Configuration, int] = {}
    for launch in whole_launches(measurements):
        for configuration in dict.fromkeys(record.configuration for record in launch.records):
            counts[configuration] = counts.get(configuration, 0) + 1
    return max(counts.values(), default=0)


def library_name(header: Header) -> str:
    r"""Return the MPI library's name and version: the first line of what it says of itself.

    >>> from commmodel.results import Library
    >>> library_name(Header("commmodel-results", 1, "", (), Library("MPICH Version:   5.0.2\nMPICH ABI: 18"), (), ()))
    'MPICH Version: 5.0.2'
    """
    lines = header.mpi.version.strip().splitlines()
    return " ".join(lines[0].split()) if lines else "not recorded"
