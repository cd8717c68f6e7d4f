"""Buffers in the memory of GPUs, by each way to send them, and the copies to and from it. Main entry: `KERNELS`.

Samples are half round trips, or copies, as a program in Python has them: the calls of mpi4py and of CuPy or Numba are
timed from Python. Nothing is under way on the device where the clock is read. What a rank has received it sends back.
"""

import time
from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any, get_args

import msgspec
import numpy as np

from commmodel.bench import accelerator, device_probe
from commmodel.bench.kernels.datatype import WAYS, no_way
from commmodel.bench.kernels.kernel import NO_MESSAGES, Effort, Floats, Kernel, Room, round_trip, sampled
from commmodel.bench.kernels.multi_pair import PAIRS
from commmodel.bench.placement import FurtherNodes, Placement, members
from commmodel.bench.rank_0 import on_rank_0
from commmodel.bench.session import Session
from commmodel.choices import CopyDirection, DeviceWay, HostMemory
from commmodel.errors import MPIEnvironmentError
from commmodel.results import BenchOptions, Clock, Configuration, Record
from commmodel.results.configurations import DeviceCopy, DeviceMessage

if TYPE_CHECKING:
    from mpi4py import MPI

_TAG = 1
_MEMORY: dict[DeviceWay, HostMemory] = {"pinned": "pinned", "staged": "pageable"}
"""Way through the host -> its memory there."""


def prepare(comm: "MPI.Intracomm", _clock: Clock, options: BenchOptions, _placement: Placement) -> BenchOptions:
    """Choose a device on each rank, and find out whether MPI takes its memory; called by all ranks."""
    from mpi4py import MPI

    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    name = problem = ""
    try:
        name = accelerator.use(node.rank).name
    except MPIEnvironmentError as error:
        problem = str(error)
    node.Free()
    if problems := [text for text in comm.allgather(problem) if text]:
        raise MPIEnvironmentError(problems[0])
    ways = [way for way in get_args(DeviceWay) if way in options.ways]
    reason = on_rank_0(comm, device_probe.why_not) if "direct" in ways else ""
    if reason:
        reason = f"{library_words(MPI.Get_library_version())} cannot send device memory ({reason})"
        if ways == ["direct"]:
            raise MPIEnvironmentError(f"{reason}: add pinned and staged to --ways, or load another MPI library")
    return msgspec.structs.replace(options, accelerator=comm.bcast(name), without_direct=reason)


def library_words(version: str) -> str:
    """Return name and number of an MPI library, of what it says of itself.

    >>> library_words("MPICH Version:      5.0.2"), library_words("Open MPI v5.0.9, package: Open MPI")
    ('MPICH 5.0.2', 'Open MPI v5.0.9')
    """
    line = version.strip("\0 \n").partition("\n")[0].partition(",")[0]
    return " ".join(word for word in line.split() if word != "Version:")


def _left_out(options: BenchOptions) -> str:
    if options.without_direct and "direct" in options.ways:
        return f"direct is left out: {options.without_direct}; staged ways are measured"
    return no_way(options, get_args(DeviceWay))


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:
    ways = [way for way in get_args(DeviceWay) if way in options.ways]
    if options.without_direct:
        ways = [way for way in ways if way != "direct"]
    sizes = [size for size in options.sizes if size]
    messages: list[Configuration] = [
        DeviceMessage(size, way, path, pairs)
        for (path, ranks), pairs, size, way in product(placement.items(), options.pairs or (1,), sizes, ways)
        if pairs <= len(ranks)
    ]
    return messages + [
        DeviceCopy(size, operation, _MEMORY[way])
        for size, operation, way in product(sizes, get_args(CopyDirection), ways)
        if way in _MEMORY
    ]


def _ranks(configuration: DeviceMessage | DeviceCopy, placement: Placement, _further: FurtherNodes) -> list[int]:
    if isinstance(configuration, DeviceCopy):
        return [0]
    return members(placement[configuration.path][: configuration.pairs])


def _room(configuration: DeviceMessage | DeviceCopy) -> Room:
    pageable = isinstance(configuration, DeviceCopy) or configuration.way == "staged"
    return (configuration.message_size if pageable else 0), 0


def _effort(configuration: DeviceMessage | DeviceCopy) -> Effort:
    return NO_MESSAGES if isinstance(configuration, DeviceCopy) else round_trip(configuration)


def _host_array(session: Session, memory: HostMemory, size: int) -> Any:
    return accelerator.current().pinned_array(size) if memory == "pinned" else session.send_buffer[:size]


def calls(session: Session, way: DeviceWay, buffer: Any, size: int) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return what sends a device buffer to the other rank of the pair, and what receives into it."""
    from mpi4py import MPI

    comm, peer, device = session.comm, session.peer, accelerator.current()
    if way == "direct":
        message = [buffer, MPI.BYTE]
        return (lambda: comm.Send(message, peer, _TAG)), (lambda: comm.Recv(message, peer, _TAG))
    host = _host_array(session, _MEMORY[way], size)

    def give() -> None:
        device.copy_out(buffer, host)
        comm.Send(host, peer, _TAG)

    def take() -> None:
        comm.Recv(host, peer, _TAG)
        device.copy_in(host, buffer)

    return give, take


def _measure_messages(session: Session, configuration: DeviceMessage) -> Record | None:
    device, size = accelerator.current(), configuration.message_size
    give, take = calls(session, configuration.way, device.device_array(size), size)
    steps = (give, take) if session.first else (take, give)

    def measure(repetitions: int) -> Floats:
        seconds = np.empty(repetitions)
        device.synchronise()
        session.comm.Barrier()
        for repetition in range(repetitions):
            begin = time.perf_counter()
            for step in steps:
                step()
            seconds[repetition] = time.perf_counter() - begin
        return seconds * session.first / 2

    return sampled(session, configuration, measure)


def _measure_copies(session: Session, configuration: DeviceCopy) -> Record | None:
    device, size = accelerator.current(), configuration.message_size
    buffer, host = device.device_array(size), _host_array(session, configuration.memory, size)
    copy = device.copy_out if configuration.operation == "copy-out" else device.copy_in
    pair = (buffer, host) if configuration.operation == "copy-out" else (host, buffer)

    def measure(repetitions: int) -> Floats:
        seconds = np.empty(repetitions)
        device.synchronise()
        for repetition in range(repetitions):
            begin = time.perf_counter()
            copy(*pair)
            seconds[repetition] = time.perf_counter() - begin
        return seconds

    return sampled(session, configuration, measure)


def _measure(session: Session, configuration: DeviceMessage | DeviceCopy) -> Record | None:
    if isinstance(configuration, DeviceCopy):
        return _measure_copies(session, configuration)
    return _measure_messages(session, configuration)


KERNELS = (
    Kernel(
        "buffers in the memory of GPUs: given to MPI, or copied through the host, and the copies alone",
        (DeviceMessage, DeviceCopy),
        _plan,
        _measure,
        _room,
        _ranks,
        options=(WAYS, PAIRS),
        prepare=prepare,
        left_out=_left_out,
        visited=(DeviceMessage, DeviceCopy),
        effort=_effort,
    ),
)
