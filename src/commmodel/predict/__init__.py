"""Predicted times on a machine: of a message while others send, a halo exchange, a collective operation.

``point_to_point`` has messages and halo exchanges, ``costs`` what each message of a collective costs, ``collective``
the time of a collective, ``extrapolation`` what of them lies beyond what was measured, ``comparison`` what was measured
beside what the models say. Main entries: `send`, `halo`, `collective`, `algorithms` and `compare`. What compares is
loaded at its first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

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
    from commmodel.predict.comparison import Compared, Comparison, ErrorSummary, compare, summarise

__all__ = [
    "MODELS", "CollectivePrediction", "Compared", "Comparison", "ErrorSummary", "Prediction", "Seconds",
    "algorithm_seconds", "algorithms", "collective", "collective_reach", "compare", "halo", "send", "summarise",
    "with_byte_times",
]  # fmt: skip

_MODULES = dict.fromkeys(("Compared", "Comparison", "ErrorSummary", "compare", "summarise"), "comparison")


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
