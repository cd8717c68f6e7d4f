"""Inputs on which a fuzzer once saw a traceback: each ends in one line that says what is wrong, or is simply done."""

import json

import pytest

from commmodel.cli import main

NODECOMM = "Pingpong for\nmaster: 0\npartner: 1\n1 4e-6\n2 {}\n4 4e-6\n"
CSV = "message_size,seconds,pairs,path\n8,4.1us,1,between-nodes\n64KiB,{}us,4,between-nodes\n"
EXTRAP = '{{"params": {{"p": 4}}, "value": 1.5}}\n{{"params": {{"p": 8}}, "value": [{}, 2.75]}}\n'
HEADER = json.dumps(
    {"type": "header", "format": "commmodel-results", "version": 1, "created": "", "command": [],
     "mpi": {"version": "MPICH"}, "hosts": [{"name": "n"}], "ranks": [{"rank": 0, "host": 0}, {"rank": 1, "host": 0}]}
)  # fmt: skip
RANDOM = {"kernel": "random-pingpong", "message_sizes": [1, 8, 64, 512], "path": "any"}


def results(configuration, samples):
    record = {"type": "record", "configuration": configuration, "unit": "s", "samples": samples}
    return f"{HEADER}\n{json.dumps(record)}\n"


VERBS = ("fit {} -o out.toml", "report {} -o out.html", "convert {} -o out.csv", "check mpi {}", "compare {0} {0}",
         "predict ranger measurements {}")  # fmt: skip
MEASUREMENTS = {
    "nodecomm: a time that is too long": (NODECOMM.format("1.9e205"), "line 5"),
    "nodecomm: a time that is too short": (NODECOMM.format("1e-320"), "line 5"),
    "csv: a time that is too long": (CSV.format("1e308"), "line 3"),
    "extrap: a value that is too large": (EXTRAP.format("1e308"), "line 2"),
    "results: a sample that is too large": (
        results({"kernel": "pingpong", "message_size": 8, "path": "any"}, [1e300]),
        "line 2",
    ),
    "results: random sizes cut short": (results(RANDOM, [1e-6, 2e-6, 3e-6]), "line 2"),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", MEASUREMENTS)
def test_what_nobody_measured_is_refused_with_file_and_line(name, verb, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content, place = MEASUREMENTS[name]
    file = "r.jsonl" if content.startswith(HEADER[:10]) else "r.txt"
    (tmp_path / file).write_text(content)
    assert main(verb.format(file).split()) == 2
    output = capsys.readouterr()
    assert output.err.count("\n") == 1
    assert f"{file}: {place}: " in output.err
    assert [path.name for path in tmp_path.iterdir()] == [file]


LONG = "x" * 300
ABSURD = {
    "a name that no file can have, to read": f"fit {LONG}",
    "a name that no file can have, to write": f"fit r.csv -o {LONG}",
    "a name that no file can have, for a page": f"report r.csv -o {LONG}",
    "a name that no file can have, to convert to": f"convert r.csv --to csv -o {LONG}",
    "a name that no file can have, of a machine": f"predict {LONG} send -n 8",
    "a name that no file can have, of a platform": f"simulate {LONG} bcast -p 2 -n 8",
    "a name that no file can have, in a list of traces": "simulate switch replay list",
    "a name that no file can have, of expectations": f"check {LONG} r.csv",
    "a name that no file can have, of rules": f"predict ranger bcast -n 8 -p 4 --selector {LONG}",
    "a name that no file can have, of a sweep": f"sweep make {LONG} -p 2 -- pingpong",
    "a copy that takes for ever": "predict ranger allgather -n 8 -p 4 --copy 1e308",
    "a reduction that takes for ever": "predict ranger allreduce -n 8 -p 4 --reduction 1e308",
    "a confidence of nothing": "fit r.csv -o m.toml --confidence 1e-308",
    "a confidence of all": "fit r.csv -o m.toml --confidence 99.99999999999999999%",
}


@pytest.mark.parametrize("name", ABSURD)
def test_what_cannot_be_is_one_line(name, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.csv").write_text("".join(["message_size,seconds\n", *(f"{2**n},{n + 1}us\n" for n in range(12))]))
    (tmp_path / "list").write_text(f"{LONG}\n")
    assert main(ABSURD[name].split()) == 2
    output = capsys.readouterr()
    assert output.err.count("\n") == 1
    assert output.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["list", "r.csv"]
