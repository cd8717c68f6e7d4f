"""Clocks of real MPI ranks made one: each rank's clock is shifted and stretched after it was read."""

import numpy as np
import pytest
from mpi4py import MPI

from commmodel._core.clock import processor_clock
from commmodel._core.mpi import clock_sync
from commmodel.bench.clock import choose
from commmodel.bench.synchronisation import GroupClock, MPIWires, residuals, synchronise

COMM = MPI.COMM_WORLD
SHIFT, STRETCH = 100.0, 1e-2  # s and 1, of each rank more than of the one before


class Distorted(MPIWires):
    def seconds(self, rank, ticks):
        return super().seconds(rank, ticks) * (1 + STRETCH * rank) + SHIFT * rank


@pytest.mark.parallel([1, 2, 4])
def test_shifts_and_stretches_are_found():
    wires = Distorted(COMM, choose())
    result = synchronise(wires)
    # Far below what was planted, but far above what a busy machine's pauses do.
    assert result.slope == pytest.approx(1 / (1 + STRETCH * COMM.rank) - 1, abs=STRETCH / 10)
    apart = residuals(wires, result, 64)
    assert len(apart) == (COMM.size - 1 if COMM.rank == 0 else 0)
    assert all(abs(entry) < SHIFT / 1000 for entry in apart)


@pytest.mark.parallel([2, 4])
def test_the_offset_alone_leaves_the_drift():
    wires = Distorted(COMM, choose())
    result = synchronise(wires, "offset")
    assert result.slope == 0
    assert result.intercept == pytest.approx(-SHIFT * COMM.rank, abs=SHIFT / 10)


@pytest.mark.parallel(2)
def test_answers_lie_between_question_and_answer_where_ranks_share_a_clock():
    if COMM.rank:
        clock_sync.answer(COMM, 0, 5, processor_clock.COUNTER)
        return
    sent, received, answered = clock_sync.ask(COMM, 1, 5, processor_clock.COUNTER)
    assert sent.dtype == received.dtype == answered.dtype == np.uint64
    assert (sent < answered).all()
    assert (answered < received).all()
    assert (received[:-1] < sent[1:]).all()


@pytest.mark.parallel(2)
def test_an_error_of_mpi_becomes_an_exception():
    with pytest.raises(MPI.Exception):
        clock_sync.ask(COMM, 99, 1, processor_clock.COUNTER)
    with pytest.raises(MPI.Exception):
        clock_sync.answer(COMM, 99, 1, processor_clock.COUNTER)


@pytest.mark.parallel([1, 2, 4])
def test_a_group_has_one_clock():
    shared = GroupClock(COMM, choose())
    with pytest.raises(RuntimeError, match="must be refreshed"):
        shared.for_loops(1e-6)
    shared.refresh()
    shared.refresh()
    result = shared.for_loops(1e-6)
    error = shared.check(1.0)
    assert 0 <= error < 0.1
    assert len(set(COMM.allgather(error))) == 1
    assert result.ticks(result.seconds(10**15)) == pytest.approx(10**15, abs=100)
