"""The flow engine: times that the peer prints, modes of messages, overheads, and who gets which message."""

import dataclasses

import msgspec
import numpy as np
import pytest
from support.engine_programs import (
    BANDWIDTH,
    LATENCY,
    WAITALL,
    WAITALL_NAMED,
    compute,
    flat,
    irecv,
    isend,
    mark,
    program,
    recv,
    ring,
    send,
    shifted,
    test,
    wait,
)

from commmodel.errors import InputError
from commmodel.simulate import OPERATION, SMPI, Code, Network, Program, fluid, run
from commmodel.simulate.network import Factor, Overhead
from commmodel.simulate.states import State

test.__test__ = False
FLIGHT = 2 * LATENCY
ASYNCHRONOUS = Network("asynchronous", eager_limit=1e9)
SYNCHRONOUS = Network("synchronous", eager_limit=-1, detached_limit=-1)


def seconds_of(size):
    """Return how long a message takes that has two links for itself."""
    return FLIGHT + size / BANDWIDTH


def marks_of(outcome, rank):
    return outcome.marks["time"][outcome.marks["rank"] == rank].tolist()


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, 6.059771916e-05),
        (1000, 8.227598529e-05),
        (1411, 6.707100140e-05),
        (50000, 6.780128555e-04),
        (102400, 1.220290487e-03),
        (4194304, 3.601931334e-02),
    ],
)
def test_one_message_takes_as_long_as_in_smpi(size, expected):
    outcome = run(program([send(1, size)], [recv(0, size)]), SMPI, flat(2))
    assert outcome.seconds == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("processes", [2, 5])
@pytest.mark.parametrize(
    ("size", "limiter", "expected"),
    [
        (102400, None, 1.263839612e-03),
        (4194304, None, 3.780281360e-02),
        (102400, 187.5e6, 1.580327082e-03),
        (4194304, 187.5e6, 5.029895907e-02),
    ],
)
def test_both_directions_at_once_share_as_in_smpi(processes, size, limiter, expected):
    # The platform with limiters has a backbone of 1 µs, on which flows do not meet.
    latency = LATENCY if limiter is None else LATENCY + 0.5e-6
    outcome = run(ring(processes, size), SMPI, flat(processes, limiter=limiter, latency=latency))
    assert outcome.ends == pytest.approx(np.full(processes, expected), rel=1e-9)


def test_two_messages_to_one_host_share_its_link():
    outcome = run(program([irecv(1), irecv(2), WAITALL], [send(0, 1e6)], [send(0, 1e6)]), fluid(), flat(3))
    assert outcome.seconds == pytest.approx(FLIGHT + 2e6 / BANDWIDTH)
    assert outcome.link_bytes.sum() == 4e6


def test_latency_and_bandwidth_take_the_factors_of_the_size_on_the_wire():
    network = Network(
        "factors",
        header=100,
        eager_limit=1e9,
        latency_factors=(Factor(1100, 2.0), Factor(np.inf, 3.0)),
        bandwidth_factors=(Factor(1100, 0.5), Factor(np.inf, 0.25)),
    )
    for size, latency, bandwidth in ((1000, 2, 0.5), (1001, 3, 0.25)):
        expected = latency * FLIGHT + (size + 100) / (bandwidth * BANDWIDTH)
        assert run(program([send(1, size)], [recv(0)]), network, flat(2)).seconds == pytest.approx(expected)


def test_window_bounds_the_rate():
    network = Network("window", window=1000)
    outcome = run(program([send(1, 1e5)], [recv(0)]), network, flat(2))
    assert outcome.seconds == pytest.approx(FLIGHT + 1e5 / (1000 / (2 * FLIGHT)))


@pytest.mark.parametrize(
    ("network", "sender", "receiver"),
    [
        (ASYNCHRONOUS, 0.0, 1.0),  # the message is there when its receive is posted
        (fluid(1e9), 0.0, 1.0 + seconds_of(1e5)),
        (SYNCHRONOUS, 1.0 + seconds_of(1e5), 1.0 + seconds_of(1e5)),
    ],
)
def test_the_mode_says_when_a_message_leaves_and_who_waits(network, sender, receiver):
    for call in ([send(1, 1e5)], [isend(1, 1e5, request=3), wait(3)], [isend(1, 1e5), WAITALL]):
        outcome = run(program(call, [compute(1.0), recv(0)]), network, flat(2))
        assert outcome.ends.tolist() == pytest.approx([sender, receiver])


def test_limits_of_modes_are_inclusive():
    network = Network("limits", eager_limit=100, detached_limit=200)
    late = 1.0
    for size, sender, receiver in (
        (100, 0.0, late),
        (101, 0.0, late + seconds_of(101)),
        (200, 0.0, late + seconds_of(200)),
        (201, late + seconds_of(201), late + seconds_of(201)),
    ):
        outcome = run(program([send(1, size)], [compute(late), recv(0)]), network, flat(2))
        assert outcome.ends.tolist() == pytest.approx([sender, receiver])


OVERHEADS = Network(
    "overheads",
    eager_limit=1e9,
    send=(Overhead(10, 1.0), Overhead(np.inf, 2.0, 0.01)),
    isend=(Overhead(np.inf, 5.0),),
    receive=(Overhead(np.inf, 7.0, 0.1),),
)


@pytest.mark.parametrize("leaves_after", [True, False])
def test_overheads_keep_both_processors_busy(leaves_after):
    network = msgspec.structs.replace(OVERHEADS, leaves_after_overhead=leaves_after)
    for call, entry in (([send(1, 10)], 1.0), ([send(1, 100)], 3.0), ([isend(1, 10), WAITALL], 5.0)):
        size = call[0][4]
        outcome = run(program(call, [recv(0)]), network, flat(2))
        value = seconds_of(size) + (entry if leaves_after else 0.0)
        assert outcome.ends.tolist() == pytest.approx([entry, value + 7 + 0.1 * size])
        assert outcome.spent[0, State.SEND] == pytest.approx(entry)
        waits = entry if leaves_after else 0.0  # until the message leaves
        assert outcome.spent[1, State.WAIT] == pytest.approx(waits)
        assert outcome.spent[1, State.RECEIVE] == pytest.approx(outcome.ends[1] - waits)


def test_synchronous_messages_have_no_receive_overhead_and_no_send_overhead_but_of_isend():
    network = msgspec.structs.replace(OVERHEADS, eager_limit=-1, detached_limit=-1)
    assert run(program([send(1, 10)], [recv(0)]), network, flat(2)).seconds == pytest.approx(seconds_of(10))
    outcome = run(program([isend(1, 10), WAITALL], [recv(0)]), network, flat(2))
    assert outcome.seconds == pytest.approx(5 + seconds_of(10))


@pytest.mark.parametrize("model_name", [True, False])
def test_receive_overheads_of_a_waitall_follow_one_another(model_name):
    requests = range(3) if model_name else [-1] * 3
    receiver = [*(irecv(0, request=request) for request in requests), WAITALL_NAMED if model_name else WAITALL]
    network = msgspec.structs.replace(OVERHEADS, send=(), receive=(Overhead(np.inf, 7.0),))
    # The first two come at once and keep the processor busy for 14 s; the third comes in that time.
    outcome = run(program([send(1, 0), send(1, 0), compute(10.0), send(1, 0)], receiver), network, flat(2))
    assert outcome.ends[1] == pytest.approx(FLIGHT + 21)
    assert outcome.spent[1, State.RECEIVE] == pytest.approx(21)
    assert outcome.spent[1, State.TRANSFER] == pytest.approx(FLIGHT)
    # And here after it.
    outcome = run(program([send(1, 0), send(1, 0), compute(20.0), send(1, 0)], receiver), network, flat(2))
    assert outcome.ends[1] == pytest.approx(20 + FLIGHT + 7)


def test_a_wait_takes_its_own_request_only():
    ranks = [irecv(1, request=0), irecv(2, request=1), wait(1), mark(1), wait(0), mark(0), wait(0), mark(2)]
    outcome = run(program(ranks, [compute(2.0), send(0, 0)], [compute(1.0), send(0, 0)]), ASYNCHRONOUS, flat(3))
    assert marks_of(outcome, 0) == pytest.approx([1 + FLIGHT, 2 + FLIGHT, 2 + FLIGHT])


def test_a_waitall_of_unnamed_requests_leaves_named_ones():
    ranks = [irecv(1, request=0), irecv(2), WAITALL, mark(0), WAITALL_NAMED, mark(1)]
    outcome = run(program(ranks, [compute(2.0), send(0, 0)], [compute(1.0), send(0, 0)]), ASYNCHRONOUS, flat(3))
    assert marks_of(outcome, 0) == pytest.approx([1 + FLIGHT, 2 + FLIGHT])


def test_a_test_goes_on_and_takes_what_is_done():
    ranks = [irecv(1, request=0), test(0), mark(0), compute(2.0), test(0), mark(1), wait(0), irecv(1, request=0)]
    outcome = run(program(ranks, [compute(1.0), send(0, 0)]), msgspec.structs.replace(OVERHEADS, send=()), flat(2))
    assert marks_of(outcome, 0) == pytest.approx([0, 2 + 7])  # the overhead of the receive is spent in the test


def received_sizes(outcome, receiver=0):
    """Return sizes of what blocking receives got, in order."""
    got = outcome.intervals[(outcome.intervals["rank"] == receiver) & (outcome.intervals["state"] == State.RECEIVE)]
    return got["size"].tolist()


SLOW = msgspec.structs.replace(ASYNCHRONOUS, receive=(Overhead(np.inf, 1.0),))
"""Each receive takes a second, so that it can be seen."""


@pytest.mark.parametrize("late", [0.0, 3.0])
def test_messages_of_a_tag_come_in_order_of_sending_and_others_pass_them(late):
    receiver = [compute(late), recv(1, tag=2), recv(1, tag=1), recv(1, tag=2), recv(1, tag=1)]
    sender = [send(0, 11, tag=1), send(0, 21, tag=2), send(0, 12, tag=1), send(0, 22, tag=2)]
    outcome = run(program(receiver, sender), SLOW, flat(2), record=True)
    assert received_sizes(outcome) == [21, 11, 22, 12]


def test_any_source_and_any_tag_take_the_message_sent_first():
    senders = [[compute(0.1 * rank), send(0, rank, tag=9 - rank)] for rank in (3, 1, 2)]
    outcome = run(program([compute(9.0), *[recv(-1, tag=-1)] * 3], *senders), SLOW, flat(4), record=True)
    assert received_sizes(outcome) == [1, 2, 3]
    chosen = [recv(-1, tag=7), recv(1, tag=-1), recv(2, tag=8)]
    outcome = run(program([compute(9.0), *chosen], *senders), SLOW, flat(4), record=True)
    assert received_sizes(outcome) == [2, 3, 1]


def test_receives_get_messages_in_order_of_posting_wildcards_among_them():
    receiver = [irecv(1, tag=5, request=0), irecv(-1, tag=-1, request=1), irecv(1, tag=5, request=2)]
    receiver += [wait(0), mark(0), wait(1), mark(1), wait(2), mark(2)]
    sender = [compute(1.0), send(0, 0, tag=5), compute(1.0), send(0, 0, tag=5), compute(1.0), send(0, 0, tag=5)]
    outcome = run(program(receiver, sender), ASYNCHRONOUS, flat(2))
    assert marks_of(outcome, 0) == pytest.approx([1 + FLIGHT, 2 + FLIGHT, 3 + FLIGHT])


def test_tags_of_collectives_match_no_wildcard():
    receiver = [recv(-1, tag=-1), recv(-1, tag=-3), recv(1, tag=-2)]
    sender = [send(0, 1, tag=-2), send(0, 2, tag=-3), send(0, 3, tag=4)]
    outcome = run(program(receiver, sender), SLOW, flat(2), record=True)
    assert received_sizes(outcome) == [3, 2, 1]


def test_messages_to_oneself():
    assert run(program([irecv(0), send(0, 1e5), WAITALL]), SYNCHRONOUS, flat(1)).seconds >= 0
    assert not run(program([send(0, 10), recv(0)]), ASYNCHRONOUS, flat(1)).blocked
    (hangs,) = run(program([send(0, 10), recv(0)]), SYNCHRONOUS, flat(1), deadlock="return").blocked
    assert str(hangs) == "rank 0 waits in MPI_Send until rank 0 receives 10 bytes with tag 0"


def test_ranks_may_share_hosts():
    apart, together = (run(ring(4, 1e6), fluid(), flat(4), hosts=hosts) for hosts in ([0, 1, 2, 3], [0, 0, 1, 1]))
    assert apart.seconds == pytest.approx(seconds_of(1e6))
    assert together.seconds == pytest.approx(seconds_of(2e6))  # a host without loopback talks to itself over its links
    with pytest.raises(InputError, match="rank 1 is on host 2: there are 2 hosts"):
        run(program([], []), fluid(), flat(2), hosts=[0, 2])


def test_what_a_rank_spends_adds_up_to_its_end_and_to_its_intervals():
    sizes = np.random.default_rng(1).integers(0, 200000, (6, 8))
    outcome = run(shifted(8, sizes), SMPI, flat(8), record=True)
    assert outcome.spent.sum(axis=1) == pytest.approx(outcome.ends)
    for rank in range(8):
        interval = outcome.intervals[outcome.intervals["rank"] == rank]
        assert (interval["end"] - interval["start"]).sum() == pytest.approx(outcome.ends[rank])
        assert (interval["start"][1:] == interval["end"][:-1]).all()
    assert (outcome.transfers["posted"] <= outcome.transfers["left"]).all()
    assert (outcome.transfers["left"] < outcome.transfers["arrived"]).all()
    assert len(outcome.transfers) == outcome.messages == 48
    assert outcome.link_bytes.sum() == 2 * (sizes.sum() + 48 * SMPI.header)


def test_recording_changes_nothing():
    sizes = np.random.default_rng(2).integers(0, 200000, (6, 8))
    plain, recorded = (dataclasses.asdict(run(shifted(8, sizes), SMPI, flat(8), record=on)) for on in (False, True))
    for name in ("ends", "spent", "link_bytes"):
        assert (plain[name] == recorded[name]).all()


def test_messages_that_nobody_receives_are_counted():
    assert run(program([send(1, 8), send(1, 8)], [recv(0)]), ASYNCHRONOUS, flat(2)).unmatched_messages == 1


def test_an_empty_program_takes_no_time():
    outcome = run(Program(np.empty(0, OPERATION), np.zeros(4, np.int64)), fluid(), flat(4))
    assert outcome.ends.tolist() == [0, 0, 0]
    assert outcome.messages == outcome.events == 0


def test_operations_that_take_no_time_need_no_event():
    outcome = run(program([compute(0.0), mark(1), (Code.SLEEP, 0, 0, -1, 0.5), WAITALL, mark(2)]), fluid(), flat(1))
    assert outcome.events == 1
    assert outcome.spent[0, State.SLEEP] == 0.5
    assert outcome.marks["number"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("network", "ends"),
    [
        (Network("rendezvous"), [11.0, 11.0]),
        (Network("unexpected", leaves_unexpected=True), [10.0, 10.0]),
        (Network("unexpected", leaves_unexpected=True, send_buffer=BANDWIDTH), [9.0, 10.0]),
    ],
)
def test_a_message_that_leaves_unexpected_needs_no_receive_but_its_sender_waits(network, ends):
    """The transfer takes 10 s, and rank 1 comes to its receive after the first of these."""
    size = 10 * BANDWIDTH
    outcome = run(program([send(1, size)], [compute(1.0), recv(0, size)]), network, flat(2))
    assert (outcome.ends - FLIGHT).tolist() == pytest.approx(ends)


def test_an_unexpected_message_that_has_come_is_received_at_once():
    unexpected = Network("unexpected", leaves_unexpected=True)
    outcome = run(program([send(1, BANDWIDTH)], [compute(5.0), recv(0, BANDWIDTH)]), unexpected, flat(2))
    assert outcome.ends.tolist() == pytest.approx([FLIGHT + 1, 5.0])


IN_TURN = Network("in turn", eager_limit=1e9, send_buffer=100_000)


@pytest.mark.parametrize(("size", "shares"), [(100_000, [1, 2, 3]), (100_001, [3, 3, 3])])
def test_messages_that_a_socket_takes_whole_leave_their_host_in_turn(size, shares):
    """The others share its link."""
    receive = [recv(0, size)]
    outcome = run(program([isend(1, size), isend(2, size), send(3, size)], receive, receive, receive), IN_TURN, flat(4))
    assert outcome.ends[1:].tolist() == pytest.approx([FLIGHT + share * size / BANDWIDTH for share in shares])


def test_ranks_of_a_host_stand_in_one_line_but_not_for_one_another():
    size = 50_000
    program_of_four = program(
        [isend(2, size), isend(1, size)], [isend(3, size), recv(0, size)], [recv(0, size)], [recv(1, size)]
    )
    value = 1e9
    hosts = flat(3, cores=2, loopback=(value, 0.0))
    outcome = run(program_of_four, IN_TURN, hosts, hosts=[0, 0, 1, 2])
    assert outcome.ends[1] == pytest.approx(size / value)
    assert outcome.ends[2:].tolist() == pytest.approx([seconds_of(size), FLIGHT + 2 * size / BANDWIDTH])


def test_a_message_that_is_held_up_on_its_way_does_not_hold_up_the_next_of_its_host():
    """Ranks 2 and 3 send to one host, rank 3 then to another: in the half of its link that the first leaves free."""
    size = 50_000
    outcome = run(
        program([recv(2, size), recv(3, size)], [recv(3, size)], [isend(0, size)], [isend(0, size), isend(1, size)]),
        IN_TURN,
        flat(4),
    )
    assert outcome.ends[:2].tolist() == pytest.approx([FLIGHT + 2 * size / BANDWIDTH, FLIGHT + 2.5 * size / BANDWIDTH])


def test_of_messages_to_one_host_the_socket_takes_what_it_holds_and_the_rest_shares():
    """Two of 50 kB stand in line. The third shares the link with them from the begin, and delays the first."""
    size = 50_000
    first = [isend(1, size), isend(1, size), isend(1, size), isend(2, size)]
    outcome = run(program(first, [recv(0, size)] * 3, [recv(0, size)]), IN_TURN, flat(3))
    assert outcome.seconds == pytest.approx(FLIGHT + 4 * size / BANDWIDTH)
    two = run(program(first[:2], [recv(0, size), mark(0), recv(0, size)], []), IN_TURN, flat(3))
    assert marks_of(two, 1) == pytest.approx([FLIGHT + size / BANDWIDTH])
    three = run(program(first[:3], [recv(0, size), mark(0), recv(0, size), recv(0, size)], []), IN_TURN, flat(3))
    assert marks_of(three, 1)[0] > FLIGHT + 1.4 * size / BANDWIDTH
