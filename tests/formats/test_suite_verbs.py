"""Verbs on other suites' output, also where no kernel of ours measures the same."""

import bz2
import gzip
import json
import lzma
import sys
from types import SimpleNamespace

import pytest
from support.suite_samples import IMB, LATENCY, RATES

from commmodel import formats
from commmodel.cli import main
from commmodel.errors import InputError

PUT = """\
# OSU MPI_Put Latency Test v7.4
# Window creation: MPI_Win_create_dynamic
# Synchronization: MPI_Win_flush
# Size          Latency (us)
4                       3.29
8                       3.31
"""
ALLREDUCE = "\n# OSU MPI Allreduce Latency Test v5.6.3\n# Size       Avg Latency(us)\n4   5.23\n8   5.17\n1024   9.5\n"
BOTH_WAYS = "# OSU MPI Bi-Directional Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n4    0.83\n1024    99.5\n"
EXCHANGE = """\
# Benchmarking Exchange
# #processes = 4
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            0            5        99.67      1952.57      1026.12         0.00
            8            5        99.67      1953.57      1026.12         0.00
"""
TEXTS = {
    "osu_latency": LATENCY, "osu_mbw_mr": RATES, "osu_put_latency": PUT, "osu_allreduce": ALLREDUCE,
    "osu_bibw": BOTH_WAYS, "PingPong": IMB, "Exchange": EXCHANGE,
}  # fmt: skip
COMMANDS = {
    "report": lambda path, output: ["report", path, "-o", output],
    "compare": lambda path, _: ["compare", path, path],
    "check": lambda path, _: ["check", path, "--baseline", path, "--resamples", "20"],
    "convert": lambda path, output: ["convert", path, "-o", output, "--to", "extrap-json"],
}


@pytest.mark.parametrize("verb", COMMANDS)
@pytest.mark.parametrize("name", TEXTS)
def test_every_table_is_reported_compared_checked_and_converted(name, verb, write_file, tmp_path):
    path = str(write_file(TEXTS[name]))
    assert main([*COMMANDS[verb](path, str(tmp_path / "out")), "--ranks", "8/4"]) == 0


@pytest.mark.parametrize("name", ["osu_put_latency", "Exchange"])
def test_what_no_kernel_measures_is_fitted_with_one_note_beside_messages(name, write_file, tmp_path, capsys):
    paths = [str(write_file(TEXTS[name], "a")), str(write_file(LATENCY + "4096 2.5\n", "b"))]
    assert main(["fit", *paths, "-o", str(tmp_path / "machine.toml"), "--resamples", "20"]) == 0
    message = capsys.readouterr().err
    assert message.count("not fitted, as no model is made of such tests") == 1
    assert main(["predict", paths[0], "send", "-n", "8"]) == 2
    assert name in capsys.readouterr().err


def test_a_table_of_a_test_is_in_the_report(write_file, tmp_path, capsys):
    assert main(["report", str(write_file(PUT)), "-o", str(tmp_path / "out.html")]) == 0
    table = capsys.readouterr().out
    assert "osu_put_latency [window=MPI_Win_create_dynamic, synchronisation=MPI_Win_flush]: time" in table
    assert "3.29 us" in table
    assert "over n" not in table


@pytest.mark.parametrize("name", ["osu_latency", "osu_put_latency", "Exchange"])
def test_a_slower_night_is_seen(name, tmp_path, capsys):
    nights = {}
    for side, factor in (("before", 1.0), ("after", 1.5)):
        nights[side] = tmp_path / side
        nights[side].mkdir()
        for night in range(6):
            lines = TEXTS[name].splitlines()
            rows = [line.split() if line.strip()[:1].isdigit() else line for line in lines]
            scaled = [
                row if isinstance(row, str)
                else " ".join([*row[:1], *(f"{float(word) * factor * (1 + night / 500):.4f}" if "." in word else word
                                           for word in row[1:])])
                for row in rows
            ]  # fmt: skip
            (nights[side] / f"{night}.txt").write_text("\n".join(scaled) + "\n")
    before, after = str(nights["before"]), str(nights["after"])
    assert main(["compare", before, after, "--fail"]) == 1
    assert "slower" in capsys.readouterr().out
    assert main(["check", after, "--baseline", before, "--resamples", "20"]) == 1
    assert main(["check", before, "--baseline", before, "--resamples", "20"]) == 0


def test_a_folder_is_reported(tmp_path, capsys):
    (tmp_path / "osu").mkdir()
    (tmp_path / "osu" / "put.txt").write_text(PUT)
    assert main(["report", str(tmp_path / "osu"), "-o", str(tmp_path / "out.html")]) == 0
    assert "osu_put_latency" in capsys.readouterr().out


def test_ranks_are_given_where_a_file_is_fitted_first(write_file, capsys):
    path = str(write_file(ALLREDUCE))
    command = ["predict", path, "allreduce", "-n", "8", "-p", "16", "--json"]
    assert main(command) == 2
    assert "--ranks" in capsys.readouterr().err
    assert main([*command, "--ranks", "8"]) == 0
    assert 0 < json.loads(capsys.readouterr().out)["seconds"] < 1e-3


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", TEXTS)
def test_compressed_files_are_read(name, compress, write_file):
    placement = formats.Placement(4)
    plain = formats.load(write_file(TEXTS[name]), placement=placement)
    packed = formats.load(write_file(compress(TEXTS[name].encode()), "file"), placement=placement)
    assert packed.launches == plain.launches


def test_a_compressed_file_that_was_cut_off_is_named_once(write_file):
    path = write_file(gzip.compress(LATENCY.encode())[:-9])
    with pytest.raises(InputError, match="damaged gzip data") as error:
        formats.load(path)
    assert str(error.value).count(str(path)) == 1


ZSTD = b"\x28\xb5\x2f\xfd"


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python reads Zstandard")
def test_zstandard_needs_a_package_and_refuses_no_other_file(write_file, monkeypatch):
    from commmodel import files

    packed = write_file(ZSTD + b"rest", "a.zst")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "backports.zstd", None)
        with pytest.raises(ImportError, match=r"a\.zst: .*pip install backports\.zstd, or decompress it"):
            formats.load(packed)
        together = formats.load_all([packed, write_file(LATENCY, "b")])
        assert len(list(together.records)) == 3
        assert any("a.zst" in note and "passed over" in note for note in together.notes)
    reader = SimpleNamespace(open=lambda _: (write_file(LATENCY, "plain")).open("rb"))
    monkeypatch.setattr(files, "import_module", lambda _: reader)
    assert len(list(formats.load(packed).records)) == 3


@pytest.mark.parametrize("prefix", ["", "0: ", "[0] ", "[1,0]<stdout>: "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("name", TEXTS)
def test_lines_of_launchers_and_of_windows(name, end, prefix, write_file):
    placement = formats.Placement(4)
    text = "".join(f"{prefix}{line}{end}" for line in TEXTS[name].splitlines())
    read = formats.load(write_file(text), placement=placement)
    assert read.launches == formats.load(write_file(TEXTS[name]), placement=placement).launches


@pytest.mark.parametrize("title", ["OSU MPI Unheard-of Latency Test", "OSU MPI Hello World Test", "OSU UPC Put Test"])
def test_what_is_refused_is_named_by_its_title(title, write_file):
    with pytest.raises(InputError, match=f"'{title}' is left out"):
        formats.load(write_file(f"# {title} v7.5\n# Size Latency (us)\n8   1.0\n"))
