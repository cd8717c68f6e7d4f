"""The verb `report` on what a centre has: a folder of another suite's text, and nothing else."""

import json
import re

import pytest
from support.commands import joined
from support.paths import ROOT

from commmodel import machine, predict
from commmodel.cli import main
from commmodel.collectives import Nodes, Problem
from commmodel.fit import fit_machine
from commmodel.formats import load_all

LATENCY = "# OSU MPI Latency Test v5.6.3\n# Size          Latency (us)\n" + "".join(
    f"{1 << power}   {1.5 + (1 << power) / 8000:.2f}\n" for power in range(23)
)
RATES = "# OSU MPI Bandwidth Test v5.6.3\n# Size      Bandwidth (MB/s)\n" + "".join(
    f"{1 << power}   {(1 << power) / max(0.4, (1 << power) / 10000):.2f}\n" for power in range(23)
)
SCRIPT = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\nsrun ./osu_latency\n"


@pytest.fixture
def folder(tmp_path):
    """A folder of OSU's output and the job script that made it."""
    place = tmp_path / "osu"
    place.mkdir()
    (place / "latency.out").write_text(LATENCY)
    (place / "bw.out").write_text(RATES)
    (place / "job.sh").write_text(SCRIPT)
    return place


def test_one_command_on_a_folder_of_osu_output_fits_and_predicts(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(folder), "--ranks", "2/1"]) == 0
    printed = capsys.readouterr().out
    assert "Machine" in printed
    assert "256 nodes" in printed
    for operation in ("barrier", "bcast, 8 KiB", "allreduce, 8 B", "alltoall, 1 KiB"):
        assert operation in printed
    assert f"next: commmodel predict {folder} send" in joined(printed)
    page = (tmp_path / "report.html").read_text()
    assert "Collectives on many nodes" in page


def test_what_is_shown_of_many_nodes_is_what_predict_says(folder, tmp_path, capsys):
    fitted = fit_machine(load_all([folder]))
    answer = predict.collective(fitted, "allreduce", Problem(256, 8, nodes=Nodes(1)))
    assert main(["report", str(folder), "-o", str(tmp_path / "page.html")]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "allreduce, 8 B" in line)
    assert f"{answer.time.seconds * 1e6:.3g}"[:3] in line.split("[")[-2]


def test_messages_within_a_node_say_nothing_of_many(tmp_path, capsys):
    assert main(["report", str(ROOT / "docs" / "examples" / "results.jsonl"), "-o", str(tmp_path / "page.html")]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "No collective is predicted: messages were measured within a node alone" in printed
    assert "256 nodes" not in printed


def test_a_machine_that_is_given_is_not_fitted_anew(folder, tmp_path, capsys):
    file = tmp_path / "mine.toml"
    machine.dump(fit_machine(load_all([folder]), name="mine"), file)
    assert main(["report", str(folder), str(file), "-o", str(tmp_path / "page.html"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["machine"]["name"] == "mine"


def test_what_makes_no_machine_is_reported_all_the_same(tmp_path, capsys):
    results = ROOT / "docs" / "examples" / "results.jsonl"
    lines = results.read_text().splitlines()
    short = tmp_path / "short.jsonl"
    short.write_text("\n".join(lines[:2]) + "\n")
    assert main(["report", str(short), "-o", str(tmp_path / "page.html")]) == 0
    output = capsys.readouterr()
    assert "no machine was fitted: " in output.err
    assert "MPI library" in output.out


def test_a_folder_without_measurements_is_one_line(tmp_path, capsys):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert main(["report", str(empty), "-o", str(tmp_path / "page.html")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert str(empty) in line


def test_a_page_of_another_suites_file_claims_no_host_no_command_and_no_spread(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "latency.out").write_text(LATENCY)
    assert main(["report", "latency.out", "-o", "page.html"]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>MPI messages</title>" in page
    assert "The files do not tell by which commands the launches were measured." in page
    printed = capsys.readouterr().out
    assert "found" not in printed
    assert "p10" not in printed
    (row,) = [line for line in printed.splitlines() if line.split()[:2] == ["1", "KiB"]]
    assert row.split()[2:] == ["1.63", "us", "628", "MB/s", "1", "complete"]


def test_the_plot_of_errors_agrees_with_the_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(ROOT / "docs" / "examples" / "results.jsonl"), "-o", "page.html"]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    (in_plot,) = re.findall(r"at most 25 % \(as the factor less 1, as in the table: (\d+) %\)", page)
    assert in_plot in re.findall(r"max (\d+) %", page)
