"""The verb convert: measurements from one format to another, whole or not at all."""

import errno
import json
import os
from functools import partial

import pytest

from commmodel import formats, results
from commmodel.cli import main
from commmodel.formats import writing
from commmodel.results import Header, Launch, Library, Measurements, Record
from commmodel.results.configurations import Collective, Function, PingPong, Stream
from commmodel.scaling import series_over

HEADER = Header("commmodel-results", 1, "", (), Library("MPI"), (), ())
JSON = '{"params": {"p": 4}, "callpath": "main", "metric": "time", "value": [1.5, 2.5]}\n'
OSU = "# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n8   1.50\n64   2.50\n"


@pytest.fixture
def results_file(tmp_path):
    """A results.jsonl with a broadcast at two numbers of processes and a ping-pong."""
    path = tmp_path / "results.jsonl"
    records = [Record(Collective("bcast", 8, p), "s", (1e-6 * p, 2e-6)) for p in (2, 4)]
    records.append(Record(PingPong(8, "same-node"), "s", (1e-6, 2e-6)))
    formats.dump(Measurements((Launch(HEADER, tuple(records)),)), path, "commmodel")
    return path


def series_by_name(measurements):
    return [record.configuration.name for record in measurements.records]


def test_ours_becomes_theirs(results_file, tmp_path, capsys):
    output = tmp_path / "out.txt"
    assert main(["convert", str(results_file), "-o", str(output), "--over", "p"]) == 0
    result = capsys.readouterr()
    assert result.out == f"written to {output} (extrap-text)\n"
    assert result.err == "note: not written: pingpong: it does not depend on p\n"
    assert output.read_text().startswith("PARAMETER p\nPOINTS (2) (4)\n")
    (entry,) = series_over(formats.load(output))
    assert (entry.name, entry.fixed, entry.scales) == ("bcast", (("n", 8.0), ("start", "barrier")), (2.0, 4.0))


def test_the_json_says_what_the_text_says(results_file, tmp_path, capsys):
    output = tmp_path / "out.jsonl"
    assert main(["convert", str(results_file), "-o", str(output), "--to", "extrap-json", "--over", "p", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "output": str(output),
        "format": "extrap-json",
        "records": 3,
        "notes": ["not written: pingpong: it does not depend on p"],
    }
    assert series_by_name(formats.load(output)) == ["bcast [n=8, start=barrier]"] * 2


def test_theirs_and_other_suites_become_ours(tmp_path, capsys):
    (tmp_path / "a").write_text(JSON)
    (tmp_path / "b").write_text(OSU)
    output = tmp_path / "results.jsonl"
    files = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert main(["convert", *files, "-o", str(output), "--to", "commmodel"]) == 0
    assert capsys.readouterr().err == ""
    assert results.load(output).launches == formats.load_all(files).launches
    assert [type(record.configuration) for record in results.load(output).records] == [Function, PingPong, PingPong]


def test_csv_holds_pingpongs_and_streams(results_file, tmp_path, capsys):
    output = tmp_path / "out.csv"
    assert main(["convert", str(results_file), "-o", str(output)]) == 0
    assert "not written: 2 of 3 records" in capsys.readouterr().err
    assert [(record.configuration, record.samples) for record in formats.load(output).records] == [
        (PingPong(8, "same-node"), (1e-6,)),
        (PingPong(8, "same-node"), (2e-6,)),
    ]
    values = [Record(Stream(8, 2, "any", window), "s", (1e-6,)) for window in (64, 8)]
    notes = formats.dump(Measurements((Launch(HEADER, tuple(values)),)), output, "csv")
    assert notes == ("not written: 1 of 2 records: our CSV holds pingpong, pairs and stream only",)
    assert [record.configuration for record in formats.load(output).records] == [Stream(8, 2, "any", 64)]


def test_a_file_that_is_there_is_replaced_only_when_told_to(results_file, tmp_path, capsys):
    output = tmp_path / "out.txt"
    output.write_text("precious")
    command = ["convert", str(results_file), "-o", str(output), "--over", "p"]
    assert main(command) == 2
    assert "exists: replace it with --force" in capsys.readouterr().err
    assert output.read_text() == "precious"
    link = tmp_path / "link.txt"
    link.symlink_to(output)
    command[3] = str(link)
    assert main([*command, "--force"]) == 0
    assert link.is_symlink()
    assert output.read_text().startswith("PARAMETER p\n")


def test_a_file_that_is_replaced_keeps_its_permissions(results_file, tmp_path):
    output = tmp_path / "out.txt"
    output.touch(0o600)
    assert main(["convert", str(results_file), "-o", str(output), "--over", "p", "--force"]) == 0
    assert output.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["x.ti", "folder"])
def test_a_trace_is_told_the_formats_of_programs_not_those_of_measurements(tmp_path, capsys, name):
    trace = tmp_path / "trace"
    trace.write_text("0 init\n0 send 1 0 8\n1 init\n1 recv 0 0 8\n")
    assert main(["convert", str(trace), "-o", str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert ".goal" in error
    assert "--to" not in error


def test_no_half_file_is_left(results_file, tmp_path, capsys, monkeypatch):
    def full(_):
        yield b"half"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setitem(writing.WRITTEN, "extrap-json", partial(writing.WRITTEN["extrap-json"], render=full))
    output = tmp_path / "out.jsonl"
    output.write_text("precious")
    command = ["convert", str(results_file), "-o", str(output), "--to", "extrap-json", "--over", "p", "--force"]
    assert main(command) == 2
    assert "out.jsonl: cannot be written: No space left" in capsys.readouterr().err
    assert output.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "results.jsonl"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-o", "OUT.jsonl"], "its suffix does not tell the format: choose with --to commmodel, extrap-json"),
        (["-o", "OUT"], "its suffix does not tell the format"),
        (["-o", "OUT.txt", "--to", "xml"], "--to: there is no 'xml'"),
        (["-o", "OUT.txt"], "no parameter that all have and that varies: choose with --over among batch, n, p"),
        (["-o", "OUT.txt", "--over", "q"], "--over: nothing was measured over 'q': choose one of batch, n, p"),
        (["-o", "OUT.txt", "--over", "p,"], "--over: 'p,' is no list of parameters"),
        (["-o", "OUT.txt", "--over", "p,p"], "--over: name one parameter at least, and each once, not p, p"),
        (["-o", "OUT.csv", "--over", "p"], "--over: only Extra-P's formats"),
        (["-o", "missing/OUT.txt", "--over", "p"], "cannot be written: No such file"),
        (["-o", "OUT.txt", "--format", "osu"], "no measurements: a table of osu_latency"),
        ([], "required: -o/--output"),
    ],
)
def test_wrong_usage_is_one_line(options, words, results_file, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["convert", str(results_file), *options]) == 2
    result = capsys.readouterr()
    assert words in result.err
    assert result.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["results.jsonl"]


def test_what_is_no_file_is_never_replaced(results_file, tmp_path, capsys):
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    assert main(["convert", str(results_file), "-o", str(pipe), "--over", "p", "--force"]) == 2
    assert "no regular file" in capsys.readouterr().err
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("fit", ["-o", "OUT"]),
        ("predict", ["send", "-n", "8"]),
        ("optimize", ["--volume", "8MiB", "--computation", "3ms"]),
    ],
)
def test_functions_of_other_programs_are_no_machine(verb, options, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.jsonl").write_text(JSON)
    assert main([verb, "file.jsonl", *options]) == 2
    result = capsys.readouterr()
    assert result.err.startswith("commmodel: only functions of another program, and no messages of which a machine")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    "options", [["predict", "blue-waters", "measurements", "file.jsonl"], ["optimize", "--validate", "file.jsonl"]]
)
def test_nor_can_a_machine_be_compared_with_them(options, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.jsonl").write_text(JSON)
    assert main(options) == 2
    result = capsys.readouterr()
    assert "no records of the kernel" in result.err
    assert result.err.count("\n") == 1


def test_schedules_become_binary_and_back(tmp_path, capsys):
    text = "num_ranks 2\n\nrank 0 {\nl1: send 8b to 1\n}\n\nrank 1 {\nl1: recv 8b from 0\n}\n"
    (tmp_path / "x.goal").write_text(text)
    assert main(["convert", str(tmp_path / "x.goal"), "-o", str(tmp_path / "x.bin")]) == 0
    assert (tmp_path / "x.bin").read_bytes()[:8] == b"\x7f\x10" + bytes(6)
    assert main(["convert", str(tmp_path / "x.bin"), "-o", str(tmp_path / "y.goal"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[1]) == {"output": str(tmp_path / "y.goal"), "notes": []}
    assert (tmp_path / "y.goal").read_text() == text
    assert main(["convert", str(tmp_path / "x.goal"), str(tmp_path / "x.bin"), "-o", str(tmp_path / "z.bin")]) == 2
    assert "is converted alone" in capsys.readouterr().err


def test_time_independent_traces_become_schedules(tmp_path):
    (tmp_path / "trace").write_text("0 init\n0 compute 1000\n0 send 1 3 8\n1 init\n1 recv 0 3 8\n")
    assert main(["convert", str(tmp_path / "trace"), "-o", str(tmp_path / "x.goal")]) == 0
    assert "calc 1000\n" in (tmp_path / "x.goal").read_text()
