"""Accuracy of synchronised clocks, at once and after some seconds. Main entry: `KERNELS`."""

import time
from itertools import product
from typing import Literal, get_args

from commmodel.bench.kernels.kernel import NO_MESSAGES, Kernel, Room, all_processes
from commmodel.bench.option import Option, seconds
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.bench.synchronisation import MPIWires, residuals, synchronise
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import Clocks
from commmodel.units import parse_time

_METHODS: tuple[Literal["hca3", "offset"], ...] = get_args(Literal["hca3", "offset"])
_MOST_RANKS = 64  # looked at, spread over all


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:  # noqa: ARG001
    several = [processes for processes in options.procs if processes > 1]
    return [Clocks(*settings) for settings in product(_METHODS, several, options.waits)]


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


def _waits(text: str) -> tuple[float, ...]:
    return tuple(sorted({parse_time(part) for part in text.split(",")}))


def _wait_words(waits: tuple[float, ...]) -> str:
    return ",".join(map(seconds, waits))


KERNELS = (
    Kernel(
        "differences between clocks after synchronisation",
        (Clocks,),
        _plan,
        _measure,
        _room,
        all_processes,
        effort=lambda configuration: NO_MESSAGES._replace(seconds=configuration.wait),
        options=(
            Option(
                "waits",
                "times after synchronisation at which clocks are compared",
                _waits,
                _wait_words,
                metavar="TIMES",
            ),
        ),
    ),
)
