"""The interpreter of which ranks are copies, as the controller has it. Main entry: `TestInterpreter`."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from commmodel.errors import RankEndedError
from commmodel.pytest_simulation.messages import RANK_DEPENDENT, SPECIFICATION, read_lines
from commmodel.simulate.online.forks import ForkServer, ServerKind
from commmodel.simulate.online.processes import environment

_NURSERY = "commmodel.pytest_simulation.nursery"
_MANY = 8
"""Ranks before which one collects alone."""
_LONG = 0.5
"""Seconds of processor time in which a rank collects: as many ranks then take longer than another interpreter."""
_MOST_LINES = 30
"""Of what it said before it ended."""


def _terminal() -> int:
    """Return the descriptor of the terminal."""
    try:
        return os.open("/dev/tty", os.O_RDWR)
    except OSError:
        raise pytest.UsageError("--pdb: there is no terminal") from None


class TestInterpreter:
    """Runs pytest with the arguments of this one, to collect, and to have ranks."""

    __test__ = False  # for pytest, it is none

    def __init__(self, config: pytest.Config, folder: str) -> None:
        inputs: dict[str, Any] = getattr(config, "workerinput", {})
        arguments = inputs.get("commmodel_arguments", [*map(str, config.invocation_params.args)])
        alone = ["-n0"] if config.pluginmanager.hasplugin("xdist") else []
        self._words = ["-m", "pytest", *arguments, *alone, "-p", "no:mpi-pytest", "-p", _NURSERY]
        self._is_debugged = bool(config.option.usepdb)
        self._outputs = [_terminal()] if self._is_debugged else [os.dup(descriptor) for descriptor in (1, 2)]
        """Where ranks write what is not captured; in the debugger, what they read and write."""
        self._specification = {
            "default": config.option.ranks,
            "collected": os.path.join(folder, "collected"),
            "early": os.path.join(folder, "early"),
            "late": os.path.join(folder, "late"),
            "outputs": self._outputs,
        }
        self._errors, self._errors_file = tempfile.mkstemp(dir=folder)
        self.early: dict[str, Any] = {}
        """The call of MPI at an import, for which each rank collects for itself: what, where."""
        self.server: ForkServer = self._start("nursery", "")

    def _start(self, kind: ServerKind, modules: str) -> ForkServer:
        """Start it; it imports modules first."""
        variables = environment() | {SPECIFICATION: json.dumps(self._specification), "COMMMODEL_PRELOAD": modules}
        flags: list[str] = vars(subprocess)["_args_from_interpreter_flags"]()
        return ForkServer(
            [sys.executable, *flags], self._words, variables, kind=kind, outputs=(self._errors, self._errors),
            descriptors=self._outputs, has_terminal=self._is_debugged,
        )  # fmt: skip

    def collected(self, wait: Callable[[], str], scout: Callable[[], None]) -> dict[str, Any]:
        """Return what was collected.

        Where imports call MPI, ranks collect for themselves: `wait` begins the first of them, and returns once that is
        done, with words where it failed. Before many of them `scout` has one do so alone.
        """
        try:
            self.server.wait()
        except RankEndedError as error:
            if error.exit_code != RANK_DEPENDENT:
                raise pytest.UsageError(self._last_words(str(error))) from None
            (self.early,) = read_lines(str(self._specification["early"]))[0]
            self._serve_with(self.early["modules"])
            if self._specification["default"] >= _MANY:
                scout()
                self._share_more()
            if words := wait():
                raise pytest.UsageError(self._last_words(words)) from None
        collected: dict[str, Any] = read_lines(str(self._specification["collected"]))[0][0]
        return collected

    def _serve_with(self, modules: Sequence[str]) -> None:
        """Have an interpreter that has imported modules."""
        self.server.close()
        self.server = self._start("program", " ".join(modules))

    def _share_more(self) -> None:
        """Import what the scout has, where that pays, before ranks begin; not where one of these modules calls MPI."""
        for report in read_lines(str(self._specification["late"]))[0]:
            if report["seconds"] >= _LONG:
                self._serve_with([*self.early["modules"], *report["modules"]])
                try:
                    self.server.wait()
                except RankEndedError:
                    self._serve_with(self.early["modules"])

    def _last_words(self, words: str) -> str:
        """Return the last lines that were written, and more words."""
        with open(self._errors_file, encoding="utf-8", errors="replace") as file:
            return "\n".join([*file.read().splitlines()[-_MOST_LINES:], words])

    def close(self) -> None:
        """End it and all ranks."""
        self.server.close()
        for descriptor in (self._errors, *self._outputs):
            os.close(descriptor)
