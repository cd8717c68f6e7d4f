"""Parameterised LogP from measurements of its parts, and LogGP from it. Main entries: `fit_plogp`, `as_loggp`.

g(m) = RTT(m) − RTT(0) + g(0) and L = RTT(0)/2 − g(0), with g(0) the time of a message in a saturating train
(Kielmann, Bal and Verstoep 2000). Where a train of empty messages is slower than half a round trip, L is 0 and g(0)
is that half: L + g(m) stays the time that was measured, and nothing becomes negative.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from commmodel.arrays import Array
from commmodel.fit.change_points import robust_lines
from commmodel.fit.points import points_of
from commmodel.fit.trust import rounded
from commmodel.fit.undisturbed import Undisturbed
from commmodel.fit.visits import visit_times
from commmodel.machine import LogGP, Parameter, PLogP
from commmodel.results import Measurements
from commmodel.results.configurations import PLogPParameter, SendMode

_TINY = 1e-12  # seconds
_PEAK = 2.0  # times both neighbours is no property of a network

Ends = tuple[Array, Array, Array]
"""Median and the ends of its interval, each of shape (sizes,)."""


def _columns(measurements: Measurements, path: str, mode: SendMode) -> dict[str, tuple[Array, Ends]]:
    """Return sizes and times of each quantity, from all visits to a size."""
    visits: dict[str, dict[int, list[Undisturbed]]] = {}
    for record in measurements.records:
        configuration = record.configuration
        if isinstance(configuration, PLogPParameter) and (configuration.path, configuration.mode) == (path, mode):
            of_quantity = visits.setdefault(configuration.quantity, {})
            of_quantity.setdefault(configuration.message_size, []).extend(visit_times(record))
    columns = {}
    for quantity, by_size in visits.items():
        points = points_of([(size, 1, times) for size, times in by_size.items()])
        columns[quantity] = points.message_size.astype(float), (points.seconds, points.low, points.high)
    return columns


def plogp_paths(measurements: Measurements) -> list[str]:
    """Return the paths that the kernel plogp measured."""
    configurations = (record.configuration for record in measurements.records)
    return list(
        dict.fromkeys(
            configuration.path for configuration in configurations if isinstance(configuration, PLogPParameter)
        )
    )


def fit_plogp(measurements: Measurements, path: str, mode: SendMode) -> PLogP | None:
    """Return the table of a path; None where one of the four quantities is missing or has one size only."""
    columns = _columns(measurements, path, mode)
    if set(columns) != {"send", "receive", "gap", "round-trip"} or 0 not in columns["round-trip"][0]:
        return None
    sizes = np.unique(np.concatenate([size for size, _ in columns.values()]))
    sizes = sizes[sizes <= min(size[-1] for size, _ in columns.values())]
    if sizes.size < 2:
        return None

    def at_sizes(quantity: str) -> Sequence[Array]:
        measured, ends = columns[quantity]
        return [np.interp(sizes, measured, np.where(np.isfinite(end), end, ends[0])) for end in ends]

    peaks = _peaks(at_sizes("round-trip")[0])
    left_out, sizes = sizes[peaks], sizes[~peaks]
    round_trip, gap = at_sizes("round-trip"), at_sizes("gap")
    half = round_trip[0][0] / 2
    smallest_gap = min(gap[0][0], half)
    L = half - smallest_gap
    one_way = [end - half for end in round_trip]  # the answer is empty
    table = {
        "o_s": at_sizes("send"),
        "o_r": at_sizes("receive"),
        "g": [np.maximum(end - L, 0.0) for end in one_way],
    }
    spread = (round_trip[2][0] - round_trip[1][0]) / 4 + (gap[2][0] - gap[1][0]) / 2

    def column(name: str, end: int) -> tuple[float, ...]:
        return tuple(rounded(float(value)) for value in table[name][end])

    return PLogP(
        L=Parameter(rounded(L), "s", rounded(max(L - spread, 0.0)), rounded(L + spread)),
        sizes=tuple(int(size) for size in sizes),
        path=path,
        mode=mode,
        left_out=tuple(int(size) for size in left_out),
        **{name: column(name, 0) for name in table},
        low={name: column(name, 1) for name in table},
        high={name: column(name, 2) for name in table},
    )


def _peaks(times: Array) -> NDArray[np.bool_]:
    """Return which times are far above both neighbours': disturbed, as larger messages take no less time.

    >>> _peaks(np.array([1.0, 1.1, 5.0, 1.2, 9.0, 9.5])).tolist()
    [False, False, True, False, False, False]
    """
    peaks = np.zeros(times.size, dtype=bool)
    peaks[1:-1] = times[1:-1] > _PEAK * np.maximum(times[:-2], times[2:])
    return peaks


def as_loggp(table: PLogP, below: float, upto: float) -> LogGP | None:
    """Return LogGP for the messages larger than `below` and no larger than `upto`; None with fewer than two sizes.

    L, o and g are those of Eq 1 to 3 of March 2009, Eq 1 corrected, at 1 byte. G, which Eq 4 has as a value for every
    size, is the slope of g'(m) over the sizes of the segment.
    """
    sizes = np.array(table.sizes, dtype=float)
    inside = (sizes > below) & (sizes <= upto)
    if np.count_nonzero(inside) < 2:
        return None
    o_s, o_r, gap = (float(np.interp(1.0, sizes, column)) for column in (table.o_s, table.o_r, table.g))
    gaps = np.array(table.g)[inside]
    scale = np.maximum(gaps, _TINY)
    slope = float(robust_lines(np.maximum(sizes[inside] - 1, 0), gaps, np.ones((1, gaps.size)), scale)[1][0])
    L = max(table.L.value + gap - o_s - o_r, 0.0)
    return LogGP(
        L=Parameter(rounded(L), "s"),
        o=Parameter(rounded((o_s + o_r) / 2), "s"),
        g=Parameter(rounded(gap), "s"),
        G=Parameter(rounded(slope), "s/B"),
    )
