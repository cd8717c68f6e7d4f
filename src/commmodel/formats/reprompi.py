"""ReproMPI: times of collectives, of every repetition or summarised, as ``mpibenchmark`` prints them.

A line with the names ``test``, ``nrep`` and ``count`` opens a table of repetitions; with the option ``-v`` it has a row
for each process, of which the time of the operation is made as ReproMPI makes it: from the first start to the last end
on global clocks, or the longest of the processes' own, as ``runtime_type`` says. ``total_nrep`` opens a summary, of
which the median is taken, else the mean. Counts times the type's size are the bytes. Versions 1.0 (2016), whose column
is called ``msize``, to 2025. Main entry: `parse`.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import get_args

from commmodel.collectives.operation import OPERATIONS
from commmodel.formats.lines import Text, TextLine, launch, passed_over
from commmodel.results import Configuration, Launch, Measurements, Record
from commmodel.results.configurations import Collective, CollectiveName, Function, PingPong, Start

_ABOUT = re.compile(r"#@(?P<key>[^=\s]+)=(?P<value>.*)")
_COMMAND = re.compile(r"#Command-line arguments:(?P<words>.*)", re.IGNORECASE)
_FIRST = re.compile(r"#@reproMPIcommitSHA1=.*")
_SIZES = ("count", "msize", "msize_bytes")
_SUMMARIES = ("median_sec", "mean_sec", "min_sec", "max_sec")
"""Columns to take of a summary, the first that is there."""
_OPERATIONS: dict[str, CollectiveName] = {name: name for name in get_args(CollectiveName)}
_MOCK_UP = re.compile(r"GL_(?P<operation>\w+?)_as_\w+")
"""A call that is made of other collectives."""
_STARTS: tuple[tuple[str, Start], ...] = (
    ("roundtime", "round-time"),
    ("window", "fixed-window"),
    ("hca", "fixed-window"),
    ("jk", "fixed-window"),
    ("skampi", "fixed-window"),
)
"""Begin of what the setting procsync (sync before 2017) says, in lower case -> how repetitions begin."""
_PING_PONG = "Send_Recv"
_TYPES = {"MPI_CHAR": 1, "MPI_BYTE": 1, "MPI_INT": 4, "MPI_FLOAT": 4, "MPI_DOUBLE": 8}
"""Bytes, where the output of version 1.0 says the name alone."""


_Row = tuple[TextLine, dict[str, str]]


@dataclass
class _Table:
    """State of reading a table."""

    about: dict[str, str]
    title: TextLine
    columns: tuple[str, ...]
    rows: list[_Row] = field(default_factory=list)
    foreign: list[TextLine] = field(default_factory=list)
    """Lines within the table that are none of it."""

    @property
    def size(self) -> str:
        """Name of the column of sizes."""
        return next(name for name in _SIZES if name in self.columns)


def recognise(lines: Sequence[str]) -> int:
    """Return the number of the first line that only this benchmark writes, 0 where there is none."""
    numbers = (number for number, line in enumerate(lines, 1) if _FIRST.match(line) or _is_header(line.split()))
    return next(numbers, 0)


def _is_header(words: Sequence[str]) -> bool:
    """Whether words are the names of a table's columns.

    >>> _is_header("test nrep count runtime_sec".split()), _is_header("test nrep 8".split())
    (True, False)
    """
    return "test" in words[:2] and bool({"nrep", "total_nrep"} & {*words}) and bool({*_SIZES} & {*words})


def parse(text: Text) -> Measurements:
    """Return the tables, a launch for each."""
    tables: list[_Table] = []
    about: dict[str, str] = {}
    for line in text.numbered():
        words = line.content.split()
        if match := _COMMAND.match(line.content):
            about = {"command": match["words"].strip()}
        elif match := _ABOUT.fullmatch(line.content):
            about = about | {match["key"]: match["value"].strip()}
        elif _is_header(words):
            tables.append(_Table(about, line, tuple(words)))
        elif words and tables and not line.content.startswith("#"):
            _row(line, words, tables[-1])
    notes: list[str] = []
    launches = [launch for table in tables for launch in _launches(table, text, notes)]
    return Measurements(tuple(launches), (*notes, *passed_over([line for table in tables for line in table.foreign])))


def _row(line: TextLine, words: Sequence[str], table: _Table) -> None:
    place = table.columns.index("test")
    if not any(word.isdigit() for word in words[place + 1 : place + 2]) and not words[place].startswith("MPI_"):
        table.foreign.append(line)
        return
    if len(words) != len(table.columns):
        raise line.damaged(f"{len(words)} columns, but the table's header names {len(table.columns)}; restore the line")
    table.rows.append((line, dict(zip(table.columns, words, strict=True))))


def _launches(table: _Table, text: Text, notes: list[str]) -> Iterator[Launch]:
    """Yield the launch of a table; none, and a note, where it does not say on how many processes."""
    word = table.about.get("nprocs", "")
    ranks = int(word) if word.isdigit() else 0 if text.placement is None else text.placement.ranks
    if ranks < 1:
        words = "how many ranks there were is not known: give it as --ranks"
        notes.append(table.title.note(f"a table is left out: {words}"))
        return
    records = [*_records(table, ranks, notes)]
    if records:
        version = table.about.get("reproMPIcommitSHA1", "unknown")
        yield launch("ReproMPI", ("mpibenchmark",), records, versions={"reprompi": version})


def _records(table: _Table, ranks: int, notes: list[str]) -> Iterator[Record]:
    """Yield a record for each call and size, of all its repetitions or of their summary."""
    is_summary = "total_nrep" in table.columns
    summary = next((name for name in _SUMMARIES if name in table.columns), "")
    if is_summary and not summary:
        raise table.title.damaged(f"a summary without any of {', '.join(_SUMMARIES)}: run with --summary=median")
    if is_summary and summary != _SUMMARIES[0]:
        notes.append(table.title.note(f"{summary} is taken, as no median was printed: run with --summary=median"))
    groups: dict[Configuration, list[_Row]] = defaultdict(list)
    for line, row in table.rows:
        size = line.whole(row[table.size], table.size) * _bytes_of_count(table)
        groups[_configuration(table, line, row["test"], size, ranks)].append((line, row))
    for configuration, rows in groups.items():
        line = rows[0][0]
        late = {_repetition(table, row) for _, row in rows if row.get("errorcode", "0") != "0"}  # of any process
        valid = [(line, row) for line, row in rows if is_summary or _repetition(table, row) not in late]
        samples = [line.real(row[summary], summary) for line, row in valid] if is_summary else _times(table, valid)
        halves = 2 if isinstance(configuration, PingPong) else 1
        times = tuple(line.measurable(seconds / halves, "a time") for seconds in samples if seconds > 0)
        if len(times) < len(samples):
            notes.append(line.note(f"{len(samples) - len(times)} times are left out: they are 0"))
        if times:
            yield Record(configuration, "s", times, stop="repetitions", late=len(late))
        elif late:
            notes.append(line.note("all repetitions are left out: they began late or took too long (errorcode)"))


def _repetition(table: _Table, row: dict[str, str]) -> tuple[str, str]:
    """Return what repetition of a call a row is of."""
    return row[table.size], row.get("nrep", "")


def _times(table: _Table, rows: Sequence[_Row]) -> list[float]:
    """Return the time of each repetition on the slowest process."""
    if "runtime_sec" in table.columns:
        return [line.real(row["runtime_sec"], "runtime_sec") for line, row in rows]
    clocks = table.about.get("runtime_type", "global")
    prefix = "gl" if "gl_tend_sec" in table.columns and clocks.startswith("global") else "loc"
    if f"{prefix}_tend_sec" not in table.columns:
        raise table.title.damaged("no column runtime_sec, loc_tend_sec or gl_tend_sec; restore the line")
    spans: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for line, row in rows:
        start, end = (line.real(row[name], name) for name in (f"{prefix}_tstart_sec", f"{prefix}_tend_sec"))
        spans[_repetition(table, row)].append((start, end))
    if prefix == "gl":
        return [max(end for _, end in span) - min(start for start, _ in span) for span in spans.values()]
    return [max(end - start for start, end in span) for span in spans.values()]


def _bytes_of_count(table: _Table) -> int:
    """Return the bytes of what the column of sizes counts; a byte, ReproMPI's default, where nothing says them."""
    if table.size == "msize_bytes":
        return 1
    word = table.about.get("datatype_size_bytes", table.about.get("datatype_extent_bytes", ""))
    return int(word) if word.isdigit() and int(word) else _TYPES.get(table.about.get("datatype", ""), 1)


def _configuration(table: _Table, line: TextLine, test: str, size: int, ranks: int) -> Configuration:
    placement = line.text.placement
    if test == _PING_PONG:
        ends = [int(word) for word in table.about.get("pingpong_ranks", "0,1").split(",") if word.strip().isdigit()]
        if placement is None or placement.per_node is None:
            return PingPong(size, "any")
        return PingPong(
            size, "same-node" if len({rank // placement.per_node for rank in ends}) == 1 else "between-nodes"
        )
    mock_up = _MOCK_UP.fullmatch(test)
    operation = _OPERATIONS.get((mock_up["operation"] if mock_up else test.removeprefix("MPI_")).lower())
    if operation is None:
        return Function(test, "time", (("n", float(size)), ("p", float(ranks))))
    algorithm = test.removeprefix("GL_") if mock_up else _algorithm(table, line.text, test)
    per_node = None if placement is None else placement.per_node
    size = size if OPERATIONS[operation].has_size else 0
    return Collective(operation, size, ranks, start=_start(table.about), algorithm=algorithm, per_node=per_node)


def _algorithm(table: _Table, text: Text, test: str) -> str:
    """Return the mock-up that PGMPITuneLib put in the place of a call, as the command or pgchecker's file name says."""
    operation = test.removeprefix("MPI_").lower()
    match = re.search(rf"--module={operation}=alg:(\w+)", table.about.get("command", "")) or re.fullmatch(
        rf"data_{test}_(\w+)\.dat", text.path.name
    )
    return match[1] if match and match[1] != "default" else ""


def _start(about: dict[str, str]) -> Start:
    """Return how repetitions begin.

    >>> _start({"procsync": "roundtime"}), _start({"sync": "HCA"}), _start({"procsync": "MPI_Barrier"})
    ('round-time', 'fixed-window', 'barrier')
    """
    word = about.get("procsync", about.get("process_sync", about.get("sync", ""))).lower()
    return next((start for begin, start in _STARTS if word.startswith(begin)), "barrier")
