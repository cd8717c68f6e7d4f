"""Time of a configuration from its visits: a random effect of each. Main entries: `visit_scatter`, `time_of`, `drift`.

The samples of a visit agree with each other better than visits do: between two of them the machine has changed. So a
visit counts as one observation, log tᵥ = log t + bᵥ + eᵥ, with the deviation of b that is normal between all visits
measured, and that of e from the visit's own samples. Nothing is chosen by its speed, which would make times too short:
the visits' location is Tukey's biweight with that deviation, to both sides. Only a visit that is more than twice as
slow as the fastest, beyond what is normal, waited for a processor, and is left out. What the visits of one round have
in common no number of sizes averages out: `drift` finds it by comparing rounds.
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from commmodel.arrays import Array
from commmodel.fit.robust import WIDTH, local_noise
from commmodel.fit.undisturbed import APART, LEAST_SAMPLES, TimeMode, Undisturbed, undisturbed
from commmodel.results import Record, visit_samples
from commmodel.statistics import CONFIDENCE, TO_DEVIATION

_QUARTER = 0.3186  # quantile of absolute normal numbers
_WAITED = 2.0  # times as slow: who shares a processor gets half of it; who shares memory, caches or the clock, more
_CLEAR = 4.0  # deviations between visits that are no chance
_LEAST_SCATTER = 0.01  # two visits are hardly ever more alike
_LEFT_OUT = 0.15  # relative error of a time from one visit where nearly all others say something else
_TELLING = 4 * LEAST_SAMPLES  # samples of a visit that show a mode of a quarter of them
_MOST_VISITS = 64  # of which all pairs are compared
_LEAST_IN_ROUND = 8  # configurations, to tell a drift
_MOST = 2.5  # deviations of a visit from its round that count
_NEAR = 1.5  # octaves: sizes that scatter alike
_WORTH = 6.0  # pairs of visits that all are worth beside those to sizes near it
_MOST_IN_TIME = 128  # means of neighbours in time
_RATES = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])  # of a drift: by exp(−rate) it is forgotten after a round
_DRIFTS = (0.2, 0.4, 0.6, 0.8)  # of the variance of a visit
_TINY = 1e-30
_STARTS = 9  # places where the location may be
_ROUNDS = 20
_EVEN, _NEARLY_EVEN = 0.5, 1.5  # visits: camps that differ by fewer are as large; the latter if one is clearly slower


def visit_scatter(message_size: Array, visits: Sequence[Sequence[Undisturbed]]) -> Array:
    """Return the normal relative deviation between visits to each configuration; 0 where none has several.

    Parameters
    ----------
    message_size : shape (m,)
        Bytes of each configuration: small messages may scatter more than large ones.
    visits : sequence of m sequences of Undisturbed

    Returns
    -------
    array of shape (m,)
        Croux and Rousseeuw's Qn (1993) of the logarithms, over the pairs of visits to each configuration of near
        sizes: the quarter of the pairs that agree best decide, so that half of the visits may be disturbed, to
        whatever extent. What the visits' own samples explain is taken off.
    """
    pairs: list[tuple[float, float, float]] = []
    for size, configuration in zip(message_size, visits, strict=True):
        times = configuration[:: len(configuration) // _MOST_VISITS + 1]
        if len(times) > 1 and all(time.median > 0 for time in times):
            logs, errors = np.array([(math.log(time.median), time.error) for time in times]).T
            first, second = np.triu_indices(logs.size, 1)
            columns = np.abs(logs[first] - logs[second]), np.hypot(errors[first], errors[second])
            pairs += [(size, *pair) for pair in zip(*columns, strict=True)]
    if not pairs:
        return np.zeros(len(visits))
    octave, difference, error = np.array(pairs).T
    octave = np.log2(np.maximum(octave, 1.0))
    order, by_error = np.argsort(difference), np.argsort(error)
    sizes, place = np.unique(np.log2(np.maximum(message_size, 1.0)), return_inverse=True)
    scatter = np.empty(sizes.size)
    for index, size in enumerate(sizes):
        weight = np.exp(-(((octave - size) / _NEAR) ** 2) / 2) + _WORTH / octave.size
        deviation = _quantile(difference, weight, order, 0.25) / _QUARTER
        scatter[index] = math.sqrt(max(deviation**2 - _quantile(error, weight, by_error, 0.5) ** 2, 0.0) / 2)
    return scatter[place]


def _quantile(values: Array, weights: Array, order: NDArray[np.intp], share: float) -> float:
    """Return the quantile of values that weigh differently, given their ascending order."""
    sums = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(sums, share * sums[-1])]])


def drift(
    message_size: Array, visits: Sequence[Sequence[Undisturbed]], order: NDArray[np.intp] | None = None
) -> tuple[Array, int]:
    """Return what rounds of visits add to the errors of all times alike, and its degrees of freedom.

    Parameters
    ----------
    message_size : shape (m,)
        Bytes of each configuration.
    visits : sequence of m sequences of Undisturbed
        The first visits to all configurations are one round, the second ones the next.
    order : shape (m,), optional
        Place of each configuration's first visit in time.

    Returns
    -------
    (array of shape (m, 2), int)
        Factors of two of Student's variates, by whose sums all relative errors grow together. No column where there
        are no rounds.

    Notes
    -----
    The visits of a round deviate from their configurations' means by a + b log size and noise, which may be larger at
    some sizes. Huber's estimate of both limits visits that are far off, not what a round has in common. The covariance
    of a and b over the rounds, beyond that which noise gives them, over the number of rounds is that of the means; more
    than that where times drift within a round, as the end of one is then like the beginning of the next.
    """
    rounds = Counter(map(len, visits)).most_common(1)[0][0]
    whole = [index for index, times in enumerate(visits) if len(times) == rounds]
    if rounds < 2 or len(whole) < _LEAST_IN_ROUND or min(time.median for index in whole for time in visits[index]) <= 0:
        return np.zeros((len(visits), 0)), 0
    logs = np.log([[time.median for time in visits[index]] for index in whole])
    octave = np.log2(np.maximum(message_size, 1.0))
    design = np.stack([np.ones(octave.size), octave - octave.mean()], axis=1)[:, : 1 + bool(np.ptp(octave))]
    part, sizes = design[whole], np.repeat(message_size[whole], rounds)
    fitted = np.median(logs, axis=1, keepdims=True)
    for _ in range(_ROUNDS):
        residual = logs - fitted
        common = max(float(np.median(np.abs(residual))) * TO_DEVIATION, _LEAST_SCATTER)
        usual = np.clip(residual, -_MOST * common, _MOST * common)
        deviation = local_noise(usual.ravel(), common, sizes, itself=True)[::rounds, None]
        limited = fitted + np.clip(residual, -_MOST * deviation, _MOST * deviation)
        middle = limited.mean(axis=1, keepdims=True)
        inverse = np.linalg.pinv(part / deviation) / deviation.T
        trends = inverse @ (limited - middle)
        fitted = middle + part @ trends
    freedom = (rounds - 1) * (len(whole) - part.shape[1])
    inside = np.abs(residual) < _MOST * deviation
    noise = float((((limited - fitted) / deviation) ** 2).sum()) / freedom / float(inside.mean()) ** 2  # Huber 1981
    root = np.linalg.cholesky(max(noise, _TINY) * (inverse * deviation.T**2) @ inverse.T)
    whitened = np.linalg.solve(root, trends)
    excess, directions = np.linalg.eigh(whitened @ whitened.T / (rounds - 1))
    excess = np.maximum(excess - 1, 0.0) / rounds
    if order is not None and excess.any():
        excess *= _continued(((limited - fitted) / deviation)[np.argsort(order[whole]), 0], rounds)
    return design @ root @ directions * np.sqrt(excess), rounds - 1


def _continued(series: Array, rounds: int) -> float:
    """Return how much larger the variance of the mean of rounds is than that which their differences tell.

    Of a drift that is forgotten by exp(−rate) in a round, the mean over a time of x = rate × rounds has the share
    2 (x − 1 + exp(−x))/x² of the variance. The rate's likelihood (REML) is that of the deviations of one round's
    visits in time, a drift and independent noise, in which no drift has Akaike's weight of two parameters more.
    """
    groups = np.array_split(series, min(series.size, _MOST_IN_TIME))
    means, counts = np.array([(group.mean(), group.size) for group in groups]).T
    place = (np.cumsum(counts) - counts / 2) / series.size
    drifts = np.exp(-np.multiply.outer(_RATES, np.abs(place[:, None] - place)))
    single = np.diag(1 / counts)
    covariances = [single, *((1 - share) * single + share * alike for share in _DRIFTS for alike in drifts)]
    root = np.linalg.cholesky(np.array(covariances))
    ones, rest = np.moveaxis(np.linalg.solve(root, np.stack([np.ones(place.size), means], axis=1)), -1, 0)
    weight = (ones**2).sum(axis=1)
    squares = np.maximum((rest**2).sum(axis=1) - (ones * rest).sum(axis=1) ** 2 / weight, _TINY)
    logs = -np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    logs -= (np.log(weight) + (place.size - 1) * np.log(squares)) / 2
    likely = np.exp(logs - logs.max())
    likely[0] *= math.exp(2) * (likely.size - 1)
    of_mean, of_round = (2 * (x - 1 + np.exp(-x)) / x**2 for x in (rounds * _RATES, _RATES))
    factor = np.concatenate([[1.0], *[of_mean * (rounds - 1) / (of_round - of_mean)] * len(_DRIFTS)])
    return float(likely @ factor / likely.sum())


def visit_times(record: Record) -> list[Undisturbed]:
    """Return the time of each visit; one of all where visits are too short to show the modes that their samples have.

    >>> from commmodel.results.configurations import PingPong
    >>> late = Record(PingPong(8, "same-node"), "s", (3.0, 1.0, 3.0, 3.0) * 5, visits=(4,) * 5)
    >>> [time.median for time in visit_times(late)]
    [1.0]
    """
    visits = visit_samples(record)
    if len(visits) > 1 and max(map(len, visits)) < _TELLING:
        together = undisturbed(record.samples)
        if len(together.modes) > 1:
            return [together]
    return [undisturbed(samples) for samples in visits]


def time_of(visits: Sequence[Undisturbed], scatter: float, confidence: float = CONFIDENCE) -> Undisturbed:
    """Return the time of a configuration, its interval and its relative error from the times of its visits.

    Parameters
    ----------
    visits : sequence of Undisturbed
        At least one; of a single one only the error may grow, by the scatter.
    scatter : float
        Normal relative deviation between visits, from `visit_scatter`.

    Examples
    --------
    >>> three = [undisturbed([time] * 10) for time in (1.0, 1.02, 0.98)]
    >>> round(time_of([*three, undisturbed([50.0] * 10)], 0.02).median, 3)
    1.0
    """
    from statistics import NormalDist

    if (len(visits) == 1 and not scatter) or any(visit.median <= 0 for visit in visits):
        return visits[0]
    logs, errors = np.array([(math.log(visit.median), visit.error) for visit in visits]).T
    variance = scatter**2 + errors**2
    clear = math.log(_WAITED) + _CLEAR * math.sqrt(2) * scatter
    undelayed = logs - logs.min() <= clear
    weights = np.zeros(logs.size)
    weights[undelayed] = _biweights(logs[undelayed], variance[undelayed])
    weights /= weights.sum()
    error = math.hypot(math.sqrt(float(weights**2 @ variance)), _LEFT_OUT * float((weights == 0).mean()))
    median, half = math.exp(float(weights @ logs)), NormalDist().inv_cdf(0.5 + confidence / 2) * error
    slower = (weights == 0) & (logs > math.log(median * APART))
    return Undisturbed(median, median * math.exp(-half), median * math.exp(half), error, _modes(visits, slower, median))


def _biweights(logs: Array, variance: Array) -> Array:
    """Return the weight of each visit in their location: of two camps as large the faster counts.

    One that is slower by a mode's distance may have a visit more, as two slow visits may agree by chance.
    """
    deviation = np.sqrt(variance + _LEAST_SCATTER**2)
    location = np.unique(np.quantile(logs, np.linspace(0, 1, _STARTS), method="nearest"))
    for _ in range(_ROUNDS):
        inside = np.maximum(1 - ((logs - location[:, None]) / deviation / WIDTH) ** 2, 0.0)
        weights = inside**2 / deviation**2
        location = weights @ logs / weights.sum(axis=1)
    loss = (1 - inside**3).sum(axis=1)
    apart = max(math.log(APART), math.sqrt(2) * WIDTH * float(np.median(deviation)))
    slower = location[int(loss.argmin())] - location > apart
    return np.asarray(weights[int(np.argmax(loss < loss.min() + np.where(slower, _NEARLY_EVEN, _EVEN)))])


def _modes(visits: Sequence[Undisturbed], slower: NDArray[np.bool_], median: float) -> tuple[TimeMode, ...]:
    """Return the modes of the samples of all visits, each of which weighs the same: what is fitted, and the rest."""
    parts = [(visit.modes, 0 if is_slower else 1) for visit, is_slower in zip(visits, slower, strict=True)]
    rest = [mode.median for modes, first in parts for mode in modes[first:]]
    if not rest:
        return (TimeMode(1.0, median),)
    share = sum(modes[0].share for modes, first in parts if first) / len(visits)
    return TimeMode(share, median), TimeMode(1 - share, float(np.median(rest)))
