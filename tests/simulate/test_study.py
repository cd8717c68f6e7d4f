"""Studies: all combinations of a file, continued after a kill, in parts, on other executors, reported."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from commmodel.cli import main
from commmodel.cli.study import answer
from commmodel.errors import DamagedFileError, InputError
from commmodel.simulate.study import carry_out, is_results, load, parse_part, part_file, read_results

TEXT = """
format = "commmodel-study"
version = 1
where = ["switch", "graphene"]
programs = ["ring -n 8", "bcast -n 1KiB"]
processes = [2, 4]
scales = ["bandwidth=2"]
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(TEXT)
    return path


def test_all_combinations_are_run_as_simulate_runs_them(study, capsys):
    assert main(["study", str(study), "--workers", "2"]) == 0
    rows = read_results(study.with_suffix(".jsonl"))
    assert len(rows) == 16
    capsys.readouterr()
    main(["simulate", "graphene", "bcast", "-n", "1KiB", "-p", "4", "--json"])
    seconds = json.loads(capsys.readouterr().out)["seconds"]
    parts = {"where": "graphene", "program": "bcast -n 1KiB", "processes": 4, "scale": ""}
    (row,) = [row for row in rows if parts.items() <= row.items()]
    assert row["seconds"] == seconds
    faster = [
        row["seconds"]
        for row in rows
        if row["scale"] == "bandwidth=2" and {**parts, "scale": ""}.items() - {("scale", "")} <= row.items()
    ]
    assert faster[0] < seconds


def test_a_killed_study_goes_on_and_runs_nothing_twice(study):
    results = study.with_suffix(".jsonl")
    runs = []

    def counted(run):
        runs.append(run)
        return answer(run)

    whole = carry_out(load(study), results, counted)
    assert len(runs) == 16
    lines = results.read_text().splitlines(keepends=True)
    results.write_text("".join(lines[:5]) + lines[5][:40])  # as a kill leaves it
    runs.clear()
    again = carry_out(load(study), results, counted)
    assert len(runs) == 11
    keys = ("where", "program", "processes", "scale", "seconds")
    assert [[row[key] for key in keys] for row in again] == [[row[key] for key in keys] for row in whole]
    assert len(read_results(results)) == 16


def test_parts_are_gathered(study):
    results, plan = study.with_suffix(".jsonl"), load(study)
    sizes = [len(carry_out(plan, results, answer, part=(part, 3))) for part in (1, 2, 3)]
    assert sum(sizes) == 16
    assert part_file(results, 2).exists()

    def unneeded(run):
        raise AssertionError(run)

    assert len(carry_out(plan, results, unneeded)) == 16
    assert len(read_results(results)) == 16


def test_any_executor_will_do(study):
    with ThreadPoolExecutor(2) as executor:
        rows = carry_out(load(study), study.with_suffix(".jsonl"), answer, executor=executor)
    assert len(rows) == 16


def test_a_run_that_fails_lets_the_others_go_on(study, capsys):
    study.write_text(TEXT.replace('"ring -n 8"', '"replay nowhere"').replace("processes = [2, 4]", ""))
    assert main(["study", str(study), "--workers", "1"]) == 1
    assert "nowhere" in capsys.readouterr().err
    rows = read_results(study.with_suffix(".jsonl"))
    assert [row["seconds"] is None for row in rows] == [bool(row["error"]) for row in rows]
    assert {row["program"] for row in rows if not row["error"]} == {"bcast -n 1KiB"}


def test_results_are_reported(study, capsys):
    main(["study", str(study)])
    results = study.with_suffix(".jsonl")
    assert is_results(results)
    page = study.with_suffix(".html")
    assert main(["report", str(results), "-o", str(page)]) == 0
    assert "bandwidth=2" in capsys.readouterr().out
    assert "Run time over ranks" in page.read_text()


def test_a_script_of_a_job_array_runs_the_parts(study, tmp_path):
    script = tmp_path / "study.sh"
    assert main(["study", str(study), "--script", str(script), "--parts", "4", "--slurm=--time=10"]) == 0
    lines = script.read_text().splitlines()
    assert lines[1:3] == ["#SBATCH --array=1-4", "#SBATCH --time=10"]
    assert lines[3].endswith('--part "$SLURM_ARRAY_TASK_ID/4"')


@pytest.mark.parametrize("word", ["0/3", "4/3", "3", "a/b"])
def test_a_part_that_is_none_is_refused(word):
    with pytest.raises(InputError, match="3/16"):
        parse_part(word)


def test_damaged_files_are_named(study, tmp_path):
    study.write_text(TEXT.replace("where", "there"))
    with pytest.raises(DamagedFileError, match="there"):
        load(study)
    study.write_text(TEXT.replace('"graphene"', '"switch"'))
    with pytest.raises(DamagedFileError, match="twice"):
        load(study)
    (tmp_path / "bad.jsonl").write_text('{"study": 1}\n{"other": 2}\n')
    with pytest.raises(DamagedFileError, match="line 2"):
        read_results(tmp_path / "bad.jsonl")


def test_a_wrong_word_ends_it_before_it_begins(study, capsys):
    study.write_text(TEXT.replace("ring -n 8", "ring --nosuch"))
    assert main(["study", str(study)]) == 2
    assert not study.with_suffix(".jsonl").exists()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("jobs a b", "one program at a time"),
        ("ring -n 8 --advice", "--advice is of one run"),
        ("ring -n 8 --noise work.csv", "--noise is of one run"),
        ("ring -n 8 -o page.html", "--output is of one run"),
        ("ring -n 8 --scale latency=2", "--scale is of one run"),
        ("ring -n 8 -p 4,8", "list them as processes of the study"),
    ],
)
def test_what_a_study_takes_none_of_is_refused_in_a_line(tmp_path, capsys, program, problem):
    lines = ['format = "commmodel-study"', "version = 1", 'where = ["switch"]', f'programs = ["{program}"]']
    (tmp_path / "study.toml").write_text("\n".join(lines))
    assert main(["study", str(tmp_path / "study.toml")]) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1
