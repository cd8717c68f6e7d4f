"""Derivatives on shared links, by one run and a walk back: finite differences of random programs, formulas, limits."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.engine_programs import WAITALL, compute, irecv, isend, program, recv, send

from commmodel import simulate
from commmodel.simulate import SMPI, Code, flows, fluid, platform, run
from commmodel.simulate.network import Overhead

COST = 1e-6


def overheads(constant, per_byte):
    return (Overhead(float("inf"), constant, per_byte),)


SPENT = {"send": overheads(3e-6, 1e-10), "isend": overheads(2e-6, 1e-10), "receive": overheads(4e-6, 2e-10)}
NETWORKS = {
    "fluid": fluid(),
    "smpi": SMPI,
    "hybrid": msgspec.structs.replace(
        fluid(60_000, 2_000), name="hybrid", message_gaps=overheads(5e-6, 0.0), capacity_weight=1000.0, **SPENT
    ),
    "socket": msgspec.structs.replace(
        SMPI, name="socket", eager_limit=2000, answers_in_order=True, leaves_unexpected=True, send_buffer=30_000.0,
        one_queue=True, variation=0.01, unevenness=0.05, window=20_000.0, **SPENT,
    ),
}  # fmt: skip


def changed(place, **arrays):
    """Return a platform with other capacities, latencies or fatpipes."""
    from dataclasses import replace

    return replace(place, description=None, **arrays)


@st.composite
def platforms(draw):
    """Return hosts whose links have different bandwidths and latencies, some of them shared by many."""
    factors = st.integers(300, 1000).map(lambda part: part / 1000)
    place = draw(st.sampled_from([
        platform.flat(4, 125e6, 15e-6, cores=4),
        platform.flat(3, 125e6, 15e-6, cores=4, limiter=200e6),
        platform.cabinets([2, 3], 125e6, 15e-6, (150e6, 30e-6), cores=4),
    ]))  # fmt: skip
    links = place.capacity.size
    scales = [np.array(draw(st.lists(factors, min_size=links, max_size=links))) for _ in range(2)]
    fatpipe = np.array(draw(st.lists(st.sampled_from([0, 0, 0, 1]), min_size=links, max_size=links)), np.uint8)
    return changed(place, capacity=place.capacity * scales[0], latency=place.latency * scales[1], fatpipe=fatpipe)


@st.composite
def works(draw, hosts):
    """Return what ranks do in rounds, as a function of factors of the hosts' computation; and the host of each."""
    places = draw(st.lists(st.integers(0, hosts - 1), min_size=2, max_size=6))
    ranks = range(len(places))
    work = [[] for _ in ranks]
    for number in range(draw(st.integers(1, 4))):
        for rank in ranks:
            work[rank].append(compute(draw(st.integers(0, 1000)) * COST * 1.0137))
        for sender, receiver in draw(st.lists(st.permutations(ranks).map(lambda order: order[:2]), max_size=8)):
            size = draw(st.one_of(st.integers(0, 3000), st.integers(0, 200_000)))
            work[sender].append(isend(receiver, size, number))
            work[receiver].append(irecv(sender, tag=number))
        for rank in ranks:
            work[rank].append(WAITALL)

    def make(factors):
        def scaled(rank, row):
            return (*row[:4], row[4] * factors[places[rank]]) if row[0] == Code.COMPUTE else row

        return program(*([scaled(rank, row) for row in work[rank]] for rank in ranks))

    return make, places


def difference(seconds, step):
    """Return the derivative at 0 by central differences, of second order; None where it changes within the step."""
    whole, half = ((seconds(h) - seconds(-h)) / (2 * h) for h in (step, step / 2))
    later, sooner = (abs(seconds(h) - seconds(0.0)) / step for h in (step, -step))
    scale = max(abs(whole), abs(half))
    rounding = 1e-10 * seconds(0.0)
    if abs(whole - half) > 1e-6 * scale + rounding or abs(later - sooner) > 1e-2 * scale + rounding:
        return None
    return (4 * half - whole) / 3


@pytest.mark.parametrize("name", NETWORKS)
def test_derivatives_are_finite_differences(name):
    network, hits, left_out = NETWORKS[name], [], []

    @settings(max_examples=60, deadline=None)
    @given(platforms(), st.data())
    def check(place, data):
        make, hosts = data.draw(works(place.hosts))
        ones = np.ones(place.hosts)
        base = run(make(ones), network, place, hosts=hosts, slopes="factors")
        plain = run(make(ones), network, place, hosts=hosts)
        assert base.ends.tolist() == plain.ends.tolist()
        gradient = base.gradient
        slopes = {
            "capacity": gradient.by_bandwidth * place.capacity, "latency": gradient.by_latency * place.latency,
            "compute": gradient.by_computation,
        }  # fmt: skip
        for _ in range(3):
            kind = data.draw(st.sampled_from(list(slopes)))
            number = data.draw(st.integers(0, slopes[kind].size - 1))

            def seconds(step, kind=kind, number=number):
                factor = np.ones(slopes[kind].size)
                factor[number] += step
                if kind == "compute":
                    return run(make(factor), network, place, hosts=hosts).seconds
                other = changed(place, **{kind: getattr(place, kind) * factor})
                return run(make(ones), network, other, hosts=hosts).seconds

            expected = difference(seconds, 1e-4)
            (left_out if expected is None else hits).append(kind)
            if expected is not None:
                assert slopes[kind][number] == pytest.approx(expected, rel=1e-6, abs=1e-9 * base.seconds), (
                    kind,
                    number,
                )

    check()
    assert len(left_out) < 0.1 * len(hits)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["fluid", "smpi"])
def test_derivatives_of_many_flows_at_once_are_finite_differences(name, seed):
    """So many that shares are updated, and not found anew."""
    random = np.random.default_rng(seed)
    place = [platform.cabinets([6, 6], 125e6, 15e-6, (400e6, 30e-6), cores=4), platform.torus([4, 3], 125e6, 15e-6)][
        seed % 2
    ]
    links = place.capacity.size
    capacity, latency = (array * random.uniform(0.3, 1, links) for array in (place.capacity, place.latency))
    place = changed(place, capacity=capacity, latency=latency)
    work = [[compute(float(random.uniform(0, 1e-3)))] for _ in range(36)]
    for tag in range(100):
        sender, receiver = random.permutation(36)[:2].tolist()
        work[sender].append(isend(receiver, int(random.integers(0, 200_000)), tag))
        work[receiver].append(irecv(sender, tag=tag))
    many = program(*([*calls, WAITALL] for calls in work))
    hosts = random.integers(0, 12, 36)
    base = run(many, NETWORKS[name], place, hosts=hosts, slopes="factors")
    assert base.solver_calls > 80
    slopes = {"capacity": base.gradient.by_bandwidth * capacity, "latency": base.gradient.by_latency * latency}
    for kind, by_link in slopes.items():
        for link in np.argsort(-np.abs(by_link))[:3]:

            def seconds(step, kind=kind, link=link):
                factor = 1 + step * (np.arange(links) == link)
                other = changed(place, **{kind: getattr(place, kind) * factor})
                return run(many, NETWORKS[name], other, hosts=hosts).seconds

            expected = difference(seconds, 1e-6)
            if expected is not None:
                assert by_link[link] == pytest.approx(expected, rel=1e-6, abs=1e-8 * base.seconds)


def test_two_ranks_and_a_link_have_the_derivatives_of_the_formula():
    """Computation, then a message: T = c + l1 + l2 + n / B1, as the first link is the narrower one."""
    place = platform.flat(2, 100e6, 1e-3)
    place = changed(place, capacity=place.capacity * np.where(np.arange(4) == 0, 0.5, 1.0))
    work = program([compute(0.01), send(1, 1e6)], [recv(0)])
    result = run(work, fluid(), place, slopes="parameters")
    gradient = result.gradient
    assert result.seconds == pytest.approx(0.01 + 0.002 + 0.02)
    assert gradient.by_bandwidth == pytest.approx([-1e6 / 50e6**2, 0.0, 0.0, 0.0])
    assert gradient.by_latency == pytest.approx([1.0, 0.0, 0.0, 1.0])
    assert gradient.by_computation == pytest.approx([0.01, 0.0])
    assert result.derivatives == pytest.approx(
        {"latency": 0.002, "overhead": 0, "gap": 0, "bandwidth": 0.02, "compute": 0.01}
    )
    assert [link.name for link in gradient.links()] == ["node-0 up", "node-1 down"]
    assert [tuple(host) for host in gradient.hosts()] == [("node-0", pytest.approx(0.01))]


def test_a_flow_that_ends_moves_the_end_of_another():
    """Two messages share an uplink; when the shorter has ended, the longer has all of it: T = l + (n1 + n2) / B."""
    place = platform.flat(3, 100e6, 1e-3)
    sends = [isend(1, 1e6), isend(2, 3e6), WAITALL]
    gradient = run(program(sends, [recv(0)], [recv(0)]), fluid(), place, slopes="factors").gradient
    slopes = {link.name: link for link in gradient.links()}
    assert slopes["node-0 up"].bandwidth == pytest.approx(0.04)
    assert slopes["node-0 up"].latency == pytest.approx(1e-3)
    for other in ("node-1 down", "node-2 down"):  # that which begins sooner decides: both count by half
        assert tuple(slopes[other][1:]) == pytest.approx((0.0, 0.5e-3))


def test_costs_add_up_to_the_time_of_what_is_the_same_on_all_ranks():
    """Where many things happen at the very same time, the sum over links and hosts is still the derivative."""
    result = simulate.collective("alltoall", 20_000, 16, on="graphene", slopes="factors")
    assert sum(result.derivatives.values()) == pytest.approx(result.seconds)

    def seconds(**scale):
        where = simulate.scenario.Scale(**scale)
        return simulate.collective("alltoall", 20_000, 16, on="graphene", scale=where).seconds

    step = 1e-4
    by_latency = (seconds(latency=1 + step) - seconds(latency=1 - step)) / (2 * step)
    assert result.derivatives["latency"] == pytest.approx(by_latency, rel=1e-6)


def test_ranks_that_hang_have_no_derivatives():
    result = run(program([recv(1)], []), fluid(), platform.flat(2, 1e8, 1e-6), deadlock="return", slopes="factors")
    assert result.gradient is None
    assert result.derivatives == {}


def test_a_run_of_too_many_steps_has_none_and_says_so(monkeypatch):
    monkeypatch.setattr(flows, "_MOST_STEPS", 10)
    result = simulate.exchange("ring", 1000, 8, on="switch", model="smpi", slopes="factors")
    assert result.gradient is None
    assert result.notes[-1].startswith("no derivatives: the run has over 10 steps")
