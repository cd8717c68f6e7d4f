"""The HTML page that ``-o`` asks for, and the answer beside it: tables, or JSON. Main entry: `OutputPage`."""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from commmodel.cli.parsers import check_folder, page_writer, print_json, show, tell, tell_findings
from commmodel.errors import MissingPackageError
from commmodel.files import refuse_inputs

_DEADLOCK = 2


class OutputPage:
    """The page of a command, where one is asked for and can be written.

    Parameters
    ----------
    arguments : Namespace
        With ``output`` and ``json``.
    writer : str
        Name of the function of `commmodel.report` that writes it: (path, what it is of).
    inputs : iterable of str
        Files that the page must not replace.
    """

    def __init__(self, arguments: argparse.Namespace, writer: str, inputs: Iterable[str]) -> None:
        self._arguments = arguments
        self._write = None if arguments.output is None else page_writer(writer)
        is_missing = self._write is None and arguments.output is not None
        self.code = MissingPackageError.exit_code if is_missing else 0
        """Exit code of the command, as far as its page goes."""
        self.path: str | None = None if self._write is None else arguments.output
        """Where it is written; None where it is not."""
        if self.path is not None:
            check_folder(self.path)
            refuse_inputs(self.path, inputs)

    def write(self, *content: Any) -> None:
        """Write the page of a result."""
        if self._write is not None:
            self._write(self.path, *content)

    def answer(self, as_json: Callable[[], dict[str, Any]], blocks: Callable[[], Sequence[Any]]) -> None:
        """Print JSON, or tables and texts and where the page is; JSON that names no output names the page."""
        if self._arguments.json:
            content = as_json()
            print_json(content | {"output": content.get("output", self.path)})
            return
        show(*blocks())
        if self.path is not None:
            print(f"written to {self.path}")


def tell_runs(runs: Sequence[Any], words: Callable[[Any], str]) -> int:
    """Print notes, findings and deadlocks of predicted runs on standard error; return the exit code.

    Parameters
    ----------
    runs : sequence of PredictedRun
    words : callable
        Run -> what tells it from the others.
    """
    tell("note", dict.fromkeys(note for run in runs for note in run.notes))
    code = tell_findings(dict.fromkeys(finding for run in runs for finding in run.findings))
    for run in runs:
        for line in run.blocked[:2]:
            print(f"commmodel: {words(run)}: {line}", file=sys.stderr)
            code = _DEADLOCK
    return code
