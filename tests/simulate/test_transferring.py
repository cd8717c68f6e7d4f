"""Waiting told apart from transferring, and the load of links over time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.timelines import random_timeline

from commmodel.simulate.link_load import COLUMNS, link_loads
from commmodel.simulate.result import INTERVAL, MESSAGE
from commmodel.simulate.states import State
from commmodel.simulate.timeline import Timeline, split_waits


def parts(rows, messages):
    timeline = Timeline("t", 2, np.array(rows, dtype=INTERVAL), np.array(messages, dtype=MESSAGE))
    return [
        (int(split_wait["rank"]), int(split_wait["state"]), split_wait["start"], split_wait["end"])
        for split_wait in split_waits(timeline)
    ]


def test_a_wait_is_cut_where_messages_leave_and_arrive():
    messages = [(1, 0, 1, 8, 0.0, 1.0, 2.0), (1, 0, 1, 8, 0.0, 1.5, 3.0), (0, 1, 1, 8, 0.0, 5.0, 9.0)]
    result = parts([(0, State.WAIT, -1, -1, 0, 0.0, 6.0)], messages)
    assert result == [
        (0, State.WAIT, 0.0, 1.0), (0, State.TRANSFER, 1.0, 3.0), (0, State.WAIT, 3.0, 5.0),
        (0, State.TRANSFER, 5.0, 6.0),
    ]  # fmt: skip


def test_a_receive_before_its_sender_begins_with_a_wait():
    late = [(1, 0, 1, 8, 2.0, 2.0, 4.0)]
    row = (0, State.RECEIVE, 1, 1, 8, 0.0, 5.0)
    assert parts([row], late) == [(0, State.WAIT, 0.0, 2.0), (0, State.RECEIVE, 2.0, 5.0)]
    early = [(1, 0, 1, 8, 0.0, 0.0, 4.0)]
    assert parts([row], early) == [(0, State.RECEIVE, 0.0, 5.0)]


def test_without_messages_nothing_is_told_apart():
    assert parts([(0, State.WAIT, -1, -1, 0, 0.0, 6.0)], []) == [(0, State.WAIT, 0.0, 6.0)]


@given(st.integers(1, 5), st.integers(1, 50), st.integers(0, 9))
def test_cutting_changes_no_time_but_of_waits_and_receives(processes, per_rank, seed):
    timeline = random_timeline(processes, per_rank, seed)
    cut = split_waits(timeline)
    assert (cut["end"] > cut["start"]).all()

    def spent(rows, *states):
        result = np.isin(rows["state"], states)
        return np.bincount(rows["rank"][result], (rows["end"] - rows["start"])[result], processes)

    for states in ((State.COMPUTE,), (State.SEND,), (State.SLEEP,), (State.WAIT, State.RECEIVE, State.TRANSFER)):
        assert spent(cut, *states) == pytest.approx(spent(timeline.intervals, *states))
    for entry in cut[cut["state"] == State.TRANSFER][:20]:
        result = (timeline.transfers["sender"] == entry["rank"]) | (timeline.transfers["receiver"] == entry["rank"])
        middle = (entry["start"] + entry["end"]) / 2
        assert ((timeline.transfers["left"] <= middle) & (middle <= timeline.transfers["arrived"]))[result].any()


def test_the_load_of_a_link_adds_up_to_the_bytes_that_it_carried():
    sent = np.array([(0, 1, 0, 100.0, 0.0, 0.0, 2.0), (1, 0, 0, 100.0, 0.0, 0.0, 4.0)], dtype=MESSAGE)
    route = {(0, 1): [0, 2], (1, 0): [1, 2]}
    carried = np.array([110.0, 120.0, 200.0])
    loads = link_loads(
        [(2, "shared", 100.0), (0, "up", 100.0)], sent, np.array([0, 1]), lambda *pair: route[pair], carried, 8.0
    )
    assert [load.name for load in loads] == ["shared", "up"]
    shared, up = (load.shares for load in loads)
    assert shared.sum() * 8.0 / COLUMNS * 100.0 == pytest.approx(200.0)
    assert shared[0] == pytest.approx(0.75)  # 50 and 25 B/s of 100
    assert up[: COLUMNS // 4] == pytest.approx(0.55)
    assert not up[COLUMNS // 4 :].any()
