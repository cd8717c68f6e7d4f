"""The loops that `compare.py` compares: the same ping-pong in C (twice), in the compiled core, and in Python.

All run in one process over one communicator and one pair of buffers, so that nothing differs but the loop.
The C loop comes in two copies of one machine code: what their times differ by is what this machine cannot
tell apart. "mpi4py" is what a plain benchmark in Python does: ``comm.Send`` and ``comm.Recv`` of a numpy
buffer between two calls of ``MPI.Wtime``; reading that clock is part of what it costs. Main entry: `every`.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from commmodel._core import pingpong
from commmodel.bench.clock import kind_number
from commmodel.errors import InputError, MPIEnvironmentError
from commmodel.results import Clock

__all__ = ["DESCRIPTIONS", "Loop", "Pair", "every"]

Loop = Callable[[int, int], NDArray[np.float64]]
"""(size, repetitions) -> seconds of one message in each repetition."""

DESCRIPTIONS = {
    "c_a": "bench_c/pingpong.c, copy A",
    "c_b": "bench_c/pingpong.c, copy B: the control",
    "cython": "commmodel._core.pingpong",
    "mpi4py": "comm.Send and comm.Recv of a numpy buffer in Python, between two calls of MPI.Wtime",
}
_TAG = 1


@dataclass(frozen=True)
class Pair:
    """What every loop is given: the two ranks, their buffers and clock, and the exchanges in a repetition."""

    comm: MPI.Intracomm
    send_buffer: NDArray[np.uint8]
    receive_buffer: NDArray[np.uint8]
    batch: int
    clock: Clock

    @property
    def first(self) -> bool:
        """Whether this rank sends first."""
        return self.comm.rank == 0

    @property
    def peer(self) -> int:
        """The other rank."""
        return 1 - self.comm.rank

    def seconds(self, ticks: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Convert a repetition's ticks to the time of one message."""
        return ticks / (2 * self.batch * self.clock.frequency)


def _open(path: Path) -> ctypes.CDLL:
    if not path.is_file():
        raise InputError(f"{path} is missing: build it with make -C bench_c MPICC=mpicc")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise MPIEnvironmentError(f"{path} cannot be loaded: {error}") from None
    if not library.library_is_started():
        raise MPIEnvironmentError(
            f"{path} has loaded another MPI library than mpi4py's: build it with that library's mpicc"
        )
    library.pingpong.argtypes = [
        ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int,
        ctypes.c_ssize_t, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p,
    ]  # fmt: skip
    return library


def _c_loop(pair: Pair, path: Path) -> Loop:
    library = _open(path)
    clock = kind_number(pair.clock)

    def loop(size: int, repetitions: int) -> NDArray[np.float64]:
        ticks = np.empty(repetitions, dtype=np.uint64)
        code = library.pingpong(
            MPI._addressof(pair.comm), pair.peer, pair.first, pair.send_buffer.ctypes.data,
            pair.receive_buffer.ctypes.data, size, repetitions, pair.batch, clock, ticks.ctypes.data,
        )  # fmt: skip
        if code != MPI.SUCCESS:
            raise MPI.Exception(code)
        return pair.seconds(ticks)

    return loop


def _cython_loop(pair: Pair) -> Loop:
    clock = kind_number(pair.clock)

    def loop(size: int, repetitions: int) -> NDArray[np.float64]:
        ticks = pingpong.pingpong(
            pair.comm, pair.peer, pair.first, pair.send_buffer, pair.receive_buffer, size, repetitions,
            pair.batch, clock,
        )  # fmt: skip
        return pair.seconds(ticks)

    return loop


def _mpi4py_loop(pair: Pair) -> Loop:
    send, receive, wtime = pair.comm.Send, pair.comm.Recv, MPI.Wtime
    peer, exchanges = pair.peer, range(pair.batch)

    def loop(size: int, repetitions: int) -> NDArray[np.float64]:
        outgoing, incoming = [pair.send_buffer[:size], MPI.BYTE], [pair.receive_buffer[:size], MPI.BYTE]
        seconds = np.empty(repetitions)
        if pair.first:
            for repetition in range(repetitions):
                begin = wtime()
                for _ in exchanges:
                    send(outgoing, peer, _TAG)
                    receive(incoming, peer, _TAG)
                seconds[repetition] = wtime() - begin
        else:
            for repetition in range(repetitions):
                begin = wtime()
                for _ in exchanges:
                    receive(incoming, peer, _TAG)
                    send(outgoing, peer, _TAG)
                seconds[repetition] = wtime() - begin
        return seconds / (2 * pair.batch)

    return loop


def every(pair: Pair, build: Path) -> dict[str, Loop]:
    """Return the loops by name, the base of all ratios first; `build` holds the shared objects."""
    return {
        "c_a": _c_loop(pair, build / "libpingpong_a.so"),
        "c_b": _c_loop(pair, build / "libpingpong_b.so"),
        "cython": _cython_loop(pair),
        "mpi4py": _mpi4py_loop(pair),
    }
