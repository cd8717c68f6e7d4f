"""Programs for the simulator: collectives, exchanges, application kernels, and sequences of them.

Main entries: `collective`, `halo` and its like, `lu` and `cg`, `sequence`, `repeated`, `measured`. All but `collective`
are loaded at their first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from commmodel.simulate.work.collective import collective

if TYPE_CHECKING:
    from commmodel.simulate.work.application_kernels import cg, lu
    from commmodel.simulate.work.exchanges import halo, pair, pairwise, read_sparse, ring, shifts, sparse
    from commmodel.simulate.work.sequences import mark, measured, repeated, sequence, slowest

__all__ = [
    "cg", "collective", "halo", "lu", "mark", "measured", "pair", "pairwise", "read_sparse", "repeated", "ring",
    "sequence", "shifts", "slowest", "sparse",
]  # fmt: skip

_MODULES = {
    **dict.fromkeys(("cg", "lu"), "application_kernels"),
    **dict.fromkeys(("halo", "pair", "pairwise", "read_sparse", "ring", "shifts", "sparse"), "exchanges"),
    **dict.fromkeys(("mark", "measured", "repeated", "sequence", "slowest"), "sequences"),
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
