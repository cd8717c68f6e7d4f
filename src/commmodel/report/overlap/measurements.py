"""What decides how well computation hides communication, and what overlap brought, as tables and plain sentences.

Overhead o(S, b), the network's queue, progress while nobody calls MPI, bandwidth of all processes at once, and the
kernel overlap itself. Source: Iancu and Strohmaier 2007, Sections 2.1 and 2.2. Terminal and page show the same rows.
Main entries: `burst_parts` (of a path), `overlap_parts` and `overlap_verdicts`.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from commmodel.fit.overlap_parameters import fit_overlap
from commmodel.machine import Machine, OverlapProfile
from commmodel.optimize.progress import progress_sentence
from commmodel.optimize.validation import Sweep, sweeps
from commmodel.report.kit.cells import NOTHING, Cell
from commmodel.report.measurements.other_kernels import PartTable, size_rows, starred
from commmodel.results import Bandwidth, Burst, Measurements, Queue, Record
from commmodel.statistics import summarise
from commmodel.units import format_rate, format_ratio, format_size, format_time

__all__ = ["burst_parts", "decomposition_words", "overlap_parts", "overlap_verdicts", "problem_words", "profiles"]

_INITIATIONS = {"isend": "MPI_Isend", "irecv": "MPI_Irecv", "put": "MPI_Put", "get": "MPI_Get"}
_TEMPLATES = ("communication", "tight", "loose", "pipelined")
_Key = tuple[str, ...]


def decomposition_words(message_size: int, burst: int) -> str:
    """Return a decomposition in a few letters.

    >>> decomposition_words(16384, 4)
    '16 KiB x 4'
    """
    return f"{format_size(message_size)} x {burst}"


def burst_parts(records: Iterable[Record]) -> tuple[PartTable, ...]:
    """Return o(S, b) of each operation, and the first and the later initiations of a long row."""
    bursts: dict[str, dict[int, dict[int, list[Record]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    queues = []
    for record in records:
        match record.configuration:
            case Burst(message_size=size, burst=burst, operation=operation):
                bursts[operation][size][burst].append(record)
            case Queue() as queue:
                found = summarise(record.samples)
                times = (record.samples[0], found.median, found.maximum)
                about = (_INITIATIONS[queue.operation], format_size(queue.message_size), str(found.count))
                cells = tuple(map(Cell, (*about, *map(format_time, times))))
                queues.append(((queue.operation, queue.message_size), cells))
    parts = []
    for name, by_size in bursts.items():
        counts = sorted({burst for row in by_size.values() for burst in row})
        columns = ("size", *(f"b = {count}" for count in counts))
        hint = "Mean time of one call among b in a row."
        title = f"overhead of {_INITIATIONS[name]}, b in a row"
        parts.append(PartTable(title, columns, tuple(size_rows(by_size, counts)), hint))
    if queues:
        columns = ("call", "size", "calls in a row", "first", "median", "longest")
        rows = tuple(row for _, row in sorted(queues))
        parts.append(PartTable("long rows of calls", columns, rows, "A full queue makes calls longer."))
    return tuple(parts)


def profiles(measurements: Measurements, machine: Machine | None) -> tuple[OverlapProfile, ...]:
    """Return the machine's profiles, or where it has none, what the measurements say."""
    return machine.overlap if machine is not None and machine.overlap else fit_overlap(measurements)


def _queue_sentence(profile: OverlapProfile, longest: int) -> str:
    if profile.queue_depth is not None:
        return f"{profile.path}, {profile.operation}: the queue is full with {profile.queue_depth} messages under way."
    return f"{profile.path}, {profile.operation}: no limit of the queue up to {longest} messages under way."


def overlap_verdicts(measurements: Measurements, machine: Machine | None) -> list[str]:
    """Return plain sentences: does the MPI library make progress by itself, and how long is its queue."""
    longest: dict[_Key, int] = defaultdict(int)
    for record in measurements.records:
        if isinstance(one := record.configuration, Queue):
            operation = "two-sided" if one.operation == "isend" else one.operation
            longest[one.path, operation] = max(longest[one.path, operation], len(record.samples))
    known = profiles(measurements, machine)
    sentences = [progress_sentence(profile) for profile in known]
    for profile in known:
        calls = longest[profile.path, profile.operation]
        if profile.queue_depth is not None or calls:
            sentences.append(_queue_sentence(profile, calls))
        if profile.outstanding_volume is not None:
            volume = format_size(profile.outstanding_volume)
            sentences.append(
                f"{profile.path}, {profile.operation}: with more than {volume} under way less of a transfer is hidden."
            )
    return [sentence for sentence in sentences if sentence]


def _progress_parts(known: Sequence[OverlapProfile]) -> Iterable[PartTable]:
    for profile in known:
        table = profile.progress
        if table is None:
            continue
        rows = tuple(
            (Cell(format_size(size)), *(Cell(format_ratio(share)) for share in shares))
            for size, shares in zip(table.sizes, table.values, strict=True)
        )
        columns = ("size", *(f"b = {burst:g}" for burst in table.bursts))
        title = f"progress without calls, {profile.path}, {profile.operation}"
        hint = "Share of the transfer of b messages each way that goes on while both sides compute and call no MPI."
        yield PartTable(title, columns, rows, hint)


def _rate(record: Record) -> Cell:
    configuration = record.configuration
    if not isinstance(configuration, Bandwidth) or not configuration.message_size or not record.summary.median:
        return NOTHING
    size, slowest = configuration.message_size, record.summary.median
    fastest = summarise(record.fastest).median if record.fastest else 0.0
    detail = f"to {format_rate(size / fastest)}" if fastest and configuration.processes > 2 else ""
    return Cell(starred(format_rate(size / slowest), record), detail)


def _bandwidth_parts(measurements: Measurements) -> Iterable[PartTable]:
    cells: dict[_Key, dict[int, dict[tuple[int, str], Cell]]] = defaultdict(lambda: defaultdict(dict))
    for record in measurements.records:
        if isinstance(one := record.configuration, Bandwidth):
            key = one.pattern, one.path if one.processes == 2 else ""
            way = one.direction.replace("-", " ")
            cells[key][one.message_size][one.processes, way] = _rate(record)
    for (pattern, path), by_size in cells.items():
        measured = sorted({column for row in by_size.values() for column in row})
        rows = tuple(
            (Cell(format_size(size)), *(row.get(column, Cell("")) for column in measured))
            for size, row in sorted(by_size.items())
        )
        title = ", ".join(filter(None, ("bandwidth of a pair", pattern, path)))
        hint = "Bytes per second in one direction, of the slowest pair while all P processes communicate"
        hint += "." if path else "; to: of the fastest."
        columns = ("size", *(f"P = {count}, {way}" for count, way in measured))
        yield PartTable(title, columns, rows, hint)


def problem_words(sweep: Sweep, *, with_library: bool) -> str:
    """Return what is communicated and how, the volume and the computation apart."""
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


def _sweep_parts(measurements: Measurements) -> Iterable[PartTable]:
    found = sweeps(measurements)
    several = len({sweep.library for sweep in found}) > 1
    tables: dict[str, dict[tuple[int, int], dict[str, Sweep]]] = defaultdict(lambda: defaultdict(dict))
    for sweep in found:
        tables[problem_words(sweep, with_library=several)][sweep.volume, sweep.passes][sweep.template] = sweep
    for title, problems in tables.items():
        templates = [name for name in _TEMPLATES if any(name in row for row in problems.values())]
        rows = []
        for (volume, passes), row in sorted(problems.items()):
            one = next(iter(row.values()))
            about = (Cell(format_size(volume)), Cell(str(passes)))
            times = (
                NOTHING if one.computation is None else Cell(format_time(one.computation)),
                NOTHING if one.blocking is None else Cell(format_time(one.blocking.seconds)),
            )
            rows.append((*about, *times, *(_best_cell(row.get(name)) for name in templates)))
        columns = ("volume V", "passes", "computation t_V", "blocking", *(f"best {name}" for name in templates))
        hint = (
            "Time of communication and computation together; below it the message size and the burst of the fastest "
            "decomposition, and the share of the communication that it hides."
        )
        yield PartTable(f"overlap, {title}", columns, tuple(rows), hint)


def overlap_parts(measurements: Measurements, machine: Machine | None) -> tuple[PartTable, ...]:
    """Return progress of each path and operation, bandwidth of all processes at once, and what overlap brought."""
    return (
        *_progress_parts(profiles(measurements, machine)),
        *_bandwidth_parts(measurements),
        *_sweep_parts(measurements),
    )
