"""The critical path of simulated runs: it covers the time, and what is on it, and nothing else, decides that."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commmodel import record, simulate
from commmodel.errors import InputError
from commmodel.simulate import OPERATION, Code, DelayModel, DelayParameters, Network, Program, fluid, platform, run
from commmodel.simulate.critical_path import CriticalPath, PathKind, critical_path, gains, with_steps, without_sites
from commmodel.simulate.network import Overhead
from commmodel.simulate.scenario import place, prepare, workloads

FROZEN = Path(__file__).parents[1] / "frozen"
OVERHEADS = {
    "send": (Overhead(math.inf, 1.7e-6),),
    "isend": (Overhead(math.inf, 1.1e-6),),
    "receive": (Overhead(math.inf, 2.3e-6),),
}
LATENCY = DelayParameters(L=7.1e-6, o=1.3e-6, g=3.7e-6, G=1.1e-9, O_s=0.31e-9, O_r=0.17e-9)
MODELS = {
    "logp": DelayModel(LATENCY, "logp"),
    "loggp": DelayModel(LATENCY, "loggp"),
    "loggps": DelayModel(LATENCY, "loggps"),
    "eager": fluid(65536, 65536),
    "detached": Network("detached", detached_limit=65536, eager_limit=-1),
    "synchronous": Network("synchronous", detached_limit=-1, eager_limit=-1),
    "overheads": Network("overheads", eager_limit=8, detached_limit=1000, **OVERHEADS),
    "hybrid": Network("hybrid", eager_limit=8, detached_limit=1000, leaves_after_overhead=False, **OVERHEADS),
    "buffers": Network(
        "buffers", eager_limit=8, detached_limit=10, leaves_after_overhead=False, send_buffer=4, **OVERHEADS
    ),
}
IN_ORDER = Network("in order", eager_limit=8, detached_limit=8, answers_in_order=True, **OVERHEADS)
RENDEZVOUS = DelayModel(DelayParameters(L=7.1e-6, o=1.3e-6, G=1.1e-9, O_s=0.31e-9, S=5000), "loggps")
LINKS = platform.flat(6, bandwidth=1e15, latency=15e-6)
"""Of so much bandwidth that messages do not disturb each other."""

steps = st.one_of(
    st.tuples(st.just("compute"), st.integers(0, 5)),
    st.tuples(st.just("wait"), st.integers(0, 5)),
    st.tuples(st.just("message"), st.integers(0, 5), st.integers(1, 5), st.integers(0, 1),
              st.sampled_from([0, 8, 1000, 20000]), st.booleans(), st.booleans()),
)  # fmt: skip
programs = st.tuples(st.integers(2, 6), st.lists(steps, min_size=1, max_size=50), st.integers(0, 2**31))


def operations(ranks, plan, seed):
    """Return the operations of each rank; what is listed one after the other is begun so, so nothing hangs."""
    generator = np.random.default_rng(seed)
    rows, are_open = [[] for _ in range(ranks)], [False] * ranks
    for step in plan:
        rank = step[1] % ranks
        if step[0] == "compute":
            rows[rank].append((Code.COMPUTE, 0, 0, -1, generator.uniform(0, 1e-4)))
        elif step[0] == "wait":
            rows[rank].append((Code.WAITALL, 0, 0, -1, 0))
            are_open[rank] = False
        else:
            _, _, distance, tag, size, blocks_send, blocks_receive = step
            peer = (rank + 1 + (distance - 1) % (ranks - 1)) % ranks
            rows[rank].append((Code.SEND if blocks_send else Code.ISEND, peer, tag, -1, size))
            rows[peer].append((Code.RECV if blocks_receive else Code.IRECV, rank, tag, -1, -1))
            are_open[rank] |= not blocks_send
            are_open[peer] |= not blocks_receive
    for rank in range(ranks):
        rows[rank] += [(Code.WAITALL, 0, 0, -1, 0)] * are_open[rank]
        rows[rank].append((Code.COMPUTE, 0, 0, -1, generator.uniform(0, 1e-4)))
    return rows


def program(rows):
    return Program.from_ranks([np.array(row, dtype=OPERATION) for row in rows])


def simulated(rows, model, **options):
    return run(program(rows), model, LINKS, hosts=range(len(rows)), **options)


def assert_covered(path, seconds):
    segments = path.segments
    assert (segments["end"] > segments["start"]).all()
    assert segments["start"][0] == 0
    assert segments["end"][-1] == seconds
    assert np.array_equal(segments["end"][:-1], segments["start"][1:])
    assert math.fsum(segments["end"] - segments["start"]) == pytest.approx(seconds, rel=1e-12)


@given(programs, st.sampled_from([*MODELS.values(), RENDEZVOUS, IN_ORDER]))
def test_it_covers_the_time_without_gap_or_overlap(plan, model):
    result = simulated(operations(*plan), model, record=True)
    assert_covered(critical_path(result), result.seconds)


@given(programs, st.sampled_from(list(MODELS)), st.data())
def test_what_is_on_it_decides_and_nothing_else(plan, name, data):
    rows, model = operations(*plan), MODELS[name]
    result = simulated(rows, model, record=True)
    rank = data.draw(st.integers(0, len(rows) - 1))
    places = [place for place, row in enumerate(rows[rank]) if row[0] == Code.COMPUTE]
    chosen = data.draw(st.integers(0, len(places) - 1))
    computing = result.intervals[
        (result.intervals["rank"] == rank) & (result.intervals["state"] == PathKind.COMPUTATION)
    ]
    interval = np.sort(computing, order="start")[chosen]
    segments = critical_path(result).segments
    is_on_it = bool(
        (
            (segments["rank"] == rank)
            & (segments["start"] == interval["start"])
            & (segments["kind"] == PathKind.COMPUTATION)
        ).any()
    )
    less = 1e-11
    code, *rest, seconds = rows[rank][places[chosen]]
    rows[rank][places[chosen]] = (code, *rest, seconds - less)
    change = (result.seconds - simulated(rows, model).seconds) / less
    assert change == pytest.approx(float(is_on_it), abs=1e-3)


def test_a_late_sender_and_its_message():
    rows = [
        [(Code.COMPUTE, 0, 0, -1, 5e-6), (Code.SEND, 1, 0, -1, 1000)],
        [(Code.COMPUTE, 0, 0, -1, 1e-6), (Code.RECV, 0, 0, -1, 1000), (Code.COMPUTE, 0, 0, -1, 2e-6)],
    ]
    path = critical_path(simulated(rows, DelayModel(DelayParameters(L=4e-6, o=1e-6, G=1e-9)), record=True))
    kinds = [
        (int(row["rank"]), PathKind(row["kind"]).name, round(1e6 * (row["end"] - row["start"]), 6))
        for row in path.segments
    ]
    assert kinds == [
        (0, "COMPUTATION", 5.0),
        (0, "SEND", 1.0),
        (1, "TRANSFER", 5.0),
        (1, "RECEIVE", 1.0),
        (1, "COMPUTATION", 2.0),
    ]
    assert [(share.name, share.segments) for share in path.by_rank()] == [("1", 3), ("0", 2)]


def test_a_late_receiver_decides_when_a_large_message_leaves():
    rows = [[(Code.SEND, 1, 0, -1, 1e5)], [(Code.COMPUTE, 0, 0, -1, 3e-4), (Code.RECV, 0, 0, -1, 1e5)]]
    result = run(program(rows), fluid(1000), platform.flat(2, bandwidth=1e9, latency=1e-6), record=True)
    path = critical_path(result)
    assert (path.segments["rank"][0], path.segments["kind"][0]) == (1, PathKind.COMPUTATION)
    assert path.by_kind()[0].name == "computation"
    assert path.by_kind()[0].seconds == pytest.approx(3e-4)


def test_a_busy_port_is_on_it_and_not_what_the_processor_does_meanwhile():
    send = (Code.ISEND, 1, 0, -1, 10001)
    rows = [[send, (Code.COMPUTE, 0, 0, -1, 1e-6), send, (Code.WAITALL, 0, 0, -1, 0)],
            [(Code.RECV, 0, 0, -1, -1), (Code.RECV, 0, 0, -1, -1)]]  # fmt: skip
    path = critical_path(
        simulated(rows, DelayModel(DelayParameters(L=4e-6, o=1e-6, g=0.0, G=1e-9), "loggp"), record=True)
    )
    assert "computation" not in [share.name for share in path.by_kind()]
    assert {share.name: round(1e6 * share.seconds, 6) for share in path.by_kind()}["port"] == 10.0


def test_links_of_its_messages_are_those_of_their_direction():
    rows = [[(Code.SEND, 1, 0, -1, 1e6)], [(Code.RECV, 0, 0, -1, 1e6)]]
    links = platform.flat(2, bandwidth=1e9, latency=1e-6)
    path = critical_path(run(program(rows), fluid(), links, record=True))
    assert {share.name for share in path.by_link(links)} == set(links.route(0, 1))
    assert all(share.share == pytest.approx(1.0) for share in path.by_link(links))


def test_steps_of_a_collective_are_the_rounds_of_its_algorithm():
    delays = place("L=4us,o=1us,G=1ns")
    work = workloads.collective(delays, "allgather", workloads.Problem(8, 1000), algorithm="ring")
    result = prepare(delays, work).run(record=True, change=with_steps)
    assert sorted(share.name for share in critical_path(result).by_step()) == [f"step {step}" for step in range(1, 8)]


def test_marks_change_no_time():
    delays = place("graphene")
    work = workloads.application(delays, "cg", "S", 8, iterations=1)
    scenario = prepare(delays, work)
    assert scenario.run(change=with_steps).seconds == scenario.run().seconds


def test_a_site_that_is_left_out_costs_no_computation_and_no_bytes():
    mark = [(Code.MARK, -1, -1, -1, float(site)) for site in range(2)]
    rows = [
        [mark[0], (Code.COMPUTE, 0, 0, -1, 5e-6), (Code.SEND, 1, 0, -1, 1000), mark[1], (Code.COMPUTE, 0, 0, -1, 1e-6)],
        [mark[0], (Code.RECV, 0, 0, -1, 1000)],
    ]
    seconds = simulated(rows, DelayModel(LATENCY, "loggps")).seconds
    less = run(without_sites(program(rows), frozenset([0])), DelayModel(LATENCY, "loggps"), LINKS).seconds
    assert seconds - less == pytest.approx(5e-6 + 1000 * (1.1e-9 + 0.31e-9 + 0.17e-9))


def test_a_million_segments_take_seconds():
    ring = simulate.exchange("ring", 8, 4, on="L=4us,o=1us,G=1ns", rounds=50_000, record=True)
    path = critical_path(ring)
    assert path.segments.size > 100_000
    assert_covered(path, ring.seconds)


def test_runs_without_a_record_and_deadlocks_are_refused():
    rows = [[(Code.RECV, 0, 0, -1, 8)]]
    hanging = simulated(rows, fluid(), record=True, deadlock="return")
    with pytest.raises(InputError, match="deadlock"):
        critical_path(hanging)
    with pytest.raises(InputError, match="record"):
        critical_path(simulate.exchange("ring", 8, 4, on="switch"))


def test_an_unknown_model_still_gives_the_whole_time():
    result = simulate.exchange("halo", 65536, 16, on="graphene", record=True)
    path = critical_path(replace(result, message_model=None, hosts=None))
    assert isinstance(path, CriticalPath)
    assert_covered(path, result.seconds)


def test_gains_need_call_sites():
    delays = place("L=4us,o=1us,G=1ns")
    scenario = prepare(delays, workloads.exchange(delays, "ring", 1000, 4))
    assert gains(scenario, critical_path(scenario.run(record=True, change=with_steps))) == []


def test_sites_of_a_recording_are_named_and_shortened():
    recording = record.load(FROZEN / "recording-1")
    where = place("graphene")
    scenario = prepare(where, record.workload(where, recording))
    path = critical_path(scenario.run(record=True, change=with_steps))
    sites = path.by_site()
    assert sum(share.seconds for share in sites) == pytest.approx(path.seconds)
    assert sites[0].name == "computation before app.py:4, MPI_Comm_dup"
    first = gains(scenario, path, most=1)[0]
    assert first.site == "app.py:4, MPI_Comm_dup"
    assert 0.99 * first.computation < first.gain <= 1.01 * first.computation
    assert scenario.run().sites == ()
