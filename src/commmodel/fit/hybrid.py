"""The hybrid model of each path, from messages of random sizes (Bédaride 2013, Section IV). Main entry: `fit_hybrid`.

`commmodel.fit.mode_limits` finds where modes end. In each mode lines are fitted to the calls, and L + k / B to half a
round trip less o_r + k O_r.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from commmodel.arrays import Array
from commmodel.errors import InputError
from commmodel.fit.calls import Call, Curve, collect_series
from commmodel.fit.change_points import medians, robust_lines
from commmodel.fit.mode_limits import LEAST_IN_MODE, Kind, call_limits, divided, faint_limits, find_parts, probed
from commmodel.fit.path_parameters import (
    fit_answers,
    fit_contention,
    fit_unexpected,
    resampled_parameter,
    without_eager,
)
from commmodel.fit.segment import FitSettings
from commmodel.fit.trust import rounded
from commmodel.machine import Edge, Hybrid, Mode, Parameter
from commmodel.machine.hybrid import answers_wait
from commmodel.results import Measurements
from commmodel.units import format_ratio

_LEAST_SIZES = 16
_SETS = 200  # behind a parameter's interval, at most
_GROWTH = 0.5  # share of its last time by which a mode's times grow that shows the link's rate
_ENDS = 3  # sizes at each end of a mode whose times tell how much it has room for
_LATENCY = 0.1  # share of its first times that is left to latency
_NEARLY = 0.8  # of the link's time for a byte, that a mode's is taken for the same from
_FASTEST = 1000  # times the link's rate is the most that a mode can have
_FREE_SHARE = 0.8  # of a transfer that its receive's processor time may be at most


@dataclass(frozen=True)
class _Line:
    """α + k β fitted to a mode: the value first, then those of resampled sizes."""

    alpha: Array
    beta: Array

    def parameters(self, settings: FitSettings) -> tuple[Parameter, Parameter]:
        return resampled_parameter(self.alpha, "s", settings), resampled_parameter(self.beta, "s/B", settings)

    def at(self, sizes: Array) -> Array:
        return np.asarray(self.alpha[0] + self.beta[0] * sizes, dtype=np.float64)


_NOTHING = _Line(np.zeros(1), np.zeros(1))


def _counts(points: int, settings: FitSettings) -> Array:
    """Return how often each point occurs in the data and in each resampled set, shape (1 + sets, points)."""
    random, sets = np.random.default_rng(settings.seed), min(_SETS, settings.samples)
    drawn = random.multinomial(points, np.full(points, 1 / points), size=sets if points >= LEAST_IN_MODE else 0)
    return np.concatenate([np.ones((1, points)), drawn])


def _line(curve: Curve | None, below: float, upto: float, settings: FitSettings) -> _Line | None:
    part = curve.between(below, upto) if curve is not None else None
    if part is None or not part.sizes.size:
        return None
    return _Line(*robust_lines(part.sizes, part.seconds, _counts(part.sizes.size, settings), part.seconds))


def _held_down(line: _Line, transfer: Curve) -> _Line:
    """Return a receive's line, limited so that some time of every transfer is left to the network."""
    if not transfer.sizes.size:
        return line
    ratio = float((line.at(transfer.sizes) / transfer.seconds).max())
    factor = min(1.0, _FREE_SHARE / ratio) if ratio else 1.0
    return _Line(line.alpha * factor, line.beta * factor)


def _grows(line: _Line, part: Curve) -> bool:
    """Whether a mode's times grow significantly with the size, so that they show a rate."""
    if not part.sizes.size:
        return False
    return bool(line.beta[0] * (part.sizes[-1] - part.sizes[0]) >= _GROWTH * line.at(part.sizes)[-1] > 0)


def _of_the_link(lines: Sequence[tuple[_Line, Curve]]) -> float:
    """Return the β of the largest messages whose times grow with the size."""
    rising = [(line, part) for line, part in lines if _grows(line, part)]
    rising = rising or [(line, part) for line, part in lines if line.beta[0] > 0]
    if not rising:
        raise InputError("times of ping-pongs of random sizes do not grow with the size: measure larger --sizes")
    line, part = rising[-1]
    return float(line.beta[0]) if line.alpha[0] > 0 else _last_per_byte(part)


def _last_per_byte(part: Curve) -> float:
    return float(np.median((part.seconds / part.sizes.clip(1))[-_ENDS:]))


def _least_slope(line: _Line, part: Curve, link: float) -> float:
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


def _wire(part: Curve, receive: _Line, settings: FitSettings, link: float | None = None) -> _Line:
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
    curves: dict[Call, Curve], parts: Sequence[tuple[Kind, Edge | None]], settings: FitSettings
) -> tuple[Mode, ...]:
    transfer = curves["round-trip"]
    lines: list[tuple[Kind, Edge | None, _Line, _Line | None, _Line, Curve]] = []
    below = -1.0
    for kind, end in parts:
        upto = math.inf if end is None else float(end.value)
        part = transfer.between(below, upto)
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
        rate = resampled_parameter(1 / np.maximum(wire.beta, link / _FASTEST), "B/s", settings)
        L = resampled_parameter(wire.alpha, "s", settings)
        seconds = wire.at(part.sizes) + receive.at(part.sizes)
        error = rounded(float(np.median(np.abs(seconds / part.seconds - 1)))) if part.sizes.size else None
        modes.append(Mode(kind, L, rate, end, o_s, O_s, o_r, O_r, o_is, O_is, error))
    return tuple(modes)


def _send_buffer(
    curves: Mapping[Call, Curve],
    parts: Sequence[tuple[Kind, Edge | None]],
    modes: Sequence[Mode],
    settings: FitSettings,
) -> Parameter | None:
    """Return the bytes in flight when a synchronous send ends; None where there are none, or not known."""
    above = [-1.0, *(math.inf if end is None else float(end.value) for _, end in parts)]
    waiting = [lowest for lowest, (kind, _) in zip(above, parts, strict=False) if kind == "synchronous"]
    if not waiting or "send" not in curves:
        return None
    send = curves["send"].between(waiting[0], math.inf)
    ahead = (curves["round-trip"].at(send.sizes) - send.seconds) * modes[-1].B.value
    if send.sizes.size < LEAST_IN_MODE:
        return None
    random = np.random.default_rng(settings.seed)
    drawn = np.median(random.choice(ahead, (min(_SETS, settings.samples), ahead.size)), axis=1)
    buffer = resampled_parameter(np.r_[np.median(ahead), drawn], "B", settings)
    return buffer if (buffer.value if buffer.low is None else buffer.low) > 0 else None


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
            call: Curve(sizes.astype(np.float64), seconds)
            for call, times in series.items()
            for sizes, seconds in [medians(times.sizes, times.seconds)]
            if sizes.size >= _LEAST_SIZES
        }
        if "round-trip" not in curves:
            continue
        limits = {call: call_limits(series[call], settings) for call in curves}
        of_round_trips = limits.pop("round-trip")
        missing = [call for call in ("send", "receive") if call not in curves]
        notes = [f"o_{call[0]} is not known: no ping {call} of random sizes" for call in missing]
        parts = find_parts(curves, limits, probed(measurements, path), settings)
        eager = [end.value for kind, end in parts if end is not None and kind != "synchronous"]
        telling, of_eager = without_eager(measurements, path, max(eager, default=0))
        answers = fit_answers(telling, path, settings)
        contention, remarks = fit_contention(measurements, path, settings, takes_turns=answers_wait(answers[0]))
        remarks += of_eager
        modes = _fit_modes(curves, parts, settings)
        errors = [mode.relative_error or 0.0 for mode in modes]
        finer = divided(parts, errors, of_round_trips, curves["round-trip"])
        if len(finer) > len(parts):
            modes = _fit_modes(curves, finer, settings)
        if faint := faint_limits(limits, finer):
            shares = (f"{edge.value} B ({format_ratio(edge.confidence or 0.0)})" for edge in faint)
            left_out = (
                "limits left out, as too few resampled data sets have them or another one is near (share of sets)"
            )
            remarks.append(f"{left_out}: {', '.join(shares)}")
        buffered = _send_buffer(curves, finer, modes, settings)
        unexpected = fit_unexpected(telling, path, settings)
        models.append(Hybrid(modes, path, contention, buffered, unexpected, *answers, remarks=(*notes, *remarks)))
    return tuple(models)


def mode_warnings(models: Sequence[Hybrid]) -> list[str]:
    """Return a line for each model that does not know when sends end."""
    return [
        f"hybrid model ({model.path}): when sends end is not known, and so is who waits in a collective: measure "
        "the kernel ping with --random-sizes, too"
        for model in models
        if any(remark.startswith("o_s ") for remark in model.remarks)
    ]
