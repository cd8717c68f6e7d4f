"""Platforms as built and as TOML."""

import math
import subprocess
import sys

import numpy as np
import pytest

from commmodel.errors import DamagedFileError, InputError
from commmodel.simulate import platform as platforms
from commmodel.simulate.platform import topologies

SPLIT = {"bandwidth": 125e6, "latency": 15e-6}
FLAT = 'format = "commmodel-platform"\nversion = 1\nkind = "flat"\nhosts = 4\nbandwidth = "125MB/s"\nlatency = "15us"\n'
BUILT = {
    "flat": platforms.flat(
        4, limiter=187.5e6, backbone=(2.5e9, 1e-6), loopback=(5e9, 0.0), cores=4, speed=2e9, **SPLIT
    ),
    "cabinets": platforms.cabinets([2, 3], uplink=(1e9, 0.0, 1.3e9), name="two", **SPLIT),
    "fat-tree": platforms.fat_tree([4, 4], [1, 2], [1, 2], sharing="shared", **SPLIT),
    "torus": platforms.torus([4, 3], host_names="t{}.x", **SPLIT),
    "dragonfly": platforms.dragonfly(2, 2, 2, 2, parallel=(3, 2, 1), **SPLIT),
    "crossbar": platforms.crossbar(4, sharing="fatpipe", **SPLIT),
    "hyperx": platforms.hyperx([3, 1, 2], nodes=2, limiter=187.5e6, **SPLIT),
}


def test_cabinets_that_are_nodes_have_sockets_and_ranks_fill_them_in_equal_parts():
    nodes = platforms.cabinets([2, 2], uplink=(1e9,), cores=4, are_nodes=True, **SPLIT)
    assert [*nodes.host_names] == ["node-0/0", "node-0/1", "node-1/0", "node-1/1"]
    assert nodes.node_of.tolist() == [0, 0, 1, 1]
    assert nodes.place(8, 4).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert nodes.place(3, 2).tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="are 3 nodes"):
        nodes.place(9, 4)
    assert platforms.loads(platforms.dumps(nodes)).sockets.tolist() == [2, 2]
    assert platforms.flat(2, **SPLIT).node_of.tolist() == [0, 1]


@pytest.mark.parametrize("kind", BUILT)
def test_what_is_written_is_read_back(kind, tmp_path):
    built = BUILT[kind]
    platforms.dump(built, tmp_path / "p.toml")
    again = platforms.load(tmp_path / "p.toml")
    assert again.kind == kind
    assert list(again.host_names) == list(built.host_names)
    assert list(again.link_names) == list(built.link_names)
    for name in ("capacity", "latency", "fatpipe", "speeds", "cores"):
        np.testing.assert_array_equal(getattr(again, name), getattr(built, name))
    ends = range(built.hosts)
    routes = [[entry.routing().route(a, b) for a in ends for b in ends] for entry in (built, again)]
    assert routes[0] == routes[1]


def test_every_topology_is_tested_here():
    assert {name.replace("_", "-") for name in topologies.__all__} == BUILT.keys()


def test_graphene_is_as_published():
    graphene = platforms.load("graphene")
    assert graphene.hosts == 144
    assert graphene.cores.sum() == 576
    between = graphene.route(39, 103)  # the paper's Figure 5: nodes 40 and 104
    assert between == [
        *("node-39 limiter", "node-39 up", "cabinet 1 limiter", "cabinet 1 up"),
        *("cabinet 2 down", "cabinet 2 limiter", "node-103 down", "node-103 limiter"),
    ]
    assert graphene.capacity[graphene.link_names.index("node-0 limiter")] == 1.5 * 125e6
    assert graphene.capacity[graphene.link_names.index("cabinet 0 limiter")] == 13e9 / 8


def test_cables_of_a_dragonfly_add_up():
    capacity = BUILT["dragonfly"].capacity
    names = list(BUILT["dragonfly"].link_names)
    rates = {colour: capacity[names.index(f"{colour} link 0 up")] / 125e6 for colour in ("blue", "black", "green")}
    assert rates == {"blue": 3, "black": 2, "green": 1}


def test_placing_ranks():
    hosts = platforms.cabinets([2, 1], uplink=(1e9,), cores=2, **SPLIT)
    assert hosts.place(6).tolist() == [0, 0, 1, 1, 2, 2]
    assert hosts.place(7, "round-robin").tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert hosts.place(4, ["node-2", "node-0"]).tolist() == [2, 0, 2, 0]
    assert hosts.place(3, np.array([1])).dtype == np.int32
    assert hosts.place(3, 1).tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="mapping is 0"):
        hosts.place(3, 0)


@pytest.mark.parametrize(
    ("processes", "mapping", "problem"),
    [
        (3, "block", "3 processes on 2 cores of platform 'flat': take fewer"),
        (0, "block", "processes is 0: give a whole number from 1"),
        (2, "spread", "choose one of block, round-robin"),
        (2, ["node-7"], "no host 'node-7'; its hosts are node-0, node-1"),
        (2, [0, 2], "mapping is 2: hosts are 0 to"),
        (2, [], "at least one host"),
        (3, [0, 1], "2 hosts for 3 processes"),
    ],
)
def test_ranks_that_cannot_be_placed(processes, mapping, problem):
    with pytest.raises(InputError, match=problem):
        platforms.flat(2, **SPLIT).place(processes, mapping)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("hosts = 4", "hosts = 0"), "hosts is 0: give a whole number from 1"),
        (("hosts = 4", "hosts = 99999999"), "hosts is 99999999"),
        (("hosts = 4", 'hosts = "x"'), "field hosts: expected `?int"),
        (('kind = "flat"', 'kind = "ring"'), "kind"),
        (('"125MB/s"', '"125MBps"'), "field bandwidth: '125MBps': unknown unit"),
        (('"125MB/s"', "0"), "bandwidth is 0.0: give a finite number above 0"),
        (('"125MB/s"', "inf"), "bandwidth is inf"),
        (('"15us"', "-1.0"), "latency is -1.0: give a finite number from 0"),
        (("version = 1", "version = 2"), "field version: 2 is newer"),
        (("version = 1", ""), "field version: expected 1"),
        (("commmodel-platform", "commmodel-machine"), "field format"),
        (("hosts", "host"), "host"),
        (("hosts = 4", 'hosts = 4\nhost_names = "n"'), "host_names 'n': it must hold {}"),
        (("hosts = 4", "hosts = 4\nloopback = {latency = 1}"), "bandwidth"),
        (("hosts = 4", "hosts = 4\ncores = 0"), "cores is 0"),
        (("hosts = 4", "hosts = = 4"), "not TOML"),
        (('kind = "flat"', 'kind = "torus"\nsizes = [0]'), "unknown field `?hosts"),
    ],
)
def test_wrong_files_get_one_line(change, problem, tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(FLAT.replace(*change, 1))
    with pytest.raises(DamagedFileError, match=problem) as caught:
        platforms.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_what_is_no_platform(tmp_path):
    with pytest.raises(InputError, match=r"'nosuch' is neither a file nor a published platform \(graphene, switch\)"):
        platforms.load("nosuch")
    with pytest.raises(InputError, match="No such file"):
        platforms.load(tmp_path / "nosuch.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DamagedFileError, match="not UTF-8"):
        platforms.load(tmp_path / "binary.toml")
    with pytest.raises(InputError, match="cannot be written"):
        platforms.dump(BUILT["flat"], tmp_path / "no" / "p.toml")


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: platforms.torus([2**12, 2**12], **SPLIT), "their product at most"),
        (lambda: platforms.torus([], **SPLIT), "torus"),
        (lambda: platforms.fat_tree([2, 2], [1], [1, 1], **SPLIT), "as many numbers"),
        (lambda: platforms.fat_tree([2], [2**20], [2**20], **SPLIT), "more than 33554432 links"),
        (lambda: platforms.dragonfly(5, 2, 2, 1, **SPLIT), "take fewer groups, or more blades"),
        (lambda: platforms.dragonfly(2, 2, 2, 1, parallel=(1, 1), **SPLIT), "give a list of 3|three numbers"),
        (lambda: platforms.hyperx([], **SPLIT), "0 dimensions"),
        (lambda: platforms.hyperx([2**12, 2**11], **SPLIT), "their product at most"),
        (lambda: platforms.hyperx([2**14], **SPLIT), "more than 33554432 links"),
        (lambda: platforms.cabinets([], uplink=(1e9,), **SPLIT), "0 cabinets"),
        (lambda: platforms.crossbar(5000, **SPLIT), "at most 4096"),
    ],
)
def test_sizes_that_cannot_be(call, problem):
    with pytest.raises(InputError, match=problem):
        call()


def test_summaries():
    summary = platforms.cabinets([4, 4], uplink=(250e6,), cores=2, **SPLIT).summary()
    assert summary["bisection"] == 250e6  # the uplink carries all four flows
    assert (summary["hosts"], summary["cores"], summary["longest_route"]) == (8, 16, 4)
    assert platforms.flat(8, **SPLIT).bisection() == 4 * 125e6
    assert platforms.flat(8, sharing="fatpipe", **SPLIT).bisection() == 4 * 125e6
    assert platforms.flat(1, **SPLIT).summary()["bisection"] == math.inf
    assert platforms.flat(100, **SPLIT).summary()["mean_route"] == 2


def test_a_hundred_thousand_hosts_need_no_list_of_pairs():
    many = platforms.flat(100_000, limiter=187.5e6, loopback=(5e9, 0.0), **SPLIT)
    assert many.route(1, 99_999)[-1] == "node-99999 limiter"
    assert many.host_names[-1] == "node-99999"
    assert many.capacity.size == 400_000


def test_importing_platforms_loads_no_heavy_library():
    code = (
        "import sys, commmodel.simulate.platform; "
        "print(sorted(set(sys.modules) & {'mpi4py', 'numba', 'scipy', 'matplotlib', 'tomlkit'}))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"
