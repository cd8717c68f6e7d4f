"""Latency of one-sided operations with their completion, as the OSU tests ``osu_put_latency`` and its like have it.

The first rank of a pair works on a window of the second; with fence and post-start they take turns. Nothing is touched
between repetitions, as what was put may be looked at only after another synchronisation. Main entry: `KERNELS`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import TYPE_CHECKING, get_args

from commmodel.bench.kernels.kernel import Effort, Floats, Kernel, Room, sampled, stride
from commmodel.bench.option import Option, list_of
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.bench.windows import check_one_sided, free_window
from commmodel.results import BenchOptions, Clock, Configuration, Record
from commmodel.results.configurations import OneSided, Synchronisation, WindowMemory, WindowOperation
from commmodel.units import format_size

if TYPE_CHECKING:
    from mpi4py import MPI

_ATOMIC: tuple[WindowOperation, ...] = ("fetch-and-op", "compare-and-swap")
_COMBINING: tuple[WindowOperation, ...] = ("accumulate", "get-accumulate")
_IN_TURNS: tuple[Synchronisation, ...] = ("fence", "post-start")
_ATOMIC_BYTES = 8
_MOST_ELEMENTS = 2**31 - 1  # that an int counts, of one byte each where they are no floats


def _sizes(operation: WindowOperation, options: BenchOptions) -> tuple[int, ...]:
    if operation in _ATOMIC:
        return (_ATOMIC_BYTES,)
    return tuple(size for size in options.sizes if operation not in _COMBINING or size <= _MOST_ELEMENTS)


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:
    return [
        OneSided(operation, size, path, synchronisation, window)
        for path, operation, synchronisation, window in product(
            placement, options.window_operations, options.synchronisations, options.windows
        )
        for size in _sizes(operation, options)
    ]


def _left_out(options: BenchOptions) -> str:
    large = {*_COMBINING} & {*options.window_operations} and max(options.sizes) > _MOST_ELEMENTS
    return (
        f"left out, as an int does not count their elements: accumulates above {format_size(1 << 31)}" if large else ""
    )


def _prepare(comm: "MPI.Intracomm", clock: Clock, options: BenchOptions, placement: Placement) -> BenchOptions:  # noqa: ARG001
    check_one_sided(comm)
    return options


def _room(configuration: OneSided) -> Room:
    """Return the buffer sizes; what is got and the window are apart in the second."""
    size = max(configuration.message_size, _ATOMIC_BYTES)
    return size, 2 * stride(size)


@contextmanager
def _window(session: Session, configuration: OneSided) -> Iterator["MPI.Win"]:
    """Context with the window, freed afterwards; after an exception, for which others would wait, it is not."""
    from mpi4py import MPI

    size = max(configuration.message_size, _ATOMIC_BYTES)
    if configuration.window == "allocate":
        window = MPI.Win.Allocate(size, comm=session.comm)
    else:
        window = MPI.Win.Create(session.receive_buffer[stride(size) :][:size], comm=session.comm)
    yield window
    free_window(session.comm, window)


def _measure(session: Session, configuration: OneSided) -> Record | None:
    from commmodel._core.mpi import one_sided

    turns = 2 if configuration.synchronisation in _IN_TURNS else 1
    with _window(session, configuration) as window:

        def measure(repetitions: int) -> Floats:
            ticks = one_sided.accesses(
                session.comm, window, session.peer, session.first, configuration.operation,
                configuration.synchronisation, session.send_buffer, session.receive_buffer, configuration.message_size,
                repetitions, session.clock_number,
            )  # fmt: skip
            return session.seconds(ticks) / turns

        return sampled(session, configuration, measure)


def _effort(configuration: OneSided) -> Effort:
    there_and_back = configuration.operation in ("get-accumulate", *_ATOMIC)
    return Effort(configuration.message_size, 1 + there_and_back + (configuration.synchronisation in _IN_TURNS))


def _choice(field: str, title: str, names: tuple[str, ...], metavar: str) -> Option:
    def words(chosen: tuple[str, ...]) -> str:
        return "all" if chosen == names else ",".join(chosen)

    return Option(field, f"{title}, of {', '.join(names)}; all", list_of(names, title), words, metavar=metavar)


KERNELS = (
    Kernel(
        "one-sided operations with their completion: put, get, accumulate and the atomic ones",
        (OneSided,),
        _plan,
        _measure,
        _room,
        options=(
            _choice("window_operations", "one-sided operations", get_args(WindowOperation), "OPERATION,..."),
            _choice("synchronisations", "completions of one-sided operations", get_args(Synchronisation), "NAME,..."),
            _choice("windows", "memory of windows", get_args(WindowMemory), "MEMORY,..."),
        ),
        prepare=_prepare,
        left_out=_left_out,
        effort=_effort,
    ),
)
