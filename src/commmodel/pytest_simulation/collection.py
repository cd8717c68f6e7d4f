"""What was collected, told by a nursery or a rank, read by the controller.

Main entries: `Collection`, `SimulatedItem`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from commmodel.pytest_simulation.messages import warning_line, write_lines
from commmodel.pytest_simulation.parallel_mark import ranks_of


class Collection:
    """Keeps what pytest collects here, and writes it down."""

    def __init__(self, config: pytest.Config, default: int) -> None:
        self._config, self._default = config, default
        self._reports: list[Any] = []
        self._deselected: list[Any] = []
        self._warnings: list[Any] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep what could not be collected, or was skipped."""
        if not report.passed:
            self._reports.append(
                self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
            )  # fmt: skip

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Keep them."""
        self._deselected.extend(map(self._facts, items))

    def pytest_warning_recorded(self, warning_message: Any, when: str, nodeid: str, location: Any) -> None:
        """Keep a warning of configuration or collection; not of what was imported before pytest began here."""
        if when != "runtest" and not issubclass(warning_message.category, pytest.PytestAssertRewriteWarning):
            self._warnings.append(warning_line(warning_message, when, nodeid, location))

    def write(self, session: pytest.Session, file: str) -> None:
        """Append all to a file."""
        items = [*map(self._facts, session.items)]
        write_lines(
            file,
            [{"items": items, "reports": self._reports, "deselected": self._deselected, "warnings": self._warnings}],
        )

    def _facts(self, item: pytest.Item) -> dict[str, Any]:
        return {
            "name": item.name, "nodeid": item.nodeid, "path": str(item.path), "location": item.location,
            "ranks": ranks_of(item, self._default),
        }  # fmt: skip


class SimulatedItem(pytest.Item):
    """A test as the controller knows it, which has not imported it."""

    def __init__(self, *, location: Sequence[Any], ranks: int, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.ranks: int = ranks
        self._place = location

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return file, line and name."""
        return self.path, self._place[1], self._place[2]

    def runtest(self) -> None:
        """Raise: ranks run it."""
        raise NotImplementedError(self.nodeid)


def items_of(session: pytest.Session, facts: Sequence[dict[str, Any]]) -> list[SimulatedItem]:
    """Return the tests that a nursery has told."""
    return [
        SimulatedItem.from_parent(
            session, name=item["name"], nodeid=item["nodeid"], path=Path(item["path"]), location=item["location"],
            ranks=item["ranks"],
        )
        for item in facts
    ]  # fmt: skip
