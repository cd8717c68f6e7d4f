"""Rates that follow from a segment's models: of a pair, of a node, and the duplex factor.

Main entries: `bandwidth`, `node_rate`, `duplex_factor` and `message_time`.
"""

import math
from typing import Literal

from msgspec.structs import replace

from commmodel.machine.description import Segment
from commmodel.machine.model_choice import recommended_model, two_way
from commmodel.machine.parameters import Parameter

End = Literal["value", "low", "high"]
_FULL_DUPLEX = (1.0, 2.0)
"""Least and largest duplex factor of a link that carries both directions at once."""


def _inverse(value: float | None) -> float | None:
    if value is None:
        return None
    return 1 / value if value > 0 else math.inf


def bandwidth(beta: Parameter) -> Parameter:
    """Return 1/β as a rate; the ends of the interval change places.

    >>> bandwidth(Parameter(0.5, "s/B", low=0.25, high=1.0))
    Parameter(value=2.0, unit='B/s', low=1.0, high=4.0)
    """
    return Parameter(_inverse(beta.value) or math.inf, "B/s", low=_inverse(beta.high), high=_inverse(beta.low))


def node_rate(segment: Segment) -> Parameter | None:
    """Return R_N of ping-pongs: that of the recommended model, or where it has none, of the max-rate model."""
    rate: Parameter | None = getattr(two_way(segment).get(recommended_model(segment)), "R_N", None)
    return rate if rate is not None or segment.max_rate is None else segment.max_rate.R_N


def message_time(segment: Segment, message_size: float, processes: int, end: End = "value") -> float:
    """Return the least latency of `processes` processes' messages, k / M_k, seconds; 0 where no rate is known.

    Parameters
    ----------
    segment : Segment
    message_size : float
        Bytes.
    processes : int
        k, ≥ 1.
    end : {"value", "low", "high"}
        Of the time's interval.

    Examples
    --------
    >>> from commmodel.machine import MessageRate
    >>> rates = (MessageRate(Parameter(70e6), 56, upto=32), MessageRate(Parameter(20e6), 56))
    >>> segment = Segment("all", message_rate=rates)
    >>> message_time(segment, 8, 56), message_time(segment, 64, 28)
    (8e-07, 1.4e-06)
    """
    rate = segment.message_rate_of(message_size)
    if rate is None:
        return 0.0
    alpha = rate.alpha if processes > 1 else 0.0
    if end == "value":
        return float(max(alpha, rate.message_time(processes)))
    M = (rate.M.high if end == "low" else rate.M.low) or rate.M.value
    falls = [rate.fall.value if fall is None else fall for fall in (rate.fall.low, rate.fall.high)]
    ends = [replace(rate, M=Parameter(M), fall=Parameter(fall)) for fall in falls]
    times = [end_rate.message_time(processes) for end_rate in ends]
    return float(max(alpha, min(times) if end == "low" else max(times)))


def _ratio(above: float | None, below: float | None, unknown: float) -> float:
    if above is None or below is None:
        return unknown
    return above / below if below > 0 and math.isfinite(above) else unknown


def duplex_factor(segment: Segment) -> Parameter | None:
    """Return R_N of ping-pongs, which go both ways at once, over R_N of streams, which go one way.

    None where one of them is not known or does not limit. The interval comes from the ends of both intervals, and is
    not wider than what a full-duplex link can do, from 1 to 2, unless the factor itself lies outside.

    >>> from commmodel.machine import MaxRate
    >>> both, one = Parameter(18e9, low=17e9, high=19e9), Parameter(10e9, low=9e9, high=11e9)
    >>> rates = [MaxRate(Parameter(1e-6), Parameter(5e9), rate) for rate in (both, one)]
    >>> factor = duplex_factor(Segment("all", max_rate=rates[0], one_way=rates[1]))
    >>> factor.value, round(factor.low, 2), factor.high
    (1.8, 1.55, 2.0)
    """
    two_way, one_way = node_rate(segment), segment.one_way.R_N if segment.one_way else None
    if two_way is None or one_way is None or not (two_way.is_limiting and one_way.is_limiting):
        return None
    value = two_way.value / one_way.value
    if None in {two_way.low, two_way.high, one_way.low, one_way.high}:
        return Parameter(value)
    least, most = _FULL_DUPLEX
    low, high = _ratio(two_way.low, one_way.high, least), _ratio(two_way.high, one_way.low, most)
    return Parameter(value, low=min(value, max(low, least)), high=max(value, min(high, most)))
