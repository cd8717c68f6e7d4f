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

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = [
    "bench", "collectives", "documents", "errors", "fit", "formats", "machine", "models", "optimize", "overlap",
    "predict", "record", "report", "results", "scaling", "shadow", "simulate", "statistics", "sweep", "units",
]  # fmt: skip

_OF_SHADOW = ("sampled", "shared_array")
"""Functions that programs call."""


def __getattr__(name: str) -> Any:
    if name in _OF_SHADOW:
        return getattr(import_module(f"{__name__}.shadow"), name)
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
