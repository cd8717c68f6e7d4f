"""Halo exchange: every rank of a ring with several neighbours at once. Main entry: `KERNELS`.

`commmodel.models.halo` predicts it; source of the pattern: Gropp, Olson and Samfass (2016), Section 2.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from commmodel.bench.kernels.kernel import Effort, Kernel, Room, all_processes, sampled, stride
from commmodel.bench.option import Option, doubling, number_list
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import Halo


def steps(neighbours: int) -> NDArray[np.int32]:
    """Return the distances to the neighbours in the ring.

    >>> steps(5).tolist()
    [1, -1, 2, -2, 3]
    """
    numbers = np.arange(neighbours, dtype=np.int32)
    return np.where(numbers % 2, -1, 1).astype(np.int32) * (numbers // 2 + 1)


def _has_room(processes: int, neighbours: int) -> bool:
    """Whether the ring is large enough that no rank is its own neighbour."""
    return neighbours <= 2 * (processes - 1)


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:  # noqa: ARG001
    return [
        Halo(size, neighbours, processes)
        for size, neighbours, processes in product(options.sizes, options.neighbours, options.procs)
        if _has_room(processes, neighbours)
    ]


def _left_out(options: BenchOptions) -> str:
    rings = [
        f"{neighbours} on {processes} processes"
        for neighbours, processes in product(options.neighbours, options.procs)
        if not _has_room(processes, neighbours)
    ]
    return f"left out, as a rank would be its own neighbour: {', '.join(rings)}" if rings else ""


def _room(configuration: Halo) -> Room:
    room = configuration.neighbours * stride(configuration.message_size)
    return room, room


def _measure(session: Session, configuration: Halo) -> Record | None:
    from commmodel._core.mpi import halo

    size, away = configuration.message_size, steps(configuration.neighbours)
    sources, targets = ((session.comm.rank + sign * away) % configuration.processes for sign in (-1, 1))
    common = session.comm, sources, targets, session.send_buffer, session.receive_buffer, size, stride(size)
    return sampled(session, configuration, lambda repetitions: session.timed(halo.exchange, *common, repetitions))


KERNELS = (
    Kernel(
        "exchanges of every rank with several neighbours at once",
        (Halo,),
        _plan,
        _measure,
        _room,
        all_processes,
        (Option("neighbours", "numbers of neighbours in a ring: 1:8 doubles", doubling, number_list),),
        left_out=_left_out,
        effort=lambda halo: Effort(halo.message_size, halo.neighbours, by_all=True),
    ),
)
