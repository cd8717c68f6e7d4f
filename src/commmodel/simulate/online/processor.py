"""One processor for the simulator and all ranks of a program, as one of them runs at a time. Main entry: `Processor`.

To wake a process on another processor takes ten times as long as to go on with it on the same one.
"""

import ctypes
import os


class Processor:
    """The processor on which this process and those that it begins run."""

    def __init__(self) -> None:
        self._before: set[int] = set()

    def take(self) -> None:
        """Stay on the processor where this process is now."""
        processor = ctypes.CDLL(None).sched_getcpu()
        allowed = os.sched_getaffinity(0)
        if processor in allowed and not self._before:
            self._before = allowed
            os.sched_setaffinity(0, {processor})

    def leave(self) -> None:
        """Let this process run anywhere again."""
        if self._before:
            os.sched_setaffinity(0, self._before)
        self._before = set()
