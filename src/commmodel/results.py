"""Measurements: the file ``results.jsonl``, read, written and merged.

One JSON object a line. A ``header`` describes a launch of the benchmark (machine, MPI library, options); each
``record`` after it holds the raw samples of one configuration. A file may hold several launches, so the files
of several launches are merged with ``cat``. A record is on disk as soon as it is complete; a last line that was
cut off when its writer was killed is left out, and reported, by `read`. Main entries: `read` and `Writer`.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Annotated, Literal, Self, TypeVar

import msgspec
from msgspec import Meta, Struct

from commmodel.errors import DamagedFileError, InputError
from commmodel.statistics import Summary, summarise

__all__ = [
    "Buffers", "Clock", "Collective", "CollectiveName", "Configuration", "Header", "Host", "Launch", "Library",
    "Local", "Measurements", "MessagePath", "Mode", "Options", "PLogP", "Pairs", "Ping", "PingPong", "PointToPoint",
    "Rank", "Record", "Stream", "Threshold", "Train", "Writer", "read", "read_all", "schema",
]  # fmt: skip

FORMAT: Literal["commmodel-results"] = "commmodel-results"
VERSION = 1
# History of the format: 1, first version.

Count = Annotated[int, Meta(ge=1, le=2**63 - 1)]
Bytes = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Seconds = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(gt=0, lt=1)]
MessagePath = Literal["any", "same-socket", "same-node", "between-nodes"]
"""Which way messages take: within one socket, within one host (between its sockets, or where these are not known), or
between two hosts; ``any`` where a file of another suite does not tell."""
Batch = Count | Literal["auto"]
Mode = Literal["blocking", "non-blocking"]
"""MPI_Send and MPI_Recv, or MPI_Isend and MPI_Irecv: a single one with its MPI_Wait, several with one MPI_Waitall."""
CollectiveName = Literal[
    "barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "reduce_scatter", "scan"
]
"""As MPI names them, without the prefix."""


class PingPong(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="pingpong"):
    """Blocking ping-pong of one pair; samples are half round trips."""

    message_size: Bytes
    path: MessagePath
    batch: Batch = 1


class Pairs(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="pairs"):
    """`pairs` blocking ping-pongs at once; samples are half round trips of the slowest rank."""

    message_size: Bytes
    pairs: Count
    path: MessagePath
    batch: Batch = "auto"
    node_pairs: Count = 1
    """Pairs of hosts that are active at once, each with `pairs` pairs of ranks."""


class Stream(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="stream"):
    """`pairs` senders each stream windows of messages to a receiver of their own, which answers once a window.

    Samples are the time of a window on its slowest rank over its messages: one direction only, unlike ping-pongs.
    """

    message_size: Bytes
    pairs: Count
    path: MessagePath
    window: Count = 64
    node_pairs: Count = 1
    """Pairs of hosts that are active at once, each with `pairs` pairs of ranks."""


class Ping(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="ping"):
    """Time inside one MPI_Send, or inside one MPI_Recv, while the other side is ready."""

    message_size: Bytes
    operation: Literal["send", "receive"]
    path: MessagePath


class Threshold(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="threshold"):
    """Eager limit: the largest message whose MPI_Send returns although the receiver stays out of MPI."""

    path: MessagePath


class Train(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="loggp"):
    """PRTT(n, d, s): a train of n messages of s bytes, d apart, and one answer of 1 byte after the last.

    Samples are from the first send's begin to the answer's end. Each send begins d after the end of the send before
    it, and the sender spends d busy outside MPI, so that o_s = (PRTT(n, d, s) − PRTT(1, 0, s)) / (n − 1) − d. A
    non-blocking send ends when MPI_Isend returns; one MPI_Waitall follows the last. `Record.delay` holds d.
    """

    message_size: Bytes
    messages: Count
    path: MessagePath
    delayed: bool = False
    """False: d = 0. True: d = PRTT(1, 0, s) as measured just before, so that every message finds the network empty."""
    mode: Mode = "blocking"


class PLogP(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="plogp"):
    """One parameter of pLogP at one size, in seconds, as Kielmann, Bal and Verstoep (2000) measure it.

    ``send``: o_s(m), time of a send. ``receive``: o_r(m), time of a receive that begins 1.2 RTT(m) after the
    message was asked for. ``gap``: g(m), a saturating train's time over its messages. ``round-trip``: RTT(m),
    the message there, an answer of 0 bytes back.
    """

    message_size: Bytes
    quantity: Literal["send", "receive", "gap", "round-trip"]
    path: MessagePath
    mode: Mode = "blocking"


class Collective(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="collective"):
    """A collective operation of the first `processes` ranks; samples are its time on its slowest rank.

    Each repetition begins after a barrier. `message_size` is what the count argument of the MPI call says, in bytes:
    the whole vector of a broadcast, reduction or scan, each process's block of all others; 0 for a barrier.
    """

    operation: CollectiveName
    message_size: Bytes
    processes: Count


class Local(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="local"):
    """Work within one process's memory: a copy, or MPI_Reduce_local, of so many bytes."""

    operation: Literal["copy", "reduction"]
    message_size: Bytes


PointToPoint = PingPong | Pairs | Stream | Ping | Threshold | Train | PLogP
"""What pairs of ranks do, on a path."""
Configuration = PointToPoint | Collective | Local


class Clock(Struct, frozen=True, forbid_unknown_fields=True):
    """The clock that timed a host's ranks."""

    kind: str
    """``tsc``, ``cntvct``, ``timebase`` or ``clock_gettime``."""
    frequency: Annotated[float, Meta(gt=0)]
    """Ticks per second."""
    frequency_source: str
    resolution: Seconds
    """Smallest step seen between two readings."""
    cost: Seconds
    """Median time between a start and a stop that enclose nothing; part of every sample."""
    against_wtime: float | None = None
    """Relative difference of its rate from MPI_Wtime's."""


class Host(Struct, frozen=True, forbid_unknown_fields=True):
    """One machine of the launch, as its lowest rank saw it."""

    name: str
    cpus: Annotated[int, Meta(ge=0)] = 0
    """Processors that the ranks on this host may use, all together."""
    cpu_model: str = ""
    kernel: str = ""
    governor: str = ""
    """CPU frequency governor; empty where the system does not tell."""
    clocksource: str = ""
    transparent_huge_pages: str = ""
    load: tuple[float, float, float] | None = None
    """Load averages just before the first measurement."""
    clock: Clock | None = None


class Rank(Struct, frozen=True, forbid_unknown_fields=True):
    """Where one rank ran."""

    rank: Annotated[int, Meta(ge=0)]
    host: Annotated[int, Meta(ge=0)]
    """Index into `Header.hosts`."""
    cpus: str = ""
    """Processors that it may use, like ``0-3,8``."""
    cpu: int = -1
    """Processor on which it was when it said so."""
    bound: bool = False
    """Whether these processors are one core's, so that the rank cannot wander."""
    socket: Annotated[int, Meta(ge=0)] | None = None
    """Socket of its processors; None where they are on several, or the system does not tell."""


class Library(Struct, frozen=True, forbid_unknown_fields=True):
    """The MPI library."""

    version: str
    abi: str = ""
    """Build of commmodel's core that ran: ``mpich``, ``openmpi`` or ``mpiabi``."""
    standard: str = ""


class Buffers(Struct, frozen=True, forbid_unknown_fields=True):
    """How message buffers were made: each rank's own, on fresh pages, written before use."""

    alignment: int
    huge_pages: Literal["never", "always", "system"]
    """What was asked of the kernel; ``system`` leaves it to the system's setting."""
    huge_bytes: int | None = None
    """Bytes of rank 0's largest buffer that really lay on huge pages; None where the system does not tell."""


class Options(Struct, frozen=True, forbid_unknown_fields=True):
    """What was asked of the benchmark: all that is needed to plan the same measurements again."""

    kernels: tuple[str, ...]
    sizes: tuple[Bytes, ...]
    pairs: tuple[Count, ...] | None
    """None: every number of pairs from one to all."""
    batch: Batch | None
    """None: each kernel's own default."""
    time: Annotated[float, Meta(gt=0)]
    ci: Annotated[float, Meta(gt=0)]
    confidence: Share
    repetitions: Count
    """Upper limit of samples a record."""
    huge_pages: Literal["never", "always", "system"]
    seed: int
    node_pairs: tuple[Count, ...] = (1,)
    """Numbers of pairs of hosts active at once."""
    mode: Mode | Literal["both"] = "blocking"
    """How the kernels ``loggp`` and ``plogp`` send and receive."""
    collectives: tuple[CollectiveName, ...] = ()
    """Operations of the kernel ``collective``."""
    procs: tuple[Count, ...] = ()
    """Numbers of its processes."""
    imb_repetitions: bool = False
    """Whether it repeats as often as the Intel MPI Benchmarks, not until the interval is narrow enough."""


class Header(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="header"):
    """A launch of the benchmark."""

    format: Literal["commmodel-results"]
    version: Annotated[int, Meta(ge=1)]
    created: str
    command: tuple[str, ...]
    mpi: Library
    hosts: tuple[Host, ...]
    ranks: tuple[Rank, ...]
    versions: dict[str, str] = {}
    options: Options | None = None
    buffers: Buffers | None = None
    placement: dict[MessagePath, tuple[tuple[int, int], ...]] = {}
    """Ranks of each pair on each path, in the order in which pairs are added."""
    further_nodes: tuple[tuple[tuple[int, int], ...], ...] = ()
    """Ranks of each pair between the hosts of the second pair of hosts, the third, ...; `placement` has the first."""
    warnings: tuple[str, ...] = ()
    resumes: bool = False
    """True where this launch goes on with what the one before it left undone."""


class Record(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="record"):
    """The samples of one configuration."""

    configuration: Configuration
    unit: Literal["s", "B"]
    samples: Annotated[tuple[Annotated[float, Meta(ge=0)], ...], Meta(min_length=1)]
    stop: Literal["interval", "time", "repetitions", "found"] = "found"
    """Why it ended: interval narrow enough, time spent, most repetitions reached, or the thing looked for found."""
    batch: Count = 1
    """Exchanges timed together; each sample is their mean."""
    warmup: Annotated[int, Meta(ge=0)] = 0
    """Exchanges made before the first sample."""
    bracket: tuple[float, float | None] | None = None
    """For a threshold: the largest value below and the smallest above it that were tried; None: none above."""
    delay: Seconds | None = None
    """For a delayed train: the time between the end of a send and the begin of the next, as it really was."""
    started: Seconds = 0.0
    """Time since the launch's first measurement."""
    duration: Seconds = 0.0

    @property
    def summary(self) -> Summary:
        """Quantiles of the samples and the interval of their median."""
        return summarise(self.samples)


class Launch(Struct, frozen=True):
    """A header and the records that follow it."""

    header: Header
    records: tuple[Record, ...]


class Measurements(Struct, frozen=True):
    """All launches of one or several files, in order."""

    launches: tuple[Launch, ...]
    notes: tuple[str, ...] = ()
    """What the reader had to leave out, a line each."""

    @property
    def records(self) -> Iterator[Record]:
        """Every record of every launch."""
        return (record for launch in self.launches for record in launch.records)


class _AnyVersion(Struct):
    type: str
    format: str = ""
    version: int = VERSION


_Line = TypeVar("_Line")
_line_decoder = msgspec.json.Decoder(Header | Record)
_version_decoder = msgspec.json.Decoder(_AnyVersion)


def _decode(path: Path, number: int, line: bytes, decode: Callable[[bytes], _Line]) -> _Line:
    try:
        return decode(line)
    except msgspec.ValidationError as error:
        problem, _, field = str(error).partition(" - at `$")
        field = field.rstrip("`").lstrip(".")
        problem = problem.replace("`", "")
        where = f"field {field}: " if field else ""
        raise DamagedFileError(path, f"line {number}", f"{where}{problem[:1].lower()}{problem[1:]}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = f"{error}; restore the file, or delete this line"
        raise DamagedFileError(path, f"line {number}", problem) from None


def _lines(path: Path) -> tuple[list[bytes], int]:
    """Return the complete lines of a file and the number of bytes after the last of them."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    complete, _, rest = content.rpartition(b"\n")
    return (complete.split(b"\n") if complete else []), len(rest)


def read(path: str | os.PathLike[str]) -> Measurements:
    """Read a results file.

    Raises `DamagedFileError` naming file, line and field where a line is not what the format says; a last line
    without its end, left by a killed run, is no damage: it is left out and noted.
    """
    path = Path(path)
    lines, cut_off = _lines(path)
    launches: list[tuple[Header, list[Record]]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        kind = _decode(path, number, line, _version_decoder.decode)
        if kind.type == "header" and kind.format == FORMAT and kind.version > VERSION:
            problem = f"field version: {kind.version} is newer than this commmodel reads ({VERSION}): upgrade it"
            raise DamagedFileError(path, f"line {number}", problem)
        match _decode(path, number, line, _line_decoder.decode):
            case Header() as header:
                _check_header(path, number, header)
                launches.append((header, []))
            case Record() as record if launches:
                launches[-1][1].append(record)
            case Record():
                raise DamagedFileError(path, f"line {number}", "a record stands before any header; restore the header")
    if not launches:
        what = f"its only line is incomplete ({cut_off} bytes)" if cut_off else "it is empty"
        raise DamagedFileError(path, "", f"no measurements: {what}; run python -m commmodel.bench")
    note = f"{path}: line {len(lines) + 1} is incomplete ({cut_off} bytes), left out: its writer was stopped"
    return Measurements(
        tuple(Launch(header, tuple(records)) for header, records in launches), (note,) if cut_off else ()
    )


def _check_header(path: Path, number: int, header: Header) -> None:
    for index, rank in enumerate(header.ranks):
        if rank.host >= len(header.hosts):
            problem = f"field ranks[{index}].host: {rank.host} names none of the {len(header.hosts)} hosts"
            raise DamagedFileError(path, f"line {number}", problem)


def read_all(paths: Iterable[str | os.PathLike[str]]) -> Measurements:
    """Read several results files as one."""
    parts = [read(path) for path in paths]
    return Measurements(
        tuple(launch for part in parts for launch in part.launches),
        tuple(note for part in parts for note in part.notes),
    )


class Writer:
    """Appends lines to a results file, each on disk before the call returns.

    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "results.jsonl"
    >>> with Writer(path) as writer:
    ...     writer.write(Header("commmodel-results", 1, "2026-01-01", (), Library("MPICH"), (), ()))
    ...     writer.write(Record(Threshold("same-node"), "B", (8116.0,)))
    >>> [record.samples for record in read(path).records]
    [(8116.0,)]
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], *, resume: bool = False) -> None:
        """Create the file, or with `resume` go on after its last complete line."""
        self._path = path
        self._encoder = msgspec.json.Encoder()
        self._file: IO[bytes]
        try:
            if resume:
                self._file = open(path, "r+b")  # noqa: SIM115  (closed by close)
                self._file.seek(-_lines(Path(path))[1], os.SEEK_END)
                self._file.truncate()
            else:
                self._file = open(path, "xb")  # noqa: SIM115
        except FileExistsError:
            raise InputError(f"{path} exists: complete it with --resume, or name another file with --output") from None
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror}") from None

    def write(self, line: Header | Record) -> None:
        """Append one line."""
        try:
            self._file.write(self._encoder.encode(line) + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):
                self._file.close()  # tries once more to write what is left, and fails once more
            raise InputError(f"{self._path}: cannot be written: {error.strerror}") from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def schema() -> bytes:
    """Return the JSON Schema of a line, formatted: ``docs/reference/results.schema.json``."""
    return msgspec.json.format(msgspec.json.encode(msgspec.json.schema(Header | Record)), indent=2) + b"\n"
