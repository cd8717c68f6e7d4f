"""Memory of the ranks of a program that runs: estimated before most of them begin, watched while they run.

Main entry: `MemoryWatch`.
"""

import math
import os
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from commmodel._core.online.pump import least_memory
from commmodel.errors import InputError

_RESERVE = 0.03
"""Share of the machine's memory that ranks leave free."""
_KIB = 1024
_ADDRESSES = 2**38
"""Reserved for what ranks share, where nothing limits it: what is not touched takes no memory."""
_LEAST_BY_RANK = 2**18
"""Bytes that a rank may put into the shared memory at least."""
_INTERVAL = 0.02
"""Seconds between two looks at the free memory."""
_REMEDY = "take fewer ranks, or commmodel.shared_array for large arrays"


def _mebibytes(size: float) -> str:
    return f"{size / 2**20:.1f} MiB" if size < 2**30 else f"{size / 2**30:.1f} GiB"


def _kibibytes(text: str, name: str) -> int:
    """Return the sum of all lines of that name in a file of /proc."""
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name}:"))


def _limit_of_group() -> int | None:
    """Return the bytes that this process's control group may still take; None where there is no limit."""
    for line in Path("/proc/self/cgroup").read_text("utf-8").splitlines():
        number, kinds, path = line.split(":", 2)
        root = Path("/sys/fs/cgroup") if number == "0" else Path("/sys/fs/cgroup/memory")
        names = (
            ("memory.max", "memory.current") if number == "0" else ("memory.limit_in_bytes", "memory.usage_in_bytes")
        )
        if number != "0" and "memory" not in kinds.split(","):
            continue
        with suppress(OSError, ValueError):
            most, used = (int((root / path.lstrip("/") / name).read_text("ascii")) for name in names)
            stat = (root / path.lstrip("/") / "memory.stat").read_text("ascii")
            cache = sum(int(row.split()[1]) for row in stat.splitlines() if row.startswith("inactive_file "))
            return most - used + cache
    return None


class _FreeMemory:
    """Bytes that processes may still take, and those of the machine, as they were not long ago."""

    def __init__(self) -> None:
        self._seconds = -math.inf
        self._sizes = 0, 0

    def __call__(self) -> tuple[int, int]:
        now = time.monotonic()
        if now >= self._seconds + _INTERVAL:
            self._seconds, self._sizes = now, _read_free_memory()
        return self._sizes


def _read_free_memory() -> tuple[int, int]:
    text = Path("/proc/meminfo").read_text("ascii")
    free, total = (_KIB * _kibibytes(text, name) for name in ("MemAvailable", "MemTotal"))
    limit = _limit_of_group()
    return free if limit is None else min(free, limit), total


free_memory = _FreeMemory()


def reserve(descriptor: int, ranks: int, parts: int = 1) -> None:
    """Give the file of the ranks' shared memory its size: half of the addresses that a process may still take.

    It has several parts of the same size where a process has the memory of a beginning and that of a run.

    Raises
    ------
    InputError
        Where the limit of addresses or of files leaves too little.
    """
    size, limit = _ADDRESSES, resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        status = Path("/proc/self/status").read_text("ascii")
        size = min(size, max(0, limit - _KIB * _kibibytes(status, "VmSize")) // (2 * parts) // 4096 * 4096)
    least = least_memory(ranks) + _LEAST_BY_RANK * ranks
    if size < least:
        raise InputError(
            f"{ranks} ranks share {_mebibytes(least)} of addresses at least, and the limit of {_mebibytes(limit)} "
            f"leaves {_mebibytes(size)}: raise it (ulimit -v), or take fewer ranks"
        )
    try:
        os.ftruncate(descriptor, parts * size)
    except OSError as error:
        raise InputError(f"the memory that ranks share: {error.strerror}: raise the limit (ulimit -f)") from None


class MemoryWatch:
    """Estimates the memory of all ranks from the first ones, and ends a run before there is none left.

    `memory` returns the bytes that one of the first two ranks shares with no other, 0 where that is not known; `report`
    gets the estimate in one line; `free` returns what `free_memory` does.
    """

    def __init__(
        self,
        processes: int,
        memory: Callable[[int], int],
        report: Callable[[str], None] | None = None,
        free: Callable[[], tuple[int, int]] = free_memory,
    ) -> None:
        self._processes, self._memory, self._report, self._free = processes, memory, report, free
        self._last = min(processes - 1, 2)  # the estimate is made before this rank begins: rank 0 may hold more

    def begin(self, rank: int) -> None:
        """Look at the memory before a rank begins; `InputError` where all ranks need more than there is."""
        if rank == self._last > 0:
            self._estimate(rank)
        self.check(rank)

    def check(self, started: int) -> None:
        """Raise where nearly all memory is used, by so many ranks."""
        free, total = self._free()
        if free < _RESERVE * total:
            some = f"{started} of {self._processes} ranks"
            raise InputError(f"{some} have taken nearly all memory, {_mebibytes(free)} are left: {_REMEDY}")

    def _estimate(self, started: int) -> None:
        measured = [size for size in map(self._memory, range(started)) if size]
        if not measured:
            return
        free, total = self._free()
        rest = (self._processes - started) * measured[-1]
        total_size = _mebibytes(sum(measured) + rest)
        of_one = f"a rank takes {_mebibytes(measured[-1])} where it first waits"
        text = f"{of_one}, {self._processes} ranks at least {total_size}; {_mebibytes(free)} are free"
        if rest > free - _RESERVE * total:
            raise InputError(f"{text}: {_REMEDY}")
        if self._report is not None:
            self._report(text)
