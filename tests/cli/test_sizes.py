"""commmodel simulate on several numbers of processes."""

import json
import sys

import pytest

from commmodel.cli import main

HALO = ["halo", "-n", "64KiB"]


def outcome(capsys, *words):
    code = main(["simulate", *words])
    return code, *capsys.readouterr()


def test_a_table_a_page_and_a_verdict(capsys, tmp_path):
    page = tmp_path / "page.html"
    words = ["graphene", "cg", "-p", "4:16", "--class", "S", "--iterations", "1", "-o", str(page)]
    code, output, errors = outcome(capsys, *words)
    assert (code, errors) == (0, "")
    assert [line.split()[0] for line in output.splitlines() if line[:7].strip().isdigit()] == ["4", "8", "16"]
    assert "16 ranks are 2.7 times slower than 4" in output
    text = page.read_text()
    assert text.count("<svg") == 2
    assert text.index("slower than 4: transfer takes") < text.index("<table")
    assert outcome(capsys, *words)[0] == 2


def test_json_says_what_single_runs_say_each_with_its_size(capsys):
    code, output, _ = outcome(capsys, "graphene", "halo", "-p", "4,16", "-n", "64KiB,16KiB", "--json", "--workers", "2")
    runs = json.loads(output)["runs"]
    assert code == 0
    for run, processes, size in zip(runs, (4, 16), ("64KiB", "16KiB"), strict=True):
        _, alone, _ = outcome(capsys, "graphene", "halo", "-p", str(processes), "-n", size, "--json")
        assert run["seconds"] == json.loads(alone)["seconds"]
        assert run["processes"] == processes


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([*HALO, "-p", "4,8", "--scale", "latency=2"], "-p: several numbers are for one platform as it is"),
        ([*HALO, "-p", "4,8", "--trace", "a.csv"], "--trace is of one run"),
        ([*HALO, "-p", "4,8", "--compare", "fluid"], "--compare is of one run"),
        (["halo", "-p", "4,8", "-n", "1,2,3"], "-n: 3 sizes and 2 -p"),
        (["halo", "-p", "4", "-n", "1,2"], "-n: 2 sizes and 1 -p"),
        ([*HALO, "-p", "4,4"], "-p: '4,4': write the numbers ascending, each once"),
        ([*HALO, "-p", "8,4"], "-p: '8,4': write the numbers ascending, each once"),
        ([*HALO, "-p", "8:4"], "-p: '8:4:*2': the range ends before it begins"),
        (["exchange", "messages.csv", "-p", "4,8"], "-p: messages.csv lists the same messages"),
        (["run", "-p", "4", "--scaling", "weak", "--", "true"], "--scaling weak: there is one size"),
        ([*HALO, "-p", "4", "--workers", "2"], "--workers: there is one run"),
    ],
)
def test_bad_input_is_one_line(capsys, words, problem):
    code, output, errors = outcome(capsys, "graphene", *words)
    assert (code, output) == (2, "")
    assert problem in errors
    assert len(errors.splitlines()) == 1


@pytest.mark.mpi
def test_a_program_is_told_its_number_of_processes(capsys, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nfrom mpi4py import MPI\nassert int(sys.argv[1]) == MPI.COMM_WORLD.size\nMPI.COMM_WORLD.Barrier()\n"
    )
    words = ["run", "-p", "2,4", "--compute", "0", "--json", "--", sys.executable, str(program), "{processes}"]
    code, output, errors = outcome(capsys, "graphene", *words)
    assert code == 0, errors
    assert [run["processes"] for run in json.loads(output)["runs"]] == [2, 4]
