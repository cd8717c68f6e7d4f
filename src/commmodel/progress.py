"""How far long work is, as a line on a terminal or in a notebook, with a bar. Main entry: `ProgressLine`.

The bar is rich's, which is loaded when the first is drawn.
"""

import os
import re
import sys
import threading
import time
from types import TracebackType
from typing import ClassVar, Self

from commmodel.units import format_time

__all__ = ["ProgressLine"]

_FIRST, _BETWEEN = 2.0, 0.5
"""Seconds until the first line, and between two."""
_WIDTH = 100
"""Characters of a line in a notebook, which cannot erase."""
_BAR = 24
"""Characters of a bar."""
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_PROCESS = os.getpid()


class ProgressLine:
    """A line on standard error, overwritten from time to time and erased at the end.

    It is written in notebooks, and on terminals where a command is run; never to a file or a pipe, nor by a script or a
    worker process. Of lines within another only the outermost is written. A thread of its own writes: it shows that
    time goes by while compiled code, which has nothing to note, is at work.

    Parameters
    ----------
    task : str
        What goes on, in a few words.
    at_terminal : bool
        Whether scripts show it, too, that run on a terminal.
    """

    at_command: ClassVar[bool] = False
    """Whether this process is a command: then all lines are shown on a terminal."""
    _outermost: ClassVar["ProgressLine | None"] = None

    def __init__(self, task: str, *, at_terminal: bool = False) -> None:
        self._task = task[:60]
        self._at_terminal = at_terminal
        self._noted = ""
        self._share: float | None = None
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def note(self, seconds: float, events: int) -> None:
        """Show the progress of a simulation."""
        self.say(f"simulated {format_time(seconds)}, {events:,} events")

    def count(self, done: int, total: int, things: str = "runs") -> None:
        """Show how many runs, or other things, are done, and a bar."""
        self._share = done / total if total else None
        self.say(f"{done} of {total} {things}")

    def say(self, words: str) -> None:
        """Show how far it is."""
        self._noted = words

    @property
    def is_shown(self) -> bool:
        """Whether the line is written."""
        return self._thread is not None

    def __enter__(self) -> Self:
        if ProgressLine._outermost is None and os.getpid() == _PROCESS:
            at_terminal = (self._at_terminal or self.at_command) and sys.stderr is not None and sys.stderr.isatty()
            if at_terminal or _is_notebook():
                ProgressLine._outermost = self
                self._thread = threading.Thread(target=self._show, args=(at_terminal,), daemon=True)
                self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()
            ProgressLine._outermost = None

    def _show(self, at_terminal: bool) -> None:
        begin, shown = time.monotonic(), False
        while not self._done.wait(_BETWEEN):
            elapsed = time.monotonic() - begin
            if elapsed < _FIRST:
                continue
            far = f"; {self._noted}" if self._noted else ""
            if self._share and self._share < 1:
                far += f", about {format_time(elapsed * (1 / self._share - 1))} left"
            bar = "" if self._share is None else f" {_bar(self._share, at_terminal)}"
            _write(f"{self._task}: {elapsed:.0f} s{bar}{far}", at_terminal)
            shown = True
        if shown:
            _write("", at_terminal)


def _bar(share: float, at_terminal: bool) -> str:
    """Return a bar: in colours on a terminal that has some."""
    from rich.console import Console
    from rich.progress_bar import ProgressBar

    console = Console(stderr=True, width=_BAR + 1, color_system="auto" if at_terminal else None)
    with console.capture() as drawn:
        console.print(ProgressBar(1.0, share, _BAR), end="")
    text = drawn.get().rstrip()
    return text + " " * (_BAR - len(_STYLE.sub("", text)))


def _write(line: str, at_terminal: bool) -> None:
    """Put a line in place of the last one."""
    sys.stderr.write(f"\r\x1b[K{line}" if at_terminal else f"\r{line:{_WIDTH}.{_WIDTH}}\r")
    sys.stderr.flush()


def _is_notebook() -> bool:
    """Whether a kernel of Jupyter runs this process."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")
