"""Scatter between launches that were not repeated. Main entry: `between_launches`.

Repetitions do not show how much launches differ. How far a function's scales lie beside its curve does, since nobody
measures at them in one go; few scales tell it roughly, and those of many functions well.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from commmodel.scaling.bootstrap import Ensemble
from commmodel.scaling.series import Key

__all__ = ["Scatter", "between_launches"]

_OF_MEDIAN = 1.1  # standard deviations of four degrees of freedom are mostly too small: their median is by so much
_EFFICIENCY = 0.6  # a median of many is as good as a mean of so many of them


@dataclass(frozen=True)
class Scatter:
    """Typical relative scatter of a metric's values, and its degrees of freedom."""

    typical: float = 0.0
    freedom: float = 1.0

    def ratio(self, own_scatter: float, chance: float) -> float:
        """Return the ratio that two equal values exceed with this chance, for a function's own scatter.

        >>> Scatter(0.0).ratio(0.0, 0.01), round(Scatter(0.05, 1e6).ratio(0.0, 0.025), 3)
        (1.0, 1.149)
        """
        from scipy.special import stdtrit

        deviation = math.sqrt(2) * max(own_scatter, self.typical)
        return math.exp(min(float(-stdtrit(self.freedom, chance)) * deviation, 700.0)) if deviation else 1.0


def between_launches(models: Mapping[Key, Ensemble]) -> dict[str, Scatter]:
    """Return the scatter of each metric: the median over all series."""
    scatters = {}
    for metric in {key[1] for key in models}:
        of_it = [model for key, model in models.items() if key[1] == metric]
        freedom = sum(len(model.scales) - 2 for model in of_it) * (_EFFICIENCY if len(of_it) > 2 else 1.0)
        scatters[metric] = Scatter(_OF_MEDIAN * median(model.noise for model in of_it), max(freedom, 1.0))
    return scatters
