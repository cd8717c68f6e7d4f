"""Messages and collectives by persistent requests, and by plain calls beside them. Main entry: `KERNELS`.

As the OSU tests ``osu_latency_persistent``, ``osu_partitioned_latency`` and ``osu_allreduce_persistent`` have them.
Messages are not touched. A collective is made after a barrier, by a request, by its call and by its non-blocking form.
"""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, get_args

from commmodel.bench.kernels.collective import collective_effort, collective_room, fits
from commmodel.bench.kernels.kernel import (
    Effort,
    Floats,
    Kernel,
    Room,
    all_processes,
    message_room,
    one_pair,
    round_trip,
    sampled,
)
from commmodel.bench.option import Option, doubling, list_of, number_list
from commmodel.bench.placement import FurtherNodes, Placement
from commmodel.bench.session import Session
from commmodel.errors import MPIEnvironmentError
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import (
    CollectiveRequest,
    Persistent,
    PersistentCollective,
    PersistentOperation,
    RequestKind,
)

if TYPE_CHECKING:
    from mpi4py import MPI

_MOST_BYTES = 2**31 - 1  # that an int counts
_KINDS: tuple[RequestKind, ...] = get_args(RequestKind)
_COLLECTIVES: tuple[PersistentOperation, ...] = get_args(PersistentOperation)
_Measured = Persistent | PersistentCollective


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:
    messages: list[Configuration] = [
        Persistent(size, path, request, partitions)
        for path, size, request in product(placement, options.sizes, options.requests)
        for partitions in (options.partitions if request == "partitioned" else (1,))
        if size <= _MOST_BYTES and ((size and size % partitions == 0) or partitions == 1)
    ]
    kinds: list[CollectiveRequest] = [kind for kind in options.requests if kind != "partitioned"]
    if kinds:
        kinds.insert(0, "blocking")
    return messages + [
        PersistentCollective(operation, size, processes, kind)
        for operation, size, processes, kind in product(
            options.persistent_collectives, options.sizes, options.procs, kinds
        )
        if fits(operation, size, processes) and size <= _MOST_BYTES
    ]


def _left_out(options: BenchOptions) -> str:
    left = [
        str(partitions)
        for partitions in options.partitions
        if "partitioned" in options.requests and any(size % partitions or size < partitions for size in options.sizes)
    ]
    return f"sizes that are no multiple are left out of partitions: {', '.join(left)}" if left else ""


def _check(comm: "MPI.Intracomm", plan: Sequence[Configuration]) -> None:
    """Raise `MPIEnvironmentError` on every rank where the library lacks what MPI 4.0 has brought."""
    from commmodel._core.mpi import persistent

    if all(comm.allgather(persistent.HAS_PARTITIONED)):
        return
    if any(isinstance(row, Persistent) and row.request == "partitioned" for row in plan):
        raise MPIEnvironmentError(
            "persistent: this MPI library has no MPI_Psend_init, which is of MPI 4.0: ask for --requests "
            "non-blocking,persistent"
        )
    if any(isinstance(row, PersistentCollective) and row.request == "persistent" for row in plan):
        raise MPIEnvironmentError(
            "persistent: this MPI library has no MPI_Allreduce_init, which is of MPI 4.0: ask for "
            "--persistent-collectives none"
        )


def _room(configuration: _Measured) -> Room:
    return (message_room if isinstance(configuration, Persistent) else collective_room)(configuration)


def _ranks(configuration: _Measured, placement: Placement, further: FurtherNodes) -> Sequence[int]:
    chosen = one_pair if isinstance(configuration, Persistent) else all_processes
    return chosen(configuration, placement, further)


def _effort(configuration: _Measured) -> Effort:
    return (round_trip if isinstance(configuration, Persistent) else collective_effort)(configuration)


def _measure(session: Session, configuration: _Measured) -> Record | None:
    from commmodel._core.mpi import persistent

    buffers = session.send_buffer, session.receive_buffer
    size, request = configuration.message_size, configuration.request

    def messages(repetitions: int, partitions: int) -> Floats:
        ticks = persistent.round_trips(
            *session.pair, *buffers, size, request, partitions, repetitions, session.clock_number
        )
        return session.seconds(ticks) / 2 * session.first

    def measure(repetitions: int) -> Floats:
        if isinstance(configuration, Persistent):
            return messages(repetitions, configuration.partitions)
        ticks = persistent.collectives(
            session.comm, configuration.operation, request, *buffers, size, repetitions, session.clock_number
        )
        return session.seconds(ticks)

    return sampled(session, configuration, measure)


def _collectives(text: str) -> tuple[str, ...]:
    return () if text == "none" else list_of(_COLLECTIVES, "collective")(text)


KERNELS = (
    Kernel(
        "messages and collectives by persistent requests, messages by partitioned ones, and plain calls beside them",
        (Persistent, PersistentCollective),
        _plan,
        _measure,
        _room,
        _ranks,
        options=(
            Option(
                "requests", f"kinds of requests, of {', '.join(_KINDS)}; all", list_of(_KINDS, "kind of request"),
                lambda kinds: "all" if kinds == _KINDS else ",".join(kinds), metavar="KIND,...",
            ),
            Option("partitions", "partitions of a message: 1:16 doubles", doubling, number_list),
            Option(
                "persistent_collectives", f"collectives, of {', '.join(_COLLECTIVES)}; all, or none", _collectives,
                metavar="COLLECTIVE,...",
            ),
        ),
        check=_check,
        left_out=_left_out,
        effort=_effort,
    ),
)  # fmt: skip
