"""Time in which MPI starts on this rank: MPI_Init, and with the first barrier after it.

There is one beginning of MPI in a process, so what was read around it is kept here. Main entries: `initialise` and, for
what it found, `seconds`.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from commmodel.results.records import ThreadLevel

StartUpStage = Literal["init", "first-barrier"]

_readings: dict[StartUpStage, float] = {}
_ranks: list[int] = []


def initialise(level: ThreadLevel) -> None:
    """Start MPI by mpi4py at a thread level, timed; nothing is read where MPI has been started before."""
    import mpi4py

    mpi4py.rc.initialize, mpi4py.rc.finalize = False, True
    from mpi4py import MPI

    if MPI.Is_initialized():
        return
    begin = time.perf_counter()
    MPI.Init_thread(getattr(MPI, f"THREAD_{level.upper()}"))
    _readings["init"] = time.perf_counter() - begin
    MPI.COMM_WORLD.Barrier()
    _readings["first-barrier"] = time.perf_counter() - begin
    _ranks[:] = [MPI.COMM_WORLD.size]


def ranks() -> int:
    """Return the number of ranks that started; 0 where the time was not read."""
    return _ranks[0] if _ranks else 0


@contextmanager
def expected(count: int) -> Iterator[None]:
    """Context in which so many ranks count as started: for the plan of a launch that is not made.

    >>> with expected(64):
    ...     ranks()
    64
    """
    before = [*_ranks]
    _ranks[:] = [count]
    try:
        yield
    finally:
        _ranks[:] = before


def seconds(stage: StartUpStage) -> float:
    """Return the time of a stage on this rank, from the begin of MPI_Init; 0 where it was not read.

    >>> seconds("init") >= 0
    True
    """
    return _readings.get(stage, 0.0)
