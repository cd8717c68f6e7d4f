"""Scaling: expected growth (big-O notation) checked against measurements. Loads neither MPI nor scipy.

Source: Shudler and others, "Exascaling Your Library" (2015). Main entries: `parse_growth` reads an
expectation, `judge` judges samples by it, `fit` models many kernels at once, `check` checks rules between functions,
and `predict_at` predicts at a scale.
"""

from typing import TYPE_CHECKING

from commmodel.lazy import attributes
from commmodel.scaling.checking import CheckResult, MemoryLimit, check, check_values
from commmodel.scaling.collected import CollectedSeries, collect
from commmodel.scaling.difference import Difference, Differences, JointVerdict, differences
from commmodel.scaling.expectations import Expectation, Expectations, Guideline, load, published
from commmodel.scaling.fitting import Fits, Model, fit, fit_term
from commmodel.scaling.growth import Growth, parse_growth
from commmodel.scaling.guidelines import BrokenRule
from commmodel.scaling.limits import ScalePrediction, largest_scale, predict_at
from commmodel.scaling.physics import PhysicsDoubt, physics
from commmodel.scaling.rules import FunctionRule, Violation, parse_rule
from commmodel.scaling.run_history import ChangePoint, History, HistoryPoint, HistoryRun, HistorySeries, history
from commmodel.scaling.samples import STATISTICS, reduce
from commmodel.scaling.series import Series, series_over
from commmodel.scaling.settings import CheckSettings, model
from commmodel.scaling.slow_nodes import SlowNode, slow_nodes
from commmodel.scaling.surface import SurfaceModel, fit_surface
from commmodel.scaling.verdict import Judgement, Verdict, judge

if TYPE_CHECKING:
    from commmodel.scaling import bootstrap as bootstrap
    from commmodel.scaling import overview as overview
    from commmodel.scaling import search_space as search_space
else:
    __getattr__, __dir__ = attributes(__name__)

__all__ = [
    "STATISTICS", "BrokenRule", "ChangePoint", "CheckResult", "CheckSettings", "CollectedSeries", "Difference",
    "Differences", "Expectation", "Expectations", "Fits", "FunctionRule", "Growth", "Guideline", "History",
    "HistoryPoint", "HistoryRun", "HistorySeries", "JointVerdict", "Judgement", "MemoryLimit", "Model",
    "PhysicsDoubt", "ScalePrediction", "Series", "SlowNode", "SurfaceModel", "Verdict", "Violation", "check",
    "check_values", "collect", "differences", "fit", "fit_surface", "fit_term", "history", "judge", "largest_scale",
    "load", "model", "parse_growth", "parse_rule", "physics", "predict_at", "published", "reduce", "series_over",
    "slow_nodes",
]  # fmt: skip
