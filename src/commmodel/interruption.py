"""Ctrl-C, and SIGTERM, with which batch systems warn. Main entries: `raise_on_signals`, `prompt_interruption`.

Both end a command alike: what is under way is tidied up, one line is said, and the exit code is the signal's.
"""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

__all__ = ["TO_BE_HEARD", "Termination", "ending", "prompt_interruption", "raise_on_signals"]

_ENDINGS = {signal.SIGINT: ("interrupted", 130), signal.SIGTERM: ("terminated", 143)}
"""What is said, and the exit code: what a shell says of a program that the signal ends."""
_MOST = 0.25
"""Seconds after a signal in which the interpreter may raise its exception, and what runs may end by itself."""
TO_BE_HEARD = 0.1
"""Seconds between the last line and the end of a rank: a launcher drops what it has not read by then."""
_SOON = 0.02
"""Seconds until a signal that came at a wrong moment is sent again."""


class Termination(KeyboardInterrupt):
    """SIGTERM as an exception: whatever tidies up after Ctrl-C does so after it."""


def ending(interruption: KeyboardInterrupt) -> tuple[str, int]:
    """Return what to say of an interruption, and the exit code.

    >>> ending(KeyboardInterrupt()), ending(Termination())
    (('interrupted', 130), ('terminated', 143))
    """
    return _ENDINGS[signal.SIGTERM if isinstance(interruption, Termination) else signal.SIGINT]


def raise_on_signals() -> None:
    """Let SIGTERM raise `Termination` in the main thread, and both signals wait for an import that is under way.

    A compiled module whose import is interrupted may crash the interpreter, others take the exception for their own.
    Where the interpreter can only report an exception, as in a finalizer or at a fork, the signal comes again. A second
    SIGTERM disturbs nobody who tidies up. Where Ctrl-C is ignored, as in the background of a shell, it stays so.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    signal.signal(signal.SIGTERM, _raise)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _raise)
    if not isinstance(sys.unraisablehook, partial):
        sys.unraisablehook = partial(_report, sys.unraisablehook)


def _report(otherwise: Callable[[Any], Any], problem: Any) -> None:
    """Report an exception that cannot be raised; that of a signal comes again instead."""
    if not issubclass(problem.exc_type, KeyboardInterrupt):
        otherwise(problem)
        return
    number = signal.SIGTERM if issubclass(problem.exc_type, Termination) else signal.SIGINT
    signal.signal(number, _raise)  # it was ignored when it had come
    _send_again(number)


def _send_again(number: int) -> None:
    later = threading.Timer(_SOON, os.kill, (os.getpid(), number))
    later.daemon = True
    later.start()


def _raise(number: int, frame: FrameType | None) -> None:
    if _is_importing(frame):
        _send_again(number)
    elif number == signal.SIGTERM:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Termination
    else:
        raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


@contextmanager
def prompt_interruption(program: str = "commmodel", advice: str = "", *, quiet: bool = False) -> Iterator[None]:
    """Context in which Ctrl-C ends the process within half a second, and SIGTERM where it is to raise an exception.

    Compiled code looks for signals from time to time, but not within one solution for millions of flows, nor while it
    frees memory, nor while it waits for a message. Nothing may be under way in the context that has to be tidied up:
    files, or other processes.

    Parameters
    ----------
    program : str
        Begin of the line that is said.
    advice : str
        Its end.
    quiet : bool
        Say nothing, and end a second later, as another process speaks for this one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are none of its business
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    done = threading.Event()
    watch = threading.Thread(target=_watch, args=(reader, done, program, advice, quiet), daemon=True)
    watch.start()
    try:
        yield
    finally:
        done.set()
        signal.set_wakeup_fd(before)
        writer.close()
        watch.join()
        reader.close()


def _watch(reader: socket.socket, done: threading.Event, program: str, advice: str, quiet: bool) -> None:
    while signals := reader.recv(64):
        number = next((number for number in _ENDINGS if number in signals), None)
        if number is not None and not done.wait(_MOST + quiet):
            word, code = _ENDINGS[number]
            line = "\r\x1b[K" if sys.stderr.isatty() else ""  # over a line of progress
            if not quiet:
                os.write(2, f"{line}{program}: {word}{advice}\n".encode())
                time.sleep(TO_BE_HEARD)
            os._exit(code)
