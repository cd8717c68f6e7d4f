"""Timelines for tests: made by hand, or by rule from a seed."""

from dataclasses import replace

import numpy as np

from commmodel.simulate.result import INTERVAL, MESSAGE
from commmodel.simulate.states import State
from commmodel.simulate.timeline import Timeline, split_waits

PING_PONG = Timeline(
    "ping-pong",
    2,
    np.array(
        [
            (1, State.RECEIVE, 0, 7, 1024, 0.0, 3e-6),
            (0, State.SEND, 1, 7, 1024, 0.0, 1e-6),
            (0, State.COMPUTE, -1, -1, 0, 1e-6, 2.5e-6),
            (0, State.WAIT, -1, -1, 0, 4e-6, 6e-6),
        ],
        dtype=INTERVAL,
    ),
    np.array([(0, 1, 7, 1024, 0.5e-6, 1e-6, 3e-6), (1, 0, 8, 16, 3e-6, 3e-6, 6e-6)], dtype=MESSAGE),
)
"""The second message leaves rank 1 when that is in no state."""
TOLD_APART = replace(PING_PONG, intervals=split_waits(PING_PONG))


def random_timeline(processes, count, seed=0, name="made"):
    """Return ranks that go from one state into the next, with gaps, and messages anywhere among them."""
    random = np.random.default_rng(seed)
    lengths, gaps = random.exponential(1e-5, (processes, count)), random.exponential(1e-6, (processes, count))
    ends = np.cumsum(lengths + gaps, axis=1)
    rows = np.zeros(processes * count, dtype=INTERVAL)
    rows["rank"] = np.repeat(np.arange(processes), count)
    rows["end"], rows["start"] = ends.ravel(), (ends - lengths).ravel()
    rows["state"] = random.choice(State.TRANSFER, rows.size)  # those before it
    rows["peer"], rows["tag"], rows["size"] = random.integers(0, processes, rows.size), 1, 64
    sent = np.zeros(rows.size // 4, dtype=MESSAGE)
    sent["sender"], sent["receiver"] = random.integers(0, processes, (2, sent.size))
    sent["posted"] = sent["left"] = random.uniform(0, ends.max(), sent.size)
    sent["arrived"], sent["size"] = sent["posted"] + 2e-5, random.integers(1, 1 << 20, sent.size)
    return Timeline(name, processes, rows, sent)
