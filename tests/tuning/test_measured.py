"""Tuning by launches on this machine, by files of rules of the library that is here."""

import json
import os
import sys
from pathlib import Path

import pytest
from support.launching import ENVIRONMENT, find

from commmodel import results, tuning
from commmodel.cli import main
from commmodel.collectives.library import selection
from commmodel.errors import InputError
from commmodel.simulate.scenario import machine_of_parameters
from commmodel.tuning import duel, launches

MACHINE = "L=1us,o=200ns,g=100ns,G=0.1ns"
LIBRARY = "openmpi" if "openmpi" in sys.prefix else "mpich"


@pytest.fixture
def launcher(monkeypatch, tmp_path):
    for name in ENVIRONMENT.keys() - os.environ.keys():
        monkeypatch.setenv(name, ENVIRONMENT[name])
    monkeypatch.chdir(tmp_path)
    if not (launcher := find("mpiexec")):
        pytest.skip("no mpiexec")
    return f"{launcher} -n 2"


def words(launcher, *more, time="8s"):
    grid = ["-p", "2,4", "--sizes", "64,16KiB", "--collectives", "bcast,allreduce", "--library", LIBRARY]
    return ["tune", MACHINE, *grid, "--measure", time, "--launcher", launcher, "-o", "rules", "--json", *more]


@pytest.mark.mpi
def test_launches_decide_and_their_records_are_kept(launcher, capsys, monkeypatch):
    for module in (launches, duel):  # few pairs are enough to see that they are launched
        monkeypatch.setattr(module, "LEAST_PAIRS", 1)
    monkeypatch.setattr(duel, "MOST_PAIRS", 2)
    assert main(words(launcher)) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {(row["operation"], row["processes"]) for row in answer["choices"]} == {
        (operation, count) for operation in ("bcast", "allreduce") for count in (2, 4)
    }
    assert all(row["basis"] == "model" for row in answer["choices"] if row["processes"] == 4)
    assert all(row["low"] > 1 for row in answer["choices"] if row["algorithm"] and row["basis"] == "measured") or (
        LIBRARY == "mpich"
    )
    measured = results.load("rules.jsonl")
    assert len(measured.launches) == answer["launches"]
    names = {record.configuration.algorithm for record in measured.records}
    assert "" in names
    if answer["launches"] == 1:  # on a busy machine
        assert any("no time for any algorithm" in warning for warning in answer["warnings"])
    else:
        assert len(names) > 1
    if answer["output"]:
        assert selection.load("rules").rules
        assert any("rules" in line for line in answer["use"])
    assert not [name for name in os.listdir() if name.startswith("commmodel-tune-")]


def test_a_file_that_is_there_is_not_replaced(launcher, capsys):
    Path("rules.jsonl").write_text("precious\n")
    assert main(words(launcher)) == 2
    assert "rules.jsonl exists: complete it with --resume" in capsys.readouterr().err
    assert Path("rules.jsonl").read_text() == "precious\n"


@pytest.mark.mpi
def test_a_launcher_that_starts_nothing_is_told(launcher, capsys):
    assert main(words("false")) == 3
    assert "--launcher: false starts no ranks" in capsys.readouterr().err
    assert main(words("nosuch-mpiexec -n 2", "--force")) == 3
    assert "nosuch-mpiexec: No such file" in capsys.readouterr().err


@pytest.mark.mpi
def test_more_processes_than_ranks_are_refused(launcher):
    where = tuning.TuningLaunches("rules.jsonl", 5.0, launcher)
    with pytest.raises(InputError, match="the launcher starts 2 ranks, fewer than 16"):
        tuning.tune(machine_of_parameters(MACHINE), [16], [64], LIBRARY, where, collectives=["bcast"])


def test_options_of_predictions_and_of_measurements_are_kept_apart(launcher, capsys):
    assert main([*words(launcher), "--model", "logp"]) == 2
    assert "--model is of predictions alone" in capsys.readouterr().err
    assert main(["tune", MACHINE, "-p", "2", "--library", LIBRARY, "-o", "rules", "--resume"]) == 2
    assert "go with --measure" in capsys.readouterr().err


def test_ranks_do_not_tune(launcher, monkeypatch):
    monkeypatch.setenv("PMI_RANK", "0")
    where = tuning.TuningLaunches("rules.jsonl", 5.0, launcher)
    with pytest.raises(InputError, match="run it without mpiexec"):
        tuning.tune(machine_of_parameters(MACHINE), [2], [64], LIBRARY, where)
