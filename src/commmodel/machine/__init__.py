"""Machines: the parameters that describe a machine's communication, in ``machine.toml``.

A machine is a list of protocol segments. A segment applies to one path and to messages up to its limit, and holds
the parameters of each model with unit, interval and quality of the fit. In a file written by hand, a parameter may
be a bare number in SI base units or a text with a unit: ``alpha = "4us"``. Main entries: `load`, which also loads
published machines by name, `dump`, `Machine.segment`, and `choose_model`, which chooses the model that applies to a
number of processes.
"""

from commmodel.lazy import attributes
from commmodel.machine.call_costs import CallCost
from commmodel.machine.collective_times import CollectiveTimes
from commmodel.machine.description import Limit, Machine, MeasuredPairs, Origin, Segment
from commmodel.machine.file import dump, dumps, load, published
from commmodel.machine.hybrid import Edge, Hybrid, Mode
from commmodel.machine.measured_times import MeasuredTimes
from commmodel.machine.model_choice import ModelChoice, choose_model, recommended_model
from commmodel.machine.parameters import (
    Extended,
    LatencyAware,
    LogGP,
    MaxRate,
    MessageRate,
    Parameter,
    PLogP,
    Postal,
    Quality,
)
from commmodel.machine.sending import ObjectTimes, PieceCosts, Sending
from commmodel.machine.tables import BandwidthProfile, OverlapProfile, ParameterTable

__all__ = [
    "BandwidthProfile", "CallCost", "CollectiveTimes", "Edge", "Extended", "Hybrid", "LatencyAware", "Limit",
    "LogGP", "Machine", "MaxRate", "MeasuredPairs", "MeasuredTimes", "MessageRate", "Mode", "ModelChoice",
    "ObjectTimes", "Origin", "OverlapProfile", "PLogP", "Parameter", "ParameterTable", "PieceCosts", "Postal",
    "Quality", "Segment", "Sending", "choose_model", "dump", "dumps", "load", "published", "recommended_model",
]  # fmt: skip
__dir__ = attributes(__name__)[1]
