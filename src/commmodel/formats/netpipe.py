"""NetPIPE of versions 3 to 5: its file ``np.out``, and what versions 3 and 4 print on the way.

A row of ``np.out`` has bytes, a rate and a time, with two more rates since version 4, in other units in each version:
which one it is, and how many pairs played at once, is told by rate times time. The time is half a round trip, the least
of some trials in version 3, their mean later; it is taken from the column with more digits. Pairs are i and P - 1 - i.
A run of both ways at once prints twice the bytes: a file of even sizes alone, from 2 on, is read as such. A run one way
only looks as a ping-pong does. Main entry: `parse`.
"""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from commmodel.formats.lines import Text, TextLine, first_line, launch, passed_over
from commmodel.results import Configuration, Measurements
from commmodel.results.configurations import Function, Pairs, PingPong

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PRINTED = re.compile(
    r"(?:\d+:\s+)?(?P<size>\d+) bytes\s+\d+ times -->\s+(?P<rate>\S+) Mbps in\s+(?P<time>\S+) usec\b.*"
)
_OF_FIVE = re.compile(r"(?:\d+:\s+)?[\d.]+\s+[KMGT]?B\s+\d+ times -->.*")
_TELLING = 3
"""Rows of which each must agree with itself, for a file without a word to be known."""
_BITS = 8
_FIRST_OF_BOTH = 2
"""Bytes of a message of one byte each way."""
_MOST_PAIRS = 1 << 20


class _Layout(NamedTuple):
    """The meaning of a row's columns in one version."""

    version: str
    row: re.Pattern[str]
    """With the decimals that it prints."""
    unit: float
    """Bits of the rates' prefix."""
    time: int
    """Place of the time; the rate that belongs to it is the second column."""
    scale: float
    """Parts of a second in the time."""
    mean: int
    """Place of the mean rate of several trials."""


_PLAIN = re.compile(r"\d{1,18} \d+\.\d+ \d+\.\d+", re.ASCII)
_FILES = (
    _Layout("3", re.compile(r"\d{1,18} \d+\.\d{6} \d+\.\d{8}", re.ASCII), 2**20, 2, 1.0, 1),
    _Layout("4", re.compile(r"\d{1,18} \d+\.\d{6,8}(?: \d+\.\d{8}){3}(?: .*)?", re.ASCII), 1e6, 4, 1.0, 2),
    _Layout("5", re.compile(r"\d{1,18}(?: \d+\.\d{3}){3} \d+\.\d\d(?: .*)?", re.ASCII), 1e9, 4, 1e6, 1),
)
_PRINTS = (_Layout("3", _PLAIN, 2**20, 2, 1e6, 1), _Layout("4", _PLAIN, 1e6, 2, 1e6, 1))


def recognise(lines: Sequence[str]) -> int:
    """Return the number of the first line that shows the format, 0 where there is none."""
    plain = (_COLOUR.sub("", line).strip() for line in lines)
    numbers = (number for number, line in enumerate(plain, 1) if _PRINTED.fullmatch(line) or _OF_FIVE.fullmatch(line))
    if printed := next(numbers, 0):
        return printed
    if not (first := first_line(lines)):
        return 0
    rows = [line.split() for line in lines[first - 1 : first - 1 + _TELLING] if line[:1].isdigit()]
    return first if rows and any(all(_pairs(row, layout) for row in rows) for layout in _FILES) else 0


def _between(word: str) -> tuple[float, float]:
    """Return between which numbers one lies that is printed so.

    >>> _between("0.25"), _between("4")
    ((0.245, 0.255), (3.5, 4.5))
    """
    half = 0.5 * 10.0 ** -len(word.partition(".")[2])
    return float(word) - half, float(word) + half


def _pairs(row: Sequence[str], layout: _Layout) -> range:
    """Return how many pairs a row may speak of: rate times time over bits; none where it is no row of this layout.

    >>> [[*_pairs("4096 583.578581 0.00005355".split(), layout)] for layout in _FILES]
    [[1], [], []]
    """
    if not layout.row.fullmatch(" ".join(row)) or not (bits := _BITS * int(row[0])):
        return range(0)
    least, most = (
        rate * layout.unit * time / layout.scale / bits
        for rate, time in zip(_between(row[1]), _between(row[layout.time]), strict=True)
    )
    return range(max(1, math.ceil(min(least, _MOST_PAIRS))), math.floor(min(most, _MOST_PAIRS)) + 1)


def parse(text: Text) -> Measurements:
    """Return the ping-pongs of a file as one launch."""
    notes: list[str] = []
    foreign: list[TextLine] = []
    rows: list[tuple[TextLine, list[str]]] = []
    lines = [(line, _COLOUR.sub("", line.content).strip()) for line in text.numbered()]
    is_printed = any(_PRINTED.fullmatch(content) for _, content in lines)
    for line, content in lines:
        if match := _PRINTED.fullmatch(content):
            rows.append((line, [match["size"], match["rate"], match["time"]]))
        elif _OF_FIVE.fullmatch(content):
            notes.append(line.note("left out, as sizes are rounded here: read NetPIPE's file np.out"))
        elif content and not content.startswith("#"):
            if not is_printed and line.is_row():
                rows.append((line, content.split()))
            elif rows:
                foreign.append(line)
    layouts = _PRINTS if is_printed else _FILES
    layout = max(layouts, key=lambda candidate: sum(bool(_pairs(row, candidate)) for _, row in rows))
    agreeing = [(int(row[0]), numbers) for _, row in rows if (numbers := _pairs(row, layout))]
    if not agreeing:
        return Measurements((), tuple(notes))
    pairs = max(agreeing)[1][0]  # the largest message tells it best
    seconds = [_seconds(line, row, layout, pairs) for line, row in rows]
    sizes = [int(row[0]) for _, row in rows]
    is_both_ways = min(sizes) == _FIRST_OF_BOTH and not any(size % 2 for size in sizes)
    records = [
        line.record(_configuration(text, size, pairs, is_both_ways=is_both_ways), time)
        for (line, _), size, time in zip(rows, sizes, seconds, strict=True)
    ]
    made_by = launch("NetPIPE", ("netpipe",), records, versions={"netpipe": layout.version})
    return Measurements((made_by,), (*notes, *passed_over(foreign)))


def _seconds(line: TextLine, row: Sequence[str], layout: _Layout, pairs: int) -> float:
    """Return the time of a message, from the column with more digits."""
    if len(row) <= layout.time:
        raise line.damaged(f"{len(row)} columns instead of {layout.time + 1}: restore the line")
    size = line.whole(row[0], "bytes", 1)
    time, _, mean = (
        line.real(row[place], name) for place, name in ((layout.time, "time"), (1, "rate"), (layout.mean, "rate"))
    )
    if pairs not in _pairs(row, layout):
        raise line.damaged("rate and time contradict each other: restore the line")
    (least, _), (least_time, _) = _between(row[layout.mean]), _between(row[layout.time])
    if mean and (layout.mean != 1 or not time or least / mean > least_time / time):
        return pairs * _BITS * size / (mean * layout.unit)
    return time / layout.scale


def _configuration(text: Text, size: int, pairs: int, *, is_both_ways: bool) -> Configuration:
    if is_both_ways:
        return Function("netpipe both ways", "time", (("k", float(pairs)), ("n", size / 2)))
    path = None if text.placement is None else text.placement.path(pairs)
    return PingPong(size, path or "any") if pairs == 1 else Pairs(size, pairs, path or "any", 1)
