"""Intel MPI Benchmarks: PingPong of IMB-MPI1, alone and in the multi mode (``-multi``), Uniband, and collectives.

``# Benchmarking PingPong`` opens a table. Times are half round trips. In the multi mode, g groups of two processes
play at once: ``-multi 0`` prints the slowest group, ``-multi 1`` each group, of which the slowest is taken here, as
our own kernel pairs does. Uniband's pairs send windows of messages one way; rank i sends to rank i + k. Of collectives
the time of the slowest rank is taken. Other benchmarks of the file are left out. Main entry: `parse`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from commmodel.formats.lines import Text, TextLine, launch, passed_over, shown
from commmodel.results import Host, Launch, Measurements, Record
from commmodel.results.configurations import Collective, CollectiveName, MessagePath, Pairs, PingPong, Stream

_BANNER = re.compile(r"#\s*Intel ?\(R\) MPI Benchmark(?: Suite V|s )(?P<version>[^\s,]+), (?P<part>\S+) part")
_BENCHMARK = re.compile(r"#\s*Benchmarking\s+(?P<name>\S+)")
_PROCESSES = re.compile(r"#\s*#processes\s*=\s*(?P<count>\S+)")
_GROUPS = re.compile(r"#\s*\(\s*(?P<groups>\S+) groups of (?P<size>\S+) processes each running simultaneous\s*\)")
_WAITING = re.compile(r"#\s*\(\s*(?P<count>\d+) additional process(es)? waiting in MPI_Barrier\s*\)")
_ABOUT = re.compile(r"#\s*(?P<name>Date|Release|MPI Version)\s*:\s*(?P<value>.*)")
_GAVE_UP = re.compile(r"out-of-mem|int-overflow|time-?out|not executed", re.IGNORECASE)
US = 1e6
"""Microseconds in a second; dividing by it is exact to the last bit, multiplying by 1e-6 is not."""
_TIMES = ("t[usec]", "t_max[usec]")
"""Columns to take, the first that is there."""
_RATE = "msg/sec"
_WINDOW = 64
"""Messages that Uniband sends before it waits."""
_COLLECTIVES: dict[str, CollectiveName] = {
    "Barrier": "barrier", "Bcast": "bcast", "Reduce": "reduce", "Allreduce": "allreduce", "Gather": "gather",
    "Gatherv": "gatherv", "Scatter": "scatter", "Scatterv": "scatterv", "Allgather": "allgather",
    "Allgatherv": "allgatherv", "Alltoall": "alltoall", "Alltoallv": "alltoallv", "Reduce_scatter": "reduce_scatter",
}  # fmt: skip
"""IMB's name -> operation."""
_READ = {"PingPong", "Multi-PingPong", "Uniband", *_COLLECTIVES}


@dataclass
class _BenchmarkTable:
    """State of reading a benchmark's table."""

    is_read: bool
    name: str = "PingPong"
    processes: int = 2
    path: MessagePath = "any"
    pairs: int = 1
    multi: bool = False
    columns: tuple[str, ...] = ()
    foreign: list[TextLine] = field(default_factory=list)
    """Lines within the table that are none of it."""
    records: list[Record] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)


def recognise(lines: Sequence[str]) -> int:
    """Return the number of the first line that only this suite writes, 0 where there is none."""
    numbers = (number for number, line in enumerate(lines, 1) if _BANNER.fullmatch(line) or _BENCHMARK.fullmatch(line))
    return next(numbers, 0)


def _open(line: TextLine, name: str, part: str, notes: list[str]) -> _BenchmarkTable:
    is_read = part == "MPI-1" and name in _READ
    if not is_read:
        origin = "" if part == "MPI-1" else f" of IMB's part {part}"
        words = "only PingPong, Uniband and collectives of MPI-1 are read"
        notes.append(line.note(f"the benchmark {shown(name)}{origin} is left out: {words}"))
    return _BenchmarkTable(is_read, name)


def _set_groups(line: TextLine, match: re.Match[str], table: _BenchmarkTable, notes: list[str]) -> None:
    if line.whole(match["size"], "processes of a group", 1) != 2:
        notes.append(line.note("PingPong in groups of other than two processes is left out"))
        table.is_read = False
    table.multi, table.pairs = True, line.whole(match["groups"], "groups", 1)


def _set_processes(line: TextLine, count: int, table: _BenchmarkTable, notes: list[str]) -> None:
    table.processes = count
    if table.name == "Uniband":
        table.pairs = max(count // 2, 1)
    elif not table.multi and table.name not in _COLLECTIVES and count != 2:
        notes.append(line.note("PingPong of other than two processes is left out"))
        table.is_read = False
    if table.name in _COLLECTIVES or (placement := line.text.placement) is None:
        return
    path = placement.path(table.pairs if table.name == "Uniband" else 1)
    if path is None:
        notes.append(line.note(f"{table.name} of {count} processes is left out: not all of its pairs take one path"))
        table.is_read = False
    table.path = path or "any"


def _set_columns(line: TextLine, table: _BenchmarkTable) -> None:
    table.columns = tuple(word.lstrip("#").lower() for word in line.content.split())
    values = (_RATE,) if table.name == "Uniband" else _TIMES
    if ("bytes" not in table.columns and table.name != "Barrier") or not set(values) & set(table.columns):
        raise line.damaged(f"no columns #bytes and {values[0]} in {shown(line.content)}; restore the line")


def _row(line: TextLine, table: _BenchmarkTable, notes: list[str]) -> None:
    words = line.content.split()
    if not table.columns:
        raise line.damaged(f"{shown(line.content)} stands before the table's header '#bytes ...'; restore or remove it")
    if _GAVE_UP.search(line.content):
        notes.append(line.note(f"left out, as IMB gave up on it: {shown(line.content)}"))
        return
    if not line.is_row():
        table.foreign.append(line)
        return
    values = dict(zip(table.columns, words, strict=False))
    size = line.whole(values.get("bytes", ""), "#bytes") if "bytes" in table.columns else 0
    if len(words) != len(table.columns):
        raise line.damaged(f"{len(words)} columns, but the table's header names {len(table.columns)}; restore the line")
    if table.foreign and table.sizes and size < table.sizes[-1]:
        table.foreign.append(line)  # of another program: sizes of a table ascend
        return
    if table.name == "Uniband":
        rate = line.real(values[_RATE], "Msg/sec")
        if size and rate:
            stream = Stream(size, table.pairs, table.path, _WINDOW, buffers="one")
            table.records.append(line.record(stream, table.pairs / rate))
        return
    table.sizes.append(size)
    name = next(name for name in _TIMES if name in values)
    seconds = line.real(values[name], name) / US
    if seconds == 0:
        notes.append(line.note(f"{size} B is left out: its time is 0, below the clock's resolution"))
        return
    if (operation := _COLLECTIVES.get(table.name)) is not None:
        if operation == "reduce_scatter":  # its size is that of the whole vector
            size = max(size // table.processes, 1) if size else 0
        per_node = None if line.text.placement is None else line.text.placement.per_node
        per_node = per_node and min(per_node, table.processes)  # the first ranks take part
        table.records.append(line.record(Collective(operation, size, table.processes, per_node=per_node), seconds))
        return
    configuration = Pairs(size, table.pairs, table.path, 1) if table.multi else PingPong(size, table.path)
    row = line.record(configuration, seconds)
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
    command = ("IMB-MPI1", "Multi-PingPong" if table.multi else table.name)
    pairs = tuple((rank, rank + table.pairs) for rank in range(table.pairs)) if table.name == "Uniband" else ()
    return launch(
        "IMB",
        command,
        table.records,
        versions={"intel-mpi-benchmarks": about.get("version", "unknown")},
        host=Host("unknown", kernel=about.get("Release", "")),
        created=_date(about.get("Date", "")),
        standard=about.get("MPI Version", ""),
        placement={table.path: pairs} if pairs else {},
    )


def parse(text: Text) -> Measurements:
    """Return the results of PingPong and Uniband, a launch per table."""
    tables: list[tuple[_BenchmarkTable, dict[str, str]]] = []
    about: dict[str, str] = {}
    notes: list[str] = []
    reading: _BenchmarkTable | None = None
    for line in text.numbered():
        if banner := _BANNER.fullmatch(line.content):  # a further run in the same file
            about, reading = banner.groupdict(), None
        elif match := _BENCHMARK.fullmatch(line.content):
            reading = _open(line, match["name"], about.get("part", "MPI-1"), notes)
            tables.append((reading, about))
        elif reading is None:
            if match := _ABOUT.fullmatch(line.content):
                about[match["name"]] = match["value"]
        elif not reading.is_read or not line.content:
            continue
        elif match := _GROUPS.fullmatch(line.content):
            _set_groups(line, match, reading, notes)
        elif match := _PROCESSES.fullmatch(line.content):
            _set_processes(line, line.whole(match["count"], "#processes", 1), reading, notes)
        elif reading.name == "Uniband" and reading.path == "any" and _WAITING.fullmatch(line.content):
            words = "left out, as processes wait beside it: its pairs may be on one node; start no more than take part"
            notes.append(line.note(f"Uniband of {2 * reading.pairs} processes is {words}"))
            reading.is_read = False
        elif "#repetitions" in line.content:
            _set_columns(line, reading)
        elif not line.content.startswith("#"):
            _row(line, reading, notes)
    notes += passed_over([line for table, _ in tables for line in table.foreign])
    return Measurements(
        tuple(_close(table, settings) for table, settings in tables if table.is_read and table.records), tuple(notes)
    )
