"""Which of a segment's models speaks for it, and what two of them say together.

The fit recommends a model; where it does not, as in a file written by hand, the max-rate model speaks, or what is
there instead. Main entries: `recommended`, `named` and `duplex_factor`.
"""

import math

from commmodel.machine import Extended, LatencyAware, MaxRate, Parameter, Postal, Segment

__all__ = ["ONE_WAY", "Model", "duplex_factor", "knows_several", "named", "node_rate", "recommended", "two_way"]

Model = Postal | MaxRate | Extended | LatencyAware

ONE_WAY = "one-way"
"""Name of the model of streams."""
_BEST_FIRST = ("max-rate", "extended", "latency-aware", "postal")
_FULL_DUPLEX = (1.0, 2.0)
"""Least and largest duplex factor of a link that carries both directions at once."""


def two_way(segment: Segment) -> dict[str, Model]:
    """Return the models of ping-pongs that a segment has, by name, the simplest first."""
    there: dict[str, Model | None] = {
        "postal": segment.postal,
        "max-rate": segment.max_rate,
        "extended": segment.extended,
        "latency-aware": segment.latency_aware,
    }
    return {name: model for name, model in there.items() if model is not None}


def recommended(segment: Segment) -> str:
    """Return the name of the model that speaks for a segment; empty where it has none.

    >>> recommended(Segment("all", postal=Postal(Parameter(1e-6), Parameter(1e-9)), recommended="extended"))
    'postal'
    """
    models = two_way(segment)
    return next((name for name in (segment.recommended, *_BEST_FIRST) if name in models), "")


def named(segment: Segment, name: str) -> Model | None:
    """Return a model of a segment; None where it has no such model."""
    return segment.one_way if name == ONE_WAY else two_way(segment).get(name)


def knows_several(segment: Segment) -> bool:
    """Return whether the segment's models come from more than one number of pairs."""
    return any(getattr(model, "R_N", None) is not None for model in two_way(segment).values())


def node_rate(segment: Segment) -> Parameter | None:
    """Return R_N of ping-pongs: that of the recommended model, or where it has none, of the max-rate model."""
    rate: Parameter | None = getattr(two_way(segment).get(recommended(segment)), "R_N", None)
    return rate if rate is not None or segment.max_rate is None else segment.max_rate.R_N


def _ratio(above: float | None, below: float | None, unknown: float) -> float:
    if above is None or below is None:
        return unknown
    return above / below if below > 0 and math.isfinite(above) else unknown


def duplex_factor(segment: Segment) -> Parameter | None:
    """Return R_N of ping-pongs, which go both ways at once, over R_N of streams, which go one way.

    None where one of them is not known or does not limit. The interval comes from the ends of both intervals, and is
    not wider than what a full-duplex link can do, from 1 to 2, unless the factor itself lies outside.

    >>> both, one = Parameter(18e9, low=17e9, high=19e9), Parameter(10e9, low=9e9, high=11e9)
    >>> rates = [MaxRate(Parameter(1e-6), Parameter(5e9), rate) for rate in (both, one)]
    >>> factor = duplex_factor(Segment("all", max_rate=rates[0], one_way=rates[1]))
    >>> factor.value, round(factor.low, 2), factor.high
    (1.8, 1.55, 2.0)
    """
    both, one = node_rate(segment), segment.one_way.R_N if segment.one_way else None
    if both is None or one is None or not (both.is_limiting and one.is_limiting):
        return None
    value = both.value / one.value
    if None in {both.low, both.high, one.low, one.high}:
        return Parameter(value)
    least, most = _FULL_DUPLEX
    low, high = _ratio(both.low, one.high, least), _ratio(both.high, one.low, most)
    return Parameter(value, low=min(value, max(low, least)), high=max(value, min(high, most)))
