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
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from commmodel.fit.undisturbed import TimeMode, Undisturbed, undisturbed
from commmodel.results import Record, visit_samples
from commmodel.statistics import CONFIDENCE

__all__ = ["drift", "time_of", "visit_scatter", "visit_times"]

Array = NDArray[np.float64]

_QUARTER = 0.3186  # quantile of absolute normal numbers
_WAITED = 2.0  # times as slow: who shares a processor gets half of it; who shares memory, caches or the clock, more
_WIDTH = 4.685  # of the biweight, which keeps 95 % of the efficiency of a mean
_CLEAR = 4.0  # deviations between visits that are no chance
_LEAST_SCATTER = 0.01  # two visits are hardly ever more alike
_LEFT_OUT = 0.15  # relative error of a time from one visit where nearly all others say something else
_MOST_VISITS = 64  # of which all pairs are compared
_LEAST_IN_ROUND = 8  # configurations, to tell a drift
_MOST = 2.5  # deviations of a visit from its round that count
_TO_DEVIATION = 1.4826  # of the median absolute deviation
_TINY = 1e-30
_STARTS = 9  # places where the location may be
_ROUNDS = 20
_EVEN = 0.5  # of a visit: camps that differ by less are as large


def visit_scatter(visits: Iterable[Sequence[Undisturbed]]) -> float:
    """Return the normal relative deviation between visits to one configuration; 0 where none has several.

    It is Croux and Rousseeuw's Qn (1993) of the logarithms, over the pairs of visits of each configuration: the
    quarter of the pairs that agree best decide, so that half of the visits may be disturbed, to whatever extent. What
    the visits' own samples explain is taken off.
    """
    differences: list[float] = []
    errors: list[float] = []
    for configuration in visits:
        times = configuration[:: len(configuration) // _MOST_VISITS + 1]
        if len(times) > 1 and all(time.median > 0 for time in times):
            logs = np.log([time.median for time in times])
            differences += np.abs(logs[:, None] - logs)[np.triu_indices(logs.size, 1)].tolist()
            errors += [time.error for time in times]
    if not differences:
        return 0.0
    deviation = float(np.quantile(differences, 0.25)) / _QUARTER / math.sqrt(2)
    return math.sqrt(max(deviation**2 - float(np.median(errors)) ** 2, 0.0))


def drift(message_size: Array, visits: Sequence[Sequence[Undisturbed]]) -> tuple[Array, int]:
    """Return what rounds of visits add to the errors of all times alike, and its degrees of freedom.

    Parameters
    ----------
    message_size : shape (m,)
        Bytes of each configuration.
    visits : sequence of m sequences of Undisturbed
        The first visits to all configurations are one round, the second ones the next.

    Returns
    -------
    (array of shape (m, 2), int)
        Factors of two of Student's variates, by whose sums all relative errors grow together. No column where there
        are no rounds.

    Notes
    -----
    The visits of a round deviate from their configurations' means by a + b log size and noise. The covariance of a and
    b over the rounds, beyond that which noise gives them, over the number of rounds is that of the means.
    """
    rounds = Counter(map(len, visits)).most_common(1)[0][0]
    whole = [index for index, times in enumerate(visits) if len(times) == rounds]
    if rounds < 2 or len(whole) < _LEAST_IN_ROUND or min(time.median for index in whole for time in visits[index]) <= 0:
        return np.zeros((len(visits), 0)), 0
    logs = np.log([[time.median for time in visits[index]] for index in whole])
    logs -= np.median(logs, axis=1, keepdims=True)
    middle = np.median(logs, axis=0)
    deviation = max(float(np.median(np.abs(logs - middle))) * _TO_DEVIATION, _TINY)
    logs = np.clip(logs, middle - _MOST * deviation, middle + _MOST * deviation)
    logs -= logs.mean(axis=1, keepdims=True)
    octave = np.log2(np.maximum(message_size, 1.0))
    design = np.stack([np.ones(octave.size), octave - octave.mean()], axis=1)[:, : 1 + bool(np.ptp(octave))]
    inverse = np.linalg.pinv(design[whole])
    trends = inverse @ logs
    noise = float(((logs - design[whole] @ trends) ** 2).sum()) / (rounds - 1) / (len(whole) - design.shape[1])
    root = np.linalg.cholesky(max(noise, _TINY) * inverse @ inverse.T)
    whitened = np.linalg.solve(root, trends)
    excess, directions = np.linalg.eigh(whitened @ whitened.T / (rounds - 1))
    return design @ root @ directions * np.sqrt(np.maximum(excess - 1, 0.0) / rounds), rounds - 1


def visit_times(record: Record) -> list[Undisturbed]:
    """Return the time of each visit."""
    return [undisturbed(samples) for samples in visit_samples(record)]


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
    return Undisturbed(
        median, median * math.exp(-half), median * math.exp(half), error, _modes(visits, undelayed, median)
    )


def _biweights(logs: Array, variance: Array) -> Array:
    """Return the weight of each visit in their location: of two camps as large the faster counts."""
    deviation = np.sqrt(variance + _LEAST_SCATTER**2)
    location = np.unique(np.quantile(logs, np.linspace(0, 1, _STARTS), method="nearest"))
    for _ in range(_ROUNDS):
        inside = np.maximum(1 - ((logs - location[:, None]) / deviation / _WIDTH) ** 2, 0.0)
        weights = inside**2 / deviation**2
        location = weights @ logs / weights.sum(axis=1)
    loss = (1 - inside**3).sum(axis=1)
    best: Array = weights[int(np.argmax(loss < loss.min() + _EVEN))]
    return best


def _modes(visits: Sequence[Undisturbed], undelayed: NDArray[np.bool_], median: float) -> tuple[TimeMode, ...]:
    """Return the modes of the samples of all visits, each of which weighs the same: what is fitted, and the rest."""
    shares = np.array(
        [visit.modes[0].share if is_undelayed else 0.0 for visit, is_undelayed in zip(visits, undelayed, strict=True)]
    )
    slower = [
        mode
        for visit, is_undelayed in zip(visits, undelayed, strict=True)
        for mode in visit.modes[1 if is_undelayed else 0 :]
    ]
    if not slower:
        return (TimeMode(1.0, median),)
    share = float(shares.mean())
    return TimeMode(share, median), TimeMode(1 - share, float(np.median([mode.median for mode in slower])))
