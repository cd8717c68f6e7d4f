"""Messages of several threads of a rank at once, at thread level multiple. Main entry: `KERNELS`.

Each thread plays ping-pong with its like on the other rank, or sends it windows of messages, in C without the
interpreter's lock, as the threads of a program in C or those of a compiled extension do. Messages are not touched.
"""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from commmodel.bench.kernels.kernel import Effort, Floats, Kernel, Room, sampled_in_batches, stride
from commmodel.bench.option import Option, doubling, number_list
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.errors import InputError, MPIEnvironmentError
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import Threads

if TYPE_CHECKING:
    from mpi4py import MPI

_MOST_BYTES = 64 << 20  # of all threads' messages together
_MOST_THREADS = 256  # of the loop
_MOST_MESSAGES = 64  # of a window


def _fits(size: int, threads: int, window: int) -> bool:
    messages = threads * window
    return threads <= _MOST_THREADS and (messages == 1 or messages * stride(size) <= _MOST_BYTES)


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:
    return [
        Threads(size, threads, path, window)
        for path, size, threads, window in product(
            placement, options.sizes, options.threads, options.messages_in_flight
        )
        if _fits(size, threads, window)
    ]


def _left_out(options: BenchOptions) -> str:
    windows, largest = options.messages_in_flight, max(options.sizes)
    left = [
        f"{threads} with windows of {window}" if window > 1 else str(threads)
        for threads, window in product(options.threads, windows)
        if not _fits(largest, threads, window)
    ]
    return (
        f"left out, as there are over 256 threads, or 64 MiB of all their messages: {', '.join(left)}" if left else ""
    )


def _windows(text: str) -> tuple[int, ...]:
    windows = doubling(text)
    if windows[-1] > _MOST_MESSAGES:
        raise InputError(f"{windows[-1]}: a window has at most {_MOST_MESSAGES} messages")
    return windows


def _check(comm: "MPI.Intracomm", plan: Sequence[Configuration]) -> None:
    """Raise `MPIEnvironmentError` on every rank where some rank cannot start the threads, or has another level."""
    from mpi4py import MPI

    from commmodel._core.mpi import threads

    most = max((configuration.threads for configuration in plan if isinstance(configuration, Threads)), default=0)
    if not most:
        return
    least = min(comm.allgather(MPI.Query_thread()))
    if least < MPI.THREAD_MULTIPLE:
        raise MPIEnvironmentError(
            "threads: MPI was not started at the thread level at which several threads may call it: add --thread-level "
            "multiple; if that was given, the library does not have it"
        )
    if not all(comm.allgather(threads.can_start(most))):
        raise MPIEnvironmentError(
            f"threads: a rank cannot start {most} threads: ask for fewer --threads, or raise the limits of processes "
            "and memory (ulimit -u, ulimit -v)"
        )


def _room(configuration: Threads) -> Room:
    return (1 + configuration.window) * configuration.threads * max(stride(configuration.message_size), 1), 1


def _effort(configuration: Threads) -> Effort:
    messages = configuration.window if configuration.window > 1 else 2
    return Effort(configuration.message_size, messages * configuration.threads)


def _measure(session: Session, configuration: Threads) -> Record | None:
    from commmodel._core.mpi import threads

    size, window = configuration.message_size, configuration.window
    messages = window if window > 1 else 2

    def measure(batch: int, repetitions: int) -> Floats:
        ticks = threads.exchanges(
            *session.pair, session.send_buffer, size, max(stride(size), 1), configuration.threads, window, repetitions,
            batch, session.clock_number,
        )  # fmt: skip
        return session.seconds(ticks) / (messages * batch) * session.first

    return sampled_in_batches(session, configuration, measure, 1 if window > 1 else "auto")


KERNELS = (
    Kernel(
        "messages of several threads of a rank at once, with --thread-level multiple",
        (Threads,),
        _plan,
        _measure,
        _room,
        options=(
            Option("threads", "threads of a rank that send at once: 1:8 doubles", doubling, number_list),
            Option(
                "messages_in_flight",
                "messages that each thread begins before it waits: 1 is a ping-pong, more a window one way, up to 64",
                _windows,
                number_list,
                metavar="N,...",
            ),
        ),
        check=_check,
        left_out=_left_out,
        effort=_effort,
    ),
)
