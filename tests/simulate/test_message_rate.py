"""A host sends so many messages a second to others, however small they are."""

import msgspec
import numpy as np
import pytest

from commmodel import simulate
from commmodel.errors import InputError
from commmodel.machine import Limit, MessageRate, Parameter, Segment
from commmodel.machine import load as load_machine
from commmodel.simulate import OPERATION, Code, Program, fluid, platform, run, scenario
from commmodel.simulate.from_machine import network
from commmodel.simulate.network import Overhead

RATE = 1e6
LATENCY = 2e-6
BANDWIDTH = 1e10
PAIRS = 8


def sends(size, messages=1):
    """Return a program in which rank i sends to rank i + PAIRS."""
    senders = [np.array([(Code.SEND, PAIRS + rank, 0, -1, size)] * messages, OPERATION) for rank in range(PAIRS)]
    receivers = [np.array([(Code.RECV, rank, 0, -1, size)] * messages, OPERATION) for rank in range(PAIRS)]
    return Program.from_ranks([*senders, *receivers])


def seconds(program, gaps, cores=PAIRS):
    hosts = platform.flat(2 * PAIRS // cores, BANDWIDTH, LATENCY / 2, cores=cores)
    model = msgspec.structs.replace(fluid(eager_limit=1e9), message_gaps=gaps)
    return run(program, model, hosts).seconds


def test_messages_of_a_host_leave_one_after_the_other():
    plain = seconds(sends(0), ())
    limited = seconds(sends(0), (Overhead(np.inf, 1 / RATE),))
    assert plain == pytest.approx(LATENCY)
    assert limited == pytest.approx(LATENCY + (PAIRS - 1) / RATE)
    assert seconds(sends(0, 10), (Overhead(np.inf, 1 / RATE),)) == pytest.approx(LATENCY + (10 * PAIRS - 1) / RATE)


def test_each_host_has_its_own_rate_and_its_inside_has_none():
    gaps = (Overhead(np.inf, 1 / RATE),)
    assert seconds(sends(0), gaps, cores=1) == pytest.approx(LATENCY)
    assert seconds(sends(0), gaps, cores=2 * PAIRS) == seconds(sends(0), (), cores=2 * PAIRS)


def test_the_rate_is_of_a_size():
    gaps = (Overhead(64, 1 / RATE), Overhead(np.inf, 0.0))
    assert seconds(sends(64), gaps) > 2 * seconds(sends(65), gaps)


def test_a_machine_gives_its_rates():
    calibrated = load_machine("graphene")
    path = calibrated.hybrid[0].path
    segments = (
        Segment("eager", path, Limit(64), message_rate=(MessageRate(Parameter(1e6), upto=8),)),
        Segment("rendezvous", path),
    )
    gaps = network(msgspec.structs.replace(calibrated, segments=segments)).message_gaps
    assert [(gap.limit, gap.constant) for gap in gaps] == [(8, 1e-6), (64, 0), (np.inf, 0)]
    assert network(calibrated).message_gaps == ()


def test_public_calls_take_it():
    hosts = platform.flat(2, BANDWIDTH, LATENCY / 2, cores=PAIRS)
    times = [
        simulate.collective("alltoall", 8, 2 * PAIRS, on=scenario.place(hosts, message_rate=rate)).seconds
        for rate in (None, 1e6)
    ]
    assert times[1] > 2 * times[0]


@pytest.mark.parametrize("rate", [0, -1, float("nan"), "fast"])
def test_wrong_rates_are_refused(rate):
    with pytest.raises(InputError, match="message_rate"):
        scenario.place("graphene", message_rate=rate)


def test_delay_models_have_none():
    with pytest.raises(InputError, match="message_rate"):
        simulate.collective("bcast", 8, 4, on=scenario.place("L=4us,o=1us,G=6ns", message_rate=1e6))
