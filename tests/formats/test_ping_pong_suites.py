"""mpi4py.bench and NetPIPE: ping-pongs of programs that say little more than numbers."""

import bz2
import json

import pytest

from commmodel import formats
from commmodel.cli import main
from commmodel.errors import DamagedFileError
from commmodel.formats import Placement
from commmodel.results.configurations import Function, Pairs, PingPong

# Real output of mpi4py 4.1.2, MPICH 5.0.2, an overloaded machine, 27 November 2026.
PING_PONG = """\
# MPI PingPong Test
# Size [B]  Bandwidth [MB/s] | Time Mean [s] ± StdDev [s]  Samples
         1              0.43 | 2.3233000e-06 ± 2.7612e-07      200
         2              0.19 | 1.0645685e-05 ± 1.1485e-04      200
         4              0.42 | 9.5923775e-06 ± 1.0159e-04      200
"""
WITHOUT_STATISTICS = """\
# MPI PingPong Test
# Size [B]  Bandwidth [MB/s]
         1              0.06
         2              0.70
"""
RING = "time for 100 loops = 0.000503567 seconds (2 processes, 1024 bytes)\n"
GREETINGS = "Hello, World! I am process 0 of 2 on vm.\nHello, World! I am process 1 of 2 on vm.\n"
FUTURES = """\
# ThreadPoolExecutor - 6 workers, 10 tasks/worker
# Size [B]  Tasks/s | Time Mean [s] ± StdDev [s]  Samples
         1    49089 | 1.2222587e-03 ± 1.5003e-03        3
"""
# Real output of NetPIPE: version 3, np.out of jli111/ompi 15f792b; version 5.x 8f3c6f6 (2020), run as above on two and
# four processes, the latter with --bidir; version 3 on the screen, between two hosts. Version 4's columns as its source
# prints them.
THREE = """\
       1 0.276301   0.00002761
       2 0.550881   0.00002770
       3 0.833482   0.00002746
    4096 583.578581   0.00005355
 8388608 4604.210638   0.01390032
"""
SCREEN = """\
0: adonis-9
1: adonis-10
Now starting the main loop
  0:       1 bytes  32103 times -->      4.58 Mbps in       1.67 usec
  1:       2 bytes  59994 times -->      9.22 Mbps in       1.65 usec
  2:       3 bytes  60440 times -->     13.79 Mbps in       1.66 usec
"""
FOUR = """\
       1 4.790419   4.81927711   4.87804878   0.00000167
    1024 4096.000000 4266.66666667 4551.11111111   0.00000200
"""
FIVE = """\
        1     0.000     0.000     0.000  486.19
        2     0.000     0.000     0.000 4642.55
        3     0.000     0.000     0.000 6658.12
   262144     0.661     0.661     0.661 3172.96
"""
BOTH_WAYS = """\
        2     0.000     0.000     0.000 21242.08
        4     0.000     0.000     0.000 39131.20
     8192     0.005     0.005     0.005 28089.02
"""
SCREEN_OF_FIVE = (
    "\x1b[0m  2: \x1b[32m      2  B\x1b[0m         1 times -->  \x1b[36m  3.446 Kbps\x1b[0m  in  4.643 msecs\n"
)
SAMPLES = {
    "mpi4py": PING_PONG, "without statistics": WITHOUT_STATISTICS, "ring": RING, "futures": FUTURES, "three": THREE,
    "screen": SCREEN, "four": FOUR, "five": FIVE,
}  # fmt: skip


def rows(measurements):
    return [(record.configuration, *record.samples) for record in measurements.records]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            PING_PONG,
            [(PingPong(n, "any"), us / 1e6) for n, us in ((1, 2.3233), (2, 10.645685), (4, 9.5923775))],
        ),
        (WITHOUT_STATISTICS, [(PingPong(1, "any"), 1 / 0.06e6), (PingPong(2, "any"), 2 / 0.7e6)]),
        (RING, [(Function("ringtest", "time", (("n", 1024.0), ("p", 2.0))), 5.03567e-6)]),
        (
            FUTURES,
            [(Function("ThreadPoolExecutor", "time", (("n", 1.0), ("tasks", 10.0), ("workers", 6.0))), 1.2222587e-3)],
        ),
        (
            THREE,
            [
                (PingPong(1, "any"), 8 / (0.276301 * 2**20)),  # 27.613 us, of which np.out has four digits
                (PingPong(2, "any"), 16 / (0.550881 * 2**20)),
                (PingPong(3, "any"), 24 / (0.833482 * 2**20)),
                (PingPong(4096, "any"), 8 * 4096 / (583.578581 * 2**20)),
                (PingPong(8388608, "any"), 8 * 8388608 / (4604.210638 * 2**20)),
            ],
        ),
        (
            SCREEN,
            [(PingPong(n, "any"), 8 * n / (rate * 2**20)) for n, rate in ((1, 4.58), (2, 9.22), (3, 13.79))],
        ),
        (FOUR, [(PingPong(1, "any"), 8 / 4.81927711e6), (PingPong(1024, "any"), 8192 / 4266.66666667e6)]),
        (
            FIVE,
            [
                (PingPong(size, "any"), us / 1e6)
                for size, us in ((1, 486.19), (2, 4642.55), (3, 6658.12), (262144, 3172.96))
            ],
        ),
        (
            BOTH_WAYS,
            [
                (Function("netpipe both ways", "time", (("k", 2.0), ("n", n))), us / 1e6)
                for n, us in ((1.0, 21242.08), (2.0, 39131.20), (4096.0, 28089.02))
            ],
        ),
        (
            "  1024    19.505    19.500    19.510    1.68\n  8192    62.415    62.400    62.500    4.20\n",
            [(Pairs(1024, 4, "any", 1), 4 * 8192 / 19.505e9), (Pairs(8192, 4, "any", 1), 4 * 65536 / 62.415e9)],
        ),
    ],
)  # fmt: skip
def test_every_row_becomes_the_record_that_it_means(text, expected, write_file):
    result = rows(formats.load(write_file(text)))
    assert [configuration for configuration, _ in result] == [configuration for configuration, _ in expected]
    assert [seconds for _, seconds in result] == pytest.approx([seconds for _, seconds in expected], rel=1e-9)


def test_the_header_names_program_and_version(write_file):
    (header,) = (launch.header for launch in formats.load(write_file(FIVE)).launches)
    assert (header.command, header.versions) == (("netpipe",), {"netpipe": "5"})
    (header,) = (launch.header for launch in formats.load(write_file(PING_PONG)).launches)
    assert header.command == ("mpi4py.bench", "pingpong")
    assert header.mpi.thread_level is None  # which the output does not say


def test_without_headers_rows_tell_the_suite(write_file):
    bare = "\n".join(PING_PONG.splitlines()[2:])
    assert rows(formats.load(write_file(bare))) == rows(formats.load(write_file(PING_PONG)))


def test_paths_of_told_ranks(write_file):
    for text in (PING_PONG, THREE):
        assert rows(formats.load(write_file(text), placement=Placement(2, 2)))[0][0].path == "same-node"
        assert rows(formats.load(write_file(text), placement=Placement(2, 1)))[0][0].path == "between-nodes"


def test_what_is_no_time_says_so(write_file):
    with pytest.raises(
        DamagedFileError, match="no measurements: a table of pingpong or a time of ringtest is not in it"
    ):
        formats.load(write_file(GREETINGS))
    zero = formats.load(write_file(WITHOUT_STATISTICS + "8   0.00\n"))
    assert "line 5: 8 B is left out: its rate is 0, too few digits were printed" in zero.notes[0]
    with pytest.raises(DamagedFileError, match=r"left out, as sizes are rounded here: read NetPIPE's file np\.out"):
        formats.load(write_file(SCREEN_OF_FIVE * 3))


def test_tables_of_several_commands_in_one_log(write_file):
    log = f"module load mpi\n{GREETINGS}{RING}{PING_PONG}{FUTURES}slurmstepd: error: cancelled\n"
    measurements = formats.load(write_file(log))
    assert [launch.header.command[1] for launch in measurements.launches] == ["pingpong", "ringtest", "futures"]
    assert "slurmstepd" in measurements.notes[-1]


@pytest.mark.parametrize("name", SAMPLES)
def test_lines_of_others_compression_and_folders(name, write_file, tmp_path):
    text, expected = SAMPLES[name], rows(formats.load(write_file(SAMPLES[name])))
    lines = text.splitlines()
    for line in ("slurmstepd: error: *** STEP 1.0 ON node CANCELLED ***", "real 3.10", "UCX  WARN  unused variable"):
        log = formats.load(write_file("\n".join([*lines[:-1], lines[-1], line, ""])))
        assert rows(log) == expected
        assert name == "ring" or f"line {len(lines) + 1}: " in log.notes[-1]
    assert rows(formats.load(write_file(bz2.compress(text.replace("\n", "\r\n").encode())))) == expected
    (tmp_path / "file.dat").unlink()
    for number in range(2):
        write_file(text, f"{number}.dat")
    assert rows(formats.load_all([tmp_path])) == expected  # the same launch, which counts once


@pytest.mark.parametrize("prefix", ["0: ", "[1,0]<stdout>: "])
@pytest.mark.parametrize("name", SAMPLES)
def test_prefixes_of_launchers(prefix, name, write_file):
    text = 3 * SAMPLES[name] if name == "ring" else SAMPLES[name]
    prefixed = "".join(f"{prefix}{line}\n" for line in text.splitlines())
    if len(text.splitlines()) > 2:  # else nothing says that it is a launcher's
        assert rows(formats.load(write_file(prefixed))) == rows(formats.load(write_file(text)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PING_PONG + "8 0.4 | nan ± 1e-6 200\n", "line 6: Time Mean: 'nan'"),
        (PING_PONG + "8 0,4 | 1e-6 ± 1e-6 200\n", "decimal point"),
        (PING_PONG + "x 0.4 | 1e-6 ± 1e-6 200\n", "line 6: Size: 'x'"),
        (RING.replace("0.000503567", "soon"), "line 1: seconds: 'soon'"),
        (
            THREE + "16777216 4604.210638   0.01390032\n",
            "line 6: rate and time contradict each other: restore the line",
        ),
        (THREE + "16777216 4604.210638\n", "line 6: 2 columns instead of 3: restore the line"),
        (THREE + "16777216 nan 0.01\n", "line 6: rate: 'nan'"),
        (FIVE + "x 0.661 0.661 0.661 3172.96\n", "line 5: bytes: 'x'"),
    ],
)
def test_damage_is_one_line(text, words, write_file):
    path = write_file(text)
    with pytest.raises(DamagedFileError) as error:
        formats.load(path)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["mpi4py", "three"])
def test_every_verb_takes_it(name, write_file, tmp_path, capsys):
    text = SAMPLES[name]
    path = str(write_file(text))
    assert main(["fit", path, "-o", str(tmp_path / "m.toml")]) == 0
    assert main(["predict", path, "send", "-n", "8", "--json"]) == 0
    assert main(["report", path, "-o", str(tmp_path / "report.html")]) == 0
    assert main(["compare", path, path, "--json"]) == 0
    assert main(["convert", path, "-o", str(tmp_path / "results.jsonl"), "--to", "commmodel"]) == 0
    assert main(["check", "physics", path]) == 0
    assert json.dumps(formats.load(path).to_dict())
    capsys.readouterr()
