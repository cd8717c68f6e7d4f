"""How long MPI takes to start: one sample a launch, as ``osu_init`` has it. Main entry: `KERNELS`."""

from typing import get_args

import numpy as np

from commmodel.bench import start_up
from commmodel.bench.kernels.kernel import NO_MESSAGES, Kernel, all_processes
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import StartUp

_TOO_LATE = (
    "left out, as MPI ran before the benchmark could time its start: run it as a program of its own, "
    "mpiexec -n 2 python -m commmodel.bench start-up"
)


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:  # noqa: ARG001
    if not start_up.ranks():
        return []
    return [StartUp(stage, start_up.ranks()) for stage in get_args(start_up.StartUpStage)]


def _left_out(options: BenchOptions) -> str:  # noqa: ARG001
    return "" if start_up.ranks() else _TOO_LATE


def _measure(session: Session, configuration: StartUp) -> Record | None:
    slowest = session.slowest(np.array([start_up.seconds(configuration.stage)]))
    return Record(configuration, "s", (float(slowest[0]),)) if session.is_root else None


KERNELS = (
    Kernel(
        "time of MPI_Init, and to the end of the first barrier; one sample a launch",
        (StartUp,),
        _plan,
        _measure,
        lambda _: (1, 1),
        all_processes,
        left_out=_left_out,
        effort=lambda _: NO_MESSAGES,
    ),
)
