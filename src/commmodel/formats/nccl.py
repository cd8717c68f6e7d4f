"""nccl-tests and rccl-tests: collectives of accelerators, out of place and in place.

``#  size  count  type  redop  root  time  algbw  busbw #wrong ...`` opens a table. Which collective it is stands in the
line ``# Collective test starting: all_reduce_perf`` (2.17 and later), in a command before the table, or in the file's
name; else operator, root and the ratio of the bandwidths tell all but an all-gather and an all-to-all, a gather and a
scatter. Sizes are those of the whole vector. A time is the mean over iterations, and over ranks unless the option
``-a`` said otherwise. Main entry: `parse`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from commmodel.collectives.operation import OPERATIONS
from commmodel.formats.lines import Text, TextLine, launch, passed_over
from commmodel.results import Configuration, Host, Launch, Library, Measurements, Rank, Record
from commmodel.results.configurations import Collective, CollectiveName, Function

_OPERATIONS: dict[str, CollectiveName] = {
    "all_reduce": "allreduce", "all_gather": "allgather", "reduce_scatter": "reduce_scatter_block",
    "broadcast": "bcast", "reduce": "reduce", "alltoall": "alltoall", "alltoallv": "alltoallv", "gather": "gather",
    "scatter": "scatter",
}  # fmt: skip
"""The suite's name -> operation."""
_TESTS = "|".join((*_OPERATIONS, "sendrecv", "hypercube"))
_PROGRAM = re.compile(rf"(?<![a-z_])({_TESTS})_perf\b")
_FILE = re.compile(rf"(?<![a-z_])({_TESTS})(?![a-z])")
_RUN = re.compile(r"#\s*nThread \d+ nGpus \d+ minBytes ")
_RANK = re.compile(r"#\s*Rank\s+(?P<rank>\d+)\s.*?\bon\s+(?P<host>\S+)\s+device\s+\d+\s+\[\S+\]\s*(?P<device>.*)")
_HEADER = re.compile(r"#\s*size\s+count\s+type\b.*\btime\s+algbw\s+busbw\b.*")
_SUITE = re.compile(
    r"(?:#\s*)?(?P<suite>[nr]ccl-tests):? version (?P<version>\S+)(?:.*nccl-library=(?P<library>\d+))?", re.IGNORECASE
)
_LIBRARY = re.compile(r"(?P<name>[NR]CCL) version\s*:?\s*(?P<version>[\d.]+)")
_CONCLUDED = "Collective test concluded"
_BEGINNINGS = ("# Out of bounds values", "# Collective test starting", "# nccl-tests version")
"""Of lines after which a table has no more rows."""
_IN_PLACE = "in-place "
"""Before the names of columns."""
_NOTHING = "N/A"
US = 1e6
"""Microseconds in a second; dividing by it is exact to the last bit, multiplying by 1e-6 is not."""


@dataclass
class _AcceleratorTable:
    """State of reading a run: what stands before its table, and the table."""

    test: str = ""
    """Empty where nothing before the table says it."""
    suite: str = "nccl-tests"
    version: str = "unknown"
    library: str = ""
    hosts: dict[int, str] = field(default_factory=dict)
    """Rank -> its host."""
    is_repeated: bool = False
    """Whether several processes say that they are the same rank."""
    title: TextLine | None = None
    """Header of the table."""
    columns: tuple[str, ...] = ()
    rows: list[tuple[TextLine, dict[str, str]]] = field(default_factory=list)
    foreign: list[TextLine] = field(default_factory=list)
    """Lines within the table that are none of it."""


def recognise(lines: Sequence[str]) -> int:
    """Return the number of the first line that only these suites write, 0 where there is none."""
    numbers = (number for number, line in enumerate(lines, 1) if _RUN.match(line) or _HEADER.fullmatch(line))
    return next(numbers, 0)


def parse(text: Text) -> Measurements:
    """Return the tables, a launch for each."""
    runs = [_AcceleratorTable()]
    for line in text.numbered():
        content, run = line.content, runs[-1]
        is_end = content.startswith(_BEGINNINGS) or _RUN.match(content) or _HEADER.fullmatch(content)
        if run.title is not None and is_end:
            run = _AcceleratorTable()
            runs.append(run)
        if _RUN.match(content):
            run.hosts, run.is_repeated = {}, False
        elif _HEADER.fullmatch(content):
            run.title, run.columns = line, _columns(content)
        elif not content.startswith("#") and run.title is not None and content:
            _row(line, run)
        else:
            _about(content, run)
    notes: list[str] = []
    launches = [launch for run in runs for launch in _launches(run, text, notes)]
    return Measurements(tuple(launches), (*notes, *passed_over([line for run in runs for line in run.foreign])))


def _about(content: str, run: _AcceleratorTable) -> None:
    """Take what a line before or beside a table says of its run."""
    if match := _RANK.match(content):
        run.is_repeated |= int(match["rank"]) in run.hosts
        run.hosts[int(match["rank"])] = match["host"]
    elif match := _SUITE.match(content):
        run.suite, run.version = match["suite"].lower(), match["version"]
        if match["library"]:
            number = int(match["library"])
            run.library = f"NCCL {number // 10_000}.{number // 100 % 100}.{number % 100}"
    elif match := _LIBRARY.search(content):
        run.library = f"{match['name']} {match['version']}"
    elif (match := _PROGRAM.search(content)) and _CONCLUDED not in content:
        run.test = match[1]


def _columns(header: str) -> tuple[str, ...]:
    """Return the names of columns, those of the second placement of buffers with it before them.

    >>> _columns("#  size  count  type  redop  time  algbw  busbw #wrong  time  algbw  busbw #wrong")[-4:]
    ('in-place time', 'in-place algbw', 'in-place busbw', 'in-place #wrong')
    """
    names = header.lstrip("# ").split()
    second = names.index("time", names.index("time") + 1) if names.count("time") > 1 else len(names)
    return (*names[:second], *(f"{_IN_PLACE}{name}" for name in names[second:]))


def _row(line: TextLine, run: _AcceleratorTable) -> None:
    """Add a row, whose operator may be blank."""
    if not line.is_row():
        run.foreign.append(line)
        return
    words, columns = line.content.split(), list(run.columns)
    if len(words) == len(columns) - 1 and "redop" in columns:
        columns.remove("redop")
    if len(words) != len(columns):
        raise line.damaged(f"{len(words)} columns, but the table's header names {len(columns)}; restore the line")
    row = dict(zip(columns, words, strict=True))
    line.whole(row["size"], "size")
    run.rows.append((line, row))


def _launches(run: _AcceleratorTable, text: Text, notes: list[str]) -> Iterator[Launch]:
    """Yield the launch of a run; none, and a note, where it cannot be told what was measured."""
    if run.title is None or not run.rows:
        return
    ranks, per_node = _ranks(run, text)
    test = _test_of(run, text, ranks) if ranks > 1 else ""
    if run.is_repeated:
        problem = "several processes were the same rank: build the suite with MPI=1"
    elif not ranks:
        problem = "how many ranks there were is not known: give it as --ranks"
    elif ranks == 1:
        problem = "one rank sends nothing"
    elif not test:
        problem = "which collective it is stands nowhere: name the file like all_gather_perf.txt"
    else:
        records = [*_records(run, test, ranks, per_node, notes)]
        if records:
            yield _launch(run, test, records)
        return
    notes.append(run.title.note(f"a table is left out: {problem}"))


def _launch(run: _AcceleratorTable, test: str, records: Sequence[Record]) -> Launch:
    device = "rocm" if run.suite == "rccl-tests" else "cuda"
    plain = launch(run.suite, (f"{test}_perf", "-d", device), records, versions={run.suite: run.version})
    names = [*dict.fromkeys(run.hosts.values())]
    library = run.library or ("RCCL" if run.suite == "rccl-tests" else "NCCL")
    header = msgspec.structs.replace(
        plain.header,
        mpi=Library(library),
        hosts=tuple(map(Host, names)) or plain.header.hosts,
        ranks=tuple(Rank(rank, names.index(host)) for rank, host in sorted(run.hosts.items())),
    )
    return msgspec.structs.replace(plain, header=header)


def _ranks(run: _AcceleratorTable, text: Text) -> tuple[int, int | None]:
    """Return ranks, and those of a node where all have as many; 0 where they are not known."""
    if not run.hosts:
        return (0, None) if text.placement is None else (text.placement.ranks, text.placement.per_node)
    ranks, counts = max(run.hosts) + 1, {*Counter(run.hosts.values()).values()}
    return ranks, counts.pop() if len(counts) == 1 and len(run.hosts) == ranks else None


def _test_of(run: _AcceleratorTable, text: Text, ranks: int) -> str:
    """Return which test a table is of; empty where nothing tells it."""
    name = text.path.name.lower().replace("allreduce", "all_reduce").replace("allgather", "all_gather")
    if run.test:
        return run.test
    if match := _FILE.search(name):
        return match[1]
    line, row = run.rows[-1]
    has_operator, has_root = row.get("redop", "none") != "none", row.get("root", "-1") != "-1"
    algorithm, bus = (line.real(row[name], name) for name in ("algbw", "busbw"))
    share = bus / algorithm if algorithm else 0.0
    if has_operator and not has_root and share:  # 2 (P - 1) / P of an all-reduce, (P - 1) / P of a reduce-scatter
        return "all_reduce" if share > 1.5 * (ranks - 1) / ranks else "reduce_scatter"
    if has_operator:
        return "reduce" if has_root else ""
    return "broadcast" if has_root and share > 1 - 0.5 / ranks else ""


def _records(run: _AcceleratorTable, test: str, ranks: int, per_node: int | None, notes: list[str]) -> Iterator[Record]:
    """Yield the records of both placements of buffers."""
    for line, row in run.rows:
        for placement in ("", _IN_PLACE):
            if (word := row.get(f"{placement}time", _NOTHING)) == _NOTHING:
                continue
            if row.get(f"{placement}#wrong", _NOTHING).rstrip("*") not in ("0", _NOTHING):
                notes.append(line.note(f"{row['size']} B {placement}is left out: its data arrived wrong (#wrong)"))
            elif seconds := line.real(word, f"{placement}time") / US:
                yield line.record(_configuration(test, row, placement, ranks, per_node), seconds)


def _configuration(test: str, row: dict[str, str], placement: str, ranks: int, per_node: int | None) -> Configuration:
    """Return what a row measured; buffers in place, and other than the usual type, operator and root, name it."""
    size, operator, root = int(row["size"]), row.get("redop", "none"), row.get("root", "-1")
    words = (
        placement.strip(), row["type"] * (row["type"] != "float"), operator * (operator not in ("none", "sum")),
        f"root {root}" * (root not in ("-1", "0")),
    )  # fmt: skip
    variant = " ".join(word for word in words if word)
    if test not in _OPERATIONS:
        name = f"{test} [algorithm={variant}]" if variant else test
        return Function(name, "time", (("n", float(size)), ("p", float(ranks))))
    operation = _OPERATIONS[test]
    if OPERATIONS[operation].size_is_per_block:
        size = max(size // ranks, 1) if size else 0
    return Collective(operation, size, ranks, algorithm=variant, per_node=per_node)
