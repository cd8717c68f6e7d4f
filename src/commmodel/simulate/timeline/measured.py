"""Measured timelines, for comparison with simulated ones: CSV, and the Trace Event Format as `perfetto` writes it.

The CSV has the columns rank, state, start and end, in seconds, and may have peer, tag, bytes and left; states are
those of `commmodel.simulate.states`, or names of MPI's functions. Where no row is a transfer, waits are told apart by
the messages. A row of the state message is a message from the
rank to the peer: posted at its start, gone since `left` (default: its start), there at its end. Times count from the
first start: clocks begin anywhere. Main entries: `load` and `write_csv`.
"""

import csv
import gzip
import itertools
import math
import os
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import IO, Any

import numpy as np
from msgspec import Struct, json
from numpy.typing import NDArray

from commmodel._core.common.codes import State
from commmodel.arguments import enough_memory
from commmodel.documents import decode_json
from commmodel.errors import DamagedFileError, InputError
from commmodel.signatures import checked
from commmodel.simulate.result import INTERVAL, MESSAGE
from commmodel.simulate.states import STATE_NAMES
from commmodel.simulate.timeline.record import CHUNK, Timeline, opened
from commmodel.simulate.timeline.transferring import split_waits
from commmodel.units import parse_number

_COLUMNS = ("rank", "state", "start", "end")
_MORE = ("peer", "tag", "bytes")
_LEFT = "left"
_SENT = "message"
_MOST_ROWS = 20_000_000
_MOST_BYTES = 1 << 30
_MOST_JSON = 1 << 32
_EVENT = 300
"""Bytes of an event in memory; one with arguments counts twice, as it has two braces."""
_PIECE = 1 << 20
_MOST_RANKS = 1 << 24
_LATEST = 1e300
_MICRO = 1e-6
_LONGEST_LINE = 1 << 16
_MESSAGE_STATE = len(State)
_ROW = np.dtype([*((name, INTERVAL[name]) for name in INTERVAL.names or ()), (_LEFT, np.float64)])
_WORDS = {
    **{name: State(number) for number, name in enumerate(STATE_NAMES)},
    "computing": State.COMPUTE,
    "running": State.COMPUTE,
    "recv": State.RECEIVE,
    "mpi_send": State.SEND,
    "mpi_ssend": State.SEND,
    "mpi_isend": State.SEND,
    "mpi_recv": State.RECEIVE,
    "mpi_irecv": State.RECEIVE,
    "mpi_sendrecv": State.RECEIVE,
    "mpi_wait": State.WAIT,
    "mpi_waitall": State.WAIT,
    "mpi_waitany": State.WAIT,
}


class _Event(Struct):
    """The fields of an event that are read."""

    ph: str = ""
    name: str = ""
    ts: float = 0.0
    dur: float = 0.0
    tid: int | str = 0
    id: int | str = 0
    args: dict[str, Any] = {}


class _Trace(Struct):
    """The format's object form."""

    traceEvents: list[_Event]  # noqa: N815  (the format's name)


_EVENTS = json.Decoder(list[_Event])
_TRACE = json.Decoder(_Trace)


def _state(word: str) -> State | None:
    """Return the state of that name; waiting for other MPI functions, mostly collectives."""
    lowered = word.strip().lower()
    return _WORDS.get(lowered, State.WAIT if lowered.startswith("mpi_") else None)


def write_csv(path: str | os.PathLike[str], timeline: Timeline) -> None:
    """Write a timeline as CSV, as `read` reads it: intervals, then messages.

    `InputError` where it cannot be written.
    """
    with opened(path) as file:
        sent = timeline.transfers
        file.write(",".join((*_COLUMNS, *_MORE, *((_LEFT,) if sent.size else ()))) + "\n")
        end_of_row = "," if sent.size else ""
        for first in range(0, timeline.intervals.size, CHUNK):
            file.writelines(
                f"{rank},{STATE_NAMES[state]},{start!r},{end!r},{peer if peer >= 0 else ''},{tag if tag >= 0 else ''},"
                f"{size:.0f}{end_of_row}\n"
                for rank, state, peer, tag, size, start, end in timeline.intervals[first : first + CHUNK].tolist()
            )
        for first in range(0, sent.size, CHUNK):
            file.writelines(
                f"{sender},{_SENT},{posted!r},{arrived!r},{receiver},{tag if tag >= 0 else ''},{size:.0f},{left!r}\n"
                for sender, receiver, tag, size, posted, left, arrived in sent[first : first + CHUNK].tolist()
            )


@checked
def load(path: str | os.PathLike[str]) -> Timeline:
    """Read a measured timeline: CSV, or the Trace Event Format where the name ends in ``.json``; compressed or not.

    Parameters
    ----------
    path : path
        Rank, state, start and end of each interval (see the module). Of the Trace Event Format, complete events
        (``X``) are read, with ``tid`` as the rank, and arrows as messages.

    Returns
    -------
    Timeline
        Named after the file; its first interval begins at 0.

    Raises
    ------
    InputError
        Where the file cannot be read or holds no interval.
    DamagedFileError
        Where it does not hold what its format says.
    """
    name = os.fspath(path).lower().removesuffix(".gz")
    try:
        opener: Any = gzip.open if os.fspath(path).lower().endswith(".gz") else open
        with opener(path, "rb") as file:
            rows, messages = _read_json(path, file) if name.endswith(".json") else _read_csv(path, file)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DamagedFileError(path, "", "the compressed data is damaged or cut short: compress it anew") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    if not rows.size:
        raise DamagedFileError(path, "", "no interval: a timeline has one line for each, rank,state,start,end")
    origin = rows["start"].min()
    for column in ("start", "end"):
        rows[column] -= origin
    for column in ("posted", "left", "arrived"):
        messages[column] -= origin
    processes = 1 + max(int(rows["rank"].max()), *(int(messages[end].max(initial=0)) for end in ("sender", "receiver")))
    timeline = Timeline(os.path.basename(os.fspath(path)), processes, rows, messages)
    is_told_apart = (rows["state"] == State.TRANSFER).any()
    return timeline if is_told_apart else replace(timeline, intervals=split_waits(timeline))


def _bounded(path: object, file: IO[bytes]) -> Iterator[str]:
    bytes_read = 0
    for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE), b""), 1):
        bytes_read += len(line)
        if bytes_read > _MOST_BYTES:
            raise DamagedFileError(path, f"line {number}", "more than 1 GiB: cut it to the part of interest")
        if not line.endswith(b"\n") and len(line) < _LONGEST_LINE:
            problem = "the last line has no end: the file is cut short, or write one behind it"
            raise DamagedFileError(path, f"line {number}", problem)
        try:
            yield line.decode()
        except UnicodeDecodeError:
            raise DamagedFileError(path, f"line {number}", "not UTF-8 text") from None


def _read_csv(path: object, file: IO[bytes]) -> tuple[NDArray[np.void], NDArray[np.void]]:
    lines = csv.reader(line for line in _bounded(path, file) if line.strip() and not line.startswith("#"))
    pieces: list[NDArray[np.void]] = []
    try:
        header = [word.strip().lower() for word in next(lines, [])]
        missing = [name for name in _COLUMNS if name not in header]
        if missing:
            raise DamagedFileError(path, "line 1", f"no column {missing[0]}: begin with {','.join(_COLUMNS)}")
        columns = (*_COLUMNS, *_MORE, _LEFT)
        unknown = [name for name in header if name not in columns]
        if unknown or len(set(header)) < len(header):
            raise DamagedFileError(path, "line 1", f"columns are {', '.join(columns)}, each once")
        rows = (_row(path, f"interval {number}", header, words) for number, words in enumerate(lines, 1))
        while piece := list(itertools.islice(rows, CHUNK)):
            pieces.append(np.array(piece, dtype=_ROW))
            if len(pieces) * CHUNK > _MOST_ROWS:
                raise DamagedFileError(path, "", f"more than {_MOST_ROWS} intervals: cut it to the part of interest")
    except csv.Error as error:
        raise DamagedFileError(path, f"row {lines.line_num}", str(error)) from None
    whole = np.concatenate(pieces) if pieces else np.empty(0, _ROW)
    is_message = whole["state"] == _MESSAGE_STATE
    intervals = np.zeros(np.count_nonzero(~is_message), INTERVAL)
    for column in INTERVAL.names or ():
        intervals[column] = whole[column][~is_message]
    messages = np.zeros(np.count_nonzero(is_message), MESSAGE)
    columns_of = {"sender": "rank", "receiver": "peer", "tag": "tag", "size": "size", "posted": "start",
                  "left": _LEFT, "arrived": "end"}  # fmt: skip
    for column, source in columns_of.items():
        messages[column] = whole[source][is_message]
    return intervals, messages


def _row(path: object, place: str, header: list[str], words: list[str]) -> tuple[Any, ...]:
    if len(words) != len(header):
        raise DamagedFileError(path, place, f"{len(words)} fields instead of {len(header)}")
    row = dict(zip(header, words, strict=True))
    is_message = row["state"].strip().lower() == _SENT
    state = _MESSAGE_STATE if is_message else _state(row["state"])
    if state is None:
        states = ", ".join((*STATE_NAMES, _SENT))
        raise DamagedFileError(path, place, f"unknown state {row['state']!r}: {states} or MPI_...")
    numbers = [
        _number(path, place, name, row.get(name, "").strip() or "-1", -1 if name != "rank" else 0, is_integer=True)
        for name in ("rank", "peer", "tag")
    ]
    size = _number(path, place, "bytes", row.get("bytes", "").strip() or "0", 0)
    start, end = (_number(path, place, name, row[name], -math.inf) for name in ("start", "end"))
    left = _number(path, place, _LEFT, row.get(_LEFT, "").strip() or row["start"], -math.inf)
    _check(path, place, int(numbers[0]), start, end)
    if is_message and not (0 <= numbers[1] < _MOST_RANKS and start <= left <= end):
        raise DamagedFileError(path, place, "a message needs a peer that receives it, and leaves between start and end")
    return (int(numbers[0]), int(state), int(numbers[1]), int(numbers[2]), size, start, end, left)


def _number(path: object, place: str, name: str, word: str, least: float, *, is_integer: bool = False) -> float:
    try:
        value = parse_number(word)
    except InputError:
        value = math.nan
    if not math.isfinite(value) or value < least or (is_integer and (value != round(value) or value >= 2**31)):
        raise DamagedFileError(path, place, f"field {name}: {word!r} is no {'whole ' * is_integer}number that fits")
    return value


def _check(path: object, place: str, rank: int, start: float, end: float) -> None:
    if rank >= _MOST_RANKS:
        raise DamagedFileError(path, place, f"rank {rank} is beyond {_MOST_RANKS}")
    if max(abs(start), abs(end)) > _LATEST:
        raise DamagedFileError(path, place, f"from {start:g} to {end:g}: no times in seconds")
    if end < start:
        raise DamagedFileError(path, place, f"ends at {end:g}, before it begins at {start:g}")


def _read_json(path: object, file: IO[bytes]) -> tuple[NDArray[np.void], NDArray[np.void]]:
    content = _text_of_events(path, file)
    if content.lstrip()[:1] == b"[":
        events = decode_json(path, content, _EVENTS)
    else:
        events = decode_json(path, content, _TRACE).traceEvents
    rows, left, sent = [], {}, []
    for number, event in enumerate(events, 1):
        if event.ph not in {"X", "s", "f"}:
            continue
        place = f"event {number}"
        rank = event.tid
        if not isinstance(rank, int) or not 0 <= rank < _MOST_RANKS:
            raise DamagedFileError(path, place, f"tid {rank!r} is no rank: a whole number from 0 up")
        if not (abs(event.ts) <= _LATEST and 0 <= event.dur <= _LATEST):
            raise DamagedFileError(path, place, f"ts {event.ts!r} and dur {event.dur!r} are no times")
        if event.ph == "s":
            left[event.id] = (rank, event)
        elif event.ph == "f" and event.id in left:
            sender, begun = left.pop(event.id)
            sent.append(_message(path, place, sender, begun, rank, event.ts))
        elif event.ph == "X" and event.name not in {"arrival", "departure"}:
            rows.append(_slice(path, place, event, rank))
    return np.array(rows, dtype=INTERVAL), np.array(sent, dtype=MESSAGE)


def _text_of_events(path: object, file: IO[bytes]) -> bytes:
    """Return the content of a file of events, if it fits into memory (1 MiB of gzip may hold a GiB)."""
    pieces, needed = [], 0
    while piece := file.read(_PIECE):
        pieces.append(piece)
        needed += 2 * len(piece) + _EVENT * piece.count(b"{")
        if needed > _MOST_JSON:
            problem = f"its events take more than {_MOST_JSON >> 30} GiB of memory"
            raise DamagedFileError(path, "", f"{problem}: cut it to the part of interest")
    enough_memory(needed, f"{path}: its events")
    return b"".join(pieces)


def _argument(path: object, place: str, event: _Event, name: str, default: float, least: float) -> float:
    value = event.args.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < 2**63:
        raise DamagedFileError(path, place, f"args.{name}: {value!r} is no number that fits")
    if name in {"peer", "tag"} and not (value == round(value) and value < 2**31):
        raise DamagedFileError(path, place, f"args.{name}: {value!r} is no whole number that fits")
    return float(value)


def _slice(path: object, place: str, event: _Event, rank: int) -> tuple[Any, ...]:
    state = _state(event.name)
    if state is None:
        raise DamagedFileError(path, place, f"unknown state {event.name!r}: {', '.join(STATE_NAMES)} or MPI_...")
    peer, tag = (int(_argument(path, place, event, name, -1, -1)) for name in ("peer", "tag"))
    size = _argument(path, place, event, "bytes", 0, 0)
    return (rank, int(state), peer, tag, size, event.ts * _MICRO, (event.ts + event.dur) * _MICRO)


def _message(path: object, place: str, sender: int, begun: _Event, receiver: int, arrived: float) -> tuple[Any, ...]:
    tag = int(_argument(path, place, begun, "tag", -1, -(2**31)))
    size = _argument(path, place, begun, "bytes", 0, 0)
    left = _argument(path, place, begun, "left", begun.ts, -math.inf)
    return (sender, receiver, tag, size, begun.ts * _MICRO, left * _MICRO, arrived * _MICRO)
