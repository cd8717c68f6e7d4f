"""Ranks that compute for long without a call of MPI, so that no other rank runs: told once. Main entry: `Patience`."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def _processor_seconds(process: int) -> float:
    """Return the processor time of a process, 0 where it has ended."""
    with suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


class Patience:
    """Tells the first rank that computes longer than some seconds of processor time between two calls; 0: none.

    `progress` returns a rank's process and how many calls it has made, `place` the name and the site of its last call;
    `report` gets a line.
    """

    def __init__(
        self,
        seconds: float,
        progress: Callable[[int], tuple[int, int]],
        place: Callable[[int], tuple[str, str]],
        report: Callable[[str], None] | None,
    ) -> None:
        self._seconds, self._progress, self._place = seconds, progress, place
        self._report = report if seconds > 0 else None
        self._last = (-1, 0, 0)
        self._begin = 0.0

    def look(self, rank: int) -> None:
        """Look at the rank that has the turn."""
        if self._report is None:
            return
        process, calls = self._progress(rank)
        if (rank, process, calls) != self._last:
            self._last = rank, process, calls
            self._begin = _processor_seconds(process)
            return
        seconds = _processor_seconds(process) - self._begin
        if process and seconds >= self._seconds:
            name, site = self._place(rank)
            since = f"{name}, {site}" if site else name
            self._report(f"rank {rank} has computed for {seconds:.0f} s since {since}: others wait until it calls MPI")
            self._report = None
