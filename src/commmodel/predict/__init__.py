"""Prediction: the time of a message while others send, of a halo exchange, of a collective operation.

``point_to_point`` predicts messages and halo exchanges, ``costs`` each message of a collective, ``collective`` a
collective, ``measured_collectives`` one from measured times of it, ``call_costs`` one-sided operations, ``sending``
data in pieces and objects by each way to send them, ``device`` buffers of GPUs; ``extrapolation`` tells what lies
beyond the measurements, ``certainty`` how far a model is off, ``comparison`` compares measured times with predicted
ones, ``tuning`` writes rules for MPI libraries. Main entries: `send`, `halo`, `collective`, `calls`, `algorithms`,
`compare`, `side_by_side` and `tune`. The last three are loaded at their first use.
"""

from typing import TYPE_CHECKING

from commmodel.lazy import attributes
from commmodel.predict.arrays import CollectivePredictions, Predictions, Times
from commmodel.predict.call_costs import CallPrediction, calls
from commmodel.predict.collective import algorithm_seconds, algorithms, collective, with_byte_times
from commmodel.predict.collective_prediction import CollectivePrediction
from commmodel.predict.device import DevicePrediction, device_collective, device_ways
from commmodel.predict.extrapolation import collective_reach
from commmodel.predict.message_times import MODELS
from commmodel.predict.point_to_point import Prediction, halo, send
from commmodel.predict.seconds import Seconds
from commmodel.predict.sending import pieces, python_object

if TYPE_CHECKING:
    from commmodel.predict.comparison import ComparedTime, Comparison, ErrorSummary, compare, summarise
    from commmodel.predict.several_machines import SideBySide, side_by_side
    from commmodel.predict.tuning import LibraryRules, tune
else:
    __getattr__, __dir__ = attributes(__name__)

__all__ = [
    "MODELS", "CallPrediction", "CollectivePrediction", "CollectivePredictions", "ComparedTime", "Comparison",
    "DevicePrediction", "ErrorSummary", "LibraryRules", "Prediction", "Predictions", "Seconds", "SideBySide", "Times",
    "algorithm_seconds", "algorithms", "calls", "collective", "collective_reach", "compare", "device_collective",
    "device_ways", "halo", "pieces", "python_object", "send", "side_by_side", "summarise", "tune", "with_byte_times",
]  # fmt: skip
