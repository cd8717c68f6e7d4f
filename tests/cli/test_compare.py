"""The verb compare, as a user calls it."""

import json

import pytest
from support.report_samples import header

from commmodel.cli import main
from commmodel.results import Library, Record, Writer
from commmodel.results.configurations import Collective, Memory


def file(path, factor, *, launches=5, bytes_kept=1000.0, **changes):
    """Write launches that scatter by a percent; broadcasts take `factor` times as long as they would."""
    with Writer(path) as writer:
        for launch in range(launches):
            writer.write(header(**changes))
            place = 1 + 0.01 * (launch - launches // 2)
            for operation, times in (("bcast", factor), ("barrier", 1.0)):
                samples = tuple(1e-6 * times * place * (1 + 0.001 * repetition) for repetition in range(12))
                writer.write(Record(Collective(operation, 0, 4), "s", samples))
            writer.write(Record(Memory("comm_dup", 4), "B", (bytes_kept,)))
    return str(path)


@pytest.fixture
def before(tmp_path):
    return file(tmp_path / "before.jsonl", 1.0)


def test_what_became_slower_is_in_the_table_and_the_summary(before, tmp_path, capsys):
    after = file(tmp_path / "after.jsonl", 1.25, mpi=Library("Open MPI v5.0.8"))
    assert main(["compare", before, after]) == 0
    out = capsys.readouterr().out
    (line,) = (line for line in out.splitlines() if "collective bcast" in line)
    assert "1.01 us" in line
    assert "+25 %" in line
    assert line.rstrip().endswith("slower")
    assert "MPI library: MPICH Version: 5.0.2 → Open MPI v5.0.8" in out
    assert out.endswith("3 compared: 1 slower, 2 the same within 5.0 %.\n")


@pytest.mark.parametrize(("factor", "code"), [(1.25, 1), (0.8, 0), (1.0, 0), (1.03, 0)])
def test_with_fail_a_slowdown_is_the_exit_code(before, tmp_path, factor, code, capsys):
    after = file(tmp_path / "after.jsonl", factor)
    assert main(["compare", before, after, "--fail"]) == code
    assert main(["compare", before, after]) == 0


def test_with_fail_more_memory_is_the_exit_code_too(before, tmp_path, capsys):
    after = file(tmp_path / "after.jsonl", 1.0, bytes_kept=2000.0)
    assert main(["compare", before, after, "--fail", "--only", "larger"]) == 1
    out = capsys.readouterr().out
    assert "memory comm_dup" in out
    assert "barrier" not in out


def test_what_one_launch_on_each_side_shows_is_said(tmp_path, capsys):
    first, second = (file(tmp_path / f"{number}.jsonl", 43.0**number, launches=1) for number in (0, 1))
    assert main(["compare", first, second, "--fail"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Seen in the one launch of a side: collective bcast" in out
    assert "43 times slower: more launches decide. 3 compared: none changed for certain, 1 the same within" in out


def test_only_what_is_asked_for_is_shown(before, tmp_path, capsys):
    after = file(tmp_path / "after.jsonl", 1.25)
    assert main(["compare", before, after, "--only", "same,faster"]) == 0
    out = capsys.readouterr().out
    assert "bcast" not in out
    assert "barrier" in out


def test_the_least_effect_decides(before, tmp_path, capsys):
    after = file(tmp_path / "after.jsonl", 1.04)
    assert main(["compare", before, after, "--fail", "--least", "30%"]) == 0
    assert main(["compare", before, after, "--fail", "--least", "1%"]) == 1


def test_json_has_everything_and_nothing_beside_it(before, tmp_path, capsys):
    after = file(tmp_path / "after.jsonl", 1.25, launches=1)
    assert main(["compare", before, after, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    rows = {row["name"]: row for row in document["differences"]}
    bcast = rows["collective bcast, 0 B, p = 4"]
    assert bcast["verdict"] == "unclear"
    assert bcast["launches"] == [5, 1]
    assert bcast["low"] < bcast["ratio"] < bcast["high"]
    assert (document["together"], document["pairs"]) == (None, 0)
    assert bcast["configuration"]["kernel"] == "collective"
    assert document["only_before"] == document["only_after"] == document["environment"] == []
    assert any("5 launches before, 1 after" in remark for remark in document["remarks"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--only", "worse"], "--only: there is no 'worse'"),
        (["--least", "much"], "--least: 'much'"),
        (["--confidence", "200%"], "--confidence: '200%' is 200%, not between 0 and 100%"),
        (["--statistic", "mode"], "--statistic: there is no 'mode'"),
        (["--format", "none"], "unknown format 'none'"),
    ],
)
def test_wrong_options_end_with_one_line(before, options, message, capsys):
    assert main(["compare", before, before, *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_files_with_nothing_in_common_end_with_one_line(before, tmp_path, capsys):
    other = tmp_path / "other.jsonl"
    with Writer(other) as writer:
        writer.write(header())
        writer.write(Record(Collective("bcast", 8, 2), "s", (1e-6,)))
    assert main(["compare", before, str(other)]) == 2
    assert capsys.readouterr().err.startswith("commmodel: nothing was measured in both files")
    assert main(["compare", before, str(tmp_path / "none.jsonl")]) == 2


def test_a_name_that_ends_with_html_is_a_page_and_another_a_folder(before, tmp_path, capsys):
    after = file(tmp_path / "after.jsonl", 1.25, mpi=Library("Open MPI v5.0.8"))
    page = tmp_path / "page.html"
    assert main(["compare", before, after, "-o", str(page)]) == 0
    assert capsys.readouterr().out.endswith(f"written to {page}\n")
    text = page.read_text()
    assert text.index("3 compared: 1 slower") < text.index("<svg") < text.index("<table")
    assert "Open MPI v5.0.8" in text
    assert main(["compare", before, after, "-o", str(page)]) == 2
    assert f"{page} exists: replace it with --force" in capsys.readouterr().err
    assert main(["compare", before, after, "-o", str(page), "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["output"] == str(page)
    assert main(["compare", before, after, "-o", str(tmp_path / "folder")]) == 2
    assert "a page is HTML: name it" in capsys.readouterr().err


@pytest.fixture
def weeks(tmp_path):
    """Write a file for each of six weeks; broadcasts are slower from the fourth on."""
    files = []
    for week in range(1, 7):
        changes = {
            "created": f"2026-01-{7 * week // 2:02}T00:00:00+00:00",
            "mpi": Library("Open MPI v5.0.8" if week > 3 else "Open MPI v5.0.7"),
        }
        path, size = tmp_path / f"week{week}.jsonl", 1000.0 if week < 5 else 1500.0
        files.append(file(path, 3.0 if week > 3 else 1.0, bytes_kept=size, **changes))
    return files


def test_of_several_files_the_change_points_are_named(weeks, tmp_path, capsys):
    page = tmp_path / "history.html"
    assert main(["compare", *reversed(weeks), "-o", str(page), "--fail"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert f"Since {weeks[3]} (2026-01-14): collective bcast, 0 B, p = 4: 1.01 us → 3.02 us, +200 %, slower." in out
    assert f"Since {weeks[4]} (2026-01-17): memory comm_dup, p = 4: 1000 B → 1500 B, +50 %, larger." in out
    assert f"With {weeks[3]} there is another MPI library: Open MPI v5.0.7 → Open MPI v5.0.8." in out
    text = page.read_text()
    assert text.count("<svg") == 3
    assert text.index("<h3>memory comm_dup") < text.index("<h3>collective barrier")  # what changed comes first
    assert f"Dashed: slower since {weeks[3]}." in text


def test_a_history_as_json(weeks, capsys):
    assert main(["compare", *weeks, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [run["name"] for run in answer["runs"]] == weeks
    assert [(point["run"], point["verdict"]) for point in answer["changes"]] == [(3, "slower"), (4, "larger")]
    assert len(answer["series"]) == 3
    assert len(answer["series"][0]["points"]) == 6


def test_without_a_change_a_history_has_none(tmp_path, capsys):
    days = (1, 2, 3, 4)
    files = [file(tmp_path / f"{day}.jsonl", 1.0, created=f"2026-01-0{day}T00:00:00+00:00") for day in days]
    assert main(["compare", *files, "--fail"]) == 0
    assert capsys.readouterr().out.endswith(
        "4 runs from 2026-01-01 to 2026-01-04: no change that chance does not explain.\n"
    )


@pytest.mark.parametrize(("words", "problem"), [
    (["{a}", "{b}", "{a}"], "a file is named twice"), (["{a}", "{b}", "{c}", "--run", "x"], "--run measures two sides"),
    (["{a}", "{b}", "{c}", "--seed", "1"], "--seed goes with --run"),
    (["{a}", "{b}", "{c}", "-o", "d"], "a page is HTML"),
])  # fmt: skip
def test_what_a_history_does_not_take_is_told(words, problem, tmp_path, capsys):
    files = {name: file(tmp_path / f"{name}.jsonl", 1.0, launches=1) for name in "abc"}
    assert main(["compare", *(word.format(**files) for word in words)]) == 2
    assert problem in capsys.readouterr().err
