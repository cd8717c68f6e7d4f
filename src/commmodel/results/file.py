"""The file ``results.jsonl``: strict reading, and writing record by record. Main entries: `load`, `Writer`."""

import fcntl
import os
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from inspect import cleandoc
from pathlib import Path
from typing import Literal, Self

import msgspec
from msgspec import Struct

from commmodel.arguments import LARGEST, SMALLEST, is_measurable
from commmodel.documents import decode_json
from commmodel.errors import DamagedFileError, InputError
from commmodel.files import open_input, unwritable, write_bytes
from commmodel.results.configurations import Configuration, RandomPing, RandomPingPong
from commmodel.results.launches import unmeasured, whole_launches, without_duplicates
from commmodel.results.records import Header, Launch, Measurements, Record
from commmodel.results.repeating import launcher_words
from commmodel.results.visits import join_visits
from commmodel.signatures import checked

FORMAT: Literal["commmodel-results"] = "commmodel-results"
VERSION = 1
# History of the format: 1, first version.
_BEFORE = {
    "collectives": (),
    "volumes": (),
    "memory_operations": (),
    "start": "barrier",
    "visits": 1,
    "buffers": "untouched",
}
"""Options that a file lacks when it was written before they existed -> what was done then."""


class _AnyVersion(Struct):
    type: str
    format: str = ""
    version: int = VERSION


_line_decoder: msgspec.json.Decoder[Header | Record] = msgspec.json.Decoder(Header | Record)
_version_decoder = msgspec.json.Decoder(_AnyVersion)


def _decoded(path: Path, number: int, line: bytes) -> Header | Record:
    try:
        decoded: Header | Record = _line_decoder.decode(line)
        if isinstance(decoded, Record):  # nearly all are
            return decoded
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # what a newer version wrote may be beyond this one, so the version comes first
    place = f"line {number}"
    kind = decode_json(path, line, _version_decoder, place)
    if kind.type == "header" and kind.format == FORMAT and kind.version > VERSION:
        problem = f"field version: {kind.version} is newer than this commmodel reads ({VERSION}): upgrade it"
        raise DamagedFileError(path, place, problem)
    read_line: Header | Record = decode_json(path, line, _line_decoder, place)
    if isinstance(read_line, Header) and read_line.options is not None:
        stored = msgspec.json.decode(line)["options"]
        older = {name: value for name, value in _BEFORE.items() if name not in stored}
        options = msgspec.structs.replace(read_line.options, **older)
        return msgspec.structs.replace(read_line, options=options)
    return read_line


class _Lines:
    """The complete lines of a file, one at a time."""

    def __init__(self, path: Path) -> None:
        self.cut_off = 0
        """Bytes after the last complete line, known at the end."""
        self.count = 0
        self._path = path

    def __iter__(self) -> Iterator[bytes]:
        try:
            with open_input(self._path) as file:
                for line in file:
                    if line.endswith(b"\n"):
                        self.count += 1
                        yield line[:-1]
                    else:
                        self.cut_off = len(line)
        except OSError as error:
            raise InputError(f"{self._path}: {error.strerror}") from None


@checked
def load(path: str | os.PathLike[str]) -> Measurements:
    """Read a results file.

    A last line without its end, left by a killed run, is no damage: it is left out and noted.

    Raises
    ------
    DamagedFileError
        Naming file, line and field where a line is not what the format says.
    """
    path = Path(path)
    lines = _Lines(path)
    launches: list[tuple[Header, list[Record]]] = []
    configurations: dict[Configuration, Configuration] = {}  # equal ones are one object
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        match _decoded(path, number, line):
            case Header() as header:
                _check_header(path, number, header)
                launches.append((header, []))
            case Record() as record if launches:
                _check_record(path, number, record)
                configuration = record.configuration
                shared = configurations.setdefault(configuration, configuration)
                launches[-1][1].append(
                    record if shared is configuration else msgspec.structs.replace(record, configuration=shared)
                )
            case Record():
                raise DamagedFileError(path, f"line {number}", "a record stands before any header; restore the header")
    if not launches:
        reason = f"its only line is incomplete ({lines.cut_off} bytes)" if lines.cut_off else "it is empty"
        raise DamagedFileError(path, "", f"no measurements: {reason}; run python -m commmodel.bench")
    measurements = Measurements(tuple(Launch(header, join_visits(records)) for header, records in launches))
    notes = _unfinished(path, measurements)
    if lines.cut_off:
        ending = f"line {lines.count + 1} is incomplete ({lines.cut_off} bytes), left out"
        notes.append(f"{path}: {ending}: its writer was stopped")
    return Measurements(measurements.launches, tuple(notes))


def _unfinished(path: Path, measurements: Measurements) -> list[str]:
    """Return a note on each launch that lacks some of its plan."""
    notes = []
    for number, launch in enumerate(whole_launches(measurements), start=1):
        if missing := unmeasured(launch):
            planned, start = launch.header.planned, shlex.join(launcher_words(launch.header))
            notes.append(
                f"{path}: launch {number} is partial: {planned - missing} of {planned} planned configurations: it was "
                f"stopped, goes on, or left out what its time did not allow; to complete it: {start} "
                f"python -m commmodel.bench --resume -o {shlex.quote(str(path))}"
            )
    return notes


def _check_header(path: Path, number: int, header: Header) -> None:
    for index, rank in enumerate(header.ranks):
        if rank.host >= len(header.hosts):
            problem = f"field ranks[{index}].host: {rank.host} names none of the {len(header.hosts)} hosts"
            raise DamagedFileError(path, f"line {number}", problem)


def _check_record(path: Path, number: int, record: Record) -> None:
    samples = record.samples
    if not (is_measurable(min(samples)) and is_measurable(max(samples))):
        value = next(value for value in samples if not is_measurable(value))
        problem = f"field samples: nobody measured {value!r}: values lie from {SMALLEST} to {LARGEST}, or are 0"
        raise DamagedFileError(path, f"line {number}", problem)
    if isinstance(record.configuration, RandomPing | RandomPingPong):
        sizes = len(record.configuration.message_sizes)
        if len(samples) % sizes:
            problem = f"field samples: {len(samples)} of {sizes} sizes, which have equally many each: cut short?"
            raise DamagedFileError(path, f"line {number}", problem)


@checked
def load_all(paths: Iterable[str | os.PathLike[str]]) -> Measurements:
    """Read several results files as one; a launch that stands in several of them counts once (`distinct`)."""
    return without_duplicates([(str(path), load(path)) for path in paths])


def encoded(measurements: Measurements) -> Iterator[bytes]:
    """Yield the lines of a results file."""
    for launch in measurements.launches:
        for line in (launch.header, *launch.records):
            yield msgspec.json.encode(line) + b"\n"


@checked
def dump(measurements: Measurements, path: str | os.PathLike[str]) -> None:
    """Write a results file, replacing one that is there."""
    write_bytes(path, encoded(measurements))


def _cut_off(path: Path) -> int:
    """Return the number of bytes after the last complete line."""
    lines = _Lines(path)
    for _ in lines:
        pass
    return lines.cut_off


class Writer:
    """Appends lines to a results file, each synced to disk before the call returns; one writer at a time.

    >>> import tempfile, pathlib
    >>> from commmodel.results import Header, Library, Record
    >>> from commmodel.results.configurations import Threshold
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "results.jsonl"
    >>> with Writer(path) as writer:
    ...     writer.write(Header("commmodel-results", 1, "2026-01-01", (), Library("MPICH"), (), ()))
    ...     writer.write(Record(Threshold("same-node"), "B", (8116.0,)))
    >>> [record.samples for record in load(path).records]
    [(8116.0,)]
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], *, resume: bool = False, force: bool = False) -> None:
        """Create the file, with `resume` continue after its last complete line, with `force` begin it anew.

        Nobody else can write into it until it is closed.

        Raises
        ------
        InputError
            Where the file holds something and is neither resumed nor replaced, is missing and is resumed, is being
            written by another program, or cannot be written.
        """
        self._path = path
        self._encoder = msgspec.json.Encoder()
        try:
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | (0 if resume else os.O_CREAT), 0o666)
        except FileNotFoundError as error:
            if resume and os.path.isdir(os.path.dirname(path) or "."):
                raise InputError(f"{path}: there is no such file to resume: leave --resume out") from None
            raise unwritable(path, error) from None
        except OSError as error:
            raise unwritable(path, error) from None
        try:
            claim(self._file, path)
            if force:  # only now: another program may be writing into it
                os.ftruncate(self._file, 0)
            size = os.fstat(self._file).st_size
            if size and not resume:
                raise existing(path)
            self._end = size - _cut_off(Path(path)) if size else 0
            if size and not self._end and not _begins_header(os.pread(self._file, 64, 0)):
                raise DamagedFileError(path, "line 1", "no beginning of a results file: name another one with --output")
            self._left_over = size > self._end
        except OSError as error:
            os.close(self._file)
            raise unwritable(path, error) from None
        except BaseException:  # whatever it was: the lock must not stay; it is raised again
            os.close(self._file)
            raise

    @property
    def is_empty(self) -> bool:
        """Whether the file has no complete line."""
        return self._end == 0

    def write(self, line: Header | Record) -> None:
        """Append one line; on a full disk, nothing."""
        content = self._encoder.encode(line) + b"\n"
        position = 0
        try:
            if self._left_over:  # of a writer that was killed
                os.ftruncate(self._file, self._end)
                self._left_over = False
            while position < len(content):
                position += os.write(self._file, content[position:])
            os.fsync(self._file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, self._end)
            raise unwritable(self._path, error) from None
        self._end += position

    def close(self) -> None:
        """Close the file and release its lock."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def existing(path: str | os.PathLike[str]) -> InputError:
    """Return the line to raise for a results file that is there, and neither to be completed nor to be replaced."""
    return InputError(
        f"{path} exists: complete it with --resume, replace it with --force, or name another file with --output"
    )


def claim(file: int, path: str | os.PathLike[str]) -> None:
    """Lock an open file, that of `path` or one beside it, until this process closes it.

    Raises
    ------
    InputError
        Where another program has it: ranks of a launch whose launcher was killed may still be measuring.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        process = _holder(os.fstat(file))
        holder = f"process {process}" if process else "another program, perhaps on another host,"
        problem = f"{holder} is still writing into it: wait for it or end it, or name another file with --output"
        raise InputError(f"{path}: {problem}") from None
    except OSError:  # a file system without locks: go on without
        pass


def _begins_header(content: bytes) -> bool:
    """Whether a file's first bytes may be those of a truncated header."""
    start = b'{"type":"header"'
    return content.startswith(start) or start.startswith(content)


def _holder(status: os.stat_result) -> int | None:
    """Return the process of this host that has locked a file, where Linux tells."""
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    with suppress(OSError, ValueError, IndexError):
        for words in map(str.split, Path("/proc/locks").read_text(encoding="ascii").splitlines()):
            if words[1] == "FLOCK" and words[5] == device:
                return int(words[4])
    return None


def schema() -> bytes:
    """Return the JSON Schema of a line, formatted: ``docs/reference/results.schema.json``."""
    plain = msgspec.json.schema(Header | Record)
    for of_type in plain["$defs"].values():
        if "description" in of_type:  # a docstring, whose indentation Python keeps up to 3.12
            of_type["description"] = cleandoc(of_type["description"])
        for part in of_type.get("properties", {}).values():
            part.pop("propertyNames", None)  # of msgspec 0.23; the same schema by every release
    return msgspec.json.format(msgspec.json.encode(plain), indent=2) + b"\n"
