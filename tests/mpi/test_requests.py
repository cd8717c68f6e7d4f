"""Persistent and partitioned messages, receives behind others, and threads on real MPI: data arrive whole."""

import numpy as np
import pytest
from mpi4py import MPI

from commmodel._core.clock import processor_clock
from commmodel._core.mpi import matching, persistent, threads
from commmodel.bench.buffers import allocate

COMM = MPI.COMM_WORLD
PEER = COMM.rank ^ 1
FIRST = COMM.rank < PEER
CLOCK = processor_clock.COUNTER


def content(rank, size):
    return ((np.arange(size) + rank) % 251).astype(np.uint8)


def filled(size):
    """Return a buffer to send and one to receive into."""
    sent, received = allocate(max(size, 1), "never"), allocate(max(size, 1), "never")
    sent[:size], received[:] = content(COMM.rank, size), 255
    return sent, received


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize(
    ("request_kind", "partitions"), [("non-blocking", 1), ("persistent", 1), ("partitioned", 1), ("partitioned", 4)]
)
@pytest.mark.parametrize("size", [0, 8, 100_000])
def test_messages_of_every_kind_of_request_arrive_whole(request_kind, partitions, size):
    if request_kind == "partitioned" and not persistent.HAS_PARTITIONED:
        pytest.skip("this MPI library has no partitioned requests")
    sent, received = filled(size)
    ticks = persistent.round_trips(COMM, PEER, FIRST, sent, received, size, request_kind, partitions, 3, CLOCK)
    assert ticks.shape == (3,)
    assert (ticks > 0).all()
    assert (received[:size] == content(PEER, size)).all()


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize("loop", [matching.posted, matching.unexpected])
@pytest.mark.parametrize("entries", [0, 1, 100])
def test_a_message_is_found_behind_others_and_no_entry_is_left(loop, entries):
    sent, received = filled(8)
    ticks = loop(COMM, PEER, FIRST, received if FIRST else sent, 8, entries, 3, CLOCK)
    assert (ticks > 0).all()
    assert not FIRST or (received[:8] == content(PEER, 8)).all()
    COMM.Barrier()
    assert not COMM.Iprobe()


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize("number", [1, 2])
def test_each_thread_exchanges_messages_of_its_own(number):
    if number > 1 and MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        pytest.skip("threads may not all call MPI here")
    size, stride = 8, 64
    buffer = allocate(2 * number * stride, "never")
    for thread in range(number):
        buffer[2 * thread * stride :][:size] = content(COMM.rank + 10 * thread, size)
    ticks = threads.round_trips(COMM, PEER, FIRST, buffer, size, stride, number, 3, 2, CLOCK)
    assert ticks.shape == (3,)
    assert (ticks > 0).all()
    for thread in range(number):
        assert (buffer[(2 * thread + 1) * stride :][:size] == content(PEER + 10 * thread, size)).all()


@pytest.mark.parallel([1, 2, 4])
def test_what_cannot_be_is_refused_before_anything_is_sent():
    buffer = allocate(64, "never")
    end = (1, CLOCK)
    for request_kind, size, partitions, problem in (
        ("eager", 8, 1, "unknown 'eager'"), ("persistent", 65, 1, "65 bytes"), ("partitioned", 9, 2, "no 2 equal"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=problem):
            persistent.round_trips(COMM, 0, True, buffer, buffer, size, request_kind, partitions, *end)
    for loop in (matching.posted, matching.unexpected):
        with pytest.raises(ValueError, match="queue of -1 entries"):
            loop(COMM, 0, True, buffer, 8, -1, *end)
    with pytest.raises(ValueError, match="0 threads"):
        threads.round_trips(COMM, 0, True, buffer, 8, 16, 0, 1, 1, CLOCK)
    with pytest.raises(ValueError, match="do not fit a buffer of 64 bytes"):
        threads.round_trips(COMM, 0, True, buffer, 8, 64, 1, 1, 1, CLOCK)
