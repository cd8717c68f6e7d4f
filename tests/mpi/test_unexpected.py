"""Awaited and late receives on real MPI: the message comes whole, and a late receive waits its delay."""

import numpy as np
import pytest
from mpi4py import MPI

from commmodel._core.clock import processor_clock
from commmodel._core.mpi import unexpected
from commmodel.bench.buffers import allocate

COMM = MPI.COMM_WORLD


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize("size", [0, 8, 300_000])
@pytest.mark.parametrize("late", [False, True])
def test_a_message_comes_whole_whenever_it_is_received(late, size):
    peer = COMM.rank ^ 1
    first = COMM.rank < peer
    buffer = allocate(max(size, 1), "never")
    buffer[:] = 255 if first else (np.arange(buffer.size) + COMM.rank) % 251
    ticks = unexpected.receives(COMM, peer, first, buffer, size, late, 10_000, 3, processor_clock.COUNTER)
    assert ticks.shape == (3,)
    assert (ticks > 0).all()
    assert not first or (buffer[:size] == (np.arange(size) + peer) % 251).all()


@pytest.mark.parallel(2)
def test_the_delay_is_no_part_of_a_late_receive_but_of_the_whole():
    delay, first = 20_000_000, COMM.rank == 0
    clock = processor_clock.CLOCK_GETTIME
    begin = MPI.Wtime()
    unexpected.receives(COMM, 1 - COMM.rank, first, allocate(8, "never"), 8, True, delay, 3, clock)
    assert not first or MPI.Wtime() - begin >= 3e-9 * delay
