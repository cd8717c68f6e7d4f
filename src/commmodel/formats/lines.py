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
from commmodel.formats.job_scripts import Placement
from commmodel.results import Configuration, Header, Host, Launch, Library, Record, with_labels
from commmodel.results.configurations import Function, MessagePath
from commmodel.results.records import UNKNOWN_LIBRARY
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
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks."""
_NUMBER = re.compile(rf"{_REAL.pattern}|[+-]?(?:nan|inf)", re.ASCII | re.IGNORECASE)
_RANK = re.compile(r"(?:\[[0-9]+\]|[0-9]+:)(?: |$)|\[[^][\s]*,[0-9]+\]<std(?:out|err)>: ?")
"""What launchers write before a line: ``0:`` of Slurm and Flux, ``[0]`` of MPICH, ``[1,0]<stdout>:`` of Open MPI."""
_FEWEST_RANKS = 3
"""Lines that begin so in a launcher's output; a shell's ``[1] 4711`` stands alone."""


@dataclass(frozen=True)
class Text(OneLine):
    """A file's lines, without white space around them."""

    path: Path
    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """On how the lines were read."""
    placement: Placement | None = None
    """Of the ranks, where it is told or a job script beside the file says it."""
    library: str = ""
    """The MPI library, where that script loads one."""

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


class UnreadFileError(DamagedFileError):
    """A file in which there are no measurements for us; among others it is passed over."""


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

    def is_row(self) -> bool:
        """Whether the line is a table's row, complete or damaged: numbers, not a sentence and not ``real 3.10``.

        >>> [TextLine(Text(Path("log"), ()), 1, words).is_row() for words in ("8 1.5", "8 fast", "real 3.10")]
        [True, True, False]
        """
        words = self.content.split()
        numbers = sum(_NUMBER.fullmatch(word) is not None for word in words)
        is_name = words[0].rstrip(":").isalpha() and len(words[0]) > 1 and not _NUMBER.fullmatch(words[0])
        return not is_name and 2 * numbers >= len(words)

    def is_cut_off(self, columns: int) -> bool:
        """Whether the line is the text's last and has fewer columns than its table: a log that was cut off.

        >>> TextLine(Text(Path("log"), ("8 1.5", "16", "")), 2, "16").is_cut_off(2)
        True
        """
        return len(self.content.split()) < columns and not any(self.text.lines[self.number :])

    def whole(self, word: str, name: str, least: int = 0) -> int:
        """Return an integer in the line; `name` is for error messages."""
        if not _WHOLE.fullmatch(word) or int(word) < least:
            raise self.damaged(f"{name}: {shown(word)} is no whole number from {least} up; restore or remove the line")
        return int(word)

    def real(self, word: str, name: str) -> float:
        """Return a finite number ≥ 0 in the line; `name` is for error messages."""
        value = float(word) if _REAL.fullmatch(word) else math.nan
        if not 0 <= value < math.inf:
            mend = POINT if "," in word else "restore or remove the line"
            raise self.damaged(f"{name}: {shown(word)} is no finite number from 0 up; {mend}")
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


POINT = "write numbers with a decimal point, as `tr , .` makes them"
"""The mend of a decimal comma."""


def passed_over(lines: Sequence[TextLine]) -> tuple[str, ...]:
    """Return the note on lines in or after a table that are none of its rows, such as a batch system's."""
    if not lines:
        return ()
    more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
    return (lines[0].note(f"{shown(lines[0].content)} is no row of the table: passed over{more}"),)


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
        raise UnreadFileError(path, "", "it is empty: name the file that holds the benchmark's output")
    notes: list[str] = []
    if content.startswith(_UTF16):
        text = content.decode("utf-16", "replace")
        content = text.encode()
    else:
        text = content.decode("utf-8-sig", "replace")
    if binary := _NOT_TEXT.search(content):
        number = content.count(b"\n", 0, binary.start()) + 1
        raise UnreadFileError(path, f"line {number}", "binary data: name a file of text, or convert it with iconv")
    if "\ufffd" in text:
        number = text.count("\n", 0, text.index("\ufffd")) + 1
        notes.append(f"{path}: line {number}: not UTF-8: what is none is read as �")
    lines = tuple(line.strip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    for number, line in enumerate(lines, start=1):
        if len(line) > longest_line:
            problem = f"{len(line)} characters long: no line of a benchmark's output; remove it"
            raise DamagedFileError(path, f"line {number}", problem)
    text_lines = Text(path, lines, tuple(notes))
    return _without_ranks(text_lines) if largest == LARGEST_FILE else text_lines


def _without_ranks(text: Text) -> Text:
    """Return the lines without what a launcher wrote before each of them, with a note."""
    prefixes = {number: match for number, line in enumerate(text.lines) if (match := _RANK.match(line))}
    if not prefixes:
        return text
    first, last = min(prefixes), max(prefixes)
    between = [line for line in text.lines[first : last + 1] if line]
    if len(prefixes) < max(_FEWEST_RANKS, len(between) / 2):
        return text
    note = text.note(first + 1, f"{prefixes[first][0].strip()!r} and its like, of a launcher, are left out")
    lines = tuple(line[prefixes[i].end() :].strip() if i in prefixes else line for i, line in enumerate(text.lines))
    return Text(text.path, lines, (*text.notes, note))


OVERLAPPED_TIME = "overlapped time"
"""Metric of an operation beside computation."""


def suite_function(
    name: str, numbers: Mapping[str, float], labels: Mapping[str, str], metric: str = "time"
) -> Function:
    """Return the configuration of a suite's test that no kernel of ours measures, by its name and what is said of it.

    >>> suite_function("osu_put_latency", {"n": 8}, {"window": "MPI_Win_allocate"})
    Function(name='osu_put_latency [window=MPI_Win_allocate]', metric='time', parameters=(('n', 8.0),))
    """
    return Function(
        with_labels(name, labels.items()), metric, tuple((key, float(value)) for key, value in numbers.items())
    )


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
        mpi=Library(f"{UNKNOWN_LIBRARY} {suite} output)", standard=standard),
        hosts=(host or Host("unknown"),),
        ranks=(),
        versions=dict(versions or {}),
        placement=dict(placement or {}),
    )
    return Launch(header, tuple(records))
