"""The hybrid model of each path, from messages of random sizes (Bédaride 2013, Section IV). Main entry: `fit_hybrid`.

`commmodel.fit.change_points` finds limits in the times of MPI_Send, MPI_Isend and MPI_Recv. Which of them is S_a and
which S_d the times say, too. Up to S_a a message that was sent is there when it is received: MPI_Recv is shorter than
the transfer, above it is not. Above S_d MPI_Send takes about as long as the transfer. The kernel threshold, where it
was run, knows S_a better. In each mode lines are fitted to the calls, and L + k / B to half a round trip less o_r + k
O_r.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from commmodel.errors import InputError
from commmodel.fit import bootstrap
from commmodel.fit.change_points import NEAR, FoundLimit, find_limits, medians, robust_lines, split_in_two
from commmodel.fit.segment import FitSettings
from commmodel.fit.trust import rounded
from commmodel.machine import Edge, Hybrid, Mode, Parameter
from commmodel.machine.hybrid import answers_wait
from commmodel.results import Measurements, Record
from commmodel.results.configurations import (
    Answer,
    Contention,
    MessagePath,
    RandomPing,
    RandomPingPong,
    Threshold,
    Unexpected,
)
from commmodel.units import format_ratio

__all__ = ["CallTimes", "collect_series", "fit_answers", "fit_contention", "fit_hybrid", "fit_unexpected"]

Array = NDArray[np.float64]
Call = Literal["send", "isend", "receive", "round-trip"]
_Kind = Literal["asynchronous", "detached", "synchronous"]

_LEAST_SIZES = 16
_LEAST_IN_MODE = 4
_LEAST_CONFIDENCE = 0.8  # of a limit beside S_a and S_d; fainter ones are told
_LIKELY = 0.5  # confidence of an S_d that no limit of MPI_Send shows, and of limits that divide a mode
_OFF_THE_LINE = 0.05  # median relative error with which a mode is divided
_RESAMPLED = 60  # sets of sizes behind a limit's confidence, at most
_SETS = 200  # behind a parameter's interval, at most
_WHOLE_TRANSFER = 0.7  # share of it that a receive takes which had to wait for it
_WAITED = 0.4  # share of it that a send takes which waited for it: what buffers hold it need not wait for
_CLEAR_STEP = 1.5  # of that share, from detached to synchronous
_GROWTH = 0.5  # share of its last time by which a mode's times grow that shows the link's rate
_ENDS = 3  # sizes at each end of a mode whose times tell how much it has room for
_LATENCY = 0.1  # share of its first times that is left to latency
_NEARLY = 0.8  # of the link's time for a byte, that a mode's is taken for the same from
_FASTEST = 1000  # times the link's rate is the most that a mode can have
_FREE_SHARE = 0.8  # of a transfer that its receive's processor time may be at most
_TURNS = 1.6  # transfers both ways over one way, or over the fastest both ways, where ranks may have taken turns
_SLOWED = 1.1  # by which transfers must be slower beside others for these to matter


@dataclass
class CallTimes:
    """Raw times of one call on one path, in order of measurement: bytes and seconds."""

    sizes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, sizes: Sequence[int], record: Record) -> None:
        """Add the samples of a record."""
        share = len(record.samples) // len(sizes)
        self.sizes += [size for size in sizes for _ in range(share)]
        self.seconds += record.samples[: share * len(sizes)]


@dataclass(frozen=True)
class _Curve:
    """Medians of a series over ascending sizes."""

    sizes: Array
    seconds: Array

    def at(self, sizes: Array) -> Array:
        """Return the times at other sizes, interpolated in logarithms."""
        logs = np.interp(np.log(np.maximum(sizes, 0.5)), np.log(np.maximum(self.sizes, 0.5)), np.log(self.seconds))
        return np.asarray(np.exp(logs), dtype=np.float64)


def collect_series(measurements: Measurements) -> dict[MessagePath, dict[Call, CallTimes]]:
    """Return the raw times by path and call; those of ``round-trip`` are half round trips."""
    series: dict[MessagePath, dict[Call, CallTimes]] = defaultdict(lambda: defaultdict(CallTimes))
    for record in measurements.records:
        match record.configuration:
            case RandomPing(message_sizes=sizes, operation=operation, path=path):
                series[path][operation].add(sizes, record)
            case RandomPingPong(message_sizes=sizes, path=path):
                series[path]["round-trip"].add(sizes, record)
    return {path: dict(calls) for path, calls in series.items()}


def _edge(limit: FoundLimit) -> Edge:
    return Edge(limit.below, limit.low, limit.high, round(limit.confidence, 2), "change-point")


def _near(edge: Edge, other: Edge) -> bool:
    return abs(math.log(max(edge.value, 1) / max(other.value, 1))) <= NEAR


def _merged(edges: Sequence[Edge]) -> list[Edge]:
    """Return distinct limits: of several near each other the most certain."""
    distinct: list[Edge] = []
    for edge in sorted(edges, key=lambda item: (-(item.confidence or 0.0), item.value)):
        if not any(_near(edge, other) for other in distinct):
            distinct.append(edge)
    return sorted(distinct, key=lambda item: item.value)


def _between(curve: _Curve, below: float, upto: float) -> _Curve:
    inside = (curve.sizes > below) & (curve.sizes <= upto)
    return _Curve(curve.sizes[inside], curve.seconds[inside])


def _with_room(fixed: Sequence[Edge], more: Sequence[Edge], transfer: _Curve) -> list[Edge]:
    """Return limits, ascending, and those candidates that leave enough sizes on both sides."""
    chosen = list(fixed)
    largest = float(transfer.sizes[-1])
    for edge in sorted(more, key=lambda item: -(item.confidence or 0.0)):
        places = sorted([0.0, *(float(limit.value) for limit in chosen), float(edge.value), largest])
        index = places.index(float(edge.value))
        crowded = any(
            _between(transfer, low, high).sizes.size < 2 * _LEAST_IN_MODE
            for low, high in ((places[index - 1], places[index]), (places[index], places[index + 1]))
        )
        if not crowded and not any(_near(edge, other) for other in chosen):
            chosen.append(edge)
    return sorted(chosen, key=lambda item: item.value)


def _divided(
    parts: Sequence[tuple[_Kind, Edge | None]], modes: Sequence[Mode], more: Sequence[Edge], transfer: _Curve
) -> list[tuple[_Kind, Edge | None]]:
    """Return the modes, split at probable limits of the round trips where these do not lie on one line."""
    below = 0.0
    within: list[Edge] = []
    for (_, end), mode in zip(parts, modes, strict=True):
        upto = math.inf if end is None else float(end.value)
        if (mode.relative_error or 0.0) > _OFF_THE_LINE:
            within += [limit for limit in more if below < limit.value < upto and (limit.confidence or 0.0) >= _LIKELY]
        below = upto
    kinds = [(math.inf if end is None else end.value, kind) for kind, end in parts]
    ends = [*_with_room([end for _, end in parts if end is not None], within, transfer), None]
    return [
        (next(kind for upto, kind in kinds if (math.inf if end is None else end.value) <= upto), end) for end in ends
    ]


def _asynchronous_limit(receive: _Curve | None, transfer: _Curve, candidates: Sequence[Edge]) -> Edge | None:
    """Return S_a, above which a receive takes as long as the transfer; None where there is no such limit."""
    if receive is None:
        return None
    share = receive.seconds / transfer.at(receive.sizes)
    best = None
    for edge in reversed(candidates):
        above, below = share[receive.sizes > edge.value], share[receive.sizes <= edge.value]
        if not above.size or np.median(above) < _WHOLE_TRANSFER:
            break
        if below.size and np.median(below[-2 * _LEAST_IN_MODE :]) < _WHOLE_TRANSFER:
            best = edge
            break
    return best


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


def _synchronous_limit(
    send: _Curve | None, transfer: _Curve, below: float, candidates: Sequence[Edge], settings: FitSettings
) -> float | Edge:
    """Return S_d ≥ `below`, above which a send takes as long as the transfer minus what buffers hold."""
    if send is None:
        return below
    part = _between(send, below, math.inf)
    if part.sizes.size < 2 * _LEAST_IN_MODE:
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
    if near:
        return min(near, key=lambda edge: abs(edge.value - between.value))
    if (between.confidence or 0.0) < _LIKELY:
        return below if np.median(share) >= _WAITED else math.inf
    return between


def _probed(measurements: Measurements, path: str) -> Edge | None:
    """Return the limit that the kernel threshold found; None where sends never block."""
    probed = [record for record in measurements.records if record.configuration == Threshold(path)]  # type: ignore[arg-type]
    if not probed:
        return None
    middle = sorted(probed, key=lambda record: record.samples[0])[len(probed) // 2]
    above = middle.bracket[1] if middle.bracket else None
    value = int(middle.samples[0])
    return Edge(value, value, value if above is None else int(above), 1.0, "threshold")


def _parts(
    curves: Mapping[Call, _Curve], limits: Mapping[Call, list[Edge]], probed: Edge | None, settings: FitSettings
) -> tuple[list[tuple[_Kind, Edge | None]], list[Edge]]:
    """Return kind and end of each mode, ascending, and the limits too uncertain to separate modes."""
    transfer = curves["round-trip"]
    all_limits = _merged([edge for edges in limits.values() for edge in edges])
    asynchronous = probed or _asynchronous_limit(curves.get("receive"), transfer, all_limits)
    largest = float(transfer.sizes[-1])
    S_a = math.inf if asynchronous is None or asynchronous.value >= largest else float(asynchronous.value)
    synchronous = (
        math.inf
        if S_a == math.inf
        else _synchronous_limit(curves.get("send"), transfer, S_a, limits.get("send", []), settings)
    )
    S_d = float(synchronous.value) if isinstance(synchronous, Edge) else synchronous
    fixed = [edge for edge in (asynchronous, synchronous) if isinstance(edge, Edge) and edge.value < largest]
    certain = [edge for edge in all_limits if (edge.confidence or 0.0) >= _LEAST_CONFIDENCE]
    limited = _with_room(fixed, certain, transfer)
    ends: list[Edge | None] = [*limited, None]

    def kind(end: Edge | None) -> _Kind:
        upto = math.inf if end is None else end.value
        return "asynchronous" if upto <= S_a else "detached" if upto <= S_d else "synchronous"

    faint = [edge for edge in all_limits if not any(_near(edge, other) for other in limited)]
    return [(kind(end), end) for end in ends], faint


@dataclass(frozen=True)
class _Line:
    """α + k β fitted to a mode: the value first, then those of resampled sizes."""

    alpha: Array
    beta: Array

    def parameters(self, settings: FitSettings) -> tuple[Parameter, Parameter]:
        return _parameter(self.alpha, "s", settings), _parameter(self.beta, "s/B", settings)

    def at(self, sizes: Array) -> Array:
        return np.asarray(self.alpha[0] + self.beta[0] * sizes, dtype=np.float64)


_NOTHING = _Line(np.zeros(1), np.zeros(1))


def _parameter(estimates: Array, unit: str, settings: FitSettings) -> Parameter:
    resampled = None if estimates.size < 2 else estimates[1:]
    return bootstrap.parameter(float(estimates[0]), resampled, unit, settings.confidence)


def _counts(points: int, settings: FitSettings) -> Array:
    """Return how often each point occurs in the data and in each resampled set, shape (1 + sets, points)."""
    random, sets = np.random.default_rng(settings.seed), min(_SETS, settings.samples)
    drawn = random.multinomial(points, np.full(points, 1 / points), size=sets if points >= _LEAST_IN_MODE else 0)
    return np.concatenate([np.ones((1, points)), drawn])


def _line(curve: _Curve | None, below: float, upto: float, settings: FitSettings) -> _Line | None:
    part = _between(curve, below, upto) if curve is not None else None
    if part is None or not part.sizes.size:
        return None
    return _Line(*robust_lines(part.sizes, part.seconds, _counts(part.sizes.size, settings), part.seconds))


def _held_down(line: _Line, transfer: _Curve) -> _Line:
    """Return a receive's line, limited so that some time of every transfer is left to the network."""
    if not transfer.sizes.size:
        return line
    ratio = float((line.at(transfer.sizes) / transfer.seconds).max())
    factor = min(1.0, _FREE_SHARE / ratio) if ratio else 1.0
    return _Line(line.alpha * factor, line.beta * factor)


def _grows(line: _Line, part: _Curve) -> bool:
    """Whether a mode's times grow significantly with the size, so that they show a rate."""
    if not part.sizes.size:
        return False
    return bool(line.beta[0] * (part.sizes[-1] - part.sizes[0]) >= _GROWTH * line.at(part.sizes)[-1] > 0)


def _of_the_link(lines: Sequence[tuple[_Line, _Curve]]) -> float:
    """Return the β of the largest messages whose times grow with the size."""
    rising = [(line, part) for line, part in lines if _grows(line, part)]
    rising = rising or [(line, part) for line, part in lines if line.beta[0] > 0]
    if not rising:
        raise InputError("ping-pongs of random sizes do not take longer with the size: measure larger --sizes")
    line, part = rising[-1]
    return float(line.beta[0]) if line.alpha[0] > 0 else _last_per_byte(part)


def _last_per_byte(part: _Curve) -> float:
    return float(np.median((part.seconds / part.sizes.clip(1))[-_ENDS:]))


def _least_slope(line: _Line, part: _Curve, link: float) -> float:
    """Return the lower bound of a mode's β where its fit is not significant or gives a negative latency.

    The latter means that first bytes pass at once, from a buffer that is full again after a pause. Those of one message
    after the other do not, so the mode has the link's rate, unless its times are far from that.
    """
    last = _last_per_byte(part)
    if line.alpha[0] == 0:
        return link if last >= _NEARLY * link else last
    if _grows(line, part):
        return 0.0
    room = last - _LATENCY * float(np.median(part.seconds[:_ENDS])) / max(float(part.sizes[-1]), 1.0)
    return min(link, room)


def _wire(part: _Curve, receive: _Line, settings: FitSettings, link: float | None = None) -> _Line:
    """Return L + k / B of a mode, with the link's β where the mode's times do not determine one."""
    if not part.sizes.size:
        return _Line(np.zeros(1), np.full(1, link or 0.0))
    counts = _counts(part.sizes.size, settings)

    def fitted(least: float) -> _Line:
        seconds = part.seconds - receive.at(part.sizes) - least * part.sizes
        line = _Line(*robust_lines(part.sizes, seconds, counts, part.seconds))
        return _Line(line.alpha, line.beta + least)

    line = fitted(0.0)
    least = 0.0 if link is None else _least_slope(line, part, link)
    return fitted(least) if line.beta[0] < least else line


def _fit_modes(
    curves: dict[Call, _Curve], parts: Sequence[tuple[_Kind, Edge | None]], settings: FitSettings
) -> tuple[Mode, ...]:
    transfer = curves["round-trip"]
    lines: list[tuple[_Kind, Edge | None, _Line, _Line | None, _Line, _Curve]] = []
    below = -1.0
    for kind, end in parts:
        upto = math.inf if end is None else float(end.value)
        part = _between(transfer, below, upto)
        asynchronous = kind == "asynchronous"
        receive = _line(curves.get("receive"), below, upto, settings) if asynchronous else None
        receive = _held_down(receive or _NOTHING, part)
        isend = _line(curves.get("isend"), below, upto, settings)
        send = None if kind == "synchronous" else _line(curves.get("send"), below, upto, settings) or isend
        lines.append((kind, end, send or _NOTHING, isend, receive, part))
        below = upto
    link = _of_the_link([(_wire(part, receive, settings), part) for *_, receive, part in lines])
    modes: list[Mode] = []
    for kind, end, send, isend, receive, part in lines:
        wire = _wire(part, receive, settings, link)
        o_s, O_s = send.parameters(settings)
        o_r, O_r = receive.parameters(settings)
        o_is, O_is = isend.parameters(settings) if isend else (None, None)
        rate = _parameter(1 / np.maximum(wire.beta, link / _FASTEST), "B/s", settings)
        L = _parameter(wire.alpha, "s", settings)
        seconds = wire.at(part.sizes) + receive.at(part.sizes)
        error = rounded(float(np.median(np.abs(seconds / part.seconds - 1)))) if part.sizes.size else None
        modes.append(Mode(kind, L, rate, end, o_s, O_s, o_r, O_r, o_is, O_is, error))
    return tuple(modes)


def _send_buffer(
    curves: Mapping[Call, _Curve],
    parts: Sequence[tuple[_Kind, Edge | None]],
    modes: Sequence[Mode],
    settings: FitSettings,
) -> Parameter | None:
    """Return the bytes in flight when a synchronous send ends; None where there are none, or not known."""
    above = [-1.0, *(math.inf if end is None else float(end.value) for _, end in parts)]
    waiting = [lowest for lowest, (kind, _) in zip(above, parts, strict=False) if kind == "synchronous"]
    if not waiting or "send" not in curves:
        return None
    send = _between(curves["send"], waiting[0], math.inf)
    ahead = (curves["round-trip"].at(send.sizes) - send.seconds) * modes[-1].B.value
    if send.sizes.size < _LEAST_IN_MODE:
        return None
    random = np.random.default_rng(settings.seed)
    drawn = np.median(random.choice(ahead, (min(_SETS, settings.samples), ahead.size)), axis=1)
    buffer = _parameter(np.r_[np.median(ahead), drawn], "B", settings)
    return buffer if (buffer.value if buffer.low is None else buffer.low) > 0 else None


def fit_contention(
    measurements: Measurements, path: str, settings: FitSettings, takes_turns: bool = False
) -> tuple[Parameter | None, list[str]]:
    """Return the node's bandwidth both ways over one way, and the effect of more pairs of nodes.

    (B_s + B_r) / B = 2 T(one way) / T(both ways), held between 1 and 2; None where either is missing. T(both ways) is
    that of a ring of four nodes where it was measured and one-way transfers of two pairs do not slow each other, else
    that of exchanges of two.

    Where ranks may take turns, as answers wait behind data, exchanges of two nodes in which they did say nothing of the
    link: these are left out, and if all seem to be such the result is 2, without an interval, and a remark.
    """
    times: dict[tuple[str, int], list[float]] = defaultdict(list)
    for record in measurements.records:
        configuration = record.configuration
        if isinstance(configuration, Contention) and configuration.path == path:
            times[configuration.direction, configuration.node_pairs] += record.samples
    remarks, limits_further = [], False
    for direction in ("one-way", "both-ways"):
        alone = times.get((direction, 1))
        for pairs in sorted({pairs for way, pairs in times if way == direction and pairs > 1} if alone else ()):
            ratio = float(np.median(times[direction, pairs]) / np.median(alone or ()))
            slowed = f"take {ratio:.2f} times as long as that of one pair: the network between them limits"
            words = slowed if ratio > _SLOWED else "take no longer than that of one pair"
            limits_further |= direction == "one-way" and ratio > _SLOWED
            remarks.append(f"{direction} transfers between {pairs} pairs of nodes at once {words}")
    one_way, both_ways = times.get(("one-way", 1), []), times.get(("both-ways", 1), [])
    ring = [] if limits_further else times.get(("ring", 2), [])
    if ring and both_ways:
        ratio = float(np.median(both_ways) / np.median(ring))
        if ratio > _SLOWED:
            words = f"take {ratio:.2f} times as long as in a ring of nodes: the two ranks probably take turns"
            remarks.append(f"both-ways transfers between two nodes {words}")
    if not one_way or not (ring or both_ways):
        return None, remarks
    if ring:
        both_ways = ring
    elif takes_turns:
        least = min(both_ways)
        if least > _TURNS * float(np.median(one_way)):
            words = (
                "either the link carries one direction at a time, or the ranks took turns; both directions at once are "
                "assumed, and the kernel contention on four nodes would tell"
            )
            ratio = least / np.median(one_way)
            remarks.append(f"both-ways transfers take {ratio:.2f} times as long as one-way transfers: {words}")
            return Parameter(2.0, "1"), remarks
        both_ways = [time for time in both_ways if time < _TURNS * least]
    single, double = _middles((one_way, both_ways), settings)
    return _parameter(np.clip(2 * single / double, 1, 2), "1", settings), remarks


def fit_unexpected(measurements: Measurements, path: str, settings: FitSettings) -> Parameter | None:
    """Return the share of a large message that comes before its receive: 1 − T(late) / T(awaited), from 0 to 1."""
    times: dict[str, list[float]] = defaultdict(list)
    for record in measurements.records:
        configuration = record.configuration
        if isinstance(configuration, Unexpected) and configuration.path == path:
            times[configuration.receive] += record.samples
    if not times["late"] or not times["awaited"]:
        return None
    late, awaited = _middles((times["late"], times["awaited"]), settings)
    return _parameter(np.clip(1 - late / awaited, 0, 1), "1", settings)


def fit_answers(
    measurements: Measurements, path: str, settings: FitSettings
) -> tuple[Parameter | None, Parameter | None]:
    """Return the time of a send beside a large message the other way over that one's, and half an empty round trip."""
    times: dict[str, list[float]] = defaultdict(list)
    for record in measurements.records:
        configuration = record.configuration
        if isinstance(configuration, Answer) and configuration.path == path:
            times[configuration.exchange] += record.samples
    delay = latency = None
    if times["beside"] and times["alone"]:
        beside, alone = _middles((times["beside"], times["alone"]), settings)
        delay = _parameter(np.clip(beside / alone, 0, 1), "1", settings)
    if times["empty"]:
        latency = _parameter(_middles((times["empty"],), settings)[0], "s", settings)
    return delay, latency


def _middles(rows: Sequence[Sequence[float]], settings: FitSettings) -> list[Array]:
    """Return the median of each row, then those of resampled rows."""
    random = np.random.default_rng(settings.seed)
    return [
        np.r_[np.median(row), np.median(random.choice(row, (settings.samples, len(row))), axis=1)]
        for row in map(np.asarray, rows)
    ]


def fit_hybrid(measurements: Measurements, settings: FitSettings | None = None) -> tuple[Hybrid, ...]:
    """Return the hybrid model of each path with ping-pongs of random sizes.

    Parameters
    ----------
    measurements : Measurements
        Records of ping, pingpong with random sizes; of threshold, contention, unexpected and answer, where they are
        there.
    settings : FitSettings, optional

    Notes
    -----
    Above S_a a receive that is called late still has the transfer before it. So its time is none of the processor's,
    and o_r is 0 there; L + k / B is the whole of the transfer. Above S_d the same holds for o_s.
    """
    settings = settings or FitSettings()
    models = []
    for path, series in collect_series(measurements).items():
        curves = {
            call: _Curve(sizes.astype(np.float64), seconds)
            for call, times in series.items()
            for sizes, seconds in [medians(times.sizes, times.seconds)]
            if sizes.size >= _LEAST_SIZES
        }
        if "round-trip" not in curves:
            continue
        limits: dict[Call, list[Edge]] = {
            call: [
                _edge(limit)
                for limit in find_limits(
                    times.sizes,
                    times.seconds,
                    samples=min(_RESAMPLED, settings.samples),
                    seed=settings.seed,
                    confidence=settings.confidence,
                )
            ]
            for call, times in series.items()
            if call in curves
        }
        of_round_trips = limits.pop("round-trip")
        missing = [call for call in ("send", "receive") if call not in curves]
        answers = fit_answers(measurements, path, settings)
        contention, remarks = fit_contention(measurements, path, settings, takes_turns=answers_wait(answers[0]))
        notes = [f"o_{call[0]} is not known: no ping {call} of random sizes" for call in missing]
        parts, faint = _parts(curves, limits, _probed(measurements, path), settings)
        modes = _fit_modes(curves, parts, settings)
        divided = _divided(parts, modes, of_round_trips, curves["round-trip"])
        if len(divided) > len(parts):
            modes = _fit_modes(curves, divided, settings)
        faint = [edge for edge in faint if not any(end is not None and _near(edge, end) for _, end in divided)]
        if faint:
            shares = (f"{edge.value} B ({format_ratio(edge.confidence or 0.0)})" for edge in faint)
            left_out = (
                "limits left out, as too few resampled data sets have them or another one is near (share of sets)"
            )
            remarks.append(f"{left_out}: {', '.join(shares)}")
        buffered = _send_buffer(curves, divided, modes, settings)
        unexpected = fit_unexpected(measurements, path, settings)
        models.append(Hybrid(modes, path, contention, buffered, unexpected, *answers, remarks=(*notes, *remarks)))
    return tuple(models)
