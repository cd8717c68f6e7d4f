"""Messages in the order of their connection: requests, answers and data of exchanges both ways."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.engine_programs import (
    BANDWIDTH,
    LATENCY,
    WAITALL,
    compute,
    flat,
    irecv,
    isend,
    program,
    recv,
    send,
    test,
    wait,
)

from commmodel.errors import InputError
from commmodel.simulate import Code, Network, run
from commmodel.simulate.network import Factor

test.__test__ = False
TRIP = 2 * LATENCY
"""Of a request or an answer."""
WHOLE = 3 * TRIP
"""Latency of a message that awaits its receive."""
SIZE = 1 * BANDWIDTH
"""Takes a second."""
SMALL = 1000
ORDERED = Network(
    "ordered",
    eager_limit=SMALL,
    detached_limit=SMALL,
    answers_in_order=True,
    latency_factors=(Factor(SMALL, 1.0), Factor(np.inf, 3.0)),
)
PLAIN = msgspec.structs.replace(ORDERED, answers_in_order=False)
CLOSE = 1e-9


def exchange(seconds, in_mpi, network=ORDERED, messages=1):
    """Return the end of an exchange of two ranks, of which the second sends after a pause.

    In MPI it waits for a message of a third rank meanwhile.
    """
    receives = [(Code.IRECV, 1, tag, -1, SIZE) for tag in range(messages)]
    first = [*receives, *(isend(1, SIZE, tag) for tag in range(messages)), WAITALL]
    second = [(code, 0, *rest) for code, _, *rest in first]
    second.insert(messages, recv(2, 0) if in_mpi else compute(seconds))
    return run(program(first, second, [compute(seconds), send(1, 0)]), network, flat(3)).seconds


@pytest.mark.parametrize("network", [ORDERED, PLAIN])
def test_a_message_takes_as_long_as_without_order(network):
    outcome = run(program([send(1, SIZE)], [recv(0, SIZE)]), network, flat(2))
    assert outcome.ends.tolist() == pytest.approx([WHOLE + 1, WHOLE + 1], abs=CLOSE)


@pytest.mark.parametrize("messages", [1, 2])
def test_ranks_that_ask_at_once_send_at_once(messages):
    assert exchange(0.5 * TRIP, False, messages=messages) == pytest.approx(messages + WHOLE, abs=TRIP)


@pytest.mark.parametrize("messages", [1, 2])
def test_the_answer_of_a_rank_that_sends_waits_for_its_data(messages):
    """The second rank has answered before it asks, since it spent the pause in MPI."""
    assert exchange(2 * TRIP, True, messages=messages) == pytest.approx(2 * messages + WHOLE, abs=4 * TRIP)
    assert exchange(2 * TRIP, True, PLAIN, messages) == pytest.approx(messages + WHOLE, abs=4 * TRIP)


@pytest.mark.parametrize("seconds", [2 * TRIP, 0.25, 3.0])
def test_a_rank_that_computes_reads_no_request(seconds):
    """So it asks before it answers, and both send at once."""
    assert exchange(seconds, False) == pytest.approx(seconds + 1 + WHOLE, abs=4 * TRIP)


def test_a_rank_that_tests_reads_what_has_come():
    first = [irecv(1, SIZE), isend(1, SIZE), WAITALL, send(1, 8, 9)]
    second = [
        irecv(0, SIZE),
        irecv(0, 8, 9, 7),
        compute(0.25),
        test(7),
        compute(2 * TRIP),
        isend(0, SIZE),
        WAITALL,
        wait(7),
    ]
    assert run(program(first, second), ORDERED, flat(2)).seconds == pytest.approx(2.25, abs=8 * TRIP)


@pytest.mark.parametrize(("network", "seconds"), [(ORDERED, 1 + WHOLE), (PLAIN, 0.1 + 2 * TRIP)])
def test_a_small_message_waits_behind_data(network, seconds):
    sender = [isend(1, SIZE), recv(2, 0), send(1, 8, 1), WAITALL]
    timer = [compute(0.1), send(0, 0)]
    marked = [irecv(0, SIZE), recv(0, 8, 1), (Code.MARK, 0, 0, 0, 1), WAITALL]
    marks = run(program(sender, marked, timer), network, flat(3)).marks["time"]
    assert marks.tolist() == pytest.approx([seconds], abs=TRIP)


def test_the_end_of_a_message_goes_behind_what_waits_already():
    """The sender may go on, yet the receiver has both messages when the second has come."""
    sends = [isend(1, SIZE, 0, 1), isend(1, SIZE, 1, 2), wait(1), (Code.MARK, 0, 0, 0, 1), wait(2)]
    receives = [irecv(0, SIZE, 0, 1), irecv(0, SIZE, 1, 2), wait(1), (Code.MARK, 0, 0, 0, 1), wait(2)]
    network = msgspec.structs.replace(ORDERED, send_buffer=SIZE / 2)
    marks = run(program(sends, receives), network, flat(2)).marks["time"]
    assert sorted(marks.tolist()) == pytest.approx([0.5, 2.0], abs=4 * TRIP)


def test_messages_to_others_go_beside():
    outcome = run(
        program([isend(1, SIZE), isend(2, SIZE), WAITALL], [recv(0, SIZE)], [recv(0, SIZE)]), ORDERED, flat(3)
    )
    assert outcome.ends[1:].tolist() == pytest.approx([2 + WHOLE, 2 + WHOLE], abs=CLOSE)


def test_ranks_of_a_host_keep_no_order():
    first, second = [irecv(1, SIZE), isend(1, SIZE), WAITALL], [recv(0, SIZE), send(0, SIZE)]
    within = flat(1, cores=2, loopback=(BANDWIDTH, LATENCY))
    ends = [run(program(first, second), network, within, hosts=[0, 0]).ends.tolist() for network in (ORDERED, PLAIN)]
    assert ends[0] == ends[1]


@pytest.mark.parametrize("one_queue", [False, True])
def test_an_answer_waits_behind_what_its_host_sends_to_others(one_queue):
    """Rank 0 sends to rank 1 when rank 2 asks it."""
    network = msgspec.structs.replace(ORDERED, one_queue=one_queue, send_buffer=0.125 * BANDWIDTH)
    work = program(
        [irecv(2, SIZE), isend(1, SIZE), WAITALL],
        [recv(0, SIZE)],
        [compute(0.5), send(0, SIZE), (Code.MARK, 0, 0, 0, 1)],
    )
    outcome = run(work, network, flat(3))
    assert outcome.ends[0] == pytest.approx(1.5 + WHOLE + 0.125 * one_queue, abs=TRIP)


@pytest.mark.parametrize("name", ["variation", "unevenness"])
def test_flows_that_differ_do_so_alike_in_each_run(name):
    network = Network("differing", eager_limit=1e9, **{name: 0.1})
    work = program([isend(1, SIZE), isend(2, SIZE), WAITALL], [recv(0, SIZE)], [recv(0, SIZE)])
    first, second = (run(work, network, flat(3)).ends.tolist() for _ in range(2))
    assert first == second
    assert first[1] != first[2]
    assert first[1:] == pytest.approx([2.0, 2.0], rel=0.1)
    assert max(first) == pytest.approx(2.0, rel=0.1 if name == "variation" else 1e-3)


@pytest.mark.parametrize("name", ["variation", "unevenness"])
def test_flows_do_not_differ_by_all_of_them(name):
    with pytest.raises(InputError, match="variation and unevenness must be below 1"):
        run(program([]), Network("wrong", **{name: 1.0}), flat(1))


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([0, 8, 1000, 5000, BANDWIDTH])),
        min_size=1,
        max_size=25,
    ),
    st.sampled_from([0.0, 500.0, 1e9]),
)
def test_every_exchange_comes_to_its_end_with_all_bytes(messages, buffer):
    messages = [(a, b, size) for a, b, size in messages if a != b]
    ranks = [[] for _ in range(4)]
    for tag, (source, destination, size) in enumerate(messages):
        ranks[destination].append(irecv(source, size, tag))
        ranks[source].append(isend(destination, size, tag))
    work = program(*[[*operations, WAITALL] for operations in ranks])
    network = msgspec.structs.replace(ORDERED, send_buffer=buffer)
    outcome, plain = run(work, network, flat(4)), run(work, PLAIN, flat(4))
    assert outcome.messages == len(messages)
    assert outcome.unmatched_messages == 0
    assert np.array_equal(outcome.link_bytes, plain.link_bytes)
    assert outcome.seconds <= sum(WHOLE + size / BANDWIDTH for *_, size in messages) + 2 * len(messages) * TRIP


def test_a_rank_that_has_ended_answers():
    """As in MPI_Finalize: its receive is posted, it only computes on, and the sender waits for its answer."""
    receiver = [irecv(1, tag=0), compute(1.0)]
    sender = [send(0, SIZE, tag=0), compute(0.5)]
    result = run(program(receiver, sender), ORDERED, flat(2), hosts=[0, 1], deadlock="return")
    assert not result.blocked
    assert result.ends[1] == pytest.approx(1.0 + 1.0 + 0.5 + 2 * TRIP, rel=1e-3)
