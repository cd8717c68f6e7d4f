"""One program on several numbers of processes."""

import math

import numpy as np
import pytest

from commmodel import simulate
from commmodel.errors import InputError
from commmodel.report.simulation.sizes import size_table, verdict
from commmodel.simulate.scenario import Scale
from commmodel.simulate.sizes import SizedRun, SizedRuns, sizes
from commmodel.simulate.states import IDLE, STATE_NAMES
from commmodel.simulate.what_if import PredictedRun, RankTimes


def kernel(processes):
    return simulate.application("cg", "S", processes, on="graphene", iterations=1)


def test_runs_are_those_of_single_questions_whatever_the_order_and_the_workers():
    runs = sizes(kernel, [16, 4], workers=2)
    assert [run.processes for run in runs] == [4, 16]
    assert [run.seconds for run in runs] == [kernel(4).seconds, kernel(16).seconds]
    assert runs[1].speedup == runs[0].seconds / runs[1].seconds
    assert runs[1].efficiency == runs[1].speedup / 4
    weak = sizes(kernel, [4, 16], scaling="weak")
    assert weak[1].efficiency == runs[1].speedup


def test_factors_multiply_to_the_parallel_efficiency():
    for run in sizes(kernel, [4, 8]):
        result = kernel(run.processes)
        computing = result.spent[:, 0]
        assert run.parallel == pytest.approx(computing.mean() / result.seconds)
        assert run.load_balance == pytest.approx(computing.mean() / computing.max())
        assert run.parallel == pytest.approx(run.load_balance * run.serialisation * run.transfer)


def test_an_exchange_has_no_parallel_efficiency():
    runs = sizes(lambda count: simulate.exchange("ring", 65536, count, on="switch"), [2, 4])
    assert runs[1].parallel is runs[1].load_balance is runs[1].transfer is None
    assert runs[1].transferring + runs[1].waiting == pytest.approx(1.0)
    assert verdict(runs).startswith("4 ranks take ")


def test_what_is_wrong_is_named():
    with pytest.raises(InputError, match="a number comes twice"):
        sizes(kernel, [4, 4])
    with pytest.raises(InputError, match=r"question\(8\) is of 4 processes"):
        sizes(lambda _: kernel(4), [8])
    with pytest.raises(InputError, match="0 runs"):
        sizes(kernel, [])


def sized(processes, seconds, compute, moving, speedup):
    times = dict.fromkeys(STATE_NAMES, RankTimes(0.0, 0.0, 0.0, 0.0))
    waiting = seconds - compute - moving
    for state, value in (("compute", compute), ("transfer", moving), ("wait", waiting)):
        times[state] = RankTimes(value, value, value, value)
    times[IDLE] = RankTimes(0.0, 0.0, 0.0, 0.0)
    prediction = PredictedRun("switch", Scale(), "fluid", "ring", processes, seconds, times, 1, 1, 0.1)
    return SizedRun(prediction, speedup, speedup / processes * 4)


def test_the_verdict_says_what_more_ranks_gain_and_why_no_more():
    rows = [sized(4, 8.0, 8.0, 0.0, 1.0), sized(16, 4.0, 2.0, 2.0, 2.0)]
    assert verdict(rows) == "16 ranks do 2 times as much in a time as 4, 50 % of what so many more could: transfer " \
        "takes 50 % of the time."  # fmt: skip
    rows.append(sized(64, 4.0, 0.5, 3.32, 2.0))
    assert verdict(rows) == "64 ranks gain nothing over 16: transfer takes 83 % of the time."
    rows[2] = sized(64, 8.0, 0.5, 0.5, 1.0)
    assert verdict(rows) == "64 ranks are 2 times slower than 16: waiting for each other takes 88 % of the time."


def test_a_deadlock_is_a_row():
    operations = np.array([(simulate.Code.RECV, 1, 0, -1, 8)], dtype=simulate.OPERATION)

    def question(count):
        if count == 2:
            return kernel(2)
        program = simulate.Program.from_ranks([operations, *[operations[:0]] * (count - 1)])
        return simulate.run(program, simulate.fluid(), simulate.platform.load("switch"), deadlock="return")

    runs = sizes(question, [2, 3])
    assert math.isnan(runs[1].speedup)
    assert size_table(runs).rows[1][1].value == "deadlock"
    assert verdict(runs) == "There is no comparison: a deadlock, or no time at all, on 3 ranks."
    assert isinstance(runs[:1], SizedRuns)
