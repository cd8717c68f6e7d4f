"""commmodel simulate --scale, and on several platforms."""

import json
import re
import sys
from pathlib import Path

import pytest

from commmodel.cli import main
from commmodel.report import write_what_if
from commmodel.report.simulation.what_if import baseline_first, prediction_table, verdicts
from commmodel.simulate.scenario import Scale
from commmodel.simulate.states import IDLE, STATE_NAMES
from commmodel.simulate.what_if import PredictedRun, RankTimes

HALO = ["halo", "-p", "4", "-n", "64KiB"]


def outcome(capsys, *words):
    code = main(["simulate", *words])
    return code, *capsys.readouterr()


def test_a_table_of_all_combinations(capsys):
    code, output, errors = outcome(capsys, "graphene,switch", *HALO, "--scale", "bandwidth=1:4,latency=0.5")
    assert (code, errors) == (0, "")
    rows = [line.split() for line in output.splitlines() if line.strip()[:1].isdigit()]
    assert [row[0] for row in rows] == list("12345678")
    assert [row[3] for row in rows] == list("11241124")  # each place first as it is
    assert "64 KiB on 4 ranks: 8 predictions" in output


def test_json_says_what_one_run_says(capsys):
    code, output, _ = outcome(capsys, "graphene", *HALO, "--scale", "bandwidth=1,2", "--json", "--workers", "1")
    runs = json.loads(output)["runs"]
    _, alone, _ = outcome(capsys, "graphene", *HALO, "--json")
    assert code == 0
    assert runs[0]["seconds"] == json.loads(alone)["seconds"] > runs[1]["seconds"]
    assert runs[1]["scale"] == {"bandwidth": 2.0, "latency": 1.0, "compute": 1.0, "overhead": 1.0, "gap": 1.0}
    states = {"compute", "send", "receive", "wait", "sleep", "transfer", "files", "idle"}
    assert set(runs[0]["ranks"]) == states
    assert set(runs[0]["ranks"]["wait"]) == {"least", "median", "most", "mean"}


def test_several_platforms_need_no_factors(capsys):
    code, output, _ = outcome(capsys, "graphene,switch", "bcast", "-p", "4", "-n", "1MiB", "--json")
    assert code == 0
    assert [run["place"] for run in json.loads(output)["runs"]] == ["graphene", "switch"]


def test_energy_and_price_are_columns_where_a_platform_says_them(capsys):
    priced = str(Path(__file__).parents[2] / "docs" / "examples" / "priced.toml")
    code, output, _ = outcome(capsys, f"{priced},graphene", *HALO, "--json")
    first, other = json.loads(output)["runs"]
    _, alone, _ = outcome(capsys, priced, *HALO, "--json")
    result = json.loads(alone)
    assert (code, first["joules"], first["price"]) == (0, result["energy"]["used"], result["price"])
    assert (other["joules"], other["price"]) == (None, None)
    for words in ([f"{priced},graphene", *HALO], [priced, "cg", "--class", "S", "-p", "2,4"]):
        _, output, _ = outcome(capsys, *words)
        assert {"energy", "price"} <= {*output.split()}
    _, output, _ = outcome(capsys, "graphene,switch", *HALO)
    assert "energy" not in output


def test_a_page(capsys, tmp_path):
    page = tmp_path / "page.html"
    code, output, _ = outcome(capsys, "graphene,switch", *HALO, "--scale", "bandwidth=1:4,latency=1,2", "-o", str(page))
    assert code == 0
    assert f"written to {page}" in output.replace("\n", "")
    text = page.read_text()
    assert text.count("<svg") == 3
    assert "Run time over latency" in text
    assert "graphene, latency × 2" in text
    assert text.index("As it is, on graphene (hybrid): ") < text.index("Fastest is run") < text.index("<table")
    assert outcome(capsys, "graphene,switch", *HALO, "-o", str(page))[0] == 2


def predicted(seconds, place="switch", **factors):
    times = dict.fromkeys(STATE_NAMES, RankTimes(0.0, 0.0, 0.0, 0.0))
    times |= {"transfer": RankTimes(seconds, seconds, seconds, seconds), IDLE: RankTimes(0.0, 0.0, 0.0, 0.0)}
    return PredictedRun(place, Scale(**factors), "fluid", "ring", 4, seconds, times, 1, 1, 0.1)


def test_the_run_as_it_is_comes_first_and_the_others_are_held_against_it():
    runs = baseline_first([predicted(1.0, bandwidth=2.0), predicted(2.0), predicted(2.001, latency=2.0)])
    assert [run.seconds for run in runs] == [2.0, 1.0, 2.001]
    assert [row[5].value for row in prediction_table(runs).rows] == ["as it is", "2 times faster", "the same"]
    assert verdicts(runs) == [
        "As it is, on switch (fluid): 2.00 s.",
        "Fastest is run 2, bandwidth × 2: 1.00 s, 2 times faster.",
        "latency × 2: 2.00 s, the same within 0.1 %.",
    ]


def test_what_is_the_same_is_not_called_better_or_no_better():
    alike = verdicts([predicted(2.0), predicted(1.999, latency=0.5)])
    assert alike[1] == "Nothing is better: the fastest of the others, run 2, latency × 0.5, is the same within 0.1 %."
    slower = verdicts([predicted(2.0), predicted(2.5, latency=4.0), predicted(2.04, "graphene")])
    assert slower[2:] == [
        "switch, latency × 4: 2.50 s, no better: 1.25 times slower.", "graphene: 2.04 s, no better: 2.0 % slower."
    ]  # fmt: skip


def test_runs_near_each_other_have_an_axis_that_can_be_read(tmp_path):
    runs = [predicted(2.0), *(predicted(2.0 / factor, bandwidth=factor) for factor in (1.1, 1.2))]
    write_what_if(tmp_path / "page.html", "ring", runs)
    page = (tmp_path / "page.html").read_text()
    curves = page[page.index('id="what-if-bandwidth"') : page.index('id="what-if-ranks"')]
    for tick in (">1<", ">1.1<", ">1.2<", "s<"):
        assert tick in curves
    assert len(re.findall(r">[0-9.]+ s<", curves)) >= 3
    assert ">bandwidth × 1.2 (3)<" in page


def test_a_deadlock_is_a_row(capsys, tmp_path):
    (tmp_path / "0").write_text("0 init\n0 recv 1 0 8\n0 finalize\n")
    (tmp_path / "1").write_text("1 init\n1 recv 0 0 8\n1 finalize\n")
    (tmp_path / "list").write_text("0\n1\n")
    words = ["switch", "replay", str(tmp_path / "list"), "--scale", "latency=1,2", "-o", str(tmp_path / "page.html")]
    code, output, errors = outcome(capsys, *words)
    assert code == 2
    assert output.count(" deadlock ") == 2
    assert "commmodel: switch, latency × 2: deadlock: 2 of 2 ranks never end" in errors


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["switch", *HALO, "--scale", "speed=2"], "--scale: 'speed' cannot be scaled"),
        (["switch", *HALO, "--scale", "latency=x"], "--scale: latency: 'x' is no number"),
        (["switch", *HALO, "--scale", "latency=1:2000:+1"], "--scale: 2000 combinations: at most 1000"),
        (["switch,graphene", *HALO, "--scale", "latency=1:600:+1"], "1200 runs: give at least one and at most 1000"),
        (["switch,nosuch", *HALO], "'nosuch' is neither a file nor a published platform"),
        (["switch,switch", *HALO], "names a platform twice"),
        (["switch,", *HALO], "names a platform twice, or none"),
        (["switch", *HALO, "--workers", "2"], "--workers: there is one run"),
        (["switch", *HALO, "--scale", "latency=2", "--workers", "0"], "--workers: '0' is no whole number from 1"),
        (["switch", *HALO, "--scale", "latency=2", "--compare", "smpi"], "--compare is of one run"),
        (["switch", *HALO, "--scale", "latency=2", "--trace", "a.csv"], "--trace is of one run"),
        (["switch", *HALO, "--scale", "latency=2", "-o", "/nosuch/a.html"], "cannot be written"),
    ],
)  # fmt: skip
def test_what_does_not_go_is_said_in_one_line(capsys, words, problem):
    code, output, errors = outcome(capsys, *words)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert problem in errors


PROGRAM = """
from mpi4py import MPI
import sys
world = MPI.COMM_WORLD
world.sendrecv(bytes(100000), (world.rank + 1) % world.size)
print("a rank says this")
sys.exit(int(sys.argv[1]) if world.rank == 1 else 0)
"""


@pytest.mark.mpi
def test_a_program_runs_for_each_combination(capfd, tmp_path):
    (tmp_path / "app.py").write_text(PROGRAM)
    words = ["simulate", "graphene,switch", "run", "-p", "3", "--compute", "0", "--scale", "bandwidth=1,8", "--json"]
    assert main([*words, "--workers", "2", "--", sys.executable, str(tmp_path / "app.py"), "0"]) == 0
    output, errors = capfd.readouterr()
    runs = json.loads(output)["runs"]
    assert "a rank says this" not in errors
    assert runs[0]["seconds"] > runs[1]["seconds"]
    assert runs[2]["seconds"] > runs[3]["seconds"]
    assert main([*words, "--", sys.executable, str(tmp_path / "app.py"), "3"]) == 3
    assert "rank 1 ended with exit code 3" in capfd.readouterr().err


@pytest.mark.mpi
def test_on_the_ranks_of_mpiexec(tmp_path):
    import subprocess

    mpiexec = Path(sys.prefix) / "bin/mpiexec"
    words = ["simulate", "graphene", "halo", "-p", "4", "-n", "64KiB", "--scale", "bandwidth=1:4", "--json"]
    command = [
        mpiexec,
        "-n",
        "3",
        sys.executable,
        "-m",
        "mpi4py.futures",
        "-m",
        "commmodel",
        *words,
        "--workers",
        "mpi",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["runs"]) == 3
