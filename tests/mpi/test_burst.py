"""Rows of messages on real MPI: every message at its place, delays kept, what cannot be refused."""

from contextlib import contextmanager

import numpy as np
import pytest
from mpi4py import MPI

from commmodel._core.clock import processor_clock
from commmodel._core.mpi import burst
from commmodel.bench.buffers import allocate

COMM = MPI.COMM_WORLD
PEER = COMM.rank ^ 1
FIRST = COMM.rank < PEER
MESSAGES = [(0, 0), (1, 64), (8192, 8192), (100_000, 100_032)]
ONE_SIDED = ["put", "get"]


def content(rank, size):
    return ((np.arange(size) + rank) % 251).astype(np.uint8)


def buffers(size):
    """Return what is sent and where it arrives."""
    sent, received = allocate(size, "never"), allocate(size, "never")
    sent[:] = content(COMM.rank, sent.size)
    received[:] = 255
    return sent, received


def arrived(received, rank, size, stride, count):
    """Return whether each message is at its place, and nothing between them."""
    places = received[: count * stride].reshape(count, stride)
    expected = content(rank, count * stride).reshape(count, stride)
    return bool((places[:, :size] == expected[:, :size]).all() and (places[:, size:] == 255).all())


@contextmanager
def window(exposed):
    result = MPI.Win.Create(exposed, comm=COMM)
    result.Lock_all()
    yield result
    result.Unlock_all()
    result.Free()


def exposed_and_own(operation, sent, received):
    return (received, sent) if operation == "put" else (sent, received)


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize(("size", "stride"), MESSAGES)
@pytest.mark.parametrize("count", [1, 5])
def test_a_burst_brings_every_message_to_its_place(size, stride, count):
    sent, received = buffers(count * stride)
    result = sent if FIRST else received
    ticks = burst.two_sided_burst(COMM, PEER, FIRST, result, size, stride, count, 3, processor_clock.COUNTER)
    assert ticks.shape == (3,)
    assert (ticks > 0).all()
    assert FIRST or arrived(received, PEER, size, stride, count)


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize(("size", "stride"), MESSAGES)
@pytest.mark.parametrize("operation", ONE_SIDED)
def test_a_one_sided_burst_is_begun_by_the_first_rank_alone(operation, size, stride):
    sent, received = buffers(5 * stride)
    exposed, result = exposed_and_own(operation, sent, received)
    loop = {"put": burst.put_burst, "get": burst.get_burst}[operation]
    with window(exposed) as entry:
        ticks = loop(COMM, entry, PEER, FIRST, result, size, stride, 5, 3, processor_clock.COUNTER)
    assert ticks.shape == (3,)
    assert ((ticks > 0) == FIRST).all()
    # Put: into the second rank's memory. Got: into the first one's.
    if (operation == "get") == FIRST:
        assert arrived(received, PEER, size, stride, 5)
    else:
        assert (received == 255).all()


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize("size", [0, 8, 8192])
def test_a_queue_times_each_message_and_brings_it_to_its_place(size):
    sent, received = buffers(20 * size)
    result = sent if FIRST else received
    ticks = burst.isend_queue(COMM, PEER, FIRST, result, size, size, 20, 3, processor_clock.CLOCK_GETTIME)
    assert ticks.shape == (3, 20)
    assert ticks.any(axis=1).all() == FIRST
    assert FIRST or arrived(received, PEER, size, size, 20)


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize("operation", ONE_SIDED)
def test_a_one_sided_queue_times_each_message_and_brings_it_to_its_place(operation):
    sent, received = buffers(20 * 64)
    exposed, result = exposed_and_own(operation, sent, received)
    loop = {"put": burst.put_queue, "get": burst.get_queue}[operation]
    with window(exposed) as entry:
        ticks = loop(COMM, entry, PEER, FIRST, result, 8, 64, 20, 3, processor_clock.COUNTER)
    assert ticks.shape == (3, 20)
    assert ticks.any(axis=1).all() == FIRST
    assert (operation == "get") != FIRST or arrived(received, PEER, 8, 64, 20)


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize(("size", "stride"), MESSAGES)
@pytest.mark.parametrize("delay", [0, 1000])
def test_an_exchange_goes_both_ways(size, stride, delay):
    sent, received = buffers(5 * stride)
    ticks = burst.two_sided_exchange(COMM, PEER, sent, received, size, stride, 5, delay, 3, processor_clock.COUNTER)
    assert ticks.shape == (3,)
    assert (ticks > delay).all()
    assert arrived(received, PEER, size, stride, 5)


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize(("size", "stride"), MESSAGES)
@pytest.mark.parametrize("operation", ONE_SIDED)
def test_a_one_sided_exchange_goes_both_ways(operation, size, stride):
    sent, received = buffers(5 * stride)
    exposed, result = exposed_and_own(operation, sent, received)
    loop = {"put": burst.put_exchange, "get": burst.get_exchange}[operation]
    with window(exposed) as entry:
        ticks = loop(COMM, entry, PEER, result, size, stride, 5, 1000, 3, processor_clock.COUNTER)
    assert ticks.shape == (3,)
    assert (ticks > 1000).all()
    assert arrived(received, PEER, size, stride, 5)


@pytest.mark.parallel([2, 4])
def test_an_exchange_lasts_as_long_as_its_delay_at_least():
    sent, received = buffers(64)
    delay = 20_000_000
    common = (COMM, PEER, sent, received, 8, 64, 1)
    assert burst.two_sided_exchange(*common, delay, 2, processor_clock.CLOCK_GETTIME).min() >= delay


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize(("size", "stride"), MESSAGES)
def test_windows_go_both_ways_at_once(size, stride):
    sent, received = buffers(5 * stride)
    ticks = burst.both_ways(COMM, PEER, PEER, sent, received, size, stride, 5, 3, processor_clock.COUNTER)
    assert ticks.shape == (3,)
    assert (ticks > 0).all()
    places = received[: 5 * stride].reshape(5, stride)
    assert (places[:, :size] == content(PEER, size)).all()  # all leave from the begin of what is sent
    assert (places[:, size:] == 255).all()


@pytest.mark.parallel([4])
def test_windows_go_round_a_ring():
    sent, received = buffers(5 * 64)
    following, previous = (COMM.rank + 1) % COMM.size, (COMM.rank - 1) % COMM.size
    ticks = burst.both_ways(COMM, following, previous, sent, received, 64, 64, 5, 3, processor_clock.COUNTER)
    assert (ticks > 0).all()
    assert (received[: 5 * 64].reshape(5, 64) == content(previous, 64)).all()


def loops(buffer, exchange):
    """Return each loop as a function of size, stride and number of messages, with what stands before and after."""
    common, end = (COMM, 0, False, buffer), (1, processor_clock.COUNTER)
    values = (COMM, 0, buffer, buffer)
    return {
        "two_sided_burst": (common, end),
        "isend_queue": (common, end),
        "two_sided_exchange": (values, (0, *end)),
        "both_ways": ((COMM, 0, 0, buffer, buffer), end),
        "put_burst": ((COMM, exchange, 0, False, buffer), end),
        "get_burst": ((COMM, exchange, 0, False, buffer), end),
        "put_queue": ((COMM, exchange, 0, False, buffer), end),
        "get_queue": ((COMM, exchange, 0, False, buffer), end),
        "put_exchange": ((COMM, exchange, 0, buffer), (0, *end)),
        "get_exchange": ((COMM, exchange, 0, buffer), (0, *end)),
    }


@pytest.mark.parallel([1, 2, 4])
@pytest.mark.parametrize(
    ("size", "stride", "count", "problem"),
    [
        (8, 8, 0, "window of 0 messages"),
        (8, 4, 2, "4 bytes apart, cannot be sent"),
        (65, 65, 1, "does not fit a buffer of 64 bytes"),
        (8, 32, 3, "window of 3 messages, 32 bytes apart, does not fit a buffer of 64 bytes"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_sent(size, stride, count, problem):
    buffer = allocate(64, "never")
    with window(allocate(64, "never")) as result:
        for name, (before, after) in loops(buffer, result).items():
            with pytest.raises(ValueError, match=problem):
                getattr(burst, name)(*before, size, stride, count, *after)


@pytest.mark.parallel([1, 2, 4])
def test_messages_beyond_the_end_of_a_window_are_refused():
    with window(allocate(100, "never")) as result:
        for name, (before, after) in loops(allocate(1024, "never"), result).items():
            if name.startswith(("put", "get")):
                with pytest.raises(ValueError, match="do not fit a window of 100 bytes"):
                    getattr(burst, name)(*before, 8, 64, 3, *after)


@pytest.mark.parallel([1, 2, 4])
def test_an_error_of_mpi_becomes_an_exception():
    duplicate = COMM.Dup()
    duplicate.Set_errhandler(MPI.ERRORS_RETURN)
    nobody, buffer = COMM.size + 7, allocate(64, "never")
    for before, loop, after in (
        ((nobody, False, buffer), burst.two_sided_burst, ()),
        ((nobody, False, buffer), burst.isend_queue, ()),
        ((nobody, buffer, buffer), burst.two_sided_exchange, (0,)),
        ((nobody, nobody, buffer, buffer), burst.both_ways, ()),
    ):
        with pytest.raises(MPI.Exception) as caught:
            loop(duplicate, *before, 8, 8, 1, *after, 1, processor_clock.COUNTER)
        assert caught.value.Get_error_class() == MPI.ERR_RANK
    duplicate.Free()


@pytest.mark.parallel([1, 2, 4])
def test_an_error_of_a_window_becomes_an_exception():
    with window(allocate(64, "never")) as result:
        for loop in (burst.put_exchange, burst.get_exchange):
            with pytest.raises(MPI.Exception):
                loop(COMM, result, COMM.size + 7, allocate(64, "never"), 8, 8, 1, 0, 1, processor_clock.COUNTER)
