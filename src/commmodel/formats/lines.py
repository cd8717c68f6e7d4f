"""Common parts of the readers of other suites' output: lines, numbers, and launches.

Every refusal is a `DamagedFileError` that names file and line. Nothing here knows a format. Main entries: `read_lines`,
`TextLine` and `launch`.
"""

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from commmodel.arguments import is_measurable
from commmodel.documents import read_bytes
from commmodel.errors import DamagedFileError
from commmodel.results import Configuration, Header, Host, Launch, Library, Record
from commmodel.results.configurations import MessagePath
from commmodel.signatures import checked
from commmodel.values import OneLine

LARGEST_FILE = 1 << 24
"""Bytes; the output of a benchmark suite has thousands of lines, not millions."""
LONGEST_LINE = 20_000
"""Characters; a nodecomm row of 1000 pairs has 10 000."""

_WHOLE = re.compile(r"[0-9]{1,18}", re.ASCII)
_REAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
"""Control characters but white space and escape, which coloured output of launchers has."""


@dataclass(frozen=True)
class Text(OneLine):
    """A file's lines, without white space around them."""

    path: Path
    lines: tuple[str, ...]

    def numbered(self, first: int = 1) -> "Iterator[TextLine]":
        """Yield the lines, from one on."""
        for number, content in enumerate(self.lines[first - 1 :], start=first):
            yield TextLine(self, number, content)

    def damaged(self, number: int, problem: str) -> DamagedFileError:
        """Return the error for a line; lines are counted from 1."""
        return DamagedFileError(self.path, f"line {number}", problem)

    def note(self, number: int, text: str) -> str:
        """Return a note on a line that was interpreted."""
        return f"{self.path}: line {number}: {text}"


@dataclass(frozen=True)
class TextLine(OneLine):
    """A line of a text."""

    text: Text
    number: int
    """Counted from 1."""
    content: str

    def damaged(self, problem: str) -> DamagedFileError:
        """Return the error for the line."""
        return self.text.damaged(self.number, problem)

    def note(self, remark: str) -> str:
        """Return a note on the line, which was interpreted."""
        return self.text.note(self.number, remark)

    def whole(self, word: str, name: str, least: int = 0) -> int:
        """Return an integer in the line; `name` is for error messages."""
        if not _WHOLE.fullmatch(word) or int(word) < least:
            raise self.damaged(f"{name}: {shown(word)} is no whole number from {least} up; restore or remove the line")
        return int(word)

    def real(self, word: str, name: str) -> float:
        """Return a finite number ≥ 0 in the line; `name` is for error messages."""
        value = float(word) if _REAL.fullmatch(word) else math.nan
        if not 0 <= value < math.inf:
            raise self.damaged(f"{name}: {shown(word)} is no finite number from 0 up; restore or remove the line")
        return value

    def measurable(self, value: float, name: str) -> float:
        """Return a plausible measured value; raise for any other."""
        if not is_measurable(value):
            raise self.damaged(f"{name}: nobody measured {value!r}; correct or remove the line")
        return value

    def record(self, configuration: Configuration, seconds: float) -> Record:
        """Return a table row as a record with one sample (the suite's mean or median)."""
        if not 0 < seconds < math.inf:
            raise self.damaged(f"a message of {seconds} s: a time must lie between 0 and infinity; remove the line")
        self.measurable(seconds, "the time of a message")
        return Record(configuration, "s", (seconds,))


def first_line(lines: Sequence[str]) -> int:
    """Return the number of the first line that is neither empty nor a comment, 0 where there is none."""
    return next((number for number, line in enumerate(lines, 1) if line and line[0] != "#"), 0)


def shown(text: str) -> str:
    """Return a text from a file, quoted, short enough for a message.

    >>> shown("x" * 1000)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'"
    """
    return repr(text if len(text) <= 40 else f"{text[:40]}…")


def read_lines(path: str | os.PathLike[str], largest: int = LARGEST_FILE, longest_line: int = LONGEST_LINE) -> Text:
    """Read a text file; what is empty, binary, too large or has lines without end is refused."""
    path = Path(path)
    mend = "no output of a benchmark suite" if largest == LARGEST_FILE else "split it"
    content = read_bytes(path, largest, mend=mend)
    if not content.strip():
        raise DamagedFileError(path, "", "it is empty: name the file that holds the benchmark's output")
    if binary := _NOT_TEXT.search(content):
        number = content.count(b"\n", 0, binary.start()) + 1
        raise DamagedFileError(path, f"line {number}", "binary data: name a file of text")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise DamagedFileError(path, f"line {number}", "not UTF-8: name a file of text, or convert it") from None
    lines = tuple(line.strip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    for number, line in enumerate(lines, start=1):
        if len(line) > longest_line:
            problem = f"{len(line)} characters long: no line of a benchmark's output; remove it"
            raise DamagedFileError(path, f"line {number}", problem)
    return Text(path, lines)


@checked
def launch(
    suite: str,
    command: Sequence[str],
    records: Sequence[Record],
    *,
    versions: Mapping[str, str] | None = None,
    host: Host | None = None,
    created: str = "",
    standard: str = "",
    placement: Mapping[MessagePath, tuple[tuple[int, int], ...]] | None = None,
) -> Launch:
    """Return one table of a suite as a launch.

    The MPI library's name is the same for all files of a suite, as `fit` refuses to mix libraries.

    Parameters
    ----------
    suite : str
        Its name.
    command : sequence of str
        What was run, as far as the file says it.
    records : sequence of Record
    versions, host, created, standard, placement
        What else the file says of the launch, as in `commmodel.results.Header`; ``standard`` is MPI's.

    Examples
    --------
    >>> launch("OSU", ["osu_latency"], []).header.mpi.version
    'unknown (read from OSU output)'
    """
    header = Header(
        format="commmodel-results",
        version=1,
        created=created,
        command=tuple(command),
        mpi=Library(f"unknown (read from {suite} output)", standard=standard),
        hosts=(host or Host("unknown"),),
        ranks=(),
        versions=dict(versions or {}),
        placement=dict(placement or {}),
    )
    return Launch(header, tuple(records))
