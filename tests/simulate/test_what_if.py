"""Scaled places, and many scenarios side by side."""

import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from commmodel import machine, simulate
from commmodel.errors import (
    CommModelError,
    DamagedFileError,
    DeadlockError,
    InputError,
    MissingPackageError,
    RankEndedError,
)
from commmodel.simulate import OPERATION, Code, Program
from commmodel.simulate.delays import DelayParameters
from commmodel.simulate.scenario import Scale, Workload, parse_scales, place, prepare, workloads
from commmodel.simulate.what_if import predictions


def ring(where, scale, size=65536):
    return simulate.exchange("ring", size, 16, on=where, scale=scale)


def kernel(where, scale):
    return simulate.application("cg", "S", 4, on=where, iterations=1, scale=scale)


def hanging(where, scale, deadlock="raise"):
    """Rank 0 waits for what rank 1 does not send."""
    waiting = np.array([(Code.RECV, 1, 0, -1, 8)], dtype=OPERATION)
    ranks = Workload(2, "two ranks", lambda *_: Program.from_ranks([waiting, waiting[:0]]), {})
    return prepare(place(where), ranks, scale=scale).run(deadlock=deadlock)


def refused(where, scale):
    raise DamagedFileError("a.toml", "line 3", f"{where}, {scale}")


def sleeping(where, scale):
    time.sleep(60)


def children_of(process):
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


def is_alive(process):
    """Whether a process is there and no zombie, which the container's first process may leave."""
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def wait_for(condition):
    for _ in range(200):
        if result := condition():
            return result
        time.sleep(0.05)
    pytest.fail("it took too long")


def test_a_scaled_platform_is_that_platform_with_other_numbers():
    graphene = place("graphene").platform
    fast = Scale(bandwidth=2, latency=0.25).platform(graphene)
    assert np.array_equal(fast.capacity, 2 * graphene.capacity)
    assert np.array_equal(fast.latency, 0.25 * graphene.latency)
    assert fast.route(0, 100) == graphene.route(0, 100)
    assert Scale(compute=3).platform(graphene) is graphene


def test_delay_parameters_are_scaled():
    scaled = Scale(bandwidth=2, latency=3).delays(DelayParameters(L=1.0, o=1.0, g=1.0, G=4.0, O_s=1.0, G_small=8.0))
    assert scaled == DelayParameters(L=3.0, o=1.0, g=1.0, G=2.0, O_s=1.0, G_small=4.0)
    entry, two, four = predictions(ring, ["L=1us,o=1us,G=1ns"], parse_scales("bandwidth=1,2,4"))
    assert entry.seconds - two.seconds == pytest.approx(2 * (two.seconds - four.seconds))
    assert entry.seconds - two.seconds >= 32e-6


def test_a_machine_alone_is_scaled():
    entry, two = predictions(
        partial(ring, size=1 << 22), [str(machine.published()["graphene"])], parse_scales("bandwidth=1,2")
    )
    assert entry.model == "hybrid"
    assert 1.5 < entry.seconds / two.seconds <= 2


def test_without_factors_the_bits_are_the_same():
    cluster = place("graphene")
    work = workloads.application(cluster, "lu", "S", 4, iterations=2)
    assert prepare(cluster, work, scale=Scale()).run().ends.tobytes() == prepare(cluster, work).run().ends.tobytes()


def test_computation_is_scaled():
    entry, four = predictions(kernel, ["graphene"], parse_scales("compute=1,4"))
    assert entry.ranks["compute"].most == pytest.approx(4 * four.ranks["compute"].most)
    assert sum(times.mean for times in entry.ranks.values()) == pytest.approx(entry.seconds)


def test_workers_and_executors_give_the_same_in_the_same_order():
    scales = parse_scales("latency=0.5,1,bandwidth=1:8")
    alone = predictions(ring, ["switch", "graphene"], scales)
    values = []
    beside = predictions(
        ring, ["switch", "graphene"], scales, workers=2, progress=lambda done, runs: values.append((done, runs))
    )
    with ThreadPoolExecutor(2) as executor:
        threads = predictions(ring, ["switch", "graphene"], scales, executor=executor)
    rows = [[(row.place, row.scale, row.seconds, row.ranks) for row in rows] for rows in (alone, beside, threads)]
    assert rows[0] == rows[1] == rows[2]
    assert [(row.place, row.scale) for row in alone] == [
        (name, scale) for name in ("switch", "graphene") for scale in scales
    ]
    assert values == [(count + 1, 16) for count in range(16)]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_a_run_is_raised(workers):
    with pytest.raises(DamagedFileError, match=r"a\.toml: line 3: switch, as it is"):
        predictions(refused, ["switch"], [Scale(), Scale()], workers=workers)


@pytest.mark.parametrize(
    "error",
    [
        CommModelError("plain"), DamagedFileError("a.toml", "line 3", "wrong"), MissingPackageError("a"),
        RankEndedError("rank 1 ended", 7),
    ],
)  # fmt: skip
def test_errors_come_from_other_processes_as_they_are(error):
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301  (our own)
    assert (type(copy), str(copy), copy.exit_code) == (type(error), str(error), error.exit_code)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("speed=2", "'speed' cannot be scaled: choose one of bandwidth, latency, compute, overhead, gap"),
        ("2", "'2' names nothing to scale"),
        ("bandwidth=", "bandwidth: '' is no number"),
        ("bandwidth=0", "bandwidth: '0' is no factor: give a number above 0"),
        ("bandwidth=-1", "is no factor"),
        ("latency=nan", "'nan' is no number"),
        ("latency=1:2:4", "the step of a range"),
        ("latency=4:1", "ends before it begins"),
        ("latency=1,compute=2,latency=3", "latency is given twice"),
        ("latency=1:100:+1,compute=1:100:+1", "10000 combinations: at most 1000 are run"),
    ],
)
def test_wrong_scales_are_refused(text, problem):
    with pytest.raises(InputError, match=problem.replace("+", r"\+")):
        parse_scales(text)


def test_factors_are_exact():
    assert [scale.latency for scale in parse_scales("latency=0.1:0.4:+0.1")] == [0.1, 0.2, 0.3, 0.4]
    with pytest.raises(InputError, match="above 0"):
        Scale(latency=0.0)


def test_too_few_and_too_many_runs():
    with pytest.raises(InputError, match="0 runs"):
        predictions(ring, [], [Scale()])
    with pytest.raises(InputError, match="1500 runs: give at least one and at most 1000"):
        predictions(ring, ["switch"] * 3, [Scale()] * 500)
    with pytest.raises(InputError, match="workers is 0"):
        predictions(ring, ["switch"], [Scale()], workers=0)


def test_a_schedule_is_scaled_in_its_computation_and_its_parameters(tmp_path):
    text = "num_ranks 2\nrank 0 {\nl1: calc 600\nl2: send 1b to 1\nl2 requires l1\n}\nrank 1 {\nrecv 1b from 0\n}\n"
    (tmp_path / "one.goal").write_text(text)
    schedule = workloads.schedule(str(tmp_path / "one.goal"))
    scale = Scale(latency=2, compute=3, overhead=0.5)
    seconds = prepare(place("L=1us,o=100ns"), schedule, scale=scale).run().seconds
    assert seconds == pytest.approx(200e-9 + 2000e-9 + 2 * 50e-9, rel=1e-12)


def test_overheads_and_gaps_of_messages_are_scaled():
    def seconds(on, **factors):
        return simulate.exchange("ring", 1000, 4, on=on, scale=Scale(**factors)).seconds

    delays = "L=10us,o=1us,g=4us"
    assert seconds(delays, overhead=3) - seconds(delays) == pytest.approx(2 * 2e-6)  # a send, a receive, 2 µs more each
    assert seconds("graphene", overhead=3) > seconds("graphene") == seconds("graphene", gap=1)


@pytest.mark.skipif(sys.platform != "linux", reason="processes end with their parent on Linux")
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_is_left_over(kind):
    code = (
        f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
        "import test_what_if as t\n"
        "print('ready', flush=True)\n"
        "t.predictions(t.sleeping, ['a', 'b'], [t.Scale()], workers=2)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout.readline() == b"ready\n"
        children = wait_for(lambda: len(entry := children_of(parent.pid)) == 2 and entry)
        time.sleep(0.5)
        parent.send_signal(kind)
        parent.wait(20)
        assert wait_for(lambda: not any(map(is_alive, children)))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_deadlock_is_an_error_unless_its_prediction_is_wanted(workers):
    scales = [Scale(), Scale(compute=2.0)]
    with pytest.raises(DeadlockError, match="1 of 2 ranks never end: rank 0 waits in MPI_Recv") as raised:
        predictions(hanging, ["switch"], scales, workers=workers)
    assert raised.value.result.blocked[0].rank == 0
    results = predictions(partial(hanging, deadlock="return"), ["switch"], scales, workers=workers)
    assert [prediction.blocked[0] for prediction in results] == ["deadlock: 1 of 2 ranks never end, fluid"] * 2


def test_a_question_may_be_a_closure_and_a_run_is_a_row():
    size = 4096
    runs = predictions(
        lambda where, scale: ring(where, scale, size), ["switch"], [Scale(), Scale(latency=0.5)], workers=2
    )
    first, second = (run.to_dict() for run in runs)
    assert first["seconds"] == runs[0].seconds > second["seconds"]
    assert (first["latency"], second["latency"], second["place"]) == (1.0, 0.5, "switch")


def killed(where, scale):
    """End a worker as a system without memory does."""
    if scale.latency == 2.0:
        os.kill(os.getpid(), signal.SIGKILL)
    return ring(where, scale)


def test_a_killed_worker_is_said_in_one_line():
    with pytest.raises(InputError, match="killed"):
        predictions(killed, ["switch"], [Scale(), Scale(latency=2.0)], workers=2)
