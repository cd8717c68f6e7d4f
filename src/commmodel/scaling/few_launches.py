"""Mismatches of times that one or two launches show. Main entries: `confirmed` and `scatter_of`.

Launches of one program differ, and on a shared machine some of their times are many times longer, in all repetitions.
So a launch says of a single value no more than its values scatter about their models, and one value may be far beside
any of them. A mismatch is there if it remains with that scatter, and is more likely than not whichever scale is
left out.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from operator import ne

import numpy as np

from commmodel.choices import Statistic
from commmodel.scaling.fitting import FEWEST_SCALES, fit
from commmodel.scaling.permutation import FEWEST_PLAIN
from commmodel.scaling.samples import reduce
from commmodel.scaling.search_space import default_space
from commmodel.scaling.series import Series
from commmodel.scaling.verdict import Judgement

_EVEN = 0.5
_MORE = f"measure {FEWEST_PLAIN} launches or more"


def _has_few(series: Series) -> bool:
    """Whether it has times of fewer launches than show how much launches differ."""
    return series.unit == "s" and min(map(len, series.samples)) < FEWEST_PLAIN


def scatter_of(all_series: Iterable[Series], statistic: Statistic) -> float:
    """Return how much the times of one launch or two scatter about their models, relative to themselves.

    It is the median over all series; 0 where none has a scale to spare.
    """
    scatter = []
    for series in all_series:
        x, values = np.array(series.scales), reduce(series.samples, statistic)
        if _has_few(series) and len(x) > FEWEST_SCALES and values.min() > 0:
            beside = values / fit(x, values[None], default_space()).model(0)(x) - 1
            scatter.append(math.sqrt(float((beside**2).sum()) / (len(x) - 2)))
    return float(np.median(scatter)) if scatter else 0.0


def confirmed(
    judgement: Judgement,
    series: Series,
    before: Series | None,
    judged: Callable[[Series, Series | None, float], Judgement],
    scatter: Callable[[], float],
) -> Judgement:
    """Return the judgement, but uncertain where it is a mismatch that a launch or two do not show.

    Parameters
    ----------
    judgement : Judgement
        Of all scales.
    series, before : Series
        What was measured now, and in the baseline.
    judged : function
        From both and the scatter to the judgement.
    scatter : function
        Returns that of the launches (`scatter_of`).
    """
    sides = [side for side in (series, before) if side is not None]
    if judgement.verdict != "mismatch" or not any(map(_has_few, sides)):
        return judgement
    if any(len(side.scales) <= FEWEST_SCALES for side in sides):
        advice = f"of {FEWEST_SCALES} scales, a launch may have disturbed one: measure at more, or {_MORE}"
        return replace(judgement, verdict="uncertain", advice=advice)
    growth = judgement.ensemble.best.growth.text(series.over) if judgement.ensemble.fits else "that no class fits"
    if judged(series, before, scatter()).verdict != "mismatch":
        advice = f"{growth} is seen in too few launches, whose times scatter by {scatter():.0%}: {_MORE}"
        return replace(judgement, verdict="uncertain", advice=advice)
    for scale in series.scales:
        is_other = partial(ne, scale)
        rest, rest_before = series.at_scales(is_other), before.at_scales(is_other) if before else None
        if judged(rest, rest_before, scatter()).beyond < _EVEN:
            advice = f"{growth} is seen in too few launches, and not without {series.over} = {scale:g}: {_MORE}"
            return replace(judgement, verdict="uncertain", advice=advice)
    return judgement
