"""The loop of collective operations on real MPI: each one moves what MPI says, on any number of ranks."""

import numpy as np
import pytest
from mpi4py import MPI

from commmodel._core.clock import processor_clock
from commmodel._core.mpi import collective
from commmodel.bench.buffers import allocate
from commmodel.results.configurations import CollectiveMode, CollectiveName

COMM = MPI.COMM_WORLD
BYTES_EACH = ("gather", "scatter", "allgather", "alltoall")
REDUCTIONS = ("reduce", "allreduce", "reduce_scatter_block", "scan")


def run(operation, size, send, receive, comm=COMM):
    ticks = collective.collective(comm, operation, send, receive, size, 3, processor_clock.COUNTER)
    assert ticks.shape == (3,)
    assert (ticks > 0).all()


def sent(size, rank, blocks):
    """Return what a rank sends: `blocks` blocks, each different from every other of every rank."""
    return ((np.arange(blocks * size) + 31 * rank) % 251).astype(np.uint8)


def buffers(size, blocks):
    send, receive = allocate(blocks * size, "never"), allocate(blocks * size, "never")
    send[: blocks * size] = sent(size, COMM.rank, blocks)
    receive[:] = 255
    return send, receive


@pytest.mark.parallel([1, 2, 4])
def test_the_loop_knows_the_collectives_of_the_file_format():
    assert tuple(collective.OPERATIONS) == CollectiveName.__args__
    assert tuple(collective.MODES) == CollectiveMode.__args__


@pytest.mark.parallel([1, 2, 4])
def test_a_barrier_takes_time():
    run("barrier", 0, *buffers(1, 1))


@pytest.mark.parallel([1, 2, 4])
@pytest.mark.parametrize("size", [0, 1, 8192, 100_000])
def test_a_broadcast_brings_the_roots_buffer_to_all(size):
    send, receive = buffers(max(size, 1), 1)
    run("bcast", size, send, receive)
    got = send if COMM.rank == 0 else receive
    assert (got[:size] == sent(size, 0, 1)).all()
    assert (send[: max(size, 1)] == sent(max(size, 1), COMM.rank, 1)).all()


@pytest.mark.parallel([1, 2, 4])
@pytest.mark.parametrize("size", [1, 7, 8192, 100_000])
@pytest.mark.parametrize("operation", BYTES_EACH)
def test_blocks_arrive_where_they_belong(operation, size):
    send, receive = buffers(size, COMM.size)
    run(operation, size, send, receive)
    values = [sent(size, rank, COMM.size).reshape(COMM.size, size) for rank in range(COMM.size)]
    expected = {
        "gather": [block[0] for block in values] if COMM.rank == 0 else [],
        "scatter": [values[0][COMM.rank]],
        "allgather": [block[0] for block in values],
        "alltoall": [block[COMM.rank] for block in values],
    }[operation]
    expected = np.concatenate([np.empty(0, np.uint8), *expected])
    assert (receive[: expected.size] == expected).all()
    assert (receive[expected.size :] == 255).all()


@pytest.mark.parallel([1, 2, 4])
@pytest.mark.parametrize("size", [4, 8192, 100_000])
@pytest.mark.parametrize("operation", REDUCTIONS)
def test_reductions_of_whole_floats_add_them(operation, size):
    send, receive = buffers(size, COMM.size)
    count = size // 4
    numbers = [np.arange(COMM.size * count, dtype=np.float32) % 64 + rank for rank in range(COMM.size)]
    send.view(np.float32)[:] = numbers[COMM.rank]
    run(operation, size, send, receive)
    result = slice(COMM.rank * count, (COMM.rank + 1) * count)
    expected = {
        "reduce": sum(numbers)[:count],
        "allreduce": sum(numbers)[:count],
        "reduce_scatter_block": sum(numbers)[result],
        "scan": sum(numbers[: COMM.rank + 1])[:count],
    }[operation]
    if operation != "reduce" or COMM.rank == 0:
        assert (receive.view(np.float32)[:count] == expected).all()


@pytest.mark.parallel([1, 2, 4])
@pytest.mark.parametrize("size", [1, 3, 1001])
def test_reductions_of_other_sizes_combine_bytes(size):
    send, receive = buffers(size, 1)
    send[:] = 1 << COMM.rank
    run("allreduce", size, send, receive)
    assert (receive[:size] == (1 << COMM.size) - 1).all()


@pytest.mark.parallel(4)
def test_the_first_ranks_may_do_it_alone():
    first = COMM.Split(COMM.rank < 2, COMM.rank)
    send, receive = buffers(8, 2)
    if COMM.rank < 2:
        run("allgather", 8, send, receive, first)
        assert (receive[:16] == np.concatenate([sent(8, rank, 1) for rank in range(2)])).all()
    first.Free()


@pytest.mark.parallel([1, 2, 4])
def test_what_does_not_fit_or_is_unknown_is_refused_before_anything_is_sent():
    small = allocate(8 * COMM.size - 1, "never")
    enough = allocate(8 * COMM.size, "never")
    for send, receive in ((small, enough), (enough, small)):
        with pytest.raises(ValueError, match="do not fit buffers"):
            collective.collective(COMM, "alltoall", send, receive, 8, 1, processor_clock.COUNTER)
    with pytest.raises(ValueError, match="unknown collective 'gatherw'"):
        collective.collective(COMM, "gatherw", enough, enough, 8, 1, processor_clock.COUNTER)


@pytest.mark.parallel([1, 2, 4])
def test_an_error_of_mpi_becomes_an_exception():
    group = COMM.Dup()
    group.Free()
    with pytest.raises(MPI.Exception):
        collective.collective(
            group, "barrier", allocate(8, "never"), allocate(8, "never"), 0, 1, processor_clock.COUNTER
        )


@pytest.mark.parallel(1)
@pytest.mark.parametrize("size", [0, 1, 6, 4096])
def test_work_within_memory_copies_and_adds(size):
    source = np.frombuffer(bytes(range(1, 9)) * 1024, dtype=np.uint8).copy()
    target = np.zeros_like(source)
    assert collective.copies(source, target, size, 3, processor_clock.COUNTER).size == 3
    assert (target[:size] == source[:size]).all()
    assert not target[size:].any()
    floats, sums = np.full(2048, 1.5, dtype=np.float32), np.zeros(2048, dtype=np.float32)
    if size % 4 == 0:
        collective.reductions(floats.view(np.uint8), sums.view(np.uint8), size, 2, processor_clock.COUNTER)
        assert (sums[: size // 4] == 3).all()
        assert not sums[size // 4 :].any()


@pytest.mark.parallel(1)
@pytest.mark.parametrize("loop", [collective.copies, collective.reductions])
def test_work_within_memory_stays_within_its_buffers(loop):
    buffer = np.zeros(64, dtype=np.uint8)
    for size in (-1, 65):
        with pytest.raises(ValueError, match="do not fit"):
            loop(buffer, buffer.copy(), size, 1, processor_clock.COUNTER)
