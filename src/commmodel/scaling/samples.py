"""Repetitions and their statistics. Main entries: `reduce` and `resample`.

Shudler and others (2015), Section 3.3, take the first quartile, which noise from outside hardly moves. The default is
the mean of the lower half: the slower half moves it no more, and it scatters less, since it uses more of the values.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from commmodel.arguments import choice, numbers
from commmodel.arrays import Array
from commmodel.choices import Statistic
from commmodel.errors import InputError
from commmodel.signatures import checked


def _lower_half(values: ArrayLike, axis: int | None = None) -> Array:
    """Return the mean of the smaller half of the values, the middle one of an odd number among them.

    >>> float(_lower_half([5.0, 1.0, 2.0, 90.0, 3.0])), _lower_half([[4.0, 2.0], [1.0, 9.0]], axis=1).tolist()
    (2.0, [2.0, 1.0])
    """
    rows = np.ravel(values)[None] if axis is None else np.moveaxis(np.asarray(values, dtype=np.float64), axis, -1)
    count = (rows.shape[-1] + 1) // 2
    half = np.partition(rows, count - 1, axis=-1)[..., :count].mean(axis=-1)
    return np.asarray(half[0] if axis is None else half, dtype=np.float64)


STATISTIC: Statistic = "lower half"
"""What repetitions are reduced to by default."""
STATISTICS: dict[Statistic, Callable[..., Array]] = {
    STATISTIC: _lower_half,
    "first quartile": partial(np.quantile, q=0.25),
    "median": np.median,
    "minimum": np.min,
    "mean": np.mean,
    "third quartile": partial(np.quantile, q=0.75),
}
"""What repetitions may be reduced to; the first is the default."""
_MOST_DRAWN = 1 << 21  # numbers drawn at once
_SHARES = {"first quartile": 0.25, "median": 0.5, "minimum": 0.0, "third quartile": 0.75}


def statistic_function(statistic: Statistic) -> Callable[..., Array]:
    """Return one of `STATISTICS`; raise where there is no such one."""
    return STATISTICS[choice("statistic", statistic, Statistic)]


def check_samples(scales: Array, samples: Sequence[ArrayLike]) -> list[Array]:
    """Return the samples of each scale as an array (launches, repetitions); launches of 1-D samples are one each.

    Raises
    ------
    InputError
        Where scales and samples do not belong together, or a sample is no finite number.
    """
    if len(samples) != len(scales):
        raise InputError(f"samples of {len(samples)} scales, but {len(scales)} scales: give as many")
    arrays = []
    for scale, row in zip(scales, samples, strict=True):
        array = numbers(f"samples at {scale:g}:", row)
        if array.ndim not in {1, 2} or not array.size:
            raise InputError(
                f"samples at {scale:g}: shape {array.shape}: give (repetitions,) or (launches, repetitions)"
            )
        if not np.isfinite(array).all():
            raise InputError(f"samples at {scale:g}: one is no finite number: leave it out")
        # A launch alone tells nothing of launches: then its repetitions are what is drawn from.
        arrays.append(array if array.ndim == 2 and len(array) > 1 else array.reshape(-1, 1))
    return arrays


@checked
def reduce(samples: Sequence[ArrayLike], statistic: Statistic = STATISTIC) -> Array:
    """Return one value for each scale, shape (scales,).

    Parameters
    ----------
    samples : sequence of arrays
        The repetitions at each scale, of any shape.
    statistic : str
        One of `STATISTICS`.

    Raises
    ------
    InputError
        For an unknown statistic, or samples that are no finite numbers.

    Examples
    --------
    >>> samples = [[1.0, 2.0, 3.0, 4.0, 50.0], [7.0, 7.0]]
    >>> reduce(samples).tolist(), reduce(samples, "mean").tolist()
    ([2.0, 7.0], [12.0, 7.0])
    """
    of = statistic_function(statistic)
    arrays = [numbers("samples", sample) for sample in samples]
    for place, array in enumerate(arrays):
        if not array.size or not np.isfinite(array).all():
            raise InputError(f"samples[{place}]: give finite numbers, at least one")
    if len({array.size for array in arrays}) == 1:  # at once: there may be a thousand launches
        return np.asarray(of(np.stack([np.ravel(array) for array in arrays]), axis=1), dtype=np.float64)
    return np.array([of(np.ravel(array)) for array in arrays], dtype=np.float64)


def _quantiles_of_resamples(values: Array, share: float, count: int, random: np.random.Generator) -> Array:
    """Return a quantile of `count` bootstrap samples without making them: their order statistics are drawn.

    That of rank k + 1 among n is at the place floor(n U) of the sorted values, U that of n uniform numbers, which has a
    beta distribution; the one above it is the least of the n − k − 1 numbers between U and 1.
    """
    n, ordered = len(values), np.sort(values)
    k = int(share * (n - 1))
    between = share * (n - 1) - k
    uniform = random.beta(k + 1, n - k, count)
    lower = ordered[np.minimum((n * uniform).astype(np.int64), n - 1)]
    if not between:
        return np.asarray(lower)
    above = 1 - (1 - uniform) * random.random(count) ** (1 / (n - k - 1))
    upper = ordered[np.minimum((n * above).astype(np.int64), n - 1)]
    return np.asarray(lower + between * (upper - lower))


def resample(samples: Sequence[Array], count: int, statistic: Statistic, random: np.random.Generator) -> Array:
    """Return a bootstrap sample over repetitions, shape (count, scales).

    Of several launches (`check_samples`), whole ones are drawn, since repetitions within one are alike.
    """
    of = statistic_function(statistic)
    share = _SHARES.get(statistic)
    drawn = np.empty((count, len(samples)))
    for scale, array in enumerate(samples):
        if share is not None and array.shape[1] == 1:
            drawn[:, scale] = _quantiles_of_resamples(array[:, 0], share, count, random)
            continue
        block = max(1, _MOST_DRAWN // array.size)
        for start in range(0, count, block):
            size = min(block, count - start)
            rows = random.integers(0, len(array), (size, len(array)))
            drawn[start : start + size, scale] = of(array[rows].reshape(size, -1), axis=1)
    return drawn
