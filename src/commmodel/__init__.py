"""Measure a machine's MPI communication, model it in a few numbers, and use the model.

::

    mpiexec -n 2 python -m commmodel.bench          measure       -> results.jsonl
    commmodel fit results.jsonl                     fit           -> machine.toml
    commmodel report results.jsonl machine.toml     show          -> tables, report.html
    commmodel predict machine.toml send -n 64KiB    use           -> time of a message

In Python each of these steps is a package, reached from here: `commmodel.results.load`, `commmodel.fit.fit_machine`,
`commmodel.predict.send`. A package is loaded at its first use; that alone loads neither MPI nor numba nor scipy.
`commmodel.sampled` and `commmodel.shared_array` are for programs that run while they are simulated.
"""

from typing import TYPE_CHECKING

from commmodel.lazy import attributes

if TYPE_CHECKING:
    from commmodel import (
        advice,
        bench,
        collectives,
        documents,
        errors,
        fit,
        formats,
        guard,
        machine,
        models,
        optimize,
        overlap,
        placement,
        predict,
        record,
        report,
        results,
        scaling,
        shadow,
        simulate,
        statistics,
        sweep,
        tuning,
        units,
    )
    from commmodel import pytest_plugin as pytest_plugin
    from commmodel.shadow import sampled, shared_array
else:
    __getattr__, __dir__ = attributes(__name__)

__version__ = "1.0.0"
__all__ = [
    "advice", "bench", "collectives", "documents", "errors", "fit", "formats", "guard", "machine", "models",
    "optimize", "overlap", "placement", "predict", "record", "report", "results", "sampled", "scaling", "shadow",
    "shared_array", "simulate", "statistics", "sweep", "tuning", "units",
]  # fmt: skip
