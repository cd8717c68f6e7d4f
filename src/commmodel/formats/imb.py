"""Intel MPI Benchmarks: the tables of all its programs, IMB-MPI1, -P2P, -NBC, -RMA, -EXT, -IO, -MPI4 and -MT.

``# Benchmarking PingPong`` opens a table. Times are half round trips. In the multi mode, g groups of two processes
play at once: ``-multi 0`` prints the slowest group, ``-multi 1`` each group, of which the slowest is taken here, as
our own kernel pairs does. Uniband's pairs send windows of messages one way; rank i sends to rank i + k. Else the time
of the slowest rank is taken; of non-blocking operations that alone, and that beside computation. What a benchmark
becomes is in `commmodel.formats.imb_benchmarks`. Main entry: `parse`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from commmodel.formats.imb_benchmarks import IMBBenchmark, IMBSetting, as_function, imb_benchmark, program_of
from commmodel.formats.lines import OVERLAPPED_TIME, Text, TextLine, launch, passed_over, shown
from commmodel.results import Host, Launch, Measurements, Record
from commmodel.results.configurations import Stream

_BANNER = re.compile(
    r"#\s*Intel ?\(R\) MPI Benchmark(?: Suite V|s )(?P<version>[^,]+?)\s*, (?P<part>\S+) part(?P<device> \(GPU\))?.*"
)
_BENCHMARK = re.compile(r"#\s*Benchmarking\s+(?P<multi>Multi-)?(?P<name>\S+)(?:\s+\((?P<grid>[0-9]+(?: x [0-9]+)+)\))?")
_PROCESSES = re.compile(r"#\s*#processes\s*=\s*(?P<count>[^\s;]+)(?:\s*\(threads:\s*(?P<threads>\S+)\)|(?P<map>;.*))?")
_GROUPS = re.compile(r"#\s*\(\s*(?P<groups>\S+) groups of (?P<size>\S+) processes each running simultaneous\s*\)")
_WAITING = re.compile(r"#\s*\(\s*(?P<count>\d+) additional process(es)? waiting in MPI_Barrier\s*\)")
_MODE = re.compile(r"#\s*MODE: (?P<mode>\S+)")
_WINDOW = re.compile(r"#\s*window_size = (?P<window>\S+)")
_ABOUT = re.compile(r"#\s*(?P<name>Date|Release|MPI Version)\s*:\s*(?P<value>.*)")
_GAVE_UP = re.compile(r"out-of-mem|int-overflow|time-?out|not executed", re.IGNORECASE)
US = 1e6
"""Microseconds in a second; dividing by it is exact to the last bit, multiplying by 1e-6 is not."""
_TIMES = ("t_pure[usec]", "t[usec]", "t_max[usec]")
"""Columns to take, the first that is there."""
_RATE = "msg/sec"
_OVERLAPPED = "t_ovrl[usec]"
"""Column of an operation beside computation."""


@dataclass
class _BenchmarkTable:
    """State of reading a benchmark's table."""

    setting: IMBSetting
    is_read: bool = True
    columns: tuple[str, ...] = ()
    foreign: list[TextLine] = field(default_factory=list)
    """Lines within the table that are none of it."""
    records: list[Record] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    @property
    def benchmark(self) -> IMBBenchmark:
        """What becomes of its rows."""
        return imb_benchmark(self.setting)

    @property
    def column(self) -> str:
        """Name of the column that is read; empty where there is none."""
        columns = (_RATE,) if self.benchmark.directions else (*_TIMES, _RATE)
        return next((name for name in columns if name in self.columns), "")


def recognise(lines: Sequence[str]) -> int:
    """Return the number of the first line that only this suite writes, 0 where there is none."""
    numbers = (number for number, line in enumerate(lines, 1) if _BANNER.fullmatch(line) or _BENCHMARK.fullmatch(line))
    return next(numbers, 0)


def _open(line: TextLine, match: re.Match[str], part: str) -> _BenchmarkTable:
    setting = IMBSetting(program_of(part, match["name"]), match["name"], line.text.placement)
    setting.is_multi = match["multi"] is not None
    if match["grid"]:
        setting.labels["grid"] = match["grid"].replace(" ", "")
    return _BenchmarkTable(setting)


def _set_head(line: TextLine, table: _BenchmarkTable, notes: list[str]) -> None:
    """Read a line of a table's head."""
    setting = table.setting
    if match := _GROUPS.fullmatch(line.content):
        setting.groups = line.whole(match["groups"], "groups", 1)
        setting.processes = line.whole(match["size"], "processes of a group", 1)
        setting.is_multi = True
    elif match := _PROCESSES.fullmatch(line.content):
        setting.processes = line.whole(match["count"], "#processes", 1)
        setting.threads = line.whole(match["threads"] or "1", "threads", 1)
        if match["map"]:  # ranks in another order than that of a job script
            setting.placement = None
        if table.benchmark.has_path and setting.path is None:
            words = "left out: not all of its pairs take one path"
            notes.append(line.note(f"{setting.name} of {setting.processes} processes is {words}"))
            table.is_read = False
    elif match := _MODE.fullmatch(line.content):
        setting.labels["mode"] = match["mode"].lower()
    elif match := _WINDOW.fullmatch(line.content):
        setting.labels["window"] = match["window"]
    elif setting.name == "Uniband" and setting.path == "any" and _WAITING.fullmatch(line.content):
        words = "left out, as processes wait beside it: its pairs may be on one node; start no more than take part"
        notes.append(line.note(f"Uniband of {2 * setting.pairs} processes is {words}"))
        table.is_read = False
    elif "#repetitions" in line.content:
        table.columns = tuple(word.lstrip("#").lower() for word in line.content.split())
        has_size = "bytes" in table.columns or table.benchmark.is_sizeless
        if not table.column or not has_size:
            column = "msg/sec" if table.benchmark.directions else "t[usec]"
            raise line.damaged(f"no columns #bytes and {column} in {shown(line.content)}; restore the line")


def _row(line: TextLine, table: _BenchmarkTable, notes: list[str]) -> None:
    words = line.content.split()
    if not table.columns:
        raise line.damaged(f"{shown(line.content)} stands before the table's header '#bytes ...'; restore or remove it")
    if match := _GAVE_UP.search(line.content):
        notes.append(line.note(f"left out, as IMB gave up on it: {shown(line.content[match.start() :])}"))
        return
    if not line.is_row():
        table.foreign.append(line)
        return
    if line.is_cut_off(len(table.columns)):
        notes.append(line.note("the log ends within this row, which is left out"))
        return
    values = dict(zip(table.columns, words, strict=False))
    size = line.whole(values.get("bytes", ""), "#bytes") if "bytes" in table.columns else None
    if len(words) != len(table.columns):
        raise line.damaged(f"{len(words)} columns, but the table's header names {len(table.columns)}; restore the line")
    if table.foreign and table.sizes and (size or 0) < table.sizes[-1]:
        table.foreign.append(line)  # of another program: sizes of a table ascend
        return
    table.sizes.append(size or 0)
    if line.real(values.get("defects", "0"), "defects"):
        notes.append(line.note(f"{size} B is left out: its data arrived wrong (defects)"))
        return
    value = line.real(values[table.column], table.column)
    if value == 0 or (size == 0 and table.column == _RATE):
        if size != 0 or table.column != _RATE:
            notes.append(line.note(f"{size or 0} B is left out: {table.column} is 0, below the clock's resolution"))
        return
    table.records += _records(line, table, size, values)


def _records(line: TextLine, table: _BenchmarkTable, size: int | None, values: dict[str, str]) -> list[Record]:
    """Return what a row says, and its time beside computation where that was measured, too."""
    setting, benchmark = table.setting, table.benchmark
    value = line.real(values[table.column], table.column)
    messages = (benchmark.directions or 1) * setting.pairs * setting.threads
    configuration = benchmark.configuration(setting, size)
    row = line.record(configuration, messages / value if table.column == _RATE else value / US)
    # The groups' rows of one size follow each other: keep the slowest.
    if "group" in table.columns and table.records and table.records[-1].configuration == configuration:
        return [max(row, table.records.pop(), key=lambda record: record.samples)]
    if together := line.real(values.get(_OVERLAPPED, "0"), _OVERLAPPED):
        beside = msgspec.structs.replace(as_function(setting, size), metric=OVERLAPPED_TIME)
        return [row, line.record(beside, together / US)]
    return [row]


def _date(text: str) -> str:
    """Return IMB's date in ISO 8601; its time zone is not known."""
    try:
        return datetime.strptime(text, "%a %b %d %H:%M:%S %Y").isoformat()
    except ValueError:
        return text


def _close(table: _BenchmarkTable, about: dict[str, str]) -> Launch:
    setting = table.setting
    pairs = tuple((rank, rank + setting.pairs) for rank in range(setting.pairs))
    name = f"{'Multi-' if setting.is_multi else ''}{setting.name}"
    is_stream = bool(table.records) and isinstance(table.records[0].configuration, Stream)
    return launch(
        "IMB",
        # What was asked of a program for accelerators is not told: it is not taken for a host's memory.
        (f"{setting.program} {name}", "-d", "gpu") if about.get("device") else (setting.program, name),
        table.records,
        versions={"intel-mpi-benchmarks": about.get("version", "unknown")},
        host=Host("unknown", kernel=about.get("Release", "")),
        created=_date(about.get("Date", "")),
        standard=about.get("MPI Version", ""),
        placement={setting.path or "any": pairs} if is_stream else {},
    )


def parse(text: Text) -> Measurements:
    """Return the results of all tables, a launch for each."""
    tables: list[tuple[_BenchmarkTable, dict[str, str]]] = []
    about: dict[str, str] = {}
    notes: list[str] = []
    table: _BenchmarkTable | None = None
    for line in text.numbered():
        if banner := _BANNER.fullmatch(line.content):  # a further run in the same file
            about, table = banner.groupdict(""), None
        elif match := _BENCHMARK.fullmatch(line.content):
            table = _open(line, match, about.get("part", "MPI-1"))
            tables.append((table, about))
        elif table is None:
            if match := _ABOUT.fullmatch(line.content):
                about[match["name"]] = match["value"]
        elif not table.is_read or not line.content:
            continue
        elif line.content.startswith("#") or "#repetitions" in line.content:
            _set_head(line, table, notes)
        else:
            _row(line, table, notes)
    notes += passed_over([line for table, _ in tables for line in table.foreign])
    return Measurements(
        tuple(_close(table, settings) for table, settings in tables if table.is_read and table.records), tuple(notes)
    )
