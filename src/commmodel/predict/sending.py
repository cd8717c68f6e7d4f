"""Predicted time of data in pieces and of Python objects by each way to send them.

Main entries: `pieces` and `python_object`.

The formula is that of `commmodel.models.pieces`, its parameters are measured by the kernels datatype and object.
"""

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta

from commmodel.choices import DataLayout, ObjectKind, ObjectWay, PieceWay
from commmodel.errors import MissingParameterError
from commmodel.machine import Machine, MeasuredTimes, PieceCosts, Sending
from commmodel.machine.description import usual_path
from commmodel.models import pieces as model
from commmodel.predict.seconds import Seconds, with_scatter
from commmodel.signatures import checked

SomeBytes = Annotated[int, Meta(ge=1)]
_LIKE: dict[DataLayout, tuple[DataLayout, ...]] = {
    "vector": ("vector", "subarray", "struct", "indexed"),
    "subarray": ("subarray", "vector", "struct", "indexed"),
    "struct": ("struct", "vector", "subarray", "indexed"),
    "indexed": ("indexed", "struct", "vector", "subarray"),
}
"""Layout -> layouts, that which is most like it first."""


def of_path(machine: Machine, path: str | None = None) -> Sending:
    """Return the times of ways to send on a path; raise `MissingParameterError` where the machine has none."""
    by_path = {sending.path: sending for sending in machine.sending}
    sending = by_path.get(usual_path(by_path, path)) or by_path.get("any")
    if sending is None:
        of = f" of path {path!r} (it has {', '.join(by_path)})" if by_path else ""
        raise MissingParameterError(
            f"machine {machine.name!r} has no times of ways to send{of}: measure them with python -m commmodel.bench "
            "datatype object, then fit"
        )
    return sending


@checked
def pieces(
    machine: Machine,
    message_size: SomeBytes,
    block: SomeBytes,
    *,
    layout: DataLayout = "vector",
    way: PieceWay = "type",
    path: str | None = None,
    stride: SomeBytes | None = None,
) -> Seconds:
    """Return the time of a message of data in pieces, with gathering and scattering them.

    Parameters
    ----------
    machine : Machine
        With times of the kernel ``datatype``.
    message_size : int
        n, bytes of all pieces together, ≥ 1.
    block : int
        b, bytes of a piece, ≥ 1.
    layout : str
        How the pieces lie; a layout that was not measured takes what the one most like it does.
    way : str
        How they are sent; ``contiguous``: as many bytes in one piece.
    path : str, optional
        ``between-nodes`` where the machine has it and nothing else is said.
    stride : int, optional
        Bytes between the begins of pieces, ≥ 1; twice their length where nothing is said. Costs are interpolated
        linearly over its logarithm between the strides that were measured; beyond them they are those of the nearest.

    Raises
    ------
    MissingParameterError
        Where the machine has no times of this way; it names the kernel that provides them.

    Examples
    --------
    >>> from commmodel.machine import MeasuredTimes, Segment
    >>> costs = PieceCosts("vector", "type", (1024,), (8,), ((2e-9,),))
    >>> fitted = Machine("m", (Segment("all"),), sending=(Sending("any", MeasuredTimes((1024,), (1e-6,)), (costs,)),))
    >>> round(1e6 * pieces(fitted, 1024, 8).seconds, 3)
    3.048
    """
    sending = of_path(machine, path)
    if sending.contiguous is None:
        raise _missing(machine, "data in pieces", "datatype")
    floor = _measured(sending.contiguous, message_size, machine)
    if way == "contiguous":
        return floor
    costs = _costs(sending, layout, way)
    if not costs:
        raise _missing(machine, f"data in pieces sent by {way}", f"datatype --ways contiguous,{way}")
    seconds = model.time(floor.seconds, message_size, _byte_time(costs, message_size, block, stride or 2 * block))
    return with_scatter(Seconds(seconds, seconds, seconds), max(row.scatter for row in costs), machine.confidence)


@checked
def python_object(
    machine: Machine, message_size: SomeBytes, kind: ObjectKind, way: ObjectWay = "pickle", *, path: str | None = None
) -> Seconds:
    """Return the time of a Python object, with what pickles it and makes it again.

    Parameters
    ----------
    machine : Machine
        With times of the kernel ``object``.
    message_size : int
        About the bytes that it has pickled, ≥ 1.
    kind, way : str
        What it is, and how it is sent.
    path : str, optional
        As of `pieces`.

    Raises
    ------
    MissingParameterError
        Where the machine has no times of this kind and way; it names the kernel that provides them.

    Examples
    --------
    >>> from commmodel.machine import MeasuredTimes, ObjectTimes, Segment
    >>> times = ObjectTimes("dict", "pickle", MeasuredTimes((1024,), (1e-5,)))
    >>> fitted = Machine("m", (Segment("all"),), sending=(Sending("any", objects=(times,)),))
    >>> round(1e6 * python_object(fitted, 2048, "dict").seconds, 3)
    20.0
    """
    for row in of_path(machine, path).objects:
        if (row.kind, row.way) == (kind, way):
            time = _measured(row.times, message_size, machine)
            return with_scatter(time, row.scatter, machine.confidence)
    raise _missing(machine, f"objects of kind {kind} sent by {way}", f"object --kinds {kind} --ways {way}")


def _costs(sending: Sending, layout: DataLayout, way: PieceWay) -> Sequence[PieceCosts]:
    """Return what a way costs at each measured stride, of the layout most like the given one."""
    rows = [costs for costs in sending.pieces if costs.way == way]
    like = min(rows, key=lambda costs: _LIKE[layout].index(costs.layout), default=None)
    return [] if like is None else [costs for costs in rows if costs.layout == like.layout]


def _byte_time(costs: Sequence[PieceCosts], message_size: int, block: int, stride: int) -> float:
    """Return the seconds a byte, interpolated over the logarithm of the stride."""
    by_stride = {row.stride or 2 * block: row for row in costs if row.stride is None or row.stride > 2 * block}
    strides = sorted(by_stride) or [2 * block]
    values = [by_stride.get(apart, costs[0]).at(message_size, block) for apart in strides]
    return float(np.interp(math.log(stride), list(map(math.log, strides)), values))


def _measured(times: MeasuredTimes, message_size: float, machine: Machine) -> Seconds:
    seconds = times.at(message_size)
    if machine.confidence is None:
        return Seconds(seconds)
    low, high = times.at(message_size, "low"), times.at(message_size, "high")
    return Seconds(seconds, min(low, seconds), max(high, seconds))


def _missing(machine: Machine, content: str, kernel: str) -> MissingParameterError:
    return MissingParameterError(
        f"machine {machine.name!r} has no times of {content}: measure them with python -m commmodel.bench {kernel}, "
        "then fit"
    )
