"""How to send an array in the memory of a GPU with mpi4py: times of its ways, and the lines to write.

Arrays are CuPy's, Numba's, tensors of torch, or any others that show their memory by ``__cuda_array_interface__``.
Times are those of `commmodel.predict.device_ways`. Main entries: `is_on_device` and `device_message`.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from commmodel.choices import DeviceWay
from commmodel.errors import InputError
from commmodel.machine import Machine
from commmodel.optimize.sending_code import SendCode
from commmodel.predict import Seconds, device_ways
from commmodel.predict.device import device_path
from commmodel.units import format_size

_PACKED = "the copy into one piece on the device, and out of it, is in no time: each way needs it"


class _Package(NamedTuple):
    """Lines of a package; ``{data}`` is the array, ``{whole}`` what is in one piece, ``host`` memory of the host."""

    imports: str
    empty: str
    pack: str
    unpack: str
    wait: str
    """Until nothing is under way on the array's stream: MPI knows of none."""
    pageable: str
    pinned: str
    copy_out: str
    copy_in: str
    host: str = "host"
    """What mpi4py takes of the memory of the host."""


_PACKAGES = {
    "cupy": _Package(
        "import cupy, cupyx",
        "whole = cupy.empty({data}.shape, {data}.dtype)  # once",
        "whole[...] = {data}",
        "{data}[...] = whole",
        "cupy.cuda.get_current_stream().synchronize()",
        "host = np.empty({data}.shape, {data}.dtype)  # once",
        "host = cupyx.empty_pinned({data}.shape, {data}.dtype)  # once",
        "{whole}.get(out=host)",
        "{whole}.set(host)",
    ),
    "numba": _Package(
        "from numba import cuda",
        "",
        "",
        "",
        "cuda.synchronize()",
        "host = np.empty(data.shape, data.dtype)  # once",
        "host = cuda.pinned_array(data.shape, data.dtype)  # once",
        "data.copy_to_host(host)",
        "data.copy_to_device(host)",
    ),
    "torch": _Package(
        "import torch",
        "whole = torch.empty_like(data, memory_format=torch.contiguous_format)  # once",
        "whole.copy_(data)",
        "data.copy_(whole)",
        "torch.cuda.current_stream().synchronize()",
        "host = torch.empty(data.shape, dtype=data.dtype)  # once",
        "host = torch.empty(data.shape, dtype=data.dtype, pin_memory=True)  # once",
        "host.copy_({whole})",
        "{whole}.copy_(host)",
        "host.numpy()",
    ),
}
"""Package of an array -> its lines. Numba copies no strided arrays: CuPy's lines do, as those of all other packages."""


class DeviceData(NamedTuple):
    """An array in device memory: in words, its bytes, and how it lies."""

    content: str
    message_size: int
    package: str
    is_whole: bool
    """Whether it lies in one piece, in C order."""
    is_view: bool
    """Whether it is looked at through CuPy."""

    def code(self, way: DeviceWay) -> SendCode:
        """Return the lines by which it is sent, and received into an array of the same kind."""
        lines = _PACKAGES[self.package]
        names = {"data": "view" if self.is_view else "data"}
        names["whole"] = names["data"] if self.is_whole else "whole"
        once = [lines.imports, *(["view = cupy.asarray(data)  # once"] if self.is_view else [])]
        pack, unpack = ([], []) if self.is_whole else ([lines.pack], [lines.unpack])
        once += [] if self.is_whole else [lines.empty]
        if way == "direct":
            buffer = f"[{names['whole']}, MPI.BYTE]"
            sender = [*pack, lines.wait, f"comm.Send({buffer}, peer, tag)"]
            receiver = [lines.wait, f"comm.Recv({buffer}, peer, tag)", *unpack]
        else:
            buffer = f"[{lines.host}, MPI.BYTE]"
            once.append(lines.pinned if way == "pinned" else lines.pageable)
            sender = [*pack, lines.copy_out, f"comm.Send({buffer}, peer, tag)"]
            receiver = [f"comm.Recv({buffer}, peer, tag)", lines.copy_in, *unpack]
        return SendCode(*("\n".join(line.format(**names) for line in (*once, *part)) for part in (sender, receiver)))


class DeviceTimes(NamedTuple):
    """The times of the ways of an array in device memory, the fastest first, and what limits them."""

    path: str
    times: tuple[tuple[DeviceWay, Seconds], ...]
    remarks: tuple[str, ...]


def is_on_device(data: Any) -> bool:
    """Return whether an object is an array in device memory.

    Raises
    ------
    InputError
        Where it has such memory, but does not show it.
    """
    return _interface(data) is not None


def _interface(data: Any) -> Any:
    """Return how an array shows its device memory; None where it has none."""
    if type(data).__module__.startswith("numba.cuda.simulator"):  # which keeps it in the host's
        return {"shape": data.shape, "typestr": data.dtype.str, "strides": data.strides}
    try:
        return data.__cuda_array_interface__
    except AttributeError:  # such as a tensor of torch in the memory of the host
        return None
    except Exception as error:  # such as one that torch keeps a record of for derivatives
        reason = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        raise InputError(
            f"data is {type(data).__name__}: it does not show its device memory ({reason})", "data"
        ) from None


def device_data(data: Any) -> DeviceData:
    """Describe an array in device memory.

    Raises
    ------
    InputError
        Where its ``__cuda_array_interface__`` is none, or it has no elements.

    Examples
    --------
    >>> class Column:
    ...     __cuda_array_interface__ = {"shape": (1000,), "typestr": "<f8", "strides": (512,), "data": (0, False)}
    >>> device_data(Column()).content
    'float64 array of 1000 on a device, not in one piece, 8000 B'
    """
    interface, name = _interface(data), type(data).__name__
    try:
        shape, kind = tuple(map(int, interface["shape"])), np.dtype(interface["typestr"])
        strides = None if interface.get("strides") is None else tuple(map(int, interface["strides"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise InputError(f"data is {name}: its __cuda_array_interface__ cannot be read ({problem})", "data") from None
    if interface.get("mask") is not None:
        raise InputError(f"data is {name}: it is masked: send its data and its mask", "data")
    size = kind.itemsize * math.prod(shape)
    if size <= 0:
        raise InputError(f"data is {name} without elements: nothing is sent", "data")
    is_whole = strides is None or _is_whole(shape, strides, kind.itemsize)
    root = type(data).__module__.partition(".")[0]
    package = root if root in _PACKAGES and (is_whole or root != "numba") else "cupy"
    words = f"{kind} array of {' × '.join(map(str, shape)) or 'one number'} on a device"
    content = f"{words}, {'' if is_whole else 'not in one piece, '}{format_size(size)}"
    return DeviceData(content, size, package, is_whole, package != root)


def _is_whole(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """Return whether elements follow each other, the last axis innermost."""
    span = itemsize
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length != 1 and stride != span:
            return False
        span *= length
    return True


def device_message(data: DeviceData, machine: Machine, path: str | None) -> DeviceTimes:
    """Return the times of the ways to send an array in device memory.

    Raises
    ------
    MissingParameterError
        Where the machine has no times of device memory; it names the kernel that provides them.
    """
    ways = device_ways(machine, data.message_size, path=path)
    remarks = [] if data.is_whole else [_PACKED]
    if all(row.way != "direct" for row in ways):
        remarks.append("direct was not measured: it may be that the MPI library takes no device memory")
    remarks += dict.fromkeys(line for row in ways for line in row.extrapolates)
    return DeviceTimes(device_path(machine, path), tuple((row.way, row.time) for row in ways), tuple(remarks))
