"""Progress bar on the terminal of rank 0, drawn only between measurements. Main entry: `ProgressBar`.

Under mpiexec the standard error of a rank is a pipe even where it ends on a terminal, so the launcher's own standard
error is looked at as well.
"""

import os
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress

from commmodel.results import Record, configuration_words
from commmodel.units import format_quantity

_LAUNCHERS = ("mpiexec", "mpirun", "orterun", "prterun")
_TERMINALS = ("/dev/pts/", "/dev/tty")
_WIDTH = 80


class ProgressBar:
    """A progress bar over records; silent where standard error is not a terminal."""

    def __init__(self, total: int) -> None:
        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
        piped = not sys.stderr.isatty()
        self._shown = not piped or _launcher_has_terminal()
        console = Console(stderr=True, force_terminal=True, width=_WIDTH) if piped else Console(stderr=True)
        # No automatic refresh: its thread would wake up ten times a second within what is measured.
        self._bar = RichProgress(*columns, console=console, auto_refresh=False, transient=True)
        self._total = total
        self._task = self._bar.add_task("measuring", total=total)
        if self._shown:
            self._bar.start()
            self._bar.refresh()

    def extend(self, count: int) -> None:
        """Expect more records."""
        self._total += count
        self._bar.update(self._task, total=self._total)

    def advance(self, record: Record) -> None:
        """Count one record and show its median."""
        if self._shown:
            text = f"{configuration_words(record.configuration)}: {format_quantity(record.summary.median, record.unit)}"
            self._bar.update(self._task, advance=1, description=text)
            self._bar.refresh()

    def close(self) -> None:
        """Remove the bar."""
        if self._shown:
            self._bar.stop()


def _launcher_has_terminal() -> bool:
    """Whether the mpiexec of this process has a terminal as its standard error."""
    process = os.getppid()
    try:
        while process > 1:
            folder = Path("/proc") / str(process)
            name, _, rest = (folder / "stat").read_text().partition("(")[2].rpartition(")")
            if name.startswith(_LAUNCHERS):
                return os.readlink(folder / "fd" / "2").startswith(_TERMINALS)
            process = int(rest.split()[1])
    except OSError:  # no /proc, or another user's process
        return False
    return False
