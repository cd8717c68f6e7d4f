"""How long a plan takes at least, said before anything is measured."""

import msgspec
import pytest
from support.launching import BENCHMARK, launch

from commmodel.bench.kernels import REGISTRY, kernel_of
from commmodel.bench.options import parse
from commmodel.bench.outlook import Outlook, PathTimes, sent_bytes
from commmodel.bench.placement import place
from commmodel.bench.plan import make_plan
from commmodel.results.configurations import Clocks, Collective, Contention, PingPong

SLOW = PathTimes((1, 1 << 16), (1e-5, (1 << 16) / 2.39e6))
"""20 Mbit/s."""
TWO_HOSTS = place([0, 1], [None, None])


def plan_of(*words):
    line = parse([*words, "-o", "x"])
    return make_plan(msgspec.structs.replace(line.options, procs=(2,)), TWO_HOSTS)


def test_a_visit_takes_the_time_of_its_messages():
    outlook = Outlook({"between-nodes": SLOW}, on_node=4)
    once = 2 * (1 << 20) / 2.39e6
    assert outlook.least(PingPong(1 << 20, "between-nodes")) == pytest.approx(4 * once, rel=0.01)
    one_way = Contention(1 << 20, "one-way", "between-nodes")
    assert outlook.least(one_way) == pytest.approx(2 * once, rel=0.01)
    assert outlook.least(Clocks("hca3", 2, 5.0)) == pytest.approx(5.0, rel=0.01)
    # Four ranks of a node send to all others at once.
    assert outlook.least(Collective("alltoall", 1 << 20, 8)) == pytest.approx(4 * 7 * 4 * once / 2, rel=0.01)


def test_what_does_not_fit_into_the_time_left_is_not_measured_beside_the_plan():
    outlook = Outlook({"between-nodes": SLOW})
    small, middle, large = (PingPong(size, "between-nodes") for size in (1024, 1 << 18, 1 << 22))
    assert outlook.affordable([large, middle, small], 2.0) == [middle, small]
    assert outlook.affordable([middle, small], 0.0) == []


def test_a_calibration_of_a_slow_network_is_known_to_take_long():
    """It was asked for 30 s and took 91 on two emulated hosts."""
    kernels = ("ping", "pingpong", "contention", "threshold", "answer")
    plan = plan_of(*kernels, "--random-sizes", "80", "--sizes", "256:1048576", "--seed", "1")
    assert Outlook({"between-nodes": SLOW}).total(plan) == pytest.approx(91, rel=0.2)
    assert sent_bytes(plan) / 2.39e6 == pytest.approx(91, rel=0.4)


def test_kernels_that_decide_a_models_kind_come_first():
    plan = plan_of("ping", "pingpong", "threshold", "answer", "--sizes", "8,64")
    decide = [kernel_of(configuration).decides for configuration in plan]
    assert decide == sorted(decide, reverse=True)
    assert decide.count(True) == 4  # threshold, and three of answer
    assert {name for name, kernel in REGISTRY.items() if kernel.decides} == {
        "answer", "contention", "threshold", "unexpected"
    }  # fmt: skip


@pytest.mark.mpi
def test_what_takes_longer_than_asked_is_said_before(tmp_path):
    completed = launch(
        2, *BENCHMARK, "pingpong", "--sizes", "1:64KiB", "--time", "1ms", "-o", tmp_path / "results.jsonl"
    )
    assert completed.returncode == 0, completed.stderr
    assert "note: one visit to each of 17 configurations takes about " in completed.stderr
