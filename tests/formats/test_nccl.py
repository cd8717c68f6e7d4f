"""nccl-tests and rccl-tests: which collective, whose memory, and what of a log is no table."""

import gzip
import json

import msgspec
import pytest

from commmodel import formats
from commmodel.cli import main
from commmodel.errors import DamagedFileError, InputError
from commmodel.fit import fit_machine
from commmodel.formats import Placement
from commmodel.results import Library, Measurements
from commmodel.results.configurations import Collective, Function

# Rows of real logs: 2.13 and later, H100 (lessizzmore/create-a3mega-ztan-fork, ztan-NCCL-test-result; four of its
# ranks); 2.0 to 2.12, A100 (the user guide of ABCI; two of 16 ranks); rccl-tests, MI355X (a guide of Oracle's cloud).
HEADER = """\
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       
"""  # noqa: W291
END = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 70.742 \n#\n"
ALL_REDUCE = (
    """\
> mpirun -np 4 ./build/all_reduce_perf -b 8 -e 8G -f 2 -g 1
# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20
#
# Using devices
#  Rank  0 Group  0 Pid   6899 on ztan-mig-235z device  0 [0000:04:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   6900 on ztan-mig-235z device  1 [0000:05:00] NVIDIA H100 80GB HBM3
#  Rank  2 Group  0 Pid   6733 on ztan-mig-gq73 device  0 [0000:04:00] NVIDIA H100 80GB HBM3
#  Rank  3 Group  0 Pid   6734 on ztan-mig-gq73 device  1 [0000:05:00] NVIDIA H100 80GB HBM3
NCCL version 2.21.5+cuda12.4
#
"""
    + HEADER
    + """\
           8             2     float     sum      -1    135.8    0.00    0.00      0    123.5    0.00    0.00      0
     1048576        262144     float     sum      -1    203.2    5.16    7.74      0    207.2    5.06    7.59      0
"""
    + END
)
OLD = """\
# nThread 1 nGpus 1 minBytes 8 maxBytes 2147483648 step: 2(factor) warmup iters: 50 iters: 50 validation: 1 
#
# Using devices
#   Rank  0 Pid 2916721 on      a0000 device  0 [0x27] NVIDIA A100-SXM4-40GB
#   Rank  1 Pid 3868300 on      a0001 device  0 [0x27] NVIDIA A100-SXM4-40GB
#
#                                                       out-of-place                       in-place          
#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       
           8             2     float     sum    22.54    0.00    0.00  4e-07    24.94    0.00    0.00  4e-07
    16777216       4194304     float     sum    549.8   30.51   30.51  5e-07    548.9   30.56   30.56  5e-07
"""  # noqa: W291
RCCL = (
    """\
# Collective test starting: alltoall_perf
# nThread 1 nGpus 8 minBytes 524288 maxBytes 17179869184 step: 2(factor) warmup iters: 5 iters: 20
#
rccl-tests: Version HEAD:e1b8a3a
# Using devices
#  Rank  0 Group  0 Pid   9878 on   GPU-6403 device  0 [0000:72:00] AMD Instinct MI355X
#  Rank  7 Group  0 Pid   9878 on   GPU-6403 device  7 [0000:a4:00] AMD Instinct MI355X
RCCL version : 2.26.6-heads/drop/2025-08:c3b8de4
#
"""
    + HEADER
    + """\
  8589934592     268435456     float    none      -1    20837  412.23  360.71      0    20817  412.64  361.06    N/A
"""
    + END
    + "# Collective test concluded: alltoall_perf\n"
)
NEWEST = """\
# nccl-tests version 2.19.6 nccl-headers=22903 nccl-library=22903
# Collective test starting: reduce_scatter_perf
"""


def rows(measurements):
    return [(record.configuration, *record.samples) for record in measurements.records]


def test_both_placements_of_buffers_are_records_of_one_collective(write_file):
    measurements = formats.load(write_file(ALL_REDUCE))
    assert rows(measurements) == [
        (Collective("allreduce", 8, 4, per_node=2), 135.8 / 1e6),
        (Collective("allreduce", 8, 4, algorithm="in-place", per_node=2), 123.5 / 1e6),
        (Collective("allreduce", 1048576, 4, per_node=2), 203.2 / 1e6),
        (Collective("allreduce", 1048576, 4, algorithm="in-place", per_node=2), 207.2 / 1e6),
    ]
    (header,) = (launch.header for launch in measurements.launches)
    assert header.command == ("all_reduce_perf", "-d", "cuda")
    assert header.mpi.version == "NCCL 2.21.5"
    assert [host.name for host in header.hosts] == ["ztan-mig-235z", "ztan-mig-gq73"]
    assert [rank.host for rank in header.ranks] == [0, 0, 1, 1]
    assert measurements.notes == ()


def test_a_size_is_the_whole_vector_and_ranks_that_a_log_leaves_out_count(write_file):
    measurements = formats.load(write_file(RCCL))
    assert rows(measurements)[0] == (Collective("alltoall", 8589934592 // 8, 8), 20837 / 1e6)
    (header,) = (launch.header for launch in measurements.launches)
    assert header.command == ("alltoall_perf", "-d", "rocm")
    assert (header.mpi.version, header.versions) == ("RCCL 2.26.6", {"rccl-tests": "HEAD:e1b8a3a"})


def test_the_newest_version_says_what_it_is(write_file):
    text = NEWEST + ALL_REDUCE.partition("\n")[2].replace("NCCL version 2.21.5+cuda12.4\n", "")
    measurements = formats.load(write_file(text))
    assert rows(measurements)[0][0] == Collective("reduce_scatter_block", 2, 4, per_node=2)
    header = measurements.launches[0].header
    assert (header.mpi.version, header.versions) == ("NCCL 2.29.3", {"nccl-tests": "2.19.6"})


@pytest.mark.parametrize(
    ("operator", "root", "shares", "operation"),
    [
        ("sum", "-1", "10.00   15.00", "allreduce"),
        ("sum", "-1", "10.00    7.50", "reduce_scatter_block"),
        ("sum", "0", "10.00   10.00", "reduce"),
        ("none", "0", "10.00   10.00", "bcast"),
        ("none", "0", "10.00    7.50", ""),
        ("none", "-1", "10.00    7.50", ""),
    ],
)
def test_where_no_name_is_told_operator_root_and_bandwidths_tell_it(operator, root, shares, operation, write_file):
    lines = ALL_REDUCE.replace("all_reduce_perf", "./run.sh").splitlines()
    row = f"1048576  262144  float  {operator}  {root}  203.2  {shares}  0  207.2  {shares}  0"
    text = "\n".join([*lines[: lines.index(END.splitlines()[0]) - 2], row, END])
    if operation:
        assert {record.configuration.operation for record in formats.load(write_file(text)).records} == {operation}
        return
    path = write_file(text)
    with pytest.raises(DamagedFileError, match="which collective it is stands nowhere: name the file like all_gather"):
        formats.load(path)
    file = write_file(text, "allgather_perf.log" if root == "-1" else "gather.log")
    expected = "allgather" if root == "-1" else "gather"
    assert {record.configuration.operation for record in formats.load(file).records} == {expected}


def test_old_tables_without_roots_or_operators(write_file):
    assert rows(formats.load(write_file(OLD)))[0] == (Collective("allreduce", 8, 2, per_node=1), 22.54 / 1e6)
    gather = OLD.replace("  sum  ", "       ").replace("Using", "all_gather_perf, using")
    assert rows(formats.load(write_file(gather)))[0] == (Collective("allgather", 4, 2, per_node=1), 22.54 / 1e6)


def test_types_operators_and_roots_of_their_own_are_told_apart(write_file):
    text = ALL_REDUCE.replace("all_reduce", "reduce").replace(END, "")
    text += (
        "     1048576   262144     half     max   2    203.2    5.16    7.74      0      N/A     N/A     N/A    N/A\n"
    )
    last = [*formats.load(write_file(text)).records][-1].configuration
    assert last == Collective("reduce", 1048576, 4, algorithm="half max root 2", per_node=2)
    ring = formats.load(write_file(ALL_REDUCE.replace("all_reduce_perf", "sendrecv_perf")))
    assert rows(ring)[1][0] == Function("sendrecv [algorithm=in-place]", "time", (("n", 8.0), ("p", 4.0)))


def test_several_runs_in_one_log_and_lines_of_others(write_file):
    debug = "ztan-mig-235z:6899:6899 [0] NCCL INFO comm 0x576eb5d4d740 rank 1 nranks 4 cudaDev 0 - Destroy COMPLETE\n"
    row = ALL_REDUCE.splitlines()[-5]
    log = f"+ date\n{RCCL}{ALL_REDUCE.replace(row, debug + row)}slurmstepd: error: cancelled\n"
    measurements = formats.load(write_file(log))
    assert rows(measurements) == rows(formats.load(write_file(RCCL))) + rows(formats.load(write_file(ALL_REDUCE)))
    assert [launch.header.command[0] for launch in measurements.launches] == ["alltoall_perf", "all_reduce_perf"]
    assert len(measurements.notes) == 1
    assert "NCCL INFO" in measurements.notes[0]
    killed = ALL_REDUCE.replace(END, "") + RCCL  # no end of the first table
    assert len(formats.load(write_file(killed)).launches) == 2


@pytest.mark.parametrize("prefix", ["0: ", "[1,0]<stdout>: "])
def test_prefixes_of_launchers_and_compressed_files(prefix, write_file):
    expected = rows(formats.load(write_file(ALL_REDUCE)))
    text = "".join(f"{prefix}{line}\n" for line in ALL_REDUCE.splitlines())
    assert rows(formats.load(write_file(text))) == expected
    assert rows(formats.load(write_file(gzip.compress(ALL_REDUCE.replace("\n", "\r\n").encode())))) == expected


def test_what_is_left_out_says_why(write_file):
    wrong = formats.load(write_file(ALL_REDUCE.replace("7.74      0", "7.74     12")))
    assert "1048576 B is left out: its data arrived wrong (#wrong)" in wrong.notes[0]
    assert len([*wrong.records]) == 3
    without_ranks = "\n".join(line for line in ALL_REDUCE.splitlines() if "Rank" not in line)
    path = write_file(without_ranks)
    with pytest.raises(DamagedFileError, match="how many ranks there were is not known: give it as --ranks"):
        formats.load(path)
    assert rows(formats.load(path, placement=Placement(4, 2))) == rows(formats.load(write_file(ALL_REDUCE, "b")))
    alone = "\n".join(line.replace("Rank  1", "Rank  0") for line in ALL_REDUCE.splitlines())
    with pytest.raises(DamagedFileError, match="several processes were the same rank: build the suite with MPI=1"):
        formats.load(write_file(alone))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("8 2 float sum -1 135.8 0.00 0.00 0", "9 columns, but the table's header names 13"),
        ("8 2 float sum -1 135,8 0.00 0.00 0 123.5 0.00 0.00 0", "decimal point"),
        ("8 2 float sum -1 nan 0.00 0.00 0 123.5 0.00 0.00 0", "time: 'nan'"),
        ("-8 2 float sum -1 135.8 0.00 0.00 0 123.5 0.00 0.00 0", "size: '-8'"),
    ],
)
def test_damage_is_one_line(row, words, write_file):
    lines = ALL_REDUCE.splitlines()
    path = write_file("\n".join([*lines[:13], row, *lines[13:]]))
    with pytest.raises(DamagedFileError) as error:
        formats.load(path)
    assert str(error.value).startswith(f"{path}: line 14: ")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_never_fitted_with_a_host(write_file):
    imb = (
        "# Benchmarking PingPong\n# #processes = 2\n #bytes #repetitions t[usec] Mbytes/sec\n 8 9 1.5 5\n 64 9 2.5 5\n"
    )
    unsaid = ALL_REDUCE.replace("NCCL version", "version")
    for text in (unsaid, ALL_REDUCE):
        with pytest.raises(InputError, match=r"different MPI libraries were measured \(NCCL.*; unknown .*IMB output\)"):
            fit_machine(formats.load_all([write_file(text, "a"), write_file(imb, "b")]))
    loaded = formats.load_all([write_file(unsaid, "a"), write_file(imb, "b")]).launches
    headers = [msgspec.structs.replace(launch.header, mpi=Library("MPICH")) for launch in loaded]
    alike = (msgspec.structs.replace(launch, header=header) for launch, header in zip(loaded, headers, strict=True))
    with pytest.raises(InputError, match=r"messages of different memory were measured \(cuda; host\): fit each"):
        fit_machine(Measurements(tuple(alike)))


def test_every_verb_takes_it_or_says_why_not(write_file, tmp_path, capsys):
    path, other = str(write_file(ALL_REDUCE)), str(write_file(ALL_REDUCE.replace("203.2", "303.2"), "other.dat"))
    assert main(["report", path, "-o", str(tmp_path / "report.html")]) == 0
    out = capsys.readouterr().out
    assert "allreduce, p processes" in out
    assert "allreduce, in-place, p processes" in out
    assert main(["compare", path, other, "--json"]) == 0
    assert main(["convert", path, "-o", str(tmp_path / "results.jsonl"), "--to", "commmodel"]) == 0
    assert main(["check", "physics", path]) == 0
    assert main(["check", "--baseline", path, other, "--json"]) in (0, 1)
    capsys.readouterr()
    machine = str(tmp_path / "m.toml")
    for command in (["fit", path, "-o", machine], ["predict", path, "allreduce", "-n", "8", "-p", "4"]):
        assert main(command) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1
        assert "NCCL 2.21.5" in lines[0]
    assert json.dumps(formats.load(path).to_dict())
