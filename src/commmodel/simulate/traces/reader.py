"""Time-independent traces (SimGrid's ``smpirun -replay``) as programs, read in pieces.

A list file names one trace for each rank, in the order of ranks, or one merged trace of all ranks; names are relative
to the list file. Traces may be compressed. With a file for each rank, each rank's file is read as the rank comes to it:
memory does not grow with the trace. A merged trace is read once from its beginning, and what has been read and not yet
been asked for waits in memory, beyond 256 MiB in a temporary file; so one that is written rank after rank works too.
Format: SimGrid's documentation; the actions stand in ``docs/reference/traces.md``. Main entries:
`TimeIndependentTrace`, and `replay_texts` for texts that are in no file.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from commmodel._core.program.traces import Parser, TraceError, highest_rank
from commmodel.arguments import occurring_ranks, rank_count
from commmodel.collectives.settings import CollectiveSettings
from commmodel.errors import DamagedFileError, InputError
from commmodel.simulate.operations import Operations, Program
from commmodel.simulate.traces.action_text import Piece
from commmodel.simulate.traces.files import pieces
from commmodel.simulate.work.actions import each_speed
from commmodel.simulate.work.block_streams import NOTHING, Block, BlockStream
from commmodel.simulate.work.collective_calls import Caller
from commmodel.simulate.work.collective_expansion import Expander

Speeds = Sequence[float]

_MOST_PROCESSES = 1 << 20
_MERGED_RANK = 6000
"""Bytes of a rank of a merged trace that calls one collective: its operations, and what waits for it."""
_TOGETHER = 1 << 26
_SPLITS = (
    "the trace makes communicators of some ranks (comm_split, comm_size) and does not say which: all its collectives "
    "are taken as those of all ranks, as SimGrid takes them; lines `communicator` and `within` can say it"
)
_SMALLEST_PIECE, _LARGEST_PIECE = 1 << 12, 1 << 20


class _Texts:
    """Reads each rank's operations from a text of its own, as the rank comes to it."""

    def __init__(
        self,
        opened: Callable[[int], Iterator[bytes] | Iterator[Piece]],
        names: Sequence[object],
        expander: Expander,
        speeds: Speeds,
        remarks: set[str],
    ) -> None:
        self._opened, self._names, self._expander, self._speeds = opened, names, expander, speeds
        self._remarks = remarks
        self._parser = Parser(len(names), speeds)
        self.restart()

    def restart(self) -> None:
        """Rewind each text."""
        processes = len(self._names)
        self._parser_before, self._parser = self._parser, Parser(processes, self._speeds)
        self._caller = Caller(processes, self._expander, self._damaged)
        self._pieces: list[Iterator[bytes] | Iterator[Piece] | None] = [None] * processes
        self._lines = [0] * processes
        self._ended = 0

    def fresh(self) -> "_Texts":
        """Return a copy at the beginning."""
        return _Texts(self._opened, self._names, self._expander, self._speeds, self._remarks)

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
        for piece in source:
            text, records = (piece, None) if isinstance(piece, bytes) else piece
            try:
                parsed, calls, line = parser.parse(text, rank, self._lines[rank], len(records or ()))
            except TraceError as error:
                raise self._damaged(error.line, rank, error.problem) from None
            if parser.splits:
                self._remarks.add(_SPLITS)
            self._lines[rank] = line
            if records is None:
                operations = self._caller.put(rank, parsed, calls)
            else:
                operations = self._caller.put_records(rank, parsed, records, line)
            if operations.size:
                return operations
        self._ended += 1
        if self._ended >= len(self._names):
            self.restart()
        return NOTHING


def _merged_blocks(
    path: Path, processes: int, expander: Expander, speeds: Sequence[float], remarks: set[str]
) -> Iterator[Block]:
    parser = Parser(processes, speeds)
    line = 0

    def damaged(number: int, _: int, problem: str) -> DamagedFileError:
        return DamagedFileError(path, f"line {number}", problem)

    for text in pieces(path, _LARGEST_PIECE):
        try:
            operations, offsets, calls, line = parser.parse_merged(text, line)
        except TraceError as error:
            raise damaged(error.line, 0, error.problem) from None
        if parser.splits:
            remarks.add(_SPLITS)
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


class TimeIndependentTrace:
    """A time-independent trace; its computation is in flops.

    `files` are a trace for each rank, or a merged one, which is read through to count its ranks where P is not given.
    """

    in_seconds = False

    def __init__(self, path: Path, files: Sequence[Path], processes: int | None = None) -> None:
        if processes is not None and not 1 <= rank_count(processes) <= _MOST_PROCESSES:
            raise InputError(f"{processes} processes: 1 to {_MOST_PROCESSES} are possible")
        if len(files) > 1:
            if processes not in (None, len(files)):
                raise InputError(f"{path}: {len(files)} traces for {processes} processes: there must be one for each")
            processes = len(files)
        elif processes is None:
            processes = _count(files[0])
        if len(files) == 1:
            rank_count(processes, bytes_each=_MERGED_RANK)
        self.path: Path = path
        self.processes: int = processes
        self._files = files
        self._remarks: set[str] = set()

    def notes(self) -> list[str]:
        """Return a sentence where communicators cannot be told; complete when a program has run."""
        return sorted(self._remarks)

    def program(
        self,
        speeds: float | Sequence[float] = 1e9,
        *,
        faster: float = 1.0,
        settings: CollectiveSettings | None = None,
    ) -> Program:
        """Return the program that replays it; see `commmodel.simulate.traces.replay`."""
        if faster != 1:
            raise InputError(f"{self.path}: a trace that counts flops is not {faster} times faster: give a speed")
        processes, files = self.processes, self._files
        listed = each_speed(speeds, processes)
        # Of a merged trace all ranks' operations lie in one block, so even large collectives are put in whole.
        expander = Expander(processes, listed, settings, complete=len(files) == 1)
        nowhere = np.zeros(processes + 1, dtype=np.int64)
        if len(files) > 1:
            size = min(_LARGEST_PIECE, max(_SMALLEST_PIECE, _TOGETHER // len(files)))
            texts = _Texts(lambda rank: pieces(files[rank], size), files, expander, listed, self._remarks)
            return Program(NOTHING, nowhere, texts, self.path.name)
        stream = BlockStream(processes, lambda: _merged_blocks(files[0], processes, expander, listed, self._remarks))
        return Program(NOTHING, nowhere, stream, self.path.name)


def replay_texts(
    opened: Callable[[int], Iterator[bytes] | Iterator[Piece]],
    names: Sequence[object],
    *,
    speeds: float | Sequence[float] = 1e9,
    settings: CollectiveSettings | None = None,
    title: str = "",
) -> Program:
    r"""Return the program that replays texts of traces which are made while it runs.

    `opened` returns the text of a rank in pieces of whole lines, each time from the beginning, or pieces whose
    collectives are records (`commmodel.simulate.traces.action_text.Piece`); `names` are what the texts are called where
    they are damaged, and `title` is for people. Speeds and settings are those of `commmodel.simulate.traces.replay`.

    >>> texts = [b"0 send 1 0 8\n", b"1 recv 0 0 8\n"]
    >>> replay_texts(lambda rank: iter([texts[rank]]), ["first", "second"]).processes
    2
    """
    processes = len(names)
    rank_count(processes)
    listed = each_speed(speeds, processes)
    expander = Expander(processes, listed, settings)
    nowhere = np.zeros(processes + 1, dtype=np.int64)
    return Program(NOTHING, nowhere, _Texts(opened, names, expander, listed, set()), title)
