"""Messages per second of a node: prediction where they limit, and taken by all that predicts.

Times of osu_mbw_mr between two nodes of CSD3, 100 Gb/s InfiniBand: stackhpc/hpc-tests, f735aa2, output/csd3.
"""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fit_samples import measurements

from commmodel import optimize, predict
from commmodel.collectives import Problem, build
from commmodel.errors import DamagedFileError
from commmodel.fit import FitSettings, fit_machine
from commmodel.fit.message_rate import fit_message_rate
from commmodel.fit.points import Points
from commmodel.machine import Limit, Machine, MaxRate, MessageRate, Parameter, Segment, dumps, load
from commmodel.machine.rates import message_time
from commmodel.predict.nodes import node_gaps
from commmodel.results import Record
from commmodel.results.configurations import Stream

PAIRS = (1, 2, 4, 8, 16, 32, 56)
CSD3 = {  # bytes -> microseconds of a message, by pairs
    1: (0.144, 0.181, 0.170, 0.160, 0.161, 0.404, 0.882), 2: (0.143, 0.180, 0.150, 0.156, 0.165, 0.411, 0.860),
    4: (0.143, 0.178, 0.151, 0.154, 0.162, 0.414, 0.959), 8: (0.142, 0.179, 0.150, 0.158, 0.162, 0.407, 0.797),
    16: (0.139, 0.178, 0.149, 0.154, 0.160, 0.406, 0.853), 32: (0.141, 0.198, 0.151, 0.160, 0.227, 0.399, 0.824),
    64: (0.152, 0.206, 0.162, 0.169, 0.234, 1.146, 2.706), 128: (0.154, 0.230, 0.169, 0.189, 0.306, 1.397, 4.115),
    256: (0.171, 0.250, 0.190, 0.265, 0.495, 1.449, 2.895), 512: (0.183, 0.268, 0.253, 0.399, 0.801, 2.036, 3.890),
    1024: (0.220, 0.320, 0.353, 0.693, 1.392, 3.255, 6.113), 4096: (0.457, 0.734, 1.347, 2.693, 5.383, 11.23, 19.63),
    16384: (1.472, 2.688, 5.328, 10.66, 21.48, 44.02, 75.93), 65536: (5.45, 10.7, 21.3, 42.5, 85.3, 172.0, 299.8),
}  # fmt: skip
QUICK = FitSettings(samples=50)


def streams(table, left_out=()):
    return measurements(
        *(
            Record(Stream(size, pairs, "between-nodes", 64, buffers="one"), "s", (seconds * 1e-6,))
            for size, times in table.items()
            for pairs, seconds in zip(PAIRS, times, strict=True)
            if pairs not in left_out
        )
    )


@pytest.fixture(scope="module")
def csd3():
    return fit_machine(streams(CSD3), settings=QUICK)


def test_messages_of_a_full_node_take_what_was_measured(csd3):
    eight = predict.send(csd3, 8, processes=56)
    assert eight.time.low < 0.797e-6 < eight.time.high
    assert eight.time.seconds == pytest.approx(0.797e-6, rel=0.15)
    assert not eight.extrapolates
    assert predict.send(csd3, 8, processes=1).time.seconds < 0.25e-6


@pytest.mark.parametrize("left_out", [2, 4, 8, 16, 32, 56])
def test_a_number_of_pairs_that_was_not_measured(left_out):
    machine = fit_machine(streams(CSD3, (left_out,)), settings=QUICK)
    sizes = [size for size in CSD3 if size <= 32]
    times = np.array([CSD3[size][PAIRS.index(left_out)] for size in sizes]) * 1e-6
    prediction = predict.send(machine, sizes, processes=left_out).time
    assert np.abs(prediction.seconds / times - 1).max() < 0.35
    assert ((prediction.low < times) & (times < prediction.high)).mean() > 0.8


def test_arrays_say_what_single_numbers_do(csd3):
    sizes, counts = [1, 32, 33, 64, 128, 2048, 1 << 16], [1, 2, 16, 40, 56]
    many = predict.send(csd3, [[size] for size in sizes], processes=counts).time
    for row, size in enumerate(sizes):
        for column, count in enumerate(counts):
            single = predict.send(csd3, size, processes=count).time
            for end in ("seconds", "low", "high"):
                assert getattr(many, end)[row, column] == pytest.approx(getattr(single, end), rel=1e-12)


@settings(max_examples=20, deadline=None)
@given(
    rate=st.floats(5e6, 3e8), fall=st.sampled_from([0.0, 0.5, 1.0]), seed=st.integers(0, 1000),
    noise=st.sampled_from([0.01, 0.05]),
)  # fmt: skip
def test_a_planted_rate_is_found(rate, fall, seed, noise):
    size, pairs = np.repeat([1, 2, 4, 8, 16, 32], 7), np.tile([1, 2, 4, 8, 16, 32, 64], 6)
    alpha = 16 / rate * (16 / 64) ** fall  # so that it begins at 16 pairs
    seconds = np.maximum(alpha, pairs / rate * (pairs / 64) ** fall)
    seconds *= np.exp(noise * np.random.default_rng(seed).standard_normal(size.size))
    (prediction,), floor = fit_message_rate(Points(size, pairs, seconds, seconds, seconds), np.zeros(size.size), 0.95)
    assert prediction.M.low < rate < prediction.M.high
    assert prediction.fall.low <= fall <= prediction.fall.high
    assert prediction.M.value == pytest.approx(rate, rel=0.1)
    assert floor.is_reached[pairs == 64].all()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), growth=st.sampled_from([0.0, 0.3, 0.6]))
def test_a_rate_that_still_grows_is_no_limit(seed, growth):
    size, pairs = np.repeat([1, 2, 4, 8, 16, 32], 6), np.tile([1, 2, 4, 8, 16, 32], 6)
    seconds = 1e-7 * pairs**growth * np.exp(0.05 * np.random.default_rng(seed).standard_normal(size.size))
    rates, floor = fit_message_rate(Points(size, pairs, seconds, seconds, seconds), np.zeros(size.size), 0.95)
    assert rates == ()
    assert not floor.is_reached.any()


def test_the_interval_grows_away_from_the_measured_number():
    rate = MessageRate(Parameter(1e8, "1/s", 9e7, 1.1e8), 32, Parameter(0.5, "", 0.2, 0.8))
    segment = Segment("all", message_rate=(rate,))
    spans = [message_time(segment, 8, count, "high") / message_time(segment, 8, count, "low") for count in (32, 8, 64)]
    assert spans[0] == pytest.approx(1.1 / 0.9)
    assert min(spans[1:]) > spans[0]


def node(*rates):
    model = MaxRate(Parameter(1e-7), Parameter(1e10), Parameter(1e10))
    return Machine("hand-made", (Segment("all", one_way=model, message_rate=rates),))


def test_processes_that_fill_a_node_with_messages():
    machine = node(MessageRate(Parameter(1e8), 56, Parameter(0.5), upto=32))
    count = optimize.communicating_processes(machine, 8)
    rates = [k / predict.send(machine, 8, processes=k).time.seconds for k in range(1, 57)]
    assert rates[count - 1] >= 0.95 * max(rates) > rates[count - 2]
    assert optimize.communicating_processes(machine, 1 << 20) == 1


def test_processes_that_fill_a_node_by_a_rate_written_by_hand():
    assert optimize.communicating_processes(node(MessageRate(Parameter(1e8))), 8) == 10
    rates = (MessageRate(Parameter(math.inf), upto=8), MessageRate(Parameter(1e8), 56))
    assert optimize.communicating_processes(node(*rates), 8) == 1


def test_collectives_on_nodes_share_the_rate():
    schedule = build("alltoall", "pairwise", Problem(8, 8))
    _, plain, _ = node_gaps(node(), "loggp", schedule, 4)
    _, limited, _ = node_gaps(node(MessageRate(Parameter(1e6), 4)), "loggp", schedule, 4)
    crosses = plain > 0
    assert limited[crosses] == pytest.approx(plain[crosses] + 1e-6)
    assert not limited[~crosses].any()


def test_the_file_keeps_it(csd3, tmp_path):
    path = tmp_path / "machine.toml"
    path.write_text(dumps(csd3))
    assert load(path).segments[0].message_rate == csd3.segments[0].message_rate
    assert "message_rate" in csd3.to_dict()["model"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("message_rate = [{M = 0}]", "must not be 0"),
        ("message_rate = [{M = '10parsec'}]", "parsec"),
        ("message_rate = [{M = 1e6}, {M = 1e7}]", "upto must ascend"),
        ("message_rate = [{M = 1e6, fall = -1}]", "not a finite number from 0 up"),
    ],
)
def test_damaged_rates_are_named(text, words, tmp_path):
    path = tmp_path / "machine.toml"
    path.write_text(f"format = 'commmodel-machine'\nversion = 1\nname = 'm'\n[[segments]]\nprotocol = 'all'\n{text}\n")
    with pytest.raises(DamagedFileError, match=words):
        load(path)


def test_a_rate_written_by_hand(tmp_path):
    path = tmp_path / "machine.toml"
    path.write_text(
        "format = 'commmodel-machine'\nversion = 1\nname = 'm'\n[[segments]]\nprotocol = 'all'\n"
        "one_way = {alpha = '100ns', R_C = '10GB/s', R_N = '10GB/s'}\nmessage_rate = [{M = '100M/s'}]\n"
    )
    assert predict.send(load(path), 0, processes=50).time.seconds == 5e-7


def test_ends_of_segments_and_rates():
    rates = (MessageRate(Parameter(1e8), upto=32), MessageRate(Parameter(1e7)))
    first = Segment("eager", limit=Limit(64), message_rate=rates)
    assert [message_time(first, size, 10) for size in (32, 33)] == [1e-7, 1e-6]
    assert message_time(msgspec.structs.replace(first, message_rate=()), 8, 10) == 0
