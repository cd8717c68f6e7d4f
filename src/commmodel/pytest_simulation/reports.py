"""The reports of all ranks on a test as one. Main entries: `report_of`, `merged`, `world_report`."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

_MOST_NAMED = 12
"""Ranks in a list."""
_MOST_OUTPUTS = 3
"""Ranks whose captured output is shown."""


def rank_list(ranks: Sequence[int], total: int) -> str:
    """Return ranks in words.

    >>> rank_list([0, 1, 2, 5], 8)
    'ranks 0 to 2, 5 of 8'
    """
    if len(ranks) == total:
        return "the only rank" if total == 1 else f"all {total} ranks"
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    parts = [part for run in runs for part in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))]
    words = ", ".join(parts[:_MOST_NAMED]) + (", ..." if len(parts) > _MOST_NAMED else "")
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {words} of {total}"


class RanksRepr(TerminalRepr):
    """Why a test failed: the traceback of each group of ranks that failed alike, once."""

    def __init__(self, groups: Sequence[tuple[str, Any]], message: str, place: tuple[str, int]) -> None:
        self._groups = groups
        self.reprcrash: ReprFileLocation = ReprFileLocation(*place, message)

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write it."""
        for title, representation in self._groups:
            tw.sep("_ ", title, red=True)
            if hasattr(representation, "toterminal"):
                representation.toterminal(tw)
            else:
                tw.line(str(representation))


def report_of(config: pytest.Config, data: Mapping[str, Any]) -> Any:
    """Return a report of a test or of what was collected, as a rank wrote it down."""
    report = config.hook.pytest_report_from_serializable(config=config, data=data)
    if isinstance(report.longrepr, list):  # why a test is skipped: file, line and reason, of which JSON makes a list
        report.longrepr = tuple(report.longrepr)
    return report


def _text(report: pytest.TestReport) -> str:
    """Return the traceback without what differs from rank to rank: addresses and captured output."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        entries = getattr(getattr(report.longrepr, "reprtraceback", None), "reprentries", [])
        places = [(str(entry.reprfileloc.path), entry.reprfileloc.lineno) for entry in entries if entry.reprfileloc]
        return f"{crash.path}:{crash.lineno} {crash.message.partition(chr(10))[0]} {places}"
    return report.longreprtext


def _failure(reports: Mapping[int, pytest.TestReport], total: int) -> RanksRepr:
    groups: dict[str, list[int]] = {}
    for rank, report in reports.items():
        groups.setdefault(_text(report), []).append(rank)
    groups_of_ranks = [(f"on {rank_list(ranks, total)}", reports[ranks[0]].longrepr) for ranks in groups.values()]
    first = next(iter(reports.values()))
    crash = getattr(first.longrepr, "reprcrash", None)
    where = rank_list(next(iter(groups.values())), total)
    if crash is None:
        return RanksRepr(groups_of_ranks, f"{where}: {first.longreprtext.rpartition(chr(10))[2]}", (first.nodeid, 0))
    return RanksRepr(
        groups_of_ranks, crash.message if total == 1 else f"{where}: {crash.message}", (crash.path, crash.lineno)
    )


def merged(reports: Mapping[int, pytest.TestReport], total: int) -> pytest.TestReport:
    """Return the reports of one phase of a test, by rank, as one: failed where it failed on any rank."""
    failed = {rank: report for rank, report in reports.items() if report.failed}
    is_skipped = all(report.skipped for report in reports.values())
    decisive = failed or {rank: report for rank, report in reports.items() if report.skipped == is_skipped}
    first_rank, first = next(iter(decisive.items()))
    if failed and total > 1:
        shown = list(failed.items())[:_MOST_OUTPUTS]
        first.longrepr = _failure(failed, total)
        first.sections = [
            (f"{title} on rank {rank}", text) for rank, report in shown for title, text in report.sections
        ]  # fmt: skip
    elif total > 1:
        first.sections = [(f"{title} on rank {first_rank}", text) for title, text in first.sections]
    return first


def accused(reports: list[pytest.TestReport], findings: Sequence[str]) -> list[pytest.TestReport]:
    """Return the reports of a test: one that passed has failed where MPI was used wrongly."""
    call = next((report for report in reports if report.when == "call"), None)
    if not findings or call is None:
        return reports
    if not call.passed or hasattr(call, "wasxfail"):
        call.sections.append(("wrong uses of MPI", "\n".join(findings)))
        return reports
    place = (str(call.location[0]), (call.location[1] or 0) + 1)
    call.outcome = "failed"
    call.longrepr = RanksRepr([("wrong uses of MPI", "\n".join(findings))], findings[0], place)
    return reports


def world_report(
    item: pytest.Item, words: str, failed: Mapping[int, pytest.TestReport], total: int, duration: float
) -> pytest.TestReport:
    """Return the report of a test that ended its world: what failed before on some ranks, and what ended it."""
    place = (str(item.path), (item.location[1] or 0) + 1)
    groups: list[tuple[str, Any]] = []
    message = words.partition("\n")[0]
    if failed:
        failure = _failure(failed, total)
        groups += failure._groups
        message, place = failure.reprcrash.message, (failure.reprcrash.path, failure.reprcrash.lineno)
    groups.append(("then" if failed else "what ended the test", words))
    return pytest.TestReport(
        nodeid=item.nodeid, location=item.location, keywords={}, outcome="failed",
        longrepr=RanksRepr(groups, message, place), when="call", duration=duration,
    )  # fmt: skip
