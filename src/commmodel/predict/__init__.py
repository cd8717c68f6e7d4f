"""Predicted times on a machine: of a message while others send, a halo exchange, a collective operation.

``point_to_point`` has messages and halo exchanges, ``costs`` what each message of a collective costs, ``collective``
the time of a collective, ``extrapolation`` what of them lies beyond what was measured, ``comparison`` what was measured
beside what the models say. Main entries: `send`, `halo`, `collective`, `algorithms` and `compare`.
"""

from commmodel.predict.collective import (
    CollectivePrediction,
    algorithm_seconds,
    algorithms,
    collective,
    with_byte_times,
)
from commmodel.predict.comparison import Compared, Comparison, ErrorSummary, compare, summarise
from commmodel.predict.extrapolation import collective_reach
from commmodel.predict.point_to_point import MODELS, Prediction, halo, send
from commmodel.predict.seconds import Seconds

__all__ = [
    "MODELS", "CollectivePrediction", "Compared", "Comparison", "ErrorSummary", "Prediction", "Seconds",
    "algorithm_seconds", "algorithms", "collective", "collective_reach", "compare", "halo", "send", "summarise",
    "with_byte_times",
]  # fmt: skip
