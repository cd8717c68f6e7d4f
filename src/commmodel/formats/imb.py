"""Intel MPI Benchmarks: PingPong of IMB-MPI1, alone and in the multi mode (``-multi``).

``# Benchmarking PingPong`` opens a table. Times are half round trips. In the multi mode, g groups of two processes
play at once: ``-multi 0`` prints the slowest group, ``-multi 1`` each group, of which the slowest is taken here, as
our own kernel pairs does. Other benchmarks of the file are left out. Main entry: `parse`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from commmodel.formats.lines import Text, launch, real, record, shown, whole
from commmodel.results import Host, Launch, Measurements, Record
from commmodel.results.configurations import Pairs, PingPong

_BANNER = re.compile(r"#\s*Intel ?\(R\) MPI Benchmark(?: Suite V|s )(?P<version>[^\s,]+), (?P<part>\S+) part")
_BENCHMARK = re.compile(r"#\s*Benchmarking\s+(?P<name>\S+)")
_PROCESSES = re.compile(r"#\s*#processes\s*=\s*(?P<count>\S+)")
_GROUPS = re.compile(r"#\s*\(\s*(?P<groups>\S+) groups of (?P<size>\S+) processes each running simultaneous\s*\)")
_ABOUT = re.compile(r"#\s*(?P<name>Date|Release|MPI Version)\s*:\s*(?P<value>.*)")
_GAVE_UP = re.compile(r"out-of-mem|int-overflow|time-?out|not executed", re.IGNORECASE)
US = 1e6
"""Microseconds in a second; dividing by it is exact to the last bit, multiplying by 1e-6 is not."""
_TIMES = ("t[usec]", "t_max[usec]")
"""Columns to take, the first that is there."""


@dataclass
class _BenchmarkTable:
    """State of reading a benchmark's table."""

    is_read: bool
    pairs: int = 1
    multi: bool = False
    columns: tuple[str, ...] = ()
    records: list[Record] = field(default_factory=list)


def recognise(lines: Sequence[str]) -> int:
    """Return the number of the first line that only this suite writes, 0 where there is none."""
    numbers = (number for number, line in enumerate(lines, 1) if _BANNER.fullmatch(line) or _BENCHMARK.fullmatch(line))
    return next(numbers, 0)


def _open(text: Text, number: int, name: str, part: str, notes: list[str]) -> _BenchmarkTable:
    is_read = part == "MPI-1" and name in {"PingPong", "Multi-PingPong"}
    if not is_read:
        origin = "" if part == "MPI-1" else f" of IMB's part {part}"
        notes.append(
            text.note(number, f"the benchmark {shown(name)}{origin} is left out: only PingPong of MPI-1 is read")
        )
    return _BenchmarkTable(is_read)


def _set_groups(text: Text, number: int, match: re.Match[str], table: _BenchmarkTable, notes: list[str]) -> None:
    if whole(text, number, match["size"], "processes of a group", 1) != 2:
        notes.append(text.note(number, "PingPong in groups of other than two processes is left out"))
        table.is_read = False
    table.multi, table.pairs = True, whole(text, number, match["groups"], "groups", 1)


def _set_columns(text: Text, number: int, line: str, table: _BenchmarkTable) -> None:
    table.columns = tuple(word.lstrip("#").lower() for word in line.split())
    if "bytes" not in table.columns or not set(_TIMES) & set(table.columns):
        raise text.damaged(number, f"no columns #bytes and t[usec] in {shown(line)}; restore the line")


def _row(text: Text, number: int, line: str, table: _BenchmarkTable, notes: list[str]) -> None:
    words = line.split()
    if not table.columns:
        problem = f"{shown(line)} stands before the table's header '#bytes ...'; restore or remove it"
        raise text.damaged(number, problem)
    if _GAVE_UP.search(line):
        notes.append(text.note(number, f"left out, as IMB gave up on it: {shown(line)}"))
        return
    values = dict(zip(table.columns, words, strict=False))
    size = whole(text, number, values.get("bytes", ""), "#bytes")
    if len(words) != len(table.columns):
        problem = f"{len(words)} columns, but the table's header names {len(table.columns)}; restore the line"
        raise text.damaged(number, problem)
    name = next(name for name in _TIMES if name in values)
    seconds = real(text, number, values[name], name) / US
    if seconds == 0:
        notes.append(text.note(number, f"{size} B is left out: its time is 0, below the clock's resolution"))
        return
    configuration = Pairs(size, table.pairs, "any", 1) if table.multi else PingPong(size, "any")
    row = record(text, number, configuration, seconds)
    # The groups' rows of one size follow each other: keep the slowest.
    if "group" in table.columns and table.records and table.records[-1].configuration == configuration:
        row = max(row, table.records.pop(), key=lambda record: record.samples)
    table.records.append(row)


def _date(text: str) -> str:
    """Return IMB's date in ISO 8601; its time zone is not known."""
    try:
        return datetime.strptime(text, "%a %b %d %H:%M:%S %Y").isoformat()
    except ValueError:
        return text


def _close(table: _BenchmarkTable, about: dict[str, str]) -> Launch:
    command = ("IMB-MPI1", "Multi-PingPong" if table.multi else "PingPong")
    return launch(
        "IMB",
        command,
        table.records,
        versions={"intel-mpi-benchmarks": about.get("version", "unknown")},
        host=Host("unknown", kernel=about.get("Release", "")),
        created=_date(about.get("Date", "")),
        standard=about.get("MPI Version", ""),
    )


def parse(text: Text) -> Measurements:
    """Return the results of PingPong, a launch per table."""
    tables: list[tuple[_BenchmarkTable, dict[str, str]]] = []
    about: dict[str, str] = {}
    notes: list[str] = []
    reading: _BenchmarkTable | None = None
    for number, line in enumerate(text.lines, start=1):
        if banner := _BANNER.fullmatch(line):  # a further run in the same file
            about, reading = banner.groupdict(), None
        elif match := _BENCHMARK.fullmatch(line):
            reading = _open(text, number, match["name"], about.get("part", "MPI-1"), notes)
            tables.append((reading, about))
        elif reading is None:
            if match := _ABOUT.fullmatch(line):
                about[match["name"]] = match["value"]
        elif not reading.is_read or not line:
            continue
        elif match := _GROUPS.fullmatch(line):
            _set_groups(text, number, match, reading, notes)
        elif match := _PROCESSES.fullmatch(line):
            if not reading.multi and whole(text, number, match["count"], "#processes", 1) != 2:
                notes.append(text.note(number, "PingPong of other than two processes is left out"))
                reading.is_read = False
        elif "#repetitions" in line:
            _set_columns(text, number, line, reading)
        elif not line.startswith("#"):
            _row(text, number, line, reading, notes)
    return Measurements(
        tuple(_close(table, settings) for table, settings in tables if table.is_read and table.records), tuple(notes)
    )
