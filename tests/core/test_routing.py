"""Routes through platforms: against another simulator's, and what must hold for all of them."""

import hashlib
import tomllib
from math import fsum, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.paths import ORACLES

from commmodel._core.routing.routes import Routing
from commmodel.simulate import platform as platforms
from commmodel.simulate.platform.xml import read_xml_bytes

ORACLE = tomllib.loads((ORACLES / "routes.toml").read_text())
SPLIT = {"bandwidth": 125e6, "latency": 15e-6}


@pytest.mark.parametrize("name", ORACLE)
def test_routes_are_those_of_simgrid(name):
    entry = ORACLE[name]
    platform, _ = read_xml_bytes(f'<platform version="4.1">{entry["xml"]}</platform>'.encode())
    routing = platform.routing()
    hosts = [platform.host(host) for host in entry["hosts"]]
    routes = [routing.route(host, other) for host in hosts for other in hosts]
    numbers = {}
    renumbered = [[numbers.setdefault(link, len(numbers)) for link in route] for route in routes]
    for source, destination, latency, route in entry["routes"]:
        place = source * len(hosts) + destination
        assert renumbered[place] == route
        assert fsum(routing.latency[routes[place]]) == pytest.approx(latency, rel=1e-14)
    assert hashlib.sha256(repr(renumbered).encode()).hexdigest() == entry["digest"]
    used = list(numbers)
    assert len(used) == entry["links"]
    assert routing.capacity[used].sum() == pytest.approx(entry["capacity"], rel=1e-12)
    assert routing.fatpipe[used].sum() == entry["fatpipes"]
    assert fsum(fsum(routing.latency[route]) for route in routes) == pytest.approx(entry["latency"], rel=1e-9)


def any_platform(draw):
    """Draw a platform of any kind, with or without limiters."""
    small = st.integers(1, 4)
    options = SPLIT | {"limiter": draw(st.sampled_from([None, 187.5e6])), "loopback": (5e9, 0.0)}
    kind = draw(st.sampled_from(["flat", "cabinets", "fat_tree", "torus", "dragonfly", "crossbar", "hyperx"]))
    if kind in {"flat", "crossbar"}:
        return getattr(platforms, kind)(draw(st.integers(1, 12)), **options)
    if kind == "cabinets":
        return platforms.cabinets(draw(st.lists(small, min_size=1, max_size=4)), uplink=(1e9, 1e-6, 1.3e9), **options)
    if kind == "fat_tree":
        levels = draw(st.integers(1, 3))
        sizes = [draw(st.lists(small, min_size=levels, max_size=levels)) for _ in range(3)]
        return platforms.fat_tree(*sizes, **options)
    if kind == "torus":
        return platforms.torus(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)), **options)
    if kind == "hyperx":
        return platforms.hyperx(draw(st.lists(small, min_size=1, max_size=3)), nodes=draw(st.integers(1, 3)), **options)
    chassis, blades = draw(small), draw(small)
    groups = draw(st.integers(1, min(4, chassis * blades)))
    return platforms.dragonfly(groups, chassis, blades, draw(st.integers(1, 3)), **options)


@settings(max_examples=150, deadline=None)
@given(st.composite(any_platform)(), st.data())
def test_every_route_is_there_and_back_and_uses_no_link_twice(platform, data):
    routing = platform.routing()
    ends = st.integers(0, platform.hosts - 1)
    source, destination = data.draw(ends), data.draw(ends)
    result, back = routing.route(source, destination), routing.route(destination, source)
    assert len(result) == len(back)
    assert len(set(result)) == len(result)
    assert all(0 <= link < platform.capacity.size for link in result)
    if source == destination:
        assert platform.route(source, source) == [f"{platform.host_names[source]} loopback"]
    elif platform.description.limiter:
        assert result[0] == platform.link_names.index(f"{platform.host_names[source]} limiter")
        assert result[-1] == platform.link_names.index(f"{platform.host_names[destination]} limiter")
    else:
        names = platform.route(source, destination)
        if platform.kind in {"flat", "cabinets", "dragonfly"}:
            assert names[0] == f"{platform.host_names[source]} up"
            assert names[-1] == f"{platform.host_names[destination]} down"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.data())
def test_a_route_in_a_torus_is_as_long_as_the_distance(sizes, data):
    platform = platforms.torus(sizes, **SPLIT)
    result, other = (data.draw(st.integers(0, prod(sizes) - 1)) for _ in range(2))
    distance, a, b = 0, result, other
    for size in sizes:
        apart = abs(a % size - b % size)
        distance += min(apart, size - apart)
        a, b = a // size, b // size
    assert len(platform.routing().route(result, other)) == distance


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 3).flatmap(lambda n: st.tuples(*[st.lists(st.integers(1, 4), min_size=n, max_size=n)] * 3)),
    st.data(),
)
def test_a_route_in_a_fat_tree_goes_up_to_the_first_common_level(sizes, data):
    down = sizes[0]
    platform = platforms.fat_tree(*sizes, **SPLIT)
    result, other = (data.draw(st.integers(0, prod(down) - 1)) for _ in range(2))
    level, below = 0, 1
    while result // below != other // below or level == 0:
        below *= down[level]
        level += 1
    names = platform.route(result, other)
    assert [name.endswith("up") for name in names] == [True] * level + [False] * level
    assert names[0].startswith(f"node-{result} ")
    assert names[-1].startswith(f"node-{other} ")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(1, 3), st.data())
def test_a_route_in_a_hyperx_takes_one_link_in_each_dimension_in_which_routers_differ(sizes, nodes, data):
    platform = platforms.hyperx(sizes, nodes=nodes, **SPLIT)
    a, b = (data.draw(st.integers(0, platform.hosts - 1)) for _ in range(2))
    names = platform.route(a, b)
    a, b = a // nodes, b // nodes
    differing = []
    for dimension, size in enumerate(sizes):
        if a % size != b % size:
            differing.append(f"dimension {dimension}")
        a, b = a // size, b // size
    assert [name.rpartition(" link ")[0] for name in names[1:-1]] == differing


def test_a_hyperx_joins_each_two_routers_of_a_row_by_a_link_of_their_own():
    platform = platforms.hyperx([3, 4], **SPLIT)
    used = {
        link
        for index in range(12)
        for other in range(12)
        if (index % 3 == other % 3) != (index // 3 == other // 3)
        for link in platform.routing().route(index, other)[1:-1]
    }
    assert len(used) == 2 * (4 * 3 + 3 * 6)
    assert len(used) + 2 * 12 == platform.capacity.size


def test_a_fat_tree_sends_each_destination_down_its_own_cable():
    routing = platforms.fat_tree([4, 4], [1, 2], [1, 2], **SPLIT).routing()
    down = {d: routing.route(0, d)[2] for d in range(4, 8)}
    assert len(set(down.values())) == 4


def test_a_shift_does_not_collide_in_a_full_fat_tree():
    """What D-mod-k is for (Zahavi 2010): a tree with as many cables up as down carries every shift without sharing."""
    platform = platforms.fat_tree([4, 4, 4], [1, 4, 4], [1, 1, 1], **SPLIT)
    ranks = np.arange(64)
    for shift in range(1, 64):
        assert platform.routing().count(ranks, (ranks + shift) % 64).max() == 1


HOPS = {
    "kind": "hops",
    "hosts": 2,
    "points": 2,
    "before": [-1, 0, 1, -1],
    "first": [0, 1, 2],
    "ends": [1, 0],
    "offsets": [0, 1, 2],
    "links": [0, 1],
}


@pytest.mark.parametrize(
    ("zone", "problem"),
    [
        ({"kind": "star", "hosts": 2, "points": 2, "up": [0, 9], "down": [0, 1]}, "link 9: expected -1 to 3"),
        ({"kind": "star", "hosts": 2, "points": 2, "up": [0], "down": [0, 1]}, "for each host"),
        ({"kind": "table", "hosts": 2, "points": 2, "offsets": [0, 1], "links": [0]}, "offsets"),
        (HOPS | {"before": [-1, 1, 1, -1]}, "does not lead"),
        (HOPS | {"before": [-1, 0, 1]}, "does not lead"),
        (HOPS | {"first": [0, 0, 2]}, "does not lead"),
        (HOPS | {"ends": [1, 2]}, "point 2"),
        ({"kind": "torus", "hosts": 4, "points": 4, "sizes": [2, 3]}, "torus of 6 hosts"),
        ({"kind": "torus", "hosts": 4, "points": 4, "sizes": [2, 2]}, "are not there"),
        ({"kind": "tree", "hosts": 4, "points": 4}, "unknown kind"),
    ],
)
def test_arrays_that_contradict_each_other_are_refused(zone, problem):
    defaults = {"limiter": [-1, -1], "loopback": [-1, -1], "backbone": -1, "directions": 2, "first_link": 0}
    with pytest.raises(ValueError, match=problem):
        Routing(np.ones(4), np.zeros(4), np.zeros(4), [defaults | {"as_simgrid": False} | zone])


def test_hosts_that_are_not_there_are_refused():
    routing = platforms.flat(2, **SPLIT).routing()
    with pytest.raises(ValueError, match="hosts are 0 to 1: 0, 2"):
        routing.route(0, 2)
    with pytest.raises(ValueError, match="host -1"):
        routing.count([0], [-1])
