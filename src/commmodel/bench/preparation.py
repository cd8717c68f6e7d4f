"""Preparation of a plan by all ranks: checks, and options with measured defaults. Main entry: `prepare`."""

from typing import TYPE_CHECKING

from commmodel.bench.kernels import REGISTRY
from commmodel.bench.placement import Placement
from commmodel.bench.windows import check_one_sided
from commmodel.results import BenchOptions, Clock

if TYPE_CHECKING:
    from mpi4py import MPI


def prepare(comm: "MPI.Intracomm", clock: Clock, options: BenchOptions, placement: Placement) -> BenchOptions:
    """Return the options with measured defaults; raise `MPIEnvironmentError` for what MPI cannot do.

    Called by all ranks; what it returns or raises is the same on each.
    """
    kernels = [REGISTRY[name] for name in options.kernels]
    if any(kernel.one_sided for kernel in kernels) and {"put", "get"} & set(options.operations):
        check_one_sided(comm)
    for kernel in kernels:
        if kernel.prepare:
            options = kernel.prepare(comm, clock, options, placement)
    return options
