"""Two pairs of hosts whose switches are joined by one link: what each node gets there; what stays as it was."""

import json
import subprocess
import sys

import pytest
from support.launching import NETWORK, error_lines, find
from tools import emulated_cluster

from commmodel import results
from commmodel.fit.oversubscription import network_oversubscription
from commmodel.fit.points import collect_streams
from commmodel.results.configurations import Contention, PingPong, Stream

MPIEXEC = find("mpiexec")
HOSTS = emulated_cluster.hosts(4)
SWITCH, ENDS = "commmodel-b2", ("commmodel-t1", "commmodel-t2")  # the other switch, and the link between both
RATE = 200e6  # bit/s
SIZE = 16 << 10  # a window of them takes 42 ms on the link

pytestmark = [
    pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec beside this Python or on PATH"),
    pytest.mark.skipif(bool(problem := emulated_cluster.missing()), reason=f"no emulated cluster here: {problem}"),
]


def ip(*words):
    subprocess.run(["ip", "link", *words], check=True, capture_output=True)


def remove_the_other_switch():
    for device in (ENDS[0], SWITCH):
        subprocess.run(["ip", "link", "delete", device], capture_output=True)


@pytest.fixture(scope="module")
def tapered():
    """Four hosts with links of no limit, the second of each pair on a switch of its own behind one slow link."""
    with emulated_cluster.cluster(len(HOSTS)):
        remove_the_other_switch()
        try:
            ip("add", SWITCH, "up", "type", "bridge")
            ip("add", ENDS[0], "type", "veth", "peer", "name", ENDS[1])
            limit = ("tbf", "rate", f"{RATE:.0f}bit", "burst", "8kb", "latency", "100ms")
            for device, switch in zip(ENDS, (emulated_cluster.BRIDGE, SWITCH), strict=True):
                ip("set", device, "master", switch, "up")
                subprocess.run(["tc", "qdisc", "add", "dev", device, "root", *limit], check=True)
            for host in HOSTS[1::2]:
                ip("set", emulated_cluster.link(host), "master", SWITCH)
            yield
        finally:
            remove_the_other_switch()


def bench(*arguments):
    """Run one rank on each of the four hosts."""
    command = [*emulated_cluster.launcher(MPIEXEC, HOSTS, 1), sys.executable, "-m", "commmodel.bench", "--seed", "1"]
    environment = NETWORK | emulated_cluster.mpi_environment()
    return subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True, timeout=1800)


@pytest.fixture(scope="module")
def measured(tapered, tmp_path_factory):
    output = tmp_path_factory.mktemp("node-pairs") / "results.jsonl"
    arguments = ("stream", "pingpong", "--node-pairs", "1:2", "--sizes", str(SIZE), "--time", "4s", "--batch", "1")
    completed = bench(*arguments, "-o", str(output))
    assert completed.returncode == 0, completed.stderr
    return output


def test_both_pairs_of_hosts_are_measured_alone_and_together(measured):
    (launch,) = results.load(measured).launches
    assert [host.name for host in launch.header.hosts] == list(HOSTS)
    assert launch.header.placement == {"between-nodes": ((0, 1),)}
    assert launch.header.further_nodes == (((2, 3),),)
    assert {record.configuration for record in launch.records} == {
        PingPong(SIZE, "between-nodes", 1),
        Stream(SIZE, 1, "between-nodes"),
        Stream(SIZE, 1, "between-nodes", node_pairs=2),
    }


def test_two_pairs_of_nodes_share_the_link_between_their_switches(measured):
    result = network_oversubscription(results.load(measured))
    (share,) = result.shares
    assert share.alone == pytest.approx(RATE / 8, rel=0.15)  # headers of TCP and Ethernet are in the rate of the link
    assert 0.3 < share.ratio < 0.6  # half, but for what one of two TCP connections takes from the other
    assert result.verdict.startswith("The network beyond the node limits: while 2 pairs of nodes communicate")


def test_the_model_of_a_node_is_fitted_to_one_pair_of_nodes(measured):
    assert len(collect_streams(results.load(measured))["between-nodes"]) == 1


def test_contention_goes_round_a_ring_of_four_hosts(tapered, tmp_path):
    output = tmp_path / "contention.jsonl"
    completed = bench("contention", "--sizes", str(1 << 20), "--time", "4s", "-o", str(output))
    assert completed.returncode == 0, completed.stderr
    (launch,) = results.load(output).launches
    times = {
        (record.configuration.direction, record.configuration.node_pairs): record.summary.median
        for record in launch.records
    }
    assert set(times) == {("one-way", 1), ("one-way", 2), ("both-ways", 1), ("both-ways", 2), ("ring", 2)}
    assert Contention(1 << 20, "ring", "between-nodes", 2) in {record.configuration for record in launch.records}
    assert 0.8 < times["ring", 2] / times["one-way", 1] < 1.4  # one message each way over the slow link
    assert times["one-way", 2] > 1.6 * times["one-way", 1]


def test_a_finished_run_is_resumed_with_its_pairs_of_nodes(measured):
    completed = bench("--resume", "-o", str(measured), "--json")
    assert json.loads(completed.stdout)["records"] == 0
    refused = bench("--resume", "-o", str(measured), "--node-pairs", "2")
    assert refused.returncode == 2
    (line,) = error_lines(refused, "commmodel.bench")
    assert "--node-pairs differs" in line
