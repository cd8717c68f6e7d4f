"""Which node is slow: found among eight, and nobody accused where none is."""

import json
import sys

import numpy as np
import pytest
from support.launching import launch

from commmodel import cli
from commmodel.errors import InputError
from commmodel.results import Header, Host, Launch, Library, Measurements, Rank, Record, dump, load
from commmodel.results.configurations import NodeMatrix, PingPong
from commmodel.results.file import FORMAT
from commmodel.results.tournament import names, rounds, times
from commmodel.scaling import slow_nodes

SIZE = 1 << 20


def tournament(count=8, slow_node=None, slow_link=None, factor=1.1, noise=0.03, seed=0, visits=1):
    """Return a tournament of nodes, one of them or of their links slower."""
    random = np.random.default_rng(seed)
    hosts = tuple(Host(f"node{number}") for number in range(count))
    ranks = tuple(Rank(number, number) for number in range(count))
    pairs = tuple(((number, number + 1),) for number in range(0, count, 2))
    header = Header(
        FORMAT, 1, "", (), Library("MPICH"), hosts, ranks, placement={"between-nodes": pairs[0]},
        further_nodes=pairs[1:],
    )  # fmt: skip
    samples = [
        1e-4 * np.exp(noise * random.standard_normal()) * (factor if slow_node in (i, j) or (i, j) == slow_link else 1)
        for _ in range(visits) for i in range(count) for j in range(i + 1, count)
    ]  # fmt: skip
    per_visit = count * (count - 1) // 2
    record = Record(
        NodeMatrix(SIZE, "between-nodes"), "s", tuple(map(float, samples)), visits=(per_visit,) * visits * (visits > 1)
    )
    return Measurements((Launch(header, (record,)),))


@pytest.mark.parametrize("count", [2, 4, 6, 8, 32])
def test_everybody_meets_everybody_once(count):
    table = rounds(count)
    for opponents in table:
        assert (opponents[opponents] == np.arange(count)).all()
        assert (opponents != np.arange(count)).all()
    assert all(len({*table[:, player]}) == count - 1 for player in range(count))


def test_a_slow_node_of_eight_is_named_and_others_hardly_ever():
    """A node a tenth slower is named in 99 of 100 tournaments of three visits, and hardly ever a wrong one."""
    right = wrong = 0
    for seed in range(200):
        slow = slow_nodes(tournament(slow_node=seed % 8, seed=seed, visits=3, noise=0.02))
        right += ("node", (f"node{seed % 8}",)) in [(row.kind, row.names) for row in slow]
        wrong += any(row.names != (f"node{seed % 8}",) for row in slow)
    assert right >= 198
    assert wrong <= 4


@pytest.mark.parametrize("count", [8, 32])
def test_nobody_is_accused_of_scatter(count):
    assert sum(bool(slow_nodes(tournament(count, seed=seed))) for seed in range(100)) <= 3


def test_a_slow_link_slows_no_node():
    slow = slow_nodes(tournament(16, slow_link=(3, 7), factor=1.5))
    assert [(row.kind, row.names) for row in slow] == [("link", ("node3", "node7"))]
    assert slow[0].slower == pytest.approx(0.5, abs=0.15)


def test_the_matrix_is_symmetrical_and_hosts_have_their_names():
    measurements = tournament(4, slow_node=2, factor=3.0, noise=0.0)
    (record,) = measurements.records
    matrix = times(record)
    assert np.array_equal(matrix, matrix.T, equal_nan=True)
    assert names(measurements.launches[0].header, "between-nodes") == ["node0", "node1", "node2", "node3"]
    assert matrix[2, 0] == pytest.approx(3e-4)
    assert matrix[0, 1] == pytest.approx(1e-4)


def test_what_cannot_be_answered_is_refused():
    with pytest.raises(InputError, match="4 are needed"):
        slow_nodes(tournament(2))
    other = tournament()
    launch_ = Launch(other.launches[0].header, (Record(PingPong(8, "any"), "s", (1e-6,)),))
    with pytest.raises(InputError, match="no records of the kernel matrix"):
        slow_nodes(Measurements((launch_,)))
    with pytest.raises(InputError, match="least is 0"):
        slow_nodes(other, least=0)


def test_the_command_names_it_and_says_what_is_new(tmp_path, capsys):
    now, before = tmp_path / "now.jsonl", tmp_path / "before.jsonl"
    dump(tournament(slow_node=5, factor=1.3), now)
    dump(tournament(), before)
    assert cli.main(["check", "nodes", str(now)]) == 1
    assert "node node5: messages of 1 MiB take" in capsys.readouterr().out
    assert cli.main(["check", "nodes", str(now), "--baseline", str(before), "--json"]) == 1
    assert [row["new"] for row in json.loads(capsys.readouterr().out)["slow"]] == [True]
    assert cli.main(["check", "nodes", str(now), "--baseline", str(now)]) == 1
    assert "as in the baseline" in capsys.readouterr().out
    assert cli.main(["check", "nodes", str(before)]) == 0
    assert "no node or link" in capsys.readouterr().out


@pytest.mark.mpi
def test_a_run_measures_every_pair(tmp_path):
    output = tmp_path / "results.jsonl"
    completed = launch(
        4,
        sys.executable,
        "-m",
        "commmodel.bench",
        "matrix",
        "--sizes",
        "8",
        "--time",
        "60s",
        "--visits",
        "1",
        "-o",
        output,
    )
    assert completed.returncode == 0, completed.stderr
    (record,) = load(output).records
    assert len(record.samples) == 6
    assert min(record.samples) > 0
