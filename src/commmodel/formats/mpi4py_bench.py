"""mpi4py.bench: ``python -m mpi4py.bench pingpong``, ``ringtest`` and ``futures``.

A row of ``pingpong`` is the mean half round trip of one pair; which arrays were sent, of a host or an accelerator, and
whether pickled, it does not say. The ring and the pool of workers become functions of size and processes. The greetings
of ``helloworld`` say how many ranks there were, and no time. Main entry: `parse`.
"""

import re
from collections.abc import Sequence

from commmodel.formats.lines import Text, TextLine, launch, passed_over
from commmodel.results import Launch, Measurements, Record
from commmodel.results.configurations import Function, PingPong

_HEADER = re.compile(r"#\s*Size \[B\]\s+(?:Bandwidth \[MB/s\]|Tasks/s).*")
_TITLE = re.compile(r"#\s*MPI PingPong Test")
_POOL = re.compile(r"#\s*(?P<executor>\w+) - (?P<workers>\d+) workers, (?P<tasks>\d+) tasks/worker")
_ROW = re.compile(
    r"(?P<size>\S+)\s+(?P<rate>\S+)(?:\s*\|\s*(?P<mean>\S+)\s+\S+\s+(?P<deviation>\S+)\s+(?P<count>\S+))?"
)
_STATISTICS = re.compile(r"\d+\s+[\d.]+\s*\|\s*[\d.e+-]+\s+(?:±|\S{1,3})\s+[\d.e+-]+\s+\d+")
_RING = re.compile(
    r"time for (?P<loops>\S+) loops = (?P<seconds>\S+) seconds \((?P<processes>\S+) processes, (?P<size>\S+) bytes\)"
)
_GREETING = re.compile(r"Hello, World! I am process\s+\d+ of \d+ on \S+\.")
MB = 1e6


def recognise(lines: Sequence[str]) -> int:
    """Return the number of the first line that only mpi4py writes, 0 where there is none."""
    patterns = (_TITLE, _POOL, _STATISTICS, _RING, _GREETING)
    numbers = (number for number, line in enumerate(lines, 1) if any(pattern.fullmatch(line) for pattern in patterns))
    return next(numbers, 0)


def parse(text: Text) -> Measurements:
    """Return the tables and rings, a launch for each kind."""
    records: dict[str, list[Record]] = {"pingpong": [], "ringtest": [], "futures": []}
    pool: re.Match[str] | None = None
    is_open = not any(_HEADER.fullmatch(line) for line in text.lines)  # without headers (--no-header) all rows count
    notes: list[str] = []
    foreign: list[TextLine] = []
    for line in text.numbered():
        content = line.content
        if match := _RING.fullmatch(content):
            records["ringtest"].append(_ring(line, match))
        elif _TITLE.fullmatch(content):
            pool = None
        elif match := _POOL.fullmatch(content):
            pool = match
        elif _HEADER.fullmatch(content):
            is_open = True
        elif content and is_open and not content.startswith("#") and not _GREETING.fullmatch(content):
            if not line.is_row() or (match := _ROW.fullmatch(content)) is None:
                foreign.append(line)
            elif record := _row(line, match, pool, notes):
                records["futures" if pool else "pingpong"].append(record)
    launches = [_launch(name, group) for name, group in records.items() if group]
    return Measurements(tuple(launches), (*notes, *passed_over(foreign)))


def _row(line: TextLine, match: re.Match[str], pool: re.Match[str] | None, notes: list[str]) -> Record | None:
    """Return a row's record; None where too few digits were printed."""
    size = line.whole(match["size"], "Size")
    rate = line.real(match["rate"], "Tasks/s" if pool else "Bandwidth")
    if match["mean"] is None and not rate:
        notes.append(line.note(f"{size} B is left out: its rate is 0, too few digits were printed"))
        return None
    if pool:
        workers, tasks = (line.whole(pool[name], name, 1) for name in ("workers", "tasks"))
        mean = match["mean"]
        seconds = line.real(mean, "Time Mean") if mean else workers * tasks / rate
        parameters = (("n", float(size)), ("tasks", float(tasks)), ("workers", float(workers)))
        return line.record(Function(pool["executor"], "time", parameters), seconds)
    path = None if line.text.placement is None else line.text.placement.path(1)
    seconds = line.real(match["mean"], "Time Mean") if match["mean"] else size / (rate * MB)
    return line.record(PingPong(size, path or "any"), seconds)


def _ring(line: TextLine, match: re.Match[str]) -> Record:
    """Return the time of a message once round the ring."""
    loops = line.whole(match["loops"], "loops", 1)
    size, processes = line.whole(match["size"], "bytes"), line.whole(match["processes"], "processes", 1)
    ring = Function("ringtest", "time", (("n", float(size)), ("p", float(processes))))
    return line.record(ring, line.real(match["seconds"], "seconds") / loops)


def _launch(name: str, records: Sequence[Record]) -> Launch:
    first = records[0].configuration
    placement = {first.path: ((0, 1),)} if isinstance(first, PingPong) else {}
    return launch(
        "mpi4py.bench", ("mpi4py.bench", name), records, versions={"mpi4py.bench": "unknown"}, placement=placement
    )
