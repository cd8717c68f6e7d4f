"""Memory of this process as Linux counts it: before MPI_Init, after it, and after use of MPI.

There is one beginning of MPI in a process, so what was read around it is kept here. Main entries: `before_mpi`,
`after_init`, `after_use` and, for what they found, `grown`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from commmodel.bench.buffers import allocate

if TYPE_CHECKING:
    from mpi4py import MPI

Measure = Literal["private", "pss"]
Stage = Literal["init", "use"]

ROLLUP = Path("/proc/self/smaps_rollup")
_FIELDS: dict[Measure, tuple[str, ...]] = {
    "private": ("Private_Dirty", "Private_Hugetlb"),
    "pss": ("Pss_Anon", "Pss_Shmem", "Private_Hugetlb"),
}
"""Pages of programs and libraries that nobody has written are in neither: how many of them are a process's own hangs on
how many others run the same at that moment, and so on which rank happened to start first."""

_ROUNDS = 10
_BLOCK = 256  # bytes, of collectives: as in Shudler 2015, Section 4.1
_LARGE = 256 << 10  # bytes, to the neighbours: above any library's eager limit

_readings: dict[Literal["before"] | Stage, dict[Measure, int]] = {}
_ranks: list[int] = []


def read(rollup: Path = ROLLUP) -> dict[Measure, int]:
    """Return the memory of this process by each measure that the system has; empty without any.

    >>> all(amount > 0 for amount in read().values())
    True
    """
    try:
        lines = rollup.read_text().splitlines()
    except OSError:
        return {}
    sizes = {name: int(rest.split()[0]) << 10 for name, _, rest in (line.partition(":") for line in lines[1:])}
    return {
        measure: sum(sizes[field] for field in fields)
        for measure, fields in _FIELDS.items()
        if sizes.keys() >= set(fields)
    }


def before_mpi() -> None:
    """Load all modules of the benchmark and read the memory."""
    from commmodel.bench import driver, environment, preparation  # noqa: F401  (they take memory that is not MPI's)

    read()  # what reading takes itself is there now
    _readings["before"] = read()


def after_init() -> None:
    """Read the memory just after MPI_Init by mpi4py."""
    _readings["init"] = read()


def after_use(comm: "MPI.Intracomm") -> None:
    """Communicate on all ranks and read the memory.

    The buffers are on pages of their own and given back before, so that nothing of them is left to subtract.
    """
    _use(comm)
    comm.Barrier()
    _readings["use"] = read()
    _ranks[:] = [comm.size]
    available = [set(reading) for reading in _readings.values()]
    everywhere = set.intersection(*comm.allgather(set.intersection(*available)))
    for reading in _readings.values():
        for measure in [*reading]:
            if measure not in everywhere:
                del reading[measure]


def _use(comm: "MPI.Intracomm") -> None:
    from mpi4py import MPI

    send = allocate(max(_BLOCK * comm.size, _LARGE), "never")
    receive = allocate(send.size, "never")
    blocks = _BLOCK * comm.size
    up, down = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for _ in range(_ROUNDS):
        comm.Allreduce([send[:_BLOCK], MPI.FLOAT], [receive[:_BLOCK], MPI.FLOAT])
        comm.Alltoall(send[:blocks], receive[:blocks])
        comm.Sendrecv(send[:_LARGE], up, recvbuf=receive[:_LARGE], source=down)
        comm.Sendrecv(send[:_LARGE], down, recvbuf=receive[:_LARGE], source=up)


def ranks() -> int:
    """Return the number of ranks that used MPI; 0 where the memory was not read."""
    return _ranks[0] if _ranks else 0


def grown(stage: Stage, measure: Measure) -> int | None:
    """Return the growth of the memory in bytes since before MPI_Init; None where some rank cannot tell."""
    if stage not in _readings or measure not in _readings[stage]:
        return None
    return _readings[stage][measure] - _readings["before"][measure]
