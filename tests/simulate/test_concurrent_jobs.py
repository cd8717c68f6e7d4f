"""Several jobs at once on one platform: where they are, one merged program, and how they slow each other down."""

import itertools
import json

import numpy as np
import pytest
from support.paths import ROOT

from commmodel import simulate
from commmodel.cli import main
from commmodel.collectives import Problem
from commmodel.errors import InputError
from commmodel.simulate import OPERATION, SMPI, Code, Program, run
from commmodel.simulate.platform import cabinets, fat_tree, flat
from commmodel.simulate.scenario import place, run_jobs, workloads
from commmodel.simulate.scenario.jobs import job_hosts
from commmodel.simulate.work import collective, concurrent, halo, repeat

RECORDING = str(ROOT / "docs/examples/recording")
TREE = fat_tree(down=[4, 4], up=[1, 2], parallel=[1, 1], bandwidth=1.25e9, latency=1e-6)


def by_hand(programs):
    """Return one program of several, written operation by operation."""
    ranks, first = [], 0
    for program in programs:
        for rank in range(program.processes):
            operations = np.concatenate([np.empty(0, OPERATION), *program.pieces(rank)])
            for operation in operations:
                if operation["code"] in (Code.SEND, Code.ISEND, Code.RECV, Code.IRECV):
                    operation["peer"] += first
            ranks.append(operations)
        first += program.processes
    return Program.from_ranks(ranks)


@pytest.mark.parametrize("placement", ["block", "round-robin", "random"])
def test_jobs_take_the_time_of_one_merged_program(placement):
    on = place(TREE, "smpi")
    jobs = [
        workloads.exchange(on, "halo", 65536, 6, rounds=3),
        workloads.collective(on, "alltoall", Problem(5, 100_000)),
        workloads.application(on, "cg", "S", 4, iterations=1),
    ]
    runs = run_jobs(on, jobs, placement=placement, seed=3)
    hosts = np.concatenate([job.hosts for job in runs.jobs])
    assert len({*hosts.tolist()}) == 15
    programs = [work.program(TREE.speeds[job.hosts], 1.0) for work, job in zip(jobs, runs.jobs, strict=True)]
    merged = run(by_hand(programs), SMPI, TREE, hosts=hosts)
    np.testing.assert_allclose(runs.result.ends, merged.ends, rtol=1e-9)
    ends = np.split(merged.ends, np.cumsum([6, 5]))
    np.testing.assert_allclose([job.seconds for job in runs.jobs], [part.max() for part in ends], rtol=1e-9)
    for job, work in zip(runs.jobs, jobs, strict=True):
        alone = run(work.program(TREE.speeds[job.hosts], 1.0), SMPI, TREE, hosts=job.hosts)
        assert job.alone.seconds == pytest.approx(alone.seconds, rel=1e-9)
        assert job.slowdown >= 1 - 1e-9


def test_a_stream_among_jobs_begins_anew_with_each_run(monkeypatch):
    monkeypatch.setattr("commmodel.simulate.work.sequences.BLOCK", 50)
    stream, whole = repeat(halo(1000, 4), 20), collective("barrier", Problem(3))
    assert stream.refill is not None
    union = concurrent([stream, whole])
    first = run(union, SMPI, TREE)
    np.testing.assert_allclose(first.ends, run(by_hand([stream, whole]), SMPI, TREE).ends, rtol=1e-9)
    assert np.array_equal(run(union, SMPI, TREE).ends, first.ends)


def test_a_shared_link_halves_the_rate_of_both_jobs_while_both_send():
    """Two messages over one uplink: the short one takes twice as long, the long one as much longer as the short one."""
    two = cabinets([2, 2], 1e12, 0.0, (1e9, 0.0))

    def message(size):
        sender = np.array([(Code.SEND, 1, 0, -1, size)], dtype=OPERATION)
        receiver = np.array([(Code.RECV, 0, 0, -1, size)], dtype=OPERATION)
        program = Program.from_ranks([sender, receiver])
        return workloads.Workload(2, f"{size} bytes", lambda *_: program, {})

    runs = run_jobs(place(two), [message(1e9), message(3e9)], placement=[0, 2, 1, 3])
    np.testing.assert_allclose([job.seconds for job in runs.jobs], [2.0, 4.0], rtol=1e-9)
    np.testing.assert_allclose([job.slowdown for job in runs.jobs], [2.0, 4 / 3], rtol=1e-9)
    links = {link.name: link for link in runs.shared_links}
    assert links
    assert {*itertools.chain(*(link.bytes for link in links.values()))} == {1e9, 3e9}
    assert next(iter(links.values())).seconds == pytest.approx(1.0)
    apart = run_jobs(place(two), [message(1e9), message(3e9)], placement=[0, 1, 2, 3])
    assert apart.shared_links == []
    assert apart.to_dict()["slowdown"] == [1.0, 1.0]


def test_jobs_have_nodes_of_their_own():
    four = flat(hosts=6, bandwidth=1e9, latency=0.0, cores=2)
    hosts = [part.tolist() for part in job_hosts(four, [3, 3, 1], "block")]
    assert hosts == [[0, 0, 1], [2, 2, 3], [4]]
    hosts = [part.tolist() for part in job_hosts(four, [3, 3, 1], "round-robin")]
    assert hosts == [[0, 0, 3], [1, 1, 4], [2]]
    seeds = {str(job_hosts(four, [3, 3, 1], "random", seed=seed)) for seed in range(8)}
    assert len(seeds) > 4
    assert str(job_hosts(four, [3, 3, 1], "random", seed=1)) == str(job_hosts(four, [3, 3, 1], "random", seed=1))
    sockets = cabinets([2, 2, 2, 2], 1e9, 0.0, (1e9, 0.0), are_nodes=True)
    assert [part.tolist() for part in job_hosts(sockets, [3, 2], "block")] == [[0, 1, 2], [4, 5]]
    assert [part.tolist() for part in job_hosts(sockets, [2, 2], "round-robin", per_node=1)] == [[0, 4], [2, 6]]


@pytest.mark.parametrize(
    ("sizes", "placement", "per_node", "problem"),
    [
        ([8, 5], "block", None, "13 ranks of 2 jobs on 12 cores"),
        ([3, 8], "block", None, None),
        ([7, 5], "block", None, "each on nodes of its own, do not fit"),
        ([2, 2], [0, 1, 2], None, "3 hosts for 4 ranks"),
        ([2, 2], [0, 1, 2, 9], None, "hosts are 0 to 5"),
        ([2, 2], [0, 1, 2, 3], 2, "rank by rank"),
        ([4, 4], "random", 1, "6 nodes with 1 ranks each"),
    ],
)
def test_what_does_not_fit_is_refused(sizes, placement, per_node, problem):
    six = flat(hosts=6, bandwidth=1e9, latency=0.0, cores=2)
    if problem is None:
        job_hosts(six, sizes, placement, per_node=per_node)
        return
    with pytest.raises(InputError, match=problem):
        job_hosts(six, sizes, placement, per_node=per_node)


def test_jobs_that_deadlock_are_told(capsys, tmp_path):
    (tmp_path / "hang.txt").write_text("0 init\n0 recv 1 0 10 6\n1 init\n")
    words = ["simulate", "graphene", "jobs", RECORDING, str(tmp_path / "hang.txt"), "--json"]
    assert main(words) == 2
    output, errors = capsys.readouterr()
    assert json.loads(output)["jobs"][1]["slowdown"] is None
    assert "rank 2 waits in MPI_Recv" in errors


def test_the_command_prints_what_the_function_returns(capsys):
    words = ["simulate", "graphene", "jobs", RECORDING, RECORDING, "-k", "1"]
    assert main([*words, "--placement", "random", "--seed", "4", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    runs = simulate.jobs([RECORDING, RECORDING], on="graphene", per_node=1, placement="random", seed=4)
    returned = json.loads(json.dumps(runs.as_json()))
    assert {**printed, "wall_seconds": 0, "notes": 0} == {**returned, "wall_seconds": 0, "notes": 0, "output": None}
    assert main(words) == 0
    output = capsys.readouterr().out
    assert "2 jobs on 4 ranks of graphene" in output
    assert "slowdown" in output


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["graphene", "jobs", RECORDING], "one job: give 2 to 8"),
        (["graphene", "jobs", *[RECORDING] * 9], "9 jobs: give 2 to 8"),
        (["graphene", "jobs", *[RECORDING] * 2, "--placement", "blok"], "--placement is 'blok': neither block nor"),
        (["graphene", "jobs", *[RECORDING] * 2, "-k", "0"], "-k: "),
        (["graphene", "jobs", *[RECORDING] * 2, "--model", "loggp"], "jobs do not disturb each other"),
        (["L=1us,o=1us", "jobs", *[RECORDING] * 2], "name a platform"),
        (["graphene", "jobs", RECORDING, "nowhere"], "nowhere"),
    ],
)
def test_wrong_words_are_refused_in_a_line(capsys, words, problem):
    assert main(["simulate", *words]) == 2
    errors = capsys.readouterr().err
    assert problem in errors
    assert errors.count("\n") == 1
