"""OSU Micro-Benchmarks of versions 3 to 7: osu_latency, osu_bw, osu_mbw_mr and the collectives.

A test's title, ``# OSU MPI Latency Test v7.4``, opens its table; one file may hold several. Latencies are half round
trips. Bandwidths are aggregates of all pairs in 10⁶ bytes a second, so k pairs that share a rate r take k n / r for a
message; rank i sends to rank i + k. Where percentiles were asked for (option ``-z``), the median is taken, but of
osu_mbw_mr, whose percentiles are of the first pair alone. Of collectives the time of the slowest rank is taken where it
is there (option ``-f``), else the mean over ranks. Main entry: `parse`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import get_args

from commmodel.formats.job_scripts import Placement
from commmodel.formats.lines import Text, TextLine, launch, passed_over, shown
from commmodel.results import Launch, Measurements, Record
from commmodel.results.configurations import (
    Collective,
    CollectiveMode,
    CollectiveName,
    MessagePath,
    Pairs,
    PingPong,
    Stream,
)

_TITLE = re.compile(r"#\s*OSU (?P<name>\S.*?)(?: v(?P<version>[0-9]\S*))?")
_TESTS = {
    "Latency Test": "osu_latency",
    "Bandwidth Test": "osu_bw",
    "Multiple Bandwidth / Message Rate Test": "osu_mbw_mr",
    "Multi Latency Test": "osu_multi_lat",
}
_COLLECTIVE = re.compile(r"(?P<mode>Non-blocking )?(?P<name>\S+)(?: Personalized Exchange)? Latency Test")
_OPERATIONS: dict[str, CollectiveName] = {
    **{name: name for name in get_args(CollectiveName) if not name.startswith(("neighbor_", "bcast_"))},
    "broadcast": "bcast", "all-to-all": "alltoall", "all-to-allv": "alltoallv", "all-to-allw": "alltoallw",
}  # fmt: skip
"""OSU's name in lower case -> operation."""
_OF_COLLECTIVES = ("Pure Comm.(us)", "Max Latency(us)", "Avg Latency(us)", "Latency(us)")
"""Columns to take, the first that is there."""
_KIND = re.compile(r"MPI(?:-(?P<device>[A-Z]+))? (?P<test>.*)")
_BUFFERS = re.compile(r"#\s*Send Buffer on \S+ \((?P<send>\w)\) and Receive Buffer on \S+ \((?P<receive>\w)\)")
_SETTING = re.compile(r"#\s*\[ pairs: (?P<pairs>\S+) \] \[ window size: (?P<window>\S+) \]")
_HEADER = re.compile(r"#\s*(?:Size\b|(?:Avg )?Latency ?\(us\)|Overall\(us\))")
_TRANSMITTED = "Transmit Size"
"""Column of derived datatypes, of which only a part of the size is sent."""
_COLUMN = re.compile(
    rf"P[0-9.]+ Tail \S+|(?:Avg |Min |Max )?(?:Latency|Bandwidth) ?\(\S+\)|(?:Pure|Coll\.) \S+|{_TRANSMITTED}|\S+"
)
_MEDIAN = re.compile(r"P50(?:\.0+)? Tail .*")
DEFAULT_WINDOW = 64
"""Of osu_bw, which does not print it; the time of a message is had without it."""
_MOST_PAIRS = 1 << 16
"""That are named; the number of more is in the records."""
MB = 1e6
US = 1e6
"""Microseconds in a second; dividing by it is exact to the last bit, multiplying by 1e-6 is not."""


@dataclass
class _Test:
    """State of reading a test's table."""

    program: str
    """Empty for a test that is not taken."""
    version: str
    placement: Placement | None = None
    operation: CollectiveName | None = None
    mode: CollectiveMode = "blocking"
    columns: tuple[str, ...] = ()
    column: str = ""
    """Name of the column that is read."""
    pairs: int = 1
    window: int = DEFAULT_WINDOW
    memory: tuple[str, ...] = ()
    """Options of the command where buffers may be an accelerator's."""
    foreign: list[TextLine] = field(default_factory=list)
    """Lines within the table that are none of it."""
    records: list[Record] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    @property
    def path(self) -> MessagePath | None:
        """Of its pairs; None where they take several."""
        return "any" if self.placement is None else self.placement.path(self.pairs)


def recognise(lines: Sequence[str]) -> int:
    """Return the number of the first line that only this suite writes, 0 where there is none."""
    titles = (number for number, line in enumerate(lines, start=1) if _TITLE.fullmatch(line))
    return next(titles, 0)


def _open(line: TextLine, title: re.Match[str], notes: list[str]) -> _Test:
    kind = _KIND.fullmatch(title["name"])
    device = kind["device"] if kind else None
    memory = ("-d", device.lower()) if device else ()
    test = _Test(
        _TESTS.get(kind["test"], "") if kind else "", title["version"] or "", line.text.placement, memory=memory
    )
    collective = _COLLECTIVE.fullmatch(kind["test"]) if kind and not test.program else None
    operation = _OPERATIONS.get(collective["name"].lower()) if collective else None
    if collective and operation:
        test.operation, test.mode = operation, "non-blocking" if collective["mode"] else "blocking"
        test.program = f"osu_{'i' if collective['mode'] else ''}{operation}"
    if not test.program:
        words = "it is none of ping-pong, stream or collective"
        notes.append(line.note(f"the test {shown(title['name'])} is left out: {words}"))
    elif test.placement is None and (test.operation or test.program == "osu_multi_lat"):
        notes.append(
            line.note(f"{test.program} is left out: how many ranks there were is not known: give it as --ranks")
        )
        test.program = ""
    return test


def _set_columns(line: TextLine, test: _Test, notes: list[str]) -> None:
    columns = tuple(_COLUMN.findall(line.content.lstrip("# ")))
    if _TRANSMITTED in columns:
        notes.append(line.note(f"a table of derived datatypes is left out: run {test.program} without -D"))
        test.program = ""
        return
    if test.operation is not None:
        test.columns, test.column = columns, next((name for name in _OF_COLLECTIVES if name in columns), "")
        if not test.column:
            raise line.damaged(f"no column of {test.program} among {shown(' '.join(columns))}; restore the line")
        if test.column in _OF_COLLECTIVES[2:]:
            notes.append(line.note(f"{test.program}: the mean over ranks is taken: the option -f prints the slowest"))
        return
    heading = "Latency" if test.program in ("osu_latency", "osu_multi_lat") else "Bandwidth"
    medians = [name for name in columns if _MEDIAN.fullmatch(name)]
    if medians and test.program == "osu_mbw_mr":
        notes.append(line.note(f"{test.program}: the mean is taken, as percentiles are of the first pair alone"))
        medians = []
    # Messages a second have six digits where MB/s of small messages have two.
    means = [name for name in columns if name == "Messages/s"]
    means += [name for name in columns if heading in name and not name.startswith(("Min", "Max"))]
    means += [name for name in columns if name == "MB/s" and heading == "Bandwidth"]
    if not medians + means:
        raise line.damaged(f"no column of {test.program} among {shown(' '.join(columns))}; restore the line")
    if medians:
        notes.append(line.note(f"{test.program}: the median, {medians[0]}, is taken, not the mean"))
    test.columns, test.column = columns, (medians + means)[0]


def _set_pairs(line: TextLine, setting: re.Match[str], test: _Test, notes: list[str]) -> None:
    test.pairs = line.whole(setting["pairs"], "pairs", 1)
    if setting["window"] == "varied":
        notes.append(line.note("a table of varied windows is left out: run osu_mbw_mr without -V"))
        test.program = ""
        return
    test.window = line.whole(setting["window"], "window size", 1)


def _row(line: TextLine, test: _Test, notes: list[str]) -> None:
    words = line.content.split()
    if not test.columns:
        raise line.damaged(f"{shown(line.content)} stands before the table's header '# Size ...'; restore or remove it")
    has_size = "Size" in test.columns
    size = line.whole(words[0], "Size") if has_size else 0
    if len(words) != len(test.columns):
        raise line.damaged(f"{len(words)} columns, but the table's header names {len(test.columns)}; restore the line")
    if test.foreign and test.sizes and size <= test.sizes[-1]:
        test.foreign.append(line)  # of another program: sizes of a table ascend
        return
    values = dict(zip(test.columns, words, strict=True))
    if values.get("Validation", "Pass").lower() != "pass":
        notes.append(line.note(f"{size} B is left out: its data arrived wrong (Validation)"))
        return
    value = line.real(values[test.column], test.column)
    if value == 0 or (size == 0 and has_size and test.program in ("osu_bw", "osu_mbw_mr")):
        if size:
            notes.append(line.note(f"{size} B is left out: {test.column} is 0, too few digits were printed"))
        return
    test.sizes.append(size)
    test.records.append(_record(line, test, size, value))


def _record(line: TextLine, test: _Test, size: int, value: float) -> Record:
    """Return a row's record; `value` is microseconds, MB/s or messages/s."""
    if test.operation is not None and test.placement is not None:
        ranks = test.placement.ranks
        if test.operation == "reduce_scatter":  # its size is that of the whole vector
            size = max(size // ranks, 1)
        call = Collective(test.operation, size, ranks, mode=test.mode, per_node=test.placement.per_node)
        return line.record(call, value / US)
    if test.program == "osu_latency":
        return line.record(PingPong(size, test.path or "any"), value / US)
    if test.program == "osu_multi_lat":
        return line.record(Pairs(size, test.pairs, test.path or "any", 1), value / US)
    seconds = test.pairs / value if test.column == "Messages/s" else test.pairs * size / (value * MB)
    return line.record(Stream(size, test.pairs, test.path or "any", test.window, buffers="one"), seconds)


def _close(test: _Test) -> Launch:
    pairs = tuple((rank, rank + test.pairs) for rank in range(min(test.pairs, _MOST_PAIRS)))
    placement = {} if test.operation else {test.path or "any": pairs}
    versions = {"osu-micro-benchmarks": test.version or "unknown"}
    return launch("OSU", (test.program, *test.memory), test.records, versions=versions, placement=placement)


def parse(text: Text) -> Measurements:
    """Return the results of the tests, a launch per test."""
    tests: list[_Test] = []
    notes: list[str] = []
    for line in text.numbered():
        if title := _TITLE.fullmatch(line.content):
            tests.append(_open(line, title, notes))
            if tests[-1].program == "osu_multi_lat" and (placement := tests[-1].placement) is not None:
                tests[-1].pairs = max(placement.ranks // 2, 1)
        elif not tests or not tests[-1].program or not line.content:
            continue  # what a launcher or a job script wrote before, and tables that are not taken
        elif setting := _SETTING.fullmatch(line.content):
            _set_pairs(line, setting, tests[-1], notes)
        elif buffers := _BUFFERS.match(line.content):
            tests[-1].memory += (buffers["send"], buffers["receive"])
        elif _HEADER.match(line.content):
            _set_columns(line, tests[-1], notes)
        elif not line.content.startswith("#") and line.is_row():
            _row(line, tests[-1], notes)
        elif not line.content.startswith("#"):
            tests[-1].foreign.append(line)
    notes += passed_over([line for test in tests for line in test.foreign])
    for test in tests:
        if test.records and not test.operation and test.path is None:
            notes.append(
                text.note(1, f"{test.program} is left out: some of its pairs are on one node, others between two")
            )
            test.records = []
    return Measurements(tuple(_close(test) for test in tests if test.records), tuple(notes))
