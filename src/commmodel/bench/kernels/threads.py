"""Messages of several threads of a rank at once, at thread level multiple. Main entry: `KERNELS`.

Each thread plays ping-pong with its like on the other rank, in C without the interpreter's lock, as the threads of a
program in C or those of a compiled extension do. Messages are not touched.
"""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from commmodel.bench.kernels.kernel import Effort, Floats, Kernel, Room, sampled_in_batches, stride
from commmodel.bench.option import Option, doubling, number_list
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.errors import MPIEnvironmentError
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import Threads

if TYPE_CHECKING:
    from mpi4py import MPI

_MOST_BYTES = 64 << 20  # of all threads' messages together
_MOST_THREADS = 256  # of the loop


def _fits(size: int, threads: int) -> bool:
    return threads <= _MOST_THREADS and (threads == 1 or threads * stride(size) <= _MOST_BYTES)


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:
    return [
        Threads(size, threads, path)
        for path, size, threads in product(placement, options.sizes, options.threads)
        if _fits(size, threads)
    ]


def _left_out(options: BenchOptions) -> str:
    left = [str(threads) for threads in options.threads if not all(_fits(size, threads) for size in options.sizes)]
    return (
        f"left out, as there are over 256 threads, or 64 MiB of all their messages: {', '.join(left)}" if left else ""
    )


def _check(comm: "MPI.Intracomm", plan: Sequence[Configuration]) -> None:
    """Raise `MPIEnvironmentError` on every rank where some rank's threads may not all call MPI."""
    from mpi4py import MPI

    if not any(isinstance(configuration, Threads) for configuration in plan):
        return
    least = min(comm.allgather(MPI.Query_thread()))
    if least < MPI.THREAD_MULTIPLE:
        raise MPIEnvironmentError(
            "threads: MPI was not started at the thread level at which several threads may call it: add --thread-level "
            "multiple; if that was given, the library does not have it"
        )


def _room(configuration: Threads) -> Room:
    return 2 * configuration.threads * max(stride(configuration.message_size), 1), 1


def _measure(session: Session, configuration: Threads) -> Record | None:
    from commmodel._core.mpi import threads

    size = configuration.message_size

    def measure(batch: int, repetitions: int) -> Floats:
        ticks = threads.round_trips(
            *session.pair, session.send_buffer, size, max(stride(size), 1), configuration.threads, repetitions, batch,
            session.clock_number,
        )  # fmt: skip
        return session.seconds(ticks) / (2 * batch) * session.first

    return sampled_in_batches(session, configuration, measure, "auto")


KERNELS = (
    Kernel(
        "messages of several threads of a rank at once, with --thread-level multiple",
        (Threads,),
        _plan,
        _measure,
        _room,
        options=(Option("threads", "threads of a rank that send at once: 1:8 doubles", doubling, number_list),),
        check=_check,
        left_out=_left_out,
        effort=lambda configuration: Effort(configuration.message_size, 2 * configuration.threads),
    ),
)
