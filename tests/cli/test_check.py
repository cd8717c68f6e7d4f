"""The verb `commmodel check`: what it prints, its exit codes, and answers to wrong words."""

import json

import msgspec
import numpy as np
import pytest
from support.scaling_samples import AS_PROMISED, KEPT, PROCESSES, launch, measured, memory_record, record, write_results

from commmodel.cli import main
from commmodel.results import Launch, Measurements

FIRST = ["name", "expected", "model", "adjusted_r2", "divergence", "verdict"]
MEMORY = launch(*(memory_record(name, growth, p) for name, growth in KEPT.items() for p in PROCESSES))


@pytest.fixture
def good(tmp_path):
    measurements = Measurements((*measured(noise=0.02, sizes=(8, 64)).launches, MEMORY))
    return write_results(tmp_path / "good.jsonl", measurements)


@pytest.fixture
def again(tmp_path):
    return write_results(tmp_path / "again.jsonl", measured(seed=1, noise=0.02, sizes=(8, 64)))


@pytest.fixture
def linear(tmp_path):
    return write_results(
        tmp_path / "linear.jsonl", measured(AS_PROMISED | {"bcast": "p"}, seed=2, noise=0.02, sizes=(8, 64))
    )


def run(*words):
    return main(["check", *words, "--resamples", "50"])


def as_json(capsys, *words):
    code = run(*words, "--json")
    return code, json.loads(capsys.readouterr().out)


def test_what_holds_is_a_table_and_exit_code_0(good, capsys):
    assert run("mpi", good) == 0
    printed = capsys.readouterr().out
    for words in (
        "time over p, start = round-time", "function", "expected", "R²", "δ", "memory over p",
        "bcast              n = 8 B", "✓ match", "expected, but not measured over p: pss memory of use",
        "19 series: 19 match, 0 approximate, 0 mismatch, 0 uncertain",
    ):  # fmt: skip
        assert words in printed
    assert "larger than before" not in printed


def test_a_linear_broadcast_is_exit_code_1(linear, capsys):
    assert run("mpi", linear) == 1
    printed = capsys.readouterr().out
    (row, _) = (line for line in printed.splitlines() if line.strip().startswith("bcast  "))
    assert row.split()[-5:] == ["p", "/", "log", "p", "✗"] or "p / log p  ✗ mismatch" in row
    assert "2 mismatch" in printed


def cliffs(path, launches):
    """Write launches of a broadcast that takes 18 times as long on the most processes."""
    records = (
        [
            record("bcast", "1", p, np.random.default_rng((number, p)), constant=5.0 if p < 64 else 90.0)
            for p in PROCESSES
        ]
        for number in range(launches)
    )
    return write_results(path, Measurements(tuple(launch(*several) for several in records)))


def test_a_cliff_of_one_launch_is_uncertain(tmp_path, capsys):
    assert run("mpi", cliffs(tmp_path / "cliff.jsonl", 1)) == 0
    assert "that no class fits is seen in too few launches" in " ".join(capsys.readouterr().out.split())


def test_where_no_class_fits_that_is_said_and_exit_code_1(tmp_path, capsys):
    cliff = cliffs(tmp_path / "cliff.jsonl", 3)
    assert run("mpi", cliff) == 1
    out = capsys.readouterr().out
    assert "no class fits" in out
    assert "0 uncertain; no class fits: 1" in out
    code, checked = as_json(capsys, "mpi", cliff, "--at", "128")
    assert code == 1
    (row,) = checked["results"]
    assert (row["fits"], row["verdict"], row["predicted"]) == (False, "mismatch", None)
    assert main(["report", cliff, "-o", str(tmp_path / "report.html")]) == 0
    assert "no class fits" in capsys.readouterr().out


def test_the_json_has_the_names_that_scripts_rely_on(good, linear, capsys):
    code, result = as_json(capsys, "mpi", good)
    assert (code, result["holds"], result["violations"]) == (0, True, [])
    assert all(list(row)[:6] == FIRST for row in result["results"])
    constant = next(row for row in result["results"] if row["name"] == "comm_dup")
    assert (constant["model"], constant["adjusted_r2"], constant["metric"]) == ("1", None, "memory")
    code, result = as_json(capsys, "mpi", linear, "--at", "8192", "--metric", "time")
    assert (code, result["holds"]) == (1, False)
    row = next(row for row in result["results"] if row["name"] == "bcast")
    assert [row[name] for name in FIRST if name != "adjusted_r2"] == ["bcast", "log p", "p", "p / log p", "mismatch"]
    assert row["predicted"]["value"] == pytest.approx(8.2e-3, rel=0.05)
    assert row["parameters"] == {"n": 8.0, "start": "round-time"}


def test_a_baseline_alone_is_enough(good, again, tmp_path, capsys):
    assert run(again, "--baseline", good) == 0
    printed = capsys.readouterr().out
    assert "log p, as before" in printed
    assert "so no time can be called changed; 5 launches on each side" in " ".join(printed.split())
    growths = AS_PROMISED | {"bcast": "p"}
    before = write_results(tmp_path / "before.jsonl", measured(seed=3, noise=0.02, launches=5))
    after = write_results(tmp_path / "after.jsonl", measured(growths, seed=4, noise=0.02, launches=5))
    assert run(after, "--baseline", before) == 1
    printed = capsys.readouterr().out
    assert "larger than before" in printed
    assert "4, 8, 16, 32, 64" in printed
    code, result = as_json(capsys, after, "--baseline", before)
    assert code == 1
    assert {row["source"] for row in result["results"]} == {"before"}
    worst = max(result["slower"], key=lambda entry: entry["ratio"])
    assert (worst["name"], worst["over"], worst["scale"]) == ("bcast", "p", 64.0)


def test_without_any_series_the_last_line_counts_what_was_compared(tmp_path, capsys):
    """Two processes alone are no series; this said that 0 of 0 series match."""
    alone = [
        write_results(tmp_path / f"{seed}.jsonl", measured(AS_PROMISED, seed, processes=(2,), launches=5))
        for seed in (1, 2)
    ]
    assert run(alone[1], "--baseline", alone[0]) == 0
    assert capsys.readouterr().out == "8 values compared with the baseline: none larger\n"


def test_expectations_may_stand_anywhere_and_go_with_a_baseline(good, linear, capsys):
    assert run(linear, "mpi", "--baseline", good) == 1
    assert ", as before" not in capsys.readouterr().out


def test_a_page_is_written_where_one_is_asked_for(linear, tmp_path, capsys):
    page = tmp_path / "page.html"
    code, result = as_json(capsys, "mpi", linear, "-o", str(page))
    assert (code, result["output"]) == (1, str(page))
    assert "p / log p" in page.read_text("utf-8")
    assert run("mpi", linear, "-o", str(tmp_path)) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_limits_are_columns(good, capsys):
    assert run("mpi", good, "--at", "8192", "--memory", "1MB", "-k", "8") == 0
    printed = capsys.readouterr().out
    assert "at p = 8192" in printed
    assert "room up to p" in printed
    assert "5166" in printed
    assert "everywhere" in printed


def test_broken_rules_are_named_and_what_cannot_be_told_passes_unless_told(tmp_path, capsys):
    growths = {"allreduce": "p", "reduce": "log p", "bcast": "log p"}
    path = write_results(tmp_path / "broken.jsonl", measured(growths, launches=5, noise=0.01, constant=2))
    once = write_results(tmp_path / "once.jsonl", measured(growths, noise=0.01, constant=2))
    expectations = tmp_path / "own.toml"
    expectations.write_text(
        '[[expectation]]\nname = "bcast"\nexpect = "log p"\n[[rule]]\nrule = "allreduce <= reduce + bcast"'
    )
    assert run(str(expectations), path) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "✗ allreduce <= reduce + bcast at n = 8 B, start = round-time: broken from p = 16 on" in printed
    _, result = as_json(capsys, str(expectations), path)
    (violation,) = result["violations"]
    assert (violation["rule"], violation["kind"]) == ("allreduce <= reduce + bcast", "measured")
    assert run(str(expectations), once) == 0
    assert "seen in one launch from p = 16 on" in " ".join(capsys.readouterr().out.split())
    noisy = write_results(
        tmp_path / "noisy.jsonl",
        measured({"bcast": "p^(2/3)"}, seed=3, noise=0.5, constant=1, repetitions=4, processes=(2, 4, 8)),
    )
    assert run("mpi", noisy) == 0
    printed = capsys.readouterr().out
    assert "? uncertain" in printed
    assert "measure at 5 or more" in printed
    assert run("mpi", noisy, "--uncertain", "fail") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["GOOD"],
            "no expectations: name one of guidelines, mpi, a .toml file first, or earlier results with --baseline",
        ),
        (["mpi"], "no results: name results.jsonl after the expectations"),
        (["mpi", "own.toml", "GOOD"], "mpi and own.toml are both expectations: name one"),
        (["own.toml", "GOOD"], "own.toml: No such file or directory"),
        (["mpi", "none.jsonl"], "none.jsonl: No such file or directory"),
        (["mpi", "GOOD", "-k", "8"], "-k (--per-node) goes with --memory"),
        (["mpi", "GOOD", "--at", "soon"], "--at: 'soon' is no size"),
        (["mpi", "GOOD", "--memory", "24GBs"], "--memory: '24GBs': unknown unit"),
        (["mpi", "GOOD", "--deviation", "1"], "--deviation: 1 names no parameter: write it as p^0"),
        (["mpi", "GOOD", "--deviation", "2 p"], "--deviation: class of growth '2 p'"),
        (["mpi", "GOOD", "--deviation", "q"], "deviation q: nothing is over q"),
        (["mpi", "GOOD", "--statistic", "mode"], "--statistic: there is no 'mode'"),
        (["mpi", "GOOD", "--confidence", "much"], "--confidence: 'much' is no share"),
        (["mpi", "GOOD", "--least=-1%"], "--least: '-1%': a share must be finite and not negative"),
        (["mpi", "GOOD", "--uncertain", "maybe"], "--uncertain: there is no"),
        (["mpi", "GOOD", "--metric", "energy"], "nothing was measured of metric 'energy', but time, memory"),
    ],
)
def test_wrong_words_are_one_line_and_exit_code_2(words, message, good, capsys):
    assert main(["check", *(good if word == "GOOD" else word for word in words)]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert not captured.out


def test_what_disturbed_the_launches_is_told_without_a_baseline_too(tmp_path, capsys):
    launched = measured(AS_PROMISED).launches[0]
    header = msgspec.structs.replace(launched.header, warnings=("vm: 4 ranks share 2 processors",))
    path = write_results(tmp_path / "results.jsonl", Measurements((Launch(header, launched.records),)))
    run("mpi", path)
    assert capsys.readouterr().err.count("warning: vm: 4 ranks share 2 processors\n") == 1
