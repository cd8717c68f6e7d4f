"""A progress bar on rank 0's terminal, drawn only between measurements. Main entry: `Progress`."""

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress

from commmodel.results import Record
from commmodel.units import format_quantity

__all__ = ["Progress"]


class Progress:
    """Advances with each record; shows nothing where standard error is no terminal."""

    def __init__(self, total: int) -> None:
        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
        # No automatic refresh: its thread would wake up ten times a second within what is measured.
        self._bar = RichProgress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True)
        self._shown = sys.stderr.isatty()
        self._task = self._bar.add_task("measuring", total=total)
        if self._shown:
            self._bar.start()
            self._bar.refresh()

    def advance(self, record: Record) -> None:
        """Count one record and show its median."""
        if self._shown:
            found = f"{format_quantity(record.summary.median, record.unit)} {type(record.configuration).__name__}"
            self._bar.update(self._task, advance=1, description=found)
            self._bar.refresh()

    def close(self) -> None:
        """Remove the bar."""
        if self._shown:
            self._bar.stop()
