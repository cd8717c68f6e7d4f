"""Where ranks should be: traffic, parts of exact sizes, mappings that simulation judges, and launchers' files."""

import json
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.paths import ROOT

pymetis = pytest.importorskip("pymetis", reason="the extra placement is not installed")

from commmodel import placement  # noqa: E402
from commmodel.cli import main  # noqa: E402
from commmodel.collectives import Problem  # noqa: E402
from commmodel.errors import DeadlockError, InputError, MissingPackageError  # noqa: E402
from commmodel.placement.candidates import candidate_hosts  # noqa: E402
from commmodel.placement.files import launcher_files  # noqa: E402
from commmodel.placement.nodes import block_seats, even_seats  # noqa: E402
from commmodel.placement.partition import Graph, partition  # noqa: E402
from commmodel.simulate.platform import cabinets, fat_tree, flat, torus  # noqa: E402
from commmodel.simulate.scenario import place, prepare, workloads  # noqa: E402
from commmodel.simulate.work import collective, halo, repeat, sparse  # noqa: E402

MESH = str(ROOT / "docs/examples/mesh.csv")
RECORDING = str(ROOT / "docs/examples/recording")
CABINETS = cabinets([4, 4], 1.25e9, 1e-6, (2.5e9, 1e-6), cores=4, loopback=(1e10, 1e-7))


def graph_of(program):
    return placement.traffic_of(program).graph


def shuffled_halo(rows, columns, seed=0):
    """Return the exchange of a grid whose ranks are numbered at random."""
    grid = placement.traffic_of(halo(1024, rows * columns, grid=[rows, columns]))
    number = np.random.default_rng(seed).permutation(rows * columns)
    return sparse(number[grid.source], number[grid.destination], grid.bytes.astype(int), rows * columns)


@given(st.data())
def test_parts_have_exactly_their_sizes(data):
    sizes = data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=6))
    count = sum(sizes)
    ranks = st.integers(0, count - 1)
    pairs = data.draw(st.lists(st.tuples(ranks, ranks, st.floats(1e-9, 1e15)), max_size=40))
    source, destination, weight = zip(*pairs, strict=True) if pairs else ([], [], [])
    graph = Graph.of_pairs(count, source, destination, weight)
    parts = partition(graph, sizes)
    assert np.bincount(parts, minlength=len(sizes)).tolist() == sizes
    assert graph.cut(parts) <= graph.weights.sum() / 2 * (1 + 1e-12)


def test_a_grid_is_cut_into_squares():
    """No cut of a periodic 16 × 16 grid into 16 parts of 16 is less than that into 4 × 4 squares: 16 edges each."""
    graph = graph_of(shuffled_halo(16, 16))
    parts = partition(graph, [16] * 16)
    assert graph.cut(parts) == pytest.approx(16 * 16 / 2 * 2048)


def test_what_all_pairs_have_in_common_hides_nothing():
    """A halo under an alltoall is found as without it."""
    count = 16
    everyone = [np.repeat(np.arange(count), count), np.tile(np.arange(count), count), np.full(count**2, 1e6)]
    ring = graph_of(shuffled_halo(1, count))
    pairs = zip([ring.sources, ring.neighbours, ring.weights], everyone, strict=True)
    both_kinds = Graph.of_pairs(count, *(np.concatenate(columns) for columns in pairs))
    parts = partition(both_kinds, [4] * 4)
    assert ring.cut(parts) == ring.cut(partition(ring, [4] * 4))
    assert Graph.of_pairs(count, *everyone).without_base().neighbours.size == 0


def test_weights_of_any_size_are_cut_alike():
    pairs = ([0, 1, 2, 3, 0, 2], [1, 2, 3, 0, 2, 1])
    for scale in (1e-12, 1.0, 1e15):
        graph = Graph.of_pairs(4, *pairs, np.array([9.0, 1.0, 9.0, 1.0, 0.5, 1.0]) * scale)
        parts = partition(graph, [2, 2])
        assert parts[0] == parts[1] != parts[2] == parts[3]


def test_traffic_counts_collectives_and_streams(monkeypatch):
    monkeypatch.setattr("commmodel.simulate.work.sequences.BLOCK", 50)
    monkeypatch.setattr("commmodel.placement.traffic._MOST_PENDING", 10)
    single, stream = halo(1000, 4), repeat(halo(1000, 4), 20)
    assert stream.refill is not None
    often, once = placement.traffic_of(stream), placement.traffic_of(single)
    assert np.array_equal(often.bytes, 20 * once.bytes)
    assert np.array_equal(often.messages, 20 * once.messages)
    alltoall = placement.traffic_of(collective("alltoall", Problem(4, 100), algorithm="linear"))
    assert alltoall.bytes.tolist() == [100.0] * 12


@pytest.mark.parametrize(
    "platform", [CABINETS, torus([2, 2, 2], 1.25e9, 1e-6, cores=4)], ids=lambda platform: platform.kind
)
@pytest.mark.parametrize("processes", [32, 21])
def test_every_mapping_fits_the_nodes_and_the_best_is_no_worse_than_blocks(platform, processes):
    on = place(platform)
    work = workloads.Workload(processes, "grid", lambda *_: shuffled_halo(1, processes, seed=5), {})
    mapping = placement.map_ranks(work, on=on)
    blocks = prepare(on, work, mapping="block").run().seconds
    assert mapping.block.seconds == blocks >= mapping.best.seconds
    assert mapping.best.cut < mapping.block.cut
    for candidate in mapping.candidates:
        assert (np.bincount(candidate.hosts, minlength=platform.hosts) <= platform.cores).all()
        again = prepare(on, work, mapping=candidate.hosts.tolist()).run().seconds
        assert candidate.seconds == again >= mapping.best.seconds * (1 - 1e-12)
    traffic = placement.traffic_of(work.program(None, 1.0))
    assert mapping.best.cut == traffic.between(platform.node_of[mapping.best.hosts])
    assert mapping.total == traffic.bytes.sum()


def test_groups_of_near_nodes_are_found():
    tree = fat_tree(down=[2, 2, 2], up=[1, 2, 2], parallel=[1, 1, 1], bandwidth=1e9, latency=1e-6)
    seats = block_seats(tree, 8, np.arange(8), None)
    assert [level.tolist() for level in seats.levels] == [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3]]
    assert block_seats(torus([4, 2], 1e9, 1e-6), 8, np.arange(8), None).levels == []


def test_levels_are_divided_where_halves_are_something_else():
    def names(sizes):
        platform = cabinets(sizes, 1.25e9, 1e-6, (2.5e9, 1e-6))
        ranks = sum(sizes)
        seats = block_seats(platform, ranks, np.arange(ranks), None)
        return [name for name, _ in candidate_hosts(graph_of(shuffled_halo(1, ranks)), seats, seats)]

    assert "by levels" not in names([2, 2, 2, 2])
    assert "by levels" in names([3, 3, 2])


def test_sockets_of_a_node_are_divided_too():
    two = cabinets([2, 2], 50e9, 1e-7, (20e9, 1e-6), are_nodes=True, cores=2)
    pairs = np.array([0, 7, 1, 6, 2, 5, 3, 4]).reshape(4, 2)
    work = sparse(pairs[:, 0], pairs[:, 1], np.full(4, 1 << 20), 8)
    seats = block_seats(two, 8, np.arange(2), None)
    hosts = dict(candidate_hosts(graph_of(work), seats, even_seats(seats, None)))["by halves"]
    assert np.bincount(hosts).tolist() == [2, 2, 2, 2]
    assert all(hosts[first] == hosts[second] for first, second in pairs)


def test_blocks_that_leave_a_node_partly_empty_are_spread_evenly():
    seats = block_seats(flat(3, 1e9, 1e-6, cores=4), 9, np.arange(3), None)
    assert np.bincount(seats.hosts).tolist() == [4, 4, 1]
    assert np.bincount(even_seats(seats, None).hosts).tolist() == [3, 3, 3]


def test_exchanged_nodes_carry_bytes_over_fewer_links():
    line = torus([8], 1.25e9, 1e-6)
    ring = shuffled_halo(1, 8, seed=3)
    seats = block_seats(line, 8, np.arange(8), None)
    mappings = dict(candidate_hosts(graph_of(ring), seats, seats))
    traffic, far = placement.traffic_of(ring), seats.distances
    hops = {name: (traffic.bytes * far[hosts[traffic.source], hosts[traffic.destination]]).sum()
            for name, hosts in mappings.items()}  # fmt: skip
    assert hops["block, nodes exchanged"] < hops["block"]
    assert min(hops.values()) == 16 * 1024 * far[0, 1]


def test_launchers_files_say_the_same_mapping():
    hosts = np.array([1, 0, 1, 0, 2], np.int32)
    files = launcher_files(flat(3, 1e9, 1e-6, cores=2), hosts)
    assert files["hostfile"].split() == ["node-1", "node-0", "node-1", "node-0", "node-2"]
    assert files["rankfile"].splitlines() == [
        "rank 0=node-1 slot=0", "rank 1=node-0 slot=0", "rank 2=node-1 slot=1", "rank 3=node-0 slot=1",
        "rank 4=node-2 slot=0",
    ]  # fmt: skip
    assert [line for line in files["MPICH_RANK_ORDER"].splitlines() if line[0] != "#"] == ["1,3", "0,2", "4"]
    sockets = cabinets([2], 50e9, 1e-7, (20e9, 1e-6), are_nodes=True, cores=2)
    rankfile = launcher_files(sockets, np.array([1, 0, 1], np.int32))["rankfile"].splitlines()
    assert rankfile == ["rank 0=node-0 slot=1:0", "rank 1=node-0 slot=0:0", "rank 2=node-0 slot=1:1"]


def test_the_command_prints_and_writes_what_the_function_returns(capsys, tmp_path):
    words = ["place", "graphene", MESH, "-o", str(tmp_path / "out"), "--workers", "1"]
    assert main([*words, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    mapping = placement.map_ranks(MESH, on="graphene")
    assert printed == {**mapping.as_json(), "output": str(tmp_path / "out")}
    assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == mapping.files()
    assert main(words) == 2
    assert "exists: replace it with --force" in capsys.readouterr().err
    assert main([*words, "--force"]) == 0
    assert "times faster than ranks in blocks" in capsys.readouterr().out


def test_nodes_of_an_allocation_are_taken_and_no_others(capsys, tmp_path):
    (tmp_path / "nodes").write_text("node-5\nnode-9\n")
    assert main(["place", "graphene", RECORDING, "-k", "1", "--nodes", str(tmp_path / "nodes"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hosts"] == ["node-5", "node-9"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([MESH, "-p", "1"], "from 0 to 0"),
        ([MESH, "-p", "1000"], "1000 ranks on 576 cores"),
        ([MESH, "--nodes", "nowhere"], "no file of names"),
        ([MESH, "-k", "0"], "-k: "),
        ([MESH, "--model", "loggp"], "knows no links"),
        ([MESH, "--faster", "2"], "compute nothing"),
        ([RECORDING, "--faster", "quick"], "--faster: 'quick'"),
        ([RECORDING, "-o", "nofolder/page.html"], "no folder that one may write to"),
        ([RECORDING, "-p", "3"], "2 ranks show no structure"),
        (["nowhere.csv"], "nowhere.csv"),
    ],
)
def test_wrong_words_are_refused_in_a_line(capsys, words, problem):
    assert main(["place", "graphene", *words]) == 2
    errors = capsys.readouterr().err
    assert problem in errors
    assert errors.count("\n") == 1


def test_unknown_nodes_and_delay_parameters_are_refused():
    with pytest.raises(InputError, match="there is no such node"):
        placement.map_ranks(MESH, on="graphene", nodes=["node-5", "nosuch"])
    with pytest.raises(InputError, match="name each node once"):
        placement.map_ranks(MESH, on="graphene", nodes=["node-5", "node-5"])
    with pytest.raises(InputError, match="name a platform"):
        placement.map_ranks(MESH, on="L=1us,o=1us")


def test_a_program_that_hangs_is_told(tmp_path):
    (tmp_path / "hang.txt").write_text("0 init\n0 recv 1 0 10 6\n1 init\n")
    with pytest.raises(DeadlockError, match="rank 0 waits"):
        placement.map_ranks(str(tmp_path / "hang.txt"), on="graphene")


def test_without_the_package_a_line_names_the_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    assert main(["place", "graphene", MESH]) == MissingPackageError.exit_code
    assert "pip install 'commmodel[placement]'" in capsys.readouterr().err
