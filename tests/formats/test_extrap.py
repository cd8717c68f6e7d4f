"""Extra-P's formats: read strictly, written so that the same series come back, and so that Extra-P reads them."""

import contextlib
import json
import os
import re
import subprocess

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from commmodel import formats, results
from commmodel.errors import CommModelError, DamagedFileError, InputError
from commmodel.results import Header, Launch, Library, Measurements, Record
from commmodel.results.configurations import Collective, Function, Memory, PingPong, Queue, Threshold
from commmodel.scaling import fit_surface, parse_growth, series_over

HEADER = Header("commmodel-results", 1, "", (), Library("MPI"), (), ())
JSON = """\
{"params": {"p": 4, "n": 8}, "callpath": "main->solve", "metric": "time", "value": 1.5}
{"params": {"n": 8, "p": 8}, "callpath": "main->solve", "metric": "time", "value": [2.5, 3]}

{"params": {"p": 4, "n": 8}, "callpath": "main->solve", "metric": "time", "value": 1.25}
{"params": {"p": 4, "n": 8}, "metric": "bytes_sent", "value": 64}
{"params": {"p": 4, "n": 8}, "callpath": "main", "value": 0}
"""
TEXT = """\
# of a study
PARAMETER p
PARAMETER  n
POINTS (4 8) ( 8 8 )
POINTS ((4)(16)) (8 16)

METRIC time
REGION main->solve
DATA 1.5 1.25
DATA 2.5 3e0
# half way
DATA 4
DATA +5.
METRIC visits
DATA 1
DATA 2
DATA 3
DATA 4
REGION main -> other
DATA 1
DATA 2
DATA 3
DATA 4
"""
TEXT_BARE = "POINTS 4 8\nREGION a\nDATA 1\nDATA 2\n"


def measured(*launches):
    return Measurements(tuple(Launch(HEADER, tuple(records)) for records in launches))


def rows(measurements):
    return [(record.configuration, record.unit, record.samples) for record in measurements.records]


def point(**parameters):
    return tuple((name, float(value)) for name, value in parameters.items())


@pytest.mark.parametrize("name", ["auto", "extrap-json"])
def test_json_lines_are_read(name, write_file):
    (launch,) = formats.load(write_file(JSON), name).launches
    assert rows(Measurements((launch,))) == [
        (Function("main->solve", "time", point(p=4, n=8)), "s", (1.5, 1.25)),
        (Function("main->solve", "time", point(p=8, n=8)), "s", (2.5, 3.0)),
        (Function("<root>", "bytes_sent", point(p=4, n=8)), "B", (64.0,)),
        (Function("main", "<default>", point(p=4, n=8)), "1", (0.0,)),
    ]
    assert launch.header.mpi.version == "unknown (read from Extra-P output)"


@pytest.mark.parametrize("name", ["auto", "extrap-text"])
def test_the_text_format_is_read(name, write_file):
    points = [point(p=4, n=8), point(p=8, n=8), point(p=4, n=16), point(p=8, n=16)]
    expected = [
        *((Function("main->solve", "time", at), "s", values)
          for at, values in zip(points, [(1.5, 1.25), (2.5, 3.0), (4.0,), (5.0,)], strict=True)),
        *((Function(region, "visits", at), "1", (float(value),))
          for region in ("main->solve", "main -> other") for value, at in enumerate(points, 1)),
    ]  # fmt: skip
    assert rows(formats.load(write_file(TEXT), name)) == expected
    assert rows(formats.load(write_file("PARAMETER p\r\n" + TEXT_BARE.replace("\n", "\r\n")), name)) == [
        (Function("a", "<default>", point(p=4)), "1", (1.0,)),
        (Function("a", "<default>", point(p=8)), "1", (2.0,)),
    ]


def test_what_is_no_field_of_the_format_is_noted(write_file):
    line = '{"params": {"p": 4}, "value": 1, "host": "a"}\n'
    assert (
        formats.load(write_file(line * 3))
        .notes[0]
        .endswith("line 1: left out, as the format has no such field: 'host' (and 2 more like it)")
    )
    assert formats.load(write_file(JSON)).notes == ()


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("time", ("time", "s")),
        ("Max-Runtime", ("Max-Runtime", "s")),
        ("wait (s)", ("wait", "s")),
        ("time (ms)", ("time (ms)", "1")),
        ("time steps", ("time steps", "1")),
        ("pss memory", ("pss memory", "B")),
        ("bytes_sent", ("bytes_sent", "B")),
        ("bytes/s", ("bytes/s", "1")),
        ("bytes per time", ("bytes per time", "1")),
        ("PAPI_TOT_INS", ("PAPI_TOT_INS", "1")),
        ("time (1)", ("time", "1")),
        ("(s)", ("(s)", "s")),
    ],
)
def test_a_metric_tells_its_unit(metric, expected, write_file):
    line = json.dumps({"params": {"p": 4}, "metric": metric, "value": 1})
    (record,) = formats.load(write_file(line)).records
    assert (record.configuration.metric, record.unit) == expected


def json_line(**changes):
    fields = {"params": {"p": 4}, "callpath": "a", "metric": "time", "value": 1.0} | changes
    return json.dumps({name: value for name, value in fields.items() if value is not None}) + "\n"


GOOD = json_line()
HEAD = "PARAMETER p\nPOINTS (4) (8)\nREGION a\n"
DAMAGES = {
    "json: cut off": (GOOD + GOOD[:30], "line 2: ", "delete this line"),
    "json: NaN": (GOOD + json_line(value=float("nan")), "line 2: ", "NaN or Infinity is no measured value"),
    "json: infinite": (GOOD + json_line(value=float("inf")), "line 2: ", "NaN or Infinity"),
    "json: too large": (GOOD + json_line(value=10**400), "line 2: ", "no finite number"),
    "json: negative": (GOOD + json_line(value=-1), "line 2: ", "value: '-1' is no finite number from 0 up"),
    "json: one negative": (GOOD + json_line(value=[1, -1]), "line 2: ", "value: '-1'"),
    "json: text": (GOOD + json_line(value="1"), "line 2: ", "value: '1'"),
    "json: true": (GOOD + json_line(value=True), "line 2: ", "value: 'True'"),
    "json: null": (GOOD + '{"params": {"p": 4}, "value": null}', "line 2: ", "value: 'None'"),
    "json: empty list": (GOOD + json_line(value=[]), "line 2: ", "an empty list"),
    "json: no value": (GOOD + json_line(value=None), "line 2: ", 'no "value"'),
    "json: no params": (GOOD + json_line(params=None), "line 2: ", 'no "params"'),
    "json: empty params": (GOOD + json_line(params={}), "line 2: ", 'no "params"'),
    "json: another parameter": (GOOD + json_line(params={"n": 4}), "line 2: ", "parameter 'p' of the lines before"),
    "json: one more": (GOOD + json_line(params={"p": 4, "n": 1}), "line 2: ", "'n' is not in the lines before"),
    "json: a word": (GOOD + json_line(params={"p": "4"}), "line 2: ", "parameter p: '4' is no finite number"),
    "json: below 0": (GOOD + json_line(params={"p": -4}), "line 2: ", "parameter p: '-4'"),
    "json: callpath": (GOOD + json_line(callpath=3), "line 2: ", "callpath: '3' is no name"),
    "json: metric": (GOOD + json_line(metric=" "), "line 2: ", "metric: ' ' is no name"),
    "json: a list": (GOOD + "[1]\n", "line 2: ", "no object like"),
    "json: deep": (GOOD + "[" * 100_000 + "\n", "line 2: ", "delete this line"),
    "json: two names": (GOOD + json_line(metric="time (s)"), "line 2: ", "'time (s)' is 'time' written otherwise"),
    "json: ours below": (GOOD + '{"type": "header"}\n', "line 2: ", 'no "params"'),
    "json: binary": (GOOD.encode() + b"\x00\x01", "line 2: ", "binary"),
    "json: other": ('{"parameters": ["p"], "measurements": {}}', "line 1: ", "Extra-P's JSON or TaLPas format"),
    "json: TaLPas": ('{"parameters":{"p":1};"metric":"m";"callpath":"a";"value":1}\n', "line 1: ", "TaLPas"),
    "xml": ('<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', "line 1: ", "XML is not read"),
    "cube": ('<cube version="4.4">\n', "line 1: ", "XML is not read"),
    "experiment": (b"PK\x03\x04\x14\x00experiment.json", "line 1: ", "binary"),
    "text: keyword": (HEAD + "DATA 1\nDATEN 2\n", "line 5: ", "'DATEN' is none of PARAMETER, POINTS"),
    "text: nothing behind": (HEAD + "DATA\n", "line 4: ", "nothing behind DATA"),
    "text: NaN": (HEAD + "DATA nan\n", "line 4: ", "DATA: 'nan' is no finite number from 0 up"),
    "text: negative": (HEAD + "DATA 1 -1\n", "line 4: ", "DATA: '-1'"),
    "text: infinite": (HEAD + "DATA 1e999\n", "line 4: ", "DATA: '1e999'"),
    "text: too few": (HEAD + "DATA 1\n", "line 5: ", "1 lines of DATA of 'a', '<default>' before it, but there are 2"),
    "text: too few before": (HEAD + "DATA 1\nREGION b\nDATA 1\nDATA 2\n", "line 5: ", "1 lines of DATA of 'a'"),
    "text: too many": (HEAD + "DATA 1\nDATA 2\nDATA 3\n", "line 6: ", "more lines of DATA than the 2 points"),
    "text: twice": (HEAD + 2 * "REGION b\nDATA 1\nDATA 2\n", "line 8: ", "'b', '<default>' is there twice"),
    "text: no parameter": (TEXT_BARE, "line 1: ", "before any PARAMETER"),
    "text: no points": ("PARAMETER p\nREGION a\nDATA 1\n", "line 3: ", "before any POINTS"),
    "text: late points": (HEAD + "DATA 1\nDATA 2\nPOINTS (16)\n", "line 6: ", "POINTS stands after DATA"),
    "text: late parameter": ("PARAMETER p\nPOINTS (4)\nPARAMETER n\n", "line 3: ", "stands after POINTS"),
    "text: parameter twice": ("PARAMETER p p\n", "line 1: ", "'p' is there twice"),
    "text: point twice": ("PARAMETER p\nPOINTS (4) (8) (4)\n", "line 2: ", "a point is there twice"),
    "text: point of two": ("PARAMETER p\nPOINTS (4 8)\n", "line 2: ", "a point of 2 values, but there are 1"),
    "text: point of one": ("PARAMETER p n\nPOINTS (4) (8)\n", "line 2: ", "a point of 1 values, but there are 2"),
    "text: no brackets": ("PARAMETER p n\nPOINTS 4 8\n", "line 2: ", "is written like (4 1024)"),
    "text: open bracket": ("PARAMETER p\nPOINTS (4\n", "line 2: ", "not closed"),
    "text: closed bracket": ("PARAMETER p\nPOINTS 4 )\n", "line 2: ", "not opened"),
    "text: point": ("PARAMETER p\nPOINTS (four)\n", "line 2: ", "a point: 'four'"),
    "text: no data": (HEAD, "", "no measurements: a line DATA below"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_one_line_with_file_and_line(damage, write_file):
    text, where, words = DAMAGES[damage]
    path = write_file(text)
    with pytest.raises(DamagedFileError) as error:
        formats.load(path)
    assert str(error.value).startswith(f"{path}: {where}")
    assert words in str(error.value)
    assert len(str(error.value)) < 500


def test_our_own_file_is_never_taken_for_theirs(tmp_path):
    path = tmp_path / "results.jsonl"
    tricky = Record(Function('"params": {', "time", point(p=2)), "s", (1.0,))
    formats.dump(measured([tricky]), path, "commmodel")
    assert formats.load(path) == results.load(path) == measured([tricky])
    assert rows(formats.load_all([path])) == rows(measured([tricky]))


def test_long_lines_and_large_files_are_read(write_file, tmp_path):
    values = [1.0 + 1e-9 * i for i in range(5000)]
    record = Record(Function("a", "time", point(p=4)), "s", tuple(values))
    for name in ("extrap-json", "extrap-text"):
        formats.dump(measured([record]), tmp_path / name, name)
        assert rows(formats.load(tmp_path / name)) == rows(measured([record]))
    large = write_file("PARAMETER p\n" + f"#{' ' * 1022}\n" * (1 << 14) + TEXT_BARE)
    assert len(rows(formats.load(large, "extrap-text"))) == 2


LINES = sorted({line for text in (JSON, TEXT, TEXT_BARE, "PARAMETER p") for line in text.splitlines()})


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=100),
        st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=20)), max_size=30).map(
            lambda lines: "\n".join(lines).encode("utf-8", "replace")
        ),
    ),
    st.sampled_from(["auto", "extrap-json", "extrap-text"]),
)
@example(b"\xef\xbb\xbfPARAMETER p", "auto")
def test_no_content_ends_in_anything_but_measurements_or_our_errors(tmp_path_factory, content, name):
    path = tmp_path_factory.getbasetemp() / "fuzz"
    path.write_bytes(content)
    with contextlib.suppress(CommModelError):
        records = list(formats.load(path, name).records)
        assert all(0 <= sample < float("inf") for record in records for sample in record.samples)


def described(measurements, over):
    """Return all series in a form that can be compared; launches are one in Extra-P's formats."""
    return {
        (entry.name, entry.metric, entry.unit, entry.fixed): {
            scale: sorted(np.ravel(samples).tolist())
            for scale, samples in zip(entry.scales, entry.samples, strict=True)
        }
        for entry in series_over(measurements, over)
    }


SAMPLE = st.just(0.0) | st.floats(1e-30, 1e9)
NAMES = st.one_of(
    st.sampled_from(["bcast", "main->solve", "a b", "x [y]", "x [y=1]", "x [p=1]", "#", "# a [b=c, d=2]", "x [a=,]"]),
    st.text(min_size=1, max_size=8).filter(lambda name: name.strip()),
)
METRIC_NAMES = st.sampled_from(["time", "wait", "wait (s)", "bytes", "visits", "time (ms)", "memory"])


@st.composite
def studies(draw):
    """Functions, collectives or memory that were all measured at the same points."""
    scales = draw(st.lists(st.integers(1, 1 << 20), min_size=1, max_size=4, unique=True))
    sizes = draw(st.lists(st.integers(0, 1 << 30), min_size=1, max_size=3, unique=True))

    def samples():
        return tuple(draw(st.lists(SAMPLE, min_size=1, max_size=3)))

    entry = []
    match draw(st.sampled_from(["functions", "collectives", "memory"])):
        case "functions":
            labels = draw(st.lists(st.tuples(NAMES, METRIC_NAMES), min_size=1, max_size=3, unique=True))
            for name, metric in labels:
                unit = draw(st.sampled_from("sB1"))
                entry += [
                    Record(Function(name, metric, point(p=p, size=n)), unit, samples()) for p in scales for n in sizes
                ]
        case "collectives":
            for operation in draw(st.lists(st.sampled_from(["bcast", "scan"]), min_size=1, max_size=2, unique=True)):
                start = draw(st.sampled_from(["barrier", "round-time"]))
                mode = draw(st.sampled_from(["blocking", "overlapped"]))
                entry += [
                    Record(Collective(operation, n, p, start, mode), "s", samples()) for p in scales for n in sizes
                ]
        case _:
            entry += [Record(Memory("comm_dup", p, "pss"), "B", samples()) for p in scales]
    return measured(entry)


@settings(max_examples=200, deadline=None)
@given(studies(), st.sampled_from(["extrap-json", "extrap-text"]), st.sampled_from([None, ["p"]]))
def test_what_is_written_is_read_again_as_the_same_series(tmp_path_factory, measurements, name, over):
    path = tmp_path_factory.getbasetemp() / "study"
    try:
        notes = formats.dump(measurements, path, name, over)
    except InputError as error:
        assert re.search("not written|no parameter that all have", str(error))  # noqa: PT017  (most draws can be written)
        return
    again = formats.load(path, name)
    for parameter in ("p", "n", "size"):
        expected, result = described(measurements, parameter), described(again, parameter)
        if notes:
            assert result.items() <= expected.items()
        else:
            assert result == expected


@pytest.mark.parametrize("name", ["extrap-json", "extrap-text"])
def test_ordinary_studies_are_written_whole(name, tmp_path):
    records = [Record(Collective("bcast", n, p, "round-time"), "s", (1e-6 * p, 2e-6)) for p in (2, 4) for n in (0, 8)]
    records += [Record(Memory("comm_dup", p), "B", (100.0 * p,)) for p in (2, 4)]
    assert formats.dump(measured(records), tmp_path / "file", name) == ()
    again = formats.load(tmp_path / "file")
    assert described(again, "p") == described(measured(records), "p")
    assert [record.configuration.name for record in again.records][::2] == [
        "bcast [n=0, start=round-time]",
        "bcast [n=8, start=round-time]",
        "comm_dup",
    ]


def test_parameters_are_chosen_so_that_all_can_be_written(tmp_path):
    grid = [Record(Collective("bcast", n, p), "s", (1.0,)) for p in (2, 4) for n in (8, 64)]
    barrier = [Record(Collective("barrier", 0, p), "s", (1.0,)) for p in (2, 4)]

    def names(records, over=None):
        notes = formats.dump(measured(records), tmp_path / "file", "extrap-json", over)
        return notes, [[name for name, _ in record.configuration.parameters] for record in
                       formats.load(tmp_path / "file").records]  # fmt: skip

    assert names(grid) == ((), [["n", "p"]] * 4)
    assert names(grid, ["p", "n"]) == ((), [["p", "n"]] * 4)
    assert names(grid + barrier) == ((), [["p"]] * 6)
    notes, left = names(grid + barrier, ["n", "p"])
    assert left == [["n", "p"]] * 4
    assert notes[0].startswith("not written: barrier [start=barrier]: measured at other points of n, p than most")


def test_what_cannot_be_written_is_named(tmp_path):
    path = tmp_path / "file"
    good = [Record(Memory("comm_dup", p), "B", (1.0,)) for p in (2, 4)]
    result = [
        Record(Threshold("same-node"), "B", (1.0,)),
        Record(PingPong(8, "any"), "s", (1.0,)),
        Record(Queue(8, "put", "any"), "s", (1.0, 2.0)),
        Record(Memory("cart_create", 8), "B", (1.0,)),
        Record(Function("x [y=1", "time", point(p=2)), "s", (1.0,)),
    ]
    notes = "\n".join(formats.dump(measured(good + result), path, "extrap-json", ["p"]))
    assert "threshold: it depends on no number" in notes
    assert "pingpong: it does not depend on p" in notes
    assert "queue: its samples are no repetitions" in notes
    assert "cart_create, x [y=1: measured at other points" in notes
    assert [record.configuration.name for record in formats.load(path).records] == ["comm_dup"] * 2
    (note,) = formats.dump(measured(good, good), path, "extrap-text")
    assert note.startswith("several launches are written as repetitions")
    assert [len(record.samples) for record in formats.load(path).records] == [2, 2]
    lines = [Record(Function("two\nlines", "time", point(p=p)), "s", (1.0,)) for p in (2, 4)]
    notes = formats.dump(measured(good + lines), path, "extrap-text")
    assert notes == ("not written: 'two\\nlines': the text format has no such names: write JSON lines",)
    assert formats.dump(measured(good + lines), path, "extrap-json") == ()


@pytest.mark.parametrize(
    ("records", "name", "over", "words"),
    [
        ([Threshold("any")], "extrap-json", None, "not written: threshold: it depends on no number"),
        ([], "extrap-text", None, "no measurements to write"),
        (
            [Memory("use", 2), PingPong(8, "any")],
            "extrap-json",
            None,
            "no parameter that all have and that varies: choose with `over`",
        ),
        ([Memory("use", 2)], "extrap-json", ["n"], "nothing was measured over 'n': choose one of p"),
        ([Memory("use", 2), PingPong(8, "any")], "extrap-json", ["p", "n"], "over p and n together"),
        ([Function("a", "b", point(**{"p q": 1}))], "extrap-text", None, "no parameter called 'p q'"),
        ([Function("a", "b", point(a=1, b=1, c=1, d=1, e=1))], "extrap-text", list("abcde"), "5 parameters, but"),
        ([Memory("use", 2)], "csv", None, "our CSV holds pingpong"),
        ([Memory("use", 2)], "csv", ["p"], "only Extra-P's formats have parameters"),
        ([Memory("use", 2)], "xml", None, "format is 'xml': choose one of commmodel"),
    ],
)
def test_what_cannot_be_written_at_all_is_refused_and_leaves_no_file(records, name, over, words, tmp_path):
    measurements = measured([Record(entry, "s", (1.0,)) for entry in records])
    with pytest.raises(InputError, match=words):
        formats.dump(measurements, tmp_path / "file", name, over)
    assert list(tmp_path.iterdir()) == []


def test_numbers_of_numpy_are_written_as_numbers(tmp_path):
    records = [Record(PingPong(8, "any"), "s", (np.float64(0.1),))]
    for name in ("csv", "extrap-json", "extrap-text"):
        formats.dump(measured(records), tmp_path / name, name)
        assert [record.samples for record in formats.load(tmp_path / name).records] == [(0.1,)]


def test_files_over_two_parameters_become_a_surface(write_file):
    p, n = (axis.ravel() for axis in np.meshgrid([2, 4, 8, 16, 32], [1, 8, 64, 512, 4096]))
    values = 1e-6 + 1e-9 * n * np.log2(p)
    points = " ".join(f"({a} {b})" for a, b in zip(p, n, strict=True))
    data = "".join(f"DATA {value!r}\n" for value in values.tolist())
    read = formats.load(write_file(f"PARAMETER p n\nPOINTS {points}\nREGION main\nMETRIC time\n{data}"))
    assert len([*series_over(read, "p")]) == len([*series_over(read, "n")]) == 5
    at = np.array([[value for _, value in record.configuration.parameters] for record in read.records])
    result = [record.samples[0] for record in read.records]
    model = fit_surface(
        *at.T, result, [parse_growth("p"), parse_growth("log p")], [parse_growth("p"), parse_growth("p^2")]
    )
    assert model(64, 8192) == pytest.approx(1e-6 + 1e-9 * 8192 * 6)


EXTRAP = os.environ.get("COMMMODEL_EXTRAP")
MODELLED = """
import sys
from extrap.fileio.file_reader.jsonlines_file_reader import read_jsonlines_file
from extrap.fileio.file_reader.text_file_reader import TextFileReader
from extrap.modelers.model_generator import ModelGenerator

read = TextFileReader().read_experiment if sys.argv[1] == "extrap-text" else read_jsonlines_file
experiment = read(sys.argv[2])
generator = ModelGenerator(experiment)
generator.model_all()
for (path, metric), model in generator.models.items():
    terms = [(str(t.term_type), float(t.exponent)) for c in model.hypothesis.function.compound_terms
             for t in c.simple_terms]
    print(path.name, metric.name, model.predictions is None, terms, sep=";")
"""


@pytest.mark.skipif(EXTRAP is None, reason="COMMMODEL_EXTRAP names no interpreter that has Extra-P")
@pytest.mark.parametrize("name", ["extrap-json", "extrap-text"])
def test_extra_p_reads_what_we_write_and_finds_the_same_classes(name, tmp_path):
    scales = (2, 4, 8, 16, 32, 64)
    records = [Record(Collective("bcast", 8, p), "s", (1e-6 * np.log2(p) + 1e-7,) * 2) for p in scales]
    records += [Record(Collective("alltoall", 8, p), "s", (1e-6 * p + 1e-7,) * 2) for p in scales]
    records += [Record(Memory("comm_dup", p), "B", (1000.0,)) for p in scales]
    path = tmp_path / "file"
    assert formats.dump(measured(records), path, name) == ()
    done = subprocess.run(
        [EXTRAP, "-c", MODELLED, name, str(path)], capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stderr
    table = {tuple(words[:2]): words[3] for words in (line.split(";") for line in done.stdout.splitlines())}
    assert table == {
        ("bcast [n=8, start=barrier]", "time"): "[('logarithm', 1.0)]",
        ("alltoall [n=8, start=barrier]", "time"): "[('polynomial', 1.0)]",
        ("comm_dup", "memory"): "[]",
    }
