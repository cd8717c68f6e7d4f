"""A plugin of pytest for `tools.mutations`: records the lines that each test executes, or runs the tests of a list.

EXECUTED_LINES names a folder for the records; SELECTED_TESTS a file of tests, one a line, in the order to run them.
"""

import json
import os
from pathlib import Path

import pytest
from hypothesis import settings

SOURCE = Path(os.environ["MUTATED_SOURCE"])


class Recorder:
    """Records the lines that each passed test executes in this process, by contexts of coverage."""

    def __init__(self, folder: Path) -> None:
        from coverage import Coverage

        self.file = folder / f"{os.getpid()}.json"
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.coverage = Coverage(data_file=None, config_file=False, include=[f"{SOURCE}/*"])
        self.coverage.start()
        self.coverage.switch_context("")

    def pytest_collection_finish(self):
        """Have hypothesis try few examples, which execute most lines."""
        settings.register_profile("few", settings(), max_examples=3)
        settings.load_profile("few")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        """Count lines for this test."""
        self.coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report):
        """Note how long a test takes, and whether it passes."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self):
        """Write the lines of each test."""
        self.coverage.stop()
        data = self.coverage.get_data()
        lines: dict[str, dict[str, list[int]]] = {test: {} for test in self.seconds if test not in self.failed}
        for file in data.measured_files():
            for line, tests in data.contexts_by_lineno(file).items():
                for test in tests:
                    if test in lines:
                        lines[test].setdefault(str(Path(file).relative_to(SOURCE)), []).append(line)
        self.file.write_text(json.dumps({test: [self.seconds[test], files] for test, files in lines.items()}))


class Selection:
    """The tests of a list, in its order."""

    def __init__(self, file: Path) -> None:
        self.places = {test: place for place, test in enumerate(file.read_text().splitlines())}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        """Leave out all other tests."""
        chosen = [item for item in items if item.nodeid in self.places]
        items[:] = sorted(chosen, key=lambda item: self.places[item.nodeid])


def pytest_configure(config):
    """Register what the environment asks for; with pytest-xdist, its workers record."""
    controls_others = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
    if "EXECUTED_LINES" in os.environ and not controls_others:
        config.pluginmanager.register(Recorder(Path(os.environ["EXECUTED_LINES"])))
    if "SELECTED_TESTS" in os.environ:
        config.pluginmanager.register(Selection(Path(os.environ["SELECTED_TESTS"])))
