"""Touched and untouched message buffers: asked for, recorded, shown, and never fitted together."""

import json

import pytest
from support.report_samples import header, record

from commmodel import machine, results
from commmodel.bench.options import parse
from commmodel.cli import main
from commmodel.errors import InputError
from commmodel.fit import fit_machine
from commmodel.predict import compare
from commmodel.report.measurements.environment import environment_rows
from commmodel.results import BenchOptions, Launch, Measurements, Writer
from commmodel.results.conditions import MESSAGE_BUFFERS
from commmodel.results.configurations import PingPong

SIZES = (8, 1024, 4096, 65536, 1 << 20)


def launched(buffers):
    records = tuple(record(PingPong(size, path="same-node"), 1e-6 + size / 1e10) for size in SIZES)
    return Launch(header(options=BenchOptions(("pingpong",), 1, buffers=buffers)), records)


def write(path, launch):
    with Writer(path) as writer:
        for line in (launch.header, *launch.records):
            writer.write(line)
    return str(path)


def test_buffers_are_touched_unless_told_otherwise():
    assert parse([]).options.buffers == "touched"
    assert parse(["--buffers", "untouched"]).options.buffers == "untouched"
    with pytest.raises(InputError, match="buffers"):
        parse(["--buffers", "read"])


def test_a_file_from_before_there_was_a_choice_was_measured_untouched(tmp_path):
    path = tmp_path / "r.jsonl"
    write(path, launched("touched"))
    first, *rest = path.read_text().splitlines()
    old = json.loads(first)
    del old["options"]["buffers"]
    path.write_text("\n".join([json.dumps(old), *rest]) + "\n")
    (launch,) = results.load(path).launches
    assert MESSAGE_BUFFERS.of(launch.header) == "untouched"


def test_a_fit_refuses_both_kinds_and_a_machine_knows_its_own():
    measurements = Measurements((launched("touched"), launched("untouched")))
    with pytest.raises(InputError, match="touched and untouched message buffers were measured: fit each on its own"):
        fit_machine(measurements)
    assert fit_machine(Measurements((launched("untouched"),))).origin.buffers == "untouched"


def test_a_machine_and_measurements_of_the_other_kind_are_told_apart(tmp_path, capsys):
    fitted = fit_machine(Measurements((launched("touched"),)))
    other = Measurements((launched("untouched"),))
    (remark,) = compare(fitted, other).notes
    assert remark == (
        "measured with untouched message buffers, but the machine was fitted to touched ones: times differ by that"
    )
    machine.dump(fitted, tmp_path / "machine.toml")
    write(tmp_path / "r.jsonl", launched("untouched"))
    assert (
        main(["report", str(tmp_path / "r.jsonl"), str(tmp_path / "machine.toml"), "-o", str(tmp_path / "r.html")]) == 0
    )
    assert remark in capsys.readouterr().err


def test_a_baseline_of_the_other_kind_is_refused(tmp_path, capsys):
    new, old = write(tmp_path / "new.jsonl", launched("touched")), write(tmp_path / "old.jsonl", launched("untouched"))
    assert main(["check", "mpi", new, "--baseline", old]) == 2
    assert "measure both with the same --buffers" in capsys.readouterr().err


@pytest.mark.parametrize("buffers", ["touched", "untouched"])
def test_the_report_shows_which(buffers):
    rows = dict(environment_rows(launched(buffers).header))
    assert rows["buffers"][0].startswith(f"{buffers}: ")
