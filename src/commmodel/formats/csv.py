"""CSV with a header: results of any other program.

::

    message_size,seconds,pairs,path
    8,4.1us,1,between-nodes
    64KiB,31us,4,between-nodes

Needed are ``message_size`` and one of ``seconds`` and ``bandwidth``; units as on our command line. With the columns
``from`` and ``to``, names of nodes, it is a table of pairs of nodes. Main entry: `parse`.
"""

import csv
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import get_args

from commmodel.errors import DamagedFileError, InputError
from commmodel.formats.lines import POINT, Text, TextLine, first_line, launch, passed_over, shown
from commmodel.formats.node_matrix import NodePair, launch_of
from commmodel.results import Configuration, Measurements, Record
from commmodel.results.configurations import MessagePath, Pairs, PingPong, Stream
from commmodel.units import parse_counts, parse_rate, parse_size, parse_time

_COLUMNS = ("message_size", "seconds", "bandwidth", "pairs", "path", "kernel", "from", "to")
_SEPARATORS = ",;\t"
_ONE_BUFFER = "stream-one-buffer"
_KERNELS: dict[str, Callable[[int, int, MessagePath], Configuration]] = {
    "pingpong": lambda size, _, path: PingPong(size, path),
    "pairs": lambda size, pairs, path: Pairs(size, pairs, path, 1),
    "stream": Stream,
    _ONE_BUFFER: lambda size, pairs, path: Stream(size, pairs, path, buffers="one"),
}
_PATHS: dict[str, MessagePath] = {path: path for path in get_args(MessagePath)}


def _separator(line: str) -> str:
    return max(_SEPARATORS, key=line.count)


def _words(line: str, separator: str) -> list[str]:
    return [word.strip() for word in next(csv.reader([line], delimiter=separator, skipinitialspace=True))]


def recognise(lines: Sequence[str]) -> int:
    """Return the number of the header line, 0 where there is none; it must name message_size."""
    names = (number for number, line in enumerate(lines, 1) if "message_size" in line.lower() and line[0] != "#")
    return next((number for number in names if _is_header(lines[number - 1])), 0)


def _is_header(line: str) -> bool:
    return "message_size" in [word.lower() for word in _words(line, _separator(line))]


def _columns(line: TextLine, words: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    names = [word.lower() for word in words]
    if twice := [name for name in _COLUMNS if names.count(name) > 1]:
        raise line.damaged(f"column {twice[0]} is there twice; remove one")
    if "message_size" not in names or ("seconds" in names) == ("bandwidth" in names):
        problem = "a header must name message_size and one of seconds and bandwidth, like message_size,seconds,pairs"
        raise line.damaged(problem)
    if ("from" in names) != ("to" in names):
        raise line.damaged("a table of pairs of nodes has both columns, from and to; add the other one")
    unknown = [name for name in names if name not in _COLUMNS]
    notes = (line.note(f"columns left out, as they are none of ours: {', '.join(unknown)}"),) if unknown else ()
    return names, notes


def _pairs(word: str) -> int:
    counts = parse_counts(word)
    if len(counts) != 1:
        raise InputError(f"{word!r} is more than one number of pairs")
    return counts[0]


def _record(line: TextLine, values: dict[str, str]) -> Record | None:
    """Return a row as a record; None for a bandwidth without bytes."""
    size = parse_size(values["message_size"])
    pairs = _pairs(values.get("pairs") or "1")
    kernel = values.get("kernel") or ("pairs" if "pairs" in values else "pingpong")
    path = values.get("path") or "any"
    for word, choices in ((kernel, _KERNELS), (path, _PATHS)):
        if word not in choices:
            raise InputError(f"{shown(word)} is none of {', '.join(choices)}")
    if kernel == "pingpong" and pairs != 1:
        raise InputError(f"a pingpong has one pair, not {pairs}: call the kernel pairs")
    if "seconds" in values:
        seconds = parse_time(values["seconds"])
    elif size == 0:
        return None
    else:
        rate = parse_rate(values["bandwidth"])
        if rate == 0:
            raise InputError("a bandwidth must not be 0")
        seconds = pairs * size / rate
    return line.record(_KERNELS[kernel](size, pairs, _PATHS[path]), seconds)


def parse(text: Text) -> Measurements:
    """Return the rows of a file as one launch."""
    top = recognise(text.lines) or first_line(text.lines)
    separator = _separator(text.lines[top - 1])
    names: list[str] = []
    notes: tuple[str, ...] = ()
    foreign: list[TextLine] = []
    records = []
    times: dict[int, dict[NodePair, float]] = defaultdict(dict)
    for line in text.numbered(top):
        if not line.content or line.content[0] == "#":
            continue
        try:
            words = _words(line.content, separator)
        except csv.Error as error:
            raise line.damaged(f"{error}; restore the line") from None
        if not names:
            names, notes = _columns(line, words)
            continue
        if len(words) == 1 < len(names) and not line.is_row():
            foreign.append(line)
            continue
        if len(words) != len(names):
            raise line.damaged(f"{len(words)} columns, but the header names {len(names)}; restore the line")
        try:
            row = _record(line, {name: word for name, word in zip(names, words, strict=True) if name in _COLUMNS})
        except DamagedFileError:
            raise
        except InputError as error:
            mend = POINT if separator != "," in line.content else "correct the line"
            raise line.damaged(f"{error}; {mend}") from None
        if row is None:
            continue
        if "from" in names:
            ends = words[names.index("from")], words[names.index("to")]
            if ends[0] == ends[1] or not all(ends):
                raise line.damaged(f"{shown(' to '.join(ends))} are not two nodes; correct or remove the line")
            of_size = times[row.configuration.message_size]  # type: ignore[union-attr]
            of_size[ends] = min(of_size.get(ends, math.inf), *map(float, row.samples))
        else:
            records.append(row)
    launches = (launch("CSV", ("csv",), records, versions={"csv": "unknown"}),) if records else ()
    return Measurements((*launches, *([launch_of(times)] if times else [])), notes + passed_over(foreign))


def can_hold(measured: Record) -> bool:
    """Whether a record can be written: a ping-pong or stream as the table means them, all times above 0."""
    match measured.configuration:
        case PingPong() | Pairs(node_pairs=1) | Stream(window=64, node_pairs=1):
            return all(sample > 0 for sample in measured.samples)
    return False


def render(measurements: Measurements) -> Iterator[bytes]:
    """Yield the header and a row for each sample of all records that `can_hold`."""
    yield b"message_size,seconds,pairs,path,kernel\n"
    for measured in filter(can_hold, measurements.records):
        about = measured.configuration
        pairs = 1 if isinstance(about, PingPong) else about.pairs  # type: ignore[union-attr]
        into_one = isinstance(about, Stream) and about.buffers == "one"
        kernel = _ONE_BUFFER if into_one else type(about).__struct_config__.tag
        for sample in measured.samples:
            yield f"{about.message_size},{float(sample)!r},{pairs},{about.path},{kernel}\n".encode()  # type: ignore[union-attr]
