"""Intervals of times that rest on a model whose own error is known. Main entry: `widened`."""

import math

from commmodel.machine import Machine
from commmodel.predict.nodes import node_remarks
from commmodel.predict.seconds import Seconds
from commmodel.statistics import CONFIDENCE

_BOUNDED_SCATTER = 0.5
"""Standard deviation of log T of a collective that is predicted from latency and bandwidth alone, with bounds of o and
g: that of CSD3's two networks (`benchmarks.validation.public_record --messages`)."""
_UNKNOWN_NODE_SCATTER = 1.0
"""The same where processes share nodes of which neither the path within nor the limit is known: that of Kathleen."""


def bounded_scatter(machine: Machine, per_node: int | None) -> float:
    """Return the standard deviation of log T of a collective from bounds of o and g.

    >>> from commmodel.machine import Segment
    >>> [bounded_scatter(Machine("m", (Segment("all"),)), per_node) for per_node in (None, 1, 4)]
    [0.5, 0.5, 1.0]
    """
    is_known = per_node in (None, 1) or not node_remarks(machine)
    return _BOUNDED_SCATTER if is_known else _UNKNOWN_NODE_SCATTER


def widened(machine: Machine, time: Seconds, deviation: float) -> Seconds:
    """Return a time whose interval includes a standard deviation of its logarithm.

    >>> from commmodel.machine import Segment
    >>> time = widened(Machine("m", (Segment("all"),)), Seconds(1.0, 0.9, 1.2), 0.1)
    >>> round(time.low, 3), round(time.high, 3)
    (0.74, 1.46)
    """
    from statistics import NormalDist

    quantile = NormalDist().inv_cdf((1 + (machine.confidence or CONFIDENCE)) / 2)
    factor = math.exp(min(quantile * deviation, 700.0))
    low, high = (time.seconds if end is None else end for end in (time.low, time.high))
    return Seconds(time.seconds, low / factor, high * factor)
