"""Rules for an MPI library from measurements: what is worth measuring, launches with rules, and which of them win.

``search`` decides what to measure and what follows from it, by the Gaussian process of ``log_times``; ``launches`` runs
the benchmark under rules, ``duel`` compares them with the library's own choices, ``rules`` writes what wins. Main
entry: `tune`.
"""

from typing import TYPE_CHECKING

from commmodel.lazy import attributes

if TYPE_CHECKING:
    from commmodel.tuning.measured import MeasuredRules, TuningLaunches, tune
else:
    __getattr__, __dir__ = attributes(__name__)

__all__ = ["MeasuredRules", "TuningLaunches", "tune"]
