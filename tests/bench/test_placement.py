"""Pairs of ranks on any hosts and sockets, and what is planned for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commmodel.bench.environment import socket_of
from commmodel.bench.kernels import REGISTRY, buffer_bytes, participants, sensible_kernels
from commmodel.bench.options import KERNELS, parse
from commmodel.bench.placement import members, place, place_further
from commmodel.bench.plan import make_plan
from commmodel.errors import MPIEnvironmentError
from commmodel.results import configuration_words
from commmodel.results.configurations import Contention, Pairs, PointToPoint, Stream


def test_each_path_is_measured_with_as_many_pairs_as_it_has():
    options = parse(["pairs", "--pairs", "1:4", "--sizes", "8"]).options
    for name in ("pairs", "stream"):
        plan = REGISTRY[name].plan(options, place([0] * 4 + [1] * 4, [0] * 8))
        most = {
            path: max(configuration.pairs for configuration in plan if configuration.path == path)
            for path in ("same-socket", "between-nodes")
        }
        assert most == {"same-socket": 2, "between-nodes": 4}


def test_a_stream_into_one_buffer_is_planned_as_osu_has_it():
    options = parse(["stream", "--sizes", "8,1MiB", "--stream-buffers", "both"]).options
    plan = REGISTRY["stream"].plan(options, place([0, 0], [0, 0]))
    windows = {(configuration.message_size, configuration.buffers): configuration.window for configuration in plan}
    assert windows == {(8, "each"): 64, (8, "one"): 64, (1 << 20, "each"): 16, (1 << 20, "one"): 64}
    assert buffer_bytes([configuration for configuration in plan if configuration.buffers == "one"]) == (
        1 << 20,
        1 << 20,
    )
    assert {configuration_words(configuration) for configuration in plan if configuration.message_size == 8} == {
        "stream, 8 B, k = 1, same-socket",
        "stream, 8 B, k = 1, same-socket, into one buffer",
    }


FIVE_HOSTS = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], [0, 1] * 5


def plan_on(hosts, sockets, *arguments):
    """Return what is planned, and the pairs of ranks that take part in each of it."""
    placement, further = place(hosts, sockets), place_further(hosts, sockets)
    plan = make_plan(parse([*arguments, "--sizes", "8"]).options, placement, further)
    ranks = {
        configuration: participants(configuration, placement, further)
        for configuration in plan
        if isinstance(configuration, PointToPoint)
    }
    return {
        configuration: list(zip(half[: len(half) // 2], half[len(half) // 2 :], strict=True))
        for configuration, half in ranks.items()
    }


def test_each_pair_of_nodes_brings_as_many_pairs_of_ranks():
    across = {
        (row.pairs, row.node_pairs): pairs
        for row, pairs in plan_on(*FIVE_HOSTS, "stream", "--node-pairs", "1:2").items()
        if row.path == "between-nodes"
    }
    assert across == {
        (1, 1): [(0, 2)],
        (2, 1): [(0, 2), (1, 3)],
        (1, 2): [(0, 2), (4, 6)],
        (2, 2): [(0, 2), (1, 3), (4, 6), (5, 7)],
    }


def test_within_a_node_and_for_one_pair_of_ranks_there_is_one_pair_of_nodes():
    plan = plan_on(*FIVE_HOSTS, *KERNELS, "--node-pairs", "1:2")
    several = {configuration for configuration in plan if getattr(configuration, "node_pairs", 1) > 1}
    assert {type(configuration) for configuration in several} == {Pairs, Stream, Contention}
    assert {configuration.path for configuration in several} == {"between-nodes"}
    alone = {
        configuration
        for configuration in plan_on(*FIVE_HOSTS, *KERNELS)
        if getattr(configuration, "node_pairs", 1) == 1
    }
    assert set(plan) - several == alone


def test_pairs_that_one_pair_of_nodes_lacks_are_left_out():
    hosts = [0, 0, 1, 1, 2, 3]
    plan = plan_on(hosts, [0] * 6, "pairs", "--node-pairs", "1:2")
    assert {
        (configuration.pairs, configuration.node_pairs)
        for configuration in plan
        if configuration.path == "between-nodes"
    } == {(1, 1), (2, 1), (1, 2)}
    with pytest.raises(MPIEnvironmentError, match="has only 1 of the 2 pairs that --pairs asks for"):
        plan_on(hosts, [0] * 6, "pairs", "--node-pairs", "1:2", "--pairs", "2")


@pytest.mark.parametrize(
    ("hosts", "words"),
    [([0, 1, 2], "but there are 1: start ranks on 4 hosts, or ask for at most 1"), ([0, 0], "there are 0")],
)
def test_too_few_hosts_are_refused(hosts, words):
    with pytest.raises(MPIEnvironmentError, match=words):
        plan_on(hosts, [0] * len(hosts), "stream", "--node-pairs", "2")


def test_several_pairs_of_nodes_are_named_where_a_configuration_is():
    assert configuration_words(Stream(8, 4, "between-nodes")) == "stream, 8 B, k = 4, between-nodes"
    assert configuration_words(Pairs(8, 4, "between-nodes", node_pairs=3)) == "pairs, 8 B, k = 4, between-nodes, h = 3"


def test_a_window_is_smaller_where_messages_are_large_and_its_messages_have_room():
    options = parse(["stream", "--sizes", "0,1,64KiB,1MiB,16MiB,100MB"]).options
    plan = REGISTRY["stream"].plan(options, place([0, 0], [0, 0]))
    assert {configuration.message_size: configuration.window for configuration in plan} == {
        0: 64, 1: 64, 1 << 16: 64, 1 << 20: 16, 1 << 24: 1, 10**8: 1
    }  # fmt: skip
    send, receive = buffer_bytes(plan)
    assert send == 10**8
    assert receive >= 10**8
    assert buffer_bytes([Stream(1, 1, "same-node", 64)]) == (64 * 64, 64 * 64)
    assert buffer_bytes([Pairs(1, 1, "same-node")]) == (1, 1)


def test_several_pairs_and_two_nodes_add_kernels_to_the_sensible_ones():
    names = {"threshold", "pingpong", "ping", "pairs", "stream"}
    one_pair, no_streams = names - {"pairs"}, names - {"pairs", "stream"}
    assert set(sensible_kernels(place([0, 0], [0, 0]))) == no_streams
    assert set(sensible_kernels(place([0, 1], [0, 0]))) == one_pair
    assert set(sensible_kernels(place([0] * 4, [0] * 4))) == names
    assert set(sensible_kernels(place([0, 1, 2, 3], [0] * 4), (1, 2))) == names


@pytest.mark.parametrize(
    ("hosts", "sockets", "placed"),
    [
        pytest.param([0] * 4, [0] * 4, {"same-socket": ((0, 1), (2, 3))}, id="one socket"),
        pytest.param([0] * 4, [None] * 4, {"same-node": ((0, 1), (2, 3))}, id="unbound over several sockets"),
        pytest.param([0] * 3, [0, None, 0], {"same-node": ((0, 1),)}, id="one rank unbound"),
        pytest.param(
            [0] * 8,
            [0, 0, 0, 0, 1, 1, 1, 1],
            {"same-socket": ((0, 1), (2, 3)), "same-node": ((0, 4), (1, 5), (2, 6), (3, 7))},
            id="two sockets, filled one after the other",
        ),
        pytest.param(
            [0] * 6,
            [1, 0, 1, 0, 1, 0],
            {"same-socket": ((0, 2),), "same-node": ((0, 1), (2, 3), (4, 5))},
            id="two sockets, round robin from the second",
        ),
        pytest.param([0] * 3, [0, 1, 1], {"same-node": ((0, 1),)}, id="rank 0 alone on its socket"),
        pytest.param([0, 1, 2, 3], [0] * 4, {"between-nodes": ((0, 1),)}, id="four hosts"),
        pytest.param(
            [0, 1, 0, 1],
            [0] * 4,
            {"same-socket": ((0, 2),), "between-nodes": ((0, 1), (2, 3))},
            id="hosts in turn",
        ),
        pytest.param(
            [0] * 4 + [1] * 4,
            [0, 1, 0, 1, 1, 1, 0, 0],
            {
                "same-socket": ((0, 2),),
                "same-node": ((0, 1), (2, 3)),
                "between-nodes": ((0, 4), (2, 5), (1, 6), (3, 7)),
            },
            id="between nodes all of the first socket, then the next",
        ),
        pytest.param(
            [0] * 3 + [1] * 5,
            [0, 0, 0, 0, 1, 0, 1, 0],
            {"same-socket": ((0, 1),), "between-nodes": ((0, 3), (1, 5), (2, 7))},
            id="uneven hosts",
        ),
        pytest.param([0], [0], {}, id="alone"),
    ],
)
def test_pairs_are_placed_as_the_hardware_is(hosts, sockets, placed):
    assert place(hosts, sockets) == placed


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([None, 0, 1, 2])), min_size=1))
def test_wherever_ranks_are_each_path_begins_with_rank_0_and_has_no_rank_twice(where):
    hosts, sockets = zip(*where, strict=True)
    for path, pairs in place(hosts, sockets).items():
        assert pairs[0][0] == 0
        ranks = members(pairs)
        assert len(set(ranks)) == len(ranks)
        for first, second in pairs:
            assert (hosts[first] == hosts[second]) == (path != "between-nodes")
            if path == "same-socket":
                assert sockets[first] == sockets[second] is not None


@given(st.lists(st.tuples(st.integers(0, 7), st.sampled_from([None, 0, 1])), min_size=1))
def test_further_pairs_of_hosts_share_no_rank_and_no_host_with_others(where):
    hosts, sockets = zip(*where, strict=True)
    nodes = [place(hosts, sockets).get("between-nodes", ()), *place_further(hosts, sockets)]
    assert len(nodes) == max(1, len(set(hosts)) // 2)
    ranks = members([pair for pairs in nodes for pair in pairs])
    assert len(set(ranks)) == len(ranks)
    used = [{hosts[rank] for rank in members(pairs)} for pairs in nodes if pairs]
    assert all(len(pair) == 2 for pair in used)
    assert len(set().union(*used)) == 2 * len(used)


def test_the_socket_of_a_rank_is_that_of_all_its_processors(tmp_path):
    for cpu, package in enumerate(("0", "0", "36", "-1")):
        folder = tmp_path / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "physical_package_id").write_text(f"{package}\n")
    rows = [[0], [0, 1], [2], [1, 2], [3], [9], [0, 9]]
    assert [socket_of(cpus, tmp_path) for cpus in rows] == [0, 0, 36, None, None, None, None]
