"""Messages both ways on real MPI: both come whole, and what is measured leaves the delay out."""

import numpy as np
import pytest
from mpi4py import MPI

from commmodel._core.clock import processor_clock
from commmodel._core.mpi import answer
from commmodel.bench.buffers import allocate

COMM = MPI.COMM_WORLD


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize(("size", "large"), [(1, 8), (300_000, 100), (40_000, 300_000)])
@pytest.mark.parametrize("beside", [False, True])
def test_both_messages_come_whole(beside, size, large):
    peer = COMM.rank ^ 1
    first = COMM.rank < peer
    outgoing, incoming = allocate(300_000, "never"), allocate(300_000, "never")
    outgoing[:] = (np.arange(outgoing.size) + COMM.rank) % 251
    incoming[:] = 255
    ticks = answer.sends(COMM, peer, first, outgoing, incoming, size, large, beside, 1000, 3, processor_clock.COUNTER)
    assert ticks.shape == (3,)
    assert (ticks > 0).all()
    received = large if first else size
    assert (incoming[:received] == (np.arange(received) + peer) % 251).all()
    assert (incoming[received:] == 255).all()


@pytest.mark.parallel(2)
def test_the_delay_is_no_part_of_the_send():
    delay, first = 20_000_000, COMM.rank == 0
    clock = processor_clock.CLOCK_GETTIME
    outgoing, incoming = allocate(8, "never"), allocate(8, "never")
    begin = MPI.Wtime()
    ticks = answer.sends(COMM, 1 - COMM.rank, first, outgoing, incoming, 1, 8, True, delay, 3, clock)
    assert not first or MPI.Wtime() - begin >= 3e-9 * delay
    assert not first or ticks.min() < delay
