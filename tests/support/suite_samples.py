"""Output of other suites, to read: each text as its program writes it."""

import pytest

from commmodel.results.configurations import Stream

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
# OSU MPI Unheard-of Latency Test v7.5
# Size          Latency (us)
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


def osu_stream(size, pairs, window):
    """Return what OSU's tests measure unless told otherwise."""
    return Stream(size, pairs, "any", window, buffers="one")


def rows(measurements):
    """Return configuration and samples of each record."""
    return [(record.configuration, record.samples) for record in measurements.records]


def check_rows(measurements, expected):
    """Check that records are those expected: configuration and seconds of each."""
    assert [configuration for configuration, _ in rows(measurements)] == [entry for entry, _ in expected]
    assert [samples for _, samples in rows(measurements)] == [pytest.approx((time,), rel=1e-12) for _, time in expected]
    assert all(record.unit == "s" for record in measurements.records)
