"""Each form of a collective operation, blocking, not blocking, and overlapped, moves what MPI says."""

import numpy as np
import pytest
from mpi4py import MPI

from commmodel._core.clock import processor_clock
from commmodel._core.mpi import collective
from commmodel.bench.buffers import allocate
from commmodel.results.configurations import Collective, CollectiveName

COMM = MPI.COMM_WORLD
UNTOUCHED = 255
OPEN_MPI = collective.MPI_ABI == "openmpi"
BY_HAND = ("bcast_binary_tree", "bcast_linear")
MODES = ("blocking", "non-blocking", "overlapped")
FORMS = [
    (operation, mode)
    for operation in CollectiveName.__args__
    for mode in MODES
    if mode == "blocking" or operation not in BY_HAND
]
EVERY_FORM = pytest.mark.parametrize(("operation", "mode"), FORMS)
DELAY = 50_000  # ticks: some microseconds of any clock


def run(operation, size, send, receive, comm=COMM, mode="blocking", repetitions=2):
    delay = DELAY if mode == "overlapped" else 0
    ticks = collective.collective(
        comm, operation, send, receive, size, repetitions, processor_clock.COUNTER, mode, delay
    )
    assert ticks.shape == (repetitions,)
    assert (ticks >= max(delay, 1)).all()


def neighbours(rank, processes):
    """Return who is before and after a process in each dimension of a periodic grid, ranks in rows."""
    rows, columns = MPI.Compute_dims(processes, 2)
    row, column = divmod(rank, columns)
    return (
        (row - 1) % rows * columns + column,
        (row + 1) % rows * columns + column,
        row * columns + (column - 1) % columns,
        row * columns + (column + 1) % columns,
    )


def blocks_there(processes):
    """Return how many blocks buffers need for any operation."""
    return max(processes, 4)


def bytes_of(rank, size, processes):
    """Return the blocks that a rank has to send, each unlike every other of every rank."""
    result = np.arange(blocks_there(processes) * size)
    return ((result * 7 + result // 250 + 61 * rank) % 251).astype(np.uint8).reshape(blocks_there(processes), size)


def numbers_of(rank, size, processes):
    """Return the same as small whole numbers, whose sums are exact in any order."""
    return bytes_of(rank, size // 4, processes).astype(np.float32)


def moved(operation, rank, sent):
    """Return the blocks that a rank receives of what each rank has sent; None where it receives nothing."""
    processes = len(sent)
    result = neighbours(rank, processes)
    match operation.removeprefix("neighbor_").rstrip("vw") if operation != "barrier" else "barrier":
        case "barrier":
            return None
        case "bcast" | "bcast_binary_tree" | "bcast_linear":
            return sent[0][:1] if rank else None
        case "gather":
            return None if rank else np.stack([blocks[0] for blocks in sent])
        case "scatter":
            return sent[0][rank : rank + 1]
        case "allgather" if operation.startswith("neighbor"):
            return np.stack([sent[other][0] for other in result])
        case "alltoall" if operation.startswith("neighbor"):
            # What a process sends forwards arrives from behind, even where both are the same process.
            return np.stack([sent[other][i ^ 1] for i, other in enumerate(result)])
        case "allgather":
            return np.stack([blocks[0] for blocks in sent])
        case "alltoall":
            return np.stack([blocks[rank] for blocks in sent])
    raise AssertionError(operation)


def as_open_mpi_moves_it(rank, sent):
    """Return what its non-blocking alltoalls move: what both ways come from one process, come in the order of sending.

    MPI 4.0 says that it should be as `moved` has it; Open MPI 5.0 has it so in the blocking forms alone.
    """
    result = neighbours(rank, len(sent))
    return np.stack([sent[other][i if result[i] == result[i ^ 1] else i ^ 1] for i, other in enumerate(result)])


def reduced(operation, rank, sent, combine):
    """Return the block that a rank receives of a reduction; None where it is undefined."""
    match operation:
        case "reduce":
            return None if rank else combine([blocks[0] for blocks in sent])
        case "allreduce":
            return combine([blocks[0] for blocks in sent])
        case "scan":
            return combine([blocks[0] for blocks in sent[: rank + 1]])
        case "exscan":
            return combine([blocks[0] for blocks in sent[:rank]]) if rank else None
    assert operation in {"reduce_scatter_block", "reduce_scatter"}
    return combine([blocks[rank] for blocks in sent])


def flat_bytes(blocks):
    return np.empty(0, np.uint8) if blocks is None else np.ascontiguousarray(blocks).reshape(-1).view(np.uint8)


def is_reduction(operation):
    return "reduce" in operation or "scan" in operation


def holds(operation, size, mode, comm=COMM):
    """Carry an operation out and compare what came with what should; the send buffer stays as it is."""
    rank, processes = comm.rank, comm.size
    floats = is_reduction(operation) and size % 4 == 0
    make = numbers_of if floats else bytes_of
    sent = [make(index, size, processes) for index in range(processes)]
    room = blocks_there(processes) * size
    send, receive = allocate(room, "never"), allocate(room, "never")
    send[:room] = sent[rank].reshape(-1).view(np.uint8)
    receive[:] = UNTOUCHED
    run(operation, size, send, receive, comm, mode)
    if not is_reduction(operation):
        allowed = [moved(operation, rank, sent)]
    else:
        allowed = [reduced(operation, rank, sent, sum if floats else np.bitwise_or.reduce)]
    if OPEN_MPI and mode != "blocking" and operation.startswith("neighbor_alltoall"):
        allowed.append(as_open_mpi_moves_it(rank, sent))
    allowed = [flat_bytes(index) for index in allowed]
    came = receive[: allowed[0].size]
    assert (send[:room] == sent[rank].reshape(-1).view(np.uint8)).all()
    assert any((came == index).all() for index in allowed)
    if came.size or not is_reduction(operation):  # else MPI may have used it
        assert (receive[came.size :] == UNTOUCHED).all()


@pytest.mark.parallel([1, 2, 4])
@EVERY_FORM
@pytest.mark.parametrize("size", [0, 4, 1001, 20_000])
def test_every_form_moves_what_mpi_says(operation, mode, size):
    holds(operation, size, mode)


@pytest.mark.parallel(4)
@EVERY_FORM
def test_every_form_is_right_on_the_first_three_of_four_ranks(operation, mode):
    first = COMM.Split(COMM.rank < 3, COMM.rank)
    if COMM.rank < 3:
        holds(operation, 128, mode, first)
    first.Free()


@pytest.mark.parallel([1, 2, 4])
def test_forms_with_counts_do_what_those_without_do():
    size, room = 24, blocks_there(COMM.size) * 24
    for operation, with_counts in (
        ("gather", "gatherv"),
        ("scatter", "scatterv"),
        ("allgather", "allgatherv"),
        ("alltoall", "alltoallv"),
        ("alltoall", "alltoallw"),
        ("neighbor_allgather", "neighbor_allgatherv"),
        ("neighbor_alltoall", "neighbor_alltoallw"),
    ):
        received = []
        for name in (operation, with_counts):
            send, receive = allocate(room, "never"), allocate(room, "never")
            send[:] = bytes_of(COMM.rank, size, COMM.size).reshape(-1)
            run(name, size, send, receive)
            received.append(receive)
        assert (received[0] == received[1]).all()


@pytest.mark.parallel([2, 4])
@EVERY_FORM
def test_many_repetitions_in_a_row_leave_nothing_behind(operation, mode):
    """Neither messages that meet those of other traffic, nor communicators, of which there is a limited number."""
    room = blocks_there(COMM.size) * 8
    send, receive = allocate(room, "never"), allocate(room, "never")
    for _ in range(30):
        run(operation, 8, send, receive, mode=mode, repetitions=3)
    assert not COMM.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG)


@pytest.mark.parallel([1, 2, 4])
def test_an_overlapped_operation_takes_at_least_its_delay():
    send, receive = allocate(64, "never"), allocate(64, "never")
    arguments = (COMM, "allreduce", send, receive, 8, 5, processor_clock.COUNTER, "overlapped")
    for delay in (1, 1_000_000):
        assert (collective.collective(*arguments, delay) >= delay).all()


@pytest.mark.parallel([1, 2, 4])
def test_what_has_no_such_form_is_refused():
    send, receive = allocate(64, "never"), allocate(64, "never")
    for operation in BY_HAND:
        with pytest.raises(ValueError, match="no non-blocking form"):
            run(operation, 8, send, receive, mode="non-blocking")
    with pytest.raises(ValueError, match="unknown mode 'buffered'"):
        run("bcast", 8, send, receive, mode="buffered")


@pytest.mark.parallel([1, 2, 4])
@pytest.mark.parametrize("operation", CollectiveName.__args__)
def test_buffers_that_the_kernel_has_room_for_are_enough_and_no_smaller_ones_are(operation):
    from commmodel.bench.kernels import buffer_bytes

    if operation == "barrier":
        return
    room = buffer_bytes([Collective(operation, 8, COMM.size)])
    run(operation, 8, *(allocate(entry, "never") for entry in room))
    with pytest.raises(ValueError, match="do not fit buffers"):
        run(operation, 8, allocate(7, "never"), allocate(room[1], "never"))
    with pytest.raises(ValueError, match="do not fit buffers"):
        run(operation, 8, allocate(room[0], "never"), allocate(7, "never"))


@pytest.mark.parallel(1)
def test_places_that_an_int_does_not_count_are_refused():
    size = 1 << 30
    send, receive = np.empty(size, dtype=np.uint8), np.empty(4 * size, dtype=np.uint8)  # never touched
    with pytest.raises(ValueError, match="the place of the last of 4 blocks of 1073741824 bytes is more than an int"):
        run("neighbor_allgatherv", size, send, receive)
