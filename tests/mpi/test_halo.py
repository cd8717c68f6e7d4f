"""The loop of exchanges with several neighbours on real MPI: every message from its rank, what cannot be refused."""

import numpy as np
import pytest
from mpi4py import MPI

from commmodel._core.clock import processor_clock
from commmodel._core.mpi import halo
from commmodel.bench.buffers import allocate
from commmodel.bench.kernels.halo import steps

COMM = MPI.COMM_WORLD


def ring(neighbours):
    return tuple(((COMM.rank + sign * steps(neighbours)) % COMM.size).astype(np.int32) for sign in (-1, 1))


@pytest.mark.parallel([1, 2, 4])
@pytest.mark.parametrize(("size", "stride"), [(0, 64), (1, 64), (100_000, 100_032)])
def test_each_message_comes_from_its_neighbour(size, stride):
    sources, targets = ring(3)
    sent, received = allocate(3 * stride, "never"), allocate(3 * stride, "never")
    sent[:], received[:] = COMM.rank, 255
    ticks = halo.exchange(COMM, sources, targets, sent, received, size, stride, 2, processor_clock.COUNTER)
    assert ticks.shape == (2,)
    assert (ticks > 0).all()
    places = received.reshape(3, stride)
    assert (places[:, :size] == sources[:, None]).all()
    assert (places[:, size:] == 255).all()


@pytest.mark.parallel([1, 2])
def test_what_does_not_fit_is_refused():
    sources, targets = ring(2)
    buffer = allocate(128, "never")
    with pytest.raises(ValueError, match="2 sources, but 1 targets"):
        halo.exchange(COMM, sources, targets[:1], buffer, buffer, 8, 64, 1, processor_clock.COUNTER)
    with pytest.raises(ValueError, match="does not fit a buffer"):
        halo.exchange(COMM, sources, targets, buffer, buffer, 128, 128, 1, processor_clock.COUNTER)
