"""Critical path: the compiled rules against a slow twin bit for bit, small cases by hand, what must never happen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.critical_path_reference import finish_times as twin
from support.effort import effort

from commmodel._core.delays.critical_path import finish_times
from commmodel.collectives import ALGORITHMS, Problem, build
from commmodel.errors import InputError

ROUGH = st.sampled_from([0.0, 0.0, 0.5, 1.0, 1.0, 2.0, 3.0])  # many ties
FINE = st.floats(0, 1e3)
SOME = st.sampled_from([0.5, 1.0, 1.0, 2.0, 3.0])  # every message takes time: processes act out of the order of time
LONG = st.sampled_from([1.0, 2.0**39, 1e12, 2.0**41, 2.0**50, 2.0**53, 2.0**55])  # until rounding swallows a message


@st.composite
def schedules(draw, seconds=ROUGH | FINE, working=None):
    """Return (processes, messages, works): any messages at all between a few processes."""
    processes = draw(st.integers(1, 6))
    rank, number = st.integers(0, processes - 1), st.integers(0, 5)
    message = st.tuples(number, rank, rank, seconds, seconds, seconds, seconds)
    messages = sorted(draw(st.lists(message, max_size=25)), key=lambda entry: entry[0])
    works = sorted(
        draw(st.lists(st.tuples(number, rank, seconds if working is None else working), max_size=6)),
        key=lambda entry: entry[0],
    )
    return processes, messages, works


def columns(rows, width):
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]


def compiled(processes, messages, works=()):
    return finish_times(processes, *columns(messages, 7), *columns(works, 3))


def scaled(rows, factor, first):
    return [(*row[:first], *(factor * seconds for seconds in row[first:])) for row in rows]


@pytest.mark.slow
@settings(max_examples=effort(100, 1000))
@given(schedules(ROUGH) | schedules(FINE) | schedules() | schedules(SOME) | schedules(SOME, LONG))
def test_the_compiled_rules_are_those_of_the_twin_bit_for_bit(schedule):
    assert compiled(*schedule).tolist() == twin(*schedule)


@settings(max_examples=effort(10, 50))
@given(st.integers(2, 80), st.integers(0, 400), st.integers(0, 2**32 - 1), st.booleans())
def test_so_are_they_with_many_processes_and_messages(processes, count, seed, with_ties):
    generator = np.random.default_rng(seed)
    rounds = np.sort(generator.integers(0, 8, count))
    ranks = generator.integers(0, processes, (2, count))
    seconds = generator.integers(0, 4, (4, count)) if with_ties else generator.exponential(1.0, (4, count))
    rows = list(zip(rounds.tolist(), *ranks.tolist(), *seconds.astype(float).tolist(), strict=True))
    assert compiled(processes, rows).tolist() == twin(processes, rows)


@pytest.mark.parametrize(
    ("operation", "name"), [(operation, name) for operation, names in ALGORITHMS.items() for name in names]
)
def test_so_are_they_on_every_algorithm(operation, name):
    for processes in (1, 2, 3, 6, 8):
        try:
            schedule = build(operation, name, Problem(processes, 0 if operation == "barrier" else 96))
        except InputError:  # an algorithm for some numbers of processes only
            continue
        size = np.maximum(schedule.size, 1) - 1.0
        seconds = 0.65 + 0 * size, 0.7 + 0 * size, 0.9 + 0.01 * size, 2.0 + 0.01 * size
        work = 0.003 * schedule.copied + 0.005 * schedule.reduced
        flat = (schedule.round, schedule.sender, schedule.receiver, *seconds)
        rows = list(zip(*(column.tolist() for column in flat), strict=True))
        flat_works = (schedule.work_round, schedule.worker, work)
        works = list(zip(*(column.tolist() for column in flat_works), strict=True))
        assert finish_times(processes, *flat, *flat_works).tolist() == twin(processes, rows, works)


@given(schedules(), st.integers(-30, 30))
def test_another_unit_of_time_changes_nothing(schedule, exponent):
    processes, messages, works = schedule
    result = compiled(processes, scaled(messages, 2.0**exponent, 3), scaled(works, 2.0**exponent, 2))
    # Powers of two are exact, and so is every step, but where numbers become too small.
    np.testing.assert_allclose(result, 2.0**exponent * compiled(*schedule), rtol=1e-12, atol=1e-290)


@given(schedules())
def test_twice_the_same_is_the_same(schedule):
    assert compiled(*schedule).tobytes() == compiled(*schedule).tobytes()


def test_the_arrays_given_are_left_as_they_were():
    given_columns = [np.array(column) for column in columns([(0, 0, 1, 1.0, 1.0, 1.0, 1.0)], 7)]
    before = [column.copy() for column in given_columns]
    for column in given_columns:
        column.flags.writeable = False
    finish_times(2, *given_columns)
    assert all(np.array_equal(*pair) for pair in zip(given_columns, before, strict=True))


# round, sender, receiver, send overhead, receive overhead, gap, transit
BY_HAND = {
    "no messages": (3, [], [], [0, 0, 0]),
    "work alone": (2, [], [(0, 1, 2.0), (7, 1, 3.0)], [0, 5]),
    "one message is o_s + transit + o_r": (2, [(0, 0, 1, 1, 2, 9, 4)], [], [1, 7]),
    "a train: the sender's gap": (2, [(0, 0, 1, 1, 1, 3, 5)] * 3, [], [7, 13]),
    "a train: the overhead where it is longer": (2, [(0, 0, 1, 4, 1, 3, 5)] * 3, [], [12, 18]),
    "messages of two senders pass one port": (3, [(0, 0, 2, 1, 0.5, 3, 5), (0, 1, 2, 1, 0.5, 3, 5)], [], [1, 1, 9.5]),
    "the port takes the gap of the later message": (
        3,
        [(0, 0, 2, 1, 0.5, 7, 5), (0, 1, 2, 1, 0.5, 2, 5)],
        [],
        [1, 1, 8.5],
    ),
    "a receive while the send port is not free": (
        2,
        [(0, 0, 1, 1, 1, 9, 1), (0, 0, 1, 1, 1, 9, 1), (0, 1, 0, 1, 1, 1, 1)],
        [],
        [10, 12],
    ),
    "a receive may delay a send": (
        2,
        [(0, 0, 1, 1, 1, 3, 5), (0, 0, 1, 1, 1, 3, 5), (0, 1, 0, 1, 4, 1, 1)],
        [],
        [7, 13],
    ),
    "a send before a receive at a tie": (
        2,
        [(0, 0, 1, 1, 1, 2, 9), (0, 0, 1, 1, 1, 2, 9), (0, 1, 0, 1, 1, 1, 1)],
        [],
        [4, 13],
    ),
    "a message of a later round waits in memory": (
        3,
        [(0, 0, 2, 9, 1, 1, 1), (1, 1, 2, 1, 1, 1, 1)],
        [],
        [9, 1, 12],
    ),
    "and has passed the port by then": (3, [(0, 0, 2, 1, 1, 5, 3), (1, 1, 2, 1, 1, 5, 1)], [], [1, 1, 9]),
    "gaps reach into the next round": (2, [(0, 0, 1, 1, 1, 5, 1), (1, 0, 1, 1, 1, 5, 1)], [], [6, 8]),
    "work delays the next round": (2, [(0, 0, 1, 1, 1, 1, 1), (1, 1, 0, 1, 1, 1, 1)], [(0, 1, 5.0)], [11, 9]),
    "rounding swallows the time of messages": (
        3,
        [(1, 0, 2, 1, 8, 4, 2), (1, 0, 2, 1, 8, 4, 2), (1, 1, 0, 1, 8, 4, 2)],
        [(0, 0, 2.0**54), (0, 1, 2.0**54)],
        [2.0**54 + 8, 2.0**54, 2.0**54 + 16],
    ),
    "nobody else waits": (3, [(0, 0, 1, 1, 1, 1, 7), (1, 1, 0, 1, 1, 1, 7), (1, 2, 2, 1, 1, 1, 1)], [], [18, 10, 3]),
}


@pytest.mark.parametrize(("processes", "messages", "works", "expected"), BY_HAND.values(), ids=BY_HAND)
def test_small_cases_worked_out_by_hand(processes, messages, works, expected):
    assert compiled(processes, messages, works).tolist() == expected
    assert twin(processes, messages, works) == expected


GOOD = (2, [0, 0], [0, 1], [1, 0], *[[1.0, 1.0]] * 4, [0], [0], [1.0])
WRONG = {
    "no processes": ({0: 0}, "0 processes"),
    "too many processes": ({0: 2**31}, "processes"),
    "sender out of range": ({2: [0, 2]}, r"sender\[1\] is 2: ranks are 0 to 1"),
    "receiver negative": ({3: [-1, 0]}, r"receiver\[0\] is -1"),
    "worker out of range": ({9: [5]}, r"worker\[0\] is 5"),
    "rounds fall": ({1: [1, 0]}, r"round\[1\] is 0: rounds must ascend"),
    "round negative": ({1: [-1, 0]}, r"round\[0\] is -1: rounds must ascend, from 0"),
    "rounds of work fall": ({8: [3, 1], 9: [0, 0], 10: [1.0, 1.0]}, r"work_round\[1\] is 1"),
    "lengths differ": ({6: [1.0]}, "columns of different lengths: round 2.*gap 1"),
    "lengths of work differ": ({10: []}, "work 0"),
    "negative time": ({4: [1.0, -1.0]}, r"send_overhead\[1\] is -1.0: a time must be finite, from 0"),
    "NaN": ({7: [np.nan, 1.0]}, r"transit\[0\] is nan"),
    "infinite": ({10: [np.inf]}, r"work\[0\] is inf"),
    "two rows": ({2: [[0, 1]]}, "sender: expected one row"),
    "ranks with fractions": ({2: [0.5, 1.0]}, "sender: expected one row of int64, got 1 of float64"),
    "times that add up to infinity": ({4: [1e308] * 2, 7: [1e308] * 2}, "process 0 never finishes"),
}


@pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named(changes, message):
    finish_times(*GOOD)
    with pytest.raises(ValueError, match=message):
        finish_times(*(changes.get(place, column) for place, column in enumerate(GOOD)))


@settings(max_examples=150, deadline=None)
@given(schedules(), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_so_are_the_ports_of_nodes_but_for_rounding(schedule, per_node, seed):
    processes, messages, works = schedule
    random = np.random.default_rng(seed)
    messages = [(*row[:3], *random.uniform(0.1, 3.0, 4).tolist()) for row in messages]  # no ties
    node = [rank // per_node for rank in range(processes)]
    crosses = [node[sender] != node[receiver] for _, sender, receiver, *_ in messages]
    gaps = (random.uniform(0.1, 7.0, len(messages)) * crosses).tolist()
    of_bytes = [random.uniform(0.0, 2 * row[6]) * is_way for row, is_way in zip(messages, crosses, strict=True)]
    times = finish_times(processes, *columns(messages, 7), *columns(works, 3), node, gaps, of_bytes)
    assert times.tolist() == pytest.approx(twin(processes, messages, works, node, gaps, of_bytes), rel=1e-9)


def test_messages_of_two_processes_share_the_port_of_their_node():
    """Both are through after 2 * 4, and arrive an overhead and a transit later, but for what their bytes take of it."""
    messages = [0, 0], [0, 1], [2, 3], [1.0, 1.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]
    assert finish_times(4, *messages).tolist() == [1.0, 1.0, 5.0, 5.0]
    ports = {"node": [0, 0, 1, 1], "node_gap": [4.0, 4.0]}
    assert finish_times(4, *messages, **ports).tolist() == [1.0, 1.0, 13.0, 13.0]
    assert finish_times(4, *messages, **ports, byte_seconds=[2.0, 2.0]).tolist() == [1.0, 1.0, 11.0, 11.0]
    with pytest.raises(ValueError, match="columns of different lengths"):
        finish_times(4, *messages, node=[0, 0, 1], node_gap=[4.0, 4.0])


def test_a_process_begins_no_send_while_its_message_passes_the_port():
    """The third message begins when the first has left, after 2 * 4, and shares the port with what is left: none."""
    messages = [0, 0, 0], [0, 1, 0], [2, 3, 2], *([[1.0] * 3] * 2), [0.0] * 3, [1.0] * 3
    times = finish_times(4, *messages, node=[0, 0, 1, 1], node_gap=[4.0, 4.0, 2.0])
    assert times.tolist() == [9.0, 1.0, 13.0, 11.0]


def test_asking_a_port_often_loses_nothing_by_rounding():
    """Fifty processes on two nodes send to all: they once asked for ever when their messages were through."""
    processes, node = 50, np.arange(50) // 25
    schedule = build("alltoall", "linear", Problem(processes, 128))
    times = np.ones(schedule.messages)
    overhead, gap, transit = 9.88549159004133e-07, 3.8683975463696507e-07, 2.4713723395500724e-06
    node_gap = np.where(node[schedule.sender] != node[schedule.receiver], 2.6226998839190265e-07, 0.0)
    ends = finish_times(
        processes, schedule.round, schedule.sender, schedule.receiver, overhead * times, overhead * times, gap * times,
        transit * times, node=node, node_gap=node_gap,
    )  # fmt: skip
    assert np.isfinite(ends).all()
    assert ends.max() >= 25 * 25 * node_gap.max()
