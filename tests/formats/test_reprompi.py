"""ReproMPI: repetitions, processes and summaries become one record a call and size."""

import json
import lzma

import pytest

from commmodel import formats
from commmodel.cli import main
from commmodel.errors import DamagedFileError
from commmodel.formats import Placement
from commmodel.results.configurations import Collective, Function, PingPong

# Real output: mpibenchmark of ReproMPI 2e73f3d (18 April 2025), MPICH 5.0.2, an overloaded machine, 27 November 2026.
HEAD = """\
#Command-Line Arguments: ./mpibenchmark --calls-list=MPI_Bcast,MPI_Allgather --msizes-list=8,1024 --nrep=2
#MPI calls:
#	MPI_Bcast
#Message sizes:
#	8
#@operation=MPI_BOR
#@datatype=MPI_BYTE
#@datatype_extent_bytes=1
#@datatype_size_bytes=1
#@root_proc=0
#@reproMPIcommitSHA1=2e73f3d6bb0035ff76f92aa5f366f7ec49d05030
#@nprocs=2
#@clock=MPI_Wtime
#@clock_tick=0.0000000010
#@clocksync=HCA3O
#@procsync=MPI_Barrier
#@runtime_type=local
#@nrep=2
"""
COLUMNS = "                                              test       nrep        count    runtime_sec \n"
RAW = (
    HEAD
    + COLUMNS
    + """\
                                         MPI_Bcast          0            8   0.0000105350
                                         MPI_Bcast          1            8   0.0000079810
                                     MPI_Allgather          0            8   0.0000252380
                                     MPI_Allgather          1            8   0.0000092640
                                         MPI_Bcast          0         1024   0.0000049770
                                         MPI_Bcast          1         1024   0.0000013820
# Benchmark started at Fri Nov 27 12:18:19 2026
# Execution time: 0s
"""
)
SUMMARY = """\
#@datatype=MPI_INT
#@datatype_size_bytes=4
#@reproMPIcommitSHA1=2e73f3d6bb0035ff76f92aa5f366f7ec49d05030
#@nprocs=2
                                              test        count total_nrep valid_nrep       mean_sec     median_sec        min_sec        max_sec
                                     MPI_Allreduce            2         20         20   0.0002084650   0.0000014220   0.0000010420   0.0028108370
                                       MPI_Barrier            2         20         20   0.0000042302   0.0000011565   0.0000010710   0.0000545510
                                       MPI_Barrier          256         20         20   0.0000011602   0.0000011315   0.0000010810   0.0000014420
"""  # noqa: E501
PROCESSES = """\
process                                               test       nrep        count loc_tstart_sec   loc_tend_sec  gl_tstart_sec    gl_tend_sec
      0                                          MPI_Bcast          0            8 1099.6938358370 1099.6938384010 1099.6938358370 1099.6938384010
      0                                          MPI_Bcast          1            8 1099.6941243550 1099.6941288510 1099.6941243550 1099.6941288510
      1                                          MPI_Bcast          0            8 1099.6938371040 1099.6938402280 1099.6938373440 1099.6938404680
      1                                          MPI_Bcast          1            8 1099.6941280350 1099.6941308890 1099.6941282750 1099.6941311290
"""  # noqa: E501
WINDOW = """\
process                                               test       nrep        count  errorcode loc_tstart_sec   loc_tend_sec  gl_tstart_sec    gl_tend_sec
      0                                         MPI_Reduce          0            8          2 1128.9353277670 1128.9361886230 1128.9353277670 1128.9361886230
      0                                         MPI_Reduce          1            8          0 1128.9361894040 1128.9361974460 1128.9361894040 1128.9361974460
      1                                         MPI_Reduce          0            8          0 1128.9353278360 1128.9353512410 1128.9353277965 1128.9353512015
      1                                         MPI_Reduce          1            8          0 1128.9354378690 1128.9354387410 1128.9354378295 1128.9354387015
"""  # noqa: E501


def rows(measurements):
    return [(record.configuration, record.samples) for record in measurements.records]


def test_every_repetition_is_a_sample(write_file):
    measurements = formats.load(write_file(RAW))
    assert rows(measurements) == [
        (Collective("bcast", 8, 2), (1.0535e-05, 7.981e-06)),
        (Collective("allgather", 8, 2), (2.5238e-05, 9.264e-06)),
        (Collective("bcast", 1024, 2), (4.977e-06, 1.382e-06)),
    ]
    (header,) = (launch.header for launch in measurements.launches)
    assert header.command == ("mpibenchmark",)
    assert header.versions == {"reprompi": "2e73f3d6bb0035ff76f92aa5f366f7ec49d05030"}
    assert measurements.notes == ()


def test_a_summary_is_its_median_and_counts_have_the_size_of_their_type(write_file):
    assert rows(formats.load(write_file(SUMMARY))) == [
        (Collective("allreduce", 8, 2), (1.422e-06,)),
        (Collective("barrier", 0, 2), (1.1565e-06, 1.1315e-06)),
    ]
    mean = formats.load(write_file(SUMMARY.replace("median_sec", "var_sec   ")))
    assert rows(mean)[0] == (Collective("allreduce", 8, 2), (0.000208465,))
    assert "mean_sec is taken, as no median was printed: run with --summary=median" in mean.notes[0]


def test_of_processes_the_time_is_made_as_the_file_says(write_file):
    local = formats.load(write_file(HEAD + PROCESSES))
    assert rows(local)[0][1] == pytest.approx((1099.6938402280 - 1099.6938371040, 1099.6941288510 - 1099.6941243550))
    text = HEAD.replace("runtime_type=local", "runtime_type=global").replace("MPI_Barrier", "roundtime")
    ((configuration, samples),) = rows(formats.load(write_file(text + PROCESSES)))
    assert configuration == Collective("bcast", 8, 2, start="round-time")
    assert samples == pytest.approx((1099.6938404680 - 1099.6938358370, 1099.6941311290 - 1099.6941243550))
    old = "#@nprocs=2\n#@sync=HCA\nprocess test nrep msize loc_tstart_sec loc_tend_sec\n0 MPI_Bcast 0 8 1.0 1.5\n"
    assert rows(formats.load(write_file(old))) == [(Collective("bcast", 8, 2, start="fixed-window"), (0.5,))]


def test_a_repetition_that_any_process_began_late_is_left_out(write_file):
    (record,) = formats.load(write_file(HEAD.replace("MPI_Barrier", "window") + WINDOW)).records
    assert (record.configuration.start, record.late, len(record.samples)) == ("fixed-window", 1, 1)
    path = write_file(HEAD + WINDOW.replace("          0 1128.9361894040", "          3 1128.9361894040"))
    with pytest.raises(DamagedFileError, match="all repetitions are left out: they began late or took too long"):
        formats.load(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (RAW.replace("MPI_Bcast", "Send_Recv"), PingPong(8, "any")),
        (RAW.replace("MPI_Bcast", "Isend_Irecv"), Function("Isend_Irecv", "time", (("n", 8.0), ("p", 2.0)))),
        (
            RAW.replace("MPI_Bcast", "GL_Bcast_as_ScatterAllgather"),
            Collective("bcast", 8, 2, algorithm="Bcast_as_ScatterAllgather"),
        ),
        (
            RAW.replace("MPI_Bcast", "GL_Reduce_scatter_block_as_ReduceScatter"),
            Collective("reduce_scatter_block", 8, 2, algorithm="Reduce_scatter_block_as_ReduceScatter"),
        ),
        (
            RAW.replace("--nrep=2\n", "--nrep=2 --module=bcast=alg:bcast_as_scatter_allgather\n", 1),
            Collective("bcast", 8, 2, algorithm="bcast_as_scatter_allgather"),
        ),
        (RAW.replace("size_bytes=1", "size_bytes=8").replace("count", "msize"), Collective("bcast", 64, 2)),
        (RAW.replace("size_bytes=1", "size_bytes=8").replace("count", "msize_bytes"), Collective("bcast", 8, 2)),
        (
            RAW.replace("#@datatype_size_bytes=1\n#", "#").replace("extent_bytes=1", "extent=1").replace("BYTE", "INT"),
            Collective("bcast", 32, 2),
        ),
    ],
)
def test_calls_of_other_names_and_sizes(text, expected, write_file):
    configuration, samples = rows(formats.load(write_file(text)))[0]
    assert configuration == expected
    assert samples[0] == pytest.approx(1.0535e-05 / (2 if isinstance(expected, PingPong) else 1))


def test_files_of_pgchecker_name_their_mock_up(write_file):
    path = write_file(RAW, "data_MPI_Bcast_bcast_as_scatter_allgather.dat")
    assert {record.configuration.algorithm for record in formats.load(path).records} == {
        "bcast_as_scatter_allgather", ""
    }  # fmt: skip
    assert {
        record.configuration.algorithm for record in formats.load(write_file(RAW, "data_MPI_Bcast_default.dat")).records
    } == {""}


def test_several_tables_prefixes_compression_and_lines_of_others(write_file):
    file = write_file(RAW + HEAD.replace("nprocs=2", "nprocs=4") + COLUMNS + RAW.splitlines()[19] + "\n")
    assert [record.configuration.processes for record in formats.load(file).records] == [2, 2, 2, 4]
    prefixed = "".join(f"[1,0]<stdout>: {line}\n" for line in RAW.splitlines())
    assert rows(formats.load(write_file(prefixed))) == rows(formats.load(write_file(RAW)))
    assert rows(formats.load(write_file(lzma.compress(RAW.encode()), "a.xz"))) == rows(formats.load(write_file(RAW)))
    row = RAW.splitlines()[20]
    for line in ("slurmstepd: error: cancelled", "real 3.10", "WARNING: The two ping-pong ranks (0, 1) are near"):
        log = formats.load(write_file(RAW.replace(row, f"{line}\n{row}")))
        assert rows(log) == rows(formats.load(write_file(RAW)))
        assert "line 21: " in log.notes[0]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("MPI_Bcast 2 8 fast", "runtime_sec: 'fast'"),
        ("MPI_Bcast 2 8 0,1", "decimal point"),
        ("MPI_Bcast 2 8 -1e-6", "runtime_sec: '-1e-6'"),
        ("MPI_Bcast 2 8", "3 columns, but the table's header names 4"),
        ("MPI_Bcast 2 x 0.1", "count: 'x'"),
    ],
)
def test_damage_is_one_line(row, words, write_file):
    path = write_file(HEAD + COLUMNS + row + "\n")
    with pytest.raises(DamagedFileError) as error:
        formats.load(path)
    assert str(error.value).startswith(f"{path}: line 20: ")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_ranks_are_told_or_asked_for(write_file):
    path = write_file(RAW.replace("#@nprocs=2\n", ""))
    with pytest.raises(DamagedFileError, match="how many ranks there were is not known: give it as --ranks"):
        formats.load(path)
    assert rows(formats.load(path, placement=Placement(4, 2)))[0][0] == Collective("bcast", 8, 4, per_node=2)
    ping = write_file(RAW.replace("MPI_Bcast", "Send_Recv").replace("#@nprocs", "#@pingpong_ranks=0,3\n#@nprocs"))
    assert rows(formats.load(ping, placement=Placement(4, 2)))[0][0] == PingPong(8, "between-nodes")


def test_every_verb_takes_it(write_file, tmp_path, capsys):
    path, other = str(write_file(RAW)), str(write_file(RAW.replace("0.0000105350", "0.0000205350"), "other.dat"))
    machine = str(tmp_path / "m.toml")
    assert main(["fit", path, "-o", machine]) == 0
    assert main(["predict", machine, "bcast", "-n", "8", "-p", "4", "--json"]) == 0
    assert main(["report", path, "-o", str(tmp_path / "report.html")]) == 0
    assert main(["compare", path, other, "--json"]) == 0
    assert main(["convert", path, "-o", str(tmp_path / "results.jsonl"), "--to", "commmodel"]) == 0
    assert main(["check", "physics", path]) == 0
    assert main(["check", "--baseline", path, other, "--json"]) in (0, 1)
    assert json.dumps(formats.load(path).to_dict())
    capsys.readouterr()
