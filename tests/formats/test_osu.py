"""OSU Micro-Benchmarks: what each of its tables becomes."""

import pytest
from support.suite_samples import (
    BANDWIDTH,
    BANDWIDTH_PERCENTILES,
    LATENCY,
    LATENCY_OLD,
    LATENCY_PERCENTILES,
    RATES,
    RATES_ALONE,
    REAL_BANDWIDTH_PERCENTILES,
    REAL_LATENCY_OTHER_PERCENTILES,
    REAL_LATENCY_PERCENTILES,
    REAL_LATENCY_VALIDATED,
    REAL_RATES_PERCENTILES,
    check_rows,
    osu_stream,
    rows,
)  # fmt: skip

from commmodel import formats
from commmodel.errors import InputError
from commmodel.fit import fit_machine
from commmodel.results.configurations import (
    Bandwidth,
    Collective,
    Function,
    OneSided,
    Persistent,
    PersistentCollective,
    PingPong,
    StartUp,
)


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
        (BANDWIDTH, [(osu_stream(1000, 1, 64), 2e-6)]),
        (BANDWIDTH_PERCENTILES, [(osu_stream(1000, 1, 64), 4e-6)]),
        (RATES, [(osu_stream(1, 4, 32), 4 / 12345), (osu_stream(1000, 4, 32), 2e-6)]),
        (RATES_ALONE, [(osu_stream(1000, 8, 64), 2e-6)]),
    ],
)
def test_every_row_becomes_the_record_that_it_means(text, expected, write_file):
    check_rows(formats.load(write_file(text)), expected)


# Real output: OSU Micro-Benchmarks 7.4 and 6.1 (latency_mp, put_bw), MPICH 5.0.2, an overloaded machine of two cores,
# 27 November 2026, two ranks, of collectives four.
BOTH_WAYS = """\

# OSU MPI Bi-Directional Bandwidth Test v7.4
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)        Validation P50 Tail BW(MB/s) P90 Tail BW(MB/s) P99 Tail BW(MB/s)
1                       1.99              Pass              1.93              2.32              2.46
64                     36.60              Pass            131.59            156.13            171.66
"""
PUT_LATENCY = """\
# OSU MPI_Put Latency Test v7.4
# Window creation: MPI_Win_create_dynamic
# Synchronization: MPI_Win_lock/unlock
# Datatype: MPI_CHAR.
# Size          Latency (us)  P50 Tail Lat(us)  P90 Tail Lat(us)  P99 Tail Lat(us)
4                     303.51              3.29              4.03           6980.23
"""
PUT_BANDWIDTH = """\
# OSU MPI_Put Bandwidth Test v6.1
# Window creation: MPI_Win_allocate
# Synchronization: MPI_Win_flush
# Size      Bandwidth (MB/s)
64                    778.35
"""
PUT_BOTH_WAYS = """\
# OSU MPI_Put Bi-directional Bandwidth Test v7.4
# Window creation: MPI_Win_allocate
# Synchronization: MPI_Win_post/start/complete/wait
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)
64                   1349.77
"""
THREADS = """\
# Number of Sender threads: 2
# Number of Receiver threads: 3

# OSU MPI Multi-threaded Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
8                      11.55
"""
PROCESSES = """\
# OSU MPI Multi-process Latency Test v5.6.3
# Number of forked processes in sender: 2
# Number of forked processes in receiver: 4
# Size          Latency (us)
8                       0.25
"""
START = "# OSU MPI Init Test v7.4\nnprocs: 2, min: 43 ms, max: 51 ms, avg: 47 ms\n"
NON_BLOCKING = """\

# OSU MPI Non-blocking Allreduce Latency Test v7.4
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

# Datatype: MPI_CHAR.
# Size           Overall(us)       Compute(us)    Coll. Init(us)      MPI_Test(us)      MPI_Wait(us)    Pure Comm.(us)\
     Min Comm.(us)     Max Comm.(us)        Overlap(%)        Validation  P50 Tail Lat(us)
4                   20303.91          15167.94             16.96              0.00           5118.15           8464.53\
           3845.96          13804.09             39.32              Pass          19298.04
"""
BARRIER = """\

# OSU MPI Non-blocking Barrier Latency Test v7.4
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

{mark}Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)
     14728.87           3913.93           2903.19              0.00
"""
PERSISTENT = """\

# OSU MPI Allreduce Persistent Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
4                    6551.26
"""
NEIGHBOURS = """\
Dimensions size = 2 2
Time took to create topology graph:4824.92 us.

# OSU MPI All-to-Allw Personalized Exchange Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
4                    7257.86
"""
DERIVED = """\

# OSU MPI Bandwidth Test v7.4
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)     Transmit Size
1                       0.00                 0
64                     46.08               128
"""
DERIVED_RATES = """\
# OSU MPI Multiple Bandwidth / Message Rate Test v7.4
# [ pairs: 2 ] [ window size: 64 ]
# Datatype: MPI_CHAR.
# Size                  MB/s        Messages/s     Transmit Size
1                       0.00              -nan                 0
4                       0.18          21879.43                 8
"""
WINDOWS = """\
# OSU MPI Multiple Bandwidth / Message Rate Test v7.4
# [ pairs: 2 ] [ window size: varied ]

# Uni-directional Bandwidth (MB/sec)
# Datatype: MPI_CHAR.
#                 1          64
1              0.00        0.02
16             0.00        0.35

# Message Rate Profile
#                 1          64
1            469.76    19658.00
16           289.11    21966.75
"""
DATATYPES = """\

# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
4                     261.26
# Datatype: MPI_INT.
# Size       Avg Latency(us)
4                       2.20
"""
ACCELERATOR = """\
# OSU MPI_Put-CUDA Latency Test v7.4
# Window creation: MPI_Win_create
# Synchronization: MPI_Win_flush
# Rank 0 Memory on DEVICE (D) and Rank 1 Memory on HOST (H)
# Size          Latency (us)
4                       3.29
"""
OLD = """\
# OSU One Sided MPI_Put Bi-directional Bandwidth Test v3.1.1
# Size     Bi-Bandwidth (MB/s)
4                         10.00
"""


def function(name, metric="time", **parameters):
    """Return the configuration of a test by its name."""
    return Function(name, metric, parameters)


FUNCTIONS = [
    (PUT_LATENCY, [(function("osu_put_latency [window=MPI_Win_create_dynamic, "
                             "synchronisation=MPI_Win_lock/unlock]", n=4), 3.29e-6)]),
    (PUT_BANDWIDTH, [(function("osu_put_bw [window=MPI_Win_allocate, synchronisation=MPI_Win_flush]", n=64),
                      64 / 778.35e6)]),
    (PUT_BOTH_WAYS, [(function("osu_put_bibw [window=MPI_Win_allocate, "
                               "synchronisation=MPI_Win_post/start/complete/wait]", n=64), 128 / 1349.77e6)]),
    (THREADS, [(function("osu_latency_mt", n=8, senders=2, receivers=3), 11.55e-6)]),
    (PROCESSES, [(function("osu_latency_mp", n=8, senders=2, receivers=4), 0.25e-6)]),
    (OLD, [(function("osu_put_bibw", n=4), 0.8e-6)]),
    (DERIVED, [(function("osu_bw [data=derived]", n=64, transmitted=128), 128 / 46.08e6)]),
    (DERIVED_RATES, [(function("osu_mbw_mr [data=derived]", n=4, k=2, transmitted=8), 2 / 21879.43)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), FUNCTIONS)
def test_what_no_kernel_measures_keeps_its_name(text, expected, write_file):
    check_rows(formats.load(write_file(text)), expected)


@pytest.mark.parametrize(
    ("program", "operation"),
    [
        ("Put", "put"), ("Get", "get"), ("Accumulate", "accumulate"), ("Get_accumulate", "get-accumulate"),
        ("Fetch_and_op", "fetch-and-op"), ("Compare_and_swap", "compare-and-swap"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("how", "synchronisation"),
    [
        ("flush", "flush"), ("flush_local", "flush-local"), ("lock/unlock", "lock"),
        ("lock_all/unlock_all", "lock-all"), ("fence", "fence"), ("post/start/complete/wait", "post-start"),
    ],
)  # fmt: skip
def test_a_latency_of_one_sided_operations_is_that_of_our_kernel(program, operation, how, synchronisation, write_file):
    text = PUT_LATENCY.replace("_dynamic", "").replace("MPI_Put", f"MPI_{program}").replace("lock/unlock", how)
    expected = OneSided(operation, 4, "between-nodes", synchronisation, "create")
    check_rows(formats.load(write_file(text), placement=formats.Placement(2, 1)), [(expected, 3.29e-6)])


def test_a_start_and_persistent_requests_are_those_of_our_kernels(write_file):
    check_rows(formats.load(write_file(START)), [(StartUp("init", 2), 0.051)])
    text = PUT_LATENCY.replace("_Put Latency", " Latency Persistent").replace("# Window", "#Window")
    text = "".join(line for line in text.splitlines(keepends=True) if "Win" not in line)
    check_rows(formats.load(write_file(text)), [(Persistent(4, "any"), 3.29e-6)])
    partitioned = text.replace("Latency Persistent", "Partitioned Latency")
    check_rows(formats.load(write_file(partitioned)), [(function("osu_partitioned_latency", n=4), 3.29e-6)])


COLLECTIVES = [
    (NON_BLOCKING, [(Collective("allreduce", 4, 4, mode="non-blocking"), 13804.09e-6),
                    (function("osu_iallreduce", "overlapped time", n=4, p=4), 20303.91e-6)]),
    *((BARRIER.format(mark=mark), [(Collective("barrier", 0, 4, mode="non-blocking"), 2903.19e-6),
                                   (function("osu_ibarrier", "overlapped time", p=4), 14728.87e-6)])
      for mark in ("# ", "")),
    (PERSISTENT, [(PersistentCollective("allreduce", 4, 4), 6551.26e-6)]),
    (PERSISTENT.replace("Allreduce", "Gather"), [(function("osu_gather_persistent", n=4, p=4), 6551.26e-6)]),
    (NEIGHBOURS, [(function("osu_neighbor_alltoallw [dimensions=2x2]", n=4, p=4), 7257.86e-6)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), COLLECTIVES)
def test_collectives_of_all_kinds(text, expected, write_file):
    check_rows(formats.load(write_file(text), placement=formats.Placement(4)), expected)


def test_a_bandwidth_both_ways_is_that_of_our_kernel(write_file):
    measurements = formats.load(write_file(BOTH_WAYS), placement=formats.Placement(2, 1))
    sizes = [(1, 2 / 1.93e6), (64, 128 / 131.59e6)]
    check_rows(
        measurements,
        [(Bandwidth(n, 2, "nearest-neighbour", "both-ways", "between-nodes", 64), time) for n, time in sizes],
    )
    assert fit_machine(measurements).bandwidth


def test_a_table_of_windows_is_a_stream_for_each(write_file):
    expected = [
        (osu_stream(size, 2, window), 2 / rate)
        for size, window, rate in ((1, 64, 19658.0), (16, 64, 21966.75), (1, 1, 469.76), (16, 1, 289.11))
    ]
    measurements = formats.load(write_file(WINDOWS))
    assert measurements.notes == ()
    check_rows(measurements, expected)


def test_each_datatype_is_a_launch(write_file):
    launches = formats.load(write_file(DATATYPES)).launches
    assert [[record.samples for record in launch.records] for launch in launches] == [
        [pytest.approx((261.26e-6,))],
        [pytest.approx((2.2e-6,))],
    ]


def test_one_sided_tests_of_accelerators_say_so(write_file):
    (launch,) = formats.load(write_file(ACCELERATOR)).launches
    assert launch.header.command == ("osu_put_latency", "-d", "cuda", "D", "H")


def test_pairs_of_ranks_on_two_nodes_are_not_those_on_one(write_file):
    (record,) = formats.load(write_file(PUT_BANDWIDTH), placement=formats.Placement(2, 1)).records
    assert record.configuration.name.endswith("synchronisation=MPI_Win_flush, path=between-nodes]")


def test_ranks_stand_in_the_command_above_a_table(write_file):
    command = "+ srun -n 64 --ntasks-per-node=32 osu_allreduce\n"
    measurements = formats.load(write_file(command + PERSISTENT + START))
    assert [record.configuration for record in measurements.records] == [
        PersistentCollective("allreduce", 4, 64, per_node=32),
        StartUp("init", 2),
    ]
    assert "the command above it says 64 ranks, 32 on a node" in measurements.notes[0]
    chosen = formats.load(write_file(command + PERSISTENT), placement=formats.Placement(8))
    assert next(chosen.records).configuration.processes == 8


def test_a_start_in_no_time_is_left_out(write_file):
    measurements = formats.load(write_file(START.replace("max: 51", "max: 0") + LATENCY))
    assert "osu_init is left out: its time is 0 ms" in measurements.notes[0]
    assert rows(measurements) == rows(formats.load(write_file(LATENCY)))
    other = "+ ./mine\n1 41.36\n1024 43.10\n"
    assert len(list(formats.load(write_file(START + other)).records)) == 1


@pytest.mark.parametrize("last", ["4", "4                     ", "4\n\n"])
def test_a_row_in_which_the_log_ends_is_left_out(tmp_path, last):
    path = tmp_path / "log"
    path.write_text(f"# OSU MPI Latency Test v7.2\n# Size          Latency (us)\n1   1.10\n2   1.11\n{last}")
    measurements = formats.load(path)
    assert [record.configuration.message_size for record in measurements.records] == [1, 2]
    assert "line 5: the log ends within this row, which is left out" in " ".join(measurements.notes)
    path.write_text("# OSU MPI Latency Test v7.2\n# Size          Latency (us)\n1   1.10\n2\n4   1.12\n")
    with pytest.raises(InputError, match="line 4: 1 columns, but the table's header names 2; restore the line"):
        formats.load(path)
