"""Trains of messages on real MPI: every message at its place, delays kept, what cannot be refused."""

import numpy as np
import pytest
from mpi4py import MPI

from commmodel._core.clock import processor_clock
from commmodel._core.mpi import trains
from commmodel.bench.buffers import allocate

COMM = MPI.COMM_WORLD
TRAINS = [trains.blocking_train, trains.immediate_train]


def partner():
    """Return (peer, first): rank 2 i with rank 2 i + 1."""
    peer = COMM.rank ^ 1
    return peer, COMM.rank < peer


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize(("size", "stride"), [(0, 0), (1, 64), (8192, 8192), (100_000, 100_032)])
@pytest.mark.parametrize(("messages", "delay", "answer"), [(1, 0, 1), (5, 0, 1), (5, 1000, 1), (5, 0, 0)])
@pytest.mark.parametrize("train", TRAINS)
def test_a_train_brings_every_message_to_its_place(train, size, stride, messages, delay, answer):
    peer, first = partner()
    buffer = allocate(messages * stride, "never")
    buffer[:] = (np.arange(buffer.size) + COMM.rank) % 251 if first else 255
    ticks = train(COMM, peer, first, buffer, size, stride, messages, delay, answer, 3, processor_clock.COUNTER)
    assert ticks.shape == (3,)
    assert (ticks > 0).all()
    if not first:
        places = buffer[: messages * stride].reshape(messages, stride)
        assert (places[:, :size] == (np.arange(size) + peer) % 251).all()
        assert (places[:, size:] == 255).all()


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize("train", TRAINS)
def test_the_delay_lies_between_each_message_and_the_next(train):
    """A train of n messages takes n - 1 delays at least, whatever the machine does; one message takes none."""
    peer, first = partner()
    buffer = allocate(64 * 5, "never")
    delay, hour = 2_000_000, 3_600_000_000_000
    common = (COMM, peer, first, buffer, 8, 64)
    five = train(*common, 5, delay, 1, 2, processor_clock.CLOCK_GETTIME)
    train(*common, 1, hour, 1, 2, processor_clock.CLOCK_GETTIME)  # ends
    if first:
        assert five.min() >= 4 * delay


@pytest.mark.parallel([1, 2, 4])
@pytest.mark.parametrize("train", TRAINS)
@pytest.mark.parametrize(
    ("size", "stride", "messages", "answer", "problem"),
    [
        (8, 8, 0, 1, "window of 0 messages"),
        (8, 4, 2, 1, "4 bytes apart, cannot be sent"),
        (65, 65, 1, 1, "does not fit a buffer of 64 bytes"),
        (8, 32, 3, 1, "window of 3 messages, 32 bytes apart, does not fit a buffer of 64 bytes"),
        (8, 8, 1, 2, "1 bytes, not 2"),
    ],
)
def test_a_train_that_cannot_be_is_refused_before_anything_is_sent(train, size, stride, messages, answer, problem):
    with pytest.raises(ValueError, match=problem):
        train(COMM, 0, False, allocate(64, "never"), size, stride, messages, 0, answer, 1, processor_clock.COUNTER)


@pytest.mark.parallel([1, 2, 4])
@pytest.mark.parametrize("train", TRAINS)
def test_an_error_of_mpi_becomes_an_exception(train):
    duplicate = COMM.Dup()
    duplicate.Set_errhandler(MPI.ERRORS_RETURN)
    with pytest.raises(MPI.Exception) as caught:
        train(duplicate, COMM.size + 7, False, allocate(8, "never"), 8, 8, 1, 0, 1, 1, processor_clock.COUNTER)
    assert caught.value.Get_error_class() == MPI.ERR_RANK
    duplicate.Free()
