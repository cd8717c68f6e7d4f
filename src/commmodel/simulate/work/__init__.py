"""Programs for the simulator: collectives, exchanges, application kernels, and sequences of them.

Main entries: `collective`, `halo` and its like, `lu` and `cg`, `sequence`, `repeated`, `measured`.
"""

from commmodel.simulate.work.application_kernels import cg, lu
from commmodel.simulate.work.collective import collective
from commmodel.simulate.work.exchanges import halo, pair, pairwise, read_sparse, ring, shifts, sparse
from commmodel.simulate.work.sequences import mark, measured, repeated, sequence, slowest

__all__ = [
    "cg",
    "collective",
    "halo",
    "lu",
    "mark",
    "measured",
    "pair",
    "pairwise",
    "read_sparse",
    "repeated",
    "ring",
    "sequence",
    "shifts",
    "slowest",
    "sparse",
]
