"""Programs that come in blocks: the quick way to make them, and ranks that are far apart in them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commmodel._core.program.traces import arranged, exchanged
from commmodel.simulate import SMPI, Network, Program, run
from commmodel.simulate.operations import OPERATION, UNNAMED, Code
from commmodel.simulate.platform import flat, load
from commmodel.simulate.work.block_streams import Block, program_of

NONE = np.empty(0, np.int64)
EAGER = Network("eager", eager_limit=1e9, detached_limit=1e9)
TWO_CLUSTERS = """<?xml version='1.0'?>
<platform version="4.1"><zone id="all" routing="Full">
  <cluster id="a" prefix="a-" suffix="" radical="0-1" speed="1Gf" bw="125MBps" lat="15us" router_id="ra"/>
  <cluster id="b" prefix="b-" suffix="" radical="0-1" speed="1Gf" bw="25MBps" lat="40us" router_id="rb"/>
  <link id="between" bandwidth="1GBps" latency="5us"/>
  <zoneRoute src="a" dst="b" gw_src="ra" gw_dst="rb"><link_ctn id="between"/></zoneRoute>
</zone></platform>
"""


@given(st.integers(1, 12), st.integers(1, 6), st.randoms(use_true_random=False))
def test_exchanges_are_made_as_any_other_round_is(processes, rounds, random):
    receivers = [np.array(random.sample(range(processes), processes)) for _ in range(rounds)]
    sizes = [np.array([random.randrange(100) for _ in range(processes)]) for _ in range(rounds)]
    operations, offsets = exchanged(processes, receivers, sizes, -7)
    number = np.repeat(np.arange(rounds), processes)
    sender = np.tile(np.arange(processes), rounds)
    expected, places = arranged(
        processes, number, sender, np.concatenate(receivers), np.concatenate(sizes), NONE, NONE, np.empty(0), -7
    )
    np.testing.assert_array_equal(offsets, places)
    np.testing.assert_array_equal(operations, expected)


def test_a_round_in_which_one_receives_two_messages_is_no_exchange():
    assert exchanged(3, [np.array([1, 1, 0])], [np.full(3, 8)], -2) is None


def steps(rank, count):
    """Return what a rank does in `count` steps: 0 runs ahead of 1, which computes, and 2 is in every third only."""
    if rank == 0:
        return [(Code.SEND, 1, 0, UNNAMED, 1000.0)] * count
    if rank == 1:
        return [(Code.RECV, 0, 0, UNNAMED, -1.0), (Code.COMPUTE, 0, 0, UNNAMED, 1.0)] * count
    return [(Code.COMPUTE, 0, 0, UNNAMED, 0.25)] * (count // 3)


@pytest.mark.parametrize("length", [1, 2, 7, 50])
def test_ranks_may_be_many_blocks_apart_and_have_nothing_in_some(length):
    count = 50

    def block_of(begin, end):
        rows = [steps(rank, end)[len(steps(rank, begin)) :] for rank in range(3)]
        offsets = np.concatenate([[0], np.cumsum([len(entry) for entry in rows])])
        return Block(
            np.array([entry for listed in rows for entry in listed], dtype=OPERATION), offsets.astype(np.int64)
        )

    def blocks():
        return (block_of(begin, min(begin + length, count)) for begin in range(0, count, length))

    whole = block_of(0, count)
    at_once = run(Program(whole.operations, whole.offsets), EAGER, flat(3, 1e8, 1e-5))
    in_blocks = run(program_of(3, blocks), EAGER, flat(3, 1e8, 1e-5))
    assert not at_once.blocked
    assert at_once.ends[0] < 1.0 < 50.0 < at_once.ends[1]  # they are apart
    np.testing.assert_array_equal(in_blocks.ends, at_once.ends)
    np.testing.assert_array_equal(in_blocks.spent, at_once.spent)
    assert in_blocks.messages == count


@pytest.mark.parametrize(("source", "target"), [(0, 1), (0, 2), (2, 0), (2, 3), (3, 1)])
def test_hosts_with_unlike_links_have_ways_of_their_own(tmp_path, source, target):
    path = tmp_path / "two.xml"
    path.write_text(TWO_CLUSTERS)
    platform = load(path)
    size = 1 << 20
    ranks = [np.empty(0, OPERATION)] * 4
    ranks[source] = np.array([(Code.SEND, target, 0, UNNAMED, size)], dtype=OPERATION)
    ranks[target] = np.array([(Code.RECV, source, 0, UNNAMED, size)], dtype=OPERATION)
    offsets = np.concatenate([[0], np.cumsum([message.size for message in ranks])]).astype(np.int64)
    outcome = run(Program(np.concatenate(ranks), offsets), SMPI, platform, hosts=np.arange(4))
    slow = max(source, target) > 1
    latency = sum(15e-6 if host < 2 else 40e-6 for host in (source, target))
    latency += 5e-6 if (source < 2) != (target < 2) else 0.0
    rate = min(25e6 if slow else 125e6, 4194304 / (2 * latency))
    expected = 11.6436 * latency + (size + 16) / (0.940694 * rate)
    assert outcome.seconds == pytest.approx(expected, rel=1e-9)
