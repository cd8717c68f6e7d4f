"""Share of an exchange that progresses while both ranks compute outside MPI. Main entry: `KERNELS`.

The networks of Iancu and Strohmaier (2007) move data by themselves (RDMA). Where the library moves them, as within a
node, mostly nothing goes on until a rank calls MPI again; so it has to be measured.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product

import msgspec
import numpy as np
from numpy.typing import NDArray

from commmodel.bench.kernels.burst import (
    BURSTS,
    OPERATIONS,
    few,
    fits,
    locked_window,
    origin_buffer,
    row_room,
    rows_left_out,
)
from commmodel.bench.kernels.kernel import LOOKS, Effort, Kernel, sampled, stride, undisturbed_seconds
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import Progress

Exchange = Callable[[int, int], NDArray[np.uint64]]
"""(delay in ticks, repetitions) -> ticks."""


def _bursts(options: BenchOptions) -> list[int]:
    return few(sorted(options.bursts))


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:
    return [
        Progress(size, burst, path, operation)
        for path, size, burst, operation in product(placement, options.sizes, _bursts(options), options.operations)
        if fits(size, burst)
    ]


def _left_out(options: BenchOptions) -> str:
    return rows_left_out(options.sizes, _bursts(options))


@contextmanager
def _exchange(session: Session, configuration: Progress) -> Iterator[Exchange]:
    """Context with the loop of an exchange; the window of one-sided messages is locked in it."""
    from commmodel._core.mpi import burst as core

    size, operation = configuration.message_size, configuration.operation
    messages = (size, stride(size), configuration.burst)
    if operation == "two-sided":
        common = session.comm, session.peer, session.send_buffer, session.receive_buffer, *messages
        yield lambda delay, repetitions: core.two_sided_exchange(*common, delay, repetitions, session.clock_number)
        return
    loop = core.put_exchange if operation == "put" else core.get_exchange
    buffer = origin_buffer(session, operation)
    with locked_window(session, operation) as window:
        yield lambda delay, repetitions: loop(
            session.comm, window, session.peer, buffer, *messages, delay, repetitions, session.clock_number
        )


def _measure(session: Session, configuration: Progress) -> Record | None:
    with _exchange(session, configuration) as exchange:
        seconds = undisturbed_seconds(
            session, lambda repetitions: session.slowest(session.seconds(exchange(0, repetitions)))
        )
        delay = session.ticks(seconds)
        record = sampled(session, configuration, lambda repetitions: session.seconds(exchange(delay, repetitions)))
    return None if record is None else msgspec.structs.replace(record, delay=seconds)


KERNELS = (
    Kernel(
        "exchanges during which both ranks compute outside MPI",
        (Progress,),
        _plan,
        _measure,
        row_room,
        options=(OPERATIONS, BURSTS),
        left_out=_left_out,
        one_sided=True,
        effort=lambda progress: Effort(progress.message_size, 2 * progress.burst, LOOKS),
    ),
)
