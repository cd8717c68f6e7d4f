"""Which model speaks for how many processes, what it extrapolates, and what was wrong with the measurements."""

import json
import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commmodel import machine, optimize, predict
from commmodel.cli import main
from commmodel.collectives import Problem
from commmodel.errors import DamagedFileError, MissingParameterError
from commmodel.fit import fit_machine
from commmodel.fit.measured_range import measured
from commmodel.fit.points import collect
from commmodel.machine import (
    LogGP,
    Machine,
    MaxRate,
    MeasuredPairs,
    MeasuredTimes,
    Origin,
    Parameter,
    Postal,
    Segment,
    choose_model,
    recommended_model,
)
from commmodel.report.machine.model_curves import prediction
from commmodel.results import Header, Host, Launch, Library, Measurements, Rank, Record
from commmodel.results.configurations import Pairs, PingPong

ALONE = Postal(Parameter(1e-6, "s"), Parameter(1e-10, "s/B"))
UNLIMITED = MaxRate(Parameter(1e-6, "s"), Parameter(1e10, "B/s"), Parameter(math.inf, "B/s"))
SIZES = [2**exponent for exponent in range(21)]


def launch(times, *, ranks=4, cpus=4):
    """Return a launch with a record for each number of pairs and size; `times` says the seconds of both."""
    records = []
    for pairs in range(1, ranks // 2 + 1):
        for size in SIZES:
            seconds = times(size, pairs)
            samples = tuple(seconds * (1 + 0.001 * (index % 7 - 3)) for index in range(21))
            of_one = PingPong(size, "same-socket")
            records.append(Record(of_one if pairs == 1 else Pairs(size, pairs, "same-socket"), "s", samples))
    header = Header(
        "commmodel-results", 1, "2026-01-01", (), Library("MPICH"), (Host("vm", cpus=cpus),),
        tuple(Rank(rank, 0) for rank in range(ranks)),
    )  # fmt: skip
    return Launch(header, tuple(records))


def scheduled(size, pairs):
    """As on two processors: two pairs wait for the scheduler, by no law."""
    if pairs == 1:
        return 1e-6 + size / 15e9
    return 1e-3 * (1 + (size.bit_length() * 7) % 11 / 3)


@pytest.fixture(scope="module")
def crowded():
    return fit_machine(Measurements((launch(scheduled, cpus=2),)), results=["crowded.jsonl"])


@pytest.mark.parametrize("size", [1, 1024, 1 << 20])
@pytest.mark.parametrize("processes", [1, 2])
def test_a_prediction_is_near_what_the_same_records_hold(crowded, size, processes):
    assert predict.send(crowded, size, processes=processes).time.seconds == pytest.approx(
        scheduled(size, processes), rel=0.2
    )


def test_more_processes_than_measured_get_a_bound_and_not_as_many_times_the_rate(crowded):
    few, many = (predict.send(crowded, 1 << 20, processes=processes) for processes in (2, 16))
    assert many.is_bound
    assert many.aggregate_rate == pytest.approx(few.aggregate_rate)
    assert many.time.low == pytest.approx(few.time.low or few.time.seconds, rel=0.2)
    (line,) = many.extrapolates
    assert "k = 16" in line
    assert "up to k = 2" in line
    assert "bench pairs on at least 32 ranks" in line
    assert not few.extrapolates
    assert not few.is_bound


def test_a_bound_is_for_the_postal_model_that_is_recommended_too():
    errors = ({"postal": 0.01, "max-rate": 0.01}, {"postal": 0.02, "max-rate": 0.02})
    rows = tuple(MeasuredPairs(pairs, (1, 4096), error) for pairs, error in zip((1, 2), errors, strict=True))
    segment = Segment("all", postal=ALONE, max_rate=UNLIMITED, recommended="postal", measured=rows)
    four = predict.send(Machine("m", (segment,)), 4096, processes=4)
    assert (four.model, four.is_bound) == ("postal", True)
    assert four.time.seconds == pytest.approx(
        2 * predict.send(Machine("m", (segment,)), 4096, processes=2).time.seconds
    )


def test_a_known_limit_of_the_node_is_extrapolated_with_a_word():
    limited = msgspec.structs.replace(UNLIMITED, R_N=Parameter(2e10, "B/s"))
    segment = Segment("all", max_rate=limited, measured=(MeasuredPairs(1, (1, 4096)), MeasuredPairs(3, (1, 4096))))
    many = predict.send(Machine("m", (segment,)), 4096, processes=16)
    assert many.extrapolates == ("k = 16 is extrapolated: measured up to k = 3",)
    assert not many.is_bound
    assert many.time.seconds == pytest.approx(1e-6 + 16 * 4096 / 2e10)


@pytest.mark.parametrize(("size", "words"), [(1 << 20, "up to 4 KiB"), (8, "from 64 B up"), (0, "from 64 B up")])
def test_sizes_beyond_the_measured_ones_are_told(size, words):
    segment = Segment("all", postal=ALONE, max_rate=UNLIMITED, measured=(MeasuredPairs(1, (64, 4096)),))
    (line,) = predict.send(Machine("m", (segment,)), size).extrapolates
    assert words in line
    assert predict.send(Machine("m", (segment,)), 100).extrapolates == ()


def test_an_underestimate_by_a_factor_is_as_far_as_an_overestimate_by_it():
    """The relative error of the first is 95 %, that of the second 100 %."""
    fast = Postal(Parameter(5e-8, "s"), Parameter(0.0, "s/B"))
    slow = MaxRate(Parameter(2e-6, "s"), Parameter(1e18, "B/s"), Parameter(1e18, "B/s"))
    segment = Segment("all", postal=fast, max_rate=slow, recommended="postal")
    points = collect(Measurements((launch(lambda _size, _pairs: 1e-6),)))["same-socket"]
    result = measured(segment, points, points)
    assert result.measured[1].errors == {"postal": pytest.approx(math.log(20)), "max-rate": pytest.approx(math.log(2))}
    assert result.measured[1].times is not None  # neither describes it
    assert choose_model(result, 2).name == "measured"
    assert choose_model(segment, 2).name == "postal"  # a file that tells nothing of its measurements


def test_choice_prediction_and_plot_speak_by_one_model(crowded):
    segment = crowded.segments[0]
    for processes in (1, 2):
        name = choose_model(segment, processes).name
        predicted = predict.send(crowded, 1, processes=processes)
        assert predicted.model == name
        (drawn,) = prediction(crowded.segments, np.array([1.0]), processes)
        assert drawn == pytest.approx(predicted.time.seconds)


def test_as_many_processes_fill_the_node_as_moved_most_where_no_model_describes_them(crowded):
    assert optimize.communicating_processes(crowded, 1 << 20) == 1


def test_without_a_recommendation_the_richest_speaks_everywhere():
    extended = machine.load("blue-waters").segment(1 << 20)
    result = msgspec.structs.replace(extended, max_rate=UNLIMITED, recommended="")
    assert recommended_model(result) == choose_model(result, 4).name == "extended"
    assert optimize.communicating_processes(Machine("m", (result,)), 1 << 20) == 5
    with pytest.raises(MissingParameterError, match="does not limit"):
        optimize.communicating_processes(Machine("m", (msgspec.structs.replace(result, extended=None),)), 1 << 20)


def test_more_ranks_than_processors_are_told_by_fit_predict_and_report(crowded, tmp_path, capsys):
    (warning,) = crowded.origin.warnings
    assert warning.startswith("vm: 4 ranks share 2 processors")
    assert crowded.origin.processes == 4
    path = str(tmp_path / "machine.toml")
    machine.dump(crowded, path)
    assert main(["predict", path, "send", "-n", "1MiB", "-k", "16"]) == 0
    shown = capsys.readouterr()
    assert warning in shown.err
    printed = " ".join(shown.out.split())
    assert "(used, a bound)" in printed
    assert "send at least" in printed
    assert "k = 16 is extrapolated: measured up to k = 2" in printed
    assert main(["predict", path, "send", "-n", "1MiB", "-k", "16", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert (plain["warnings"], plain["is_bound"], len(plain["extrapolates"])) == ([warning], True, 1)


def test_enough_processors_are_no_warning():
    fitted = fit_machine(Measurements((launch(lambda size, pairs: 1e-6 + pairs * size / 1e10),)))
    assert fitted.origin.warnings == ()
    assert all(entry.times is None for segment in fitted.segments for entry in segment.measured)


def test_a_collective_of_more_processes_than_were_measured_says_so_in_one_line():
    result = LogGP(Parameter(1e-6), Parameter(1e-6), Parameter(1e-6), Parameter(1e-10))
    segment = Segment("all", loggp=result, measured=(MeasuredPairs(1, (1, 4096)),))
    few = Machine("m", (segment,), selector="mpich", origin=Origin(processes=4, warnings=("w",)))
    many = predict.collective(few, "bcast", Problem(64, 1 << 20))
    assert many.extrapolates == ("extrapolated: measured up to 4 processes and messages of 4 KiB",)
    assert many.warnings == ("w",)
    assert predict.collective(few, "bcast", Problem(4, 1024)).extrapolates == ()


def test_what_was_measured_survives_the_file(crowded, tmp_path):
    machine.dump(crowded, tmp_path / "machine.toml")
    assert machine.load(tmp_path / "machine.toml") == crowded
    assert any(entry.times is not None for entry in crowded.segments[0].measured)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            "[[segments.measured]]\npairs = 2\nsizes = [1, 2]\n[[segments.measured]]\npairs = 2\nsizes = [1, 2]",
            "ascend",
        ),
        ("[[segments.measured]]\npairs = 1\nsizes = [2, 1]", "smallest comes first"),
        ("[[segments.measured]]\npairs = 0\nsizes = [1, 2]", r"measured\[0\]"),
        (
            "[[segments.measured]]\npairs = 1\nsizes = [1, 2]\ntimes = {sizes = [1, 2], seconds = [1.0]}",
            "a finite number for each of 2 sizes",
        ),
        (
            "[[segments.measured]]\npairs = 1\nsizes = [1, 2]\ntimes = {sizes = [2, 1], seconds = [1.0, 2.0]}",
            "sizes must ascend",
        ),
    ],
)
def test_measured_rows_that_contradict_themselves_are_refused(tmp_path, rows, words):
    path = tmp_path / "machine.toml"
    path.write_text(f'format = "commmodel-machine"\nname = "m"\n[[segments]]\nprotocol = "all"\n{rows}\n')
    with pytest.raises(DamagedFileError, match=words):
        machine.load(path)


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_measured_times_never_fall_with_the_size_where_they_rise(first, second):
    table = MeasuredTimes((0, 8, 1024), (1e-6, 2e-6, 9e-6), (0.5e-6, 1e-6, 4e-6), (2e-6, 4e-6, 18e-6))
    small, large = sorted((first, second))
    assert table.at(small) <= table.at(large) * (1 + 1e-12)
    assert table.at(small, "low") < table.at(small) < table.at(small, "high")


HAND = """
format = "commmodel-machine"
name = "hand"
selector = "mpich"
origin = {processes = 4, warnings = ["vm: crowded"]}
[[segments]]
protocol = "all"
loggp = {L = "2us", o = "1us", g = "1us", G = "0.1ns/B"}
measured = [{pairs = 1, sizes = [1, 65536]}]
"""


@pytest.mark.parametrize(
    "words",
    [
        ["predict", "{}", "bcast", "-n", "1MiB", "-p", "64"],
        ["predict", "{}", "send", "-n", "1MiB"],
        ["optimize", "{}", "--volume", "8MiB", "--computation", "3ms"],
        [
            "tune",
            "{}",
            "-p",
            "8",
            "--sizes",
            "128KiB",
            "--collectives",
            "bcast",
            "--library",
            "openmpi",
            "-o",
            "rules.txt",
        ],
        ["simulate", "{}", "bcast", "-p", "8", "-n", "8"],
    ],
    ids=lambda words: "-".join(words[:3:2]),
)
def test_every_command_repeats_what_was_wrong_and_says_what_it_extrapolates(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hand.toml").write_text(HAND)
    assert main([word.format("hand.toml") for word in words] + ["--json"]) == 0
    shown = capsys.readouterr()
    assert shown.err.count("warning: vm: crowded") == 1
    plain = json.loads(shown.out)
    assert plain["warnings"] == ["vm: crowded"]
    if words[0] != "simulate":
        (line,) = plain["extrapolates"]
        assert "64 KiB" in line
