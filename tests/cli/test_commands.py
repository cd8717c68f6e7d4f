"""The command `commmodel`: what it prints, writes and answers to wrong words."""

import json
import subprocess
import sys

import pytest
from support.commands import joined
from support.paths import ROOT

from commmodel import machine
from commmodel.cli import main

RESULTS = ROOT / "docs" / "examples" / "results.jsonl"


@pytest.fixture
def fitted(tmp_path, capsys):
    """A machine file made from the results that the documentation shows."""
    path = tmp_path / "machine.toml"
    assert main(["fit", str(RESULTS), "-o", str(path)]) == 0
    capsys.readouterr()
    return path


def test_fit_writes_a_machine_and_shows_it(tmp_path, capsys):
    path = tmp_path / "machine.toml"
    assert main(["fit", str(RESULTS), "-o", str(path), "--name", "my cluster"]) == 0
    printed = capsys.readouterr().out
    assert "Machine my cluster" in printed
    assert f"next: commmodel report {RESULTS} {path}" in joined(printed)
    loaded = machine.load(path)
    assert loaded.name == "my cluster"
    assert loaded.origin.results == ("results.jsonl",)
    assert loaded.confidence == 0.95


def test_fit_as_json_is_one_object_that_agrees_with_the_file(tmp_path, capsys):
    path = tmp_path / "machine.toml"
    assert main(["fit", str(RESULTS), "-o", str(path), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    loaded = machine.load(path)
    assert len(printed["segments"]) == len(loaded.segments)
    alphas = [model["alpha"]["value"] for model in printed["models"]["postal"]]
    assert alphas == [segment.postal.alpha.value for segment in loaded.segments]


def test_fit_takes_limits_and_confidence_from_its_user(tmp_path, capsys):
    path = tmp_path / "machine.toml"
    arguments = ["--protocol-limits", "64,4KiB", "--confidence", "80%", "--resamples", "50", "--seed", "9"]
    assert main(["fit", str(RESULTS), "-o", str(path), *arguments]) == 0
    loaded = machine.load(path)
    assert [segment.limit.value for segment in loaded.segments[:-1]] == [64, 4096]
    assert (loaded.confidence, loaded.origin.seed) == (0.8, 9)


def test_report_prints_tables_and_writes_one_file(fitted, tmp_path, capsys):
    page = tmp_path / "report.html"
    assert main(["report", str(RESULTS), str(fitted), "-o", str(page)]) == 0
    printed = capsys.readouterr().out
    assert "MPI library" in printed
    assert "Machine" in printed
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_report_as_json_has_every_record(fitted, tmp_path, capsys):
    assert main(["report", str(RESULTS), str(fitted), "-o", str(tmp_path / "r.html"), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert len(printed["records"]) == len(RESULTS.read_text().splitlines()) - 1
    assert printed["machine"]["name"] == machine.load(fitted).name


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "required: VERB"),
        (["frobnicate"], "there is no 'frobnicate'"),
        (["fit"], "required: RESULTS"),
        (["fit", "missing.jsonl"], "missing.jsonl: No such file or directory"),
        (["fit", "RESULTS", "--protocol-limits", "4:1"], "the range ends before it begins"),
        (["fit", "RESULTS", "--confidence", "3"], "--confidence: '3' is 300%, not between 0 and 100%"),
        (["fit", "RESULTS", "--resamples", "many"], "--resamples: 'many' is no whole number from 20 up"),
        (["fit", "RESULTS", "--colour", "red"], "unrecognized arguments"),
        (["report", "a.toml", "b.toml"], "one machine file at most, not a.toml, b.toml"),
        (["report", "FITTED"], "no results file"),
        (["report", "RESULTS", "-o", "/no/such/folder/report.html"], "/no/such/folder/report.html"),
    ],
)
def test_wrong_words_are_one_line_and_exit_code_2(arguments, words, fitted, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    places = {"RESULTS": str(RESULTS), "FITTED": str(fitted)}
    if arguments[:1] == ["fit"]:
        fitted.unlink()
    assert main([places.get(word, word) for word in arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert len(output.err.splitlines()) == 1
    assert words in output.err


def test_a_machine_file_is_only_replaced_by_force(fitted, capsys, monkeypatch):
    monkeypatch.chdir(fitted.parent)
    before = fitted.read_text()
    for words in ([], ["-o", "machine.toml"]):
        assert main(["fit", str(RESULTS), *words]) == 2
        assert "machine.toml exists: replace it with --force, or name another file with -o" in capsys.readouterr().err
        assert fitted.read_text() == before
    assert main(["fit", str(RESULTS), "--resamples", "20", "--force"]) == 0
    assert fitted.read_text() != before


def test_a_reader_that_has_seen_enough_is_no_fault(tmp_path):
    command = f"{sys.executable} -m commmodel fit {RESULTS} -o {tmp_path}/m.toml"
    completed = subprocess.run(["bash", "-c", f"set -o pipefail; {command} | true"], capture_output=True, text=True)
    assert completed.returncode == 0
    assert completed.stderr == ""


@pytest.mark.parametrize(
    ("left", "message"),
    [
        (0.0, "1000000 processes would take about 1.8 GB, and 0 GB are left"),  # asked before
        (None, "there is not enough memory for what is asked"),  # found out when it is taken
    ],
)
def test_more_than_fits_into_memory_is_one_line(monkeypatch, capsys, left, message):
    def memory():
        if left is None:
            raise MemoryError
        return left

    monkeypatch.setattr("commmodel.arguments._memory_left", memory)
    assert main(["simulate", "graphene", "bcast", "-p", "1000000", "-n", "5"]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"commmodel: {message}")
    assert printed.err.count("\n") == 1
