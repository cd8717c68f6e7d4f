"""Other suites' output: each table becomes the records that it means, and what is damaged is refused in one line."""

import contextlib
import json
import os

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.paths import ROOT, SHARED

from commmodel import formats, machine, results
from commmodel.cli import main
from commmodel.errors import CommModelError, DamagedFileError, InputError
from commmodel.fit import fit_machine
from commmodel.results.configurations import Pairs, PingPong, Stream

DATA = SHARED
OURS = ROOT / "docs" / "examples" / "results.jsonl"

LATENCY = """\
srun: job 17 started
# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
0                       0.71
1                       0.82
1024                    1.25
"""
LATENCY_OLD = """\
# OSU MPI Latency Test v5.6.2
# Size          Latency (us)
8                       1.50
"""
LATENCY_PERCENTILES = """\
# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)  P50 Tail Lat(us)  P90 Tail Lat(us)  P99 Tail Lat(us)
8                       1.50              1.25              2.00              9.00
"""
BANDWIDTH = """\

# OSU MPI Bandwidth Test v7.4
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)
0                       0.00
1000                  500.00
"""
BANDWIDTH_PERCENTILES = """\
# OSU MPI Bandwidth Test v7.4
# Size      Bandwidth (MB/s) P50 Tail BW(MB/s) P90 Tail BW(MB/s)        Validation
1000                  500.00            250.00            125.00              Pass
2000                  500.00            250.00            125.00              Fail
"""
RATES = """\
# OSU MPI Multiple Bandwidth / Message Rate Test v7.4
# [ pairs: 4 ] [ window size: 32 ]
# Datatype: MPI_CHAR.
# Size                  MB/s        Messages/s
0                       0.00        1000000.00
1                       0.01          12345.00
1000                 2000.00        2000000.00
"""
# Real output: OSU Micro-Benchmarks 7.4, MPICH 5.0.2, an overloaded machine of two cores, 20 November 2026: osu_latency
# with -z, -z -c, -z5,50,99 and -z -D, osu_bw with -z -c, osu_mbw_mr with -z.
REAL_LATENCY_PERCENTILES = """\

# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)  P50 Tail Lat(us)  P90 Tail Lat(us)  P99 Tail Lat(us)
1                       6.55              4.49             10.40             17.47
8                       4.94              2.32              6.30             35.01
"""
REAL_LATENCY_VALIDATED = """\

# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)        Validation  P50 Tail Lat(us)  P90 Tail Lat(us)  P99 Tail Lat(us)
1                      13.65              Pass              1.65             51.04            125.46
"""
REAL_LATENCY_OTHER_PERCENTILES = """\

# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)   P5 Tail Lat(us)  P50 Tail Lat(us)  P99 Tail Lat(us)
1                      12.01              0.65              2.20             84.31
"""
REAL_LATENCY_DERIVED = """\

# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)  P50 Tail Lat(us)  P90 Tail Lat(us)  P99 Tail Lat(us)     Transmit Size
8                       1.05              0.85              1.13              5.51                 4
"""
REAL_BANDWIDTH_PERCENTILES = """\

# OSU MPI Bandwidth Test v7.4
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)        Validation P50 Tail BW(MB/s) P90 Tail BW(MB/s) P99 Tail BW(MB/s)
8                      10.77              Pass             25.12             26.31             26.60
"""
REAL_RATES_PERCENTILES = """\
# OSU MPI Multiple Bandwidth / Message Rate Test v7.4
# [ pairs: 2 ] [ window size: 64 ]
# Datatype: MPI_CHAR.
# Size                  MB/s        Messages/s P50 Tail BW(MB/s) P90 Tail BW(MB/s) P99 Tail BW(MB/s)
1                       0.04          39301.66              0.03              0.06              0.06
8                       0.37          45867.56              0.26              0.49              0.49
"""
RATES_ALONE = """\
# OSU MPI Multiple Bandwidth / Message Rate Test v5.9
# [ pairs: 8 ] [ window size: 64 ]
# Size                  MB/s
1000                 4000.00
"""
OTHER_OSU = """\
# OSU MPI Bi-Directional Bandwidth Test v7.4
# Size      Bandwidth (MB/s)
4                       0.83
"""
IMB_HEAD = """\
#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part
#----------------------------------------------------------------
# Date                  : Fri Nov 20 18:34:48 2026
# Release               : 6.18
# MPI Version           : 5.0
# List of Benchmarks to run:
# PingPong
"""
IMB_TABLE = """\
#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
# ( 2 additional processes waiting in MPI_Barrier)
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.98         0.00
         1024         1000         1.25       819.20
"""
IMB_EXCHANGE = """\
#----------------------------------------------------------------
# Benchmarking Exchange
# #processes = 2
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.03         0.03         0.03
"""
IMB_MULTI_HEAD = """\
#-----------------------------------------------------------------------------
# Benchmarking Multi-PingPong
# ( 2 groups of 2 processes each running simultaneous )
# Group 0:     0    1
#
# Group 1:     2    3
#
#-----------------------------------------------------------------------------
"""
IMB_MULTI_0 = """\
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            8         1000         1.00         1.50         1.25         5.33
"""
IMB_MULTI_1 = """\
Group       #bytes #repetitions      t[usec]   Mbytes/sec
 0               8         1000         1.00         8.00
 1               8         1000         1.50         5.33

 0              16         1000         2.50         8.00
 1              16         1000         2.00         5.33
"""
# Real output: IMB-MPI1 2021.11, MPICH 5.0.2, an overloaded machine of two cores, 20 November 2026: PingPong, -multi 0
# on four processes and -multi 1 on five.
REAL_IMB_MULTI_HEAD = """\
#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part
#----------------------------------------------------------------
# Date                  : Fri Nov 20 21:42:05 2026
# MPI Version           : 5.0
# MPI_Datatype                   :   MPI_BYTE
#
# List of Benchmarks to run:

# PingPong

"""
REAL_IMB_MULTI_0 = """\
#-----------------------------------------------------------------------------
# Benchmarking Multi-PingPong
# ( 2 groups of 2 processes each running simultaneous )
# Group  0:     0    1
#
# Group  1:     2    3
#
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            0           50        53.29        57.42        55.36         0.00
            8           50         1.81        77.65        39.73         0.10


# All processes entering MPI_Finalize

"""
REAL_IMB_MULTI_1 = """\
#----------------------------------------------------------------
# Benchmarking Multi-PingPong
# ( 2 groups of 2 processes each running simultaneous )
# Group  0:     0    1
#
# Group  1:     2    3
#
# ( 1 additional process waiting in MPI_Barrier)
#----------------------------------------------------------------
        Group       #bytes #repetitions      t[usec]   Mbytes/sec

            0            0           50        43.11         0.00
            1            0           50         4.20         0.00

            0           16           50        29.23         0.55
            1           16           50        44.99         0.36


# All processes entering MPI_Finalize

"""
NODECOMM = """\
Pingpong for
master:  0, 1, 2
partner: 16, 17, 18
1\t4.00e-06\t4.40e-06\t5.00e-06\t
1024\t2.00e-05\t2.40e-05\t3.00e-05\t
Pingpong for
master:  0, 1
partner: 32, 33
2\t4.00e-06\t6.00e-06\t
"""
CSV = """\
# from my own program
message_size,seconds,pairs,path,kernel
8,4.5us,,same-node,pingpong
64KiB,31us,4,between-nodes,pairs
1MB,2e-3,2,,stream
"""
IMB = IMB_HEAD + IMB_TABLE
SAMPLES = {"osu": LATENCY + BANDWIDTH + RATES, "imb": IMB, "nodecomm": NODECOMM, "csv": CSV}


@pytest.fixture
def write_file(tmp_path):
    """A function that writes a text and returns its path; the name says nothing about the format."""

    def write(text, name="file.dat"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def osu_stream(size, pairs, window):
    """Return what OSU's tests measure unless told otherwise."""
    return Stream(size, pairs, "any", window, buffers="one")


def rows(measurements):
    return [(record.configuration, record.samples) for record in measurements.records]


def one_line(error):
    return "\n" not in str(error.value) and len(str(error.value)) < 400


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            LATENCY,
            [(PingPong(0, "any"), 0.71e-6), (PingPong(1, "any"), 0.82e-6), (PingPong(1024, "any"), 1.25e-6)],
        ),
        (LATENCY_OLD, [(PingPong(8, "any"), 1.5e-6)]),
        (LATENCY_PERCENTILES, [(PingPong(8, "any"), 1.25e-6)]),
        (REAL_LATENCY_PERCENTILES, [(PingPong(1, "any"), 4.49e-6), (PingPong(8, "any"), 2.32e-6)]),
        (REAL_LATENCY_VALIDATED, [(PingPong(1, "any"), 1.65e-6)]),
        (REAL_LATENCY_OTHER_PERCENTILES, [(PingPong(1, "any"), 2.2e-6)]),
        (REAL_BANDWIDTH_PERCENTILES, [(osu_stream(8, 1, 64), 8 / 25.12e6)]),
        (REAL_RATES_PERCENTILES, [(osu_stream(1, 2, 64), 2 / 39301.66), (osu_stream(8, 2, 64), 2 / 45867.56)]),
        (
            REAL_IMB_MULTI_HEAD + REAL_IMB_MULTI_0,
            [(Pairs(0, 2, "any", 1), 57.42e-6), (Pairs(8, 2, "any", 1), 77.65e-6)],
        ),
        (
            REAL_IMB_MULTI_HEAD + REAL_IMB_MULTI_1,
            [(Pairs(0, 2, "any", 1), 43.11e-6), (Pairs(16, 2, "any", 1), 44.99e-6)],
        ),
        (BANDWIDTH, [(osu_stream(1000, 1, 64), 2e-6)]),
        (BANDWIDTH_PERCENTILES, [(osu_stream(1000, 1, 64), 4e-6)]),
        (RATES, [(osu_stream(1, 4, 32), 4 / 12345), (osu_stream(1000, 4, 32), 2e-6)]),
        (RATES_ALONE, [(osu_stream(1000, 8, 64), 2e-6)]),
        (IMB, [(PingPong(0, "any"), 0.98e-6), (PingPong(1024, "any"), 1.25e-6)]),
        (IMB_HEAD + IMB_MULTI_HEAD + IMB_MULTI_0, [(Pairs(8, 2, "any", 1), 1.5e-6)]),
        (
            IMB_HEAD + IMB_MULTI_HEAD + IMB_MULTI_1,
            [(Pairs(8, 2, "any", 1), 1.5e-6), (Pairs(16, 2, "any", 1), 2.5e-6)],
        ),
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
    measurements = formats.load(write_file(text))
    assert [configuration for configuration, _ in rows(measurements)] == [entry for entry, _ in expected]
    assert [samples for _, samples in rows(measurements)] == [pytest.approx((time,), rel=1e-12) for _, time in expected]
    assert all(record.unit == "s" for record in measurements.records)


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
    assert "line 1: the test 'MPI Bi-Directional Bandwidth Test' is left out" in notes[0]
    assert "'Exchange' is left out" in formats.load(write_file(IMB + IMB_EXCHANGE)).notes[0]
    often = formats.load(write_file(IMB + 3 * IMB_EXCHANGE)).notes
    assert [note.count("(and 2 more like it)") for note in often] == [1]
    assert "P50 Tail Lat(us), is taken" in formats.load(write_file(LATENCY_PERCENTILES)).notes[0]
    assert "arrived wrong" in formats.load(write_file(BANDWIDTH_PERCENTILES)).notes[1]
    slow = formats.load(write_file(BANDWIDTH + "1 0.00\n"))
    assert "line 7: 1 B is left out: Bandwidth (MB/s) is 0" in slow.notes[0]
    gave_up = '      1048576 out-of-mem.; needed X= 2.0 GB; use flag "-mem X"\n'
    assert "IMB gave up" in formats.load(write_file(IMB + gave_up)).notes[0]
    assert "none of ours: colour" in formats.load(write_file("message_size,seconds,colour\n8,1us,red\n")).notes[0]
    assert "osu_mbw_mr: the mean is taken" in formats.load(write_file(REAL_RATES_PERCENTILES)).notes[0]
    derived = formats.load(write_file(REAL_LATENCY_DERIVED + LATENCY))
    assert "line 4: a table of derived datatypes is left out: run osu_latency without -D" in derived.notes[0]
    assert rows(derived) == rows(formats.load(write_file(LATENCY)))
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
    "osu: too few columns": (LATENCY + "2048\n", "line 8: ", "1 columns, but the table's header names 2"),
    "osu: too many columns": (LATENCY + "2048 1 2\n", "line 8: ", "3 columns"),
    "osu: no column header": ("# OSU MPI Latency Test v7.4\n1 0.8\n", "line 2: ", "before the table's header"),
    "osu: other columns": ("# OSU MPI Latency Test v7.4\n# Size  Colour\n", "line 2: ", "no column of osu_latency"),
    "osu: no pairs": (RATES.replace("pairs: 4", "pairs: 0"), "line 2: ", "pairs: '0'"),
    "osu: rate near 0": (BANDWIDTH + "2048 1e-320\n", "line 7: ", "between 0 and infinity"),
    "osu: nothing taken": (OTHER_OSU, "", "no measurements: a table of osu_latency, osu_bw"),
    "osu: no rows": ("# OSU MPI Latency Test v7.4\n", "", "no measurements"),
    "imb: text": (IMB + "2048 1000 slow 1\n", "line 17: ", "t[usec]: 'slow'"),
    "imb: too few columns": (IMB + "2048 1000\n", "line 17: ", "2 columns, but"),
    "imb: other columns": (IMB.replace("t[usec]", "x"), "line 14: ", "no columns #bytes and t[usec]"),
    "imb: no column header": (
        IMB_HEAD + "# Benchmarking PingPong\n8 9 1 1\n",
        "line 10: ",
        "before the table's header",
    ),
    "imb: nothing taken": (IMB_HEAD + IMB_EXCHANGE, "", "no measurements: a table of PingPong"),
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
    files = map(os.fspath, sorted((DATA / "blue-waters").glob("pingpong_*.txt")))
    assert main(["fit", *files, "-o", str(path), "--protocol-limits", "500,8000", "--resamples", "20"]) == 0
    loaded = machine.load(path)
    assert [segment.limit and segment.limit.value for segment in loaded.segments] == [500, 8000, None]
    assert loaded.origin.mpi == "unknown (read from nodecomm output)"


def test_a_file_of_another_suite_is_fitted_where_a_machine_is_needed(write_file, capsys):
    assert main(["predict", str(write_file(LATENCY + "4096 2.5\n")), "send", "-n", "8", "--json"]) == 0
    assert 0 < json.loads(capsys.readouterr().out)["seconds"] < 1e-5
