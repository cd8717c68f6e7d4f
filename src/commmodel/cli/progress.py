"""Progress of a long command on a terminal. Main entry: `Progress`."""

import sys
import threading
import time
from types import TracebackType
from typing import Self

from commmodel.units import format_time

_FIRST, _BETWEEN = 2.0, 0.5
"""Seconds until the first line, and between two."""


class ProgressLine:
    """A line on standard error, overwritten from time to time and erased at the end.

    Where standard error is no terminal, nothing is written. A thread of its own writes: it shows that time goes by
    while compiled code, which has nothing to note, is at work.

    Parameters
    ----------
    what : str
        What goes on, in a few words.
    """

    def __init__(self, task: str) -> None:
        self._task = task[:60]
        self._noted = ""
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def note(self, seconds: float, events: int) -> None:
        """Show the progress of the simulation."""
        self.say(f"simulated {format_time(seconds)}, {events:,} events")

    def say(self, words: str) -> None:
        """Show how far it is."""
        self._noted = words

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _show(self) -> None:
        begin, shown = time.monotonic(), False
        while not self._done.wait(_BETWEEN):
            elapsed = time.monotonic() - begin
            if elapsed < _FIRST:
                continue
            far = f"; {self._noted}" if self._noted else ""
            sys.stderr.write(f"\r\x1b[K{self._task}: {elapsed:.0f} s{far}")
            sys.stderr.flush()
            shown = True
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
