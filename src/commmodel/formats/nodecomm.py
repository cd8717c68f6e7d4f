"""nodecomm: tables of ping-pongs between two nodes with 1, 2, … k pairs at once.

Source: Gropp, Olson and Samfass, "Modeling MPI Communication Performance on SMP Nodes" (2016), whose measurements
have this form. After the lines ``Pingpong for``, ``master: ...`` and ``partner: ...``, a row is a message size in
integers of four bytes, then the round-trip time in seconds for each number of pairs. Main entry: `parse`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from commmodel.formats.lines import Text, TextLine, launch, passed_over, shown
from commmodel.results import Launch, Measurements, Record
from commmodel.results.configurations import Pairs

_TITLE = re.compile(r"(?P<test>[A-Z][\w -]*) for")
_PARTNERS = re.compile(r"(?P<side>master|partner)\s*:(?P<ranks>.*)")
INTEGER = 4
"""Bytes of the integers in which sizes are given."""
ROUND_TRIP = 2
"""Messages in the time that is given."""


@dataclass
class _NodePairTable:
    """State of reading the table of a pair of nodes."""

    is_read: bool
    ranks: dict[str, tuple[int, ...]] = field(default_factory=dict)
    columns: int = 0
    records: list[Record] = field(default_factory=list)


def recognise(lines: Sequence[str]) -> int:
    """Return the number of the first line that only this suite writes, 0 where there is none."""
    numbers = (
        number
        for number, (line, below) in enumerate(pairwise(lines), 1)
        if _TITLE.fullmatch(line) and _PARTNERS.match(below)
    )
    return next(numbers, 0)


def _set_ranks(line: TextLine, match: re.Match[str], table: _NodePairTable) -> None:
    words = match["ranks"].replace(",", " ").split()
    ranks = tuple(line.whole(word, f"rank of a {match['side']}") for word in words)
    if match["side"] == "partner" and len(ranks) != len(table.ranks.get("master", ())):
        masters = len(table.ranks.get("master", ()))
        raise line.damaged(f"{len(ranks)} partners of {masters} masters; restore both lines")
    table.ranks[match["side"]] = ranks
    table.columns = len(ranks)


def _row(line: TextLine, table: _NodePairTable, notes: list[str]) -> None:
    words = line.content.split()
    size = INTEGER * line.whole(words[0], "message size in integers")
    if not table.columns:
        raise line.damaged("a row stands before the lines master and partner; restore them")
    if len(words) - 1 != table.columns:
        raise line.damaged(f"{len(words) - 1} times for {table.columns} pairs; restore the line")
    for pairs, word in enumerate(words[1:], start=1):
        seconds = line.real(word, f"round-trip time of {pairs} pairs") / ROUND_TRIP
        if seconds == 0:
            notes.append(line.note(f"{size} B on {pairs} pairs is left out: its time is 0"))
        else:
            table.records.append(line.record(Pairs(size, pairs, "any", 1), seconds))


def _close(table: _NodePairTable) -> Launch:
    pairs = tuple(zip(table.ranks["master"], table.ranks["partner"], strict=True)) if len(table.ranks) == 2 else ()
    return launch("nodecomm", ("nodecomm",), table.records, versions={"nodecomm": "unknown"}, placement={"any": pairs})


def parse(text: Text) -> Measurements:
    """Return the measurements, a launch per table."""
    tables: list[_NodePairTable] = []
    notes: list[str] = []
    foreign: list[TextLine] = []
    for line in text.numbered():
        if title := _TITLE.fullmatch(line.content):
            tables.append(_NodePairTable(title["test"] == "Pingpong"))
            if not tables[-1].is_read:
                notes.append(line.note(f"the test {shown(title['test'])} is left out: only Pingpong is read"))
        elif not tables or not tables[-1].is_read or not line.content:
            continue  # what a launcher or a job script wrote before, and tables that are not taken
        elif match := _PARTNERS.fullmatch(line.content):
            _set_ranks(line, match, tables[-1])
        elif not line.content.startswith("#") and line.is_row():
            _row(line, tables[-1], notes)
        elif not line.content.startswith("#"):
            foreign.append(line)
    notes += passed_over(foreign)
    return Measurements(tuple(_close(table) for table in tables if table.records), tuple(notes))
