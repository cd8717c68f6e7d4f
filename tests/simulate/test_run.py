"""The one way to simulate a program: every model an option of it, and what is missing is said."""

import numpy as np
import pytest
from support.engine_programs import flat, program, recv, send

from commmodel.collectives import Problem
from commmodel.errors import InputError
from commmodel.simulate import SMPI, DelayModel, DelayParameters, fluid, run, work

PARAMETERS = DelayParameters(L=4.0, o=1.0, g=2.0, G=0.5)
PAIR = program([send(1, 1000)], [recv(0, 1000)])


def test_every_model_is_an_option_of_one_call():
    models = fluid(), SMPI, *(DelayModel(PARAMETERS, name) for name in ("logp", "loggp", "loggps"))
    outcomes = [run(PAIR, model, flat(2)) for model in models]
    assert [outcome.model for outcome in outcomes] == ["fluid", "smpi", "logp", "loggp", "loggps"]
    assert [outcome.seconds for outcome in outcomes[2:]] == [6.0, 505.5, 506.0]


def test_a_delay_model_takes_no_notice_of_platform_and_hosts():
    alone = run(PAIR, DelayModel(PARAMETERS))
    for where in ({"platform": flat(1)}, {"hosts": [0, 0]}, {"platform": flat(2), "hosts": np.arange(5)}):
        assert run(PAIR, DelayModel(PARAMETERS), **where).ends.tobytes() == alone.ends.tobytes()


def test_both_kinds_keep_what_happened_where_they_are_asked():
    for model in (fluid(), DelayModel(PARAMETERS)):
        assert not run(PAIR, model, flat(2)).transfers.size
        assert run(PAIR, model, flat(2), record=True).transfers["size"].tolist() == [1000.0]


def test_a_network_without_a_platform_is_refused():
    with pytest.raises(InputError, match="by the model 'fluid' messages share links: give a platform"):
        run(PAIR, fluid())


@pytest.mark.parametrize("wrong", [flat(2), "loggps", None])
def test_what_is_no_model_is_refused(wrong):
    with pytest.raises(InputError, match=r"model is .*: give a Network or a DelayModel"):
        run(PAIR, wrong, fluid())


def test_parameters_without_their_model_are_refused():
    with pytest.raises(InputError, match=r"model is .*: give a Network or a DelayModel"):
        run(PAIR, PARAMETERS)


@pytest.mark.parametrize("model", [fluid(), DelayModel(DelayParameters(L=1e-6, o=1e-6))], ids=["fluid", "loggps"])
def test_a_run_asks_from_time_to_time_whether_to_go_on(model):
    def interrupt(seconds, events):
        assert seconds > 0
        assert events > 0
        raise KeyboardInterrupt

    broadcasts = work.repeat(work.collective("bcast", Problem(64, 8), algorithm="binomial"), 2000)
    with pytest.raises(KeyboardInterrupt):
        run(broadcasts, model, flat(64), progress=interrupt)
