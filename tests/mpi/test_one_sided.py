"""One-sided operations on real MPI: each does what it says to the window of the peer, however it is completed."""

import numpy as np
import pytest
from mpi4py import MPI

from commmodel._core.clock import processor_clock
from commmodel._core.mpi import one_sided
from commmodel.bench.buffers import allocate
from commmodel.bench.windows import check_one_sided

COMM = MPI.COMM_WORLD
PEER = COMM.rank ^ 1
FIRST = COMM.rank < PEER
REPETITIONS = 3


def work(operation, synchronisation, size, content, exposed):
    """Carry out operations; return the ticks, what was fetched and what the window holds at the end."""
    origin, result = allocate(max(size, 8), "never"), allocate(max(size, 8), "never")
    origin[:size], result[:] = content, 255
    window = MPI.Win.Allocate(max(size, 8), comm=COMM)
    memory = np.frombuffer(window.tomemory(), np.uint8)
    memory[:size] = exposed
    COMM.Barrier()
    arguments = COMM, window, PEER, FIRST, operation, synchronisation, origin, result, size
    ticks = one_sided.accesses(*arguments, REPETITIONS, processor_clock.COUNTER)
    left = memory[:size].copy()
    window.Free()
    return ticks, result[:size], left


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize("synchronisation", one_sided.SYNCHRONISATIONS)
@pytest.mark.parametrize("size", [0, 8, 9, 100_000])
def test_put_get_and_accumulates_reach_the_window_of_the_peer(synchronisation, size):
    in_turns = synchronisation in {"fence", "post-start"}  # each rank has a turn
    ones = np.ones(size, np.uint8)
    ticks, _, left = work("put", synchronisation, size, 7 * ones, ones)
    assert ((ticks > 0) == FIRST).all()
    assert (left == (7 if in_turns or not FIRST else 1)).all()
    _, fetched, left = work("get", synchronisation, size, 7 * ones, (3 + COMM.rank) * ones)
    assert (left == 3 + COMM.rank).all()
    assert (fetched == (3 + PEER if in_turns or FIRST else 255)).all()
    numbers = np.ones(size // 4, np.float32).view(np.uint8) if size % 4 == 0 else ones
    for operation in ("accumulate", "get-accumulate"):
        _, fetched, left = work(operation, synchronisation, size, numbers, numbers)
        added = REPETITIONS if in_turns or not FIRST else 0
        if size % 4 == 0:
            assert (left.view(np.float32) == 1 + added).all()
        else:
            assert (left == 1).all()  # or-ed
        if operation == "get-accumulate" and (in_turns or FIRST) and size % 4 == 0:
            assert (fetched.view(np.float32) == REPETITIONS).all()  # before the last one


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize("synchronisation", one_sided.SYNCHRONISATIONS)
def test_atomic_operations_count_and_swap(synchronisation):
    in_turns = synchronisation in {"fence", "post-start"}
    two, zero = np.array([2]).view(np.uint8), np.zeros(8, np.uint8)
    _, fetched, left = work("fetch-and-op", synchronisation, 8, two, zero)
    assert left.view(np.int64)[0] == (2 * REPETITIONS if in_turns or not FIRST else 0)
    assert not (in_turns or FIRST) or fetched.view(np.int64)[0] == 2 * (REPETITIONS - 1)
    _, fetched, left = work("compare-and-swap", synchronisation, 8, two, zero)
    assert left.view(np.int64)[0] == (2 if in_turns or not FIRST else 0)
    assert not (in_turns or FIRST) or fetched.view(np.int64)[0] == 2


@pytest.mark.parallel([1, 2, 4])
@pytest.mark.parametrize(
    ("operation", "synchronisation", "size", "problem"),
    [
        ("push", "flush", 8, "unknown 'push'"),
        ("put", "wait", 8, "unknown 'wait'"),
        ("put", "flush", 9, "9 bytes does not fit a window of 8 bytes"),
        ("fetch-and-op", "flush", 4, "on 8 bytes, not 4"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_sent(operation, synchronisation, size, problem):
    window, buffer = MPI.Win.Allocate(8, comm=COMM), allocate(16, "never")
    with pytest.raises(ValueError, match=problem):
        one_sided.accesses(COMM, window, 0, True, operation, synchronisation, buffer, buffer, size, 1, 0)
    window.Free()


@pytest.mark.parallel([1, 2, 4])
def test_one_sided_operations_work_here():
    check_one_sided(COMM)
