"""What the simulator's public functions are given: refused in one line, and before memory is taken for it."""

import math
import resource
import subprocess
import sys

import numpy as np
import pytest

from commmodel import arguments
from commmodel.collectives import CollectiveSettings, Problem
from commmodel.errors import DamagedFileError, InputError
from commmodel.simulate import DelayParameters, fluid, goal, run, smpi_collectives
from commmodel.simulate.platform import dragonfly, fat_tree, flat, torus
from commmodel.simulate.traces import replay
from commmodel.simulate.work import (
    cg,
    collective,
    halo,
    lu,
    pair,
    pairwise,
    read_sparse,
    repeat,
    ring,
    shifts,
    sparse,
)
from commmodel.simulate.work.actions import each_speed

NO_SIZES = [math.nan, math.inf, -1, 0.5, "8", None, True]
OF_A_SIZE = {
    "ring": lambda size: ring(size, 4),
    "halo": lambda size: halo(size, 4),
    "shifts": lambda size: shifts(size, 4),
    "pairwise": lambda size: pairwise(size, 4),
    "pair": lambda size: pair(size),
    "sparse": lambda size: sparse([0, 1], [1, 0], [8, size]),
    "collective": lambda size: collective("bcast", Problem(4, size)),
    "smpi": lambda size: smpi_collectives.program("bcast", size, 4),
    "segments": lambda size: collective("bcast", Problem(4, 64, segment_size=size), algorithm="pipelined"),
}
EQUAL = {"segments: None", "sparse: True"}
"""No segments; to numpy, True beside a number is 1."""
NO_COUNTS = [math.nan, -1, 0, 2.5, "4", True, 2_000_000_000]
OF_A_COUNT = {
    "ring": lambda count: ring(8, count),
    "halo": lambda count: halo(8, count),
    "shifts": lambda count: shifts(8, count),
    "pairwise": lambda count: pairwise(8, count),
    "pair": lambda count: pair(8, count),
    "sparse": lambda count: sparse([0], [0], [8], count),
    "collective": lambda count: collective("bcast", Problem(count, 8)),
    "smpi": lambda count: smpi_collectives.program("bcast", 8, count),
    "lu": lambda count: lu("S", count),
    "cg": lambda count: cg("S", count),
    "place": lambda count: flat(2, 1e9, 0.0).place(count, "round-robin"),
    "hosts": lambda count: flat(count, 1e9, 0.0),
    "cores": lambda count: flat(2, 1e9, 0.0, cores=count),
    "torus": lambda count: torus([2, count], 1e9, 0.0),
    "fat tree": lambda count: fat_tree([2, count], [1, 1], [1, 1], 1e9, 0.0),
    "dragonfly": lambda count: dragonfly(1, count, 2, 2, 1e9, 0.0),
}
NO_AMOUNTS = [math.nan, math.inf, -1.0, "1", None]
OF_AN_AMOUNT = {
    "bandwidth": lambda amount: flat(2, amount or "None", 0.0),
    "latency": lambda amount: flat(2, 1e9, amount),
    "speed": lambda amount: flat(2, 1e9, 0.0, speed=amount or "None"),
    "loopback": lambda amount: flat(2, 1e9, 0.0, loopback=(amount, 0.0)),
    "backbone": lambda amount: flat(2, 1e9, 0.0, backbone=(1e9, amount)),
    "delay": lambda amount: DelayParameters(L=amount, o=0.0),
    "speeds": lambda amount: each_speed([1e9, amount], 2),
    "network": lambda amount: run(ring(8, 2), fluid_with(header=amount), flat(2, 1e9, 0.0)),
}
OF_A_BYTE = {
    "copy": lambda amount: CollectiveSettings(memory_copy=amount),
    "reduction": lambda amount: CollectiveSettings(reduction=amount),
}


def fluid_with(**changes):
    import msgspec

    return msgspec.structs.replace(fluid(), **changes)


def listed(functions, values):
    return [pytest.param(function, value, id=f"{name}: {value}") for name, function in functions.items()
            for value in values]  # fmt: skip


@pytest.mark.parametrize(("make", "size"), [entry for entry in listed(OF_A_SIZE, NO_SIZES) if entry.id not in EQUAL])
def test_what_is_no_number_of_bytes_is_refused(make, size):
    with pytest.raises(InputError) as raised:
        make(size)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("make", "count"), listed(OF_A_COUNT, NO_COUNTS))
def test_what_is_no_number_of_things_is_refused(make, count):
    with pytest.raises(InputError):
        make(count)


@pytest.mark.parametrize(("make", "amount"), listed(OF_AN_AMOUNT, NO_AMOUNTS) + listed(OF_A_BYTE, NO_AMOUNTS[:-1]))
def test_what_is_no_amount_is_refused(make, amount):
    with pytest.raises(InputError):
        make(amount)


def test_sizes_may_be_whole_floats_and_numpys_numbers():
    assert ring(1e3, np.int64(4)).operations["value"].max() == 1000
    assert repeat(ring(np.float64(8), 2), np.int32(2)).processes == 2


def test_memory_that_is_not_there_is_told_before_it_is_taken(monkeypatch):
    monkeypatch.setattr(arguments, "_memory_left", lambda: 2.0**30)
    with pytest.raises(InputError, match=r"4000000 processes would take about 7.2 GB, and 1.07 GB are left"):
        ring(8, 4_000_000)


TOO_MUCH = {
    "links": lambda: flat(2_000_000, 1e9, 0.0, limiter=1e9),
    "alltoall": lambda: collective("alltoall", Problem(30_000, 8), algorithm="linear"),
    "alltoall of SMPI": lambda: smpi_collectives.program("alltoall", 8000, 30_000, "basic_linear"),
    "alltoall of SMPI by ring, a barrier before": lambda: smpi_collectives.program(
        "alltoall", 8000, 30_000, "ring_one_barrier"
    ),
    "scan of SMPI": lambda: smpi_collectives.program("scan", 8, 30_000),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_no_memory_is_taken_before_it_is_asked_for(monkeypatch, name):
    monkeypatch.setattr(arguments, "_memory_left", lambda: 2.0**30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(
        InputError,
        match=r"^\d+ (links|messages at once|ranks in alltoall) would take about [\d.]+ GB, and 1.07 GB are left",
    ):
        TOO_MUCH[name]()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 2**17  # KiB


def test_a_message_in_a_million_segments_is_refused_at_once():
    with pytest.raises(InputError, match=r"1048576 bytes in segments of 1: at most 262144 segments, larger ones"):
        collective("bcast", Problem(64, 1 << 20, segment_size=1), algorithm="chain")


def test_a_limit_of_the_shell_counts_as_memory():
    script = (
        "import resource\nfrom commmodel import arguments\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))\nprint(arguments._memory_left())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert 0 <= float(done.stdout) < 2**32


def test_a_mistyped_rank_of_an_exchange_is_told_and_takes_no_memory(tmp_path):
    path = tmp_path / "exchange.csv"
    path.write_text("0,16777215,8\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DamagedFileError, match=r"only 2 of these 16777216 ranks occur: .*16777216"):
        read_sparse(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB
    path.write_text("0,2000,8\n")
    assert read_sparse(path, 2001).processes == 2001
    path.write_text("0,1000,8\n")
    assert read_sparse(path).processes == 1001


def test_a_schedule_of_many_ranks_that_do_nothing_is_refused():
    with pytest.raises(DamagedFileError, match="only 1 of these 16777215 ranks occur"):
        goal.parse("num_ranks 16777215\nrank 0 {\nl1: calc 100\n}\n")


def test_a_mistyped_rank_of_a_merged_trace_is_told_with_its_line(tmp_path):
    path = tmp_path / "merged.trace"
    path.write_text("0 init\n# a remark\n1048575 init\n2 init\n0 barrier\n")
    with pytest.raises(DamagedFileError, match=r"line 3: ranks up to 1048575, but only 3 of these"):
        replay(path)
    assert replay(path, 1048576).processes == 1048576
