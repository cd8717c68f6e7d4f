"""The file ``results.jsonl``, read strictly and written a record at a time. Main entries: `read`, `Writer`."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Literal, Self, TypeVar

import msgspec
from msgspec import Struct

from commmodel.errors import DamagedFileError, InputError
from commmodel.results.records import Header, Launch, Measurements, Record

__all__ = ["FORMAT", "VERSION", "Writer", "read", "read_all", "schema"]

FORMAT: Literal["commmodel-results"] = "commmodel-results"
VERSION = 1
# History of the format: 1, first version.


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
    >>> from commmodel.results import Header, Library, Record, Threshold
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
