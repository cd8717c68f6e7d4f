"""OSU Micro-Benchmarks of versions 3 to 7: all tests of MPI that print a table of times or rates.

A test's title, ``# OSU MPI Latency Test v7.4``, opens its table; one file may hold several. Latencies are half round
trips. Bandwidths are aggregates of all pairs in 10⁶ bytes a second, so k pairs that share a rate r take k n / r for a
message; rank i sends to rank i + k. Where percentiles were asked for (option ``-z``), the median is taken, but of
osu_mbw_mr, whose percentiles are of the first pair alone. Of collectives the time of the slowest rank is taken where it
is there (option ``-f``), else the mean over ranks. Which tests there are is in `commmodel.formats.osu_tests`. Main
entry: `parse`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec

from commmodel.formats.job_scripts import command_placement, placement_words
from commmodel.formats.lines import OVERLAPPED_TIME, Text, TextLine, launch, passed_over, shown
from commmodel.formats.osu_tests import OSUTest, Setting, as_function, osu_test
from commmodel.results import Launch, Measurements, Record

_TITLE = re.compile(r"#\s*OSU (?P<name>\S.*?)(?: v(?P<version>[0-9]\S*))?")
_SLOWEST = ("Max Latency(us)", "Max Comm.(us)")
_OF_COLLECTIVES = (*_SLOWEST, "Pure Comm.(us)", "Avg Latency(us)", "Latency(us)")
"""Columns to take, the first that is there."""
_OVERLAPPED = "Overall(us)"
"""Column of a non-blocking collective beside computation."""
_BUFFERS = re.compile(
    r"#\s*(?:Send Buffer|Rank 0 Memory) on \S+ \((?P<send>\w)\) and (?:Receive Buffer|Rank 1 Memory) on"
    r" \S+ \((?P<receive>\w)\)"
)
_SETTING = re.compile(r"#\s*\[ pairs: (?P<pairs>\S+) \] \[ window size: (?P<window>\S+) \]")
_HEADER = re.compile(r"#\s*(?:Size\b|(?:Avg )?Latency ?\(us\))|(?:#\s*)?Overall\(us\)")
_WINDOWS = re.compile(r"#(?:\s+[0-9]+)+")
"""Header of a table with a column for each window (option ``-V``)."""
_DATATYPE = re.compile(r"#\s*Datatype: \S+")
_TRANSMITTED = "Transmit Size"
"""Column of derived datatypes, of which only a part of the size is sent."""
_RATE = "Messages/s"
_COLUMN = re.compile(
    r"P[0-9.]+ Tail \S+|(?:Avg |Min |Max |Bi-)?(?:Latency|Bandwidth) ?\(\S+\)|(?:Pure|Min|Max) Comm\.\S+|Coll\. \S+"
    rf"|{_TRANSMITTED}|\S+"
)
_MEDIAN = re.compile(r"P50(?:\.0+)? Tail .*")
_INIT = re.compile(r"nprocs: (?P<ranks>\S+), min: \S+ ms, max: (?P<time>\S+) ms, avg: \S+ ms")
_NUMBERS = {
    "senders": re.compile(r"#\s*Number of (?:Sender threads|forked processes in sender): (\S+)"),
    "receivers": re.compile(r"#\s*Number of (?:Receiver threads|forked processes in receiver): (\S+)"),
}
_LABELS = {
    "window": re.compile(r"#\s*Window creation: (\S+)"),
    "synchronisation": re.compile(r"#\s*Synchronization: (\S+)"),
    "dimensions": re.compile(r"Dimensions size = ([0-9 ]+)"),
    "topology": re.compile(r"Time took to create topology (graph):.*"),
}
"""What lines before a table say of all its rows; some stand before the title."""
_MOST_PAIRS = 1 << 16
"""That are named; the number of more is in the records."""
MB = 1e6
US = 1e6
"""Microseconds in a second; dividing by it is exact to the last bit, multiplying by 1e-6 is not."""
_MS = 1e3


@dataclass
class _OSUTable:
    """State of reading a test's table."""

    test: OSUTest | None
    """None where it is not read."""
    version: str
    setting: Setting
    memory: tuple[str, ...] = ()
    """Options of the command where buffers may be an accelerator's."""
    columns: tuple[str, ...] = ()
    column: str = ""
    """Name of the column that is read."""
    has_windows: bool = False
    """Whether columns are windows."""
    foreign: list[TextLine] = field(default_factory=list)
    """Lines within the table that are none of it."""
    records: list[Record] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def again(self) -> "_OSUTable":
        """Return the empty table of the same test with another datatype."""
        return replace(self, columns=(), foreign=[], records=[], sizes=[])


def recognise(lines: Sequence[str]) -> int:
    """Return the number of the first line that only this suite writes, 0 where there is none."""
    titles = (number for number, line in enumerate(lines, start=1) if _TITLE.fullmatch(line))
    return next(titles, 0)


def _open(line: TextLine, title: re.Match[str], ahead: Setting, notes: list[str]) -> _OSUTable:
    """Return the table below a title; `ahead` is what lines before it say."""
    has_neighbours = bool(ahead.labels.pop("topology", ""))
    test, device = osu_test(title["name"], has_neighbours)
    if test is None:
        notes.append(line.note(f"{shown('OSU ' + title['name'])} is left out: no test whose table is read"))
    placement = line.text.placement or ahead.placement
    if test is not None and ahead.placement is not None and (test.by_all or ahead.placement.per_node is not None):
        notes.append(line.note(f"the command above it says {placement_words(ahead.placement)}"))
    if test is not None and test.by_all and placement is None:
        notes.append(
            line.note(f"{test.program} is left out: how many ranks there were is not known: give it as --ranks")
        )
        test = None
    setting = replace(ahead, placement=placement)
    if test is not None and test.program == "osu_multi_lat" and placement is not None:
        setting.pairs = max(placement.ranks // 2, 1)
    return _OSUTable(test, title["version"] or "", setting, ("-d", device) if device else ())


def _says(line: TextLine, setting: Setting) -> bool:
    """Whether a line says something of all rows of a table, which is then in the setting."""
    for name, pattern in _NUMBERS.items():
        if match := pattern.fullmatch(line.content):
            setting.numbers[name] = line.whole(match[1], name)
            return True
    for name, pattern in _LABELS.items():
        if match := pattern.fullmatch(line.content):
            setting.labels[name] = "x".join(match[1].split())
            return True
    return False


def _set_pairs(line: TextLine, match: re.Match[str], table: _OSUTable) -> None:
    table.setting.pairs = line.whole(match["pairs"], "pairs", 1)
    table.has_windows = match["window"] == "varied"
    if not table.has_windows:
        table.setting.window = line.whole(match["window"], "window size", 1)


def _set_columns(line: TextLine, table: _OSUTable, test: OSUTest, notes: list[str]) -> None:
    table.columns = tuple(_COLUMN.findall(line.content.lstrip("# ")))
    if _TRANSMITTED in table.columns and "data" not in table.setting.labels:
        table.setting.labels["data"] = "derived"
        table.test = test = test._replace(configuration=as_function)
    table.column = _column(line, table, test, notes)
    if not table.column:
        words = shown(" ".join(table.columns))
        raise line.damaged(f"no column of {test.program} among {words}; restore the line")


def _column(line: TextLine, table: _OSUTable, test: OSUTest, notes: list[str]) -> str:
    """Return the name of the column to read; empty without any."""
    columns = table.columns
    if test.operation is not None:
        column = next((name for name in _OF_COLLECTIVES if name in columns), "")
        if column and column not in _SLOWEST:
            notes.append(line.note(f"{test.program}: the mean over ranks is taken: the option -f prints the slowest"))
        return column
    heading = "Bandwidth" if test.directions else "Latency"
    medians = [name for name in columns if _MEDIAN.fullmatch(name)]
    if medians and test.program == "osu_mbw_mr":
        notes.append(line.note(f"{test.program}: the mean is taken, as percentiles are of the first pair alone"))
        medians = []
    # Messages a second have six digits where MB/s of small messages have two.
    means = [name for name in columns if name == _RATE]
    means += [name for name in columns if heading in name and not name.startswith(("Min", "Max"))]
    means += [name for name in columns if name == "MB/s" and test.directions]
    if medians and means:
        notes.append(line.note(f"{test.program}: the median, {medians[0]}, is taken, not the mean"))
    return next(iter(medians + means), "")


def _row(line: TextLine, table: _OSUTable, test: OSUTest, notes: list[str]) -> None:
    words = line.content.split()
    if not table.columns:
        raise line.damaged(f"{shown(line.content)} stands before the table's header '# Size ...'; restore or remove it")
    if line.is_cut_off(len(table.columns)):
        notes.append(line.note("the log ends within this row, which is left out"))
        return
    size = line.whole(words[0], "Size") if "Size" in table.columns else None
    if len(words) != len(table.columns):
        raise line.damaged(f"{len(words)} columns, but the table's header names {len(table.columns)}; restore the line")
    if table.foreign and table.sizes and (size or 0) <= table.sizes[-1]:
        table.foreign.append(line)  # of another program: sizes of a table ascend
        return
    values = dict(zip(table.columns, words, strict=True))
    if values.get("Validation", "Pass").lower() != "pass":
        notes.append(line.note(f"{size} B is left out: its data arrived wrong (Validation)"))
        return
    if values.get(_TRANSMITTED) == "0":
        notes.append(line.note(f"{size} B is left out: nothing is sent of so small a derived datatype"))
        return
    for column in table.columns[1:] if table.has_windows else (table.column,):
        value = line.real(values[column], column)
        if value == 0 or (size == 0 and test.directions):
            if size and not table.has_windows:  # rates of windows stand below, with more digits
                notes.append(line.note(f"{size} B is left out: {column} is 0, too few digits were printed"))
            continue
        table.sizes.append(size or 0)
        table.records += _records(line, table, test, column, values)


def _records(line: TextLine, table: _OSUTable, test: OSUTest, column: str, values: dict[str, str]) -> list[Record]:
    """Return what the value of a column says, and of a non-blocking collective its time beside computation."""
    size = int(values["Size"]) if "Size" in values else None
    setting, value = table.setting, line.real(values[column], column)
    transmitted = size or 0
    if _TRANSMITTED in values:
        transmitted = line.whole(values[_TRANSMITTED], _TRANSMITTED)
        setting.numbers["transmitted"] = transmitted
    if table.has_windows:
        setting.window, column = int(column), table.column
    if column == "Max Comm.(us)":  # versions before 7.1 may print least and most in turn
        value = max(value, line.real(values.get("Min Comm.(us)", "0"), "Min Comm.(us)"))
    seconds = value / US
    if test.directions:
        messages = test.directions * setting.pairs
        seconds = messages / value if column == _RATE else messages * transmitted / (value * MB)
    records = [line.record(test.configuration(test, setting, size), seconds)]
    if _OVERLAPPED in values and (together := line.real(values[_OVERLAPPED], _OVERLAPPED)):
        beside = msgspec.structs.replace(as_function(test, setting, size), metric=OVERLAPPED_TIME)
        records.append(line.record(beside, together / US))
    return records


def _init(line: TextLine, table: _OSUTable, test: OSUTest, notes: list[str]) -> None:
    """Take the line of osu_init, the time of the slowest rank in whole milliseconds."""
    if test.program != "osu_init" or (match := _INIT.fullmatch(line.content)) is None:
        table.foreign.append(line)
        return
    table.setting.numbers["p"] = line.whole(match["ranks"], "nprocs", 1)
    if seconds := line.real(match["time"], "max") / _MS:
        table.records.append(line.record(test.configuration(test, table.setting, None), seconds))
    else:
        notes.append(line.note("osu_init is left out: its time is 0 ms, too few digits were printed"))


def _close(table: _OSUTable, test: OSUTest) -> Launch:
    setting = table.setting
    pairs = tuple((rank, rank + setting.pairs) for rank in range(min(setting.pairs, _MOST_PAIRS)))
    is_of_pairs = test.operation is None and test.program != "osu_init"
    return launch(
        "OSU",
        (test.program, *table.memory),
        # Of windows and their rates, which come last, the rates: they have more digits.
        list({record.configuration: record for record in table.records}.values()),
        versions={"osu-micro-benchmarks": table.version or "unknown"},
        placement={setting.path or "any": pairs} if is_of_pairs else {},
    )


def _tables(text: Text, notes: list[str]) -> list[_OSUTable]:
    """Return the tables of a text."""
    tables: list[_OSUTable] = []
    ahead = Setting()
    for line in text.numbered():
        table = tables[-1] if tables else None
        test = table.test if table else None
        if title := _TITLE.fullmatch(line.content):
            tables.append(_open(line, title, ahead, notes))
            ahead = Setting()
        elif line.text.placement is None and (placement := command_placement(line.content)) is not None:
            ahead.placement = placement
        elif _says(line, table.setting if table and test and not table.columns else ahead):
            continue
        elif table is None or test is None or not line.content:
            continue  # what a launcher or a job script wrote before, and tables that are not read
        elif match := _SETTING.fullmatch(line.content):
            _set_pairs(line, match, table)
        elif buffers := _BUFFERS.match(line.content):
            table.memory += (buffers["send"], buffers["receive"])
        elif _DATATYPE.match(line.content) and table.records:
            tables.append(table.again())
        elif table.has_windows and _WINDOWS.fullmatch(line.content):
            table.columns = ("Size", *line.content.lstrip("#").split())
            table.column = _RATE if table.records else "MB/s"
            table.sizes.clear()
        elif _HEADER.match(line.content):
            _set_columns(line, table, test, notes)
        elif line.content.startswith("#"):
            continue
        elif line.is_row() and test.program != "osu_init":
            _row(line, table, test, notes)
        else:
            _init(line, table, test, notes)
    return tables


def parse(text: Text) -> Measurements:
    """Return the results of the tests, a launch per test."""
    notes: list[str] = []
    tables = _tables(text, notes)
    notes += passed_over([line for table in tables for line in table.foreign])
    launches = []
    for table in tables:
        if table.test is None or not table.records:
            continue
        if table.test.operation is None and table.setting.path is None:
            words = "some of its pairs are on one node, others between two"
            notes.append(text.note(1, f"{table.test.program} is left out: {words}"))
            continue
        launches.append(_close(table, table.test))
    return Measurements(tuple(launches), tuple(notes))
