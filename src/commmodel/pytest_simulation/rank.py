"""A rank: runs the tests that the controller orders, and writes their reports down. Main entry: `be_rank`.

Rank 0 reads the orders and passes them on. All ranks meet at the end of each test, in a communicator of their own: one
that leaves a test too early waits there, which ends the world as a deadlock.
"""

import ctypes
import faulthandler
import io
import os
import sys
import zlib
from contextlib import suppress
from typing import Any

import pytest

from commmodel.pytest_simulation import line_coverage
from commmodel.pytest_simulation.end_of_test import Boundary
from commmodel.pytest_simulation.messages import DESCRIPTORS, read_lines, specification, warning_line, write_lines

_WORDS = 3  # of an order
_LONGEST = 1 << 16  # bytes of a finding


class RankPlugin:
    """Keeps reports and warnings of the test that runs; lets the first rank that fails alone into the debugger."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._debugger = config.pluginmanager.get_plugin("pdbinvoke")
        if self._debugger is not None:
            config.pluginmanager.unregister(self._debugger)
        self.folder: str = ""
        self._lines: list[dict[str, Any]] = []

    def take(self) -> list[dict[str, Any]]:
        """Return what was kept, and forget it."""
        lines, self._lines = self._lines, []
        return lines

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a report."""
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._lines.append({"report": data})

    def pytest_warning_recorded(self, warning_message: Any, when: str, nodeid: str, location: Any) -> None:
        """Keep a warning."""
        if when == "runtest":
            self._lines.append(warning_line(warning_message, when, nodeid, location))

    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        """Begin the debugger where no other rank has."""
        if self._debugger is None:
            return
        flag = os.path.join(self.folder, f"debugged-{zlib.crc32(node.nodeid.encode())}")
        with suppress(FileExistsError):
            os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
            self._debugger.pytest_exception_interact(node, call, report)


class Findings:
    """Wrong uses of MPI, as our library tells them: those since the last test."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._text = ctypes.create_string_buffer(_LONGEST)
        self._times: dict[int, int] = {}

    def forget_buffers(self) -> None:
        """Say nothing more of buffers of pending requests: the test may have lost them, their memory is used again."""
        self._library.commmodel_leave_part()

    def new(self) -> list[list[str]]:
        """Return what was seen since the last call: kind, sentence, times, ranks, and five words of each site."""
        self._library.commmodel_end_part()
        findings: list[list[str]] = []
        number = 0
        while self._library.commmodel_finding(number, self._text, _LONGEST) > 0:
            words = self._text.value.decode("utf-8", "replace").split("\n")
            before = self._times.get(number, 0)
            self._times[number] = int(words[2])
            if self._times[number] > before:
                words[2] = str(self._times[number] - before)
                findings.append(words)
            number += 1
        return findings


def _restart_capture(config: pytest.Config) -> None:
    """Capture into files of this rank's own."""
    manager: Any = config.pluginmanager.get_plugin("capturemanager")
    manager.stop_global_capturing()
    outputs: list[int] = specification()["outputs"]
    if config.option.usepdb:
        outputs *= 3  # the terminal
    elif config.option.capture != "no":
        outputs = []
    for descriptor, output in zip((2, 1, 0), reversed(outputs), strict=False):
        os.dup2(output, descriptor)
    manager.start_global_capturing()


def _items_by_name(session: pytest.Session) -> dict[str, pytest.Item]:
    """Return the tests by the names that the controller knows: those of rank 0, as others may name theirs otherwise."""
    items = {item.nodeid: item for item in session.items}
    (collected, *_), _ = read_lines(specification()["collected"])
    names = [item["nodeid"] for item in collected["items"]]
    if len(names) == len(session.items):
        items |= dict(zip(names, session.items, strict=True))
    return items


def _tear_down(session: pytest.Session, rank: int) -> list[str]:
    """Tear down what fixtures of modules and sessions still have; return what fails."""
    try:
        session._setupstate.teardown_exact(None)
    except Exception as error:  # of any kind, as it is the fixture's own: it is told, and the rank ends
        return [f"rank {rank}: teardown of fixtures: {type(error).__name__}: {error}"]
    return []


def be_rank(session: pytest.Session, end: Any) -> None:
    """Run tests until there are no more orders; does not return."""
    from mpi4py import MPI

    orders, answers = map(int, os.environ[DESCRIPTORS].split())
    _restart_capture(session.config)
    session.config.get_terminal_writer()._file = io.StringIO()  # reports go to the controller
    plugin = RankPlugin(session.config)
    session.config.pluginmanager.register(plugin, "commmodel-rank")
    boundary = Boundary(MPI.COMM_WORLD)
    number = boundary.rank
    findings = Findings()
    items = _items_by_name(session)
    source = os.fdopen(orders, "rb", buffering=0) if number == 0 else None
    while True:
        order = boundary.order(None if source is None else source.readline().decode().rstrip("\n").split("\t"))
        if len(order) < _WORDS:
            break
        folder, name, following = order
        if not plugin.folder:
            faulthandler.enable(open(os.path.join(folder, f"fault-{number}"), "wb"), all_threads=False)  # noqa: SIM115
        plugin.folder = folder
        begin = MPI.Wtime()
        if name in items:
            item = items[name]
            item.ihook.pytest_runtest_protocol(item=item, nextitem=items.get(following))
            lines = plugin.take()
        else:
            lines = [{"missing": f"rank {number} of {boundary.size} has not collected it"}]
        findings.forget_buffers()
        lines.append({"seconds": MPI.Wtime() - begin})
        file = os.path.join(plugin.folder, f"rank-{number}")
        write_lines(file, [{"item": name, "lines": lines}])
        boundary.meet()
        if number == 0:
            write_lines(file, [{"item": name, "lines": [{"findings": findings.new()}]}])
            os.write(answers, b"done\n")
    if plugin.folder:
        write_lines(os.path.join(plugin.folder, f"rank-{number}"), [{"item": "", "lines": _tear_down(session, number)}])
    line_coverage.save()
    boundary.end()
    manager: Any = session.config.pluginmanager.get_plugin("capturemanager")
    manager.stop_global_capturing()
    end(0)
    sys.exit(0)
