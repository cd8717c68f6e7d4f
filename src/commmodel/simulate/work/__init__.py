"""Programs for the simulator: collectives, exchanges, application kernels, and sequences of them.

Main entries: `collective`, `halo` and its like, `lu` and `cg`, `sequence`, `repeat`, `concurrent`, `mark`,
`between_marks`. All but `collective` are loaded at their first use.
"""

from typing import TYPE_CHECKING

from commmodel.lazy import attributes
from commmodel.simulate.work.collective import collective

if TYPE_CHECKING:
    from commmodel.simulate.work.application_kernels import cg, lu
    from commmodel.simulate.work.concurrency import concurrent
    from commmodel.simulate.work.exchanges import halo, pair, pairwise, read_sparse, ring, shifts, sparse
    from commmodel.simulate.work.sequences import between_marks, mark, repeat, sequence, slowest
else:
    __getattr__, __dir__ = attributes(__name__)

__all__ = [
    "between_marks", "cg", "collective", "concurrent", "halo", "lu", "mark", "pair", "pairwise", "read_sparse",
    "repeat", "ring", "sequence", "shifts", "slowest", "sparse",
]  # fmt: skip
