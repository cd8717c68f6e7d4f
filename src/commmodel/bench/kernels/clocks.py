"""How well the ranks' clocks can be made one, and what is left of that after some seconds. Main entry: `KERNEL`."""

import time
from itertools import product
from typing import Literal, get_args

from commmodel.bench.kernels.kernel import Kernel, Room
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.bench.synchronisation import MPIWires, residuals, synchronise
from commmodel.results import Clocks, Configuration, Options, Record

__all__ = ["KERNEL"]

_METHODS: tuple[Literal["hca3", "offset"], ...] = get_args(Literal["hca3", "offset"])
_MOST_RANKS = 64  # looked at, spread over all


def _plan(options: Options, placement: Placement) -> list[Configuration]:  # noqa: ARG001
    several = [processes for processes in options.procs if processes > 1]
    return [Clocks(*one) for one in product(_METHODS, several, options.waits)]


def _room(configuration: Clocks) -> Room:  # noqa: ARG001
    return 0, 0


def _measure(session: Session, configuration: Clocks) -> Record | None:
    wires = MPIWires(session.comm, session.clock)
    clock = synchronise(wires, configuration.method)
    session.comm.Barrier()
    time.sleep(configuration.wait)
    apart = residuals(wires, clock, _MOST_RANKS)
    if not session.is_root:
        return None
    return Record(configuration, "s", tuple(round(abs(seconds), 11) for seconds in apart))


KERNEL = Kernel("how far clocks are apart after they were synchronised", _plan, _measure, _room, on_request=True)
