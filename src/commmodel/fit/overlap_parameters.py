"""Parameters of overlap (o, L, progress, queue depth) and of shared bandwidth G(P, S), from measurements.

Medians, and of bandwidths and exchanges lower quartiles, as they are, in tables: nothing is fitted but where a queue
is full, or too many bytes are under way. What the quantities are is in `commmodel.machine.OverlapProfile` and
`commmodel.machine.BandwidthProfile` (Iancu and Strohmaier 2007, Section 2.1). Main entries: `fit_overlap`,
`fit_bandwidth`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from statistics import median, median_low
from typing import Literal, get_args

import numpy as np

from commmodel.fit.trust import rounded
from commmodel.machine import BandwidthProfile, OverlapProfile, Parameter, ParameterTable
from commmodel.results import Launch, Measurements, Record
from commmodel.results.configurations import Bandwidth, Burst, PingPong, PLogPParameter, Progress, Queue, Train
from commmodel.statistics import summarise

Operation = Literal["two-sided", "put", "get"]
Pattern = Literal["nearest-neighbour", "cross"]
Direction = Literal["one-way", "both-ways"]
Cells = Mapping[tuple[int, int], float]
"""(message size, burst or number of processes) -> value."""

_NEXT = 8  # initiations, three quarters of which
_MOST = 0.25
_JUMP = 3.0  # are so many times slower where one is not slow by chance
_LEAST_DEPTH = 2  # of a queue: below, there is nothing to compare with
_LEAST_SHARE = 0.1  # of a transfer: below, nothing goes on by itself, and what is seen is noise
_SLOWER = 1.25  # times an exchange of as many bytes or more: then it was disturbed
_LOST = 0.5  # of the best share
_NEAR = 16  # times fewer bytes under way
_UNDISTURBED = 0.25
"""Quantile of the times of windows and exchanges: what disturbs such streams only slows them down."""
_TWO = 2  # processes, which are the same in all patterns
_ENDS: dict[Operation, tuple[str, ...]] = {"two-sided": ("isend", "irecv"), "put": ("put",), "get": ("get",)}


def fit_overlap(measurements: Measurements) -> tuple[OverlapProfile, ...]:
    """Return a profile per path and operation from the kernels burst, queue and progress.

    Parameters
    ----------
    measurements : Measurements
        Records of these kernels; and those of pingpong, plogp or loggp for L.

    Returns
    -------
    tuple of OverlapProfile
        In the order in which they were measured. What no record tells is None.

    Notes
    -----
    ``overhead``: medians of the kernel burst, for two-sided messages the sum of both ends, in seconds over bytes and
    burst lengths. Where a burst was not measured at a size, as it does not fit into memory, that of the longest shorter
    one stands there; where there is no shorter one, the shortest.

    ``progress``: 2 − T / T₀, from 0 to 1, with T₀ the exchange alone and T the same with a computation of T₀ in it,
    lower quartiles both.
    Where T₀ is more than 1.25 times that of as many or more bytes in bursts of that length, it was disturbed when it
    was timed, and as the share would come out too large, there is none. Gaps are filled as those of the overhead.

    ``queue_depth``: the messages before the first that takes more than 3 times the median of all before it, as do three
    quarters of the next 8 and the median of all the rest; in at least two sizes, of which the middle one counts, or in
    the only one.

    ``outstanding_volume``: the largest b S whose share of progress is at least half the best one. There is none if
    no larger b S was measured; if the best is at most 0.1; or if of the bursts from a sixteenth of it up to it half or
    more have smaller shares: then it is not the bytes that decide, but the size of a message.

    ``L``: the time of a smallest message less o(S, 1), at least 0. That time is half a round trip of the kernel
    pingpong, else of plogp, else of a lone message of loggp; for put and get, and where there is none of these, it is
    that of one message each way of the kernel progress.

    Examples
    --------
    >>> from commmodel.results import Header, Library
    >>> ends = [Record(Burst(8, 1, end, "same-node"), "s", (1e-6,)) for end in ("isend", "irecv")]
    >>> pings = Record(PingPong(8, "same-node"), "s", (5e-6,))
    >>> header = Header("commmodel-results", 1, "2026-01-01", (), Library("MPI"), (), ())
    >>> (profile,) = fit_overlap(Measurements((Launch(header, (*ends, pings)),)))
    >>> profile.overhead.at(8, 1), profile.L.value
    (2e-06, 3e-06)
    """
    records = list(measurements.records)
    keys = dict.fromkeys(
        (configuration.path, _operation(configuration))
        for configuration in (record.configuration for record in records)
        if isinstance(configuration, Burst | Queue | Progress)
    )
    return tuple(_profile(records, path, operation) for path, operation in keys)


def _operation(configuration: Burst | Queue | Progress) -> Operation:
    return (
        configuration.operation if configuration.operation == "put" or configuration.operation == "get" else "two-sided"
    )


def _profile(records: Sequence[Record], path: str, operation: Operation) -> OverlapProfile:
    matching = [
        record
        for record in records
        if isinstance(configuration := record.configuration, Burst | Queue | Progress)
        and (configuration.path, _operation(configuration)) == (path, operation)
    ]
    overhead, shares = _table(_overheads(matching, operation)), _shares(matching)
    return OverlapProfile(
        path,
        operation,
        L=None if overhead is None else _latency(records, matching, path, operation, overhead),
        overhead=overhead,
        progress=_table(shares),
        queue_depth=_queue_depth(matching),
        outstanding_volume=_outstanding_volume(shares),
    )


def _medians(values: Mapping[tuple[int, int], Sequence[float]]) -> dict[tuple[int, int], float]:
    """Return one value per cell, over several launches."""
    return {cell: rounded(median(several)) for cell, several in values.items()}


def _overheads(records: Sequence[Record], operation: Operation) -> Cells:
    """Return o(S, b): the sum over sender and receiver."""
    ends: dict[str, dict[tuple[int, int], list[float]]] = {}
    for record in records:
        if isinstance(configuration := record.configuration, Burst) and configuration.message_size:
            cells = ends.setdefault(configuration.operation, {})
            cells.setdefault((configuration.message_size, configuration.burst), []).append(record.summary.median)
    by_end = [_medians(ends.get(end, {})) for end in _ENDS[operation]]
    common = set(by_end[0]).intersection(*by_end[1:])
    return {cell: rounded(sum(cells[cell] for cells in by_end)) for cell in common}


def _shares(records: Sequence[Record]) -> Cells:
    measured = [
        (
            configuration.message_size,
            configuration.burst,
            record.delay,
            float(np.quantile(record.samples, _UNDISTURBED)),
        )
        for record in records
        if isinstance(configuration := record.configuration, Progress) and configuration.message_size and record.delay
    ]
    shares: dict[tuple[int, int], list[float]] = {}
    least: dict[int, float] = {}
    for size, burst, alone, seconds in sorted(measured, key=lambda row: (-row[0], row[2])):
        least[burst] = min(alone, least.get(burst, alone))
        if alone <= _SLOWER * least[burst]:
            shares.setdefault((size, burst), []).append(min(max(2 - seconds / alone, 0.0), 1.0))
    return _medians(shares)


def _table(cells: Cells) -> ParameterTable | None:
    """Return a table; gaps take the value of the next shorter burst, or of the shortest. None without values."""
    if not cells:
        return None
    sizes, bursts = (sorted({cell[place] for cell in cells}) for place in (0, 1))

    def at(size: int, burst: int) -> float:
        measured = [burst for burst in bursts if (size, burst) in cells]
        return cells[size, max((length for length in measured if length <= burst), default=measured[0])]

    values = tuple(tuple(at(size, burst) for burst in bursts) for size in sizes)
    return ParameterTable(tuple(sizes), tuple(bursts), values)


def full_at(seconds: Sequence[float]) -> int | None:
    """Return the number of initiations after which each takes longer: where the queue is full.

    Parameters
    ----------
    seconds : sequence of float
        Of each initiation in a row.

    >>> full_at([1e-7] * 32 + [9e-7] * 32), full_at([1e-7] * 64)
    (32, None)
    """
    for place in range(_LEAST_DEPTH, len(seconds) - _NEXT + 1):
        slow = _JUMP * float(np.median(seconds[:place]))
        rest = seconds[place:]
        if seconds[place] > slow and np.quantile(rest[:_NEXT], _MOST) > slow and np.median(rest) > slow:
            return place
    return None


def _queue_depth(records: Sequence[Record]) -> int | None:
    measured: dict[int, list[tuple[float, ...]]] = {}
    for record in records:
        if isinstance(configuration := record.configuration, Queue):
            measured.setdefault(configuration.message_size, []).append(record.samples)
    depths = [full_at([median(row) for row in zip(*rows, strict=False)]) for rows in measured.values()]
    known_depths = [depth for depth in depths if depth is not None]
    return median_low(known_depths) if known_depths and len(known_depths) >= min(2, len(depths)) else None


def _outstanding_volume(shares: Cells) -> int | None:
    best = max(shares.values(), default=0.0)
    if best <= _LEAST_SHARE:
        return None
    largest = max(size * burst for (size, burst), share in shares.items() if share >= _LOST * best)
    near = [
        share >= _LOST * best for (size, burst), share in shares.items() if largest / _NEAR <= size * burst <= largest
    ]
    is_limit = any(size * burst > largest for size, burst in shares) and sum(near) > len(near) / 2
    return largest if is_limit else None


def _half_round_trips(records: Sequence[Record], path: str) -> Iterator[list[tuple[int, Record, float]]]:
    """Yield (size, record, factor to one way) of each kernel that measures round trips on a path."""
    pings, plogp, lone = [], [], []
    for record in records:
        match record.configuration:
            case PingPong(message_size=size, path=where) if where == path:
                pings.append((size, record, 1.0))
            case PLogPParameter(message_size=size, path=where, quantity="round-trip") if where == path:
                plogp.append((size, record, 0.5))
            case Train(message_size=size, path=where, messages=1) if where == path:
                lone.append((size, record, 0.5))
    yield from (pings, plogp, lone)


def _latency(
    records: Sequence[Record],
    records_on_path: Sequence[Record],
    path: str,
    operation: Operation,
    overhead: ParameterTable,
) -> Parameter | None:
    """Return the time of the smallest message less its overhead, with an interval."""
    exchanges = [
        (configuration.message_size, record, 1.0)
        for record in records_on_path
        if isinstance(configuration := record.configuration, Progress) and configuration.burst == 1 and record.delay
    ]
    round_trips = list(_half_round_trips(records, path))
    sources = [*round_trips, exchanges] if operation == "two-sided" else [exchanges, *round_trips]
    source = next((source for source in sources if source), None)
    if source is None:
        return None
    smallest = min(size for size, _, _ in source)
    chosen = [(record, share) for size, record, share in source if size == smallest]
    o = overhead.at(smallest, 1)

    def without(seconds: float) -> float:
        return rounded(max(seconds - o, 0.0))

    if source is exchanges:
        return Parameter(without(median(record.delay or 0.0 for record, _ in chosen)), "s")
    summary = summarise([sample * share for record, share in chosen for sample in record.samples])
    if not math.isfinite(summary.low) or not math.isfinite(summary.high):
        return Parameter(without(summary.median), "s")
    return Parameter(without(summary.median), "s", without(summary.low), without(summary.high))


def fit_bandwidth(measurements: Measurements) -> tuple[BandwidthProfile, ...]:
    """Return a profile per pattern and direction of the kernel bandwidth.

    Parameters
    ----------
    measurements : Measurements
        Records of this kernel.

    Returns
    -------
    tuple of BandwidthProfile
        Seconds per byte over bytes and numbers of processes P: lower quartiles of the slowest pair and of the fastest.

    Notes
    -----
    Two processes are measured once on each path. They stand in the tables of both patterns, on the path between ranks 0
    and 1, which are neighbours and P / 2 apart; if that was not measured, on the slowest. Gaps are filled as in
    `fit_overlap`.

    Examples
    --------
    >>> from commmodel.results import Header, Library
    >>> pair = Bandwidth(1000, 2, "nearest-neighbour", "one-way", "same-node")
    >>> record = Record(pair, "s", (1e-6,), fastest=(1e-6,))
    >>> header = Header("commmodel-results", 1, "2026-01-01", (), Library("MPI"), (), ())
    >>> [(one.pattern, one.byte_time.at(1000, 2)) for one in fit_bandwidth(Measurements((Launch(header, (record,)),)))]
    [('nearest-neighbour', 1e-09)]
    """
    profiles = []
    for pattern, direction in product(get_args(Pattern), get_args(Direction)):
        slowest: dict[tuple[int, int], list[float]] = {}
        fastest: dict[tuple[int, int], list[float]] = {}
        records = [item for launch in measurements.launches for item in _in_pattern(launch, pattern, direction)]
        for configuration, record in records:
            cell = configuration.message_size, configuration.processes
            slowest.setdefault(cell, []).append(
                float(np.quantile(record.samples, _UNDISTURBED)) / configuration.message_size
            )
            if record.fastest:
                fastest.setdefault(cell, []).append(
                    float(np.quantile(record.fastest, _UNDISTURBED)) / configuration.message_size
                )
        byte_time = _table(_medians(slowest))
        if byte_time is not None and any(configuration.pattern == pattern for configuration, _ in records):
            beside = _table(_medians(fastest)) if fastest.keys() == slowest.keys() else None
            profiles.append(BandwidthProfile(pattern, direction, byte_time, beside))
    return tuple(profiles)


def _in_pattern(launch: Launch, pattern: Pattern, direction: Direction) -> list[tuple[Bandwidth, Record]]:
    """Return the records of a pattern; with two processes, those on the path between ranks 0 and 1."""
    all_of_them = [
        (configuration, record)
        for record in launch.records
        if isinstance(configuration := record.configuration, Bandwidth)
        and configuration.direction == direction
        and configuration.message_size
    ]

    def preference(pair: tuple[Bandwidth, Record]) -> tuple[bool, int, float]:
        configuration, record = pair
        is_first = launch.header.placement.get(configuration.path, ())[:1] == ((0, 1),)
        return is_first, configuration.message_size, record.summary.median

    twos = [pair for pair in all_of_them if pair[0].processes == _TWO]
    path = max(twos, key=preference)[0].path if twos else None
    return [
        (configuration, record)
        for configuration, record in all_of_them
        if (configuration.path == path if configuration.processes == _TWO else configuration.pattern == pattern)
    ]
