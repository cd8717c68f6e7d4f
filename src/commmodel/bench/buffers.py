"""Message buffers on pages of their own: aligned, written before use, with a stated choice of huge pages.

Huge pages change the time of a 1 MiB message threefold, and an allocator turns them on and off by size; so
nothing is left to it. Main entry: `allocate`.
"""

import mmap
import re
from pathlib import Path
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from commmodel.bench import simulation
from commmodel.shadow import shared_array

HugePages = Literal["never", "always", "system"]
_HUGE_PAGE = 2 << 20
_ADVICE = {"never": "MADV_NOHUGEPAGE", "always": "MADV_HUGEPAGE"}


def allocate(size: int, huge_pages: HugePages, *, is_receiving: bool = False) -> NDArray[np.uint8]:
    """Allocate `size` bytes on pages of their own, each written once, aligned to a huge page.

    Raises `MemoryError` where there is no room. Simulated ranks share
    one buffer to send from and one for what a rank is receiving: their bytes do not matter.
    """
    if simulation.is_simulated():
        return cast("NDArray[np.uint8]", shared_array((2, max(size, 1)), np.uint8)[int(is_receiving)])
    try:
        region = mmap.mmap(-1, size + 2 * _HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"no memory for a message buffer of {size} bytes: {error.strerror}") from None
    advice = getattr(mmap, _ADVICE.get(huge_pages, ""), None)  # absent where the kernel has no huge pages
    if advice is not None:
        region.madvise(advice)
    memory = np.frombuffer(region, dtype=np.uint8)
    start = -memory.ctypes.data % _HUGE_PAGE
    buffer = memory[start : start + max(size, 1)]
    buffer[:] = 1
    return buffer


def available_memory() -> int | None:
    """Return the available memory of this host in bytes; None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")), None)


def huge_bytes(buffer: NDArray[np.uint8]) -> int | None:
    """Return the bytes of the buffer that lie on huge pages; None where the system does not tell."""
    address = buffer.ctypes.data
    try:
        lines = Path("/proc/self/smaps").read_text().splitlines()
    except OSError:
        return None
    inside = False
    for line in lines:
        if mapping := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(mapping[1], 16) <= address < int(mapping[2], 16)
        elif inside and line.startswith("AnonHugePages:"):
            return int(line.split()[1]) << 10
    return None
