"""Recordings as they are on disk: a folder with ``recording.json`` and a log for each rank.

What is damaged, cut or missing is said in `Recording.faults`; all that stands before it is read. Main entry: `load`.
"""

import os
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from commmodel._core.common.codes import DataShape, Ending, LogRecord
from commmodel._core.recordings.logs import Clock, Decoder
from commmodel.arguments import Count, Whole, refuse
from commmodel.documents import check_format, convert, decode_json, read_bytes
from commmodel.errors import DamagedFileError, InputError
from commmodel.record.calls import CALLS, FINGERPRINTS
from commmodel.record.clocks import ClockComparison, rank_clock
from commmodel.record.communicators import Communicator, LocalCommunicator, Runs, View, unify
from commmodel.signatures import checked
from commmodel.sites import Site, resolve

if TYPE_CHECKING:
    from commmodel.record.matrices import Matrix
    from commmodel.record.profiles import Profile

HEADER = struct.Struct("<8sIIIIdQqIIQ")
MAGIC = b"CMRECORD"
_VERSION = 1
_LOG_VERSION = 3
# Of logs: 2 has the elements and operators of collectives (kind 9), 3 layouts of what is not in one piece (10, 11).
_ABIS = {1: "MPICH", 2: "Open MPI", 3: "standard"}
_MOST_PROCESSES = 1 << 24
_FEW_PROCESSES = 4096
_MOST_ABSENT = 64
"""Processes for each log; where there are more, the header is damaged or the recording of no use."""
_MOST_PROCESSORS = 1 << 16
_MOST_CALLS = 65_536
_MOST_SITES = 1 << 20
_MOST_BYTES = 1 << 22
_SHAPES = frozenset(DataShape)
_Decode = Callable[[Decoder, memoryview, int], int]
_FIELDS = {call.code: call.fields for call in CALLS}
_ENDINGS: dict[int, str] = {
    Ending.KILLED: "its log ends before the program does: the process was killed, crashed, or still runs",
    Ending.ABORTED: "MPI_Abort, code {}",
    Ending.EXITED: "exit without MPI_Finalize, code {}",
    Ending.REPLACED: "another program took its place (exec)",
    Ending.DISK_FULL: "the disk was full: all that follows is missing",
}


class _RecordingFile(msgspec.Struct):
    format: str
    version: int
    command: list[str] = []
    created: str = ""
    commmodel: str = ""
    simulated: str = ""


class LogHeader(msgspec.Struct, frozen=True):
    """What stands at the beginning of a log."""

    rank: int
    processes: int
    ticks_per_second: float
    unix_nanoseconds: int
    """When the first tick was."""
    abi: str
    thread_level: int


class RecordedLayout(NamedTuple):
    """How data lie that are not in one piece, or that they are a pickled object, without bytes and pieces."""

    shape: int
    """A `DataShape`."""
    size: int
    """Bytes of an element."""
    pieces: int
    """Of an element."""
    distance: int
    """Bytes from begin to begin; 0 where there is no single one, or lengths differ."""

    @property
    def block(self) -> float:
        """Bytes of a piece, on average."""
        return self.size / self.pieces if self.pieces else 0.0


@dataclass(frozen=True)
class CallBlock:
    """Some of the calls of a rank, in the order of their ends on each thread."""

    calls: NDArray[np.void]
    """A row for each call. Its code, its site, times in seconds of rank 0's clock and the fields of its code; what a
    call has no field for is -2 (MPI_PROC_NULL) in ``peer``, ``root``, ``source``, ``target`` and ``receive_peer``, and
    0 elsewhere. Sites and communicators have the numbers of the rank's own log."""
    numbers: NDArray[np.int64]
    """Lists of all calls, as ``numbers[call["requests_at"]:][:call["requests"]]``, and the same for ``sent_counts`` and
    ``received_counts``."""
    completed: NDArray[np.void]
    """Requests that calls have completed, in the same manner."""


@dataclass
class _Log:
    """What stands in the log of a rank beside calls."""

    header: LogHeader
    path: Path
    sites: dict[int, Site] = field(default_factory=dict)
    communicators: list[LocalCommunicator] = field(default_factory=list)
    comparisons: list[ClockComparison] = field(default_factory=list)
    windows: dict[int, int] = field(default_factory=dict)
    layouts: dict[int, RecordedLayout] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    calls: int = 0
    last_tick: float = 0.0
    fault: str = ""


def is_recording(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder that holds a recording."""
    folder = Path(path)
    return folder.is_dir() and ((folder / "recording.json").exists() or any(folder.glob("rank-*.log")))


@checked
def load(folder: str | os.PathLike[str], *further: str | os.PathLike[str]) -> "Recording":
    """Return the recording in a folder; its logs are read when they are needed.

    Parameters
    ----------
    folder : path
    further : path
        Folders with logs of other ranks of the same run, as nodes that share no folder write them.

    Raises
    ------
    InputError
        Where one holds no recording, or one that this commmodel cannot read, or where two hold the same rank.
    """
    places = [Path(folder), *map(Path, further)]
    if len({place.resolve() for place in places}) < len(places):
        raise InputError(f"{places[-1]}: named twice: name each folder of a recording once")
    descriptions = list(filter(None, map(_description, places)))
    problems = [] if descriptions else ["recording.json is missing: the command is not known"]
    logs: dict[int, tuple[LogHeader, Path]] = {}
    for place in places:
        added, unread = _logs(place)
        problems += unread
        if twice := sorted(added.keys() & logs.keys()):
            first = logs[twice[0]][1].parent
            raise InputError(f"rank {twice[0]} is in {first} and in {place}: they are of two runs: report each alone")
        logs |= added
    processes = next(iter(logs.values()))[0].processes
    for rank, (header, path) in sorted(logs.items()):
        if header.processes != processes and len(places) > 1:
            raise InputError(
                f"{path.parent} is of {header.processes} processes and {places[0]} of {processes}: they are of two "
                "runs: report each alone"
            )
        if header.processes != processes or rank >= processes:
            problems.append(f"rank {rank}: of a program of {header.processes} processes, not {processes}: not read")
            del logs[rank]
    if processes > max(_MOST_ABSENT * len(logs), _FEW_PROCESSES):
        names = " and ".join(map(str, places))
        raise InputError(f"{names}: logs of {len(logs)} ranks of a program of {processes}: copy the others here, too")
    description = descriptions[0] if descriptions else _RecordingFile("", 0)
    return Recording(places[0], description, processes, dict(sorted(logs.items())), tuple(problems))


def _description(place: Path) -> _RecordingFile | None:
    """Return what `recording.json` of a folder says; None without one, as on all nodes but that of rank 0."""
    if not place.is_dir():
        raise InputError(f"{place}: no folder: name one that commmodel record has written")
    file = place / "recording.json"
    if not file.exists():
        return None
    content = decode_json(file, read_bytes(file), msgspec.json.Decoder(dict[str, Any]))
    check_format(file, content, "commmodel-recording", _VERSION)
    description: _RecordingFile = convert(file, content, _RecordingFile)
    return description


def _logs(place: Path) -> tuple[dict[int, tuple[LogHeader, Path]], list[str]]:
    """Return the logs of a folder by rank, and what cannot be read; raise where there is none."""
    logs, problems = {}, []
    for path in sorted(place.glob("rank-*.log")):
        header = _header(path)
        if isinstance(header, str):
            problems.append(header)
        elif path.name != f"rank-{header.rank:06d}.log":
            problems.append(f"{path.name} is the log of rank {header.rank}: not read")
        else:
            logs[header.rank] = (header, path)
    if not logs:
        why = f": {problems[0]}" if problems else ": MPI_Init was not called, or the program was not recorded"
        if any(place.glob("*.otf2")) or any(place.glob("*.et")):
            why = ": traces are not reported but replayed: commmodel simulate WHERE replay"
        elif any(path.name != "recording.json" for path in place.glob("*.json")):
            why = ": traces in JSON are not read; of Chakra's, the binary form (.et) is replayed by commmodel simulate"
        raise InputError(f"{place}: no log of a rank that can be read{why}")
    return logs, problems


def _header(path: Path) -> LogHeader | str:
    """Return the header of a log, or why there is none."""
    try:
        with open(path, "rb") as file:
            raw = file.read(HEADER.size)
    except OSError as error:
        return f"{path.name} cannot be read: {error.strerror}"
    if len(raw) < HEADER.size or not raw.startswith(MAGIC):
        return f"{path.name} is no log: its header is damaged"
    _, version, size, rank, processes, rate, _, unix, abi, level, table = HEADER.unpack(raw)
    if version > _LOG_VERSION:
        raise DamagedFileError(path, "header", f"version {version} is newer than this commmodel reads: upgrade it")
    if table not in FINGERPRINTS:
        problem = "recorded with another table of calls: read it with the commmodel that recording.json names"
        raise DamagedFileError(path, "header", problem)
    sound = size == HEADER.size and 0 < processes <= _MOST_PROCESSES and rank < processes and 0 < rate < 1e12
    if not sound:
        return f"{path.name} is no log: its header is damaged"
    return LogHeader(rank, processes, rate, unix, _ABIS.get(abi, "unknown"), level)


def _numbers(listed: str) -> set[int]:
    """Return the numbers of a list of processors; none where it is no such list.

    >>> sorted(_numbers("0-2,8")), _numbers("all")
    ([0, 1, 2, 8], set())
    """
    numbers: set[int] = set()
    for part in listed.split(","):
        first, _, last = part.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal()) or int(last or first) > _MOST_PROCESSORS:
            return set()
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


class Recording:
    """A recorded program; see `load`.

    Attributes
    ----------
    folder : Path
    command : tuple of str
        What was run; empty where that is not known.
    created : str
        When, in ISO format.
    simulated : str
        On what it was simulated; empty of a program that ran in earnest.
    processes : int
    headers : dict
        Rank -> `LogHeader`, of those ranks whose log there is.
    """

    def __init__(
        self,
        folder: Path,
        description: _RecordingFile,
        processes: int,
        logs: dict[int, tuple[LogHeader, Path]],
        faults: tuple[str, ...],
    ) -> None:
        self.folder = folder
        self.command: tuple[str, ...] = tuple(description.command)
        self.created: str = description.created
        self.simulated: str = description.simulated
        self.processes = processes
        self.headers: dict[int, LogHeader] = {rank: header for rank, (header, _) in logs.items()}
        self._paths = {rank: path for rank, (_, path) in logs.items()}
        self._faults = faults

    @property
    def ranks(self) -> tuple[int, ...]:
        """Ranks whose log there is."""
        return tuple(self._paths)

    def profile(self) -> "Profile":
        """Return where the program's communication time goes: `commmodel.record.profile`.

        Its `communication_sites` are the call sites, the costliest first.
        """
        result: Profile = sys.modules["commmodel.record"].profile(self)
        return result

    def matrix(self) -> "Matrix":
        """Return who sends how much to whom: `commmodel.record.matrix`."""
        result: Matrix = sys.modules["commmodel.record"].matrix(self)
        return result

    @cached_property
    def _logs(self) -> dict[int, _Log]:
        return {rank: _scan(self.headers[rank], path) for rank, path in self._paths.items()}

    @cached_property
    def _unified(self) -> tuple[tuple[Communicator, ...], dict[int, list[View]], list[NDArray[np.int32]], list[str]]:
        return unify({rank: log.communicators for rank, log in self._logs.items()}, self.processes)

    @cached_property
    def faults(self) -> tuple[str, ...]:
        """What is missing or damaged, a sentence each."""
        missing = [rank for rank in range(self.processes) if rank not in self._paths]
        faults = [*self._faults]
        if missing:
            shown = ", ".join(map(str, missing[:8])) + ", ..." * (len(missing) > 8)
            faults.append(f"no log of rank{'s' * (len(missing) > 1)} {shown}")
        faults += [f"rank {rank}: {log.fault}" for rank, log in self._logs.items() if log.fault]
        unsynchronised = [rank for rank, log in self._logs.items() if not log.comparisons]
        if unsynchronised and self.processes > 1 and not self.simulated:  # simulated ranks have one clock
            faults.append(
                f"{len(unsynchronised)} of {self.processes} ranks have not compared their clocks: waits are rough"
            )
        return (*faults, *self._unified[3])

    @cached_property
    def oversubscription(self) -> tuple[str, ...]:
        """A line for each host whose ranks shared processors: times of computing and waiting are too long there."""
        ranks: dict[str, int] = {}
        processors: dict[str, set[int]] = {}
        for log in () if self.simulated else self._logs.values():
            if listed := log.texts.get("processors"):
                host = log.texts.get("host", "")
                ranks[host] = ranks.get(host, 0) + 1
                processors.setdefault(host, set()).update(_numbers(listed))
        return tuple(
            f"{ranks[host]} ranks shared {len(numbers)} processor{'s' * (len(numbers) > 1)} of {host or 'a host'}: "
            "they computed and waited longer than they would on processors of their own"
            for host, numbers in processors.items()
            if ranks[host] > len(numbers)
        )

    @property
    def communicators(self) -> tuple[Communicator, ...]:
        """All communicators; number 0 stands for none."""
        return self._unified[0]

    @property
    def groups(self) -> list[NDArray[np.int32]]:
        """Lists of ranks that views of communicators name."""
        return self._unified[2]

    def views(self, rank: int) -> list[View]:
        """Return the communicators of a rank."""
        return self._unified[1][rank]

    def windows(self, rank: int) -> dict[int, int]:
        """Return the windows of a rank in the order in which they were made: number -> communicator, as in its log."""
        return self._log(rank).windows

    def layouts(self, rank: int) -> dict[int, RecordedLayout]:
        """Return how data of a rank lie that are not in one piece: number in its log -> layout."""
        return self._log(rank).layouts

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        """All call sites; number 0 stands for an unknown one."""
        return tuple(resolve(self._site_numbers[0]))

    @cached_property
    def _site_numbers(self) -> tuple[list[Site], dict[int, NDArray[np.int32]]]:
        numbers = {Site(): 0}
        of_ranks = {}
        for rank, log in self._logs.items():
            table = np.zeros(max(log.sites, default=0) + 1, dtype=np.int32)
            for local, site in log.sites.items():
                table[local] = numbers.setdefault(site, len(numbers))
            of_ranks[rank] = table
        return list(numbers), of_ranks

    def site_numbers(self, rank: int) -> NDArray[np.int32]:
        """Return the number in `sites` of each site of a rank's log."""
        return self._site_numbers[1][rank]

    def _log(self, rank: int) -> _Log:
        """Return the log of a rank; raise where there is none."""
        if rank not in self._logs:
            raise refuse("rank", rank, f"the recording has {len(self._logs)} ranks, numbered from 0")
        return self._logs[rank]

    @checked
    def texts(self, rank: Whole) -> dict[str, str]:
        """Return what a rank has noted: host, library, ..."""
        return self._log(rank).texts

    @checked
    def clock(self, rank: Whole) -> Clock:
        """Return a rank's clock, whose seconds are those of rank 0's."""
        log = self._log(rank)
        first = self.headers.get(0, log.header)
        offset = (log.header.unix_nanoseconds - first.unix_nanoseconds) * 1e-9  # exact of simulated ranks
        return rank_clock(log.header.ticks_per_second, log.comparisons, offset)

    def calls(self, rank: int) -> int:
        """Return the number of calls that a rank has logged."""
        return self._log(rank).calls

    @checked
    def interval(self, rank: Whole) -> tuple[float, float]:
        """Return when a rank's log begins and ends, in seconds of rank 0's clock."""
        clock = self.clock(rank)
        return clock.seconds(0.0), clock.seconds(self._log(rank).last_tick)

    @checked
    def events(self, rank: Whole, most: Count = _MOST_CALLS) -> Iterator[CallBlock]:
        """Yield the calls of a rank in blocks of at most so many; no more than one block is in memory.

        Parameters
        ----------
        rank : int
        most : int
            Calls of a block.
        """
        for decoder in self.decoded(rank, Decoder.decode_calls, most):
            yield CallBlock(*decoder.take()[:3])

    def times(
        self, rank: int, most: int = _MOST_CALLS
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]]:
        """Yield begins, ends and codes of the calls of a rank, in blocks as `events` does."""
        for decoder in self.decoded(rank, Decoder.decode_times, most):
            yield decoder.take_times()

    def decoded(self, rank: int, decode: _Decode, most: int) -> Iterator[Decoder]:
        """Have the log of a rank decoded, each time until there are at most so many calls, after which it yields."""
        decoder = Decoder(_FIELDS, self.clock(rank))
        count = 0
        for _ in _decoded(decoder, self._paths[rank], decode, most):
            if decoder.count > count:
                count = decoder.count
                yield decoder


def _decoded(decoder: Decoder, path: Path, decode: _Decode, most: int) -> Iterator[int]:
    """Decode a log piece by piece; yield the place in the file after each piece. Each time the file is opened anew."""
    piece = min(_MOST_BYTES, max(64 * most, 1 << 16))
    place, size = HEADER.size, piece
    while True:
        with open(path, "rb") as file:
            file.seek(place)
            data = file.read(size)
        used = 0
        while used < len(data):
            step = decode(decoder, memoryview(data)[used:], most)
            used += step
            if step:
                yield place + used
            if not step or decoder.problem or decoder.has_ended:
                break
        place += used
        if decoder.problem or decoder.has_ended or len(data) < size:
            return
        size = piece if used else 2 * size  # for a record longer than what was read


def _scan(header: LogHeader, path: Path) -> _Log:
    """Read all that stands in a log beside calls."""
    log = _Log(header, path)
    decoder = Decoder(_FIELDS)
    place, reason, code = HEADER.size, int(Ending.KILLED), 0
    try:
        for place in _decoded(decoder, path, Decoder.decode_definitions, 1 << 20):  # noqa: B007  (the last one counts)
            for kind, numbers, texts, times in decoder.take()[3]:
                if kind == LogRecord.SITE and len(log.sites) < _MOST_SITES and numbers[0] < _MOST_SITES:
                    log.sites[numbers[0]] = Site(texts[0], numbers[1], texts[1], numbers[2])
                elif kind == LogRecord.COMMUNICATOR and numbers[0] < _MOST_SITES:
                    log.communicators.append(_communicator(numbers, texts))
                elif kind == LogRecord.NEIGHBOURS and log.communicators and log.communicators[-1].number == numbers[0]:
                    log.communicators[-1] = _with_neighbours(log.communicators[-1], numbers[1:])
                elif kind == LogRecord.WINDOW:
                    log.windows[numbers[0]] = numbers[1]
                elif (
                    kind == LogRecord.LAYOUT
                    and len(log.layouts) < _MOST_SITES
                    and _is_sound(RecordedLayout(*numbers[1:]))
                ):
                    log.layouts[numbers[0]] = RecordedLayout(*numbers[1:])
                elif kind == LogRecord.CLOCK:
                    log.comparisons.append(ClockComparison(numbers[0], times[0], times[1]))
                elif kind == LogRecord.TEXT:
                    log.texts[texts[0]] = texts[1]
                elif kind == LogRecord.LEAVE:
                    reason, code = numbers[0], numbers[1]
                    log.last_tick = float(numbers[2])
        left = 0
        with suppress(OSError):
            left = path.stat().st_size - place
    except OSError as error:
        log.fault = f"its log cannot be read further: {error.strerror}"
        return log
    log.calls, log.last_tick = decoder.count, max(log.last_tick, decoder.last)
    if decoder.problem:
        log.fault = f"damaged at byte {place} ({decoder.problem}): {_megabytes(left)} that follow are not read"
    elif left > 0 and not decoder.has_ended:
        log.fault = f"cut within a record at byte {place}"
    elif reason in _ENDINGS:
        log.fault = _ENDINGS[reason].format(code)
    return log


def _is_sound(layout: RecordedLayout) -> bool:
    return layout.shape in _SHAPES and (layout.shape >= DataShape.PICKLED_OBJECT or 0 < layout.pieces <= layout.size)


def _megabytes(size: int) -> str:
    return f"{size} bytes" if size < 10**6 else f"{size / 1e6:.1f} MB"


def _communicator(numbers: list[int], texts: list[str]) -> LocalCommunicator:
    number, parent, kind, *rest = numbers
    local, rest = _runs(rest)
    remote, _ = _runs(rest)
    return LocalCommunicator(number, parent, kind, texts[0], local, remote)


def _with_neighbours(communicator: LocalCommunicator, numbers: list[int]) -> LocalCommunicator:
    first = 1 + numbers[0]
    return replace(communicator, sources=tuple(numbers[1:first]), destinations=tuple(numbers[first + 1 :]))


def _runs(numbers: list[int]) -> tuple[Runs, list[int]]:
    count = 3 * numbers[0]
    parts = numbers[1 : 1 + count]
    return tuple(zip(parts[::3], parts[1::3], parts[2::3], strict=True)), numbers[1 + count :]
