"""Time-independent traces (SimGrid's ``smpirun -replay``) as programs, read in pieces.

A list file names one trace for each rank, in the order of ranks, or one merged trace of all ranks; names are relative
to the list file. Traces may be compressed. With a file for each rank, each rank's file is read as the rank comes to it:
memory does not grow with the trace. A merged trace is read once from its beginning, and what has been read and not yet
been asked for waits in memory, beyond 256 MiB in a temporary file; so one that is written rank after rank works too.
Format: SimGrid's documentation; the actions stand in ``docs/reference/traces.md``. Main entries: `replay`, and
`replay_texts` for texts that are in no file.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from commmodel._core.program.traces import Parser, TraceError, highest_rank
from commmodel.arguments import finite, occurring_ranks, rank_count
from commmodel.collectives.library.selection import Selector
from commmodel.errors import DamagedFileError, InputError
from commmodel.simulate.operations import Operations, Program
from commmodel.simulate.traces.files import pieces, starts_with
from commmodel.simulate.work.actions import each_speed
from commmodel.simulate.work.block_streams import NOTHING, Block, BlockStream
from commmodel.simulate.work.collective_calls import Caller
from commmodel.simulate.work.collective_expansion import Expander

__all__ = ["replay", "replay_texts"]

Speeds = Sequence[float]

_LARGEST_LIST = 1 << 28
_MOST_PROCESSES = 1 << 20
_MERGED_RANK = 6000
"""Bytes of a rank of a merged trace that calls one collective: its operations, and what waits for it."""
_TOGETHER = 1 << 26
_SMALLEST_PIECE, _LARGEST_PIECE = 1 << 12, 1 << 20
_ACTION = re.compile(rb"\s*\d+\s+[A-Za-z_]+(\s|$)")


class _Texts:
    """Reads each rank's operations from a text of its own, as the rank comes to it."""

    def __init__(
        self, opened: Callable[[int], Iterator[bytes]], names: Sequence[object], expander: Expander, speeds: Speeds
    ) -> None:
        self._opened, self._names, self._expander, self._speeds = opened, names, expander, speeds
        self._parser = Parser(len(names), speeds)
        self.restart()

    def restart(self) -> None:
        """Rewind each text."""
        processes = len(self._names)
        self._parser_before, self._parser = self._parser, Parser(processes, self._speeds)
        self._caller = Caller(processes, self._expander, self._damaged)
        self._pieces: list[Iterator[bytes] | None] = [None] * processes
        self._lines = [0] * processes
        self._ended = 0

    def fresh(self) -> "_Texts":
        """Return a copy at the beginning."""
        return _Texts(self._opened, self._names, self._expander, self._speeds)

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of actions read, skipped as they take no time, and waits for nothing; complete at the end."""
        parser = self._parser if self._parser.actions else self._parser_before
        return {"actions": parser.actions, "skipped": parser.skipped, "unmatched": parser.unmatched}

    def _damaged(self, line: int, rank: int, problem: str) -> DamagedFileError:
        return DamagedFileError(self._names[rank], f"line {line}", problem)

    def __call__(self, rank: int) -> Operations:
        """Return the next operations of a rank; none at its end."""
        left = self._caller.next(rank)
        if left.size:
            return left
        parser, source = self._parser, self._pieces[rank]
        if source is None:
            source = self._pieces[rank] = self._opened(rank)
        for text in source:
            try:
                parsed, calls, self._lines[rank] = parser.parse(text, rank, self._lines[rank])
            except TraceError as error:
                raise self._damaged(error.line, rank, error.problem) from None
            operations = self._caller.put(rank, parsed, calls)
            if operations.size:
                return operations
        self._ended += 1
        if self._ended >= len(self._names):
            self.restart()
        return NOTHING


def _merged_blocks(path: Path, processes: int, expander: Expander, speeds: Sequence[float]) -> Iterator[Block]:
    parser = Parser(processes, speeds)
    line = 0

    def damaged(number: int, _: int, problem: str) -> DamagedFileError:
        return DamagedFileError(path, f"line {number}", problem)

    for text in pieces(path, _LARGEST_PIECE):
        try:
            operations, offsets, calls, line = parser.parse_merged(text, line)
        except TraceError as error:
            raise damaged(error.line, 0, error.problem) from None
        if calls:
            caller = Caller(processes, expander, damaged)
            bounds = offsets.tolist()
            parts = []
            for rank in range(processes):
                of_rank = operations[bounds[rank] : bounds[rank + 1]]
                parts.append(_of_rank(caller, rank, of_rank, calls))
            sizes = [part.size for part in parts]
            operations = np.concatenate(parts)
            offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        yield Block(operations, offsets)


def _of_rank(caller: Caller, rank: int, operations: Operations, calls: list[tuple[int, int, float, str]]) -> Operations:
    """Return a rank's operations with its calls inserted; calls of others with sizes of their own are left out."""
    numbers = operations["request"][operations["code"] == -1]
    if not numbers.size:
        return operations
    used = np.unique(numbers)
    renumbered = operations.copy()
    markers = renumbered["code"] == -1
    renumbered["request"][markers] = np.searchsorted(used, renumbered["request"][markers])
    return caller.put(rank, renumbered, [calls[number] for number in used.tolist()])


def _listed(path: Path) -> list[Path]:
    """Return the traces that a list file names, or the file itself where it is a trace."""
    if starts_with(path):
        return [path]
    try:
        if not os.path.isfile(path):
            raise InputError(f"{path}: not a file: give a list of traces, or a trace")
        with path.open("rb") as file:
            begin = file.read(1 << 16)
            lines = [line for line in begin.splitlines() if line.strip() and not line.lstrip().startswith(b"#")]
            if lines and _ACTION.match(lines[0]):
                return [path]
            text = begin + file.read(_LARGEST_LIST)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    if len(text) > _LARGEST_LIST:
        raise DamagedFileError(path, "", f"a list of more than {_LARGEST_LIST >> 20} MiB: this is none")
    try:
        names = [line.strip() for line in text.decode("utf-8").splitlines()]
    except UnicodeDecodeError as error:
        raise DamagedFileError(path, f"byte {error.start}", "not text: expected names of traces") from None
    traces = []
    for number, name in enumerate(names, 1):
        if not name or name.startswith("#"):
            continue
        trace = path.parent / name
        if not os.path.isfile(trace):
            raise DamagedFileError(path, f"line {number}", f"{name[:200]!r}: there is no such trace")
        traces.append(trace)
    if not traces:
        raise DamagedFileError(path, "", "no traces: expected a name in each line")
    return traces


def _count(path: Path) -> int:
    """Return the number of ranks of a merged trace."""
    highest = -1
    ranks = np.zeros(_MOST_PROCESSES, dtype=np.uint8)
    for text in pieces(path, _LARGEST_PIECE):
        highest = max(highest, highest_rank(text, ranks))
        if highest >= _MOST_PROCESSES:
            raise DamagedFileError(path, "", f"rank {highest}: at most {_MOST_PROCESSES} ranks are possible")
    if highest < 0:
        raise DamagedFileError(path, "", "no actions: expected lines of rank, action, arguments")
    try:
        occurring_ranks(highest, int(np.count_nonzero(ranks)))
    except InputError as error:
        raise DamagedFileError(path, _line_of(path, highest), str(error)) from None
    return highest + 1


def _line_of(path: Path, rank: int) -> str:
    """Return the line of a rank's first action."""
    begin, number = b"%d" % rank, 0
    for text in pieces(path, _LARGEST_PIECE):
        for line in text.split(b"\n")[: None if not text.endswith(b"\n") else -1]:
            number += 1
            if line.split(None, 1)[:1] == [begin]:
                return f"line {number}"
    return ""


def replay(
    path: str | os.PathLike[str],
    processes: int | None = None,
    *,
    speeds: float | Sequence[float] = 1e9,
    selector: str | os.PathLike[str] | Selector = "mpich",
    memory_copy: float = 0.0,
    reduction: float = 0.0,
) -> Program:
    """Return the program that replays a time-independent trace.

    Parameters
    ----------
    path : str or path
        A list file, or a merged trace itself.
    processes : int, optional
        P; else as many as the list has traces, or as a merged trace has ranks (it is read through to count them).
    speeds : float or sequence of float
        Flops per second of all ranks' processors, or of each.
    selector : str, path or Selector
        Which algorithms collectives take.
    memory_copy, reduction : float
        Seconds per byte in collectives.

    Returns
    -------
    Program
        A stream: damage behind the beginning of a trace is found when a rank comes to it.

    Raises
    ------
    InputError
        Where a file cannot be read, or there are not as many traces as processes.
    DamagedFileError
        Naming file and line, where it is not what it should be.
    """
    place = Path(path)
    traces = _listed(place)
    if processes is not None and not 1 <= rank_count(processes) <= _MOST_PROCESSES:
        raise InputError(f"{processes} processes: 1 to {_MOST_PROCESSES} are possible")
    if len(traces) > 1:
        if processes not in (None, len(traces)):
            raise InputError(f"{place}: {len(traces)} traces for {processes} processes: there must be one for each")
        processes = len(traces)
    elif processes is None:
        processes = _count(traces[0])
    if len(traces) == 1:
        rank_count(processes, bytes_each=_MERGED_RANK)
    finite("memory_copy", memory_copy, 0)
    finite("reduction", reduction, 0)
    listed = each_speed(speeds, processes)
    # Of a merged trace all ranks' operations lie in one block, so even large collectives are put in whole.
    expander = Expander(processes, listed, selector, memory_copy, reduction, complete=len(traces) == 1)
    nowhere = np.zeros(processes + 1, dtype=np.int64)
    if len(traces) > 1:
        size = min(_LARGEST_PIECE, max(_SMALLEST_PIECE, _TOGETHER // len(traces)))
        texts = _Texts(lambda rank: pieces(traces[rank], size), traces, expander, listed)
        return Program(NOTHING, nowhere, texts, place.name)
    trace = traces[0]
    count = processes
    stream = BlockStream(count, lambda: _merged_blocks(trace, count, expander, listed))
    return Program(NOTHING, nowhere, stream, place.name)


def replay_texts(
    opened: Callable[[int], Iterator[bytes]],
    names: Sequence[object],
    *,
    speeds: float | Sequence[float] = 1e9,
    selector: str | os.PathLike[str] | Selector = "mpich",
    memory_copy: float = 0.0,
    reduction: float = 0.0,
    title: str = "",
) -> Program:
    r"""Return the program that replays texts of traces which are made while it runs.

    Parameters
    ----------
    opened : callable
        Rank -> its text in pieces of whole lines, each time from the beginning.
    names : sequence
        What each rank's text is called where it is damaged.
    title : str
        For people. The other parameters are those of `replay`.

    Examples
    --------
    >>> texts = [b"0 send 1 0 8\n", b"1 recv 0 0 8\n"]
    >>> replay_texts(lambda rank: iter([texts[rank]]), ["first", "second"]).processes
    2
    """
    processes = len(names)
    rank_count(processes)
    finite("memory_copy", memory_copy, 0)
    finite("reduction", reduction, 0)
    listed = each_speed(speeds, processes)
    expander = Expander(processes, listed, selector, memory_copy, reduction)
    nowhere = np.zeros(processes + 1, dtype=np.int64)
    return Program(NOTHING, nowhere, _Texts(opened, names, expander, listed), title)
