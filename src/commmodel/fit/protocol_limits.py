"""Message sizes at which the protocol changes. Main entries: `find_parts`, `evidence`.

The probe knows: a blocking send either waits or does not. On both sides of its limit the times are searched for
changes, and everywhere where it was not run: a segmentation into lines T = α + n β, by dynamic programming over the
logarithms of the times. Their noise is normal, but any record may be disturbed, so that such a one does not make a
limit, nor hide one, and is the wider for sizes whose own samples scatter. A limit must raise the likelihood
more than chance does in times of one line; of one visit to each size, also where the noise wanders from size to size,
unless lines without the limit are far off. `evidence` tells by how much: the benchmark measures more where it is not
clear.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.arrays import Array
from commmodel.fit.change_points import weighted_lines
from commmodel.fit.points import Points
from commmodel.fit.robust import log_slope
from commmodel.machine import Limit
from commmodel.results import Measurements, Record
from commmodel.results.configurations import Threshold

__all__ = ["MOST_SIZES", "Evidence", "Part", "change_points", "evidence", "find_parts", "protocol_names"]

MOST_SIZES = 64
"""That are told apart."""
_MOST_SEGMENTS = 3
_LEAST_SIZES = 3  # fewer would not tell a line from chance
_LEAST_LAST = 4  # of the last, as no further size says what it was; fewer would not make a model to trust
_CLEAR = 13.6  # fall of −2 log likelihood for a limit: 2 % of data sets drawn from this model without one have it
_TAKEN = 3  # degrees of freedom that a limit takes from the noise: its place and a line
_UNKNOWN = 2.5  # of the criterion, times the logarithm of the noise over the least: what is not known has wider tails
_SCALES = (0.05, 0.063, 0.08, 0.1, 0.125, 0.16, 0.2, 0.25, 0.32, 0.4, 0.5)
"""Of the noise, relative. No smaller: nearer than to 5 % no line describes a real machine, and no limit would help."""
_DISTURBED = 0.1  # of the records, by any factor; of several of a size, so many that their median is
_ODD = 1e-3  # of the sizes, however many their records
_FASTER = 0.02  # of the disturbed
_EXCESS = 0.5  # mean logarithm of the factor
_NOTHING = 1e-6  # instead of a weight of 0, with which a line might not be determined
_NO_TIME = 1e-9  # of the measured one: what a line through the origin gives no bytes
_ROUNDS = 3
_ALIKE = (0.5, 0.7, 0.8, 0.9, 0.95)  # for each octave between two sizes, by which noise that wanders is alike
_ITS_OWN = 2  # degrees of freedom that noise that wanders takes besides: its scale, and how alike neighbours are
_WANDERS = 2.0  # of the criterion, for noise that wanders: Akaike's weight of a parameter
_WANDER = math.log(1.2)  # no wander, but a bend of the machine, where two sizes are further off
_BUFFERS = 2  # of one message: the sender's and the receiver's
_CACHE_BONUS = 4.0  # of the criterion, for a limit at which two buffers just fill a known cache


class Evidence(NamedTuple):
    """A possible change point between two measured sizes."""

    below: int
    above: int
    fall: float
    """Of −2 log likelihood, by which it exceeds that of the best segmentation with one limit less."""
    needed: float
    """Fall that makes a limit."""


class _Times(NamedTuple):
    """One time of each size, arrays of shape (m,)."""

    message_size: NDArray[np.int64]
    size: Array
    """Up to 1."""
    seconds: Array
    """Up to 1."""
    error: Array
    """Relative, that the samples show."""
    disturbed: Array
    """How probably it is that of disturbed records."""
    records: NDArray[np.intp]
    """How many there are."""


class _Segmentation(NamedTuple):
    cost: float
    """−2 log likelihood, and what its limits cost as the noise is not known."""
    begins: list[int]
    """First point of each line but the first."""


Part = tuple[str, Limit | None]
"""A segment's protocol and where it ends."""


def protocol_names(segments: int) -> tuple[str, ...]:
    """Return the names of so many protocols, by ascending size.

    >>> protocol_names(2), protocol_names(4)
    (('eager', 'rendezvous'), ('segment-1', 'segment-2', 'segment-3', 'segment-4'))
    """
    names = {1: ("all",), 2: ("eager", "rendezvous"), 3: ("short", "eager", "rendezvous")}
    return names.get(segments) or tuple(f"segment-{number}" for number in range(1, segments + 1))


def find_parts(measurements: Measurements, path: str, points: Points, limits: Sequence[int] | None) -> list[Part]:
    """Return the protocols of a path, ascending: between given limits, else the probed and the fitted ones.

    On both sides of a probed limit the times may show more of them, made by caches and by protocols that no
    blocking send tells apart. Where the probe was run it names the protocols, whatever the limits.
    """
    probed = _probed_limit(measurements.records, path)
    caches = _cache_limits(measurements)
    ends: list[Limit | None]
    if limits is not None:
        ends = [*(Limit(value, "user") for value in sorted(set(limits))), None]
    else:
        small, *large = (_limits_in(side, caches) for side in _sides(points, probed))
        ends = [*small, *(end for side in large for end in (probed, *side)), None]
    if probed is None:
        return list(zip(protocol_names(len(ends)), ends, strict=True))
    begins = [0, *(end.value for end in ends if end is not None)]
    return [(_protocol(begin, end, probed), end) for begin, end in zip(begins, ends, strict=True)]


def _protocol(begin: int, end: Limit | None, probed: Limit) -> str:
    """Return the protocol of messages of more than `begin` bytes, up to a limit."""
    if probed.above is None or (end is not None and end.value <= probed.value):
        return "eager"
    return "rendezvous" if begin >= probed.value else "eager/rendezvous"


def _cache_limits(measurements: Measurements) -> tuple[int, ...]:
    """Return the message sizes of which two buffers just fill a data cache of some host."""
    caches = (size for launch in measurements.launches for host in launch.header.hosts for size in host.caches.values())
    return tuple(sorted({size // _BUFFERS for size in caches}))


def _sides(points: Points, probed: Limit | None) -> list[Points]:
    """Return the points on both sides of a probed limit, or all of them where nothing that was tried waits."""
    if probed is None or probed.above is None:
        return [points]
    eager = points.message_size <= probed.value
    return [points.where(eager), points.where(~eager)]


def _probed_limit(records: Iterable[Record], path: str) -> Limit | None:
    """Return the eager limit of the kernel threshold: the median over launches."""
    probed = [
        record
        for record in records
        if isinstance(record.configuration, Threshold) and record.configuration.path == path
    ]
    if not probed:
        return None
    probed.sort(key=lambda record: record.samples[0])
    middle = probed[len(probed) // 2]
    above = middle.bracket[1] if middle.bracket else None
    return Limit(int(middle.samples[0]), "threshold", None if above is None else int(above))


def _limits_in(points: Points, caches: Sequence[int]) -> list[Limit]:
    return [
        Limit(value, "cache" if any(value <= cache < above for cache in caches) else "change-point", above)
        for value, above in change_points(points, caches)
    ]


class _Ranges(NamedTuple):
    """Sizes that may be a segment: points begins ... ends − 1, shape (g,) each."""

    begins: NDArray[np.intp]
    ends: NDArray[np.intp]

    @classmethod
    def of(cls, count: int) -> "_Ranges":
        """Return all ranges of so many sizes that are long enough."""
        lengths = np.arange(count + 1) - np.arange(count + 1)[:, None]
        lengths[:, count] -= _LEAST_LAST - _LEAST_SIZES
        return cls(*np.nonzero(lengths >= _LEAST_SIZES))

    def sums(self, values: Array) -> Array:
        """Return the sum of values over each range, of arrays of shape (..., m)."""
        sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
        np.cumsum(values, axis=-1, out=sums[..., 1:])
        return np.asarray(sums[..., self.ends] - sums[..., self.begins])

    def part(self, count: int) -> NDArray[np.bool_]:
        """Return which points each range has, shape (g, m)."""
        place = np.arange(count)
        return np.asarray((place >= self.begins[:, None]) & (place < self.ends[:, None]))


def _density(residual: Array, variance: Array, disturbed: Array) -> tuple[Array, Array]:
    """Return the density of logarithms' residuals: of the undisturbed share, which is normal, and of the rest."""
    normal = np.exp(-(residual**2) / (2 * variance)) / np.sqrt(2 * math.pi * variance)
    excess = np.exp(-np.abs(residual) / _EXCESS) / _EXCESS * np.where(residual > 0, 1 - _FASTER, _FASTER)
    return (1 - disturbed) * normal, disturbed * excess


def _lines(times: _Times, ranges: _Ranges) -> Array:
    """Return −2 log likelihood, α and β of the best line T = α + n β, α, β ≥ 0, in each range, shape (scales, 3, g).

    Lines through each two points are tried first, so that no disturbed size leads astray; the best of them is
    improved by least squares with weights computed anew from the residuals, from the smallest scale of noise on.
    """
    size, seconds, error, disturbed = times.size, times.seconds, times.error, times.disturbed
    first, second = np.triu_indices(size.size, 1)
    slope = (seconds[second] - seconds[first]) / (size[second] - size[first])
    byte_time = seconds[size > 0] / size[size > 0]
    alpha = np.concatenate([seconds[first] - slope * size[first], seconds, np.zeros_like(byte_time)])
    beta = np.concatenate([slope, np.zeros_like(seconds), byte_time])
    is_possible = (alpha >= 0) & (beta >= 0)
    alpha, beta = alpha[is_possible], beta[is_possible]
    log_seconds, part, lines = np.log(seconds), ranges.part(size.size), []

    def residuals(alpha: Array, beta: Array) -> tuple[Array, Array]:
        line = np.maximum(alpha[:, None] + beta[:, None] * size, _NO_TIME * seconds)
        return line, log_seconds - np.log(line)

    density = np.sum(_density(residuals(alpha, beta)[1], _SCALES[0] ** 2 + error**2, disturbed), axis=0)
    best = ranges.sums(np.log(density)).argmax(axis=0)
    alpha, beta = alpha[best], beta[best]
    for scale in _SCALES:
        variance = scale**2 + error**2
        for _ in range(_ROUNDS):
            line, residual = residuals(alpha, beta)
            normal, excess = _density(residual, variance, disturbed)
            share = part * np.maximum(normal / (normal + excess), _NOTHING)
            alpha, beta = weighted_lines(size, seconds, share * log_slope(line, seconds) / (line * variance))
        density = np.sum(_density(residuals(alpha, beta)[1], variance, disturbed), axis=0)
        lines.append([-2 * (part * np.log(density)).sum(axis=1), alpha, beta])
    return np.array(lines)


def _wandering(times: _Times, segmentation: _Segmentation) -> tuple[float, float]:
    """Return the cost of a segmentation, and how far the second furthest size is from its line.

    The noise is independent, or it wanders from size to size: normal, and alike by a factor for each octave between.
    Then the lines are improved by a step of generalised least squares.
    """
    count, begins = times.size.size, segmentation.begins
    ranges = _Ranges(np.array([0, *begins]), np.array([*begins, count]))
    lines = _lines(times, ranges)
    costs_of_scales = lines[:, 0].sum(axis=1) + len(begins) * _unknown(np.array(_SCALES))
    scale = int(costs_of_scales.argmin())
    part, (_, alpha, beta) = ranges.part(count).T, lines[scale]
    fitted = np.maximum(part @ alpha + part @ beta * times.size, _NO_TIME * times.seconds)
    residual = np.log(times.seconds / fitted)
    shares = np.column_stack([part * alpha, part * beta * times.size[:, None]]) / fitted[:, None]
    normal, excess = _density(residual, _SCALES[scale] ** 2 + times.error**2, times.disturbed)
    octave, scales = np.log2(1.0 + times.message_size), np.square(_SCALES[::2])[:, None, None, None]
    further = _needed(times, _TAKEN + _ITS_OWN) - _needed(times)
    best = independent = float(costs_of_scales[scale])
    for usual in np.unique([normal >= excess, np.full(count, fill_value=True)], axis=0):
        alike = np.power.outer(_ALIKE, np.abs(octave[usual, None] - octave[usual]))
        root = np.linalg.cholesky(scales * alike + np.diag(times.error[usual] ** 2))
        whitened = np.linalg.solve(root, np.column_stack([shares, residual])[usual])
        *of_lines, rest = np.moveaxis(whitened, -1, 0)
        design = np.stack(of_lines, axis=-1)
        step = np.linalg.pinv(design) @ rest[..., None]
        cost = ((rest - (design @ step)[..., 0]) ** 2).sum(axis=-1)
        cost += 2 * np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1)
        cost += len(begins) * (_unknown(np.sqrt(scales[..., 0, 0])) + further)
        density = np.where(usual, (1 - times.disturbed) / math.sqrt(2 * math.pi), excess)
        best = min(best, float(cost.min() - 2 * np.log(density).sum()) + _WANDERS)
    return segmentation.cost + best - independent, float(np.sort(np.abs(residual) * (normal >= excess))[-2])


def _unknown(scale: Array) -> Array:
    """Return what a limit costs more where the noise is larger than the least, as it is then known from the sizes."""
    return np.asarray(_UNKNOWN * np.log(scale / _SCALES[0]))


def _segmentations(costs: Array, bonus: Array) -> list[_Segmentation]:
    """Return the best segmentation into 1, 2, ... by dynamic programming.

    `costs` has shape (m + 1, m + 1): of the points i ... j − 1 in one line; `bonus` (m + 1,) is that of a limit before
    each point.
    """
    count = len(costs) - 1
    reach, back, segmentations = costs[0], [], []
    for segments in range(1, _MOST_SEGMENTS + 1):
        if segments > 1:
            total = (reach - bonus)[:, None] + costs
            back.append(total.argmin(axis=0))
            reach = total.min(axis=0)
        begins, end = [], count
        for step in reversed(back):
            end = int(step[end])
            begins.append(end)
        segmentations.append(_Segmentation(float(reach[count]), begins[::-1]))
    return segmentations


def _times(points: Points) -> _Times:
    """Return a time of each size: of the fewest pairs measured, which are the least disturbed."""
    alone = points.where(points.pairs == points.pairs.min(initial=1 << 62))
    size, inverse, counts = np.unique(alone.message_size, return_inverse=True, return_counts=True)
    seconds = np.array([np.median(alone.seconds[inverse == index]) for index in range(size.size)])
    error = np.array([np.median(alone.error[inverse == index]) for index in range(size.size)]) / np.sqrt(counts)
    if size.size > MOST_SIZES:  # the effort grows with the cube: neighbours are joined
        groups = np.array_split(np.arange(size.size), MOST_SIZES)
        size = np.array([size[group[group.size // 2]] for group in groups])
        seconds = np.array([np.median(seconds[group]) for group in groups])
        error = np.array([np.median(error[group]) / math.sqrt(group.size) for group in groups])
        counts = np.array([counts[group].sum() for group in groups])
    disturbed = np.maximum(_DISTURBED ** np.ceil(counts / 2), _ODD)
    return _Times(size, size / size.max(initial=1), seconds / seconds.max(initial=0.0), error, disturbed, counts)


def _best_segmentations(times: _Times, caches: Sequence[int]) -> list[_Segmentation]:
    """Return the best segmentation into 1, 2, ...: each at the scale of noise with which it costs least.

    None where there are few sizes.
    """
    count = times.message_size.size
    if count < 2 * _LEAST_SIZES:
        return []
    bonus = np.zeros(count + 1)
    for cache in caches:
        bonus[1:count] += _CACHE_BONUS * ((times.message_size[:-1] <= cache) & (times.message_size[1:] > cache))
    ranges = _Ranges.of(count)
    costs = np.full((count + 1, count + 1), np.inf)
    at_scales = []
    for unknown, of_scale in zip(_unknown(np.array(_SCALES)), _lines(times, ranges)[:, 0], strict=True):
        costs[ranges] = of_scale
        at_scales.append(_segmentations(costs, bonus - unknown))
    return [min(segmentation) for segmentation in zip(*at_scales, strict=True)]


def change_points(points: Points, caches: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Return each change point as (largest size below, smallest size above).

    Each limit costs so much that about 2 % of data sets of one line have one, whatever the noise and the number of
    sizes. `caches` are sizes of messages from which on a cache does not hold them: limits there need less evidence.
    Times of one visit may wander from size to size: what that explains as well makes no limit, unless two sizes are
    further than 20 % from the lines without it.

    >>> size = 2 ** np.arange(20)
    >>> seconds = (1e-6 + size / 1e9) * np.where(size > 4096, 1.25, 1.0)
    >>> change_points(Points(size, np.ones_like(size), seconds, seconds, seconds))
    [(4096, 8192)]
    """
    times = _times(points)
    segmentations = _best_segmentations(times, caches)
    if not segmentations:
        return []
    needed = _needed(times)
    chosen = _cheapest((segmentation.cost for segmentation in segmentations), needed)
    if chosen and not points.freedom and times.records.max() == 1:
        wandering = [_wandering(times, segmentation) for segmentation in segmentations[: chosen + 1]]
        sure = _cheapest((cost for cost, _ in wandering), needed)
        chosen = next(index for index in range(sure, chosen + 1) if index == chosen or wandering[index][1] < _WANDER)
    return [
        (int(times.message_size[begin - 1]), int(times.message_size[begin])) for begin in segmentations[chosen].begins
    ]


def _needed(times: _Times, freedom: int = _TAKEN) -> float:
    """Return the fall of the cost for a limit that takes so many degrees of freedom: the higher the fewer sizes."""
    count = times.message_size.size
    return _CLEAR * count / (count - freedom)


def _cheapest(costs: Iterable[float], needed: float) -> int:
    """Return how many limits cost least, where each must lower the cost by so much."""
    return int(np.argmin([cost + needed * limits for limits, cost in enumerate(costs)]))


def evidence(records: Iterable[Record], path: str, points: Points) -> list[Evidence]:
    """Return how much speaks for each further limit of a path, whether or not it is one.

    >>> size = 2 ** np.arange(20)
    >>> seconds = (1e-6 + size / 1e9) * np.where(size > 4096, 1.25, 1.0)
    >>> first, *_ = evidence((), "same-node", Points(size, np.ones_like(size), seconds, seconds, seconds))
    >>> first.below, first.above, round(first.fall, 1), round(first.needed, 1)
    (4096, 8192, 24.5, 16.0)
    """
    limits = []
    for side in _sides(points, _probed_limit(records, path)):
        times = _times(side)
        for fewer, more in pairwise(_best_segmentations(times, ())):
            if math.isfinite(more.cost):
                new = [begin for begin in more.begins if all(abs(begin - other) > 1 for other in fewer.begins)]
                fall = fewer.cost - more.cost
                sizes = [times.message_size[begin - 1 : begin + 1].tolist() for begin in new]
                limits += [Evidence(below, above, fall, _needed(times)) for below, above in sizes]
    return limits
