"""The verb guard: programs that are simulated, baselines in files and folders, exit codes."""

import json
import re
import shlex
import shutil
import sys

import pytest
from msgspec.structs import replace
from support import structs
from support.paths import ROOT

from commmodel import guard
from commmodel.cli import main
from commmodel.machine import dump

PROGRAM = """\
from mpi4py import MPI

comm = MPI.COMM_WORLD


def everybody(size):
    buffer = bytearray(size)
    for other in range(comm.size):
        comm.Bcast(buffer, other)


for step in range({steps}):
    everybody(8)
if {hangs}:
    comm.Recv(bytearray(1), 0)
if comm.rank < 2:
    comm.sendrecv({{"first": 1.0, "second": 2.0}}, 1 - comm.rank)
"""
RULES = f"""\
baseline = "guard.json"

[[program]]
name = "app"
command = "{shlex.quote(sys.executable)} app.py"
processes = [2, 3]
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Return a function that writes a program beside its guard file, in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "guard.toml").write_text(RULES)

    def write(steps=1, *, hangs=False, folder="."):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "app.py").write_text(PROGRAM.format(steps=steps, hangs=hangs))

    return write


@pytest.mark.mpi
@pytest.mark.simulated
def test_a_program_is_guarded_by_counts_in_a_file(program, tmp_path, capsys):
    program()
    assert main(["guard", "--accept", "--workers", "1"]) == 0
    first = (tmp_path / "guard.json").read_bytes()
    assert main(["guard", "--accept", "--workers", "1"]) == 0
    assert (tmp_path / "guard.json").read_bytes() == first  # to the last bit
    program(steps=2)
    capsys.readouterr()
    dump(structs.sending(), tmp_path / "machine.toml")
    words = ["--markdown", "comment.md", "--junit", "junit.xml", "--badge", "badge.svg", "--machine", "machine.toml"]
    assert main(["guard", "--json", "--workers", "2", *words]) == 1
    answer = json.loads(capsys.readouterr().out)
    (site,) = [site for site in answer["sites"] if site["processes"] == 3]
    assert (site["after"]["call"], site["after"]["file"], site["after"]["line"]) == ("MPI_Bcast", "app.py", 9)
    assert (site["before"]["calls"], site["after"]["calls"]) == (9, 18)
    collectives = [row for row in answer["changes"] if row["metric"] == "collectives" and row["processes"] == 3]
    assert [(row["before"], row["after"], row["change"]) for row in collectives] == [(9, 18, "larger")]
    text = (tmp_path / "comment.md").read_text()
    assert text.index("app.py:9 (everybody)") < text.index("How to send") < text.index("a gigabyte in one piece")
    assert "comm.send(data, dest=peer, tag=tag)" in answer["sending"]["a dictionary of 10000 numbers"]["code"]
    (pickled,) = answer["sending_sites"]
    assert (pickled["place"], pickled["messages"], pickled["kind"], pickled["best"]) == (
        "app.py:17",
        2,
        "dict",
        "pickle",
    )
    assert "contents" not in answer["runs"][0]
    assert main(["guard", "--accept", "--workers", "1"]) == 0


@pytest.mark.mpi
@pytest.mark.simulated
def test_a_program_is_guarded_by_another_checkout_and_a_deadlock_is_no_crash(program, tmp_path, capsys):
    program(folder="base")
    program(hangs=True)
    assert main(["guard", "--baseline", "base", "--workers", "1", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert not answer["holds"]
    assert "app on 2 ranks: deadlock" in answer["notes"][0]
    assert "app.py:15" in answer["notes"][0]
    shutil.copy(tmp_path / "base/app.py", tmp_path / "app.py")
    assert main(["guard", "--baseline", "base", "--workers", "1"]) == 0
    assert "20" not in capsys.readouterr().err


@pytest.mark.mpi
@pytest.mark.simulated
def test_the_example_still_sends_what_its_baseline_says(monkeypatch):
    monkeypatch.chdir(ROOT / "examples" / "guard")
    rules = guard.load("guard.toml")
    (solver,) = rules.program
    baseline = guard.load_counts(rules.baseline)
    assert [run.processes for run in baseline.runs] == [*solver.processes]
    few = replace(solver, command=f"{shlex.quote(sys.executable)} solver.py", processes=(4, 8), expect={})
    comparison = guard.run(replace(rules, program=(few,)), baseline).comparison
    assert {change.change for change in comparison.changes} == {"same"}
    assert (len(comparison.changes), comparison.sites) == (2 * 5, ())


def test_the_page_has_the_numbers_of_the_baseline():
    page = (ROOT / "docs" / "howto" / "ci.md").read_text("utf-8")
    (largest,) = [run for run in guard.load_counts(ROOT / "examples/guard/guard.json").runs if run.processes == 64]
    for name in ("messages", "calls", "collectives"):
        assert re.search(rf"solver      64  {name} +{getattr(largest, name):,} ", page)


MEASURING = """
import json, sys, time
side, output, repetitions = sys.argv[1:]
steps = int(open(f"{side}/steps").read())
samples = []
for repetition in range(int(repetitions)):
    begin = time.process_time()
    sum(range(steps))
    samples.append(time.process_time() - begin)
function = {"kernel": "function", "name": "work", "metric": "time", "parameters": []}
header = {"type": "header", "format": "commmodel-results", "version": 1, "created": "", "command": [],
          "mpi": {"version": "none"}, "hosts": [], "ranks": []}
record = {"type": "record", "configuration": function, "unit": "s", "samples": samples}
open(output, "w").write(f"{json.dumps(header)}\\n{json.dumps(record)}\\n")
"""


@pytest.mark.mpi
@pytest.mark.simulated
@pytest.mark.parametrize(("steps", "code"), [(60_000, 1), (20_000, 0)])
def test_versions_are_measured_in_turns(program, tmp_path, capsys, steps, code):
    program(folder="base")
    program()
    (tmp_path / "measure.py").write_text(MEASURING)
    (tmp_path / "base" / "steps").write_text("20000")
    (tmp_path / "steps").write_text(f"{steps}")
    python, place = shlex.quote(sys.executable), shlex.quote(str(tmp_path / "measure.py"))
    times = f"{python} {place} {{side}} {{output}} {{repetitions}}".replace('"', '\\"')
    rules = RULES.replace("[2, 3]", "[2]")
    # What 3 times slower is, any launches show; what is alike could be called slower by chance below half as much.
    (tmp_path / "guard.toml").write_text(
        f'{rules}[times]\ncommand = "{times}"\nlaunches = 8\ntime = "1ms"\nleast = "50%"'
    )
    assert main(["guard", "--baseline", "base", "--times", "--json", "--markdown", "comment.md"]) == code
    answer = json.loads(capsys.readouterr().out)
    (row,) = answer["times"]["differences"]
    assert answer["times"]["pairs"] == 8
    assert (row["name"], row["launches"], row["unit"]) == ("work, time", [8, 8], "s")
    assert (row["verdict"] == "slower") == bool(code) == answer["verdict"].startswith("slower")
    assert f"Times, measured in turns: {code} of 1 slower" in (tmp_path / "comment.md").read_text()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "guard.json: there is no such baseline: write it with --accept"),
        (["nosuch.toml"], "nosuch.toml: No such file"),
        (["--baseline", ".", "--accept"], "--accept writes a file of counts"),
        (["--label", "x"], "--label goes with --history"),
        (["--machine", "nosuch.toml"], "nosuch.toml"),
        (["--machine", "L=2us,o=1us,g=2us,G=1ns"], "has no [[sending]], by which the guard says how to send: measure"),
        (["--markdown", "guard.toml"], "guard.toml is read"),
        (["--badge", "a", "--junit", "a"], "a would be written twice"),
        (["--badge", "nowhere/b.svg"], "nowhere"),
    ],
)
def test_mistakes_are_named_before_all_work(program, capsys, words, problem):
    program()
    assert main(["guard", *words]) == 2
    assert problem in capsys.readouterr().err
