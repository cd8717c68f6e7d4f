"""Prediction: the time of a message while others send, of a halo exchange, of a collective operation.

``point_to_point`` predicts messages and halo exchanges, ``costs`` each message of a collective, ``collective`` a
collective; ``extrapolation`` tells what lies beyond the measurements, ``comparison`` compares measured times with
predicted ones. Main entries: `send`, `halo`, `collective`, `algorithms` and `compare`. The comparison is loaded at its
first use.
"""

from typing import TYPE_CHECKING

from commmodel.lazy import attributes
from commmodel.predict.arrays import Predictions, Times
from commmodel.predict.collective import (
    CollectivePrediction,
    algorithm_seconds,
    algorithms,
    collective,
    with_byte_times,
)
from commmodel.predict.extrapolation import collective_reach
from commmodel.predict.point_to_point import MODELS, Prediction, halo, send
from commmodel.predict.seconds import Seconds

if TYPE_CHECKING:
    from commmodel.predict.comparison import ComparedTime, Comparison, ErrorSummary, compare, summarise
else:
    __getattr__, __dir__ = attributes(__name__)

__all__ = [
    "MODELS", "CollectivePrediction", "ComparedTime", "Comparison", "ErrorSummary", "Prediction", "Predictions",
    "Seconds", "Times", "algorithm_seconds", "algorithms", "collective", "collective_reach", "compare", "halo", "send",
    "summarise", "with_byte_times",
]  # fmt: skip
