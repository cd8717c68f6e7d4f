"""Long simulations say on a terminal how far they are, and nowhere else."""

import io
import sys
import time

import numpy as np
import pytest

from commmodel.cli import progress
from commmodel.cli.progress import ProgressLine
from commmodel.simulate import Program, fluid, platform, run
from commmodel.simulate.operations import OPERATION, UNNAMED, Code


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def soon(monkeypatch):
    monkeypatch.setattr(progress, "_FIRST", 0.0)
    monkeypatch.setattr(progress, "_BETWEEN", 0.001)


def until(until_size):
    end = time.monotonic() + 60
    while not until_size() and time.monotonic() < end:
        time.sleep(0.001)


def test_a_terminal_shows_how_far_it_is_and_is_clean_afterwards(monkeypatch, soon):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with ProgressLine("Bcast by fluid") as result:
        result.note(0.25, 1_500_000)
        until(lambda: "simulated" in sys.stderr.getvalue())
    assert "Bcast by fluid: 0 s; simulated 250 ms, 1,500,000 events" in sys.stderr.getvalue()
    assert sys.stderr.getvalue().endswith("\r\x1b[K")


def test_what_is_no_terminal_gets_nothing(monkeypatch, soon):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with ProgressLine("Bcast"):
        time.sleep(0.05)
    assert sys.stderr.getvalue() == ""


def test_an_error_ends_the_line_as_well(monkeypatch, soon):
    monkeypatch.setattr(sys, "stderr", Terminal())

    def interrupted():
        with ProgressLine("Bcast"):
            until(lambda: "Bcast" in sys.stderr.getvalue())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert sys.stderr.getvalue().endswith("\r\x1b[K")


def test_the_engine_says_how_far_it_is_and_stops_where_that_raises():
    steps = np.zeros(300_000, dtype=OPERATION)
    steps["code"], steps["request"], steps["value"] = Code.COMPUTE, UNNAMED, 1e-6
    rows = []
    outcome = run(
        Program.from_ranks([steps]), fluid(), platform.flat(1, 1e9, 0.0), progress=lambda *far: rows.append(far)
    )
    assert 1 <= len(rows) <= 3
    assert rows == sorted(rows)
    assert rows[-1][0] <= outcome.seconds

    def stop(*_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        run(Program.from_ranks([steps]), fluid(), platform.flat(1, 1e9, 0.0), progress=stop)
