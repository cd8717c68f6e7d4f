"""Which node is slow: found among eight, and nobody accused where none is."""

import json
import sys

import numpy as np
import pytest
from benchmarks.validation.tables_of_pairs import accused, tables
from support.launching import launch
from support.paths import SHARED

from commmodel import cli, formats
from commmodel.bench.kernels import matrix
from commmodel.errors import InputError
from commmodel.report.page import write_html
from commmodel.results import Header, Host, Launch, Library, Measurements, Rank, Record, dump, load
from commmodel.results.configurations import NodeMatrix, PingPong
from commmodel.results.file import FORMAT
from commmodel.results.tournament import names, rounds, times
from commmodel.scaling import slow_nodes

SIZE = 1 << 20
STUDY = SHARED / "public" / "performance-study" / "osu_times.csv.xz"


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


def test_a_pair_that_is_disturbed_in_each_visit_is_not_accused():
    """On a busy machine a third of the visits takes longer, by any share, so that some pairs have no quiet one."""
    false = right = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        disturbed = np.where(random.random((3, 28)) < 0.35, random.exponential(0.15, (3, 28)), 0.0)
        seconds = 1e-4 * np.exp(0.01 * random.standard_normal((3, 28)) + disturbed)
        (launch_,) = tournament().launches
        for slow in (False, True):
            first, second = np.triu_indices(8, 1)
            times = seconds * np.where(slow & ((first == 3) | (second == 3)), 1.1, 1.0)
            record = Record(NodeMatrix(SIZE, "between-nodes"), "s", tuple(times.ravel().tolist()), visits=(28, 28, 28))
            names = {row.names for row in slow_nodes(Measurements((Launch(launch_.header, (record,)),)))}
            false += bool(names - {("node3",)})
            right += ("node3",) in names
    assert (right >= 98, false <= 2) == (True, True), (right, false)


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


def table(pairs, size="1MiB"):
    """Return a table of pairs of nodes as other programs write one."""
    return "from,to,message_size,seconds\n" + "".join(
        f"{a},{b},{size},{seconds!r}\n" for (a, b), seconds in pairs.items()
    )


def pairs_of(count, slow="", factor=1.3, seed=0):
    random = np.random.default_rng(seed)
    hosts = [f"n{number:02}" for number in range(count)]
    return {
        (a, b): 1e-4 * float(np.exp(0.02 * random.standard_normal())) * (factor if slow in (a, b) else 1)
        for place, a in enumerate(hosts) for b in hosts[place + 1 :]
    }  # fmt: skip


@pytest.mark.parametrize("count", [8, 9])
def test_a_table_of_pairs_of_another_program_is_asked_as_well(count, tmp_path, capsys):
    path = tmp_path / "pairs.csv"
    path.write_text(table(pairs_of(count, slow="n05")))
    assert cli.main(["check", "nodes", str(path)]) == 1
    assert "node n05: messages of 1 MiB take 2" in capsys.readouterr().out  # 28 or 29 % longer
    assert cli.main(["report", str(path), "-o", str(tmp_path / "page.html")]) == 0
    assert "Node n05: messages of 1 MiB take" in capsys.readouterr().out
    page = (tmp_path / "page.html").read_text()
    assert "Messages of 1 MiB between every two nodes" in page
    assert "n00 to n05: " in page
    path.write_text(table(pairs_of(count)))
    assert cli.main(["check", "nodes", str(path)]) == 0


def test_pairs_that_lack_a_time_are_left_out_of_the_model(tmp_path, capsys):
    pairs = pairs_of(10, slow="n03")
    lacking = {names: seconds for number, (names, seconds) in enumerate(pairs.items()) if number % 4}
    path = tmp_path / "pairs.csv"
    path.write_text(table(lacking))
    (slow,) = slow_nodes(formats.load(path))
    assert (slow.names, slow.slower) == (("n03",), pytest.approx(0.3, abs=0.03))
    assert cli.main(["report", str(path), "-o", str(tmp_path / "page.html")]) == 0
    alone = {names: seconds for names, seconds in pairs.items() if "n09" not in names or "n00" in names}
    path.write_text(table(alone))
    with pytest.raises(InputError, match="node n09 has 1 times of messages of 1 MiB: each needs those with 3 others"):
        slow_nodes(formats.load(path))
    groups = {(a, b): seconds for (a, b), seconds in pairs.items() if (a < "n04") != (b < "n04")}
    path.write_text(table(groups))
    with pytest.raises(InputError, match="measure pairs within the groups, too"):
        slow_nodes(formats.load(path))
    capsys.readouterr()


def test_tables_of_pairs_take_the_faster_way_and_refuse_what_is_none(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("from,to,message_size,bandwidth\na,b,1MB,1GB/s\nb,a,1MB,2GB/s\na,b,8,1MB/s\n")
    small, large = formats.load(path).records
    assert (small.configuration, small.samples) == (NodeMatrix(8, "between-nodes"), pytest.approx((8e-6,)))
    assert large.samples == pytest.approx((5e-4,))
    for text, words in (
        ("from,message_size,seconds\na,8,1us\n", "has both columns, from and to"),
        ("from,to,message_size,seconds\na,a,8,1us\n", "line 2: 'a to a' are not two nodes"),
        ("from,to,message_size,seconds\na,,8,1us\n", "are not two nodes"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=words):
            formats.load(path)


def test_a_page_draws_many_nodes_together(tmp_path):
    path = tmp_path / "page.html"
    write_html(path, tournament(130, slow_node=77), None)
    page = path.read_text()
    assert "A cell is the slowest pair of 3 by 3 neighbours." in page
    assert len(page) < 3_000_000


@pytest.mark.parametrize(("latency", "rate", "most"), [(50e-6, 125e6, 180), (1.5e-6, 12.5e9, 20)])
def test_256_nodes_meet_within_three_minutes(latency, rate, most):
    """Three visits by count: rounds, sizes and repetitions of the kernel, on Gigabit Ethernet and at 100 Gbit/s."""
    assert len(rounds(256)) == 255
    seconds = 0.0
    for size in (matrix.SMALL, matrix.LARGE):
        round_trip = 2 * (latency + size / rate)
        repetitions = np.clip(matrix.ROUND_SECONDS / round_trip, matrix.FEWEST_REPETITIONS, matrix.MOST_REPETITIONS)
        seconds += 3 * 255 * (1 + repetitions) * round_trip
    assert seconds < most


@pytest.mark.skipif(not STUDY.is_file(), reason="the data of others are not here")
def test_nobody_is_accused_in_uniform_tables_of_others():
    """Twenty tables of eight hosts in clouds: one link is named, where pairs lie far apart, and no node."""
    names = [words.partition(", order")[0] for words in accused(STUDY)]
    assert names == ["google compute-engine, gpu, 16 nodes, osu_bw"]
    assert all(": link " in words for words in accused(STUDY))
    uniform = [
        name
        for name, _, times in tables(STUDY)
        if max(times) < 1.1 * np.median(times) and min(times) > 0.9 * np.median(times)
    ]
    assert len(uniform) == 5
    assert not {*uniform} & {*names}


def test_nodes_at_another_switch_are_not_slow(tmp_path):
    """Three groups of hosts, as in the study's latencies on 64 nodes: one has five of them, one two, one is alone."""
    group = dict(zip([f"n{number:02}" for number in range(8)], "abaaccaa", strict=True))
    pairs = {ends: seconds * (1 if group[ends[0]] == group[ends[1]] else 1.25) for ends, seconds in pairs_of(8).items()}
    path = tmp_path / "pairs.csv"
    path.write_text(table(pairs))
    assert slow_nodes(formats.load(path)) == []
    pairs = {ends: seconds * (3 if "n00" in ends else 1) for ends, seconds in pairs.items()}
    path.write_text(table(pairs))
    assert [slow.names for slow in slow_nodes(formats.load(path))] == [("n00",)]


def test_two_slow_interfaces_are_both_named(tmp_path):
    """A message between them takes as long as with one of them."""
    slow = {"n02", "n05"}
    pairs = {ends: seconds * (1.2 if slow & {*ends} else 1) for ends, seconds in pairs_of(8).items()}
    path = tmp_path / "pairs.csv"
    path.write_text(table(pairs))
    assert {culprit.names[0] for culprit in slow_nodes(formats.load(path)) if culprit.kind == "node"} == slow


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
