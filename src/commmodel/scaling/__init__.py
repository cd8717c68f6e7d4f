"""Scaling: expected growth (big-O notation) checked against measurements. Loads neither MPI nor scipy.

Source: Shudler and others, "Exascaling Your Library" (2015). Main entries: `parse` an expectation, `judge` samples by
it, `fit` models of many kernels at once, check rules between functions, and `predict`.
"""

from commmodel.scaling.checking import Checked, MemoryLimit, check
from commmodel.scaling.collected import Collected, collect
from commmodel.scaling.difference import Difference, Differences, Together, differences
from commmodel.scaling.expectations import Expectation, Expectations, Guideline, load, published
from commmodel.scaling.fitting import Fits, Model, fit, fit_term
from commmodel.scaling.growth import Growth, parse
from commmodel.scaling.guidelines import BrokenRule, CheckSettings
from commmodel.scaling.limits import ScalePrediction, largest_scale, predict
from commmodel.scaling.rules import FunctionRule, Violation, parse_rule
from commmodel.scaling.samples import STATISTICS, reduce
from commmodel.scaling.series import Series, series_over
from commmodel.scaling.surface import SurfaceModel, fit_surface
from commmodel.scaling.verdict import Judgement, Verdict, judge

__all__ = [
    "STATISTICS",
    "BrokenRule",
    "CheckSettings",
    "Checked",
    "Collected",
    "Difference",
    "Differences",
    "Expectation",
    "Expectations",
    "Fits",
    "FunctionRule",
    "Growth",
    "Guideline",
    "Judgement",
    "MemoryLimit",
    "Model",
    "ScalePrediction",
    "Series",
    "SurfaceModel",
    "Together",
    "Verdict",
    "Violation",
    "check",
    "collect",
    "differences",
    "fit",
    "fit_surface",
    "fit_term",
    "judge",
    "largest_scale",
    "load",
    "parse",
    "parse_rule",
    "predict",
    "published",
    "reduce",
    "series_over",
]  # fmt: skip
