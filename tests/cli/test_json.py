"""The JSON of every verb, and of every file written, is JSON: no NaN, no infinity."""

import argparse
import json
import shutil
from importlib.util import find_spec

import pytest
from support.paths import ROOT

from commmodel import machine
from commmodel.cli import _parser, main
from commmodel.machine import LogGP, Machine, MaxRate, Parameter, Segment

RESULTS = ROOT / "docs/examples/results.jsonl"
NETWORK = "--overhead 2us --latency 10us --byte-time 1.1ns/B"
DEADLOCK = "0 init\n1 init\n0 recv 1 0 8\n1 recv 0 0 8\n0 finalize\n1 finalize\n"
CONSTANT = "".join(
    f'{{"params": {{"p": {p}, "call": {call}}}, "callpath": "work", "metric": "{metric}", "value": {value}}}\n'
    for p in (2, 4, 8, 16, 32)
    for call in (1, 2)
    for metric, value in (("time", 1.0), ("memory", 1e6))
)
EXPECTATIONS = """
format = "commmodel-expectations"
version = 1
[[expectation]]
name = "work"
over = "p"
expect = "1"
[[expectation]]
name = "work"
metric = "memory"
over = "p"
expect = "1"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with files whose numbers are infinite or do not exist, as far as such are possible."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(RESULTS, "results.jsonl")
    shutil.copytree(ROOT / "tests/frozen/recording-1", "recording")
    (tmp_path / "constant.jsonl").write_text(CONSTANT)
    (tmp_path / "expected.toml").write_text(EXPECTATIONS)
    (tmp_path / "deadlock.txt").write_text(DEADLOCK)
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "study-results.jsonl").write_text(
        '{"study":1,"where":"w","program":"p","processes":2,"model":null,"scale":"","ranks":2,"seconds":1.0,"error":""}\n'
    )
    loggp = LogGP(*(Parameter(value) for value in (5e-6, 1e-6, 1e-6, 1e-9)))
    rates = MaxRate(Parameter(1e-6), Parameter(1e9), Parameter(float("inf"), low=1e9))
    machine.dump(Machine("m", (Segment("all", loggp=loggp, max_rate=rates),)), "unlimited.toml")
    return tmp_path


PLACING = "place graphene recording --workers 1" if find_spec("pymetis") else ""
"""Needs the extra placement."""
STUDY = 'format = "commmodel-study"\nversion = 1\nwhere = ["switch"]\nprograms = ["ring -n 8"]\nprocesses = [2]\n'
CASES = (
    f"""
fit results.jsonl --resamples 20
fit results.jsonl --resamples 20 --loss paper -o other.toml
report results.jsonl unlimited.toml
report recording
predict unlimited.toml send -n 1KiB -k 8
predict unlimited.toml halo -n 1KiB --neighbours 4
predict unlimited.toml bcast -n 1KiB -p 8 --algorithm all
predict unlimited.toml measurements results.jsonl
optimize --volume 8MiB --computation 3ms {NETWORK} --sensitivity
optimize --volume 1 --computation 0s {NETWORK} --sensitivity
tune unlimited.toml -p 2:8:*2 --sizes 1,1KiB --library mpich -o rules.json
simulate switch bcast -n 1KiB -p 4 --trace timeline.json --compare loggps --parameters unlimited.toml
simulate switch replay deadlock.txt
simulate switch ring -n 0 -p 2 --scale bandwidth=1,2
check expected.toml constant.jsonl --at 1000 --memory 1GB --resamples 20
check constant.jsonl --baseline constant.jsonl --resamples 20
compare results.jsonl results.jsonl
convert results.jsonl -o results.csv
{PLACING}
sweep make new -p 2:4 --launches 1
sweep status made
study study.toml
report study-results.jsonl
list machines
list algorithms
bench --dry-run -p 4
""".strip()
    .replace("\n\n", "\n")
    .splitlines()
)


def test_every_verb_has_a_case():
    parsers = next(action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction))
    assert {command.split()[0] for command in CASES} >= {*parsers.choices} - {
        "record",  # which becomes the program
        "guard",  # which runs programs: tests/guard
        *(() if PLACING else ("place",)),
    }


@pytest.mark.parametrize("command", CASES)
def test_the_json_of_a_verb_has_no_nan_and_no_infinity(command, folder, capsys):
    main(["sweep", "make", "made", "-p", "2:4", "--launches", "1"])
    capsys.readouterr()
    main([*command.split(), "--json"])
    printed = capsys.readouterr()
    assert printed.out, printed.err
    for text in (printed.out, *(path.read_text() for path in folder.rglob("*.json"))):
        assert isinstance(json.loads(text, parse_constant=lambda word: pytest.fail(word)), dict)
