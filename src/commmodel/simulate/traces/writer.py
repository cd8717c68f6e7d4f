"""Programs written as time-independent traces, a file per rank and a list of them.

Bytes are counts of type 6 (BYTE), and seconds that a rank computes are flops at a speed. Marks are left out: a trace
has none. Messages of collectives, whose tags are below 0, get tags from 900000 on. Main entry: `dump`.
"""

import bz2
import gzip
import lzma
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from commmodel.arguments import Positive, finite
from commmodel.errors import InputError
from commmodel.files import open_output, write_text
from commmodel.signatures import checked
from commmodel.simulate.operations import ANY, COLLECTIVE_TAG, EVERY_NAMED, Code, Operations, Program
from commmodel.simulate.work.block_streams import fresh

_COLLECTIVE_TAGS_FROM, _COLLECTIVE_TAGS = 900_000, 100_000  # below 10^6, the highest tag of the peer
Compression = Literal["", ".gz", ".bz2", ".xz"]
_OPEN: dict[Compression, Any] = {
    "": nullcontext,
    ".gz": lambda file: gzip.GzipFile("", "wb", fileobj=file),
    ".bz2": lambda file: bz2.BZ2File(file, "wb"),
    ".xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115  (opened by who calls it)
}


@runtime_checkable
class ActionText(Protocol):
    """Ranks' actions that are text already: of an application kernel, or of a recording."""

    @property
    def processes(self) -> int:
        """P."""

    def text(self, rank: int) -> Iterator[str]:
        """Yield the lines of a rank."""


@checked
def dump(
    program: Program | ActionText,
    folder: str | os.PathLike[str],
    *,
    speed: Positive = 1e9,
    compression: Compression = "",
) -> Path:
    """Write a program as a trace and return its list file, ``list.txt`` in the folder.

    Parameters
    ----------
    program : Program or ActionText
        What ranks do.
    folder : str or path
        Made where there is none.
    speed : float
        Flops per second, by which seconds of a program become flops; texts have flops already.
    compression : str
        Empty, ``.gz``, ``.bz2`` or ``.xz``.

    Raises
    ------
    InputError
        Where files cannot be written, or a program waits for a request that there is not.
    """
    finite("speed", speed, above=0)
    place = Path(folder)
    text = _texts(program, speed) if isinstance(program, Program) else program.text
    try:
        place.mkdir(parents=True, exist_ok=True)
        names = [f"rank{rank}.txt{compression}" for rank in range(program.processes)]
        for rank, name in enumerate(names):
            _write_rank(_OPEN[compression], place / name, text(rank))
        index = place / "list.txt"
        write_text(index, "".join(f"{name}\n" for name in names))
    except OSError as error:
        raise InputError(f"{error.filename or place}: {error.strerror}") from None
    return index


def _write_rank(opened: Any, path: Path, parts: Iterator[str]) -> None:
    # There may be a hundred thousand of them: only the list, which is written when all are there, waits for the disk.
    with open_output(path, sync=False) as raw, opened(raw) as file:
        for part in parts:
            file.write(part.encode("ascii"))


def _texts(program: Program, speed: float) -> Callable[[int], Iterator[str]]:
    source = fresh(program)

    def text(rank: int) -> Iterator[str]:
        yield f"{rank} init\n"
        names: dict[int, str] = {}
        for operations in source.pieces(rank):
            yield "".join(_lines(rank, operations, names, speed))
        yield f"{rank} finalize\n"

    return text


def _tag(tag: int) -> int:
    return _COLLECTIVE_TAGS_FROM + (COLLECTIVE_TAG - tag) % _COLLECTIVE_TAGS if tag <= COLLECTIVE_TAG else tag


def _lines(rank: int, operations: Operations, names: dict[int, str], speed: float) -> Iterator[str]:
    """Yield the actions of operations; `names` holds partners and tags of pending requests."""
    for code, peer, tag, request, value in operations.tolist():
        match code:
            case Code.COMPUTE:
                yield f"{rank} compute {value * speed!r}\n"
            case Code.SLEEP:
                yield f"{rank} sleep {value!r}\n"
            case Code.SEND | Code.ISEND | Code.RECV | Code.IRECV:
                action = Code(code).name.lower()
                if request >= 0:
                    ends = (rank, peer) if code == Code.ISEND else (peer, rank)
                    names[request] = f"{ends[0]} {ends[1]} {_tag(tag)}"
                yield f"{rank} {action} {peer} {_tag(tag)} {_count(value)} 6\n"
            case Code.WAIT | Code.TEST:
                if request not in names:
                    raise InputError(f"rank {rank} waits for request {request}, which there is not")
                yield f"{rank} {Code(code).name.lower()} {names[request]}\n"
            case Code.WAITALL:
                if request == EVERY_NAMED:
                    names.clear()
                yield f"{rank} waitall\n"
            case _:
                pass


def _count(value: float) -> int:
    return int(value) if value >= 0 else ANY
