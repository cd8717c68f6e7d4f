"""Memory of an accelerator, by CuPy or by Numba's interface to CUDA. Main entries: `use` and `current`.

Neither is loaded before a kernel asks for a device. Copies are on a stream of their own, and are done when they return.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from commmodel.errors import MPIEnvironmentError

Bytes8 = NDArray[np.uint8]


class Accelerator(Protocol):
    """The device that this process uses.

    Attributes
    ----------
    name : str
        Of the device and of the package that reaches it.
    """

    name: str

    def device_array(self, size: int) -> Any:
        """Return so many bytes of device memory, all 0, as an array that mpi4py takes."""

    def pinned_array(self, size: int) -> Bytes8:
        """Return so many bytes of page-locked host memory."""

    def copy_out(self, device: Any, host: Bytes8) -> None:
        """Copy device memory to host memory of the same size, and wait until that is done."""

    def copy_in(self, host: Bytes8, device: Any) -> None:
        """Copy host memory to device memory of the same size, and wait until that is done."""

    def synchronise(self) -> None:
        """Wait until nothing is under way on the device."""


class CupyDevice:
    """A device by CuPy, of CUDA or of ROCm."""

    def __init__(self, rank: int) -> None:
        import cupy

        self._cupy = cupy
        number = _number(rank, cupy.cuda.runtime.getDeviceCount())
        cupy.cuda.Device(number).use()
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self.name = f"{_text(cupy.cuda.runtime.getDeviceProperties(number)['name'])} by CuPy {cupy.__version__}"

    def device_array(self, size: int) -> Any:
        """Return so many bytes of device memory, all 0."""
        array = self._cupy.zeros(size, np.uint8)
        self.synchronise()  # they are set on another stream
        return array

    def pinned_array(self, size: int) -> Bytes8:
        """Return so many bytes of page-locked host memory."""
        return np.frombuffer(self._cupy.cuda.alloc_pinned_memory(size), np.uint8, size)

    def copy_out(self, device: Any, host: Bytes8) -> None:
        """Copy device memory to host memory of the same size, and wait until that is done."""
        device.get(stream=self._stream, out=host)
        self._stream.synchronize()

    def copy_in(self, host: Bytes8, device: Any) -> None:
        """Copy host memory to device memory of the same size, and wait until that is done."""
        device.set(host, stream=self._stream)
        self._stream.synchronize()

    def synchronise(self) -> None:
        """Wait until nothing is under way on the device."""
        self._cupy.cuda.runtime.deviceSynchronize()


class NumbaDevice:
    """A device of CUDA by Numba, or with NUMBA_ENABLE_CUDASIM=1 its simulator, whose memory is the host's."""

    def __init__(self, rank: int) -> None:
        import numba
        from numba import cuda

        self._cuda = cuda
        cuda.select_device(_number(rank, len(cuda.gpus)))
        self._stream = cuda.stream()
        name = getattr(cuda.current_context().device, "name", "CUDA simulator")
        self.name = f"{_text(name)} by Numba {numba.__version__}"

    def device_array(self, size: int) -> Any:
        """Return so many bytes of device memory, all 0."""
        return self._cuda.to_device(np.zeros(size, np.uint8))

    def pinned_array(self, size: int) -> Bytes8:
        """Return so many bytes of page-locked host memory."""
        array: Bytes8 = self._cuda.pinned_array(size, np.uint8)
        return array

    def copy_out(self, device: Any, host: Bytes8) -> None:
        """Copy device memory to host memory of the same size, and wait until that is done."""
        device.copy_to_host(host, self._stream)
        self._stream.synchronize()

    def copy_in(self, host: Bytes8, device: Any) -> None:
        """Copy host memory to device memory of the same size, and wait until that is done."""
        device.copy_to_device(host, self._stream)
        self._stream.synchronize()

    def synchronise(self) -> None:
        """Wait until nothing is under way on the device."""
        self._cuda.synchronize()


_PACKAGES: Sequence[tuple[str, Callable[[int], Accelerator]]] = (("CuPy", CupyDevice), ("Numba", NumbaDevice))
_DEVICES: list[Accelerator] = []
"""The device that this process uses, once it has chosen one, as CUDA itself has a current device."""


def use(rank: int) -> Accelerator:
    """Choose the device of a process, by its rank on its node, with the first package that reaches one.

    Raises
    ------
    MPIEnvironmentError
        Where there is no device, or no package that reaches it; says what each package said.
    """
    problems = []
    for package, device in _PACKAGES:
        try:
            _DEVICES[:] = [device(rank)]
        except Exception as error:  # each package has errors of its own
            problems.append(f"{package}: {_first_line(error)}")
        else:
            return _DEVICES[0]
    raise MPIEnvironmentError(
        f"no accelerator can be used ({'; '.join(problems)}): start the ranks where there is a GPU and its driver, "
        "with CuPy installed unless it is of CUDA, or leave the kernel device out"
    )


def _number(rank: int, count: int) -> int:
    """Return the number of the device of a rank of a node with so many devices."""
    if not count:
        raise RuntimeError("no device")
    return rank % count


def _text(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)


def _first_line(error: BaseException) -> str:
    """Return the first line of an error that is no title of others."""
    lines = (line.strip() for line in str(error).splitlines())
    return next((line.rstrip(".") for line in lines if line and not line.endswith(":")), type(error).__name__)


def current() -> Accelerator:
    """Return the device that `use` has chosen."""
    return _DEVICES[0]
