"""Predicted times of buffers in device memory by each way. Main entries: `device_ways` and `device_collective`."""

from collections.abc import Iterator

from msgspec import Struct

from commmodel.arguments import Count, Scale, whole
from commmodel.choices import CopyDirection, DeviceOperation, DeviceWay, HostMemory
from commmodel.collectives.operation import OPERATIONS
from commmodel.errors import MissingParameterError
from commmodel.machine import CallCost, Machine
from commmodel.machine.description import usual_path
from commmodel.models import device as formulas
from commmodel.predict.call_costs import CallPrediction, predicted_call
from commmodel.predict.collective import collective
from commmodel.predict.point_to_point import send
from commmodel.predict.seconds import Seconds
from commmodel.signatures import checked
from commmodel.values import Value

_MEMORY: dict[DeviceWay, HostMemory] = {"pinned": "pinned", "staged": "pageable"}
_COPIES: tuple[CopyDirection, CopyDirection] = ("copy-out", "copy-in")


class DevicePrediction(Value, Struct, frozen=True):
    """The predicted time of one way to send a buffer in device memory, or to make a collective of such buffers."""

    way: DeviceWay
    processes: int
    """How many processes of the node share the message; of the direct way each has its part on a device of its own.
    Of a collective all that take part."""
    time: Seconds
    parts: dict[str, float]
    """Seconds of ``copy-out``, ``message`` (of a collective between the hosts, all of it) and ``copy-in``; empty
    where the way was measured as a whole."""
    extrapolates: tuple[str, ...] = ()
    """What lies beyond what was measured, a line each."""


@checked
def device_ways(
    machine: Machine, message_size: Scale, *, path: str | None = None, processes: Count = 1
) -> tuple[DevicePrediction, ...]:
    """Return the time of a message between devices by each way, the fastest first.

    A way that was measured as a whole has that time; else a way through the host is a copy out, a message of the host,
    and a copy in. Of several processes each sends its part from the host, when one has copied all of it there
    (`commmodel.models.device`).

    Parameters
    ----------
    machine : Machine
        With `calls` of the kernel device.
    message_size : float
        n, a whole number of bytes, ≥ 1.
    path : str, optional
        ``between-nodes`` where the machine has it and nothing else is said.
    processes : int
        How many processes of a node may share the message, ≥ 1.

    Returns
    -------
    tuple of DevicePrediction
        Times in seconds.

    Raises
    ------
    InputError
        Where a number is no whole one, or too small.
    MissingParameterError
        Where no way can be predicted; it names the kernel of the benchmark that provides what is missing.

    Examples
    --------
    >>> from commmodel.machine import Parameter, Postal, Segment
    >>> message = Segment("all", "between-nodes", postal=Postal(Parameter(2e-6), Parameter(1e-10)))
    >>> copies = [
    ...     CallCost("device-copy", name, Parameter(12e-6), conditions={"memory": "pinned"}, beta=Parameter(2e-11))
    ...     for name in ("copy-out", "copy-in")
    ... ]
    >>> direct = CallCost("device", "direct", Parameter(6e-6), "between-nodes", beta=Parameter(2e-10))
    >>> cluster = Machine("cluster", (message,), calls=(direct, *copies))
    >>> [(row.way, round(1e6 * row.time.seconds)) for row in device_ways(cluster, 1 << 20)]
    [('pinned', 173), ('direct', 216)]
    """
    size, most = whole("message_size", message_size, 1), whole("processes", processes, 1)
    place = device_path(machine, path)
    costs = [cost for cost in machine.calls if cost.kernel == "device" and cost.path == place]
    whole_ways = {(cost.call, 1) for cost in costs}
    rows = [*_measured(machine, costs, size, most), *_through_host(machine, whole_ways, size, place, most)]
    if not rows:
        raise MissingParameterError(
            f"machine {machine.name!r} has no times of device memory on path {place!r}: measure them with python -m "
            "commmodel.bench pingpong device, where there are GPUs, then fit"
        )
    return tuple(sorted(rows, key=lambda row: row.time.seconds))


def device_path(machine: Machine, path: str | None) -> str:
    """Return the path of messages of devices where nothing else is said."""
    return usual_path([*machine.paths, *(cost.path for cost in machine.calls if cost.kernel == "device")], path)


@checked
def device_collective(
    machine: Machine, operation: DeviceOperation, message_size: Scale, processes: Count, *, path: str | None = None
) -> tuple[DevicePrediction, ...]:
    """Return the time of a collective of buffers in device memory by each way, the fastest first.

    A way that was measured on so many processes has that time; else a way through the host is a copy out of all that a
    process sends, the collective of the hosts, and a copy in of all that it receives.

    Parameters
    ----------
    machine : Machine
        With `calls` of the kernel device.
    operation : str
        ``allreduce``, ``alltoall``, ``bcast`` or ``allgather``.
    message_size : float
        n, a whole number of bytes, ≥ 1: the whole vector of a broadcast or reduction, one block of the others.
    processes : int
        P, ≥ 1, each with a device.
    path : str, optional
        Of the messages of the hosts; ``between-nodes`` where the machine has it and nothing else is said.

    Returns
    -------
    tuple of DevicePrediction
        Times in seconds.

    Raises
    ------
    InputError
        Where a number is no whole one, or too small.
    MissingParameterError
        Where no way can be predicted; it names the kernel of the benchmark that provides what is missing.

    Examples
    --------
    >>> from commmodel.machine import Parameter, Segment
    >>> direct = CallCost(
    ...     "device-collective", "bcast", Parameter(9e-6), conditions={"processes": "4", "way": "direct"}
    ... )
    >>> fitted = Machine("m", (Segment("all"),), calls=(direct,))
    >>> [(row.way, row.time.seconds) for row in device_collective(fitted, "bcast", 8, 4)]
    [('direct', 9e-06)]
    """
    size, ranks = whole("message_size", message_size, 1), whole("processes", processes, 1)
    rows = []
    for cost in machine.calls:
        if (cost.kernel, cost.call, cost.conditions.get("processes")) == ("device-collective", operation, str(ranks)):
            predicted = predicted_call(machine, cost, size)
            way: DeviceWay = cost.conditions["way"]  # type: ignore[assignment]  # as the kernel has it
            rows.append(DevicePrediction(way, ranks, predicted.time, {}, predicted.extrapolates))
    rows += _collective_through_host(machine, operation, size, ranks, path, {row.way for row in rows})
    if not rows:
        raise MissingParameterError(
            f"machine {machine.name!r} has no times of {operation} of device memory on {ranks} processes: measure them "
            "with python -m commmodel.bench device collective, where there are GPUs, then fit"
        )
    return tuple(sorted(rows, key=lambda row: row.time.seconds))


def _collective_through_host(
    machine: Machine, operation: DeviceOperation, size: int, ranks: int, path: str | None, measured: set[DeviceWay]
) -> Iterator[DevicePrediction]:
    """Yield the ways through the host that were not measured as a whole."""
    kind = OPERATIONS[operation]
    sent, received = (size * (ranks if blocks == "per-process" else 1) for blocks in (kind.sent, kind.received))
    for way, memory in _MEMORY.items():
        copies = _copies(machine, memory, sent, received)
        if way in measured or copies is None:
            continue
        try:
            between = collective(machine, operation, size, ranks, path=path)
        except MissingParameterError:  # no messages of the host were measured
            return
        yield _through(way, ranks, between.time, copies)


def _shares(cost: CallCost) -> int:
    return int(cost.conditions.get("pairs", "1"))


def _measured(machine: Machine, costs: list[CallCost], size: int, most: int) -> Iterator[DevicePrediction]:
    """Yield the ways that were measured as a whole; by several devices, a part of the message on each."""
    for cost in costs:
        if _shares(cost) <= most:
            predicted = predicted_call(machine, cost, -(-size // _shares(cost)))
            way: DeviceWay = cost.call  # type: ignore[assignment]  # as the kernel has it
            yield DevicePrediction(way, _shares(cost), predicted.time, {}, predicted.extrapolates)


def _through_host(
    machine: Machine, whole_ways: set[tuple[str, int]], size: int, path: str, most: int
) -> Iterator[DevicePrediction]:
    """Yield the ways through the host: those that were not measured as a whole, and those of several processes."""
    counts = sorted({*(1 << power for power in range(most.bit_length())), most})
    for way, memory in _MEMORY.items():
        copies = _copies(machine, memory, size, size)
        if copies is None:
            continue
        for count in counts:
            if (way, count) in whole_ways:
                continue
            try:
                message = send(machine, -(-size // count), processes=count, path=path).time
            except MissingParameterError:  # no message of the host, or none of several processes, was measured
                continue
            yield _through(way, count, message, copies)


def _copies(
    machine: Machine, memory: HostMemory, sent: int, received: int
) -> tuple[CallPrediction, CallPrediction] | None:
    """Return the times of a copy out and a copy in; None where they were not measured."""
    costs = {cost.call: cost for cost in machine.calls
             if cost.kernel == "device-copy" and cost.conditions.get("memory") == memory}  # fmt: skip
    if not {*_COPIES} <= costs.keys():
        return None
    return predicted_call(machine, costs["copy-out"], sent), predicted_call(machine, costs["copy-in"], received)


def _through(
    way: DeviceWay, processes: int, between: Seconds, copies: tuple[CallPrediction, CallPrediction]
) -> DevicePrediction:
    """Return the time of a way through the host, of what is between the hosts and two copies."""
    out, back = copies
    parts = {"copy-out": out.time.seconds, "message": between.seconds, "copy-in": back.time.seconds}
    times = [between, out.time, back.time]
    return DevicePrediction(way, processes, _staged(times), parts, (*out.extrapolates, *back.extrapolates))


def _staged(times: list[Seconds]) -> Seconds:
    """Return the sum of a message and two copies, with an interval where each has one."""

    def total(ends: list[float]) -> float:
        return float(formulas.staged_time.python(*ends))

    lows, highs = ([end for time in times if (end := getattr(time, name)) is not None] for name in ("low", "high"))
    ends = (total(lows), total(highs)) if len(lows) == len(highs) == len(times) else (None, None)
    return Seconds(total([time.seconds for time in times]), *ends)
