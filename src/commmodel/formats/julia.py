"""MPIBenchmarks.jl: csv with ``size (bytes)`` and seconds, one file for each benchmark.

Also its csv of IMB's tables, with ``#bytes`` and microseconds. What was measured stands in the file's name alone, as in
``julia_imb_allreduce.csv``. Of collectives the time of the slowest rank is taken where it is there, else the mean. Main
entry: `parse`.
"""

from collections.abc import Sequence
from typing import get_args

from commmodel.formats.lines import Text, TextLine, UnreadFileError, launch, passed_over
from commmodel.results import Configuration, Measurements
from commmodel.results.configurations import Collective, CollectiveName, PingPong

_SIZES = ("size (bytes)", "#bytes")
_TIMES = ("max_time (seconds)", "latency (seconds)", "time (seconds)", "avg_time (seconds)", "t_max[usec]", "t[usec]")
"""Columns to take, the first that is there."""
_OPERATIONS: dict[str, CollectiveName] = {name: name for name in get_args(CollectiveName)}
_PING_PONGS = ("pingpong", "latency")


def _names(line: str) -> list[str]:
    return [name.strip() for name in line.partition(" # ")[0].split(",")]


def recognise(lines: Sequence[str]) -> int:
    """Return the number of the header line, 0 where there is none."""
    return next((number for number, line in enumerate(lines, 1) if _is_header(_names(line))), 0)


def _is_header(names: Sequence[str]) -> bool:
    return names[0] in _SIZES and bool({*names} & {*_TIMES})


def parse(text: Text) -> Measurements:
    """Return the rows of a file as one launch."""
    benchmark = text.path.name.partition(".")[0].rpartition("_")[2].lower()
    top = recognise(text.lines)
    names = _names(text.lines[top - 1])
    column = next(name for name in _TIMES if name in names)
    units = 1e6 if column.endswith("[usec]") else 1.0
    records, foreign = [], []
    for line in text.numbered(top + 1):
        words = line.content.split(",")
        if not words[0].strip().isdigit():
            foreign += [line] if line.content else []
            continue
        if len(words) != len(names):
            raise line.damaged(f"{len(words)} columns, but the header names {len(names)}; restore the line")
        values = dict(zip(names, words, strict=True))
        size = line.whole(next(values[name] for name in _SIZES if name in values), "size")
        if seconds := line.real(values[column], column) / units:
            records.append(line.record(_configuration(line, benchmark, size), seconds))
    notes = passed_over(foreign)
    if "avg" in column:
        notes = (*notes, text.note(top, "the mean over ranks is taken, as the slowest is not there"))
    made_by = launch("MPIBenchmarks.jl", (benchmark,), records, versions={"MPIBenchmarks.jl": "unknown"})
    return Measurements((made_by,) if records else (), notes)


def _configuration(line: TextLine, benchmark: str, size: int) -> Configuration:
    placement = line.text.placement
    if benchmark in _PING_PONGS:
        path = None if placement is None else placement.path(1)
        return PingPong(size, path or "any")
    if benchmark not in _OPERATIONS:
        names = ", ".join((*_PING_PONGS, "allreduce", "..."))
        problem = f"the file's name must end in the benchmark, one of {names}, like julia_imb_allreduce.csv: rename it"
        raise UnreadFileError(line.text.path, "", problem)
    if placement is None:
        raise UnreadFileError(line.text.path, "", f"how many ranks {benchmark} had is not known: give it as --ranks")
    operation = _OPERATIONS[benchmark]
    if operation == "reduce_scatter":
        size = max(size // placement.ranks, 1) if size else 0
    return Collective(operation, size, placement.ranks, per_node=placement.per_node)
