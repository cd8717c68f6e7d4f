"""Long work says on a terminal and in notebooks how far it is, and nowhere else."""

import io
import os
import re
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from support import scaling_samples

from commmodel import optimize, predict, progress, scaling, simulate
from commmodel.progress import ProgressLine
from commmodel.simulate import Program, fluid, platform, run
from commmodel.simulate.operations import OPERATION, UNNAMED, Code


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def soon(monkeypatch):
    monkeypatch.setattr(progress, "_FIRST", 0.0)
    monkeypatch.setattr(progress, "_BETWEEN", 0.001)


@pytest.fixture
def notebook(monkeypatch, soon):
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


def until(until_size):
    end = time.monotonic() + 60
    while not until_size() and time.monotonic() < end:
        time.sleep(0.001)


def test_a_terminal_shows_how_far_it_is_and_is_clean_afterwards(monkeypatch, soon):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(ProgressLine, "at_command", True)
    with ProgressLine("Bcast by fluid") as result:
        result.note(0.25, 1_500_000)
        until(lambda: "simulated" in sys.stderr.getvalue())
    assert "Bcast by fluid: 0 s; simulated 250 ms, 1,500,000 events" in sys.stderr.getvalue()
    assert sys.stderr.getvalue().endswith("\r\x1b[K")


def test_what_is_left_of_counted_work_is_estimated(monkeypatch, soon):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(ProgressLine, "at_command", True)
    with ProgressLine("advice") as line:
        line.count(1, 4)
        until(lambda: "left" in sys.stderr.getvalue())
        line.count(4, 4)
    assert re.search(r"1 of 4 runs, about [0-9.]+ [mun]?s left", sys.stderr.getvalue())


def test_a_command_whose_errors_go_to_a_file_writes_nothing(monkeypatch, soon):
    monkeypatch.setattr(ProgressLine, "at_command", True)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with ProgressLine("Bcast"):
        time.sleep(0.05)
    assert sys.stderr.getvalue() == ""


def test_an_error_ends_the_line_as_well(monkeypatch, soon):
    monkeypatch.setattr(sys, "stderr", Terminal())

    def interrupted():
        with ProgressLine("Bcast", at_terminal=True):
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


def ring(where, scale):
    until(lambda: "what if" in sys.stderr.getvalue())
    return simulate.exchange("ring", 1024, 4, on=where, scale=scale)


def test_a_call_shows_one_line_in_a_notebook_and_leaves_it_empty(monkeypatch, notebook):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    simulate.what_if.predictions(ring, ["switch"], [simulate.scenario.Scale(), simulate.scenario.Scale(latency=2.0)])
    output = sys.stderr.getvalue()
    assert re.match(r"\rwhat if: 0 s", output)
    assert not re.search("Ring|\x1b", output)  # no line within the line, no code that notebooks do not know
    assert output.endswith(f"\r\r{'':100}\r")


def bars_of(monkeypatch, at_terminal):
    monkeypatch.setattr(sys, "stderr", Terminal() if at_terminal else io.StringIO())
    with ProgressLine("Bcast", at_terminal=at_terminal) as line:
        line.count(3, 8)
        until(lambda: "3 of 8 runs" in sys.stderr.getvalue())
    return re.findall(r"Bcast: 0 s ([^\r]*?); 3 of 8 runs", sys.stderr.getvalue())  # of one line


def test_a_terminal_shows_a_bar(monkeypatch, soon):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    bar = bars_of(monkeypatch, at_terminal=True)[0]
    assert re.sub(r"\x1b\[[0-9;]*m", "", bar) == 9 * "━" + "╺" + 14 * "━"
    assert bar != re.sub(r"\x1b\[[0-9;]*m", "", bar)


def test_a_notebook_shows_a_bar_without_colours(monkeypatch, notebook):
    assert bars_of(monkeypatch, at_terminal=False)[0] == f"{9 * '━'}{'':15}"


@pytest.mark.parametrize("name", ["scaling.check", "optimize.ranking", "predict.tune"])
def test_long_calls_count_what_they_have_done(monkeypatch, name):
    counted = []
    monkeypatch.setattr(ProgressLine, "count", lambda _, *far: counted.append(far))
    LONG_CALLS[name]()
    done, totals = {row[0] for row in counted}, {row[1] for row in counted}
    assert totals == {max(done) + 1}


def test_a_script_on_a_terminal_shows_no_line(monkeypatch, soon):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with ProgressLine("Bcast") as line:
        assert not line.is_shown
    assert sys.stderr.getvalue() == ""


LONG_CALLS = {
    "scaling.check": lambda: scaling.check(scaling_samples.measured({"bcast": "p"}), scaling.load("mpi")),
    "optimize.ranking": lambda: optimize.ranking(
        optimize.MessageCosts(overhead=2e-6, latency=10e-6, byte_time=1e-9),
        [optimize.TransferProblem(1 << 20, 5e-4)],
        optimize.Candidates("any"),
    ),
    "predict.tune": lambda: predict.tune(
        simulate.scenario.machine_of_parameters("L=2us,o=1us,g=1us,G=1ns"),
        [4],
        [8],
        "openmpi",
        collectives=["bcast", "reduce"],
    ),
}
COMPILING = """
import io, sys
from commmodel import progress
progress._FIRST, progress._BETWEEN = 0.0, 0.001
import numpy as np
from commmodel.models import postal

def said():
    text, sys.stderr = sys.stderr.getvalue(), io.StringIO()
    sys.stderr.isatty = lambda: IS_TERMINAL
    return text.count("compiling the formulas, once: 0 s") > 0

sys.stderr = io.StringIO()
said()
postal.time(np.arange(8.0), 1e-6, 1e-9)
formula = said()
postal.time(np.ones((1000, 1)), np.ones(1000), 1e-9)
loop = said()
postal.time(np.ones((1000, 1)), np.ones(1000), 1e-9)
print(formula, loop, said())
"""


@pytest.mark.parametrize(("is_terminal", "shown"), [(True, "True True False"), (False, "False False False")])
def test_a_terminal_shows_that_formulas_are_compiled(tmp_path, is_terminal, shown):
    """In a process of its own, where nothing is compiled yet."""
    code = COMPILING.replace("IS_TERMINAL", str(is_terminal))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == shown
