"""Tables and sentences on measured overlap.

The network's queue, progress while nobody calls MPI, bandwidth of all processes at once, and the kernel overlap
itself. Source: Iancu and Strohmaier 2007, Sections 2.1 and 2.2. Main entries: `overlap_tables` and `overlap_verdicts`.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from commmodel.machine import OverlapProfile
from commmodel.optimize.progress import progress_sentence
from commmodel.optimize.validation import Sweep, sweeps
from commmodel.report.kit.cells import size_table, starred
from commmodel.report.kit.tables import NOTHING, Cell, Column, Table, right
from commmodel.results import Measurements, Record
from commmodel.results.configurations import Bandwidth, Queue
from commmodel.statistics import summarise
from commmodel.units import format_rate, format_ratio, format_size, format_time

_TEMPLATES = ("communication", "tight", "loose", "pipelined")
_Key = tuple[str, ...]


def decomposition_words(message_size: int, burst: int) -> str:
    """Return a decomposition in short notation.

    >>> decomposition_words(16384, 4)
    '16 KiB x 4'
    """
    return f"{format_size(message_size)} x {burst}"


def _queue_sentence(profile: OverlapProfile, longest: int) -> str:
    if profile.queue_depth is not None:
        return f"{profile.path}, {profile.operation}: the queue is full with {profile.queue_depth} messages under way."
    return f"{profile.path}, {profile.operation}: no limit of the queue up to {longest} messages under way."


def overlap_verdicts(measurements: Measurements, profiles: Sequence[OverlapProfile]) -> list[str]:
    """Return sentences on progress outside MPI calls and on the depth of the queue."""
    longest: dict[_Key, int] = defaultdict(int)
    for record in measurements.records:
        if isinstance(queue := record.configuration, Queue):
            operation = "two-sided" if queue.operation == "isend" else queue.operation
            longest[queue.path, operation] = max(longest[queue.path, operation], len(record.samples))
    sentences = [progress_sentence(profile) for profile in profiles]
    for profile in profiles:
        calls = longest[profile.path, profile.operation]
        if profile.queue_depth is not None or calls:
            sentences.append(_queue_sentence(profile, calls))
        if profile.outstanding_volume is not None:
            volume = format_size(profile.outstanding_volume)
            sentences.append(
                f"{profile.path}, {profile.operation}: with more than {volume} under way less of a transfer is hidden."
            )
    return [sentence for sentence in sentences if sentence]


def _progress_tables(profiles: Sequence[OverlapProfile]) -> Iterable[Table]:
    for profile in profiles:
        table = profile.progress
        if table is None:
            continue
        rows = tuple(
            (Cell(format_size(size)), *(Cell(format_ratio(share)) for share in shares))
            for size, shares in zip(table.sizes, table.values, strict=True)
        )
        columns = right("size", *(f"b = {burst:g}" for burst in table.bursts))
        title = f"progress without calls, {profile.path}, {profile.operation}"
        note = "Share of the transfer of b messages each way that goes on while both sides compute and call no MPI."
        yield Table(title, columns, rows, (note,), alike_from=1)


def _rate(record: Record) -> Cell:
    configuration = record.configuration
    if not isinstance(configuration, Bandwidth) or not configuration.message_size or not record.summary.median:
        return NOTHING
    size, slowest = configuration.message_size, record.summary.median
    fastest = summarise(record.fastest).median if record.fastest else 0.0
    detail = f"to {format_rate(size / fastest)}" if fastest and configuration.processes > 2 else ""
    return Cell(starred(format_rate(size / slowest), record), detail)


def _bandwidth_tables(measurements: Measurements) -> Iterable[Table]:
    cells: dict[_Key, dict[tuple[int, tuple[int, str]], Cell]] = defaultdict(dict)
    for record in measurements.records:
        if isinstance(bandwidth := record.configuration, Bandwidth):
            key = bandwidth.pattern, bandwidth.path if bandwidth.processes == 2 else ""
            way = bandwidth.direction.replace("-", " ")
            cells[key][bandwidth.message_size, (bandwidth.processes, way)] = _rate(record)
    for (pattern, path), of_pattern in cells.items():
        triples = ((size, column, cell) for (size, column), cell in of_pattern.items())
        title = ", ".join(filter(None, ("bandwidth of a pair", pattern, path)))
        note = "Bytes per second in one direction, of the slowest pair while all p processes communicate"
        note += "." if path else "; to: of the fastest."
        yield from size_table(title, triples, lambda column: f"p = {column[0]}, {column[1]}", note)


def problem_words(sweep: Sweep, *, with_library: bool) -> str:
    """Return the problem as text, without volume and computation."""
    words = [sweep.pattern, sweep.operation]
    words += [sweep.path] if sweep.path != "any" else []
    words += [f"{sweep.processes} processes"] if sweep.processes > 2 else []
    words += [f"{sweep.iterations} in a row"] if sweep.iterations > 1 else []
    return ", ".join(words + ([sweep.library] if with_library else []))


def _best_cell(sweep: Sweep | None) -> Cell:
    if sweep is None:
        return Cell("")
    best = sweep.best
    share = sweep.hidden_share(best.seconds)
    hidden = "" if share is None else f", {format_ratio(share)}"
    return Cell(format_time(best.seconds), f"{decomposition_words(best.message_size, best.burst)}{hidden}")


def _sweep_tables(measurements: Measurements) -> Iterable[Table]:
    measured = sweeps(measurements)
    several = len({sweep.library for sweep in measured}) > 1
    tables: dict[str, dict[tuple[int, int], dict[str, Sweep]]] = defaultdict(lambda: defaultdict(dict))
    for sweep in measured:
        tables[problem_words(sweep, with_library=several)][sweep.volume, sweep.passes][sweep.template] = sweep
    for title, problems in tables.items():
        templates = [name for name in _TEMPLATES if any(name in row for row in problems.values())]
        rows = []
        for (volume, passes), row in sorted(problems.items()):
            first = next(iter(row.values()))
            about = (Cell(format_size(volume)), Cell(str(passes)))
            times = (
                NOTHING if first.computation is None else Cell(format_time(first.computation)),
                NOTHING if first.blocking is None else Cell(format_time(first.blocking.seconds)),
            )
            rows.append((*about, *times, *(_best_cell(row.get(name)) for name in templates)))
        columns = (
            *(Column("volume", detail="V"), Column("passes"), Column("computation", detail="t_V"), Column("blocking")),
            *(Column("best", detail=name) for name in templates),
        )
        note = (
            "Time of communication and computation together; below it the message size and the burst of the fastest "
            "decomposition, and the share of the communication that it hides."
        )
        yield Table(f"overlap, {title}", columns, tuple(rows), (note,))


def overlap_tables(measurements: Measurements, profiles: Sequence[OverlapProfile]) -> tuple[Table, ...]:
    """Return tables of progress, of bandwidth of all processes at once, and of overlapped problems."""
    return (
        *_progress_tables(profiles),
        *_bandwidth_tables(measurements),
        *_sweep_tables(measurements),
    )
