"""The loops of common starts on real MPI: who is late, what is returned, and that operations are really carried out."""

import numpy as np
import pytest
from mpi4py import MPI

from commmodel._core.clock import processor_clock
from commmodel._core.mpi import collective
from commmodel.bench.buffers import allocate
from commmodel.bench.clock import choose, kind_number
from commmodel.bench.kernels import synchronisation_scheme

COMM = MPI.COMM_WORLD
CLOCK = choose()
LONG = 0.2  # s
NEVER = 1 << 60  # ticks
CAME, BEGAN, ENDED = (collective.LATE[name] for name in ("came", "began", "ended"))


def common_clock(ahead=0.0, slack=NEVER):
    """Return a clock that ranks of one host share, since they read the same one; this rank's may go ahead."""
    number = kind_number(CLOCK)
    origin = COMM.bcast(int(processor_clock.read_ticks(number, 1)[0]))
    patience = round(50e-6 * CLOCK.frequency)
    return collective.CommonClock(number, origin, 1 / CLOCK.frequency, ahead, patience, slack)


def unhurried(start, expected):
    """Return times, who was late, and how far the starts lay ahead: the least that all ranks met as expected.

    A busy machine may keep a rank from its processor for longer than some.
    """
    for ahead in (LONG, 5 * LONG, 25 * LONG, 125 * LONG):
        seconds, late = start(ahead)
        if COMM.allreduce((late == expected).all(), op=MPI.LAND):
            return seconds, late, ahead
    raise AssertionError(f"rank {COMM.rank}: {late}, not {expected}")


def buffers(size=8):
    send, receive = allocate(size * COMM.size, "never"), allocate(size * COMM.size, "never")
    send[:] = COMM.rank + 1
    receive[:] = 255
    return send, receive


@pytest.mark.parallel([1, 2, 4])
def test_both_sides_mean_the_same_by_begun_late():
    assert synchronisation_scheme._BEGAN_LATE == BEGAN


@pytest.mark.parallel([1, 2, 4])
def test_with_time_enough_nobody_is_late_and_all_is_done():
    send, receive = buffers()
    seconds, late, _ = unhurried(
        lambda ahead: collective.announced(COMM, "allgather", send, receive, 8, 3, common_clock(), ahead), 0
    )
    assert seconds.dtype == np.float64
    assert late.dtype == np.uint8
    assert seconds.shape == late.shape == (3,)
    assert (seconds > 0).all()
    assert (receive.reshape(COMM.size, 8) == np.arange(1, COMM.size + 1)[:, None]).all()


@pytest.mark.parallel([1, 2, 4])
def test_windows_long_enough_are_met_and_follow_each_other():
    send, receive = buffers()
    begun = []

    def start(ahead):
        begun.append(MPI.Wtime())
        return collective.windowed(COMM, "bcast", send, receive, 8, 3, common_clock(), ahead, ahead)

    seconds, _, ahead = unhurried(start, 0)
    ended = MPI.Wtime()
    assert ended - COMM.allreduce(begun[-1], op=MPI.MIN) >= 2.9 * ahead  # this rank may have begun late
    assert (seconds > 0).all()
    assert ((send if COMM.rank == 0 else receive)[:8] == 1).all()


@pytest.mark.parallel([1, 2, 4])
def test_a_start_in_the_past_is_missed_by_all_and_the_operation_carried_out_all_the_same():
    send, receive = buffers()
    seconds, late = collective.announced(COMM, "allgather", send, receive, 8, 5, common_clock(), -LONG)
    assert (late == CAME).all()
    assert (seconds > LONG).all()
    assert (receive.reshape(COMM.size, 8) == np.arange(1, COMM.size + 1)[:, None]).all()


@pytest.mark.parallel([1, 2, 4])
def test_who_is_not_done_before_the_next_window_is_late():
    send, receive = buffers()

    def start(ahead):
        seconds, late = collective.windowed(COMM, "bcast", send, receive, 8, 4, common_clock(), ahead, 1e-9)
        assert (late & ENDED).all()
        return seconds, late & CAME

    unhurried(start, [0, CAME, CAME, CAME])


@pytest.mark.parallel([2, 4])
def test_a_rank_whose_clock_goes_ahead_is_late_and_only_that():
    wrong = COMM.rank == 1
    unhurried(
        lambda ahead: collective.announced(COMM, "barrier", *buffers(), 0, 3, common_clock(2 * ahead * wrong), ahead),
        CAME if wrong else 0,
    )


@pytest.mark.parallel([1, 2, 4])
def test_who_begins_after_the_slack_has_missed_the_start():
    unhurried(
        lambda ahead: collective.announced(COMM, "barrier", *buffers(), 0, 3, common_clock(slack=-NEVER), ahead), BEGAN
    )


@pytest.mark.parallel([1, 2])
@pytest.mark.parametrize("loop", ["announced", "windowed"])
def test_what_is_wrong_is_refused(loop):
    lengths = (LONG,) if loop == "announced" else (LONG, LONG)
    with pytest.raises(ValueError, match="unknown collective 'sing'"):
        getattr(collective, loop)(COMM, "sing", *buffers(), 8, 1, common_clock(), *lengths)
    with pytest.raises(ValueError, match="do not fit buffers"):
        getattr(collective, loop)(COMM, "bcast", *buffers(), 1 << 20, 1, common_clock(), *lengths)
    with pytest.raises(ValueError, match="takes more than 0 seconds"):
        collective.CommonClock(0, 0, 0.0, 0.0, 0, 0)


@pytest.mark.parallel(1)
@pytest.mark.parametrize("ticks", [0, 12345, 10**15, 2**63])
def test_ticks_and_seconds_are_each_others_inverse_near_the_origin(ticks):
    result = collective.CommonClock(0, 10**15, (1 + 1e-5) / 3e9, 4.5, 0, 0)
    assert result.seconds(10**15) == 4.5
    assert result.ticks(result.seconds(ticks)) == pytest.approx(ticks, rel=1e-15, abs=1)
