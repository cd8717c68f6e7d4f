"""A machine's hybrid model simulated: what was fitted comes out again; what calibrates, and what that plans."""

import math
import sys

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.launching import error_lines, launch

from commmodel import machine, results
from commmodel.bench.kernels import buffer_bytes, kernel_of
from commmodel.bench.kernels.random_sizes import drawn_sizes
from commmodel.bench.options import parse
from commmodel.bench.placement import place, place_further
from commmodel.bench.plan import make_plan
from commmodel.collectives import Problem
from commmodel.errors import InputError, MissingParameterError
from commmodel.fit import FitSettings, fit_machine
from commmodel.machine import Edge, Hybrid, Machine, MaxRate, Mode, Parameter, Segment
from commmodel.results.configurations import Contention, RandomPing, RandomPingPong
from commmodel.results.parameters import describe
from commmodel.simulate import OPERATION, Code, Program, from_machine, run, work
from commmodel.simulate.platform import cabinets
from commmodel.simulate.states import State

PAIR = place([0, 0], [0, 0])
ALPHA = Parameter(1e-5)


def hybrid_machine(contention=1.5, **changes):
    """Return a machine with three modes; all that is not given stays."""

    def mode(kind, limit, **values):
        base = {"L": 2e-5, "B": 1e8, "o_s": 3e-6, "O_s": 1e-10, "o_r": 0.0, "O_r": 0.0} | values
        parameters = {name: Parameter(value) for name, value in base.items()}
        return Mode(kind=kind, limit=None if limit is None else Edge(limit), **parameters)

    modes = (
        mode("asynchronous", 1000, o_r=5e-6, O_r=1e-9, B=5e7),
        mode("detached", 100_000, L=6e-5, o_is=1e-6, O_is=0.0),
        mode("synchronous", None, L=0.0, o_s=0.0, O_s=0.0),
    )
    result = None if contention is None else Parameter(contention, "1")
    return Machine("m", (Segment("all"),), hybrid=(Hybrid(modes, contention=result, **changes),))


def rank(*operations):
    return np.array(list(operations), dtype=OPERATION)


def simulated(measured, *ranks):
    return run(Program.from_ranks(ranks), from_machine.network(measured), from_machine.platform(measured, len(ranks)))


def round_trip(measured, size):
    first = rank((Code.SEND, 1, 0, -1, size), (Code.RECV, 1, 0, -1, size))
    second = rank((Code.RECV, 0, 0, -1, size), (Code.SEND, 0, 0, -1, size))
    return simulated(measured, first, second).seconds


@given(st.integers(0, 10**8))
@settings(max_examples=60, deadline=None)
def test_a_ping_pong_gives_back_the_round_trip(size):
    model = hybrid_machine().hybrid_model()
    assert round_trip(hybrid_machine(), size) == pytest.approx(2 * model.seconds(size), rel=1e-9)


@pytest.mark.parametrize("edge", [1000, 100_000])
def test_limits_belong_to_the_mode_that_they_end(edge):
    model = hybrid_machine().hybrid_model()
    for size in (edge, edge + 1):
        assert round_trip(hybrid_machine(), size) == pytest.approx(2 * model.seconds(size), rel=1e-9)


def test_a_send_that_takes_longer_than_the_way_there_delays_the_answer():
    measured = hybrid_machine()
    small, *larger = measured.hybrid[0].modes
    slow = msgspec.structs.replace(small, o_s=Parameter(5e-3))
    measured = msgspec.structs.replace(measured, hybrid=(Hybrid((slow, *larger), contention=Parameter(1.5)),))
    assert round_trip(measured, 500) == pytest.approx(5e-3 + measured.hybrid_model().seconds(500), rel=1e-3)


@pytest.mark.parametrize("size", [1, 1420, 32768, 65536, 100_000, 1 << 20, 4 << 20])
def test_graphene_gives_back_its_round_trips(size):
    graphene = machine.load("graphene")
    assert round_trip(graphene, size) == pytest.approx(2 * graphene.hybrid_model().seconds(size), rel=1e-9)


def test_no_mode_of_published_graphene_is_faster_than_its_gigabit_link():
    (model,) = machine.load("graphene").hybrid
    assert max(mode.B.value for mode in model.modes) <= model.link_bandwidth.value


def test_published_graphene_is_the_papers():
    model = machine.load("graphene").hybrid_model()
    ends = {
        kind: max(entry.limit.value for entry in model.modes if entry.kind == kind)
        for kind in ("asynchronous", "detached")
    }
    assert ends["asynchronous"] == pytest.approx(65536, rel=0.1)
    assert 190_000 < ends["detached"] < 330_000
    assert model.contention.value == 1.5


@pytest.mark.parametrize("contention", [1.0, 1.5, 2.0])
def test_both_ways_at_once_a_link_holds_the_contention(contention):
    measured, size = hybrid_machine(contention), 1 << 30
    result = [
        rank((Code.IRECV, peer, 0, -1, size), (Code.ISEND, peer, 0, -1, size), (Code.WAITALL, 0, 0, -1, 0))
        for peer in (1, 0)
    ]
    one_way = measured.hybrid_model().seconds(size)
    assert simulated(measured, *result).seconds == pytest.approx(2 / contention * one_way, rel=1e-3)


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        ({}, 4),  # one message fills the link
        ({"max_rate": MaxRate(ALPHA, Parameter(1e8), Parameter(2.5e8))}, 1.6),
        ({"one_way": MaxRate(ALPHA, Parameter(1e8), Parameter(2e8))}, 2),
        ({"max_rate": MaxRate(ALPHA, Parameter(1e8), Parameter(math.inf, low=4e8))}, 1),
    ],
)
def test_messages_of_a_host_share_the_rate_of_a_node(models, expected):
    measured, size = hybrid_machine(2.0), 1 << 28
    measured = msgspec.structs.replace(measured, segments=(Segment("all", **models),))
    hosts = from_machine.platform(measured, 2, cores=4)
    assert hosts.route(0, 1) == from_machine.platform(measured, 2).route(0, 1)
    ends = [rank((Code.SEND, 4 + pair, 0, -1, size)) for pair in range(4)]
    ends += [rank((Code.RECV, pair, 0, -1, size)) for pair in range(4)]
    four = run(Program.from_ranks(ends), from_machine.network(measured), hosts)
    assert four.seconds == pytest.approx(expected * size / 1e8, rel=1e-3)
    alone = simulated(measured, rank((Code.SEND, 1, 0, -1, size)), rank((Code.RECV, 0, 0, -1, size)))
    assert alone.seconds == pytest.approx(size / 1e8, rel=1e-3)


@pytest.mark.parametrize(("size", "expected"), [(1000, 3e-6 + 1e-7), (100_000, 3e-6 + 1e-5)])
def test_a_send_takes_its_overhead(size, expected):
    outcome = simulated(hybrid_machine(), rank((Code.SEND, 1, 0, -1, size)), rank((Code.RECV, 0, 0, -1, size)))
    assert outcome.spent[0, State.SEND] == pytest.approx(expected)
    assert outcome.ends[0] == pytest.approx(expected)


def test_a_synchronous_send_takes_the_transfer():
    measured, size = hybrid_machine(), 10**6
    outcome = simulated(measured, rank((Code.SEND, 1, 0, -1, size)), rank((Code.RECV, 0, 0, -1, size)))
    assert outcome.ends[0] == pytest.approx(measured.hybrid_model().seconds(size))


def test_a_synchronous_send_leaves_the_rest_to_its_buffer():
    """The next message then shares the link with what is left of the first."""
    size, left = 1_000_000, 200_000
    measured = hybrid_machine(send_buffer=Parameter(left, "B"))
    sends = rank((Code.SEND, 1, 0, -1, size), (Code.MARK, 0, 0, -1, 0), (Code.SEND, 2, 0, -1, size))
    receive = rank((Code.RECV, 0, 0, -1, size))
    outcome = simulated(measured, sends, receive, receive)
    assert outcome.marks["time"][0] == pytest.approx((size - left) / 1e8)
    assert outcome.ends.tolist() == pytest.approx([0.02 - left / 1e8, (size + left) / 1e8, 0.02])


@pytest.mark.parametrize("algorithm", ["pairwise", "pairwise-xor"])
def test_what_is_left_of_several_messages_at_one_time_keeps_its_way(algorithm):
    """What is left of a message is a flow anew, whose number may be that of another one that ended just then."""
    program = work.collective("alltoall", Problem(8, 1_000_000), algorithm=algorithm)
    platform = cabinets([4, 4], 1e8, 0.0, (2e8, 0.0))
    seconds = [
        run(program, from_machine.network(entry), platform).seconds
        for entry in (hybrid_machine(), hybrid_machine(send_buffer=Parameter(200_000, "B")))
    ]
    assert seconds[1] == pytest.approx(seconds[0], rel=1e-9)
    assert seconds[0] >= 7 * 1_000_000 / 1e8


@pytest.mark.parametrize("size", [150_000, 200_000])
def test_a_send_that_the_buffer_holds_ends_at_once(size):
    measured = hybrid_machine(send_buffer=Parameter(200_000, "B"))
    outcome = simulated(
        measured, rank((Code.SEND, 1, 0, -1, size)), rank((Code.SLEEP, 0, 0, -1, 1.0), (Code.RECV, 0, 0, -1, size))
    )
    assert outcome.ends.tolist() == pytest.approx([1.0, 1.0 + size / 1e8])  # it leaves when its receive is posted


@pytest.mark.parametrize(("share", "begin"), [(0.9, 0.0), (0.1, 1.0)])
def test_a_message_leaves_unexpected_where_most_of_it_was_there(share, begin):
    size = 1_000_000
    measured = hybrid_machine(unexpected=Parameter(share, "1"))
    outcome = simulated(
        measured, rank((Code.SEND, 1, 0, -1, size)), rank((Code.SLEEP, 0, 0, -1, 1.0), (Code.RECV, 0, 0, -1, size))
    )
    assert outcome.ends[0] == pytest.approx(begin + size / 1e8)


@pytest.mark.parametrize(("delay", "in_order"), [(0.8, True), (0.3, False), (None, False)])
def test_messages_go_in_order_where_an_answer_waited_for_data(delay, in_order):
    measured = hybrid_machine(
        answer_delay=None if delay is None else Parameter(delay, "1"), answer_latency=Parameter(3e-5, "s")
    )
    network = from_machine.network(measured)
    assert network.answers_in_order == in_order
    assert network.answer_latency == (3e-5 if in_order else 0.0)


def test_immediate_sends_have_their_own_overhead_where_it_is_known():
    network = from_machine.network(hybrid_machine())
    assert [entry.constant for entry in network.isend] == [3e-6, 1e-6, 0.0]
    assert [entry.constant for entry in network.send] == [3e-6, 3e-6, 0.0]


def test_the_links_of_a_platform_may_differ_from_the_largest_messages_rate():
    measured = hybrid_machine(link_bandwidth=Parameter(2e8), link_latency=Parameter(1e-5))
    assert from_machine.reference(measured.hybrid_model()) == (1e-5, 2e8)
    network = from_machine.network(measured)
    assert [bandwidth_factor.value for bandwidth_factor in network.bandwidth_factors] == [0.25, 0.5, 0.5]
    assert [bandwidth_factor.value for bandwidth_factor in network.latency_factors][:2] == [2.0, 6.0]
    assert round_trip(measured, 500) == pytest.approx(2 * measured.hybrid_model().seconds(500), rel=1e-9)


def test_without_any_latency_there_are_no_factors():
    measured = hybrid_machine()
    modes = tuple(msgspec.structs.replace(mode, L=Parameter(0.0)) for mode in measured.hybrid[0].modes)
    measured = msgspec.structs.replace(measured, hybrid=(Hybrid(modes, contention=Parameter(1.5)),))
    assert from_machine.network(measured).latency_factors == ()
    assert round_trip(measured, 5000) == pytest.approx(2 * 5000 / 1e8)


def test_what_is_missing_names_its_kernel():
    with pytest.raises(MissingParameterError, match="bench contention"):
        from_machine.platform(hybrid_machine(None), 2)
    with pytest.raises(MissingParameterError, match="--random-sizes"):
        from_machine.network(Machine("m", (Segment("all"),)))


# What calibrates


def plan(*arguments, hosts=(0, 0), **options):
    placement, further = place(hosts, [0] * len(hosts)), place_further(hosts, [0] * len(hosts))
    return make_plan(parse(("--seed", "5", *arguments)).options, placement, further, **options)


def test_random_sizes_are_the_same_for_all_calls_and_drawn_between_the_ends():
    result = plan("ping", "pingpong", "--random-sizes", "60", "--sizes", "1:1MiB")
    by_call = {}
    for entry in result:
        by_call.setdefault(getattr(entry, "operation", "round-trip"), []).extend(entry.message_sizes)
    assert set(by_call) == {"send", "isend", "receive", "round-trip"}
    (sizes,) = {tuple(sorted(set(item))) for item in by_call.values()}
    assert 50 <= len(sizes) <= 60  # small ones may have been drawn twice
    assert 1 <= sizes[0] < 100
    assert 1e5 < sizes[-1] <= 1 << 20
    assert max(buffer_bytes(result)) == sizes[-1]
    assert {type(entry) for entry in result} == {RandomPing, RandomPingPong}


def test_each_record_holds_sizes_of_all_magnitudes_and_small_ones_more_often():
    groups = [entry.message_sizes for entry in plan("pingpong", "--random-sizes", "100")]
    assert len(groups) == 4
    for sizes in groups:
        assert min(sizes) < 1000
        assert max(sizes) > 100_000
        assert {sizes.count(size) % 8 for size in sizes if size < 8192} == {0}
        assert {sizes.count(size) for size in sizes if size > 65536} == {1}


@given(st.integers(0, 2**31), st.integers(1, 200))
@settings(max_examples=30, deadline=None)
def test_sizes_come_from_the_seed(seed, count):
    options = parse(("ping", "--random-sizes", str(count), "--seed", str(seed), "--sizes", "8:1MiB")).options
    assert drawn_sizes(options) == drawn_sizes(options)
    assert len(drawn_sizes(options)) == count
    assert all(8 <= size <= 1 << 20 for size in drawn_sizes(options))


def test_sizes_are_even_in_their_logarithm():
    options = parse(("ping", "--random-sizes", "4000", "--seed", "1", "--sizes", "1:1MiB")).options
    logs = np.log2(drawn_sizes(options))
    shares, _ = np.histogram(logs, bins=[0, 5, 10, 15, 20.001])
    assert (np.abs(shares / 4000 - 0.25) < 0.04).all()


def test_one_size_cannot_be_drawn_from():
    with pytest.raises(InputError, match="between the ends of --sizes"):
        plan("ping", "--random-sizes", "10", "--sizes", "8")


@pytest.mark.parametrize("text", ["0", "-1", "many", "100001"])
def test_a_number_of_sizes_is_checked(text):
    with pytest.raises(InputError, match="--random-sizes"):
        parse(("ping", f"--random-sizes={text}"))


def test_contention_takes_more_and_more_pairs_of_nodes():
    result = plan("contention", hosts=(0, 1, 2, 3, 4, 5))
    across = {(row.direction, row.node_pairs) for row in result if row.path == "between-nodes"}
    assert across == {(way, pairs) for way in ("one-way", "both-ways") for pairs in (1, 2, 3)} | {("ring", 2)}
    assert {row.message_size for row in result} == {4 << 20}
    (small, _) = plan("contention", "--sizes", "1:64KiB")
    assert (small.message_size, small.node_pairs) == (64 << 10, 1)


def test_configurations_of_many_sizes_are_told_in_a_few_words():
    result = RandomPing((1, 4096, 7), "send", "same-node")
    assert describe(result) == ("random-ping", "", {"sizes": 3.0, "operation": "send", "path": "same-node"})
    assert kernel_of(result).room(result) == (4096, 4096)


def test_no_link_carries_more_than_it_can_where_small_messages_are_faster_than_large_ones():
    """Within a node they are, in caches. The share was that of the bytes of the slowest messages."""
    result = hybrid_machine(contention=2.0)
    modes = result.hybrid[0].modes
    faster = (msgspec.structs.replace(modes[0], B=Parameter(1e9)), *modes[1:])
    machine_of = msgspec.structs.replace(result, hybrid=(msgspec.structs.replace(result.hybrid[0], modes=faster),))
    links = from_machine.platform(machine_of, 4)
    for size in (900, 10_000_000):
        outcome = run(work.pairwise(size, 4), from_machine.network(machine_of), links)
        shares = outcome.link_work / links.capacity / outcome.seconds
        assert 0 < shares.max() <= 1.0
        assert (outcome.link_bytes.max() > 2 * outcome.link_work.max()) == (size == 900)


@pytest.mark.mpi
def test_one_command_calibrates(tmp_path):
    output = tmp_path / "results.jsonl"
    kernels = ("ping", "pingpong", "contention", "threshold", "--random-sizes", "60", "--sizes", "1:256KiB")
    completed = launch(
        2, sys.executable, "-m", "commmodel.bench", *kernels, "--time", "2s", "--seed", "1", "-o", str(output)
    )
    assert completed.returncode == 0, error_lines(completed)
    measurements = results.load(output)
    records = {entry.configuration: entry for entry in measurements.records}
    assert {type(entry) for entry in records} >= {RandomPing, RandomPingPong, Contention}
    for configuration, record in records.items():
        if isinstance(configuration, RandomPing | RandomPingPong):
            assert len(record.samples) % len(configuration.message_sizes) == 0
            assert len(record.samples) >= len(configuration.message_sizes)  # one pass where there is no time for more
            assert min(record.samples) > 0
    fitted = fit_machine(measurements, settings=FitSettings(samples=20))
    model = fitted.hybrid_model()
    assert all(mode.B.value > 0 for mode in model.modes)
    assert 1 <= model.contention.value <= 2
    # Where other programs made single sends slower than half of a round trip, a simulated one takes longer.
    assert round_trip(fitted, 100_000) >= 2 * model.seconds(100_000) * (1 - 1e-6)
