"""Overhead of initiating messages: o(S, b) in bursts, and the depth of the network's queue.

Source: Iancu and Strohmaier (2007), Section 2.1. What is begun is completed between the repetitions. Messages lie in
places of their own at both ends, as those of a program do; one-sided ones go to and come from a window on the buffers
that all kernels use, not on memory of the library's own. Main entry: `KERNELS`.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from commmodel.bench.kernels.kernel import Effort, Kernel, Room, sampled, stride
from commmodel.bench.option import Option, doubling, list_of, number_list
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.bench.windows import free_window
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import Burst, MessageOperation, Progress, Queue
from commmodel.units import format_size

if TYPE_CHECKING:
    from mpi4py import MPI

OPERATIONS = Option(
    "operations",
    f"operations, of {', '.join(get_args(MessageOperation))}; all",
    list_of(get_args(MessageOperation), "operation"),
    metavar="OPERATION,...",
)
BURSTS = Option("bursts", "messages begun one after the other: 1:64 doubles", doubling, number_list)
PutOrGet = Literal["put", "get"]
Ticks = NDArray[np.uint64]
_Value = TypeVar("_Value")

_ROW_BYTES = 16 << 20  # of a burst's messages, four times what Iancu 2007 lets be under way
_MOST_INITIATIONS = 1024
_QUEUE_BYTES = 16 << 20  # of all of them
_QUEUE_MESSAGE = 4 << 10  # at most: whether a queue is full must not be hidden by the time of a copy
_QUEUE_REPETITIONS = 301
_QUEUE_CHUNK = 11  # repetitions between two looks at the time
_DECIMALS = 11  # of samples, as of all kernels


def fits(size: int, burst: int) -> bool:
    """Whether the messages of a burst fit into buffers of their own."""
    return burst * stride(size) <= _ROW_BYTES


def row_room(configuration: Burst | Progress) -> Room:
    """Return the buffer sizes for the messages of a burst at both ends."""
    room = configuration.burst * stride(configuration.message_size)
    return room, room


def rows_left_out(sizes: Sequence[int], bursts: Sequence[int]) -> str:
    """Return a line that names the omitted bursts; empty where all fit.

    >>> rows_left_out((1 << 10, 4 << 20), (1, 16, 32))
    'left out, as a burst exceeds 16 MiB: 16 messages above 1 MiB, 32 messages above 512 KiB'
    """
    left = [burst for burst in bursts if not all(fits(size, burst) for size in sizes)]
    if not left:
        return ""
    limits = ", ".join(f"{burst} messages above {format_size(_ROW_BYTES // burst)}" for burst in sorted(left))
    return f"left out, as a burst exceeds {format_size(_ROW_BYTES)}: {limits}"


def few(values: Sequence[_Value]) -> list[_Value]:
    """Return the first, the middle and the last of some values.

    >>> few([1, 2, 4, 8, 16, 32, 64]), few([1, 2])
    ([1, 8, 64], [1, 2])
    """
    return [values[place] for place in sorted({0, len(values) // 2, len(values) - 1})]


@contextmanager
def locked_window(session: Session, operation: PutOrGet) -> Iterator["MPI.Win"]:
    """Context with an MPI window of the target buffer, locked by all ranks; freed afterwards.

    Called by all ranks of the session. After an exception nothing is freed: that would wait for the other ranks.
    """
    from mpi4py import MPI

    window = MPI.Win.Create(session.receive_buffer if operation == "put" else session.send_buffer, comm=session.comm)
    window.Lock_all()
    yield window
    window.Unlock_all()
    free_window(session.comm, window)


def origin_buffer(session: Session, operation: PutOrGet) -> NDArray[np.uint8]:
    """Return the origin buffer of one-sided messages on the initiating rank."""
    return session.send_buffer if operation == "put" else session.receive_buffer


@contextmanager
def _row(
    session: Session, configuration: Burst | Queue, count: int, loop: Callable[..., Ticks]
) -> Iterator[Callable[[int], Ticks]]:
    """Context with the loop that times `count` initiations in a row: repetitions -> ticks."""
    operation, size = configuration.operation, configuration.message_size
    messages = (size, stride(size), count)
    if operation == "put" or operation == "get":
        buffer = origin_buffer(session, operation)
        with locked_window(session, operation) as window:
            put = session.comm, window, session.peer, session.first, buffer, *messages
            yield lambda repetitions: loop(*put, repetitions, session.clock_number)
    else:
        sent = *session.pair, session.send_buffer if session.first else session.receive_buffer, *messages
        yield lambda repetitions: loop(*sent, repetitions, session.clock_number)


def _plan_bursts(options: BenchOptions, placement: Placement) -> list[Configuration]:
    ends: dict[str, tuple[Literal["isend", "irecv", "put", "get"], ...]] = {
        "two-sided": ("isend", "irecv"), "put": ("put",), "get": ("get",)
    }  # fmt: skip
    return [
        Burst(size, burst, operation, path)
        for path, size, burst, choice in product(placement, options.sizes, options.bursts, options.operations)
        for operation in ends[choice]
        if fits(size, burst)
    ]


def _measure_burst(session: Session, configuration: Burst) -> Record | None:
    from commmodel._core.mpi import burst as core

    loops = {"put": core.put_burst, "get": core.get_burst}
    is_timed = session.first != (configuration.operation == "irecv")
    loop = loops.get(configuration.operation, core.two_sided_burst)
    with _row(session, configuration, configuration.burst, loop) as row:
        return sampled(
            session,
            configuration,
            lambda repetitions: session.seconds(row(repetitions)) / configuration.burst * is_timed,
        )


def initiations(size: int) -> int:
    """Return the number of messages of a size in a row: a function of the size alone, as for windows.

    >>> initiations(8), initiations(1 << 20)
    (1024, 16)
    """
    return max(2, min(_MOST_INITIATIONS, _QUEUE_BYTES // max(stride(size), 1)))


def _plan_queues(options: BenchOptions, placement: Placement) -> list[Configuration]:
    small = [size for size in options.sizes if size <= _QUEUE_MESSAGE] or [min(options.sizes)]
    names: dict[str, Literal["isend", "put", "get"]] = {"two-sided": "isend", "put": "put", "get": "get"}
    return [
        Queue(size, names[operation], path)
        for path, size, operation in product(placement, few(sorted(small)), options.operations)
    ]


def _queue_room(configuration: Queue) -> Room:
    room = initiations(configuration.message_size) * stride(configuration.message_size)
    return room, room


def _queue_effort(configuration: Queue) -> Effort:
    size = configuration.message_size
    return Effort(size, initiations(size), 1 + _QUEUE_CHUNK, sampled=False)


def _measure_queue(session: Session, configuration: Queue) -> Record | None:
    from commmodel._core.mpi import burst as core

    loops = {"put": core.put_queue, "get": core.get_queue}
    loop = loops.get(configuration.operation, core.isend_queue)
    with _row(session, configuration, initiations(configuration.message_size), loop) as row:
        row(1)
        started, rows, goes_on = time.perf_counter(), [], True
        while goes_on:
            rows += list(row(_QUEUE_CHUNK))
            spent = time.perf_counter() - started >= session.share
            goes_on = session.comm.bcast(not spent and len(rows) < _QUEUE_REPETITIONS)
    if not session.is_root:
        return None
    medians = session.seconds(np.median(rows, axis=0)).round(_DECIMALS)
    return Record(configuration, "s", tuple(medians.tolist()), warmup=initiations(configuration.message_size))


def _left_out(options: BenchOptions) -> str:
    return rows_left_out(options.sizes, options.bursts)


KERNELS = (
    Kernel(
        "overhead of messages begun in bursts",
        (Burst,),
        _plan_bursts,
        _measure_burst,
        row_room,
        options=(OPERATIONS, BURSTS),
        left_out=_left_out,
        one_sided=True,
        effort=lambda configuration: Effort(configuration.message_size, configuration.burst),
    ),
    Kernel(
        "time of each of many messages begun in a row",
        (Queue,),
        _plan_queues,
        _measure_queue,
        _queue_room,
        options=(OPERATIONS,),
        one_sided=True,
        effort=_queue_effort,
    ),
)
