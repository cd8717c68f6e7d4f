"""Text of traces in pieces of whole lines, from plain or compressed files that are open only while being read.

A trace has a file for each of thousands of ranks, more than may be open at once; so a file is opened for each piece.
Compression (gzip, bzip2, xz) is known by how a file begins. Main entries: `pieces`, `listed`.
"""

import bz2
import lzma
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from commmodel.errors import DamagedFileError, InputError

LONGEST_LINE = 1 << 24
"""Bytes; an alltoallv on 10^6 ranks has 2 * 10^6 numbers."""
_LARGEST_LIST = 1 << 28
JSON = "JSON: of traces in JSON none is read; of Chakra's, its binary form (.et) is"
"""What is wrong with a trace that begins with a brace."""
_BEGINNING = 1 << 16
_ACTION = re.compile(rb"\s*\d+\s+[A-Za-z_]+(\s|$)")
_COMPRESSED = 1 << 16
"""Bytes of a compressed file that are read at a time: what they hold is many times more."""
_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}


def _compression(path: Path) -> str:
    """Return how a file is compressed, by its first bytes: empty where it is not."""
    try:
        with path.open("rb") as file:
            begin = file.read(6)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    return next((name for magic, name in _MAGIC.items() if begin.startswith(magic)), "")


def _decompressor(kind: str) -> Any:
    if kind == "gzip":
        return zlib.decompressobj(wbits=31)
    return bz2.BZ2Decompressor() if kind == "bzip2" else lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=1 << 28)


def _raw(path: Path, size: int) -> Iterator[bytes]:
    place = 0
    while True:
        try:
            with path.open("rb") as file:
                file.seek(place)
                read = file.read(size)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None
        if not read:
            return
        yield read
        place += len(read)


def _unpacked(path: Path, kind: str, size: int) -> Iterator[bytes]:
    """Yield the content of a compressed file, at most `size` bytes at a time."""
    current = None
    for read in _raw(path, min(size, _COMPRESSED)):
        pending = read
        while True:
            if current is None:
                pending = pending.lstrip(b"\0")  # padding between members
                if not pending:
                    break
                current = _decompressor(kind)
            try:
                data = current.decompress(pending, size)
            except (zlib.error, lzma.LZMAError, OSError, EOFError) as error:
                raise DamagedFileError(path, "", f"not {kind} as it should be: {error}: make it anew") from None
            if data:
                yield data
            if current.eof:
                pending, current = current.unused_data, None
                continue
            if kind == "gzip":
                pending = current.unconsumed_tail
                if not pending and len(data) < size:
                    break
            else:
                pending = b""
                if current.needs_input:
                    break
    if current is not None:
        raise DamagedFileError(path, "at its end", f"the {kind} data are cut off: the file is not complete")


def chunks(path: Path, size: int) -> Iterator[bytes]:
    """Yield the bytes of a file, unpacked where it is compressed, at most `size` at a time; raises as `pieces`."""
    kind = _compression(path)
    return _unpacked(path, kind, size) if kind else _raw(path, size)


def pieces(path: Path, size: int) -> Iterator[bytes]:
    """Yield the text of a file in pieces of whole lines, of about `size` bytes.

    Raises
    ------
    InputError
        Where the file cannot be read.
    DamagedFileError
        Where compressed data are damaged or cut off, or a line is longer than 16 MiB.
    """
    parts: list[bytes] = []
    length = 0
    for data in chunks(path, size):
        cut = data.rfind(b"\n") + 1
        if cut:
            yield b"".join([*parts, data[:cut]])
            parts, length = [], 0
        if cut < len(data):
            parts.append(data[cut:])
            length += len(data) - cut
            if length > LONGEST_LINE:
                raise DamagedFileError(path, "", f"a line of more than {LONGEST_LINE >> 20} MiB: this is no trace")
    if parts:
        yield b"".join(parts)


def beginning(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked where it is compressed; nothing of what is no file."""
    if not path.is_file():
        return b""
    return next(chunks(path, _BEGINNING), b"")


def is_action(begin: bytes) -> bool:
    """Whether the first line that is no comment is an action of a time-independent trace."""
    lines = (line.lstrip() for line in begin.splitlines())
    return _ACTION.match(next((line for line in lines if line and not line.startswith(b"#")), b"")) is not None


def listed(path: Path) -> list[Path]:
    """Return the traces that a list file names, or the file itself where it is a trace."""
    if _compression(path):
        return [path]
    try:
        if not os.path.isfile(path):
            raise InputError(f"{path}: not a file: give a list of traces, or a trace")
        with path.open("rb") as file:
            begin = file.read(_BEGINNING)
            if is_action(begin):
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
            problem = f"{name[:60]!r}: there is no such trace: a list of traces has a name in each line"
            if text.lstrip().startswith(b"{"):
                problem = JSON
            raise DamagedFileError(path, f"line {number}", problem)
        traces.append(trace)
    if not traces:
        raise DamagedFileError(path, "", "no traces: expected a name in each line")
    return traces
