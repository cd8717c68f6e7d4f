"""Max-min sharing of bandwidth: against exact fractions, and what must always hold."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commmodel._core.sharing.solver import Sharing
from commmodel.errors import InputError

REVERSE = float(np.float32(0.05))  # weights are single precision
MANY = 24  # flows, more than what is always shared from nothing


@dataclass(frozen=True)
class Flow:
    """What a test asks for."""

    links: tuple[int, ...]
    weights: tuple[float, ...]
    penalty: float
    bound: float
    work: float


@dataclass(frozen=True)
class Net:
    """Links."""

    capacity: tuple[float, ...]
    fatpipe: tuple[bool, ...]


def exact_rates(net: Net, flows: dict[int, Flow]) -> dict[int, Fraction]:
    """Return max-min fair rates: all levels rise together until a link is full or a flow at its bound."""
    remaining = [Fraction(capacity) for capacity in net.capacity]
    shared = {
        number: [
            (link, Fraction(weight))
            for link, weight in zip(flow.links, flow.weights, strict=True)
            if not net.fatpipe[link]
        ]
        for number, flow in flows.items()
    }
    bounds = {}
    for number, flow in flows.items():
        limits = [
            Fraction(net.capacity[link]) / Fraction(weight)
            for link, weight in zip(flow.links, flow.weights, strict=True)
            if net.fatpipe[link]
        ]
        limits += [Fraction(flow.bound)] if flow.bound < math.inf else []
        if limits:
            bounds[number] = min(limits) * Fraction(flow.penalty)
    rates: dict[int, Fraction] = {}
    rising = set(flows)
    while rising:
        slope = [Fraction(0)] * len(remaining)
        for number in rising:
            for link, weight in shared[number]:
                slope[link] += weight / Fraction(flows[number].penalty)
        full = {link: remaining[link] / entry for link, entry in enumerate(slope) if entry}
        level = min([*full.values(), *(bounds[number] for number in rising if number in bounds)])
        tight = {link for link, entry in full.items() if entry == level}
        rows = {
            number
            for number in rising
            if bounds.get(number) == level or any(link in tight for link, _ in shared[number])
        }
        for number in rows:
            rates[number] = level / Fraction(flows[number].penalty)
            for link, weight in shared[number]:
                remaining[link] -= weight * rates[number]
        rising -= rows
    return rates


def add(sharing: Sharing, now: float, flow: Flow) -> int:
    return sharing.add(now, flow.links, flow.weights, flow.penalty, flow.bound, flow.work)


def check_rates(net: Net, sharing: Sharing, flows: dict[int, Flow]) -> None:
    exact = exact_rates(net, flows)
    load = np.zeros(len(net.capacity))
    for number, flow in flows.items():
        rate = sharing.rate(number)
        assert rate == pytest.approx(float(exact[number]), rel=1e-10)
        for link, weight in zip(flow.links, flow.weights, strict=True):
            load[link] = max(load[link], weight * rate) if net.fatpipe[link] else load[link] + weight * rate
    assert (load <= np.array(net.capacity) * (1 + 1e-12)).all()


@st.composite
def flows_on(draw: st.DrawFn, links: int, even: bool) -> Flow:
    """Draw a flow; of an `even` net, one of few kinds, so that many levels and times are equal."""
    used = draw(st.lists(st.integers(0, links - 1), min_size=0, max_size=4, unique=True))
    weight = st.sampled_from([1.0, REVERSE]) if even else st.floats(0.03125, 2, width=32)
    penalty = st.sampled_from([1.0, 2.0]) if even else st.floats(1e-5, 1e-2)
    bound = st.sampled_from([4.0, 10.0, math.inf]) if even else st.one_of(st.floats(0.1, 1e3), st.just(math.inf))
    work = st.sampled_from([100.0, 200.0]) if even else st.floats(0.1, 1e4)
    some = draw(bound)
    return Flow(
        tuple(used),
        tuple(draw(weight) for _ in used),
        draw(penalty),
        some if used or some < math.inf else 1.0,
        draw(work),
    )


@st.composite
def nets(draw: st.DrawFn, even: bool) -> Net:
    count = draw(st.integers(1, 10))
    capacity = st.sampled_from([10.0, 20.0, 30.0]) if even else st.floats(1, 1e3)
    return Net(tuple(draw(capacity) for _ in range(count)), tuple(draw(st.integers(0, 7)) == 0 for _ in range(count)))


@pytest.mark.parametrize("even", [True, False])
@settings(max_examples=25)
@given(data=st.data())
def test_rates_are_max_min_fair_after_every_change(data: st.DataObject, even: bool) -> None:
    net = data.draw(nets(even))
    sharing = Sharing(net.capacity, net.fatpipe)
    now = 0.0
    flows: dict[int, Flow] = {}
    for step in range(data.draw(st.integers(2, 8))):
        for _ in range(MANY + 8 if step == 0 else data.draw(st.integers(0, 2))):
            flow = data.draw(flows_on(len(net.capacity), even))
            flows[add(sharing, now, flow)] = flow
        end = sharing.next(now)
        assert end >= now
        check_rates(net, sharing, flows)
        if not flows:
            assert end == math.inf
        elif data.draw(st.booleans()):
            finished = sharing.take_finished(end)
            assert finished
            for number in finished:
                del flows[number]
            now = end
        else:
            now += (end - now) * data.draw(st.floats(0, 0.9))


@settings(max_examples=20)
@given(data=st.data())
def test_flows_finish_when_their_work_is_done(data: st.DataObject) -> None:
    net = data.draw(nets(False))
    sharing = Sharing(net.capacity, net.fatpipe)
    flows = {}
    for _ in range(MANY):
        flow = data.draw(flows_on(len(net.capacity), False))
        flows[add(sharing, 0.0, flow)] = flow
    done = dict.fromkeys(flows, 0.0)
    now = 0.0
    while flows:
        end = sharing.next(now)
        for number in flows:
            done[number] += sharing.rate(number) * (end - now)
        now = end
        for number in sharing.take_finished(now):
            assert done[number] == pytest.approx(flows.pop(number).work, rel=1e-9)
        for number, flow in flows.items():
            assert done[number] < flow.work * (1 + 1e-9)
    assert sharing.next(now) == math.inf


def levels(net: Net, flows: Sequence[Flow]) -> list[float]:
    sharing = Sharing(net.capacity, net.fatpipe)
    numbers = [add(sharing, 0.0, flow) for flow in flows]
    sharing.next(0.0)
    return [sharing.rate(number) for number in numbers]


@settings(max_examples=20)
@given(data=st.data())
def test_mended_rates_are_those_from_nothing(data: st.DataObject) -> None:
    net = data.draw(nets(False))
    flows = [data.draw(flows_on(len(net.capacity), False)) for _ in range(MANY + 4)]
    sharing = Sharing(net.capacity, net.fatpipe)
    numbers = [add(sharing, 0.0, flow) for flow in flows[:MANY]]
    sharing.next(0.0)
    for flow in flows[MANY:]:
        numbers.append(add(sharing, 0.0, flow))
        sharing.next(0.0)
    assert [sharing.rate(number) for number in numbers] == pytest.approx(levels(net, flows), rel=1e-11)


@settings(max_examples=40)
@given(st.data())
def test_another_flow_speeds_none_up_on_a_single_link(data: st.DataObject) -> None:
    net = Net((data.draw(st.floats(1, 1e3)),), (False,))
    flows = data.draw(st.lists(flows_on(1, False), min_size=1, max_size=30))
    more = data.draw(flows_on(1, False))
    for before, after in zip(levels(net, flows), levels(net, [*flows, more]), strict=False):
        assert after <= before * (1 + 1e-12)


@settings(max_examples=40)
@given(st.data(), st.integers(-8, 8))
def test_times_do_not_change_where_all_sizes_and_bandwidths_are_scaled(data: st.DataObject, power: int) -> None:
    factor = 2.0**power
    net = data.draw(nets(False))
    flows = data.draw(st.lists(flows_on(len(net.capacity), False), min_size=1, max_size=20))
    larger = Net(tuple(entry * factor for entry in net.capacity), net.fatpipe)
    scaled = [
        Flow(entry.links, entry.weights, entry.penalty, entry.bound * factor, entry.work * factor) for entry in flows
    ]
    assert ends(larger, scaled) == ends(net, flows)  # a power of two: bit for bit


def ends(net: Net, flows: Sequence[Flow]) -> list[tuple[float, list[int]]]:
    sharing = Sharing(net.capacity, net.fatpipe)
    for flow in flows:
        add(sharing, 0.0, flow)
    rows = []
    now = 0.0
    while (now := sharing.next(now)) < math.inf:
        rows.append((now, sharing.take_finished(now)))
    return rows


@settings(max_examples=40)
@given(st.data())
def test_same_input_gives_the_same_output(data: st.DataObject) -> None:
    net = data.draw(nets(True))
    flows = data.draw(st.lists(flows_on(len(net.capacity), True), max_size=40))
    assert ends(net, flows) == ends(net, flows)


def test_two_flows_with_different_penalties_end_as_in_the_peer() -> None:
    """SimGrid 3.32: 100 MB on a link of 100 MB/s, each sender on a link of 125 MB/s with 15 us or 1 ms more."""
    capacity = (1e8, 1.25e8, 1.25e8)
    starts = (11.6436 * 3e-5, 11.6436 * 1.02e-3)
    penalties = (1.8795e-4, 1.17795e-3)
    sharing = Sharing(capacity)
    for link, (start, penalty) in enumerate(zip(starts, penalties, strict=True), start=1):
        sharing.add(start, [0, link], penalty=penalty, bound=1e8, work=1e8 / 0.940694)
        first = sharing.next(start)
    assert sharing.take_finished(first) == [0]
    assert first == pytest.approx(1.231171124, abs=1e-9)
    assert sharing.next(first) == pytest.approx(2.126439195, abs=1e-9)


def test_a_full_duplex_exchange_gets_what_cross_traffic_leaves() -> None:
    sharing = Sharing([125.0, 125.0, 187.5])
    result = sharing.add(0, [0, 1, 2], [1, REVERSE, 1 + REVERSE])
    back = sharing.add(0, [0, 1, 2], [REVERSE, 1, 1 + REVERSE])
    sharing.next(0)
    assert sharing.rate(result) == sharing.rate(back) == pytest.approx(187.5 / 2.1)


def test_flows_of_a_regular_phase_end_at_once_in_the_order_in_which_they_were_added() -> None:
    processes = 256
    sharing = Sharing([125.0] * (2 * processes))
    now = 0.0
    for shift in (1, 77, 200):
        order = [
            sharing.add(
                now,
                [2 * rank, 2 * other + 1, 2 * other, 2 * rank + 1],
                [1, 1, REVERSE, REVERSE],
                work=1000,
            )
            for rank in range(processes)
            for other in [(rank + shift) % processes]
        ]
        now = sharing.next(now)
        assert sharing.take_finished(now) == order
    assert sharing.solutions == 3
    assert now == pytest.approx(3 * 1000 * (1 + REVERSE) / 125)


def test_ends_within_rounding_are_one_time() -> None:
    sharing = Sharing([3.0, 3.0])
    for part in range(10):  # 1/10 of the work each, that does not add up exactly
        sharing.add(part * 0.1, [0], work=1 - part * 0.1)
        sharing.next(part * 0.1)
    sharing.add(0.9, [1], work=3.0)
    now, times = 0.9, 0
    while sharing.next(now) < math.inf:
        now = sharing.next(now)
        sharing.take_finished(now)
        times += 1
    assert times <= 11
    result = Sharing([10.0, 10.0])
    result.add(0, [0], work=1.0)
    result.add(0, [1], work=1.0 + 2e-15)
    assert len(result.take_finished(result.next(0))) == 2


def test_no_drift_over_many_changes() -> None:
    """Rates after 20,000 changes, with one large flow that stays, are still the exact ones."""
    net = Net((100.0, 6.0, 60.0), (False, False, False))
    sharing = Sharing(net.capacity)
    first = Flow((0, 1), (1.0, REVERSE), 1e-3, math.inf, 1e12)
    flows = {add(sharing, 0.0, first): first}
    kinds = [
        Flow((0, 2) if i % 3 else (0,), (1.0, 0.75) if i % 3 else (1.0,), 0.1 * (1 + i % 7), 0.5, 1.0 + i % 5)
        for i in range(105)
    ]
    now = 0.0
    for i in range(20_000):
        while len(flows) < 41:
            kind = kinds[(i + len(flows)) % len(kinds)]
            flows[add(sharing, now, kind)] = kind
        now = sharing.next(now)
        for number in sharing.take_finished(now):
            del flows[number]
    sharing.next(now)
    check_rates(net, sharing, flows)


@pytest.mark.parametrize("seed", range(4))
def test_every_flow_is_held_down_in_a_large_net(seed: int) -> None:
    """The local conditions of docs/theory/sharing.md, after each of many small changes."""
    rng = np.random.default_rng(seed)
    links = 60
    capacity = rng.choice([50.0, 100.0, 400.0], links)
    sharing = Sharing(capacity.tolist())
    weights: dict[int, np.ndarray] = {}
    now = 0.0
    for _ in range(300):
        for _ in range(int(rng.integers(1, 4)) if len(weights) >= 150 else 10):
            used = rng.choice(links, 8, replace=False)
            row = np.zeros(links)
            row[used] = np.float32(rng.choice([1, 0.05], 8))
            number = sharing.add(now, used.tolist(), row[used].tolist(), work=rng.uniform(10, 100), bound=90)
            weights[number] = row
        now = sharing.next(now)
        rate = np.array([sharing.rate(number) for number in weights])
        uses = np.array(list(weights.values()))
        load = rate @ uses
        assert (load <= capacity * (1 + 1e-12)).all()
        highest = np.where(uses > 0, rate[:, None], 0).max(axis=0)
        full = load >= capacity * (1 - 1e-10)
        result = ((uses > 0) & full & (rate[:, None] >= highest * (1 - 1e-10))).any(axis=1)
        assert (result | (rate >= 90 * (1 - 1e-10))).all()
        for number in sharing.take_finished(now):
            del weights[number]


def test_a_flow_without_links_moves_at_its_bound() -> None:
    sharing = Sharing([])
    sharing.add(1.0, [], bound=4.0, work=8.0)
    assert sharing.next(1.0) == 3.0
    sharing.add(1.0, [], work=8.0)
    assert sharing.next(1.0) == 1.0


@pytest.mark.parametrize(
    ("links", "wrong"),
    [([1], {}), ([-1], {}), ([0, 0], {}), ([0], {"weights": [0]}), ([0], {"penalty": 0}), ([0], {"work": -1})],
)
def test_wrong_flows_are_refused(links: list[int], wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Sharing([1.0]).add(0, links, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="capacity"):
        Sharing([0.0])
    with pytest.raises(InputError, match="no flow"):
        Sharing([1.0]).rate(0)
