"""Where the modes of the hybrid model end, from times of calls and ping-pongs. Main entry: `find_parts`.

`commmodel.fit.change_points` finds limits in the times of MPI_Send, MPI_Isend and MPI_Recv. Which of them is S_a and
which S_d the times say, too. Up to S_a a message that was sent is there when it is received; of a larger one, each
further byte takes a receive as long as a transfer, though the first ones may lie in a socket. Where MPI_Send takes as
long as the transfer, less what a socket holds, it waits: such messages are not asynchronous, whatever receives find.
The kernel threshold, where it was run, knows S_a better. Above S_d MPI_Send waits, too.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from commmodel.arrays import Array
from commmodel.fit.calls import Call, CallTimes, Curve
from commmodel.fit.change_points import NEAR, find_limits, split_in_two
from commmodel.fit.segment import FitSettings
from commmodel.machine import Edge
from commmodel.machine.hybrid import LIKELY
from commmodel.results import Measurements
from commmodel.results.configurations import Threshold

Kind = Literal["asynchronous", "detached", "synchronous"]
Part = tuple[Kind, Edge | None]

LEAST_IN_MODE = 4
"""Sizes."""
_LEAST_CONFIDENCE = 0.8  # of a limit beside S_a and S_d; fainter ones are told
_OFF_THE_LINE = 0.05  # median relative error with which a mode is divided
_RESAMPLED = 60  # sets of sizes behind a limit's confidence, at most
_WHOLE_TRANSFER = 0.7  # share of it that a call takes which had to wait for it
_WAITED = 0.4  # share of it that a send takes which waited for it: what buffers hold it need not wait for
_UPPER = 4  # one of so many sizes, the largest, tells what a socket holds
_CLEAR_STEP = 1.5  # of that share, from detached to synchronous


def call_limits(times: CallTimes, settings: FitSettings) -> list[Edge]:
    """Return the change points of a call's times."""
    samples = min(_RESAMPLED, settings.samples)
    return [
        Edge(limit.below, limit.low, limit.high, round(limit.confidence, 2), "change-point")
        for limit in find_limits(
            times.sizes, times.seconds, samples=samples, seed=settings.seed, confidence=settings.confidence
        )
    ]


def probed(measurements: Measurements, path: str) -> Edge | None:
    """Return the limit that the kernel threshold found; None where it was not run."""
    records = [record for record in measurements.records if record.configuration == Threshold(path)]  # type: ignore[arg-type]
    if not records:
        return None
    middle = sorted(records, key=lambda record: record.samples[0])[len(records) // 2]
    above = middle.bracket[1] if middle.bracket else None
    value = int(middle.samples[0])
    return Edge(value, value, value if above is None else int(above), 1.0, "threshold")


def _near(edge: Edge, other: Edge) -> bool:
    return abs(math.log(max(edge.value, 1) / max(other.value, 1))) <= NEAR


def _merged(edges: Sequence[Edge]) -> list[Edge]:
    """Return distinct limits: of several near each other the most certain."""
    distinct: list[Edge] = []
    for edge in sorted(edges, key=lambda item: (-(item.confidence or 0.0), item.value)):
        if not any(_near(edge, other) for other in distinct):
            distinct.append(edge)
    return sorted(distinct, key=lambda item: item.value)


def _with_room(fixed: Sequence[Edge], more: Sequence[Edge], transfer: Curve) -> list[Edge]:
    """Return limits, ascending, and those candidates that leave enough sizes on both sides."""
    chosen = list(fixed)
    largest = float(transfer.sizes[-1])
    for edge in sorted(more, key=lambda item: -(item.confidence or 0.0)):
        places = sorted([0.0, *(float(limit.value) for limit in chosen), float(edge.value), largest])
        index = places.index(float(edge.value))
        crowded = any(
            transfer.between(low, high).sizes.size < 2 * LEAST_IN_MODE
            for low, high in ((places[index - 1], places[index]), (places[index], places[index + 1]))
        )
        if not crowded and not any(_near(edge, other) for other in chosen):
            chosen.append(edge)
    return sorted(chosen, key=lambda item: item.value)


def divided(parts: Sequence[Part], errors: Sequence[float], more: Sequence[Edge], transfer: Curve) -> list[Part]:
    """Return the modes, split at probable limits of the round trips where these do not lie on one line.

    Parameters
    ----------
    parts, errors
        Kind and end of each mode, and its median relative error.
    more
        Limits of the round trips.
    """
    below = 0.0
    within: list[Edge] = []
    for (_, end), error in zip(parts, errors, strict=True):
        upto = math.inf if end is None else float(end.value)
        if error > _OFF_THE_LINE:
            within += [limit for limit in more if below < limit.value < upto and (limit.confidence or 0.0) >= LIKELY]
        below = upto
    kinds = [(math.inf if end is None else end.value, kind) for kind, end in parts]
    ends = [*_with_room([end for _, end in parts if end is not None], within, transfer), None]
    return [
        (next(kind for upto, kind in kinds if (math.inf if end is None else end.value) <= upto), end) for end in ends
    ]


def faint_limits(limits: Mapping[Call, list[Edge]], parts: Sequence[Part]) -> list[Edge]:
    """Return the limits of calls that end no mode."""
    ends = [end for _, end in parts if end is not None]
    return [edge for edge in _of_all(limits) if not any(_near(edge, end) for end in ends)]


def _of_all(limits: Mapping[Call, list[Edge]]) -> list[Edge]:
    return _merged([edge for edges in limits.values() for edge in edges])


def _head_start(seconds: Array, whole: Array) -> float:
    """Return by how much receives are shorter than transfers, as the first bytes lie in a socket; 0 where they do not.

    From the largest sizes, if each further byte takes a receive about as long as a transfer.
    """
    last = slice(-max(2 * LEAST_IN_MODE, seconds.size // _UPPER), None)
    slope = np.median(np.diff(seconds[last]) / np.diff(whole[last]))
    return max(0.0, float(np.median(whole[last] - seconds[last]))) if slope >= _WHOLE_TRANSFER else 0.0


def _received_limit(receive: Curve | None, transfer: Curve, candidates: Sequence[Edge]) -> Edge | None:
    """Return the limit above which a receive takes as long as the transfer, less what a socket holds; None without."""
    if receive is None:
        return None
    whole = transfer.at(receive.sizes)
    left = whole - _head_start(receive.seconds, whole)
    share = np.where(left > 0, receive.seconds / np.where(left > 0, left, 1.0), 0.0)
    for edge in reversed(candidates):
        above, below = share[receive.sizes > edge.value], share[receive.sizes <= edge.value]
        if not above.size or np.median(above) < _WHOLE_TRANSFER:
            return None
        if below.size and np.median(below[-2 * LEAST_IN_MODE :]) < _WHOLE_TRANSFER:
            return edge
    return None


def _resampled_edge(sizes: Array, shares: Array, place: int, settings: FitSettings) -> Edge:
    """Return the limit between two levels, with interval and confidence."""
    random = np.random.default_rng(settings.seed)
    places = []
    for _ in range(min(_RESAMPLED, settings.samples)):
        drawn = np.sort(random.integers(0, sizes.size, sizes.size))
        split = split_in_two(shares[drawn])[0]
        places.append(sizes[drawn[min(split, drawn.size) - 1]])
    value = float(sizes[place - 1])
    near = [place for place in places if abs(math.log(place / value)) <= NEAR]
    low, high = (float(np.quantile(near, share)) for share in (0.025, 0.975)) if near else (value, value)
    sure = len(near) / max(len(places), 1)
    return Edge(int(value), int(min(low, value)), int(max(high, sizes[place])), round(sure, 2), "change-point")


def _waiting_limit(
    send: Curve | None, transfer: Curve, below: float, candidates: Sequence[Edge], settings: FitSettings
) -> float | Edge:
    """Return S_d ≥ `below`, above which a send takes as long as the transfer minus what buffers hold."""
    if send is None:
        return below
    part = send.between(below, math.inf)
    if part.sizes.size < 2 * LEAST_IN_MODE:
        return below
    share = part.seconds / transfer.at(part.sizes)
    shares = np.log(np.maximum(share, 1e-9))
    place, level, next_level = split_in_two(shares)
    if next_level - level < math.log(_CLEAR_STEP):
        return below if np.median(share) >= _WAITED else math.inf
    if math.exp(next_level) < _WAITED:
        return math.inf
    if math.exp(level) >= _WHOLE_TRANSFER:  # a step, but of sends that wait on both sides
        return below
    between = _resampled_edge(part.sizes, shares, place, settings)
    near = [edge for edge in candidates if edge.value > below and _near(edge, between)]
    likeliest = max([between, *near], key=lambda edge: edge.confidence or 0.0)
    if (likeliest.confidence or 0.0) < LIKELY:
        return below if np.median(share) >= _WAITED else math.inf
    return likeliest


def _limit_of_sends(
    send: Curve | None, transfer: Curve, candidates: Sequence[Edge], settings: FitSettings
) -> Edge | None:
    """Return the limit above which sends take as long as the transfer; None where they show none."""
    edge = _waiting_limit(send, transfer, 0.0, candidates, settings)
    if send is None or not isinstance(edge, Edge):
        return None
    above = send.between(edge.value, math.inf)
    return edge if np.median(above.seconds / transfer.at(above.sizes)) >= _WHOLE_TRANSFER else None


def find_parts(
    curves: Mapping[Call, Curve], limits: Mapping[Call, list[Edge]], probe: Edge | None, settings: FitSettings
) -> list[Part]:
    """Return kind and end of each mode, ascending.

    Parameters
    ----------
    curves
        Times of calls, and of half round trips.
    limits
        Change points of the calls alone.
    probe
        What the kernel threshold found.
    """
    transfer, send, of_sends = curves["round-trip"], curves.get("send"), limits.get("send", [])
    largest = float(transfer.sizes[-1])
    received = _received_limit(curves.get("receive"), transfer, _of_all(limits))
    waiting = _limit_of_sends(send, transfer, of_sends, settings)
    first = probe or min(filter(None, (received, waiting)), key=lambda edge: edge.value, default=None)
    S_a = math.inf if first is None or first.value >= largest else float(first.value)
    second: float | Edge = S_a
    if S_a < math.inf and first is not waiting:
        second = _waiting_limit(send, transfer, S_a, of_sends, settings)
    S_d = float(second.value) if isinstance(second, Edge) else second
    fixed = [edge for edge in (first, second) if isinstance(edge, Edge) and edge.value < largest]
    certain = [edge for edge in _of_all(limits) if (edge.confidence or 0.0) >= _LEAST_CONFIDENCE]

    def kind(end: Edge | None) -> Kind:
        upto = math.inf if end is None else end.value
        return "asynchronous" if upto <= S_a else "detached" if upto <= S_d else "synchronous"

    return [(kind(end), end) for end in (*_with_room(fixed, certain, transfer), None)]
