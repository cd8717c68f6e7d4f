"""The loops of the optimiser, compiled.

Main entries: `search`, which finds the fastest decomposition of a grid, and `fill`, which writes the times of many.
Codes stand for names, as compiled loops take numbers only. Arrays: sizes from the largest, bursts from the longest;
o and progress of shape (1 or 3, sizes, bursts or 1), L and G (1 or 3, sizes). The first of three is the value, the
others are the ends of its interval, the low one first. Source: Iancu and Strohmaier 2007.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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

Array = NDArray[np.float64]

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

_ONE, _TWO, _THREE = "float64[::1]", "float64[:,::1]", "float64[:,:,::1]"


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


@compiled(
    "Tuple((int64, int64, int64, float64, float64, int64, int64, float64, float64, float64, float64, float64))"
    f"(Tuple((int64, int64, int64, float64, float64)), UniTuple(int64, 2), Tuple(({_ONE}, {_ONE}, int64, int64)), "
    f"float64, {_ONE}, Tuple(({_THREE}, {_TWO}, {_TWO}, {_THREE})), UniTuple(float64, 2))"
)
def search(
    kind: tuple[int, int, int, float, float], implementations: tuple[int, int], grid: tuple[Array, Array, int, int],
    volume: float, computation: Array, parameters: tuple[Array, Array, Array, Array], most: tuple[float, float],
) -> tuple[int, int, int, float, float, int, int, float, float, float, float, float]:  # fmt: skip
    """Return (implementation, row, column, seconds, blocking seconds, limits, neighbours, low, high, ...).

    Further: blocking low, blocking high, least gain.

    `kind` is (model, bound, pattern, peers, repeats), `implementations` the first and the last to try, `grid` (sizes,
    bursts, first row, last column), `parameters` (o, L, G, progress), `most` (queue depth, outstanding volume).
    Rows before `first_row` and columns after `last_column` are there for the blocking time alone. `limits` are the
    constraints without which another decomposition would be faster; `neighbours` has bit 3 i + j for the decomposition
    at (row + i − 1, column + j − 1) that is as fast as the choice at some corner of the intervals. `low` and `high` are
    the least and the largest time of the choice, and of blocking messages, with all costs at one end of their intervals
    and progress at either of its own; the least gain is the least of what the one is faster than the other there. The
    implementation is −1 where nothing keeps all constraints.
    """
    model, bound, pattern, peers, repeats = kind
    sizes, bursts, first_row, last_column = grid
    o, L, G, progress = parameters
    queue_depth, outstanding_volume = most
    rows, columns = sizes.size, bursts.size
    per_burst, progress_per_burst = o.shape[2] > 1, progress.shape[2] > 1
    times, mean_bursts = np.empty((2, rows, columns)), np.empty((rows, columns))
    broken = np.empty((rows, columns), dtype=np.uint8)
    G_V = G[0, 0]
    for row in range(rows):
        size, own_L, own_G = sizes[row], L[0, row], G[0, row]
        messages = math.ceil(volume / size)
        for column in range(columns):
            burst = bursts[column]
            if row < first_row or column > last_column or burst > messages:
                broken[row, column] = UNFIT
                continue
            marks = 0
            if burst > 1.0 and burst_slack(size, burst, o[0, row, column if per_burst else 0], own_L, own_G) <= 0.0:
                marks |= BURST_OVERHEAD
            if queue_slack(burst, queue_depth) <= 0.0:
                marks |= QUEUE_DEPTH
            if outstanding_slack(size, burst, outstanding_volume) < 0.0:
                marks |= OUTSTANDING_VOLUME
            broken[row, column] = marks
            mean_bursts[row, column] = messages / math.ceil(messages / burst)
    best, least = -1, math.inf
    for implementation in range(implementations[0], implementations[1] + 1):
        method, own_least = Method(model, implementation, bound, pattern, peers, repeats), math.inf
        for row in range(rows):
            t_V, own_L, own_G = computation[row], L[0, row], G[0, row]
            mean_size = volume / math.ceil(volume / sizes[row])
            for column in range(columns):
                if broken[row, column] == UNFIT:
                    continue
                own_o = o[0, row, column if per_burst else 0]
                share = progress[0, row, column if progress_per_burst else 0]
                cut = Cut(volume, mean_size, mean_bursts[row, column], t_V)
                seconds = whole_time(method, cut, CostsOfMessage(own_o, own_L, own_G, G_V, share))
                times[implementation, row, column] = seconds
                if broken[row, column] == 0 and seconds < own_least:
                    own_least = seconds
        if own_least < least:
            best, least = implementation, own_least
    whole = volume / math.ceil(volume / sizes[0])
    alone = blocking_time(volume, whole, computation[0], o[0, 0, o.shape[2] - 1], L[0, 0], G_V)
    method = Method(model, best, bound, pattern, peers, repeats)
    blocking = with_peers(alone, method, volume, whole, 1.0, G_V)
    if best < 0:
        return best, 0, 0, least, blocking, 0, 0, least, least, blocking, blocking, 0.0

    row, column = first_within(times[best], broken, least * (1.0 + EQUAL))
    seconds = times[best, row, column]
    limits, faster = 0, seconds * (1.0 - EQUAL)
    communicating = Method(model, best, COMMUNICATION, pattern, peers, repeats)
    communicates = computation[0] < volume * G_V
    for down in range(rows):
        mean_size, t_V = volume / math.ceil(volume / sizes[down]), computation[down]
        own_L, own_G = L[0, down], G[0, down]
        for across in range(columns):
            marks = int(broken[down, across])
            if marks in (BURST_OVERHEAD, QUEUE_DEPTH, OUTSTANDING_VOLUME):
                if times[best, down, across] < faster:
                    limits |= marks
                continue
            if marks != 0:
                continue
            own_o = o[0, down, across if per_burst else 0]
            share = progress[0, down, across if progress_per_burst else 0]
            cut = Cut(volume, mean_size, mean_bursts[down, across], t_V)
            if share < 1.0 and limits & INDEPENDENT_PROGRESS == 0 and (down != row or across != column):
                free = whole_time(method, cut, CostsOfMessage(own_o, own_L, own_G, G_V, 1.0))
                if free < faster:
                    limits |= INDEPENDENT_PROGRESS
            is_broken = communicates and limits & INITIATION == 0
            if is_broken and initiation_slack(volume, mean_size, t_V, own_o, own_G) <= 0.0:
                free = whole_time(communicating, cut, CostsOfMessage(own_o, own_L, own_G, G_V, share))
                if free < faster:
                    limits |= INITIATION

    neighbours = 0
    for corner in range(9 if max(o.shape[0], L.shape[0], G.shape[0]) > 1 else 1):
        chosen = 0.0
        of_o = 0 if corner == 0 else min(o.shape[0] - 1, 1 + (corner - 1) % 2)
        of_L = 0 if corner == 0 else min(L.shape[0] - 1, 1 + (corner - 1) // 2 % 2)
        of_G = 0 if corner == 0 else min(G.shape[0] - 1, 1 + (corner - 1) // 4)
        for near in (4, 0, 1, 2, 3, 5, 6, 7, 8):  # the choice itself first
            down, across = row + near // 3 - 1, column + near % 3 - 1
            if down < 0 or down >= rows or across < 0 or across >= columns or broken[down, across] != 0:
                continue
            mean_size = volume / math.ceil(volume / sizes[down])
            cut = Cut(volume, mean_size, mean_bursts[down, across], computation[down])
            costs = CostsOfMessage(
                o[of_o, down, across if per_burst else 0], L[of_L, down], G[of_G, down], G[of_G, 0],
                progress[0, down, across if progress_per_burst else 0],
            )  # fmt: skip
            at_corner = whole_time(method, cut, costs)
            if near == 4:
                chosen = at_corner
            elif at_corner <= chosen * (1.0 + EQUAL):
                neighbours |= 1 << near

    low, high, low_blocking, high_blocking, least_gain = seconds, seconds, blocking, blocking, blocking - seconds
    cut = Cut(volume, volume / math.ceil(volume / sizes[row]), mean_bursts[row, column], computation[row])
    for end in range(1 if max(o.shape[0], L.shape[0], G.shape[0], progress.shape[0]) == 1 else 4):
        of_o, of_L = min(o.shape[0] - 1, 1 + end % 2), min(L.shape[0] - 1, 1 + end % 2)
        of_G, of_progress = min(G.shape[0] - 1, 1 + end % 2), min(progress.shape[0] - 1, 1 + end // 2)
        costs = CostsOfMessage(
            o[of_o, row, column if per_burst else 0], L[of_L, row], G[of_G, row], G[of_G, 0],
            progress[of_progress, row, column if progress_per_burst else 0],
        )  # fmt: skip
        cut_seconds = whole_time(method, cut, costs)
        alone = blocking_time(volume, whole, computation[0], o[of_o, 0, o.shape[2] - 1], L[of_L, 0], G[of_G, 0])
        uncut = with_peers(alone, method, volume, whole, 1.0, G[of_G, 0])
        low, high, low_blocking, high_blocking, least_gain = (
            min(low, cut_seconds), max(high, cut_seconds), min(low_blocking, uncut), max(high_blocking, uncut),
            min(least_gain, uncut - cut_seconds),
        )  # fmt: skip
    return best, row, column, seconds, blocking, limits, neighbours, low, high, low_blocking, high_blocking, least_gain


@compiled()
def first_within(times: Array, broken: NDArray[np.uint8], most: float) -> tuple[int, int]:
    """Return the first row and column that keep all limits and take no longer than `most`."""
    for row in range(times.shape[0]):
        for column in range(times.shape[1]):
            if broken[row, column] == 0 and times[row, column] <= most:
                return row, column
    return -1, -1


@compiled(f"{_TWO}({_ONE}, {_ONE}, {_ONE}, {_ONE}, {_TWO})")
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


@compiled(f"{_TWO}({_ONE}, {_ONE}, {_TWO})")
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


@compiled(
    f"void(float64[:,:,:,::1], Tuple((int64, int64, int64, float64, float64)), UniTuple({_ONE}, 4), "
    f"Tuple(({_TWO}, {_TWO}, {_ONE}, {_ONE}, {_ONE}, {_TWO})))"
)
def fill(
    surface: NDArray[Any], kind: tuple[int, int, int, float, float], axes: tuple[Array, Array, Array, Array],
    parameters: tuple[Array, Array, Array, Array, Array, Array],
) -> None:  # fmt: skip
    """Write the times of all decompositions, shape (volumes, sizes, bursts, computations).

    `kind` is (model, implementation, pattern, peers, repeats), `axes` (volumes, sizes, bursts, computations),
    `parameters` (o, least o, L, G, G of the whole, progress).
    """
    model, implementation, pattern, peers, repeats = kind
    method = Method(model, implementation, EITHER, pattern, peers, repeats)
    volumes, sizes, bursts, computations = axes
    o, least_o, L, G, G_V, progress = parameters
    for i in range(volumes.size):
        volume, whole = volumes[i], G_V[i]
        for j in range(sizes.size):
            messages = math.ceil(volume / sizes[j])
            mean_size, own_L, own_G = volume / messages, L[j], max(G[j], whole) if model == BOUNDED else G[j]
            for k in range(bursts.size):
                burst = messages / math.ceil(messages / bursts[k])
                costs = CostsOfMessage(max(o[j, k], least_o[i, j]), own_L, own_G, whole, progress[j, k])
                for m in range(computations.size):
                    surface[i, j, k, m] = whole_time(method, Cut(volume, mean_size, burst, computations[m]), costs)
