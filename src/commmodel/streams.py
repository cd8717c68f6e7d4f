"""Standard output and error that are closed, cut off or full: at most one line of error. Main entry: `guarded`."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from commmodel.errors import InputError

__all__ = ["discard", "guarded"]


def discard(stream: TextIO) -> None:
    """Discard what is printed from here on, and what the buffer holds, which would fail again as the program ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError):  # a stream of Python's own has no number
        os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


class _Output:
    """Standard output that ignores a closed reader and reports any other error in one line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            self._silence(error)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            self._silence(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _silence(self, error: OSError) -> None:
        discard(self._stream)
        if not isinstance(error, BrokenPipeError):
            raise InputError(f"standard output: cannot be written: {error.strerror or error}") from None


@contextmanager
def guarded() -> Iterator[None]:
    """Context of a command: whatever happens to standard output, the command goes on or ends with one line.

    A reader that has seen enough, like ``head``, gets no more: the command goes on in silence, and its exit code says
    how it ended. A stream that was closed before the program began takes all and keeps nothing. Signs that the
    stream's encoding lacks are written as escapes.

    Raises
    ------
    InputError
        Where standard output cannot be written for another reason, as on a full disk.

    Examples
    --------
    >>> with guarded():
    ...     print("hello")
    hello
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  (as long as the program)
    stream = sys.stdout
    if isinstance(stream, io.TextIOWrapper) and stream.errors in {
        "strict",
        "surrogateescape",
    }:  # the latter of LC_ALL=C
        stream.reconfigure(errors="backslashreplace")
    sys.stdout = cast("TextIO", _Output(stream))
    try:
        yield
    finally:
        try:
            sys.stdout.flush()  # here, not when the program ends: then it would be a fault
        finally:
            sys.stdout = stream
