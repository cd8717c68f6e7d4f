"""What is told behind the last test: what failed in the end, and what ranks have left open.

A worker of pytest-xdist passes it on to the process that reports. Main entries: `LastWords`, `WordsOfWorkers`.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest

_OUTPUT = "commmodel_last_words"
"""Name of what a worker of pytest-xdist gives back."""


@dataclass
class LastWords:
    """Lines that belong to no test."""

    failures: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    """Wrong uses of MPI that ranks tell when they end: leaks, requests never completed."""

    def finish(self, session: pytest.Session) -> None:
        """Fail the session where something has failed; in a worker, pass all on."""
        outputs: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if outputs is not None:
            outputs[_OUTPUT] = [self.failures, self.findings]
        elif self.failures and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def show(self, reporter: Any) -> None:
        """Write all to the terminal."""
        if self.failures or self.findings:
            reporter.section("at the end")
            for line in [*self.failures, *self.findings]:
                reporter.line(line)


class WordsOfWorkers:
    """Plugin of the process that has workers of pytest-xdist: gathers their last words, each once."""

    def __init__(self) -> None:
        self._words = LastWords()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take those of a worker that has ended."""
        failures, findings = getattr(node, "workeroutput", {}).get(_OUTPUT, ([], []))
        self._words.failures += [line for line in failures if line not in self._words.failures]
        begins = {_without_ranks(line) for line in self._words.findings}
        self._words.findings += [line for line in findings if _without_ranks(line) not in begins]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the session where a worker's end has failed."""
        self._words.finish(session)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Tell all."""
        self._words.show(terminalreporter)


def _without_ranks(finding: str) -> str:
    return finding.rpartition(" (")[0] or finding
