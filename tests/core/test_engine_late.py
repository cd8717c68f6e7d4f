"""Times beyond the largest number are told: they are neither 0 nor a deadlock."""

import numpy as np
import pytest

from commmodel.errors import InputError
from commmodel.simulate import SMPI, DelayModel, DelayParameters, Program, delays, fluid, goal, platform, run
from commmodel.simulate.operations import OPERATION, UNNAMED, Code


def rank(*operations):
    return np.array(list(operations), dtype=OPERATION)


SLEEP = (Code.SLEEP, 0, 0, UNNAMED, 1.7e308)
SEND, RECEIVE = (Code.SEND, 1, 0, UNNAMED, 7e4), (Code.RECV, 0, 0, UNNAMED, 7e4)
SLOW, FAR = platform.flat(2, 1e-308, 0.0), platform.flat(2, 1e9, 1.7e308)
FAST = platform.flat(2, 1e9, 1e-6)
CALM = DelayParameters(L=1e-6, o=1e-6)


@pytest.mark.parametrize("model", [fluid(), SMPI], ids=["fluid", "smpi"])
@pytest.mark.parametrize(
    ("ranks", "links"),
    [
        ([rank(SLEEP, SLEEP), rank()], FAST),
        ([rank(SLEEP, SLEEP, SEND), rank(RECEIVE)], FAST),
        ([rank(SEND), rank(RECEIVE)], SLOW),
        ([rank(SEND), rank(RECEIVE)], FAR),
    ],
    ids=["sleeps", "sends late", "slow link", "far hosts"],
)
def test_links_and_programs(model, ranks, links):
    with pytest.raises(InputError, match=r"1\.8e308"):
        run(Program.from_ranks(ranks), model, links)


@pytest.mark.parametrize("name", ["logp", "loggp", "loggps"])
@pytest.mark.parametrize(
    ("ranks", "parameters"),
    [
        ([rank(SLEEP, SLEEP), rank()], CALM),
        ([rank(SLEEP, SLEEP, SEND), rank(RECEIVE)], CALM),
        ([rank(SEND, SEND), rank(RECEIVE, RECEIVE)], DelayParameters(L=1.7e308, o=1.7e308)),
        ([rank(SEND, SEND, SEND), rank(RECEIVE, RECEIVE, RECEIVE)], DelayParameters(L=1.7e308, o=1e308, g=1.7e308)),
    ],
    ids=["sleeps", "sends late", "far hosts", "wide gaps"],
)
def test_delay_models(name, ranks, parameters):
    with pytest.raises(InputError, match=r"1\.8e308"):
        run(Program.from_ranks(ranks), DelayModel(parameters, name))


@pytest.mark.parametrize("rules", ["classic", "newer"])
@pytest.mark.parametrize("parameters", [DelayParameters(L=1e299, o=1e299), DelayParameters(L=1e305, o=0.0)])
def test_schedules(rules, parameters):
    schedule = goal.parse("num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n")
    with pytest.raises(InputError, match=r"1\.8e308"):
        delays.run_schedule(schedule, parameters, rules=rules)


@pytest.mark.parametrize("model", [fluid(), DelayModel(CALM)], ids=["fluid", "loggps"])
def test_the_largest_times_that_there_are_still_count(model):
    assert run(Program.from_ranks([rank(SLEEP), rank()]), model, FAST).seconds == 1.7e308
    assert run(Program.from_ranks([rank(), rank(RECEIVE)]), model, FAST, deadlock="return").blocked
