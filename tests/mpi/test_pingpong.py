"""The compiled loops on real MPI: right data, right counts, refusals; valid on any number of ranks."""

import numpy as np
import pytest
from mpi4py import MPI

from commmodel._core.clock import processor_clock
from commmodel._core.mpi import mpi_abi, pingpong
from commmodel.bench.buffers import allocate, available_memory

COMM = MPI.COMM_WORLD
LARGE = (2 << 30) + 5


def partner():
    """Return (takes part, peer, first): rank 2 i with rank 2 i + 1; an odd last rank has none."""
    peer = COMM.rank ^ 1
    return peer < COMM.size, peer, COMM.rank < peer


def filled(size):
    """Return a send buffer that tells its rank, and an empty receive buffer."""
    send, receive = allocate(size, "never"), allocate(size, "never")
    send[:] = (np.arange(send.size) + COMM.rank) % 251
    receive[:] = 255
    return send, receive


def expected(size, rank):
    return (np.arange(size) + rank) % 251


@pytest.mark.parallel([1, 2, 4])
def test_the_core_is_built_for_the_running_mpi():
    assert mpi_abi() == pingpong.MPI_ABI


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize("size", [0, 1, 8192, 100_000])
@pytest.mark.parametrize("loop", [pingpong.pingpong, pingpong.pairs])
@pytest.mark.parametrize("batch", [1, 3])
def test_round_trips_exchange_the_buffers(loop, size, batch):
    _, peer, first = partner()
    send, receive = filled(size)
    ticks = loop(COMM, peer, first, send, receive, size, 4, batch, processor_clock.COUNTER)
    assert ticks.shape == (4,)
    assert (ticks > 0).all()
    assert (receive[:size] == expected(size, peer)).all()
    assert (receive[size:] == 255).all()


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize(("size", "stride"), [(0, 0), (1, 64), (8192, 8192), (100_000, 100_032)])
@pytest.mark.parametrize("window", [1, 5])
def test_a_stream_brings_every_message_of_a_window_to_its_place(size, stride, window):
    _, peer, first = partner()
    send, receive = filled(window * stride)
    ticks = pingpong.stream(
        COMM, peer, first, send if first else receive, size, stride, window, 3, processor_clock.COUNTER
    )
    assert ticks.shape == (3,)
    assert (ticks > 0).all()
    places = receive[: window * stride].reshape(window, stride)
    if first:
        assert (places == 255).all()
    else:
        assert (places[:, :size] == expected(size, peer)).all()
        assert (places[:, size:] == 255).all()


@pytest.mark.parallel([2, 4])
def test_a_stream_into_one_buffer_needs_no_room_but_for_one_message():
    _, peer, first = partner()
    send, receive = filled(1000)
    pingpong.stream(COMM, peer, first, send if first else receive, 1000, 0, 64, 3, processor_clock.COUNTER)
    assert (receive[:1000] == (255 if first else expected(1000, peer))).all()


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize("size", [0, 1, 64, 8192, 100_000])
@pytest.mark.parametrize("loop", [pingpong.pingpong, pingpong.pairs])
@pytest.mark.parametrize("batch", [1, 3])
def test_a_touched_message_goes_there_and_back_and_is_written_by_each_rank_before_it_goes_on(loop, size, batch):
    _, peer, first = partner()
    send, receive = filled(size)
    sent_first = expected(size, min(COMM.rank, peer)).astype(np.uint8)
    ticks = loop(COMM, peer, first, send, receive, size, 4, batch, processor_clock.COUNTER, touched=True)
    assert (ticks > 0).all() == (first or size > 0)  # those of the peer are of its touching
    value = 2 * 4 * batch
    sent_first[::64] += np.uint8(value)
    assert (send[:size] == sent_first).all()
    assert (receive == 255).all()


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize("loop", [pingpong.ping_send, pingpong.ping_isend])
def test_a_touched_message_is_written_before_each_send(loop):
    _, peer, first = partner()
    send, receive = filled(1000)
    loop(COMM, peer, first, send if first else receive, 1000, 3, processor_clock.COUNTER, touched=True)
    result = expected(1000, min(COMM.rank, peer)).astype(np.uint8)
    result[::64] += 3
    assert ((send if first else receive)[:1000] == result).all()


@pytest.mark.parallel([2, 4])
def test_messages_of_a_touched_stream_leave_from_places_of_their_own():
    _, peer, first = partner()
    send, receive = filled(5 * 128)
    buffer = send if first else receive
    pingpong.stream(COMM, peer, first, buffer, 100, 128, 5, 3, processor_clock.COUNTER, touched=True)
    sent = expected(5 * 128, min(COMM.rank, peer)).astype(np.uint8)
    sent[: 4 * 128 + 100 : 64] += 3
    assert (buffer.reshape(5, 128)[:, :100] == sent.reshape(5, 128)[:, :100]).all()


@pytest.mark.parallel([1, 2, 4])
@pytest.mark.parametrize(
    ("size", "stride", "window", "problem"),
    [
        (8, 8, 0, "window of 0 messages"),
        (8, 4, 2, "4 bytes apart, cannot be sent"),
        (-1, 8, 1, "-1 bytes does not fit"),
        (65, 65, 1, "does not fit a buffer of 64 bytes"),
        (8, 32, 3, "window of 3 messages, 32 bytes apart, does not fit a buffer of 64 bytes"),
    ],
)
def test_a_window_that_cannot_be_is_refused_before_anything_is_sent(size, stride, window, problem):
    with pytest.raises(ValueError, match=problem):
        pingpong.stream(COMM, 0, False, allocate(64, "never"), size, stride, window, 1, processor_clock.COUNTER)


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize("size", [0, 1, 8192, 100_000])
def test_both_halves_of_a_ping_take_time_and_move_the_message(size):
    _, peer, first = partner()
    send, receive = filled(size)
    buffer = send if first else receive
    for ticks in (
        pingpong.ping_send(COMM, peer, first, buffer, size, 3, processor_clock.CLOCK_GETTIME),
        pingpong.ping_isend(COMM, peer, first, buffer, size, 3, processor_clock.CLOCK_GETTIME),
        pingpong.ping_receive(COMM, peer, first, buffer, size, 3, 1000, processor_clock.CLOCK_GETTIME),
        pingpong.ping_ireceive(COMM, peer, first, buffer, size, 3, 1000, processor_clock.CLOCK_GETTIME),
    ):
        assert ticks.shape == (3,)
        assert (ticks > 0).all()
    if not first:
        assert (buffer[:size] == expected(size, peer)).all()


@pytest.mark.parallel(2)
def test_a_large_send_waits_for_its_receiver_and_a_small_one_does_not():
    """Against ever longer delays: a busy machine may keep a rank from its processor for longer than some."""
    _, peer, first = partner()
    buffer, _ = filled(8 << 20)
    for delay in (300_000_000, 2_000_000_000, 15_000_000_000):
        small, large = (
            pingpong.delayed_send(COMM, peer, first, buffer, size, delay, processor_clock.CLOCK_GETTIME)
            for size in (1, 8 << 20)
        )
        if COMM.allreduce(not first or small < delay / 2 < large, op=MPI.LAND):
            return
    pytest.fail(f"after {delay} ns, waited for {small} and {large} ns")


@pytest.mark.parallel(2)
def test_a_message_above_two_gibibytes_arrives_whole():
    enough = (available_memory() or 0) > 4 * LARGE + (1 << 30)
    if not COMM.allreduce(enough, op=MPI.LAND):
        pytest.skip("needs 9 GiB of free memory")
    _, peer, first = partner()
    buffer = allocate(LARGE, "always")
    marks = [0, (1 << 30) - 1, 1 << 30, (1 << 31) - 1, 1 << 31, LARGE - 1]
    if first:
        buffer[marks] = np.arange(101, 107, dtype=np.uint8)
    pingpong.pingpong(COMM, peer, first, buffer, buffer, LARGE, 1, 1, processor_clock.COUNTER)
    assert buffer[marks].tolist() == list(range(101, 107))


@pytest.mark.parallel([1, 2, 4])
def test_a_message_larger_than_its_buffer_is_refused_before_anything_is_sent():
    buffer = allocate(8, "never")
    with pytest.raises(ValueError, match="9 bytes does not fit a buffer of 8 bytes"):
        pingpong.pingpong(COMM, 0, True, buffer, buffer, 9, 1, 1, processor_clock.COUNTER)
    with pytest.raises(ValueError, match="-1 bytes"):
        pingpong.ping_send(COMM, 0, True, buffer, -1, 1, processor_clock.COUNTER)


@pytest.mark.parallel([1, 2, 4])
def test_an_error_of_mpi_becomes_an_exception():
    duplicate = COMM.Dup()
    duplicate.Set_errhandler(MPI.ERRORS_RETURN)
    buffer = allocate(8, "never")
    with pytest.raises(MPI.Exception) as caught:
        pingpong.pingpong(duplicate, COMM.size + 7, True, buffer, buffer, 8, 1, 1, processor_clock.COUNTER)
    assert caught.value.Get_error_class() == MPI.ERR_RANK
    with pytest.raises(MPI.Exception) as caught:
        pingpong.stream(duplicate, COMM.size + 7, False, buffer, 8, 8, 1, 1, processor_clock.COUNTER)
    assert caught.value.Get_error_class() == MPI.ERR_RANK
    duplicate.Free()
