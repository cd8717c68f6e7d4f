"""Repetitions and what they are reduced to. Main entries: `reduce` and `resample`.

Source: Shudler and others (2015), Section 3.3: the first quartile, which noise from outside hardly moves.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commmodel.errors import InputError

__all__ = ["STATISTICS", "check_samples", "reduce", "resample"]

Array = NDArray[np.float64]

STATISTICS: dict[str, Callable[..., Array]] = {
    "first quartile": partial(np.quantile, q=0.25),
    "median": np.median,
    "minimum": np.min,
    "mean": np.mean,
    "third quartile": partial(np.quantile, q=0.75),
}
"""What repetitions may be reduced to; the first is the default."""


def _statistic(name: str) -> Callable[..., Array]:
    if name not in STATISTICS:
        raise InputError(f"statistic {name!r}: there is none of this name: choose among {', '.join(STATISTICS)}")
    return STATISTICS[name]


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
    for scale, given in zip(scales, samples, strict=True):
        array = np.asarray(given, dtype=np.float64)
        if array.ndim not in {1, 2} or not array.size:
            raise InputError(
                f"samples at {scale:g}: shape {array.shape}: give (repetitions,) or (launches, repetitions)"
            )
        if not np.isfinite(array).all():
            raise InputError(f"samples at {scale:g}: one is no finite number: leave it out")
        # A launch alone tells nothing of launches: then its repetitions are what is drawn from.
        arrays.append(array if array.ndim == 2 and len(array) > 1 else array.reshape(-1, 1))
    return arrays


def reduce(samples: Sequence[ArrayLike], statistic: str = "first quartile") -> Array:
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
        For an unknown statistic.

    Examples
    --------
    >>> reduce([[1.0, 2.0, 3.0, 4.0, 5.0], [7.0, 7.0]]).tolist()
    [2.0, 7.0]
    """
    of = _statistic(statistic)
    return np.array([of(np.ravel(np.asarray(one, dtype=np.float64))) for one in samples], dtype=np.float64)


def resample(samples: Sequence[Array], count: int, statistic: str, random: np.random.Generator) -> Array:
    """Return what might have been measured instead, shape (count, scales): a bootstrap over repetitions.

    Of several launches (`check_samples`), whole ones are drawn, since repetitions within one are alike.
    """
    of = _statistic(statistic)
    drawn = np.empty((count, len(samples)))
    for scale, array in enumerate(samples):
        rows = random.integers(0, len(array), (count, len(array)))
        drawn[:, scale] = of(array[rows].reshape(count, -1), axis=1)
    return drawn
