"""The verb guard: programs that are simulated, baselines in files and folders, exit codes."""

import json
import shlex
import shutil
import sys

import pytest

from commmodel.cli import main

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
    words = ["--markdown", "comment.md", "--junit", "junit.xml", "--badge", "badge.svg"]
    assert main(["guard", "--json", "--workers", "2", *words]) == 1
    answer = json.loads(capsys.readouterr().out)
    (site,) = [site for site in answer["sites"] if site["processes"] == 3]
    assert (site["after"]["call"], site["after"]["file"], site["after"]["line"]) == ("MPI_Bcast", "app.py", 9)
    assert (site["before"]["calls"], site["after"]["calls"]) == (9, 18)
    collectives = [row for row in answer["changes"] if row["metric"] == "collectives" and row["processes"] == 3]
    assert [(row["before"], row["after"], row["change"]) for row in collectives] == [(9, 18, "larger")]
    assert "app.py:9 (everybody)" in (tmp_path / "comment.md").read_text()
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


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "guard.json: there is no such baseline: write it with --accept"),
        (["nosuch.toml"], "nosuch.toml: No such file"),
        (["--baseline", ".", "--accept"], "--accept writes a file of counts"),
        (["--label", "x"], "--label goes with --history"),
        (["--markdown", "guard.toml"], "guard.toml is read"),
        (["--badge", "a", "--junit", "a"], "a would be written twice"),
        (["--badge", "nowhere/b.svg"], "nowhere"),
    ],
)
def test_mistakes_are_named_before_all_work(program, capsys, words, problem):
    program()
    assert main(["guard", *words]) == 2
    assert problem in capsys.readouterr().err
