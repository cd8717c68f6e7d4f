"""What a launch would do, said before it is made."""

import json
import subprocess

import pytest
from support.launching import BENCHMARK, launch

from commmodel import results
from commmodel.bench import start_up
from commmodel.bench.command import run
from commmodel.bench.dry_run import forecast
from commmodel.bench.options import parse


def forecast_of(*words):
    return forecast(parse([*words, "--dry-run"]))


def test_more_nodes_have_more_paths_and_pairs():
    result = forecast_of("pingpong", "pairs", "--sizes", "8", "-p", "8")
    two = forecast_of("pingpong", "pairs", "--sizes", "8", "-p", "8", "-k", "4")
    assert result.configurations == {"pingpong": 1, "pairs": 4}
    assert two.configurations == {"pingpong": 2, "pairs": 6}
    assert (result.node_bytes, result.buffer_bytes) == (8 * (result.rank_bytes + 16), 16)
    assert two.node_bytes == pytest.approx(result.node_bytes / 2, rel=0.2)


def test_what_must_look_at_the_machine_first_is_named():
    assert forecast_of("overlap", "pingpong", "--sizes", "8").unknown == ["overlap"]


def test_the_start_of_mpi_is_planned_though_it_is_not_started():
    assert forecast_of("start-up", "-p", "64").configurations == {"start-up": 2}
    assert start_up.ranks() == 0


def test_a_hundred_thousand_ranks_are_no_more_work():
    assert forecast_of("collective", "-p", "100000", "-k", "128").configurations["collective"] > 1000


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["-p", "4"], "-p and -k are of --dry-run"),
        (["--dry-run", "-p", "1"], "-p: one rank has nobody to talk to"),
        (["--dry-run", "-p", "4", "--process-counts", "8"], "--process-counts asks for 8 processes, but there are 4"),
        (["--dry-run", "-k", "0"], "-k: '0' is no whole number from 1 to 1000000"),
        (["--dry-run", "-p", "99999999999"], "-p: '99999999999' is no whole number from 1 to 1000000"),
        (["--dry-run", "--launches", "3"], "--dry-run estimates one launch: leave --launches out"),
    ],
)
def test_wrong_numbers_of_ranks_are_refused(words, problem, capsys):
    assert run(words) == 2
    err = capsys.readouterr().err
    assert problem in err
    assert err.count("\n") == 1


def test_it_is_printed_without_mpi(capsys):
    assert run(["pingpong", "--dry-run", "-p", "1000", "-k", "64"]) == 0
    assert capsys.readouterr().out.startswith("dry run: 1,000 ranks on 16 nodes; nothing is measured\nplan     ")
    words = [*BENCHMARK, "--dry-run", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=600)
    assert json.loads(done.stdout)["processes"] == 2


@pytest.mark.mpi
def test_a_launch_plans_what_the_dry_run_says(tmp_path):
    words = ["pingpong", "ping", "--sizes", "8,1KiB", "--time", "0.2s"]
    assert launch(2, *BENCHMARK, *words, "-o", tmp_path / "r.jsonl").returncode == 0
    (of_file,) = results.load(tmp_path / "r.jsonl").launches
    assert of_file.header.planned == sum(forecast_of(*words).configurations.values())
