"""The MPI thread level: asked for, provided, recorded, shown, and never mixed unheard."""

import sys

import pytest
from support.launching import ENVIRONMENT, error_lines, launch
from support.report_samples import header, record

from commmodel import formats, machine, results
from commmodel.bench.environment import advice
from commmodel.bench.options import parse
from commmodel.cli import main
from commmodel.errors import InputError
from commmodel.fit import fit_machine
from commmodel.predict import compare
from commmodel.report.measurements.environment import environment_rows
from commmodel.results import Launch, Library, Measurements, Writer
from commmodel.results.conditions import LEVELS, THREAD_LEVEL
from commmodel.results.configurations import PingPong, Stream

SIZES = (8, 1024, 4096, 65536, 1 << 20)


def launched(level, requested=None, kernel=PingPong, **changes):
    records = tuple(record(kernel(size, path="same-node", **changes), 1e-6 + size / 1e10) for size in SIZES)
    return Launch(header(mpi=Library("MPICH", thread_level=level, thread_level_asked=requested)), records)


def write(path, *launches):
    with Writer(path) as writer:
        for entry in launches:
            for line in (entry.header, *entry.records):
                writer.write(line)
    return str(path)


def bench(*arguments):
    return launch(2, sys.executable, "-m", "commmodel.bench", "pingpong", "--time", "0.1s", "--sizes", "8", *arguments)


@pytest.mark.mpi
@pytest.mark.parametrize("level", LEVELS)
def test_the_level_asked_for_is_the_level_provided(level, tmp_path):
    output = tmp_path / "r.jsonl"
    assert bench("--thread-level", level, "-o", output).returncode == 0
    (entry,) = results.load(output).launches
    assert (entry.header.mpi.thread_level, entry.header.mpi.thread_level_asked) == (level, level)
    assert not any("thread level" in warning for warning in entry.header.warnings)


@pytest.mark.mpi
def test_single_is_the_default_whatever_mpi4py_is_told_and_a_resumed_run_keeps_it(tmp_path, monkeypatch):
    monkeypatch.setitem(ENVIRONMENT, "MPI4PY_RC_THREAD_LEVEL", "multiple")
    output = tmp_path / "r.jsonl"
    assert bench("-o", output).returncode == 0
    (entry,) = results.load(output).launches
    assert THREAD_LEVEL.of(entry.header) == "single"
    refused = bench("--resume", "--thread-level", "multiple", "-o", output)
    assert refused.returncode == 2
    (line,) = error_lines(refused, "commmodel.bench")
    assert "thread level was single, now it is multiple: resume it with --thread-level single" in line
    assert bench("--resume", "-o", output).returncode == 0


@pytest.mark.mpi
def test_a_level_that_was_set_before_the_benchmark_is_recorded_and_told(tmp_path):
    output = tmp_path / "r.jsonl"
    code = (
        "import mpi4py; mpi4py.rc.thread_level = 'funneled'\n"
        "from mpi4py import MPI\n"
        "from commmodel.bench.command import run\n"
        f"raise SystemExit(run(['pingpong', '--sizes', '8', '--time', '0.1s', '-o', {str(output)!r}]))"
    )
    completed = launch(2, sys.executable, "-c", code)
    assert completed.returncode == 0, completed.stderr
    (entry,) = results.load(output).launches
    assert (entry.header.mpi.thread_level, entry.header.mpi.thread_level_asked) == ("funneled", "single")
    assert "the MPI thread level is funneled, not single as asked for" in completed.stderr


def test_the_level_is_asked_for_by_name_and_is_single_by_default():
    assert parse([]).thread_level == "single"
    assert parse(["--thread-level", "multiple"]).thread_level == "multiple"
    with pytest.raises(InputError, match="--thread-level"):
        parse(["--thread-level", "many"])


def test_a_level_other_than_asked_for_is_a_warning():
    assert any("is serialized, not multiple" in line for line in advice(launched("serialized", "multiple").header))
    assert not any("thread level" in line for line in advice(launched("single", "single").header))
    assert not any("thread level" in line for line in advice(launched(None).header))


def test_a_file_from_before_levels_were_recorded_was_measured_at_the_default_of_mpi4py(tmp_path):
    old = header(versions={"commmodel": "0.1.0", "mpi4py": "4.1.2"})
    assert THREAD_LEVEL.of(old) == "multiple"
    assert dict(environment_rows(old))["thread level"] == ("unknown (mpi4py's default, multiple)",)
    other = header(versions={"osu-micro-benchmarks": "7.4"})
    assert THREAD_LEVEL.of(other) is None
    assert "thread level" not in dict(environment_rows(other))


def test_the_report_shows_the_level(tmp_path, capsys):
    path = write(tmp_path / "r.jsonl", launched("serialized", "multiple"))
    page = tmp_path / "r.html"
    assert main(["report", path, "-o", str(page)]) == 0
    assert "serialized (asked for: multiple)" in capsys.readouterr().out
    assert "serialized (asked for: multiple)" in page.read_text()


def test_a_fit_refuses_different_levels_and_a_machine_knows_its_own():
    with pytest.raises(InputError, match=r"different MPI thread levels were measured \(single; multiple\): fit each"):
        fit_machine(Measurements((launched("single"), launched("multiple"))))
    assert fit_machine(Measurements((launched("single"), launched(None)))).origin.thread_level == "single"


def test_measured_times_are_not_compared_with_a_machine_of_another_level_unheard():
    fitted = fit_machine(Measurements((launched("single"),)))
    (note,) = compare(fitted, Measurements((launched("multiple"),))).notes
    assert "level multiple, but the machine was fitted at single" in note
    assert compare(fitted, Measurements((launched("single"),))).notes == ()


def test_the_report_tells_measurements_and_machine_of_different_levels(tmp_path, capsys):
    machine.dump(fit_machine(Measurements((launched("single"),))), tmp_path / "m.toml")
    words = ["report", write(tmp_path / "r.jsonl", launched("multiple")), str(tmp_path / "m.toml")]
    assert main([*words, "-o", str(tmp_path / "r.html")]) == 0
    remark = "measured at MPI thread level multiple, but the machine was fitted at single: times differ by that, too"
    assert f"note: {remark}" in capsys.readouterr().err
    assert remark in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    "arguments", [("compare", "{old}", "{new}"), ("check", "{new}", "--baseline", "{old}"), ("fit", "{old}", "{new}")]
)
def test_other_levels_are_refused_with_the_mend(arguments, tmp_path, capsys):
    names = {"old": write(tmp_path / "old", launched("multiple")), "new": write(tmp_path / "new", launched("single"))}
    words = [word.format(**names) for word in arguments]
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()[-1:]
    assert "different MPI thread levels were measured (" in line


def test_other_levels_are_compared_where_that_is_wanted(tmp_path, capsys):
    old, new = write(tmp_path / "old", launched("multiple")), write(tmp_path / "new", launched("single"))
    assert main(["compare", old, new, "--any-thread-level"]) == 0
    assert "thread level: multiple → single" in " ".join(capsys.readouterr().out.split())


def test_streams_into_one_buffer_and_into_a_buffer_each_are_never_fitted_together():
    result = launched("single", kernel=Stream, pairs=1, buffers="one")
    entry = launched("single", kernel=Stream, pairs=1)
    slower = Launch(entry.header, tuple(record(row.configuration, 2e-6 + 2e-10 * row.configuration.message_size)
                                       for row in entry.records))  # fmt: skip
    answer, alone = (fit_machine(Measurements(launches), limits=[]) for launches in ((result, slower), (result,)))
    assert answer.origin.stream_buffers == "each"
    assert answer.segments[0].one_way.alpha.value == pytest.approx(2e-6, rel=0.05)
    assert alone.origin.stream_buffers == "one"
    assert alone.segments[0].one_way.alpha.value == pytest.approx(1e-6, rel=0.05)


def test_the_report_tells_streams_apart_by_their_buffers(tmp_path, capsys):
    launches = (launched("single", kernel=Stream, pairs=1, buffers=buffers) for buffers in ("one", "each"))
    assert main(["report", write(tmp_path / "r.jsonl", *launches), "-o", str(tmp_path / "r.html")]) == 0
    for text in (capsys.readouterr().out, (tmp_path / "r.html").read_text()):
        error_lines = " ".join(text.split())
        assert "windows of 64 messages, into one buffer, as OSU&#39;s do" in error_lines.replace("'", "&#39;")
        assert "windows of 64 messages, into a buffer of its own each" in error_lines


def test_streams_into_one_buffer_stay_such_in_a_table(tmp_path):
    path = write(tmp_path / "r.jsonl", launched("single", kernel=Stream, pairs=2, buffers="one"))
    table = tmp_path / "r.csv"
    assert main(["convert", path, "--to", "csv", "-o", str(table)]) == 0
    configurations = {entry.configuration for entry in formats.load(table).records}
    assert configurations == {Stream(size, 2, "same-node", buffers="one") for size in SIZES}
