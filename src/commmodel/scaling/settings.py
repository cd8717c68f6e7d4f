"""Settings of a check, and the models of a series under them. Main entries: `CheckSettings` and `model`."""

from collections.abc import Sequence
from dataclasses import dataclass

from commmodel.arguments import NotNegative, finite, integer, share
from commmodel.choices import Statistic
from commmodel.docstrings import with_attributes
from commmodel.scaling.bootstrap import MOST_DRAWS, Ensemble, ensemble
from commmodel.scaling.growth import Growth
from commmodel.scaling.samples import STATISTIC
from commmodel.scaling.search_space import default_space
from commmodel.scaling.series import Series
from commmodel.signatures import check_fields, checked

_FEWEST_DRAWS = 20


@with_attributes
@dataclass(frozen=True)
class CheckSettings:
    """Settings of all tests.

    Attributes
    ----------
    statistic : str
        What repetitions are reduced to, one of `commmodel.scaling.STATISTICS`.
    draws, seed : int
        Of the bootstrap.
    confidence : float
        Of intervals, and of the answer that something is larger.
    least : float
        Share by which something must be larger to be called so.
    """

    statistic: Statistic = STATISTIC
    draws: int = 200
    seed: int = 1
    confidence: float = 0.95
    least: float = 0.05

    def __post_init__(self) -> None:
        check_fields(self)
        share("confidence", self.confidence)
        finite("least", self.least, 0)
        integer("draws", self.draws, _FEWEST_DRAWS, MOST_DRAWS)
        integer("seed", self.seed, 0)


@checked
def model(
    series: Series,
    settings: CheckSettings | None = None,
    *,
    terms: Sequence[Growth] | None = None,
    noise: NotNegative = 0.0,
) -> Ensemble:
    """Return the best model of a series, and those that the data cannot distinguish from it.

    Parameters
    ----------
    series : Series
        At three scales or more, each ≥ 1.
    settings : CheckSettings, optional
        Statistic and bootstrap.
    terms : sequence of Growth, optional
        The search space, by default `commmodel.scaling.search_space.default_space`.
    noise : float
        How much values scatter at least, relative to themselves, where more is known of it than repetitions show.

    Raises
    ------
    InputError
        Where the series shows no growth, or a setting is none.

    Examples
    --------
    >>> import numpy as np
    >>> p = (4.0, 8.0, 16.0, 32.0, 64.0)
    >>> series = Series("bcast", "time", "s", "p", (), p, tuple(np.array([[2.0 * n]]) for n in p))
    >>> model(series).best.growth.text("p")
    'p'
    """
    chosen = settings or CheckSettings()
    return ensemble(
        series.scales,
        series.samples,
        default_space() if terms is None else terms,
        statistic=chosen.statistic,
        draws=chosen.draws,
        seed=chosen.seed,
        noise=noise,
    )
