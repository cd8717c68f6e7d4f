"""Memory that MPI keeps on a rank: after calls that create communicators and windows, after MPI_Init, after use.

Bytes of a call are counted by a library that stands before the allocator (`LIBRARY`, to be preloaded); the rest is the
process's memory as Linux counts it (`commmodel.bench.process_memory`). Shudler and others (2015), Section 4.1. Main
entry: `KERNELS`.
"""

import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from commmodel import _core
from commmodel.bench import process_memory
from commmodel.bench.kernels.kernel import NO_MESSAGES, Kernel, Room, all_processes
from commmodel.bench.option import Option, list_of
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.errors import MPIEnvironmentError
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import Memory, MemoryOperation

if TYPE_CHECKING:
    from mpi4py import MPI

LIBRARY = Path(_core.__file__).parent / "preload" / "libcommmodel-allocations.so"
"""The library that counts allocations; there on Linux only."""

_CALLS = 8  # so many objects of a kind exist at once
_WINDOW = 64  # bytes on each rank: so small that what MPI itself keeps shows
_PROCESS_MEASURES: tuple[process_memory.Measure, ...] = ("private", "pss")
_COUNTERS = {"allocated": ("allocated",), "mapped": ("anonymous", "shared")}


def _of_process(operations: Sequence[str]) -> list[process_memory.Stage]:
    return [stage for stage in ("init", "use") if stage in operations]


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:  # noqa: ARG001
    return [*_process_plan(options), *_call_plan(options)]


def _process_plan(options: BenchOptions) -> Iterable[Memory]:
    """Yield the configurations of process memory, always of all ranks, since memory of earlier use remains."""
    for stage in _of_process(options.memory_operations):
        for measure in _PROCESS_MEASURES:
            if process_memory.grown(stage, measure) is not None:
                yield Memory(stage, process_memory.ranks(), measure)


def _call_plan(options: BenchOptions) -> Iterable[Memory]:
    for operation in options.memory_operations:
        if operation not in _of_process(options.memory_operations):
            for processes in options.procs:
                yield Memory(operation, processes)
                yield Memory(operation, processes, "mapped")


def _left_out(options: BenchOptions) -> str:
    stages = _of_process(options.memory_operations)
    missing = [kind for kind in _PROCESS_MEASURES if any(process_memory.grown(stage, kind) is None for stage in stages)]
    if not missing:
        return ""
    return (
        f"left out, as {process_memory.ROLLUP} of some host does not tell: "
        f"{', '.join(missing)} memory of {' and '.join(stages)}"
    )


def _check(comm: "MPI.Intracomm", plan: Sequence[Configuration]) -> None:
    """Raise `MPIEnvironmentError` on every rank where some rank lacks the counting library that the plan needs."""
    if not any(isinstance(configuration, Memory) and configuration.measure in _COUNTERS for configuration in plan):
        return
    from commmodel._core.mpi import memory

    silent = [rank for rank, counts in enumerate(comm.allgather(memory.is_counting())) if not counts]
    if not silent:
        return
    otherwise = "ask for --memory-operations init,use alone"
    if not LIBRARY.is_file():
        raise MPIEnvironmentError(
            f"memory: allocations can be counted on Linux only ({LIBRARY} was not built): {otherwise}"
        )
    arguments = shlex.join(sys.argv[1:])
    command = f"mpiexec -n {comm.size} env LD_PRELOAD={shlex.quote(str(LIBRARY))} python -m commmodel.bench {arguments}"
    where = "" if len(silent) == comm.size else f" on rank {silent[0]}"
    raise MPIEnvironmentError(
        f"memory: the library that counts allocations is not loaded{where}: start it with {command} or {otherwise}"
    )


def _room(configuration: Memory) -> Room:  # noqa: ARG001
    return (_CALLS + 1) * _WINDOW, 1


def _measure(session: Session, configuration: Memory) -> Record | None:
    local = _own_bytes(session, configuration)
    gathered: Any = session.comm.gather(local)
    if not session.is_root:
        return None
    samples = np.max(gathered, axis=0)
    ranks = tuple(map(tuple, gathered)) if session.options.per_rank else None
    return Record(configuration, "B", tuple(samples.tolist()), ranks=ranks)


def _own_bytes(session: Session, configuration: Memory) -> list[float]:
    """Return the bytes that this rank keeps in each repetition; 0 where it frees more than it allocates."""
    match configuration:
        case Memory(operation="init" | "use" as stage, measure="private" | "pss" as measure):
            return [max(0.0, float(process_memory.grown(stage, measure) or 0))]
    from commmodel._core.mpi import memory

    calls = min(_CALLS, session.options.repetitions)

    def growth() -> NDArray[np.int64]:
        counts: NDArray[np.int64] = memory.kept(
            session.comm, configuration.operation, session.send_buffer, _WINDOW, calls
        )
        return counts

    growth()  # fills the stores of which the library takes objects: then the order of measurements does not matter
    changes = growth()
    rows = [memory.COUNTERS.index(name) for name in _COUNTERS[configuration.measure]]
    grown: list[float] = changes[rows].sum(axis=0).clip(0).astype(float).tolist()
    return grown


_NAMES: tuple[MemoryOperation, ...] = get_args(MemoryOperation)
KERNELS = (
    Kernel(
        "bytes that MPI keeps on a rank: for calls that create communicators and windows, after MPI_Init, after use",
        (Memory,),
        _plan,
        _measure,
        _room,
        all_processes,
        (
            Option(
                "memory_operations",
                f"operations, of {', '.join(_NAMES)}; all",
                list_of(_NAMES, "operation that keeps memory"),
                lambda names: "all" if names == _NAMES else ",".join(names),
                metavar="OPERATION,...",
            ),
        ),
        check=_check,
        effort=lambda _: NO_MESSAGES,
        left_out=_left_out,
    ),
)
