"""Times of single MPI calls as a simulator's calibration writes them: rows ``MPI_Recv,765921,32.477584,8.84e-03``.

A row is the call, bytes, when it began and how long it took, in seconds. A file of MPI_Send and MPI_Recv in turn is a
ping-pong as rank 0 saw it: both together are a round trip. A file of one call alone is that call while the other side
is ready. The SimGrid team's measurements of graphene have this form (Bédaride 2013, Section IV). Main entry: `parse`.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from commmodel.formats.lines import Text, TextLine, first_line, launch, passed_over, shown
from commmodel.results import Measurements, Record
from commmodel.results.configurations import RandomPing, RandomPingPong

_CALLS: dict[str, Literal["send", "isend", "receive"]] = {
    "MPI_Send": "send", "MPI_Isend": "isend", "MPI_Recv": "receive",
}  # fmt: skip
_ROW = re.compile(rf"({'|'.join(_CALLS)})\s*,\s*\d+\s*,[^,]+,[^,]+")
_FIELDS = 4
_Row = tuple[TextLine, str, int, float]
"""The line, call, bytes, seconds."""


def recognise(lines: Sequence[str]) -> int:
    """Return the number of the first line where it is such a row, else 0."""
    first = first_line(lines)
    return first if first and _ROW.fullmatch(lines[first - 1]) else 0


def _row(line: TextLine) -> _Row:
    words = [word.strip() for word in line.content.split(",")]
    if len(words) != _FIELDS:
        raise line.damaged(f"{len(words)} fields instead of call, bytes, start, duration; restore the line")
    if words[0] not in _CALLS:
        raise line.damaged(f"the call {shown(words[0])} is none of {', '.join(_CALLS)}; remove the line")
    size = line.whole(words[1], "bytes")
    line.real(words[2], "start")
    return line, words[0], size, line.measurable(line.real(words[3], "duration"), "duration")


def _round_trips(rows: Sequence[_Row]) -> list[tuple[int, float]]:
    """Return size and seconds of each half round trip of a file with alternating sends and receives."""
    pairs = []
    for sent, received in zip(rows[::2], rows[1::2], strict=False):
        if (sent[1], received[1]) != ("MPI_Send", "MPI_Recv") or sent[2] != received[2]:
            wrong = received if sent[1] == "MPI_Send" else sent
            problem = "sends and receives of one size must take turns in a ping-pong; restore the missing line"
            raise wrong[0].damaged(problem)
        pairs.append((sent[2], (sent[3] + received[3]) / 2))
    return pairs


def parse(text: Text) -> Measurements:
    """Return a ping-pong, or times inside calls."""
    lines = [line for line in text.numbered() if line.content and line.content[0] != "#"]
    rows = [_row(line) for line in lines if "," in line.content]
    foreign = [line for line in lines if "," not in line.content]
    calls: dict[str, list[_Row]] = defaultdict(list)
    for row in rows:
        calls[row[1]].append(row)
    records: list[Record] = []
    pings = [_CALLS[call] for call in calls]
    if {"MPI_Send", "MPI_Recv"} <= calls.keys():
        halves = [pair for pair in _round_trips(rows) if pair[1] > 0]
        sizes = tuple(size for size, _ in halves)
        if sizes:
            records.append(Record(RandomPingPong(sizes, "any"), "s", tuple(seconds for _, seconds in halves)))
        pings = ["send"]
    for call, durations in calls.items():
        if _CALLS[call] in pings and durations:
            configuration = RandomPing(tuple(row[2] for row in durations), _CALLS[call], "any")
            records.append(Record(configuration, "s", tuple(row[3] for row in durations)))
    return Measurements((launch("durations", ("durations",), records),), passed_over(foreign))
