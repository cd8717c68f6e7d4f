"""What public functions are given: NaN, texts, fractions of bytes and negative sizes are refused where they come in."""

import math
from pathlib import Path

import numpy as np
import pytest

from commmodel import optimize, predict, simulate
from commmodel.arguments import finite, is_measurable, share, whole
from commmodel.cli.parsers import print_json
from commmodel.collectives import Problem, verify
from commmodel.errors import InputError
from commmodel.fit import FitSettings, fit_machine
from commmodel.machine import Limit, Machine, Parameter, Postal, Segment, load
from commmodel.predict import algorithms, collective, halo, send, with_byte_times
from commmodel.results import Measurements
from commmodel.statistics import summarise
from commmodel.units import format_ratio, parse_confidence, parse_size, parse_time

POSTAL = Machine("m", (Segment("all", postal=Postal(Parameter(1e-6), Parameter(1e-9))),))
RANGER = load("ranger")
NOTHING = Measurements(())
NO_WHOLE = [math.nan, math.inf, 8.5, "8", b"8", None, True, 1 << 80, ["8"], np.float64(2.5), 1j]


@pytest.mark.parametrize("wrong", NO_WHOLE, ids=repr)
@pytest.mark.parametrize(
    "call",
    [
        lambda wrong: whole("n", wrong),
        lambda wrong: send(POSTAL, wrong),
        lambda wrong: send(POSTAL, 8, processes=wrong),
        lambda wrong: halo(POSTAL, wrong, 4),
        lambda wrong: halo(POSTAL, 8, wrong),
        lambda wrong: halo(POSTAL, 8, {"any": wrong}),
        lambda wrong: halo(POSTAL, 8, 4, processes=wrong),
        lambda wrong: collective(RANGER, "bcast", Problem(4, wrong)),
        lambda wrong: collective(RANGER, "bcast", Problem(wrong, 8)),
        lambda wrong: collective(RANGER, "bcast", Problem(4, 8, root=wrong)),
        lambda wrong: algorithms(RANGER, "bcast", Problem(4, wrong)),
        lambda wrong: fit_machine(NOTHING, limits=[wrong]),
        lambda wrong: FitSettings(samples=wrong),
        lambda wrong: FitSettings(seed=wrong),
        lambda wrong: Limit(wrong),
    ],
)
def test_what_is_no_whole_number_is_refused_in_one_line(call, wrong):
    with pytest.raises(InputError, match=r"give (a )?(whole )?number") as caught:
        call(wrong)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "wrong", [math.nan, math.inf, "8", None, True, [1.0], 10**400], ids=lambda wrong: repr(wrong)[:9]
)
@pytest.mark.parametrize(
    "call",
    [
        lambda wrong: finite("t", wrong),
        lambda wrong: share("confidence", wrong),
        lambda wrong: FitSettings(confidence=wrong),
        lambda wrong: POSTAL.segment(wrong),
    ],
)
def test_what_is_no_finite_number_is_refused_in_one_line(call, wrong):
    with pytest.raises(InputError, match=r"give a (finite )?number"):
        call(wrong)


@pytest.mark.parametrize(
    "call",
    [
        lambda: send(POSTAL, -1),
        lambda: halo(POSTAL, -1, 4),
        lambda: collective(RANGER, "bcast", Problem(4, -1)),
        lambda: POSTAL.segment(-1),
        lambda: Limit(-1),
        lambda: fit_machine(NOTHING, limits=[-1]),
        lambda: with_byte_times(RANGER, memory_copy=-1e-9),
    ],
)
def test_a_negative_size_or_time_is_refused(call):
    with pytest.raises(InputError, match=r"must not be negative|from 0 up"):
        call()


@pytest.mark.parametrize("name", ["memory_copy", "reduction"])
@pytest.mark.parametrize("wrong", [math.nan, "1ns/B", math.inf])
def test_work_on_a_byte_is_a_finite_time(name, wrong):
    with pytest.raises(InputError, match=name):
        with_byte_times(RANGER, **{name: wrong})


def test_whole_floats_and_numbers_of_numpy_are_whole_numbers():
    expected = send(POSTAL, 8)
    for size in (8.0, np.int32(8), np.float64(8), np.array(8)):
        assert send(POSTAL, size) == expected


def test_a_parameter_is_a_number_and_no_text():
    with pytest.raises(InputError, match="value is '4us': give a number"):
        Parameter("4us")


def test_a_path_is_no_measurements():
    with pytest.raises(InputError, match=r"measurements is 'results.jsonl': give a Measurements"):
        fit_machine("results.jsonl")
    with pytest.raises(InputError, match="mode is 'fast': choose one of blocking, non-blocking"):
        fit_machine(NOTHING, mode="fast")


@pytest.mark.parametrize("parse", [parse_size, parse_time, parse_confidence])
@pytest.mark.parametrize("wrong", [8, None, math.nan])
def test_a_number_is_no_text(parse, wrong):
    with pytest.raises(InputError, match=r"give a text|is no text"):
        parse(wrong)


@pytest.mark.parametrize("text", ["95%", "95", "0.95", " 95 %", "95.0"])
def test_a_confidence_is_understood_as_people_write_it(text):
    assert parse_confidence(text) == 0.95
    assert format_ratio(parse_confidence(text)) == "95 %"


@pytest.mark.parametrize(
    "text", ["0", "100%", "100", "3", "1", "49", "1e-308", "0.9999999", "0.5%", "-0.5", "nan", "much"]
)
def test_what_is_no_confidence_is_refused(text):
    with pytest.raises(InputError):
        parse_confidence(text)


def test_what_may_have_been_measured_leaves_room_for_products():
    assert is_measurable(1e-30)
    assert is_measurable(1e30)
    for value in (1e-320, 1e205, math.inf, math.nan, -1.0):
        assert not is_measurable(value)


def test_json_takes_numbers_of_numpy(capsys):
    print_json({"seconds": np.float64(1.5), "count": np.int64(3)})
    assert capsys.readouterr().out == '{"seconds":1.5,"count":3}\n'


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: send("ranger", 8), "machine is 'ranger': give a Machine, as commmodel.machine.load makes"),
        (
            lambda: fit_machine(Path("r.jsonl")),
            "measurements is r.jsonl: give a Measurements, as commmodel.formats",
        ),
        (lambda: optimize.choose("ranger", None), "give a Machine or a MessageCosts, as commmodel.machine.load makes"),
        (lambda: simulate.collective("bcast", 8, 4, on="graphene", mapping=2.5), "give one of block or round-robin, "),
        (
            lambda: simulate.collective("bcast", np.arange(2), 4, on="graphene"),
            r"message_size is \[0 1\]: give a",
        ),
        (lambda: optimize.TransferProblem(0, 1e-3), "volume is 0: give a whole number from 1 up"),
        (lambda: optimize.TransferProblem(8, 1e-3, peers=0), "peers is 0: give a whole number from 1 up"),
        (lambda: optimize.MessageCosts(overhead=-1.0), "overhead is -1.0: give a finite number from 0 up"),
        (lambda: summarise([]), r"samples is \[\]: give a list of at least one"),
        (lambda: verify("bcast", "binomial", 2**62), "would take about"),
        (lambda: send(POSTAL, [8, 16]).plot("axes"), "axes is 'axes': give axes of matplotlib"),
        (
            lambda: predict.tune(RANGER, [0], [8], "mpich", collectives=["bcast"]),
            r"processes is \[0\]: give at least",
        ),
    ],
)
def test_what_new_users_give_is_answered_with_what_to_give(call, words):
    with pytest.raises(InputError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [np.array(8.0), np.float32(8), np.float64(8), np.array(8)], ids=repr)
def test_a_whole_number_of_numpy_is_one(size):
    assert send(POSTAL, size) == send(POSTAL, 8)
