"""The loops that `compare.py` compares: the same one in C (twice), in the compiled core, and a ping-pong in Python.

All run in one process over one communicator and one pair of buffers, so that nothing differs but the loop.
The C loop comes in two copies of one machine code: what their times differ by is what this machine cannot
tell apart. "mpi4py" is what a plain benchmark in Python does: ``comm.Send`` and ``comm.Recv`` of a numpy
buffer between two calls of ``MPI.Wtime``; reading that clock is part of what it costs. Main entry: `CONTESTS`.
"""

import atexit
import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from commmodel._core.mpi import datatype, matching, one_sided, persistent, pingpong, threads, trains
from commmodel.bench.clock import kind_number
from commmodel.bench.kernels.datatype import layout_of
from commmodel.bench.kernels.kernel import stride
from commmodel.errors import InputError, MPIEnvironmentError
from commmodel.results import Clock
from commmodel.results.configurations import Datatype

__all__ = ["CONTESTS", "Contest", "Loop", "Pair"]

Loop = Callable[[int, int], NDArray[np.float64]]
"""(size, repetitions) -> seconds of one message in each repetition."""

_TAG = 1
_BEHIND = 64  # entries of a queue, as requests.h has them
_THREADS, _THREAD_WINDOW = 2, 64  # as threads.h has them
_NUMBER, _NUMBER_STRIDE = 8, 16  # bytes of a column, as pieces.h has them
_ANSWER = 1  # bytes, as the kernel loggp has it


@dataclass(frozen=True)
class Pair:
    """What every loop is given: the two ranks, their buffers and clock, and what a repetition has.

    `batch` is its exchanges, or the messages of its train; `messages` what its time is divided by.
    """

    comm: MPI.Intracomm
    send_buffer: NDArray[np.uint8]
    receive_buffer: NDArray[np.uint8]
    batch: int
    messages: int
    clock: Clock

    @property
    def first(self) -> bool:
        """Whether this rank sends first."""
        return self.comm.rank == 0

    @property
    def peer(self) -> int:
        """The other rank."""
        return 1 - self.comm.rank

    @property
    def own_buffer(self) -> NDArray[np.uint8]:
        """The one buffer that a rank needs for a train."""
        return self.send_buffer if self.first else self.receive_buffer

    def seconds(self, ticks: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Convert a repetition's ticks to the time of one message."""
        return ticks / (self.messages * self.clock.frequency)


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
    library.touched_pingpong.argtypes = [
        ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_ssize_t, ctypes.c_ssize_t,
        ctypes.c_int, ctypes.c_void_p,
    ]  # fmt: skip
    for train in (library.blocking_train, library.immediate_train):
        train.argtypes = [
            ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_ssize_t,
            ctypes.c_int, ctypes.c_uint64, ctypes.c_int, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p,
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


def _c_touched_loop(pair: Pair, path: Path) -> Loop:
    library = _open(path)
    clock = kind_number(pair.clock)

    def loop(size: int, repetitions: int) -> NDArray[np.float64]:
        ticks = np.empty(repetitions, dtype=np.uint64)
        code = library.touched_pingpong(
            MPI._addressof(pair.comm), pair.peer, pair.first, pair.send_buffer.ctypes.data, size, repetitions,
            pair.batch, clock, ticks.ctypes.data,
        )  # fmt: skip
        if code != MPI.SUCCESS:
            raise MPI.Exception(code)
        return pair.seconds(ticks)

    return loop


def _cython_loop(pair: Pair, touched: bool = False) -> Loop:
    clock = kind_number(pair.clock)

    def loop(size: int, repetitions: int) -> NDArray[np.float64]:
        ticks = pingpong.pingpong(
            pair.comm, pair.peer, pair.first, pair.send_buffer, pair.receive_buffer, size, repetitions,
            pair.batch, clock, touched,
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


def _c_train(pair: Pair, path: Path, name: str) -> Loop:
    train = getattr(_open(path), name)
    clock = kind_number(pair.clock)

    def loop(size: int, repetitions: int) -> NDArray[np.float64]:
        ticks = np.empty(repetitions, dtype=np.uint64)
        code = train(
            MPI._addressof(pair.comm), pair.peer, pair.first, pair.own_buffer.ctypes.data, size, stride(size),
            pair.batch, 0, _ANSWER, repetitions, clock, ticks.ctypes.data,
        )  # fmt: skip
        if code != MPI.SUCCESS:
            raise MPI.Exception(code)
        return pair.seconds(ticks)

    return loop


def _cython_train(pair: Pair, name: str) -> Loop:
    train = getattr(trains, name)
    clock = kind_number(pair.clock)

    def loop(size: int, repetitions: int) -> NDArray[np.float64]:
        ticks = train(
            pair.comm, pair.peer, pair.first, pair.own_buffer, size, stride(size), pair.batch, 0, _ANSWER,
            repetitions, clock,
        )  # fmt: skip
        return pair.seconds(ticks)

    return loop


@dataclass(frozen=True)
class Contest:
    """A loop: at which sizes it is compared unless told otherwise, what a repetition has, and who takes part."""

    sizes: str
    batch: int
    messages: int
    """That follow each other in an exchange: there and back are two, the messages of a train are one each."""
    loops: Callable[[Pair, Path], dict[str, Loop]]
    """(what they are given, the folder of the shared objects) -> by name, the base of all ratios first."""
    descriptions: dict[str, str]
    room: int = 1
    """Messages that each buffer has room for."""


def _c_calls(pair: Pair, path: Path, name: str, before: Sequence[object], divisor: int) -> Loop:
    """Return a C function of (`before`, size, repetitions, clock, ticks) as a loop; addresses are `c_void_p`."""
    function = getattr(_open(path), name)
    clock = kind_number(pair.clock)

    def loop(size: int, repetitions: int) -> NDArray[np.float64]:
        ticks = np.zeros(repetitions, dtype=np.uint64)
        place = ctypes.c_void_p(ticks.ctypes.data)
        code = function(*before, ctypes.c_int(size), ctypes.c_ssize_t(repetitions), ctypes.c_int(clock), place)
        if code != MPI.SUCCESS:
            raise MPI.Exception(code)
        return _of_first(pair, ticks, divisor)

    return loop


def _of_first(pair: Pair, ticks: NDArray[np.uint64], divisor: int) -> NDArray[np.float64]:
    """Return the times of the rank that is timed; of the other, which has none, ones."""
    return pair.seconds(ticks) / divisor if pair.first else np.ones(ticks.size)


def _address(thing: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(thing.ctypes.data if isinstance(thing, np.ndarray) else MPI._addressof(thing))


def _contest_of_one_sided(operation: str, synchronisation: str, turns: int) -> Contest:
    name = f"{operation}_{synchronisation}"

    def loops(pair: Pair, build: Path) -> dict[str, Loop]:
        window = MPI.Win.Allocate(pair.send_buffer.size, comm=pair.comm)
        atexit.register(window.Free)
        buffers = pair.send_buffer, pair.receive_buffer
        handles = _address(pair.comm), _address(window), ctypes.c_int(pair.peer), ctypes.c_int(pair.first)
        before = (*handles, *map(_address, buffers))

        def cython(size: int, repetitions: int) -> NDArray[np.float64]:
            ticks = one_sided.accesses(
                pair.comm, window, pair.peer, pair.first, operation, synchronisation, *buffers, size, repetitions,
                kind_number(pair.clock),
            )  # fmt: skip
            return _of_first(pair, ticks, turns)

        c_loops = {f"c_{copy}": _c_calls(pair, build / f"libloops_{copy}.so", name, before, turns) for copy in "ab"}
        return {**c_loops, "cython": cython}

    return Contest("8,1KiB,64KiB", 1, 1, loops, _descriptions(name, "one_sided", "one_sided.accesses"))


_Core = Callable[[Pair, int, int], NDArray[np.uint64]]
"""(what it is given, size, repetitions) -> ticks of each repetition."""


def _contest_of_requests(
    name: str,
    core: str,
    divisor: int,
    cython: _Core,
    sizes: str = "8,1KiB,64KiB",
    file: str = "requests",
    room: int = 1,
) -> Contest:
    def loops(pair: Pair, build: Path) -> dict[str, Loop]:
        if file == "threads" and MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            raise MPIEnvironmentError(f"{name}: MPI lets one thread call it: set MPI4PY_RC_THREAD_LEVEL=multiple")
        ends = ctypes.c_int(pair.peer), ctypes.c_int(pair.first)
        before = (_address(pair.comm), *ends, *map(_address, (pair.send_buffer, pair.receive_buffer)))

        def loop(size: int, repetitions: int) -> NDArray[np.float64]:
            return _of_first(pair, cython(pair, size, repetitions), divisor)

        c_loops = {f"c_{copy}": _c_calls(pair, build / f"libloops_{copy}.so", name, before, divisor) for copy in "ab"}
        return {**c_loops, "cython": loop}

    return Contest(sizes, 1, 1, loops, _descriptions(name, file, core), room)


def _persistent(pair: Pair, size: int, repetitions: int) -> NDArray[np.uint64]:
    ends = pair.comm, pair.peer, pair.first, pair.send_buffer, pair.receive_buffer
    ticks: NDArray[np.uint64] = persistent.round_trips(
        *ends, size, "persistent", 1, repetitions, kind_number(pair.clock)
    )
    return ticks


def _behind_others(loop: Callable[..., NDArray[np.uint64]]) -> _Core:
    def ticks(pair: Pair, size: int, repetitions: int) -> NDArray[np.uint64]:
        buffer = pair.receive_buffer if pair.first else pair.send_buffer
        return loop(pair.comm, pair.peer, pair.first, buffer, size, _BEHIND, repetitions, kind_number(pair.clock))

    return ticks


def _persistent_allreduce(pair: Pair, size: int, repetitions: int) -> NDArray[np.uint64]:
    ticks: NDArray[np.uint64] = persistent.collectives(
        pair.comm, "allreduce", "persistent", pair.send_buffer, pair.receive_buffer, size, repetitions,
        kind_number(pair.clock),
    )  # fmt: skip
    return ticks


def _column(way: str) -> _Core:
    """Return the loop of a column by a way to send data in pieces."""

    def ticks(pair: Pair, size: int, repetitions: int) -> NDArray[np.uint64]:
        if size < _NUMBER or size % _NUMBER:
            raise InputError(f"--sizes: a column has whole numbers of {_NUMBER} bytes, not {size} bytes")
        column = Datatype(size, "vector", _NUMBER, way, "any", _NUMBER_STRIDE)
        layout = layout_of(column)
        try:
            times: NDArray[np.uint64] = datatype.exchange(
                pair.comm, pair.peer, pair.first, way, pair.send_buffer, pair.receive_buffer, layout,
                [(None, None)] * 2, repetitions, kind_number(pair.clock),
            )  # fmt: skip
        finally:
            layout.datatype.Free()
        return times

    return ticks


def _threads(window: int) -> _Core:
    def ticks(pair: Pair, size: int, repetitions: int) -> NDArray[np.uint64]:
        times: NDArray[np.uint64] = threads.exchanges(
            pair.comm, pair.peer, pair.first, pair.receive_buffer, size, stride(size), _THREADS, window, repetitions, 1,
            kind_number(pair.clock),
        )  # fmt: skip
        return times

    return ticks


def _descriptions(name: str, file: str, core: str) -> dict[str, str]:
    return {
        "c_a": f"{name} of bench_c/{file}.c, copy A",
        "c_b": f"{name} of bench_c/{file}.c, copy B: the control",
        "cython": f"commmodel._core.mpi.{core}",
    }


def _ping_pongs(pair: Pair, build: Path) -> dict[str, Loop]:
    return {
        "c_a": _c_loop(pair, build / "libloops_a.so"),
        "c_b": _c_loop(pair, build / "libloops_b.so"),
        "cython": _cython_loop(pair),
        "mpi4py": _mpi4py_loop(pair),
    }


def _touched_ping_pongs(pair: Pair, build: Path) -> dict[str, Loop]:
    return {
        "c_a": _c_touched_loop(pair, build / "libloops_a.so"),
        "c_b": _c_touched_loop(pair, build / "libloops_b.so"),
        "cython": _cython_loop(pair, touched=True),
    }


def _contest_of_trains(name: str) -> Contest:
    def loops(pair: Pair, build: Path) -> dict[str, Loop]:
        return {
            "c_a": _c_train(pair, build / "libloops_a.so", name),
            "c_b": _c_train(pair, build / "libloops_b.so", name),
            "cython": _cython_train(pair, name),
        }

    return Contest("1,1KiB,64KiB", 16, 1, loops, _descriptions(name, "trains", f"trains.{name}"))


_OF_PIECES, _OF_THREADS = "1KiB,64KiB,1MiB", "8,1KiB"
_ROOM_OF_PIECES = 1 + _NUMBER_STRIDE // _NUMBER  # packed, and where they lie
CONTESTS = {
    "pingpong": Contest(
        "1,1KiB,8KiB,64KiB,1MiB",
        1,
        2,
        _ping_pongs,
        {
            "c_a": "bench_c/pingpong.c, copy A",
            "c_b": "bench_c/pingpong.c, copy B: the control",
            "cython": "commmodel._core.mpi.pingpong",
            "mpi4py": "comm.Send and comm.Recv of a numpy buffer in Python, between two calls of MPI.Wtime",
        },
    ),
    "touched-pingpong": Contest(
        "1,1KiB,8KiB,64KiB,1MiB",
        1,
        2,
        _touched_ping_pongs,
        {
            "c_a": "touched_pingpong of bench_c/pingpong.c, copy A",
            "c_b": "touched_pingpong of bench_c/pingpong.c, copy B: the control",
            "cython": "commmodel._core.mpi.pingpong, touched",
        },
    ),
    "blocking-train": _contest_of_trains("blocking_train"),
    "immediate-train": _contest_of_trains("immediate_train"),
    "persistent": _contest_of_requests("persistent_pingpong", "persistent.round_trips", 2, _persistent),
    "persistent-allreduce": _contest_of_requests(
        "persistent_allreduce", "persistent.collectives", 1, _persistent_allreduce
    ),
    "posted": _contest_of_requests("posted_receive", "matching.posted", 1, _behind_others(matching.posted)),
    "unexpected": _contest_of_requests(
        "unexpected_message", "matching.unexpected", 1, _behind_others(matching.unexpected)
    ),
    "column-type": _contest_of_requests(
        "typed_pingpong", "datatype.exchange", 2, _column("type"), _OF_PIECES, "pieces", _ROOM_OF_PIECES
    ),
    "column-pack": _contest_of_requests(
        "packed_pingpong", "datatype.exchange", 2, _column("pack"), _OF_PIECES, "pieces", _ROOM_OF_PIECES
    ),
    "threads": _contest_of_requests(
        "threads_pingpong", "threads.exchanges", 2, _threads(1), _OF_THREADS, "threads", 2 * _THREADS
    ),
    "threads-window": _contest_of_requests(
        "threads_window",
        "threads.exchanges",
        _THREAD_WINDOW,
        _threads(_THREAD_WINDOW),
        _OF_THREADS,
        "threads",
        (1 + _THREAD_WINDOW) * _THREADS,
    ),
    "put-flush": _contest_of_one_sided("put", "flush", 1),
    "accumulate-lock": _contest_of_one_sided("accumulate", "lock", 1),
    "get-fence": _contest_of_one_sided("get", "fence", 2),
}
"""Name of a loop -> what is compared."""
