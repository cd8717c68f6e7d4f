"""Fit of a node's message rate: k / M_k, M_k = M (pairs / k)^fall, below which no α of k processes falls.

Streams of small messages show it: more pairs then send no more messages a second. Over sizes the rate has steps, where
an interface sends messages in another way; between two of them it is one. All of it is found at once by dynamic
programming over sizes, with the least absolute deviations of logarithms. Main entry: `fit_message_rate`.
"""

import math
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from commmodel.arrays import Array
from commmodel.fit.points import Points
from commmodel.fit.trust import rounded
from commmodel.machine import MessageRate, Parameter
from commmodel.statistics import TO_DEVIATION

_FALLS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""That are tried before the fall is fitted; the last is the most of one that was not measured."""
_LEVELS = 100  # quantiles of the messages' times that are tried as levels
_LATENCIES = 15  # quantiles of the messages' times that are tried as α
_NOISE = (0.05, 0.1, 0.2, 0.4)
"""Mean absolute deviations of logarithms that are tried. No smaller: see `protocol_limits`."""
_CLEAR = 17.0  # fall of −2 log likelihood for a rate, as for a protocol limit in as many sizes and noise of 10 %
_TELLS = 0.5  # of a time: where its bytes take more, it says little of its message
_LEAST_MESSAGE = 0.01  # of a time, where its bytes take all of it
_GROWTH = 1.1  # of the rate, with the most pairs over that with fewer: then nothing limits yet
_DIGITS = 9  # of a slope
_BETWEEN = 0.1  # relative deviation of numbers of pairs from any law, before they are measured
_WORTH = 3.0  # numbers of pairs that this is worth


class Floor(NamedTuple):
    """The least α of some points."""

    seconds: Array
    """Shape (points,); 0 where no rate limits."""
    is_reached: NDArray[np.bool_]
    """Where it tells more than α does."""


class _Piece(NamedTuple):
    """Neighbouring sizes with one rate: a message takes at least exp(level) k^(1 + fall)."""

    begin: int
    end: int
    level: float
    """−∞ where there is none."""
    fall: float


class _Messages(NamedTuple):
    """What is known of messages, one of each size and number of pairs, arrays of shape (cells,)."""

    of_size: NDArray[np.intp]
    """Number of the size."""
    pairs: Array
    seconds: Array
    byte_seconds: Array

    @property
    def message(self) -> Array:
        """The time without the bytes."""
        return np.asarray(np.maximum(self.seconds - self.byte_seconds, _LEAST_MESSAGE * self.seconds))


def fit_message_rate(points: Points, byte_seconds: Array, confidence: float) -> tuple[tuple[MessageRate, ...], Floor]:
    """Return the rates of the sizes at which they limit, ascending, and the least α of each point.

    Parameters
    ----------
    points : Points
        Of streams, in one segment.
    byte_seconds : shape (points,)
        What their bytes take, by the max-rate model.
    confidence : float
        Of the intervals.

    Notes
    -----
    Every range of sizes with a rate of its own must raise the likelihood as much as a protocol limit must. Where the
    most pairs send over 10 % more messages than fewer of them, nothing limits yet. A fall that one number of pairs
    alone shows is 0, with an interval up to 1: more processes send no more messages, or fewer by as much as they are
    more.

    Examples
    --------
    >>> size, pairs = np.repeat([1, 2, 4, 8], 5), np.tile([1, 4, 16, 32, 64], 4)
    >>> seconds = np.maximum(1e-7, pairs / 1e8)
    >>> (rate,), floor = fit_message_rate(Points(size, pairs, seconds, seconds, seconds), np.zeros(20), 0.95)
    >>> rate.M.value, rate.pairs, rate.fall.value, float(floor.is_reached.mean())
    (100000000.0, 64, 0.0, 0.8)
    """
    rates: list[MessageRate] = []
    floor, is_reached = np.zeros(len(points)), np.zeros(len(points), dtype=bool)
    if np.unique(points.pairs).size < 2:
        return (), Floor(floor, is_reached)
    sizes, messages = _messages(points, byte_seconds)
    alpha, pieces = _search(messages)
    for piece in pieces:
        of_piece = (messages.of_size >= piece.begin) & (messages.of_size < piece.end)
        rate = _rate(messages, piece, of_piece, alpha, confidence) or MessageRate(Parameter(math.inf, "1/s"))
        rates.append(replace(rate, upto=None if piece.end == sizes.size else int(sizes[piece.end - 1])))
        if rate.M.is_limiting:
            inside = (points.message_size >= sizes[piece.begin]) & (points.message_size <= sizes[piece.end - 1])
            pairs = points.pairs[inside]
            times = rate.message_time(pairs)
            floor[inside] = np.where(pairs > 1, np.maximum(times, rate.alpha), times)
            is_several = pairs > 1 if (pairs == 1).any() else times > rate.alpha
            is_reached[inside] = is_several & (floor[inside] > _TELLS * points.seconds[inside])
    while rates and not rates[-1].M.is_limiting:
        rates.pop()
    return tuple(rates), Floor(floor, is_reached)


def _messages(points: Points, byte_seconds: Array) -> tuple[NDArray[np.int64], _Messages]:
    """Return the sizes, ascending, and the median of the times of each size and number of pairs."""
    cells, first, cell = np.unique(
        np.stack([points.message_size, points.pairs]), axis=1, return_index=True, return_inverse=True
    )
    parts = np.split(points.seconds[np.argsort(cell.ravel(), kind="stable")], np.cumsum(np.bincount(cell.ravel()))[:-1])
    sizes, of_size = np.unique(cells[0], return_inverse=True)
    seconds = np.array([np.median(part) for part in parts])
    return sizes, _Messages(of_size, cells[1].astype(np.float64), seconds, byte_seconds[first])


def _search(messages: _Messages) -> tuple[float, list[_Piece]]:
    """Return α and the ranges of sizes that are most likely, among those that are tried."""
    count = int(messages.of_size.max()) + 1
    log_message, log_pairs = np.log(messages.message), np.log(messages.pairs)
    shares = np.linspace(0, 1, min(log_pairs.size, _LEVELS))
    levels = np.append([np.quantile(log_message - (1 + fall) * log_pairs, shares) for fall in _FALLS], -math.inf)
    falls = np.append(np.repeat(_FALLS, shares.size), 0.0)
    floors = np.exp(levels[:, None] + (1 + falls)[:, None] * log_pairs)
    best: tuple[float, float, list[_Piece]] = (math.inf, 0.0, [])
    for alpha in np.unique(np.quantile(messages.message, np.linspace(0, 1, _LATENCIES + 1)[:-1])):
        off = np.abs(np.log(messages.seconds / (np.maximum(alpha, floors) + messages.byte_seconds)))
        sums = np.zeros((count + 1, levels.size))
        np.add.at(sums, messages.of_size + 1, off.T)
        sums = sums.cumsum(axis=0)
        for noise in _NOISE:
            cost, pieces = _partition(2 * sums / noise, levels, falls)
            cost += 2 * log_pairs.size * math.log(2 * noise)
            if cost < best[0]:
                best = cost, float(alpha), pieces
    return best[1:]


def _partition(sums: Array, levels: Array, falls: Array) -> tuple[float, list[_Piece]]:
    """Return the cheapest ranges of sizes, each with a level, of running sums, shape (sizes + 1, levels)."""
    penalty = np.where(levels > -math.inf, _CLEAR, 0.0)
    reach, back = np.zeros(len(sums)), [_Piece(0, 0, 0.0, 0.0)]
    for end in range(1, len(sums)):
        cost = sums[end] - sums[:end] + penalty + reach[:end, None]
        begin, level = np.unravel_index(int(cost.argmin()), cost.shape)
        reach[end] = cost[begin, level]
        back.append(_Piece(int(begin), end, float(levels[level]), float(falls[level])))
    pieces = [back[-1]]
    while pieces[0].begin:
        pieces.insert(0, back[pieces[0].begin])
    return float(reach[-1]), pieces


def _rate(
    messages: _Messages, piece: _Piece, inside: NDArray[np.bool_], alpha: float, confidence: float
) -> MessageRate | None:
    """Return the rate of a range of sizes, with intervals; None where nothing limits, or bytes hide it.

    Each number of pairs counts once: what it deviates by is no noise of single sizes.
    """
    from scipy.special import ndtri, stdtrit

    counts = np.unique(messages.pairs[inside])
    sent = [count / np.median(messages.seconds[inside & (messages.pairs == count)]) for count in counts]
    tells = inside & (messages.message > _TELLS * messages.seconds)
    measured_pairs = np.array([count for count in counts if tells[messages.pairs == count].any()])
    reached = math.exp(piece.level) * measured_pairs ** (1 + piece.fall) > alpha
    if len(sent) < 2 or sent[-1] > _GROWTH * max(sent[:-1]) or not reached.any() or measured_pairs[-1] != counts[-1]:
        return None
    logs = [np.log(messages.message[tells & (messages.pairs == count)]) for count in measured_pairs]
    y, x = np.array([np.median(part) for part in logs]), np.log(measured_pairs / counts[-1])
    several = ~reached & (measured_pairs > 1)
    latency = float(y[several].mean()) if several.any() else math.log(alpha)
    centred = x[reached] - x[reached].mean()
    squares = float(centred @ centred)
    slope = max(round(float(centred @ y[reached]) / squares, _DIGITS), 1.0) if squares else 1.0
    level = float(np.mean((y - slope * x)[reached]))
    off = np.where(reached, y - level - slope * x, np.where(several, y - latency, 0.0))
    freedom = _WORTH + max(int(several.sum()) - 1, 0) + max(int(reached.sum()) - 1 - (squares > 0), 0)
    between = math.sqrt((_WORTH * _BETWEEN**2 + float(off @ off)) / freedom)
    within = np.concatenate([part - np.median(part) for part in logs])
    factor = float(stdtrit(freedom, 0.5 + confidence / 2))
    half = factor * between
    ends = slope - 1 + half / math.sqrt(squares) * np.array([-1, 1]) if squares else np.array([0.0, _FALLS[-1]])
    fall = Parameter(rounded(slope - 1), "", *(rounded(max(float(end), 0.0)) for end in ends))
    of_level = half * math.sqrt(1 / reached.sum() + (float(x[reached].mean()) ** 2 / squares if squares else 0.0))
    M = [rounded(float(counts[-1]) * math.exp(sign * of_level - level)) for sign in (0, -1, 1)]
    scatter = (
        math.hypot(between, TO_DEVIATION * float(np.median(np.abs(within))))
        * factor
        / float(ndtri(0.5 + confidence / 2))
    )
    return MessageRate(
        Parameter(M[0], "1/s", *M[1:]),
        round(counts[-1]),
        fall,
        None,
        rounded(math.exp(latency)) * bool(several.any()),
        rounded(scatter),
    )
