"""Has tests collected and run by simulated ranks, and reports each once. Main entry: `Controller`."""

import builtins
import tempfile
import time
import warnings
from collections.abc import Generator, Sequence
from itertools import chain
from typing import Any

import pytest

from commmodel.errors import CommModelError
from commmodel.pytest_simulation import line_coverage
from commmodel.pytest_simulation.collection import SimulatedItem, items_of
from commmodel.pytest_simulation.findings import finding_of
from commmodel.pytest_simulation.interpreter import TestInterpreter
from commmodel.pytest_simulation.last_words import LastWords
from commmodel.pytest_simulation.reports import accused, merged, report_of, world_report
from commmodel.pytest_simulation.worlds import World, WorldEnding
from commmodel.simulate.scenario import place

_Phases = dict[str, dict[int, pytest.TestReport]]
"""Setup, call, teardown -> rank -> report."""


class Controller:
    """Plugin of the process that reports."""

    def __init__(self, config: pytest.Config) -> None:
        if config.option.ranks < 1:
            raise pytest.UsageError(f"--ranks {config.option.ranks}: it is at least 1")
        self._config = config
        try:
            self._place = place(config.option.on)
        except CommModelError as error:
            raise pytest.UsageError(f"--on {config.option.on}: {error}") from None
        self._folder = tempfile.TemporaryDirectory(prefix="commmodel-tests-")
        self._interpreter: TestInterpreter | None = None
        self._worlds: dict[int, World] = {}
        self._following: dict[str, str] = {}
        """Test -> the next one of as many ranks."""
        self._seen_before: set[tuple[Any, ...]] = set()
        """Warnings and findings."""
        self._last_words = LastWords()

    # ---- collecting

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        """Have tests collected."""
        try:
            self._interpreter = TestInterpreter(self._config, self._folder.name)
            collected = self._interpreter.collected(self._begin_first_world, self._scout)
        except CommModelError as error:
            raise pytest.UsageError(str(error)) from None
        hook = self._config.hook
        items, deselected = (items_of(session, collected[name]) for name in ("items", "deselected"))
        for data in collected["reports"]:
            hook.pytest_collectreport(report=report_of(self._config, data))
        hook.pytest_collectreport(report=pytest.CollectReport("", "passed", None, [*items, *deselected]))
        if deselected:
            hook.pytest_deselected(items=deselected)
        for line in collected["warnings"]:
            self._warn(line)
        session.items[:] = items
        session.testscollected = len(items)
        last: dict[int, str] = {}
        for item in items:
            if item.ranks in last:
                self._following[last[item.ranks]] = item.nodeid
            last[item.ranks] = item.nodeid
        hook.pytest_collection_finish(session=session)
        return True

    def _begin_first_world(self) -> str:
        ranks = self._config.option.ranks
        if self._world(ranks).wait():
            return ""
        return self._worlds.pop(ranks).ending().words

    def _scout(self) -> None:
        """Have one rank import and collect alone."""
        if self._interpreter is not None:
            world = World(self._place, 1, self._interpreter.server, self._folder.name, check=False)
            world.wait()
            world.close()

    def _world(self, ranks: int) -> World:
        if ranks not in self._worlds and self._interpreter is not None:
            check = not self._config.option.no_check
            self._worlds[ranks] = World(self._place, ranks, self._interpreter.server, self._folder.name, check=check)
        return self._worlds[ranks]

    # ---- running

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Have a test run by all its ranks; report it once."""
        if not isinstance(item, SimulatedItem):
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self._run(item, nextitem):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _run(self, item: SimulatedItem, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
        begin = time.perf_counter()
        world = self._world(item.ranks)
        following = self._following.get(item.nodeid, "")
        if hasattr(self._config, "workerinput"):  # which tests follow, pytest-xdist decides
            is_next = isinstance(nextitem, SimulatedItem) and nextitem.ranks == item.ranks
            following = nextitem.nodeid if is_next and nextitem is not None else ""
        world.order(item.nodeid, following)
        has_run = world.wait()
        ending = None if has_run else world.ending()
        phases: _Phases = {}
        findings: list[str] = []
        for rank, lines in sorted(world.lines(item.nodeid).items()):
            for line in lines:
                self._read(item, rank, line, phases, findings)
        if ending is None:
            reports = [merged(phases[when], item.ranks) for when in ("setup", "call", "teardown") if when in phases]
            return accused(reports, findings)
        del self._worlds[item.ranks]
        if ending.kind == "refusal":
            raise pytest.UsageError(ending.words)
        failed = {
            rank: report for reports in phases.values() for rank, report in reports.items() if report.failed
        }  # fmt: skip
        words = _words(ending, [*world.faults(), *self._new(ending.findings)])
        return [world_report(item, words, failed, item.ranks, time.perf_counter() - begin)]

    def _read(self, item: SimulatedItem, rank: int, line: dict[str, Any], phases: _Phases, findings: list[str]) -> None:
        """Take a line of a rank."""
        if "report" in line:
            report = report_of(self._config, line["report"])
            phases.setdefault(report.when, {})[rank] = report
        elif "missing" in line:
            report = pytest.TestReport(item.nodeid, item.location, {}, "failed", line["missing"], "setup")
            phases.setdefault("setup", {})[rank] = report
        elif "warning" in line:
            self._warn(line)
        elif "findings" in line:
            findings += [str(finding_of(words)) for words in line["findings"]]
            self._new(findings)
        elif rank == 0 and rank in phases.get("teardown", ()):  # of which JUnit's report has them
            phases["teardown"][rank].user_properties.append(("simulated seconds", line["seconds"]))

    def _new(self, findings: Sequence[str]) -> list[str]:
        """Return findings that were not told before, whatever ranks and however often."""
        keys = [(finding.rpartition(" (")[0],) for finding in findings]
        new = [finding for finding, key in zip(findings, keys, strict=True) if key not in self._seen_before]
        self._seen_before.update(keys)
        return new

    def _warn(self, line: dict[str, Any]) -> None:
        """Pass a warning on, once for all ranks."""
        key = (line["nodeid"], line["filename"], line["lineno"], line["warning"])
        if key in self._seen_before:
            return
        self._seen_before.add(key)
        category = getattr(builtins, line["category"], UserWarning)
        message = warnings.WarningMessage(category(line["warning"]), category, line["filename"], line["lineno"])
        location = None if line["location"] is None else tuple(line["location"])
        self._config.hook.pytest_warning_recorded.call_historic(
            kwargs={"warning_message": message, "nodeid": line["nodeid"], "when": line["when"], "location": location}
        )

    # ---- ending

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self) -> Generator[None, Any, Any]:
        """Have ranks end behind the last test, before pytest-cov combines the files that they write."""
        line_coverage.silence()
        try:
            return (yield)
        finally:
            self._end_worlds()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """End all; the session has failed where the end has."""
        self._end_worlds()
        self._last_words.finish(session)

    def _end_worlds(self) -> None:
        """Have fixtures torn down, ranks end."""
        for world in self._worlds.values():
            world.order("")
            ending = world.ending()
            self._last_words.failures += chain.from_iterable(world.lines("").values())
            if ending.kind != "over":
                lines = _words(ending, world.faults()).splitlines()
                self._last_words.failures += ["after the last test: " + line for line in lines]
            self._last_words.findings += self._new(ending.findings)
        self._worlds.clear()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Tell what was found after the last test."""
        self._last_words.show(terminalreporter)

    def pytest_unconfigure(self) -> None:
        """End all that is left."""
        for world in self._worlds.values():
            world.close()
        if self._interpreter is not None:
            self._interpreter.close()
        self._folder.cleanup()

    def pytest_report_header(self) -> str:
        """Say where tests run."""
        count = self._config.option.ranks
        ranks = "one rank" if count == 1 else f"{count} ranks"
        return f"mpi: simulated on {self._config.option.on}, tests without the mark parallel on {ranks}"

    def pytest_report_collectionfinish(self) -> str:
        """Say why each rank collects for itself."""
        if self._interpreter is None or not self._interpreter.early:
            return ""
        place_of_call = self._interpreter.early["place"]
        return f"mpi: each rank imports and collects for itself, as {place_of_call} calls MPI at its import"


def _words(ending: WorldEnding, more: Sequence[str]) -> str:
    """Return how a world ended, a line each."""
    return "\n".join([*ending.words.split("; "), *ending.notes, *more])
