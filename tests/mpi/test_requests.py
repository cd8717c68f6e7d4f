"""Persistent and partitioned messages, receives behind others, and threads on real MPI: data arrive whole."""

import os
import resource
from pathlib import Path

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


@pytest.mark.parallel([1, 2, 4])
@pytest.mark.parametrize("request_kind", ["blocking", "non-blocking", "persistent"])
@pytest.mark.parametrize("operation", list(persistent.OPERATIONS))
def test_collectives_of_every_kind_of_request_bring_their_data(operation, request_kind):
    if request_kind == "persistent" and not persistent.HAS_PARTITIONED:
        pytest.skip("this MPI library has no persistent collectives")
    size, ranks = 16, COMM.size
    sent, received = allocate(size * ranks, "never"), allocate(size * ranks, "never")
    numbers = np.arange(ranks * size // 4, dtype=np.float32)
    sent[:].view(np.float32)[:] = numbers + 100 * COMM.rank
    received[:] = 0
    ticks = persistent.collectives(COMM, operation, request_kind, sent, received, size, 3, CLOCK)
    assert ticks.shape == (3,)
    assert (ticks > 0).all()
    got, part = received.view(np.float32).reshape(ranks, -1), size // 4
    everybody = np.array([numbers.reshape(ranks, -1) + 100 * rank for rank in range(ranks)])
    expected = {
        "allreduce": everybody[:, 0].sum(axis=0), "reduce": everybody[:, 0].sum(axis=0), "bcast": numbers[:part],
        "alltoall": everybody[:, COMM.rank], "allgather": everybody[:, 0],
    }[operation]  # fmt: skip
    if COMM.rank == 0 and operation == "bcast":
        return  # the root sends its own
    if COMM.rank == 0 or operation != "reduce":
        np.testing.assert_array_equal(got[: len(np.atleast_2d(expected))], np.atleast_2d(expected))


@pytest.mark.parallel([2])
def test_threads_that_cannot_be_started_are_an_error_on_all_ranks():
    """Rank 1 has no address space for the stacks of as many threads; none of those that it started is left."""
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        pytest.skip("threads may not all call MPI here")
    before = len(os.listdir("/proc/self/task"))
    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    buffer = allocate(2 * 200 * 64, "never")
    if COMM.rank == 1:
        resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), limits[1]))
    try:
        assert threads.can_start(200) == (COMM.rank == 0)
        with pytest.raises(RuntimeError, match="a rank cannot start 200 threads"):
            threads.exchanges(COMM, PEER, FIRST, buffer, 8, 64, 200, 1, 3, 1, CLOCK)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert len(os.listdir("/proc/self/task")) == before
    assert threads.exchanges(COMM, PEER, FIRST, buffer, 8, 64, 2, 1, 3, 1, CLOCK).shape == (3,)


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize("window", [1, 3])
@pytest.mark.parametrize("number", [1, 2])
def test_each_thread_exchanges_messages_of_its_own(number, window):
    if number > 1 and MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        pytest.skip("threads may not all call MPI here")
    size, stride = 8, 64
    buffer = allocate((1 + window) * number * stride, "never")
    places = buffer.reshape(number, 1 + window, stride)[:, :, :size]
    places[:] = 255
    for thread in range(number):
        places[thread, 0] = content(COMM.rank + 10 * thread, size)
    ticks = threads.exchanges(COMM, PEER, FIRST, buffer, size, stride, number, window, 3, 2, CLOCK)
    assert ticks.shape == (3,)
    assert (ticks > 0).all()
    for thread in range(number):
        came = content(PEER + 10 * thread, size) if window == 1 or not FIRST else 255
        assert (places[thread, 1:] == came).all()


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
    for number, window, problem in (
        (0, 1, "0 threads"),
        (1, 65, "a window of 65"),
        (1, 2, "do not fit a buffer of 64"),
    ):
        with pytest.raises(ValueError, match=problem):
            threads.exchanges(COMM, 0, True, buffer, 8, 64, number, window, 1, 1, CLOCK)
    for operation, request_kind, size in (("scan", "blocking", 8), ("bcast", "eager", 8), ("bcast", "blocking", 65)):
        with pytest.raises(ValueError, match=r"unknown|do not fit"):
            persistent.collectives(COMM, operation, request_kind, buffer, buffer, size, *end)
