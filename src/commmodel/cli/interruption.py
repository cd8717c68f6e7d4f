"""Ctrl-C while compiled code is at work. Main entry: `prompt_interruption`."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["prompt_interruption"]

INTERRUPTED = 130
"""What a shell says of a program that Ctrl-C ends."""
_MOST = 0.25
"""Seconds after Ctrl-C in which the interpreter may raise KeyboardInterrupt, and what runs may end by itself."""


@contextmanager
def prompt_interruption() -> Iterator[None]:
    """Context in which Ctrl-C ends the process within half a second.

    Compiled code looks for signals from time to time, but not within one solution for millions of flows, nor while it
    frees memory. Nothing may be under way in the context that has to be tidied up: files, or other processes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are none of its business
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    done = threading.Event()
    watch = threading.Thread(target=_watch, args=(reader, done), daemon=True)
    watch.start()
    try:
        yield
    finally:
        done.set()
        signal.set_wakeup_fd(before)
        writer.close()
        watch.join()
        reader.close()


def _watch(reader: socket.socket, done: threading.Event) -> None:
    while signals := reader.recv(64):
        if signal.SIGINT in signals and not done.wait(_MOST):
            line = b"\r\x1b[K" if sys.stderr.isatty() else b""  # over a line of progress
            os.write(2, line + b"commmodel: interrupted\n")
            os._exit(INTERRUPTED)
