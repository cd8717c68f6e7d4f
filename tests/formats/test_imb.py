"""Intel MPI Benchmarks: what each of its tables becomes."""

import pytest
from support.suite_samples import (
    IMB,
    IMB_HEAD,
    IMB_MULTI_0,
    IMB_MULTI_1,
    IMB_MULTI_HEAD,
    REAL_IMB_MULTI_0,
    REAL_IMB_MULTI_1,
    REAL_IMB_MULTI_HEAD,
    check_rows,
)  # fmt: skip

from commmodel import formats
from commmodel.results.configurations import Bandwidth, Collective, Function, Pairs, PingPong


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            REAL_IMB_MULTI_HEAD + REAL_IMB_MULTI_0,
            [(Pairs(0, 2, "any", 1), 57.42e-6), (Pairs(8, 2, "any", 1), 77.65e-6)],
        ),
        (
            REAL_IMB_MULTI_HEAD + REAL_IMB_MULTI_1,
            [(Pairs(0, 2, "any", 1), 43.11e-6), (Pairs(16, 2, "any", 1), 44.99e-6)],
        ),
        (IMB, [(PingPong(0, "any"), 0.98e-6), (PingPong(1024, "any"), 1.25e-6)]),
        (IMB_HEAD + IMB_MULTI_HEAD + IMB_MULTI_0, [(Pairs(8, 2, "any", 1), 1.5e-6)]),
        (
            IMB_HEAD + IMB_MULTI_HEAD + IMB_MULTI_1,
            [(Pairs(8, 2, "any", 1), 1.5e-6), (Pairs(16, 2, "any", 1), 2.5e-6)],
        ),
    ],
)
def test_every_row_becomes_the_record_that_it_means(text, expected, write_file):
    check_rows(formats.load(write_file(text)), expected)


# Real output: Intel MPI Benchmarks 2021.11, MPICH 5.0.2, an overloaded machine of two cores, 27 November 2026.
BANNER = "#    Intel(R) MPI Benchmarks 2021.11, {part}\n"
EXTENDED = """\
# Benchmarking Window
# #processes = 2
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            4            3      2672.24      2679.64      2675.94

#---------------------------------------------------
# Benchmarking Unidir_Get
# #processes = 2
#---------------------------------------------------
#
#    MODE: AGGREGATE
#
       #bytes #repetitions      t[usec]   Mbytes/sec
            0            3         0.20         0.00
            4            3         0.81         4.95
"""
NON_BLOCKING = """\
# Benchmarking Iallreduce
# #processes = 2
#-----------------------------------------------------------------------------
       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]
            8            3         3.39         2.84         0.60         1.90

# Benchmarking Ibarrier_pure
# #processes = 2
#---------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            3         2.63         2.86         2.75
"""
PASSIVE = """\
# Benchmarking Truly_passive_put
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions t_pure[usec] t_ovrl[usec]
            4            3         2.77         8.63
"""
BOTH_WAYS = """\
# Benchmarking Biband
# #processes = 4
#---------------------------------------------------
       #bytes #repetitions   Mbytes/sec      Msg/sec
            0            3         0.00        74795
            8            3         0.68        85330
"""
GROUPS = """\
# Benchmarking Multi-Exchange
# ( 2 groups of 2 processes each running simultaneous )
# Group  0:     0    1
#
# Group  1:     2    3
#
#------------------------------------------------------------------------------------------
        Group       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec

            0            0            5         4.99         5.30         5.14         0.00
            1            0            5        43.44        47.96        45.70         0.00
"""
PERSISTENT = """\
# Benchmarking Bcast_persist
# #processes = 2
#-----------------------------------------------------------------------------
       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]
            8            3         1.73         1.67         0.25        11.23
"""
FILES = """\
# Benchmarking S_IWrite_Expl
# #processes = 1
# ( 3 additional processes waiting in MPI_Barrier)
#-----------------------------------------------------------------------------
#
#    MODE: AGGREGATE
#
       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]
            0            5     10621.96         0.48     12378.17       100.00
            4 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use "-time X"
"""
OPENING = """\
# Benchmarking Open_Close
# #processes = 2
#---------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            5      5879.81      5883.99      5881.90
"""
ONE_PING_PONG = """\
# Benchmarking PingPong
# #processes = 2
#----------------------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec      Msg/sec
            8            5         3.30         2.41       300670
"""
SEVERAL_PING_PONGS = """\
# Benchmarking PingPong
# #processes = 4
#----------------------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec      Msg/sec
            8            5         2.88         4.54       567006

#----------------------------------------------------------------
# Benchmarking Stencil2D (2 x 2)
# #processes = 4
#----------------------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec      Msg/sec
            8            5       478.22         0.06         7409

# !! Benchmark Stencil3D is invalid for 4 processes !!
"""
THREADS = """\
# Benchmarking PingPongMT
# #processes = 2 (threads: 2)
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            8            5       298.91       498.23       398.57         0.02
#-----------------------------------------------------------------------------
# Benchmarking UniBandMT
# #processes = 2 (threads: 1)
# window_size = 64
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_avg[usec]   Mbytes/sec      Msg/sec
            8            5        44.29         0.13        22579
"""
MAPPED = """\
# Benchmarking Exchange
# #processes = 2; rank order (rowwise):
#     0    2
#
# ( 2 additional processes waiting in MPI_Barrier)
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            0            5        99.67      1952.57      1026.12         0.00
"""


def function(name, metric="time", **parameters):
    """Return the configuration of a benchmark by its name."""
    return Function(name, metric, parameters)


TABLES = [
    ("MPI-2 part", EXTENDED, [
        (function("IMB-EXT Window", n=4, p=2), 2679.64e-6),
        (function("IMB-EXT Unidir_Get [mode=aggregate]", n=0, p=2), 0.2e-6),
        (function("IMB-EXT Unidir_Get [mode=aggregate]", n=4, p=2), 0.81e-6),
    ]),
    ("MPI-NBC part", NON_BLOCKING, [
        (Collective("allreduce", 8, 2, mode="non-blocking"), 2.84e-6),
        (function("IMB-NBC Iallreduce", "overlapped time", n=8, p=2), 3.39e-6),
        (Collective("barrier", 0, 2, mode="non-blocking"), 2.86e-6),
    ]),
    ("MPI-RMA part", PASSIVE, [
        (function("IMB-RMA Truly_passive_put", n=4, p=2), 2.77e-6),
        (function("IMB-RMA Truly_passive_put", "overlapped time", n=4, p=2), 8.63e-6),
    ]),
    ("MPI-1 part (GPU)", BOTH_WAYS, [(Bandwidth(8, 4, "cross", "both-ways", "any", 64), 4 / 85330)]),
    ("MPI-1 part", GROUPS, [(function("IMB-MPI1 Multi-Exchange", n=0, p=2, groups=2), 47.96e-6)]),
    ("MPI-1 part", MAPPED, [(function("IMB-MPI1 Exchange", n=0, p=2), 1952.57e-6)]),
    ("MPI-4 part", PERSISTENT, [
        (function("IMB-MPI4 Bcast_persist", n=8, p=2), 1.67e-6),
        (function("IMB-MPI4 Bcast_persist", "overlapped time", n=8, p=2), 1.73e-6),
    ]),
    ("MPI-IO partn#-----", FILES, [
        (function("IMB-IO S_IWrite_Expl [mode=aggregate]", n=0, p=1), 0.48e-6),
        (function("IMB-IO S_IWrite_Expl [mode=aggregate]", "overlapped time", n=0, p=1), 10621.96e-6),
    ]),
    ("MPI-2 part", OPENING, [(function("IMB-IO Open_Close", p=2), 5883.99e-6)]),
    ("IMB-P2P part", SEVERAL_PING_PONGS, [
        (Pairs(8, 2, "any", 1), 2 / 567006),
        (function("IMB-P2P Stencil2D [grid=2x2]", n=8, p=4), 478.22e-6),
    ]),
    ("IMB-P2P part", ONE_PING_PONG, [(PingPong(8, "any"), 3.3e-6)]),
    ("MT part    ", THREADS, [
        (function("IMB-MT PingPongMT", n=8, p=2, threads=2), 498.23e-6),
        (function("IMB-MT UniBandMT [window=64]", n=8, p=2, threads=1), 1 / 22579),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("part", "text", "expected"), TABLES)
def test_the_tables_of_all_programs(part, text, expected, write_file):
    measurements = formats.load(write_file(BANNER.format(part=part) + text))
    check_rows(measurements, expected)
    assert {launch.header.versions["intel-mpi-benchmarks"] for launch in measurements.launches} == {"2021.11"}


def test_ranks_of_a_node_stand_with_a_name(write_file):
    path = write_file(BANNER.format(part="MPI-RMA part") + PASSIVE)
    assert next(formats.load(path, placement=formats.Placement(8, 1)).records).configuration["per_node"] == 1
    assert next(formats.load(path, placement=formats.Placement(8, 4)).records).configuration["per_node"] == 2
    mapped = formats.load(write_file(MAPPED), placement=formats.Placement(4, 2))
    assert next(mapped.records).configuration == function("IMB-MPI1 Exchange", n=0, p=2)


def test_tables_of_accelerators_say_so(write_file):
    (launch,) = formats.load(write_file(BANNER.format(part="MPI-1 part (GPU)") + BOTH_WAYS)).launches
    assert launch.header.command == ("IMB-MPI1 Biband", "-d", "gpu")


def test_data_that_arrived_wrong_are_left_out(write_file):
    rows = "#bytes #repetitions t[usec] Mbytes/sec defects\n8 5 3.30 4.24 0.00\n16 5 3.30 4.24 1.00\n"
    measurements = formats.load(write_file("# Benchmarking PingPong\n# #processes = 2\n" + rows))
    check_rows(measurements, [(PingPong(8, "any"), 3.3e-6)])
    assert "16 B is left out: its data arrived wrong (defects)" in measurements.notes[0]
