"""Ping-pongs by persistent and partitioned requests, beside plain non-blocking ones. Main entry: `KERNELS`.

As the OSU tests ``osu_latency_persistent`` and ``osu_partitioned_latency`` have them. Messages are not touched.
"""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, get_args

from commmodel.bench.kernels.kernel import Floats, Kernel, sampled
from commmodel.bench.option import Option, doubling, list_of, number_list
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.errors import MPIEnvironmentError
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import Persistent, RequestKind

if TYPE_CHECKING:
    from mpi4py import MPI

_MOST_BYTES = 2**31 - 1  # that an int counts
_KINDS: tuple[RequestKind, ...] = get_args(RequestKind)


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:
    return [
        Persistent(size, path, request, partitions)
        for path, size, request in product(placement, options.sizes, options.requests)
        for partitions in (options.partitions if request == "partitioned" else (1,))
        if size <= _MOST_BYTES and ((size and size % partitions == 0) or partitions == 1)
    ]


def _left_out(options: BenchOptions) -> str:
    left = [
        str(partitions)
        for partitions in options.partitions
        if "partitioned" in options.requests and any(size % partitions or size < partitions for size in options.sizes)
    ]
    return f"sizes that are no multiple are left out of partitions: {', '.join(left)}" if left else ""


def _check(comm: "MPI.Intracomm", plan: Sequence[Configuration]) -> None:
    """Raise `MPIEnvironmentError` on every rank where the library has no partitioned requests."""
    from commmodel._core.mpi import persistent

    is_planned = any(getattr(configuration, "request", "") == "partitioned" for configuration in plan)
    if is_planned and not all(comm.allgather(persistent.HAS_PARTITIONED)):
        raise MPIEnvironmentError(
            "persistent: this MPI library has no MPI_Psend_init, which is of MPI 4.0: ask for --requests "
            "non-blocking,persistent"
        )


def _measure(session: Session, configuration: Persistent) -> Record | None:
    from commmodel._core.mpi import persistent

    def measure(repetitions: int) -> Floats:
        ticks = persistent.round_trips(
            *session.pair, session.send_buffer, session.receive_buffer, configuration.message_size,
            configuration.request, configuration.partitions, repetitions, session.clock_number,
        )  # fmt: skip
        return session.seconds(ticks) / 2 * session.first

    return sampled(session, configuration, measure)


KERNELS = (
    Kernel(
        "messages by persistent and partitioned requests, and plain ones beside them",
        (Persistent,),
        _plan,
        _measure,
        options=(
            Option(
                "requests", f"kinds of requests, of {', '.join(_KINDS)}; all", list_of(_KINDS, "kind of request"),
                lambda kinds: "all" if kinds == _KINDS else ",".join(kinds), metavar="KIND,...",
            ),
            Option("partitions", "partitions of a message: 1:16 doubles", doubling, number_list),
        ),
        check=_check,
        left_out=_left_out,
    ),
)  # fmt: skip
