"""What is said when a recorded program has ended and nothing is recorded.

This process becomes the program, which may run where the library that records has not arrived, so another process
waits for its end. Main entry: `tell_if_nothing`.
"""

import os
import select
import signal
import time
from pathlib import Path

_NOTHING = (
    "commmodel: record: nothing is recorded: the program has not called MPI_Init, or what starts it drops LD_PRELOAD "
    "(env -i, sudo, a container): record within it\n"
)
_SECONDS = 1.0
"""Between two looks at the process where the kernel cannot tell of its end (before Linux 5.3)."""


def tell_if_nothing(folder: Path) -> None:
    """Start a process that says, when this one has ended, that the folder has no recording of any rank."""
    process = os.getpid()
    try:
        handle = os.pidfd_open(process)
    except OSError:
        handle = -1
    if between := os.fork():  # whose child is nobody's: the program may wait for all of its children
        os.waitpid(between, 0)
        if handle >= 0:
            os.close(handle)
        return
    try:
        if os.fork() == 0:
            _wait(process, handle)
            if folder.is_dir() and not any(folder.glob("rank-*")):
                os.write(2, _NOTHING.encode())
    finally:
        os._exit(0)


def _wait(process: int, handle: int) -> None:
    """Wait for the end of a process; keep nothing open but standard error, which the launcher reads to its end."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    most = os.sysconf("SC_OPEN_MAX")
    os.closerange(0, 2)
    os.closerange(3, handle)
    os.closerange(max(3, handle + 1), most)
    if handle >= 0:
        select.select([handle], [], [])
        return
    while True:
        try:
            os.kill(process, 0)
        except OSError:
            return
        time.sleep(_SECONDS)
