"""Files of expectations: what they say, what comes with commmodel, and one clear line for what is wrong."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.paths import ORACLES

from commmodel.errors import DamagedFileError, InputError
from commmodel.results.configurations import CollectiveName, MemoryOperation
from commmodel.scaling import load, parse_growth, published
from commmodel.scaling.verdict import rank

PUBLISHED = tomllib.loads((ORACLES / "scaling.toml").read_text("utf-8"))
MPI = load("mpi")
FULL = """
format = "commmodel-expectations"
version = 1
title = "Mine"
[[expectation]]
name = "solve"
metric = "iterations"
over = "k"
expect = "k^3 2^k"
deviation = "2^(k/2)"
where = { n = "1KiB", d = 20, start = "round-time" }
[[expectation]]
name = "init"
expect = 1
[[rule]]
rule = "allgather <= gather + 2 bcast"
metric = "overlapped time"
sizes = { bcast = "n p" }
"""


@pytest.fixture
def write_file(tmp_path):
    def write(content):
        path = tmp_path / "expectations.toml"
        path.write_text(content, encoding="utf-8")
        return path

    return write


def test_a_file_says_what_stands_in_it(write_file):
    loaded = load(write_file(FULL))
    first, second = loaded.expectations
    assert (loaded.title, first.name, first.metric, first.over) == ("Mine", "solve", "iterations", "k")
    assert (first.expect, first.deviation) == (parse_growth("k^3 2^k"), parse_growth("2^(k/2)"))
    assert dict(first.where) == {"n": 1024.0, "d": 20.0, "start": "round-time"}
    assert (second.expect, second.deviation, second.where) == (parse_growth("1"), None, ())
    assert (second.metric, second.over) == ("time", "p")
    (rule,) = loaded.guidelines
    assert (str(rule.rule), rule.metric) == ("allgather <= gather + 2 bcast", "overlapped time")
    assert dict(rule.sizes) == {"bcast": (("n", parse_growth("n")), ("p", parse_growth("p")))}


def test_a_file_with_rules_alone_is_one(write_file):
    assert not load(write_file('[[rule]]\nrule = "a <= b"')).expectations


def test_those_of_mpi_are_the_papers():
    expected = {(expectation.name, expectation.metric): expectation for expectation in MPI.expectations}
    tables = [(row, "time") for row in PUBLISHED["runtime"]["rows"]] + [
        (row, "memory") for row in PUBLISHED["memory"]["rows"]
    ]
    names = {"bcast by a binary tree": "bcast_binary_tree", "MPI memory": "use"}
    result = set()
    for row, metric in tables:
        name = names.get(row["name"], row["name"])
        for metric_of_it in ("pss memory", "private memory") if name == "use" else (metric,):
            expectation = expected[name, metric_of_it]
            result.add((name, metric_of_it))
            assert expectation.expect == parse_growth(row["expect"])
            for model, verdict in zip(row["models"], row["verdicts"], strict=True):
                assert rank(parse_growth(model), expectation.expect, expectation.deviation) == verdict
    assert result == expected.keys()
    assert set(PUBLISHED["rules"]["rules"]) <= {str(expectation.rule) for expectation in MPI.guidelines}


def test_those_of_mpi_name_what_is_measured():
    values = {*CollectiveName.__args__, *MemoryOperation.__args__}
    assert {expectation.name for expectation in MPI.expectations} <= values
    assert {name for expectation in MPI.guidelines for name in expectation.rule.functions} <= values
    assert list(published()) == ["guidelines", "mpi"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("title = ", "not TOML: Invalid value (at end of document); restore or mend the file"),
        ("", "no expectations: write [[expectation]] with name and expect, or [[rule]]"),
        ("version = 2", "field version: 2 is newer than this commmodel reads (1): upgrade it"),
        ('version = "1"', "field version: expected int, got str"),
        ('format = "commmodel-machine"', "field format: expected 'commmodel-expectations', got 'commmodel-machine'"),
        ("title = 3", "field title: expected str, got int"),
        ('[[expectation]]\nname = "a"', "field expectation[0]: object missing required field expect"),
        ('[[expectation]]\nname = "a"\nexpect = "p"\nexpct = 1', "object contains unknown field expct"),
        ('[[expectation]]\nname = "a"\nexpect = "2 p"', "field expectation[0].expect: class of growth '2 p'"),
        ('[[expectation]]\nname = "a"\nexpect = 2', "field expectation[0].expect: class of growth '2'"),
        ('[[expectation]]\nname = "a"\nexpect = "n"', "it is over n, not over p: write it over p"),
        ('[[expectation]]\nname = ""\nexpect = "p"', "field expectation[0].name: expected str of length >= 1"),
        ('[[expectation]]\nname = "a"\nexpect = "p"\ndeviation = "1/p"', "falls, but must be 1 or grow"),
        ('[[expectation]]\nname = "a"\nexpect = "p"\nwhere = { n = "1KB" }', "where.n: '1KB': unknown unit 'KB'"),
        (
            '[[expectation]]\nname = "a"\nexpect = "p"\nwhere = { p = 2 }',
            "where.p: `over` varies p, so `where` cannot fix it",
        ),
        (
            '[[expectation]]\nname = "a"\nexpect = "p"\nwhere = { n = true }',
            "where[...]: expected float | str, got bool",
        ),
        ('[[expectation]]\nname = "a"\nexpect = "p"\n' * 2, "field expectation[1]: a second one of time of a over p"),
        ('[expectation]\nname = "a"', "field expectation: expected array, got object"),
        ('[[rule]]\nrule = "a < b"', "field rule[0].rule: rule 'a < b': write it as"),
        ('[[rule]]\nrule = "a <= b"\nsizes = { c = "n" }', "field rule[0].sizes.c: c is not on the right of the rule"),
        ('[[rule]]\nrule = "a <= b"\nsizes = { b = "n q" }', "rule[0].sizes.b: q is not known: write it with n and p"),
        ('[[rule]]\nrule = "a <= b"\nsizes = { b = "2 n" }', "rule[0].sizes.b: class of growth '2 n'"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(write_file, content, words):
    path = write_file(content)
    with pytest.raises(DamagedFileError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@given(st.text(max_size=80))
def test_no_text_is_answered_with_anything_but_one_line(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "expectations.toml"
    path.write_text(f'[[expectation]]\nname = "a"\nexpect = {text}', encoding="utf-8", errors="ignore")
    problem = ""
    try:
        load(path)
    except InputError as error:
        problem = str(error)
    assert len(problem.splitlines()) <= 1


def test_no_file_is_no_traceback(tmp_path):
    with pytest.raises(
        InputError, match=r"'mpy' is neither a file nor a published set of expectations: did you mean mpi"
    ):
        load("mpy")
    with pytest.raises(InputError, match=r"none\.toml: No such file"):
        load(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(DamagedFileError, match="not UTF-8"):
        load(tmp_path / "binary.toml")
    with pytest.raises(InputError, match="Is a directory"):
        load(tmp_path)
