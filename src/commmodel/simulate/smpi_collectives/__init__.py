"""The collective algorithms of SimGrid's SMPI 3.32 by their SMPI names, message by message, for comparisons.

::

    at_once    what it begins at once: its non-blocking collectives, and most of its defaults
    calls      what a rank does in a collective: calls of MPI, which become its operations; who shares a node
    rounds     algorithms that consist of rounds, for all ranks at once
    barrier, broadcast, reduce, allreduce, gather, allgather, alltoall, reduce_scatter
               the algorithms, and MPICH's choice among them
    selectors  ompi, mvapich2 and impi, which choose by `tables`
    library    the table of all, and programs

The algorithms were read in SMPI's sources, and seen in the traces that it writes of its collectives' inner messages
(``tools/peers/logs.py``); ``python -m benchmarks.validation.selector_agreement`` compares their times. Descriptions are
in Thakur, Rabenseifner and Gropp 2005, Rabenseifner 2004, and Faraj and Yuan 2005. Main entries: `program`, `calls`.
"""

from commmodel.collectives.library.smpi_selection import DEFAULT, Selection
from commmodel.simulate.smpi_collectives.at_once import AT_ONCE
from commmodel.simulate.smpi_collectives.calls import Member, RankCall
from commmodel.simulate.smpi_collectives.library import ALGORITHMS, calls, program, reduce_scatter
from commmodel.simulate.smpi_collectives.rounds import ELEMENT

__all__ = [
    "ALGORITHMS", "AT_ONCE", "DEFAULT", "ELEMENT", "Member", "RankCall", "Selection", "calls", "program",
    "reduce_scatter",
]  # fmt: skip
