"""Ranks that keep the turn for long without a call of MPI: told once. Main entry: `Patience`."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_OUTSIDE = 1.0
"""Seconds that a rank waits outside MPI before others go on."""


def _usage(process: int) -> tuple[float, bool]:
    """Return the processor time of a process, and whether it waits; 0 where it has ended."""
    with suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), fields[0] == "S"
    return 0.0, False


class Patience:
    """Tells the first rank that computes longer than some seconds of processor time between two calls; 0: none.

    It tells the first rank, too, that waits for something else than MPI, and says of each that does so, as others may
    have to act. `progress` returns a rank's process and how many calls it has made, `place` the name and the site of
    its last call; `report` gets a line.
    """

    def __init__(
        self,
        seconds: float,
        progress: Callable[[int], tuple[int, int]],
        place: Callable[[int], tuple[str, str]],
        report: Callable[[str], None] | None,
    ) -> None:
        self._seconds, self._progress, self._place, self._report = seconds, progress, place, report
        self._has_told_computing, self._has_told_waiting = seconds <= 0, False
        self._last = (-1, 0, 0)
        self._begin = self._used = self._idle_since = 0.0

    def look(self, rank: int) -> bool:
        """Look at the rank that has the turn; return whether it waits outside MPI."""
        process, calls = self._progress(rank)
        if not process:
            return False
        used, waits = _usage(process)
        if (rank, process, calls) != self._last:
            self._last = rank, process, calls
            self._begin = used
        elif waits and used == self._used:
            return self._is_idle(rank)
        self._used, self._idle_since = used, time.monotonic()
        if used - self._begin >= self._seconds and not self._has_told_computing:
            self._has_told_computing = True
            computed = f"{used - self._begin:.0f} s since {self._since(rank)}"
            self._tell(f"rank {rank} has computed for {computed}: others wait until it calls MPI")
        return False

    def _is_idle(self, rank: int) -> bool:
        if time.monotonic() - self._idle_since < _OUTSIDE:
            return False
        if not self._has_told_waiting:
            self._has_told_waiting = True
            since = self._since(rank)
            self._tell(f"rank {rank} waits outside MPI since {since}: others go on, its time is that of this machine")
        return True

    def _since(self, rank: int) -> str:
        name, site = self._place(rank)
        return f"{name}, {site}" if site else name

    def _tell(self, text: str) -> None:
        if self._report is not None:
            self._report(text)
