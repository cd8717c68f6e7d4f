"""Programs on more processes than they were recorded on.

What ranks did on one or several numbers of processes becomes one skeleton of loops and steps, in which partners, counts
and bytes are functions of P, the rank and the round; these give the program for any other P. What no function explains
is refused, with its call site and rank.

::

    streams    what ranks did, with call sites
    grids      dimensions of grids as functions of P; neighbours, rows and columns
    skeletons  loops, and one skeleton for all ranks
    functions  partners, roots, tags, counts and conditions
    growths    terms of P for bytes and times; sizes: bytes of a step
    model      the structure of a program
    program    the program on another number of processes

Main entries: `StructureModel`, `ExtrapolatedActions`.
"""

from commmodel.simulate.extrapolation.model import StructureModel
from commmodel.simulate.extrapolation.program import ExtrapolatedActions
from commmodel.simulate.extrapolation.streams import StepSource

__all__ = ["ExtrapolatedActions", "StepSource", "StructureModel"]
