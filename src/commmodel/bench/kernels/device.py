"""Buffers in the memory of GPUs, by each way to send them, and the copies to and from it. Main entry: `KERNELS`.

Samples are half round trips, collectives or copies, as a program in Python has them: the calls of mpi4py and of CuPy or
Numba are timed from Python. Nothing is under way on the device where the clock is read. What a rank has received it
sends back.
"""

import time
from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from commmodel.bench import accelerator, device_probe
from commmodel.bench.kernels.collective import collective_effort, collective_room, fits
from commmodel.bench.kernels.datatype import WAYS, no_way
from commmodel.bench.kernels.kernel import (
    NO_MESSAGES,
    Effort,
    Floats,
    Kernel,
    Room,
    all_processes,
    message_room,
    round_trip,
    sampled,
)
from commmodel.bench.kernels.multi_pair import PAIRS
from commmodel.bench.option import Option, list_of
from commmodel.bench.placement import FurtherNodes, Placement, members
from commmodel.bench.rank_0 import on_rank_0
from commmodel.bench.session import Session
from commmodel.choices import CopyDirection, DeviceOperation, DeviceWay, HostMemory
from commmodel.errors import MPIEnvironmentError
from commmodel.results import BenchOptions, Clock, Configuration, Record
from commmodel.results.configurations import DeviceCollective, DeviceCopy, DeviceMessage

if TYPE_CHECKING:
    from mpi4py import MPI

_TAG = 1
_MEMORY: dict[DeviceWay, HostMemory] = {"pinned": "pinned", "staged": "pageable"}
"""Way through the host -> its memory there."""
_FLOAT_BYTES = 4
_ROOT = 0
_Measured = DeviceMessage | DeviceCollective | DeviceCopy


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
    collectives: list[Configuration] = [
        DeviceCollective(operation, size, processes, way)
        for operation, size, processes, way in product(options.device_collectives, sizes, options.procs, ways)
        if fits(operation, size, processes)
    ]
    copies: list[Configuration] = [
        DeviceCopy(size, operation, _MEMORY[way])
        for size, operation, way in product(sizes, get_args(CopyDirection), ways)
        if way in _MEMORY
    ]
    return messages + collectives + copies


def _ranks(configuration: _Measured, placement: Placement, further: FurtherNodes) -> list[int]:
    if isinstance(configuration, DeviceCollective):
        return all_processes(configuration, placement, further)
    if isinstance(configuration, DeviceCopy):
        return [0]
    return members(placement[configuration.path][: configuration.pairs])


def _room(configuration: _Measured) -> Room:
    """Return the room of host memory of that size, also where none is used: links are looked at with it."""
    return (collective_room if isinstance(configuration, DeviceCollective) else message_room)(configuration)


def _effort(configuration: _Measured) -> Effort:
    if isinstance(configuration, DeviceCopy):
        return NO_MESSAGES
    return (collective_effort if isinstance(configuration, DeviceCollective) else round_trip)(configuration)


def _host_array(memory: HostMemory, size: int, pageable: NDArray[np.uint8]) -> Any:
    return accelerator.current().pinned_array(size) if memory == "pinned" else pageable[:size]


def calls(session: Session, way: DeviceWay, buffer: Any, size: int) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return what sends a device buffer to the other rank of the pair, and what receives into it."""
    from mpi4py import MPI

    comm, peer, device = session.comm, session.peer, accelerator.current()
    if way == "direct":
        message = [buffer, MPI.BYTE]
        return (lambda: comm.Send(message, peer, _TAG)), (lambda: comm.Recv(message, peer, _TAG))
    host = _host_array(_MEMORY[way], size, session.send_buffer)

    def give() -> None:
        device.copy_out(buffer, host)
        comm.Send(host, peer, _TAG)

    def take() -> None:
        comm.Recv(host, peer, _TAG)
        device.copy_in(host, buffer)

    return give, take


def collective_call(session: Session, configuration: DeviceCollective, sent: Any, received: Any) -> Callable[[], None]:
    """Return what carries out a collective from one device buffer to another; a broadcast has the first alone."""
    device, way = accelerator.current(), configuration.way
    if way == "direct":
        return _call_of_mpi(session.comm, configuration, sent, received)
    memory, is_bcast = _MEMORY[way], configuration.operation == "bcast"
    outgoing = _host_array(memory, sent.size, session.send_buffer)
    incoming = outgoing if is_bcast else _host_array(memory, received.size, session.receive_buffer)
    call = _call_of_mpi(session.comm, configuration, outgoing, incoming)
    is_root = session.comm.rank == _ROOT

    def through_host() -> None:
        if is_root or not is_bcast:
            device.copy_out(sent, outgoing)
        call()
        if not (is_root and is_bcast):
            device.copy_in(incoming, sent if is_bcast else received)

    return through_host


def _call_of_mpi(
    comm: "MPI.Intracomm", configuration: DeviceCollective, sent: Any, received: Any
) -> Callable[[], None]:
    """Return the call of mpi4py; reductions add floats, or combine bytes, as the kernel ``collective`` does."""
    from mpi4py import MPI

    match configuration.operation:
        case "bcast":
            return lambda: comm.Bcast([sent, MPI.BYTE], _ROOT)
        case "allgather":
            return lambda: comm.Allgather([sent, MPI.BYTE], [received, MPI.BYTE])
        case "alltoall":
            return lambda: comm.Alltoall([sent, MPI.BYTE], [received, MPI.BYTE])
    are_floats = configuration.message_size % _FLOAT_BYTES == 0
    kind, operation = (MPI.FLOAT, MPI.SUM) if are_floats else (MPI.UINT8_T, MPI.BOR)
    return lambda: comm.Allreduce([sent, kind], [received, kind], operation)


def _measure_collectives(session: Session, configuration: DeviceCollective) -> Record | None:
    device = accelerator.current()
    call = collective_call(session, configuration, *map(device.device_array, collective_room(configuration)))

    def measure(repetitions: int) -> Floats:
        seconds = np.empty(repetitions)
        device.synchronise()
        for repetition in range(repetitions):
            session.comm.Barrier()
            begin = time.perf_counter()
            call()
            seconds[repetition] = time.perf_counter() - begin
        return seconds

    return sampled(session, configuration, measure)


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
    buffer, host = device.device_array(size), _host_array(configuration.memory, size, session.send_buffer)
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


def _measure(session: Session, configuration: _Measured) -> Record | None:
    if isinstance(configuration, DeviceCopy):
        return _measure_copies(session, configuration)
    if isinstance(configuration, DeviceCollective):
        return _measure_collectives(session, configuration)
    return _measure_messages(session, configuration)


def _collectives(text: str) -> tuple[str, ...]:
    return () if text == "none" else list_of(get_args(DeviceOperation), "collective")(text)


KERNELS = (
    Kernel(
        "buffers in the memory of GPUs: given to MPI, or copied through the host, in messages and collectives; copies",
        (DeviceMessage, DeviceCollective, DeviceCopy),
        _plan,
        _measure,
        _room,
        _ranks,
        options=(
            WAYS,
            PAIRS,
            Option(
                "device_collectives",
                f"collectives of device buffers, of {', '.join(get_args(DeviceOperation))}; all, or none",
                _collectives,
                lambda names: "all" if names == get_args(DeviceOperation) else ",".join(names),
                metavar="COLLECTIVE,...",
            ),
        ),
        prepare=prepare,
        left_out=_left_out,
        visited=(DeviceMessage, DeviceCopy),
        effort=_effort,
    ),
)
