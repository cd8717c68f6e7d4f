"""The table of recorded calls: what each call of MPI is called in a log and which fields are recorded of it.

The table itself is ``_core/record/calls.toml``. The build reads it through this module, too, which therefore imports
nothing of commmodel. Main entries: `CALLS`, `FINGERPRINTS`.
"""

import tomllib
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

_TABLE = Path(__file__).parents[1] / "_core/record/calls.toml"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of MPI in the table.

    Attributes
    ----------
    name : str
        As in C, like ``MPI_Send``; ``MPI_Send_c`` is the same call.
    code : int
        Its number in a log.
    group : str
        Kind of call, like ``point-to-point`` or ``collective``.
    parameters : tuple of str
        Those of the C function, in order.
    fields : tuple of str
        What a log holds of it, in order.
    since : int
        Number of the first table that has it.
    """

    name: str
    code: int
    group: str
    parameters: tuple[str, ...]
    fields: tuple[str, ...]
    since: int = 1


def _read() -> tuple[Call, ...]:
    rows = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["calls"]
    return tuple(
        Call(**row | {"parameters": tuple(row["parameters"].split()), "fields": tuple(row["fields"].split())})
        for row in rows
    )


def fingerprint(calls: tuple[Call, ...]) -> int:
    """64-bit FNV-1a hash of a line ``name:code:fields`` for each call: a log that has another is of another table.

    >>> f"{fingerprint((Call('MPI_Barrier', 64, 'collective', ('comm',), ('communicator',)),)):016x}"
    'da71c4d8da9a76f4'
    """
    text = "".join(f"{call.name}:{call.code}:{' '.join(call.fields)}\n" for call in calls)
    return reduce(lambda value, byte: (value ^ byte) * 0x100000001B3 % 2**64, text.encode(), 0xCBF29CE484222325)


CALLS = _read()
"""All recorded calls, in the order of the table."""
FINGERPRINTS = tuple(
    fingerprint(tuple(call for call in CALLS if call.since <= table))
    for table in range(1, max(call.since for call in CALLS) + 1)
)
"""Of each table that there has been; the last one stands in the header of each log that is written."""
