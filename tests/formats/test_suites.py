"""Other suites' output: each table becomes the records that it means, and what is damaged is refused in one line."""

import contextlib
import json
import os

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.effort import effort
from support.paths import ROOT, SHARED
from support.suite_samples import (
    BANDWIDTH,
    BANDWIDTH_PERCENTILES,
    CSV,
    IMB,
    IMB_HEAD,
    LATENCY,
    LATENCY_PERCENTILES,
    NODECOMM,
    OTHER_OSU,
    RATES,
    REAL_RATES_PERCENTILES,
    SAMPLES,
    check_rows,
    rows,
)  # fmt: skip

from commmodel import formats, machine, results
from commmodel.cli import main
from commmodel.errors import CommModelError, DamagedFileError, InputError
from commmodel.fit import fit_machine
from commmodel.results.configurations import Pairs, PingPong, Stream

DATA = SHARED
OURS = ROOT / "docs" / "examples" / "results.jsonl"


def one_line(error):
    return "\n" not in str(error.value) and len(str(error.value)) < 400


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            NODECOMM,
            [
                *((Pairs(4, k, "any", 1), t) for k, t in ((1, 2e-6), (2, 2.2e-6), (3, 2.5e-6))),
                *((Pairs(4096, k, "any", 1), t) for k, t in ((1, 1e-5), (2, 1.2e-5), (3, 1.5e-5))),
                *((Pairs(8, k, "any", 1), t) for k, t in ((1, 2e-6), (2, 3e-6))),
            ],
        ),
        (
            CSV,
            [
                (PingPong(8, "same-node"), 4.5e-6),
                (Pairs(65536, 4, "between-nodes", 1), 3.1e-5),
                (Stream(1000000, 2, "any", 64), 2e-3),
            ],
        ),
        ("message_size;bandwidth;pairs\n0;1;2\n1000;1GB/s;2\n", [(Pairs(1000, 2, "any", 1), 2e-6)]),
        ("\ufeffMessage_Size\tseconds\r\n8\t1us\r\n", [(PingPong(8, "any"), 1e-6)]),
    ],
)
def test_every_row_becomes_the_record_that_it_means(text, expected, write_file):
    check_rows(formats.load(write_file(text)), expected)


@pytest.mark.parametrize("name", SAMPLES)
def test_what_was_read_can_be_written_and_read_as_ours(name, write_file, tmp_path):
    measurements = formats.load(write_file(SAMPLES[name]))
    with results.Writer(tmp_path / "results.jsonl") as writer:
        for launch in measurements.launches:
            for line in (launch.header, *launch.records):
                writer.write(line)
    assert formats.load(tmp_path / "results.jsonl").launches == measurements.launches


def test_the_header_tells_what_the_file_tells(write_file):
    osu = formats.load(write_file(SAMPLES["osu"])).launches
    assert [launch.header.command for launch in osu] == [("osu_latency",), ("osu_bw",), ("osu_mbw_mr",)]
    assert {launch.header.mpi.version for launch in osu} == {"unknown (read from OSU output)"}
    assert osu[0].header.versions == {"osu-micro-benchmarks": "7.4"}
    assert [launch.header.placement["any"] for launch in osu[:2]] == [((0, 1),), ((0, 1),)]
    assert osu[2].header.placement["any"] == ((0, 4), (1, 5), (2, 6), (3, 7))
    header = formats.load(write_file(IMB)).launches[0].header
    assert (header.created, header.mpi.standard) == ("2026-11-20T18:34:48", "5.0")
    assert (header.hosts[0].name, header.hosts[0].kernel) == ("unknown", "6.18")
    first, second = (launch.header for launch in formats.load(write_file(NODECOMM)).launches)
    assert first.placement == {"any": ((0, 16), (1, 17), (2, 18))}
    assert first.mpi == second.mpi


def test_files_of_one_suite_are_read_together_and_name_one_library(write_file):
    paths = [write_file(LATENCY, "a"), write_file(RATES, "b"), write_file(RATES.replace("pairs: 4", "pairs: 2"), "c")]
    together = formats.load_all(paths)
    assert rows(together) == [row for path in paths for row in rows(formats.load(path))]
    assert len({launch.header.mpi.version for launch in together.launches}) == 1
    concatenated = write_file("".join(path.read_text() for path in paths), "d")
    assert rows(formats.load(concatenated)) == rows(together)


def test_what_is_left_out_is_noted(write_file):
    notes = formats.load(write_file(OTHER_OSU + LATENCY)).notes
    assert len(notes) == 1
    assert "line 1: 'OSU MPI Unheard-of Latency Test' is left out" in notes[0]
    often = formats.load(write_file(3 * OTHER_OSU + LATENCY)).notes
    assert [note.count("(and 2 more like it)") for note in often] == [1]
    assert "P50 Tail Lat(us), is taken" in formats.load(write_file(LATENCY_PERCENTILES)).notes[0]
    assert "arrived wrong" in formats.load(write_file(BANDWIDTH_PERCENTILES)).notes[1]
    slow = formats.load(write_file(BANDWIDTH + "1 0.00\n"))
    assert "line 7: 1 B is left out: Bandwidth (MB/s) is 0" in slow.notes[0]
    gave_up = '      1048576 out-of-mem.; needed X= 2.0 GB; use flag "-mem X"\n'
    assert "IMB gave up" in formats.load(write_file(IMB + gave_up)).notes[0]
    assert "none of ours: colour" in formats.load(write_file("message_size,seconds,colour\n8,1us,red\n")).notes[0]
    assert "osu_mbw_mr: the mean is taken" in formats.load(write_file(REAL_RATES_PERCENTILES)).notes[0]
    assert formats.load(write_file(LATENCY)).notes == ()


DAMAGES = {
    "empty": ("", "", "empty"),
    "blank": ("\n \n", "", "empty"),
    "unknown": (
        "hello\n",
        "line 1: ",
        "of no known format (commmodel, osu, imb, nodecomm, julia, pico, nccl, reprompi, mpi4py, netpipe, csv, ",
    ),
    "binary": (b"# OSU MPI Latency Test v7.4\n\x00\x01\x02\xff", "line 2: ", "binary"),
    "not UTF-8": (LATENCY.encode() + b"2048 1\xff\n", "line 8: ", "Avg Latency(us): '1�'"),
    "osu: decimal comma": (LATENCY + "2048 1,67\n", "line 8: ", "decimal point"),
    "csv: decimal comma": ("message_size;seconds\n8;4,1us\n", "line 2: ", "decimal point"),
    "huge line": ("x" * 10_000_000, "line 1: ", "characters long"),
    "osu: text": (LATENCY + "2048 fast\n", "line 8: ", "Avg Latency(us): 'fast'"),
    "osu: size": (LATENCY + "x 1.0\n", "line 8: ", "Size: 'x'"),
    "osu: negative": (LATENCY + "2048 -1.0\n", "line 8: ", "'-1.0'"),
    "osu: NaN": (LATENCY + "2048 nan\n", "line 8: ", "'nan'"),
    "osu: infinite": (LATENCY + "2048 inf\n", "line 8: ", "'inf'"),
    "osu: too large": (LATENCY + "2048 1e999\n", "line 8: ", "'1e999'"),
    "osu: huge number": (LATENCY + f"{'9' * 5000} 1\n", "line 8: ", "Size: '9999"),
    "osu: too few columns": (LATENCY + "2048\n4096 1\n", "line 8: ", "1 columns, but the table's header names 2"),
    "osu: too many columns": (LATENCY + "2048 1 2\n", "line 8: ", "3 columns"),
    "osu: no column header": ("# OSU MPI Latency Test v7.4\n1 0.8\n", "line 2: ", "before the table's header"),
    "osu: other columns": ("# OSU MPI Latency Test v7.4\n# Size  Colour\n", "line 2: ", "no column of osu_latency"),
    "osu: no pairs": (RATES.replace("pairs: 4", "pairs: 0"), "line 2: ", "pairs: '0'"),
    "osu: rate near 0": (BANDWIDTH + "2048 1e-320\n", "line 7: ", "between 0 and infinity"),
    "osu: nothing taken": (OTHER_OSU, "", "no measurements: a table of osu_latency, osu_bw"),
    "osu: no rows": ("# OSU MPI Latency Test v7.4\n", "", "no measurements"),
    "imb: text": (IMB + "2048 1000 slow 1\n", "line 17: ", "t[usec]: 'slow'"),
    "imb: too few columns": (IMB + "2048 1000\n4096 1000 1 1\n", "line 17: ", "2 columns, but"),
    "imb: other columns": (IMB.replace("t[usec]", "x"), "line 14: ", "no columns #bytes and t[usec]"),
    "imb: no column header": (
        IMB_HEAD + "# Benchmarking PingPong\n8 9 1 1\n",
        "line 10: ",
        "before the table's header",
    ),
    "imb: nothing taken": (IMB_HEAD, "", "no measurements: a table of PingPong"),
    "nodecomm: text": (NODECOMM + "4 1e-6 x\n", "line 10: ", "round-trip time of 2 pairs: 'x'"),
    "nodecomm: too few columns": (NODECOMM + "4 1e-6\n", "line 10: ", "1 times for 2 pairs"),
    "nodecomm: partners": (NODECOMM.replace("16, 17, 18", "16, 17"), "line 3: ", "2 partners of 3 masters"),
    "nodecomm: ranks": (NODECOMM.replace("0, 1, 2", "0, one, 2"), "line 2: ", "'one'"),
    "csv: no time": ("message_size,pairs\n8,1\n", "line 1: ", "one of seconds and bandwidth"),
    "csv: both": ("message_size,seconds,bandwidth\n8,1,1\n", "line 1: ", "one of seconds and bandwidth"),
    "csv: twice": ("message_size,seconds,seconds\n8,1,1\n", "line 1: ", "twice"),
    "csv: negative": ("message_size,seconds\n8,-1\n", "line 2: ", "'-1': a time must be finite and not negative"),
    "csv: NaN": ("message_size,seconds\n8,nan\n", "line 2: ", "'nan' is no time"),
    "csv: zero": ("message_size,seconds\n8,0\n", "line 2: ", "between 0 and infinity"),
    "csv: no rate": ("message_size,bandwidth\n8,0\n", "line 2: ", "must not be 0"),
    "csv: too few columns": ("message_size,seconds\n8\n", "line 2: ", "1 columns, but the header names 2"),
    "csv: pairs": ("message_size,seconds,pairs\n8,1,0\n", "line 2: ", "counts begin at 1"),
    "csv: range of pairs": ("message_size,seconds,pairs\n8,1,1:4\n", "line 2: ", "more than one"),
    "csv: path": ("message_size,seconds,path\n8,1,moon\n", "line 2: ", "'moon' is none of any, "),
    "csv: kernel": ("message_size,seconds,kernel\n8,1,dance\n", "line 2: ", "'dance' is none of pingpong, "),
    "csv: pingpong of pairs": ("message_size,seconds,pairs,kernel\n8,1,2,pingpong\n", "line 2: ", "has one pair"),
    "csv: no rows": ("message_size,seconds\n", "", "no measurements"),
    "ours: damaged": ('{"type": "header"}\n', "line 1: ", "required field"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_one_line_with_file_and_line(damage, write_file):
    text, where, words = DAMAGES[damage]
    path = write_file(text)
    with pytest.raises(DamagedFileError) as error:
        formats.load(path)
    assert str(error.value).startswith(f"{path}: {where}")
    assert words in str(error.value)
    assert one_line(error)


@pytest.mark.parametrize("first", SAMPLES)
@pytest.mark.parametrize("second", ["osu", "imb", "nodecomm"])
def test_two_suites_in_one_file_are_refused_where_the_second_begins(first, second, write_file):
    if first == second:
        return
    path = write_file(SAMPLES[first] + SAMPLES[second])
    with pytest.raises(DamagedFileError, match=f"{second} output begins in a file of {first} output: split") as error:
        formats.load(path)
    begins = SAMPLES[first].count("\n")
    assert int(str(error.value).split("line ")[1].split(":")[0]) in {begins + 1, begins + 2}
    for name in (first, second):
        with pytest.raises(DamagedFileError):
            formats.load(path, format=name)


def test_a_format_that_is_named_is_the_one_that_is_read(write_file):
    for name, text in SAMPLES.items():
        assert rows(formats.load(write_file(text), name)) == rows(formats.load(write_file(text)))
    assert formats.load(OURS, "commmodel") == formats.load(OURS) == results.load(OURS)
    with pytest.raises(DamagedFileError):
        formats.load(write_file(LATENCY), "imb")
    with pytest.raises(DamagedFileError, match="line 1: JSON is malformed"):
        formats.load(write_file(LATENCY.partition("\n")[2]), "commmodel")
    with pytest.raises(
        InputError, match=r"unknown format 'extrap': did you mean extrap-text\? Choose one of osu, imb, "
    ):
        formats.load(OURS, "extrap")


def test_what_cannot_be_opened_or_is_no_file_is_refused(tmp_path):
    for name in ("auto", "commmodel", *formats.REGISTRY):
        with pytest.raises(InputError, match="No such file"):
            formats.load(tmp_path / "missing", name)
        with pytest.raises(InputError, match="directory"):
            formats.load(tmp_path, name)
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 25)
    with pytest.raises(DamagedFileError, match="larger than 16 MiB"):
        formats.load(tmp_path / "large")


LINES = sorted({line for text in SAMPLES.values() for line in text.splitlines()})


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=20)), max_size=30).map(
            lambda lines: "\n".join(lines).encode("utf-8", "replace")
        ),
    ),
    st.sampled_from(("auto", "commmodel", *formats.REGISTRY)),
)
@example(b'message_size,"seconds\n8,1\n', "auto")
@example(b"\n\n#\n", "csv")
def test_no_content_ends_in_anything_but_measurements_or_our_errors(tmp_path_factory, content, name):
    path = tmp_path_factory.getbasetemp() / "fuzz"
    path.write_bytes(content)
    with contextlib.suppress(CommModelError):
        records = list(formats.load(path, name).records)
        assert all(0 <= sample < float("inf") for record in records for sample in record.samples)


@pytest.mark.parametrize("start", ["# OSU a", "# Benchmarking ", "A for ", "master:", "P" * 9000, "message_size,"])
def test_long_lines_are_read_in_time_that_grows_with_them(start, write_file):
    lines = f"{start}{' ' * 19_000}x\n" if len(start) < 100 else f"# OSU MPI Latency Test v7\n# Size {start}1\n"
    path = write_file(LATENCY + lines * 100)
    with contextlib.suppress(DamagedFileError):
        formats.load(path)  # the test is that this ends


@pytest.mark.parametrize("verb", ["fit", "report"])
def test_the_command_reads_other_formats_and_takes_the_option(verb, write_file, tmp_path, capsys):
    output = str(tmp_path / "out")
    assert main([verb, str(write_file(NODECOMM)), "-o", output, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert main([verb, str(write_file(NODECOMM)), "-o", output, "--force", "--json", "--format", "nodecomm"]) == 0
    capsys.readouterr()
    assert main([verb, str(write_file(NODECOMM)), "-o", output, "--force", "--format", "commmodel"]) == 2
    assert "line 1" in capsys.readouterr().err
    assert main([verb, str(write_file(NODECOMM)), "-o", output, "--force", "--format", "abc"]) == 2
    assert "unknown format 'abc'" in capsys.readouterr().err


FOREIGN = ["slurmstepd: error: *** STEP 1.0 ON node CANCELLED ***", "real\t0m3.1s", "real 3.10", "+ date",
           "METRICS END",
           "[1700000000.123456] [node:4711:0] ucp_context.c:1 UCX  WARN  unused environment variable: UCX_X",
           "2026-11-26 10:00:00 epilogue of the job done"]  # fmt: skip


@pytest.mark.parametrize("line", FOREIGN)
@pytest.mark.parametrize("name", SAMPLES)
def test_a_line_of_something_else_after_or_in_a_table_is_passed_over(name, line, write_file):
    lines = SAMPLES[name].rstrip("\n").split("\n")
    expected = rows(formats.load(write_file(SAMPLES[name])))
    for place in (len(lines) - 1, len(lines)):
        log = formats.load(write_file("\n".join([*lines[:place], line, *lines[place:], ""])))
        assert rows(log) == expected
        assert f"line {place + 1}: " in log.notes[-1]


def test_rows_of_another_program_after_a_table_are_none_of_it(write_file):
    other = "+ ./mine\n1 41.36\n1024 43.10\n"
    assert rows(formats.load(write_file(LATENCY + other))) == rows(formats.load(write_file(LATENCY)))


@pytest.mark.parametrize(
    "prefix", ["0: ", "[0] ", "[1,0]<stdout>: ", "[1,0]<stdout>:", "[prterun-node-17@1,0]<stdout>: "]
)
@pytest.mark.parametrize("name", ["osu", "imb", "nodecomm"])
def test_what_launchers_write_before_lines_is_left_out(name, prefix, write_file):
    text = "module load mpi\n[1] 4711\n" + "".join(f"{prefix}{line}\n" for line in SAMPLES[name].splitlines())
    log = formats.load(write_file(text))
    assert rows(log) == rows(formats.load(write_file(SAMPLES[name])))
    assert len(log.notes) == 1


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_other_encodings_are_read(encoding, write_file):
    text = "Größe des Auftrags: 2\n" + LATENCY
    assert rows(formats.load(write_file(text.encode(encoding)))) == rows(formats.load(write_file(LATENCY)))


def test_a_file_without_measurements_among_others_is_passed_over(write_file):
    paths = [write_file("hello\n", "a"), write_file(LATENCY, "b"), write_file(OTHER_OSU, "c"), write_file("", "d")]
    together = formats.load_all(paths)
    assert rows(together) == rows(formats.load(paths[1]))
    assert [os.fspath(path) in note for path, note in zip([paths[0], *paths[2:]], together.notes, strict=True)] == [
        True
    ] * 3
    for files in (paths[:1], [paths[1], write_file(LATENCY + "2048 fast\n", "e")]):
        with pytest.raises(DamagedFileError):
            formats.load_all(files)


def test_tables_of_accelerators_and_hosts_are_not_fitted_together(write_file):
    buffers = "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n# Size"
    device = LATENCY.replace("OSU MPI", "OSU MPI-CUDA").replace("# Size", buffers)
    assert formats.load(write_file(device)).launches[0].header.command == ("osu_latency", "-d", "cuda", "D", "D")
    with pytest.raises(InputError, match="different memory"):
        fit_machine(formats.load_all([write_file(LATENCY, "a"), write_file(device, "b")]))
    assert fit_machine(formats.load(write_file(device))).segments


needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the data of others are not here")


@needs_data
@pytest.mark.parametrize(
    ("name", "count", "kind", "largest"),
    [
        ("suites/osu_latency.txt", 23, PingPong, 301.52e-6),
        ("suites/osu_bw.txt", 23, Stream, 4194304 / 15173.11e6),
        ("suites/osu_mbw_mr.txt", 17, Stream, 2 / 25612.37),
        ("suites/imb_pingpong.txt", 24, PingPong, 273.54e-6),
        ("blue-waters/pingpong_1.txt", 4 * 17 * 16, Pairs, 1.32e-3 / 2),
    ],
)
def test_real_files_are_read(name, count, kind, largest):
    records = list(formats.load(DATA / name).records)
    assert len(records) == count
    assert all(isinstance(record.configuration, kind) for record in records)
    assert records[-1].samples == pytest.approx((largest,))


@needs_data
def test_blue_waters_becomes_a_machine(tmp_path, capsys):
    path = tmp_path / "machine.toml"
    files = map(os.fspath, sorted((DATA / "blue-waters").glob("pingpong_*.txt"))[:: effort(quick=4, thorough=1)])
    assert main(["fit", *files, "-o", str(path), "--protocol-limits", "500,8000", "--resamples", "20"]) == 0
    loaded = machine.load(path)
    assert [segment.limit and segment.limit.value for segment in loaded.segments] == [500, 8000, None]
    assert loaded.origin.mpi == "unknown (read from nodecomm output)"


def test_a_file_of_another_suite_is_fitted_where_a_machine_is_needed(write_file, capsys):
    assert main(["predict", str(write_file(LATENCY + "4096 2.5\n")), "send", "-n", "8", "--json"]) == 0
    assert 0 < json.loads(capsys.readouterr().out)["seconds"] < 1e-5
