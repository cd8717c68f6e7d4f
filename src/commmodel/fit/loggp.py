"""LogGP from trains of messages: one joint robust fit per protocol, none of the parameters below zero.

A train PRTT(n, d, s) takes 2 L + 4 o + (s − 1) G for its first message and the answer, and for each further message
g + (s − 1) G where they follow at once, or o + d where the sender waits in between. Existing tools solve these
equations one after the other, each from the one before, and get negative overheads wherever the times scatter. Here
all trains of a segment are fitted together, as robustly as ping-pongs. A send may take longer for larger
messages, which LogGP does not know: that slope is fitted beside the others and left out of the model. Source: March
2009, Section 3.2; Hoefler, Lichei and Rehm 2007 for the trains. Main entry: `fit_loggp_model`.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from commmodel.arrays import Array
from commmodel.fit.change_points import robust_lines
from commmodel.fit.linear import LinearFit, fit_linear
from commmodel.fit.points import NO_POINTS, Points, points_of
from commmodel.fit.segment import FitSettings
from commmodel.fit.trust import FLAT, judge, modes_remark, rounded
from commmodel.fit.visits import visit_times
from commmodel.machine import LogGP, MaxRate, Parameter, Postal
from commmodel.results import Measurements, Record
from commmodel.results.configurations import SendMode, Train

_SIZES_DIFFER = 1.5  # from here on a byte costs clearly more in a lone message than in a train
_L, _O, _G_BYTE, _GAP, _O_BYTE, _GAP_BYTE, _GAP_REST = range(7)
_FEWEST_SAMPLES = 20  # of a fit that is tried
_LEAST_SIZES = 3  # of trains in which bytes take longer than the gap
_CLEAR = 17.0  # fall of −2 log likelihood for one more parameter, as for streams
_LEAST_ERROR = 0.01  # mean, in logarithms, that is told from none


@dataclass(frozen=True)
class Trains:
    """Median times of the trains of one path; all arrays have shape (m,).

    Attributes
    ----------
    points : Points
        Size and median time; `pairs` holds the number of messages.
    delay : float64
        Seconds between two messages, 0 where they follow at once.
    delayed : bool
        Whether the sender waits between two messages.
    """

    points: Points
    delay: Array
    delayed: NDArray[np.bool_]

    @property
    def lone(self) -> Points:
        """The trains of a single message, which are like ping-pong round trips."""
        return self.points.where(self.points.pairs == 1)

    def where(self, mask: NDArray[np.bool_]) -> "Trains":
        """Return the trains for which the mask, of shape (m,), is true."""
        return Trains(self.points.where(mask), self.delay[mask], self.delayed[mask])

    def between(self, below: float, upto: float) -> "Trains":
        """Return the trains of messages larger than `below` and no larger than `upto`."""
        size = self.points.message_size
        return self.where((size > below) & (size <= upto))


NO_TRAINS = Trains(NO_POINTS, np.empty(0), np.empty(0, dtype=bool))
"""Where nothing was measured."""


def collect_trains(measurements: Measurements, mode: SendMode) -> dict[str, Trains]:
    """Return the trains of each path in one mode."""
    records: dict[str, list[tuple[Train, Record]]] = {}
    for record in measurements.records:
        if isinstance(train := record.configuration, Train) and train.mode == mode:
            records.setdefault(train.path, []).append((train, record))
    return {path: _trains(measured) for path, measured in records.items()}


def _trains(records: list[tuple[Train, Record]]) -> Trains:
    records = sorted(records, key=lambda pair: (pair[0].message_size, pair[0].messages, pair[0].delayed))
    return Trains(
        points_of([(train.message_size, train.messages, visit_times(record)) for train, record in records]),
        np.array([record.delay or 0.0 for _, record in records]),
        np.array([train.delayed for train, _ in records]),
    )


def _design(trains: Trains, apart: bool, hides: NDArray[np.bool_] | None = None) -> Array:
    """Return the contribution of each parameter to each train's time, shape (m, 7).

    These are L, o, G, g, o's slope, G_gap, and the rest of g beside bytes. Where they are not `apart`, a byte costs G
    in the gap, too, and G_gap nothing. The rest takes g's place where bytes take longer than the overlap, as
    `hides` says, shape (m,); in other trains g hides the bytes.
    """
    hiding = np.zeros(len(trains.points), dtype=bool) if hides is None else hides
    moving = np.ones(len(trains.points), dtype=bool) if hides is None else hides
    further = (trains.points.pairs - 1).astype(np.float64)
    at_once, waiting = further * ~trains.delayed, further * trains.delayed
    bytes_after_first = np.maximum(trains.points.message_size - 1, 0).astype(np.float64)
    columns: dict[int, Array] = {
        _L: np.full(further.shape, 2.0),
        _O: 4.0 + waiting,
        _G_BYTE: bytes_after_first * (1 + at_once * (not apart)),
        _GAP: at_once * ~hiding,
        _O_BYTE: waiting * bytes_after_first,
        _GAP_BYTE: bytes_after_first * at_once * apart * moving,
        _GAP_REST: at_once * hiding,
    }
    return np.stack([columns[index] for index in sorted(columns)], axis=1)


def fit_loggp_model(trains: Trains, settings: FitSettings) -> LogGP | None:
    """Fit L, o, g and G, and G_gap where that is clearly less.

    None where trains of one kind are missing or there are fewer than two sizes.
    """
    points = trains.points
    several = points.pairs > 1
    kinds = (~several, several & ~trains.delayed, several & trains.delayed)
    if np.unique(points.message_size).size < 2 or not all(kind.any() for kind in kinds):
        return None
    remark = _remark_of_bytes(trains)
    constant = (points.pairs - 1) * trains.delay * trains.delayed
    fit = fit_linear(_design(trains, bool(remark)), points, settings, constant)
    overlap = Parameter(0.0)
    if remark and (hiding := _overlapped(trains, fit, settings, constant)) is not None:
        fit = hiding
        overlap = Parameter(rounded(float(max(fit.estimate[_GAP] - fit.estimate[_GAP_REST], 0.0))), "s")
    columns = [("L", _L, "s"), ("o", _O, "s"), ("g", _GAP, "s"), ("G", _G_BYTE, "s/B")]
    columns += [("G_gap", _GAP_BYTE, "s/B")] if remark else []
    parameters = {name: fit.parameter(column, unit, settings) for name, column, unit in columns}
    remarks = [*modes_remark(points), *([remark] if remark else [])]
    confidence = settings.confidence
    quality = judge(points, fit.fitted, parameters, remarks, spread=fit.spread, confidence=confidence)
    L, o, g, G = (parameters[name] for name in ("L", "o", "g", "G"))
    return LogGP(L, o, g, G, quality, parameters.get("G_gap"), overlap)


def _overlapped(trains: Trains, plain: LinearFit, settings: FitSettings, constant: Array) -> LinearFit | None:
    """Return the fit where bytes move during the gap; None where it is not clearly better."""
    points = trains.points
    at_once = (points.pairs > 1) & ~trains.delayed
    sizes = np.unique(points.message_size[at_once])[1 : 1 - _LEAST_SIZES]
    quick = replace(settings, samples=_FEWEST_SAMPLES)
    tried = {int(size): _hiding_from(int(size), trains, quick, constant) for size in sizes}
    if not tried:
        return None
    best = min(tried, key=lambda size: _error(points, tried[size]))
    gain = max(_error(points, plain), _LEAST_ERROR) / max(_error(points, tried[best]), _LEAST_ERROR)
    return _hiding_from(best, trains, settings, constant) if 2 * len(points) * math.log(gain) > _CLEAR else None


def _hiding_from(size: int, trains: Trains, settings: FitSettings, constant: Array) -> LinearFit:
    """Return the fit where the gap hides the bytes of smaller messages alone."""
    points = trains.points
    hides = (points.pairs > 1) & ~trains.delayed & (points.message_size >= size)
    return fit_linear(_design(trains, apart=True, hides=hides), points, settings, constant)


def _error(points: Points, fit: LinearFit) -> float:
    return float(np.abs(np.log(points.seconds / fit.fitted)).mean())


def bounded_loggp(ping_pong: Postal | None, streams: MaxRate | None) -> LogGP | None:
    """Return LogGP of what other suites measure: latency, and where they have it, bandwidth; None without latency.

    L + 2 o and G are those of ping-pongs. No message of a stream takes less than max(o, g) beside its bytes, so that is
    g, and o lies between 0 and g: in the middle, with that interval. Without streams, o and g lie between 0 and α/2.

    >>> known = bounded_loggp(Postal(Parameter(1e-6, "s"), Parameter(1e-10, "s/B")), None)
    >>> known.L.value, known.o.value, known.o.high, known.g.value
    (5e-07, 2.5e-07, 5e-07, 2.5e-07)
    """
    if ping_pong is None:
        return None
    alpha = ping_pong.alpha
    most = alpha.value / 2
    gap = Parameter(most / 2, "s", 0.0, most)
    if streams is not None and streams.alpha.value < alpha.value:
        gap = streams.alpha
        most = min(gap.value, most)
    o = rounded(most / 2)
    ends = [None if end is None else rounded(max(end - 2 * o, 0.0)) for end in (alpha.low, alpha.high)]
    L = Parameter(rounded(alpha.value - 2 * o), "s", *ends)
    return LogGP(L, Parameter(o, "s", 0.0, rounded(most)), gap, ping_pong.beta, bounded=True)


def _remark_of_bytes(trains: Trains) -> str:
    """Return a remark where a byte costs clearly less in a train than in a single message; else nothing."""
    slopes: list[float] = []
    design = _design(trains, apart=False)
    for part in (trains.points.pairs == 1, (trains.points.pairs > 1) & ~trains.delayed):
        selection = trains.where(part)
        if np.unique(selection.points.message_size).size < 2:
            return ""
        seconds = selection.points.seconds
        slopes.append(float(robust_lines(design[part, _G_BYTE], seconds, np.ones((1, seconds.size)), seconds)[1][0]))
    lone, train = slopes
    if train <= FLAT or lone / train < _SIZES_DIFFER:
        return ""
    return (
        "a byte costs clearly more in a single message (G) than in a train of messages (G_gap): it is copied more than "
        "once on its way, or several messages share what one cannot fill"
    )
