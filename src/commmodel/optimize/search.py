"""The loops of the optimiser, compiled where there is much to evaluate.

Main entries: `search`, which finds the fastest decomposition of a grid, and `fill`, which writes the times of many.
Codes stand for names, as compiled loops take numbers only. Source: Iancu and Strohmaier 2007.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.arrays import Array
from commmodel.models.compiled import compiled
from commmodel.models.overlap import (
    all_to_all_contiguous_time,
    all_to_all_interleaved_time,
    blocking_time,
    burst_slack,
    congested_time,
    initiation_slack,
    multiple_end_points_time,
    outstanding_slack,
    partly_hidden_time,
    pipelined_computation_time,
    pipelined_least_time,
    pipelined_time,
    processor_least_time,
    queue_slack,
    tight_computation_time,
    tight_time,
    turns_least_time,
)

PAPER, BOUNDED = 0, 1
"""Which model: the paper's equations, or these and what no order of messages and computation falls below."""
PIPELINED, TIGHT = 0, 1
EITHER, COMMUNICATION, COMPUTATION = 0, 1, 2
"""Which formulas: those of the case at hand, or of one case whatever it is."""
ALONE, CONGESTED, CONTIGUOUS, INTERLEAVED = 0, 1, 2, 3
"""What a pattern adds to the time between two processes: nothing, Eq 9, Eq 10 or Eq 11."""
INITIATION, BURST_OVERHEAD, QUEUE_DEPTH, OUTSTANDING_VOLUME, INDEPENDENT_PROGRESS = 1, 2, 4, 8, 16
"""Limits, a bit each."""
UNFIT = 128
"""Mark of a decomposition that is not offered, or of fewer messages than a burst."""
EQUAL = 1e-12
"""Relative difference of times that is rounding."""


class Method(NamedTuple):
    """By which formulas, for which pattern."""

    model: int
    implementation: int
    bound: int
    pattern: int
    peers: float
    repeats: float
    """Exchanges, one after the other."""


class Cut(NamedTuple):
    """An exchange in messages and bursts."""

    volume: float
    size: float
    """Of the mean message."""
    burst: float
    """Messages of the mean burst."""
    computation: float


class CostsOfMessage(NamedTuple):
    """o, L, G and progress of a message, and G of the whole transfer."""

    o: float
    L: float
    G: float
    G_V: float
    progress: float


class Grid(NamedTuple):
    """Decompositions of an exchange, sizes down and bursts across, with what their messages cost.

    Of three costs the first is the value, the others are the ends of its interval, the low one first.
    """

    volume: float
    sizes: Array
    """From the largest, which is there for the blocking time at least."""
    bursts: Array
    """From the longest, to 1."""
    first_row: int
    """Row of the largest size offered."""
    last_column: int
    """Column of the shortest burst offered."""
    computation: Array
    """For each size."""
    o: Array
    """Shape (1 or 3, sizes, bursts or 1), as progress."""
    L: Array
    """Shape (1 or 3, sizes), as G."""
    G: Array
    progress: Array
    queue_depth: float
    outstanding_volume: float


class Cuts(NamedTuple):
    """What follows from a grid alone."""

    mean_sizes: Array
    mean_bursts: Array
    """Shape (sizes, bursts), as all that follow."""
    broken: NDArray[np.uint8]
    """Limits that a decomposition breaks, a bit each, or `UNFIT`."""


class Corner(NamedTuple):
    """Which of three values of each cost: 0 the value, 1 and 2 the ends of its interval."""

    o: int
    L: int
    G: int
    progress: int


VALUES = Corner(0, 0, 0, 0)


class SearchResult(NamedTuple):
    """The fastest decomposition of a grid; limits and neighbours as bits."""

    implementation: int
    """-1 where no decomposition keeps all constraints."""
    row: int
    column: int
    seconds: float
    blocking_seconds: float
    limits: int
    """Constraints without which another decomposition would be faster."""
    neighbours: int
    """Bit 3 i + j: the decomposition at (row + i - 1, column + j - 1) is as fast at some corner of the intervals."""
    low: float
    """Least time of the choice, with all costs at one end of their intervals and progress at either end of its own."""
    high: float
    blocking_low: float
    """The same of blocking messages."""
    blocking_high: float
    least_gain: float
    """The least of what the choice is faster than blocking messages there."""


class SurfaceGrid(NamedTuple):
    """Decompositions of many exchanges, with what their messages cost."""

    volumes: Array
    sizes: Array
    bursts: Array
    computations: Array
    o: Array
    """Shape (sizes, bursts), as progress."""
    least_o: Array
    """Shape (volumes, sizes)."""
    L: Array
    """For each size, as G."""
    G: Array
    G_V: Array
    """For each volume."""
    progress: Array


@compiled()
def between_two(method: Method, cut: Cut, costs: CostsOfMessage) -> float:
    """Return the time between two processes where the transfer progresses by itself."""
    volume, size, burst, computation = cut
    o, L, G, G_V, _ = costs
    if method.implementation == TIGHT:
        communication = tight_time(volume, size, burst, computation, o, L, G)
        calculation = tight_computation_time(volume, size, burst, computation, o, L, G)
    else:
        communication = pipelined_time(volume, size, burst, computation, o, L, G, G_V)
        calculation = pipelined_computation_time(volume, size, burst, computation, o, L, G)
    if method.bound == COMMUNICATION:
        return communication
    if method.bound == COMPUTATION:
        return calculation
    if initiation_slack(volume, size, computation, o, G) > 0.0:
        return communication
    return max(communication, calculation) if volume * G > computation else calculation


@compiled()
def with_peers(seconds: float, method: Method, volume: float, size: float, burst: float, G: float) -> float:
    """Return the time of a pattern from that between two processes."""
    if method.pattern == CONGESTED:
        seconds = congested_time(seconds, size, burst, method.peers, G)
    elif method.pattern == CONTIGUOUS:
        seconds = all_to_all_contiguous_time(seconds, size, burst, method.peers, G)
    elif method.pattern == INTERLEAVED:
        seconds = all_to_all_interleaved_time(seconds, volume, G)
    return multiple_end_points_time(seconds, method.repeats)


@compiled()
def whole_time(method: Method, cut: Cut, costs: CostsOfMessage) -> float:
    """Return the time of a decomposition, with its pattern and its progress."""
    volume, size, burst, computation = cut
    o, L, G, _, progress = costs
    seconds: float = between_two(method, cut, costs)
    if method.model == BOUNDED:
        seconds = max(seconds, processor_least_time(volume, size, computation, o, L, G))
        under_way = 1.0 if method.implementation == TIGHT else 2.0
        seconds = max(seconds, turns_least_time(volume, size, burst, computation, o, L, G, under_way))
    if progress < 1.0:
        seconds = partly_hidden_time(seconds, volume, size, computation, o, L, G, progress)
    seconds = with_peers(seconds, method, volume, size, burst, G)
    if method.model == BOUNDED and method.pattern == CONGESTED:  # all the processes' bytes pass one port
        shared = pipelined_least_time(method.peers * volume, size, method.peers * computation, o, L, G)
        seconds = max(seconds, multiple_end_points_time(shared, method.repeats))
    return seconds


@compiled()
def message_costs(grid: Grid, corner: Corner, row: int, column: int) -> CostsOfMessage:
    """Return the costs of a grid's decomposition at a corner of their intervals."""
    o, L, G, progress = grid.o, grid.L, grid.G, grid.progress
    of_G = min(corner.G, G.shape[0] - 1)
    return CostsOfMessage(
        o[min(corner.o, o.shape[0] - 1), row, min(column, o.shape[2] - 1)],
        L[min(corner.L, L.shape[0] - 1), row],
        G[of_G, row],
        G[of_G, 0],
        progress[min(corner.progress, progress.shape[0] - 1), row, min(column, progress.shape[2] - 1)],
    )


@compiled()
def cuts_of(grid: Grid) -> Cuts:
    """Return mean messages, mean bursts and the constraints that decompositions break."""
    rows, columns = grid.sizes.size, grid.bursts.size
    mean_sizes, mean_bursts = np.empty(rows), np.ones((rows, columns))
    broken = np.full((rows, columns), UNFIT, dtype=np.uint8)
    for row in range(rows):
        size = grid.sizes[row]
        messages = math.ceil(grid.volume / size)
        mean_sizes[row] = grid.volume / messages
        for column in range(columns):
            burst = grid.bursts[column]
            if row < grid.first_row or column > grid.last_column or burst > messages:
                continue
            mean_bursts[row, column] = messages / math.ceil(messages / burst)
            costs = message_costs(grid, VALUES, row, column)
            limits = 0
            if burst > 1.0 and burst_slack(size, burst, costs.o, costs.L, costs.G) <= 0.0:
                limits |= BURST_OVERHEAD
            if queue_slack(burst, grid.queue_depth) <= 0.0:
                limits |= QUEUE_DEPTH
            if outstanding_slack(size, burst, grid.outstanding_volume) < 0.0:
                limits |= OUTSTANDING_VOLUME
            broken[row, column] = limits
    return Cuts(mean_sizes, mean_bursts, broken)


@compiled()
def cut_of(grid: Grid, cuts: Cuts, row: int, column: int) -> Cut:
    """Return a decomposition of a grid."""
    return Cut(grid.volume, cuts.mean_sizes[row], cuts.mean_bursts[row, column], grid.computation[row])


@compiled()
def time_at(method: Method, grid: Grid, cuts: Cuts, corner: Corner, row: int, column: int) -> float:
    """Return the time of a decomposition at a corner of the costs' intervals."""
    return whole_time(method, cut_of(grid, cuts, row, column), message_costs(grid, corner, row, column))


@compiled()
def blocking_at(method: Method, grid: Grid, cuts: Cuts, corner: Corner) -> float:
    """Return the time of blocking messages at a corner of the costs' intervals."""
    costs, size = message_costs(grid, corner, 0, grid.bursts.size - 1), cuts.mean_sizes[0]
    alone = blocking_time(grid.volume, size, grid.computation[0], costs.o, costs.L, costs.G_V)
    return with_peers(alone, method, grid.volume, size, 1.0, costs.G_V)


@compiled()
def write_times(times: Array, method: Method, grid: Grid, cuts: Cuts) -> float:
    """Write the times of all decompositions; return the least of those that keep all constraints."""
    least = math.inf
    for row in range(grid.sizes.size):
        for column in range(grid.bursts.size):
            if cuts.broken[row, column] != UNFIT:
                times[row, column] = time_at(method, grid, cuts, VALUES, row, column)
                if cuts.broken[row, column] == 0:
                    least = min(least, times[row, column])
    return least


@compiled()
def first_within(times: Array, broken: NDArray[np.uint8], most: float) -> tuple[int, int]:
    """Return the first row and column that keep all limits and take no longer than `most`."""
    for row in range(times.shape[0]):
        for column in range(times.shape[1]):
            if broken[row, column] == 0 and times[row, column] <= most:
                return row, column
    return -1, -1


@compiled()
def limits_of(times: Array, method: Method, grid: Grid, cuts: Cuts, row: int, column: int) -> int:
    """Return the constraints without which a decomposition would be faster than that at (row, column)."""
    limits, faster = 0, times[row, column] * (1.0 - EQUAL)
    communicates = grid.computation[0] < grid.volume * grid.G[0, 0]
    communicating = Method(
        method.model, method.implementation, COMMUNICATION, method.pattern, method.peers, method.repeats
    )
    for down in range(grid.sizes.size):
        for across in range(grid.bursts.size):
            broken = int(cuts.broken[down, across])
            if broken in (BURST_OVERHEAD, QUEUE_DEPTH, OUTSTANDING_VOLUME):
                if times[down, across] < faster:
                    limits |= broken
            elif broken == 0:
                cut = cut_of(grid, cuts, down, across)
                costs = message_costs(grid, VALUES, down, across)
                if costs.progress < 1.0 and limits & INDEPENDENT_PROGRESS == 0 and (down != row or across != column):
                    free = CostsOfMessage(costs.o, costs.L, costs.G, costs.G_V, 1.0)
                    if whole_time(method, cut, free) < faster:
                        limits |= INDEPENDENT_PROGRESS
                if communicates and limits & INITIATION == 0:
                    slack = initiation_slack(grid.volume, cut.size, cut.computation, costs.o, costs.G)
                    if slack <= 0.0 and whole_time(communicating, cut, costs) < faster:
                        limits |= INITIATION
    return limits


@compiled()
def neighbours_of(method: Method, grid: Grid, cuts: Cuts, row: int, column: int) -> int:
    """Return as bits the decompositions around (row, column) that are as fast at some corner of the intervals."""
    neighbours = 0
    for number in range(9):  # the values, then the corners
        corner = VALUES
        if number > 0:
            corner = Corner(1 + (number - 1) % 2, 1 + (number - 1) // 2 % 2, 1 + (number - 1) // 4, 0)
        most = time_at(method, grid, cuts, corner, row, column) * (1.0 + EQUAL)
        for near in range(9):
            down, across = row + near // 3 - 1, column + near % 3 - 1
            is_inside = 0 <= down < grid.sizes.size and 0 <= across < grid.bursts.size
            if near != 4 and is_inside and cuts.broken[down, across] == 0:  # noqa: SIM102, as deep as the grid
                if time_at(method, grid, cuts, corner, down, across) <= most:
                    neighbours |= 1 << near
    return neighbours


@compiled(count=lambda _method, grid, *_implementations: 100 + grid.sizes.size * grid.bursts.size)
def search(method: Method, grid: Grid, first: int, last: int) -> SearchResult:
    """Return the fastest decomposition, of the implementations from `first` to `last`; that of `method` is ignored."""
    cuts = cuts_of(grid)
    times = np.empty((2, grid.sizes.size, grid.bursts.size))
    best, least = -1, math.inf
    for implementation in range(first, last + 1):
        tried = Method(method.model, implementation, method.bound, method.pattern, method.peers, method.repeats)
        seconds = write_times(times[implementation], tried, grid, cuts)
        if seconds < least:
            best, least = implementation, seconds
    if best < 0:
        return SearchResult(best, 0, 0, least, least, 0, 0, least, least, least, least, 0.0)
    method = Method(method.model, best, method.bound, method.pattern, method.peers, method.repeats)
    row, column = first_within(times[best], cuts.broken, least * (1.0 + EQUAL))
    seconds, blocking = times[best, row, column], blocking_at(method, grid, cuts, VALUES)
    low, high, blocking_low, blocking_high, least_gain = seconds, seconds, blocking, blocking, blocking - seconds
    for number in range(4):
        end = 1 + number % 2
        corner = Corner(end, end, end, 1 + number // 2)
        at_end = time_at(method, grid, cuts, corner, row, column)
        blocking_at_end = blocking_at(method, grid, cuts, corner)
        low, high = min(low, at_end), max(high, at_end)
        blocking_low, blocking_high = min(blocking_low, blocking_at_end), max(blocking_high, blocking_at_end)
        least_gain = min(least_gain, blocking_at_end - at_end)
    limits = limits_of(times[best], method, grid, cuts, row, column)
    neighbours = neighbours_of(method, grid, cuts, row, column)
    return SearchResult(
        best, row, column, seconds, blocking, limits, neighbours, low, high, blocking_low, blocking_high, least_gain
    )


@compiled(count=lambda row_sizes, column_counts, *_table: row_sizes.size * column_counts.size // 4)
def look_up(row_sizes: Array, column_counts: Array, sizes: Array, counts: Array, values: Array) -> Array:
    """Return a table's values as `commmodel.machine.Table.at` does, at sizes (rows) and counts (columns)."""
    result = np.empty((row_sizes.size, column_counts.size))
    columns = np.empty(column_counts.size, dtype=np.int64)
    rights = np.empty(column_counts.size)
    for across in range(column_counts.size):
        columns[across], rights[across] = place(counts, column_counts[across])
    for down in range(row_sizes.size):
        row, below = place(sizes, row_sizes[down])
        upper, lower = values[row], values[min(row + 1, sizes.size - 1)]
        for across in range(column_counts.size):
            column, right = columns[across], rights[across]
            beside = min(column + 1, counts.size - 1)
            above = upper[column] + right * (upper[beside] - upper[column])
            under = lower[column] + right * (lower[beside] - lower[column])
            result[down, across] = above + below * (under - above)
    return result


@compiled()
def place(axis: Array, value: float) -> tuple[int, float]:
    """Return the index of the interval that contains a value, and the position in it from 0 to 1."""
    if value <= axis[0]:
        return 0, 0.0
    if value >= axis[axis.size - 1]:
        return axis.size - 1, 0.0
    index = 0
    while axis[index + 1] < value:
        index += 1
    return index, math.log2(value / axis[index]) / math.log2(axis[index + 1] / axis[index])


@compiled(count=lambda points, _sizes, columns: points.size * columns.shape[0] // 4)
def interpolate(points: Array, sizes: Array, columns: Array) -> Array:
    """Return several columns as `commmodel.machine.PLogP.at` does, a row each, at sizes (columns)."""
    result = np.empty((columns.shape[0], points.size))
    for across in range(points.size):
        index, size = 0, points[across]
        while index < sizes.size - 2 and sizes[index + 1] < size:
            index += 1
        step, beyond = sizes[index + 1] - sizes[index], size > sizes[sizes.size - 1]
        for down in range(columns.shape[0]):
            low, high = columns[down, index], columns[down, index + 1]
            if beyond:
                result[down, across] = high + (size - sizes[index + 1]) * max(0.0, (high - low) / step)
            else:
                result[down, across] = low + max(0.0, size - sizes[index]) * ((high - low) / step)
    return result


@compiled(count=lambda surface, *_rest: surface.size)
def fill(surface: NDArray[Any], method: Method, grid: SurfaceGrid) -> None:
    """Write the times of all decompositions, shape (volumes, sizes, bursts, computations)."""
    for i in range(grid.volumes.size):
        volume, G_V = grid.volumes[i], grid.G_V[i]
        for j in range(grid.sizes.size):
            messages = math.ceil(volume / grid.sizes[j])
            mean_size, L, G = volume / messages, grid.L[j], grid.G[j]
            if method.model == BOUNDED:
                G = max(G, G_V)
            for k in range(grid.bursts.size):
                burst = messages / math.ceil(messages / grid.bursts[k])
                costs = CostsOfMessage(max(grid.o[j, k], grid.least_o[i, j]), L, G, G_V, grid.progress[j, k])
                for m in range(grid.computations.size):
                    cut = Cut(volume, mean_size, burst, grid.computations[m])
                    surface[i, j, k, m] = whole_time(method, cut, costs)
