"""Scaling: expected growth (big-O notation) checked against measurements. Loads neither MPI nor scipy.

Source: Shudler and others, "Exascaling Your Library" (2015). Main entries: `parse` an expectation, `judge` samples by
it, `fit` models of many kernels at once, check rules between functions, and `predict`.
"""

from commmodel.scaling.baseline import Slower
from commmodel.scaling.bootstrap import Ensemble, ensemble
from commmodel.scaling.checking import Checked, CheckedSeries, MemoryLimit, Room, check
from commmodel.scaling.collected import Collected, collect
from commmodel.scaling.difference import Difference, Differences, Together, differences
from commmodel.scaling.expectations import Expectation, Expectations, Guideline, load, published
from commmodel.scaling.fitting import Fits, Model, fit, fit_term
from commmodel.scaling.growth import ONE, Growth, parse, parse_product
from commmodel.scaling.guidelines import BrokenRule, CheckSettings
from commmodel.scaling.limits import ScalePrediction, largest_scale, predict
from commmodel.scaling.overview import ModelledSeries, Overview, Surface, modelled_series, overview, surfaces
from commmodel.scaling.rules import (
    FunctionRule,
    Violation,
    class_violation,
    measured_violation,
    modelled_violation,
    parse_rule,
)
from commmodel.scaling.samples import STATISTICS, reduce
from commmodel.scaling.search_space import (
    case_study_space,
    default_deviation,
    default_space,
    deviation_limits,
    even_odds,
    judged_space,
    prior_odds,
    search_space,
    ticks,
)
from commmodel.scaling.series import Series, series_over
from commmodel.scaling.surface import SurfaceModel, fit_surface
from commmodel.scaling.verdict import Judgement, Verdict, divergence, judge, published_verdict, rank

__all__ = [
    "ONE",
    "STATISTICS",
    "BrokenRule",
    "CheckSettings",
    "Checked",
    "CheckedSeries",
    "Collected",
    "Difference",
    "Differences",
    "Ensemble",
    "Expectation",
    "Expectations",
    "Fits",
    "FunctionRule",
    "Growth",
    "Guideline",
    "Judgement",
    "MemoryLimit",
    "Model",
    "ModelledSeries",
    "Overview",
    "Room",
    "ScalePrediction",
    "Series",
    "Slower",
    "Surface",
    "SurfaceModel",
    "Together",
    "Verdict",
    "Violation",
    "case_study_space",
    "check",
    "class_violation",
    "collect",
    "default_deviation",
    "default_space",
    "deviation_limits",
    "differences",
    "divergence",
    "ensemble",
    "even_odds",
    "fit",
    "fit_surface",
    "fit_term",
    "judge",
    "judged_space",
    "largest_scale",
    "load",
    "measured_violation",
    "modelled_series",
    "modelled_violation",
    "overview",
    "parse",
    "parse_product",
    "parse_rule",
    "predict",
    "prior_odds",
    "published",
    "published_verdict",
    "rank",
    "reduce",
    "search_space",
    "series_over",
    "surfaces",
    "ticks",
]  # fmt: skip
