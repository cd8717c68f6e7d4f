"""What must hold of every simulation on shared links, for flows between any hosts of several platforms."""

import math
from functools import lru_cache

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commmodel.simulate import OPERATION, SMPI, Code, Network, Program, SimulationResult, fluid, run
from commmodel.simulate import platform as platforms
from commmodel.simulate.network import Factor
from commmodel.simulate.platform import Platform

BANDWIDTH, LATENCY = 125e6, 15e-6
PLATFORMS = ("flat", "limited", "cabinets", "fat-tree", "torus", "dragonfly")
HOSTS = 8
NETWORKS = (fluid(), SMPI, msgspec.structs.replace(SMPI, name="latency alone", capacity_weight=0.0))


@lru_cache(maxsize=64)
def platform(kind: str, scale: float = 1.0) -> Platform:
    """Return eight hosts; all bandwidths times a factor."""
    host = {"bandwidth": BANDWIDTH * scale, "latency": LATENCY}
    limiter = 1.5 * BANDWIDTH * scale
    match kind:
        case "flat":
            return platforms.flat(HOSTS, **host)
        case "limited":
            return platforms.flat(HOSTS, **host, limiter=limiter, backbone=(3 * BANDWIDTH * scale, 1e-6))
        case "cabinets":
            uplink = (2 * BANDWIDTH * scale, 0.0, 2.5 * BANDWIDTH * scale)
            return platforms.cabinets([3, 5], uplink=uplink, **host, limiter=limiter)
        case "fat-tree":
            return platforms.fat_tree([4, 2], [1, 2], [1, 1], **host)
        case "torus":
            return platforms.torus([4, 2], **host)
    return platforms.dragonfly(2, 1, 2, 2, **host)


sizes = st.integers(0, 400_000)
starts = st.integers(0, 20).map(lambda steps: steps * 1e-4)
ends = st.tuples(st.integers(0, HOSTS - 1), st.integers(0, HOSTS - 1)).filter(lambda pair: pair[0] != pair[1])
flows = st.lists(st.tuples(ends, sizes, starts), min_size=1, max_size=12)
"""Sending and receiving host, bytes, when it begins."""
Flows = list[tuple[tuple[int, int], int, float]]


def program(flows: Flows) -> tuple[Program, list[int]]:
    """Return a program in which two ranks of their own exchange each message, and the hosts of the ranks."""
    ranks, hosts = [], []
    for (source, destination), size, start in flows:
        sender, receiver = len(ranks), len(ranks) + 1
        ranks.append([(Code.SLEEP, 0, 0, -1, start), (Code.SEND, receiver, 0, -1, size)])
        ranks.append([(Code.RECV, sender, 0, -1, size)])
        hosts += [source, destination]
    return Program.from_ranks([np.array(operations, dtype=OPERATION) for operations in ranks]), hosts


def simulated(flows: Flows, kind: str, network: Network, scale: float = 1.0) -> SimulationResult:
    result, hosts = program(flows)
    outcome = run(result, network, platform(kind, scale), hosts=hosts, record=True)
    assert not outcome.blocked
    assert outcome.transfers.size == len(flows)
    return outcome


def arrivals(outcome: SimulationResult) -> np.ndarray:
    """Return when each message was there, in the order of the flows."""
    return outcome.ends[1::2]


def factor(factors: tuple[Factor, ...], size: float) -> float:
    """Return the value for a size."""
    return next((limit.value for limit in factors if size <= limit.limit), 1.0)


def uses(kind: str, pair: tuple[int, int], network: Network) -> tuple[dict[int, float], float, float, float]:
    """Return how much of each link a byte takes; latency, penalty and bound of the way."""
    routing = platform(kind).routing()
    capacity, latency = routing.capacity, routing.latency
    result, back = routing.route(*pair), routing.route(*pair[::-1])
    weights: dict[int, float] = dict.fromkeys(result, 1.0)
    if network.cross_traffic:
        for link in back:
            weights[link] = weights.get(link, 0.0) + network.cross_traffic
    way = float(sum(latency[link] for link in result))
    penalty = float(sum(latency[link] + network.capacity_weight / capacity[link] for link in result))
    bound = float(min(capacity[link] for link in result))
    return weights, way, penalty, min(bound, network.window / (2 * way)) if network.window else bound


def rates(active: dict[int, tuple[dict[int, float], float, float]], capacity: np.ndarray) -> dict[int, float]:
    """Return max-min fair rates, link by link: the slow way (Bertsekas and Gallager 1992, Section 6.5)."""
    rest, left, table = dict(enumerate(capacity)), dict(active), {}
    while left:
        demand: dict[int, float] = {}
        for weights, penalty, _ in left.values():
            for link, weight in weights.items():
                demand[link] = demand.get(link, 0.0) + weight / penalty
        level = min(rest[link] / entry for link, entry in demand.items())
        lowest = min(bound * penalty for _, penalty, bound in left.values())
        if lowest <= level:
            fixed = {key: entry[2] for key, entry in left.items() if entry[2] * entry[1] <= lowest * (1 + 1e-12)}
        else:
            full = {link for link, entry in demand.items() if rest[link] / entry <= level * (1 + 1e-12)}
            fixed = {key: level / entry[1] for key, entry in left.items() if full & entry[0].keys()}
        for key, rate in fixed.items():
            for link, weight in left.pop(key)[0].items():
                rest[link] -= weight * rate
        table |= fixed
    return table


def reference(flows: Flows, kind: str, network: Network) -> list[float]:
    """Return when each message is there, all rates anew at every event."""
    capacity = platform(kind).routing().capacity
    waiting, active, work, ended = [], {}, {}, [0.0] * len(flows)
    for number, (pair, size, start) in enumerate(flows):
        wire = size + network.header
        weights, way, penalty, bound = uses(kind, pair, network)
        begin = start + factor(network.latency_factors, wire) * way
        work[number] = wire / factor(network.bandwidth_factors, wire)
        waiting.append((begin, number, (weights, penalty, bound)))
    waiting.sort(key=lambda entry: entry[:2])
    now = 0.0
    while waiting or active:
        speed = rates(active, capacity)
        finish = min((now + work[key] / speed[key] for key in active), default=math.inf)
        time = min(finish, waiting[0][0] if waiting else math.inf)
        for key in list(active):
            work[key] -= speed[key] * (time - now)
            if work[key] <= 1e-12 * speed[key]:
                ended[key] = time
                del active[key]
        while waiting and waiting[0][0] <= time:
            _, number, use = waiting.pop(0)
            active[number] = use
            if not work[number]:
                ended[number] = time
                del active[number]
        now = time
    return ended


@given(flows, st.sampled_from(PLATFORMS), st.sampled_from(NETWORKS))
def test_times_are_those_of_the_slow_way(flows, kind, network):
    assert arrivals(simulated(flows, kind, network)) == pytest.approx(reference(flows, kind, network), rel=1e-9)


@given(flows, st.sampled_from(PLATFORMS), st.sampled_from(NETWORKS))
def test_no_link_carries_more_than_its_capacity(flows, kind, network):
    """In no span of time: the messages that left and arrived within it have been carried in it."""
    outcome = simulated(flows, kind, network)
    transfers = np.sort(outcome.transfers, order="receiver")
    capacity = platform(kind).routing().capacity
    loads = np.zeros((len(flows), capacity.size))
    for number, (pair, size, _) in enumerate(flows):
        wire = size + network.header
        for link, weight in uses(kind, pair, network)[0].items():
            loads[number, link] = weight * wire / factor(network.bandwidth_factors, wire)
    for begin in np.unique(transfers["left"]):
        for end in np.unique(transfers["arrived"]):
            within = (transfers["left"] >= begin) & (transfers["arrived"] <= end)
            assert (loads[within].sum(axis=0) <= capacity * max(end - begin, 0.0) * (1 + 1e-9)).all()


@given(st.lists(st.tuples(st.just((0, 1)), sizes, starts), min_size=2, max_size=12), st.sampled_from(NETWORKS))
def test_another_flow_on_a_single_link_makes_none_faster(flows, network):
    with_all = arrivals(simulated(flows, "flat", network))
    without = arrivals(simulated(flows[:-1], "flat", network))
    assert (with_all[:-1] >= without * (1 - 1e-12)).all()


def scaled(network: Network, scale: float) -> Network:
    """Return a network of which all that is in bytes is multiplied."""
    factors = {
        name: tuple(Factor(limit.limit * scale, limit.value) for limit in getattr(network, name))
        for name in ("latency_factors", "bandwidth_factors")
    }
    names = ("header", "eager_limit", "detached_limit", "window", "capacity_weight")
    values = {name: getattr(network, name) * scale for name in names}
    return msgspec.structs.replace(network, **factors, **values)


@given(flows, st.sampled_from(PLATFORMS), st.sampled_from(NETWORKS), st.sampled_from([2.0, 64.0, 1024.0]))
def test_sizes_and_bandwidths_times_one_factor_leave_times_as_they_are(flows, kind, network, scale):
    larger = [(pair, int(size * scale), start) for pair, size, start in flows]
    outcome = simulated(larger, kind, scaled(network, scale), scale)
    assert arrivals(outcome).tolist() == arrivals(simulated(flows, kind, network)).tolist()


@given(flows, st.sampled_from(PLATFORMS), st.sampled_from(NETWORKS))
def test_the_same_again_bit_for_bit(flows, kind, network):
    result, other = simulated(flows, kind, network), simulated(flows, kind, network)
    assert result.transfers.tobytes() == other.transfers.tobytes()
    assert result.intervals.tobytes() == other.intervals.tobytes()
    assert result.ends.tobytes() == other.ends.tobytes()
    assert result.link_bytes.tobytes() == other.link_bytes.tobytes()


@given(flows, st.sampled_from(PLATFORMS))
def test_what_links_carried_is_what_was_sent(flows, kind):
    outcome = simulated(flows, kind, fluid())
    expected = np.zeros_like(outcome.link_bytes)
    for pair, size, _ in flows:
        for link in platform(kind).routing().route(*pair):
            expected[link] += size
    assert outcome.link_bytes.tolist() == expected.tolist()
