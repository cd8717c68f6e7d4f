"""Arrays of sizes, processes, neighbours and link volumes: each element is what the same numbers alone give."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from commmodel import machine, predict
from commmodel.collectives import Problem
from commmodel.errors import InputError, MissingParameterError
from commmodel.machine import (
    Limit,
    LogGP,
    Machine,
    MaxRate,
    MeasuredPairs,
    MeasuredTimes,
    Origin,
    Parameter,
    PLogP,
    Postal,
    Quality,
    Segment,
)
from commmodel.predict import seconds

ALPHA = Parameter(2e-6, "s", 1.8e-6, 2.3e-6)
BETA = Parameter(4e-10, "s/B", 0.0, 5e-10)
R_C, R_N = Parameter(3e9, "B/s", 2.5e9, 3.5e9), Parameter(6e9, "B/s", 0.0, 7e9)
QUALITY = Quality(9, 0.1, 0.1, 0.1, trusted=True, scatter=0.07)
REGIME = MeasuredTimes((512, 1024, 2000), (3e-6, 4e-6, 4.5e-6), (2.9e-6, 3.9e-6, 4e-6), (3.1e-6, 4.2e-6, 5e-6))
MEASURED = Machine(
    "measured",
    (
        Segment(
            "eager",
            "between-nodes",
            Limit(8192),
            postal=Postal(ALPHA, BETA, QUALITY),
            max_rate=MaxRate(ALPHA, R_C, R_N, QUALITY),
            recommended="postal",
            measured=(
                MeasuredPairs(1, (1, 8192), {"postal": 0.02, "max-rate": 0.03}, times=REGIME),
                MeasuredPairs(4, (1, 4096), {"postal": 0.9, "max-rate": 0.03}, contradicting=REGIME),
            ),
        ),
        Segment("rendezvous", "between-nodes", max_rate=MaxRate(ALPHA, R_C, None, QUALITY), loggp=None),
        Segment("all", "same-node", postal=Postal(ALPHA, BETA), measured=(MeasuredPairs(2, (64, 65536)),)),
    ),
    confidence=0.95,
    origin=Origin(processes=12),
    queue_search=Parameter(8e-9, "s", 7e-9, 9e-9),
    link_contention=Parameter(1e-10, "s/B"),
)
UNLIMITED = Machine(
    "unlimited",
    (
        Segment(
            "all",
            max_rate=MaxRate(ALPHA, R_C, Parameter(math.inf, "B/s"), QUALITY),
            measured=(MeasuredPairs(1, (1, 65536)), MeasuredPairs(3, (1, 65536))),
        ),
    ),
    confidence=0.9,
)
OF_TABLES = Machine(
    "tables",
    (Segment("all", loggp=LogGP(ALPHA, Parameter(1e-6), Parameter(2e-6), Parameter(1e-9, "s/B", 9e-10, 2e-9))),),
    plogp=(
        PLogP(
            Parameter(1e-6),
            (0, 100, 1000),
            (1e-6, 2e-6, 3e-6),
            (1e-6, 2e-6, 3e-6),
            (1e-6, 3e-6, 9e-6),
            low={"g": (1e-6, 2e-6, 8e-6)},
            high={"g": (1e-6, 4e-6, 1e-5)},
        ),
    ),
)
MACHINES = [MEASURED, UNLIMITED, OF_TABLES, *(machine.load(name) for name in machine.published())]
SIZES = st.one_of(st.integers(0, 5000), st.integers(0, 2**40), st.sampled_from([0, 1, 512, 1024, 2000, 8192, 8193]))


def answers(question, *arguments, **options):
    """Return the answer for each element, where it has one; the first error elsewhere."""
    try:
        return question(*arguments, **options)
    except MissingParameterError as error:
        return type(error)


def number(value):
    return math.nan if value is None else value


def agree(several, alone, place):
    """Assert that an element of arrays has the bits of a prediction alone."""
    for name in ("time", "postal"):
        for end in ("seconds", "low", "high"):
            first, second = getattr(getattr(several, name), end)[place], number(getattr(getattr(alone, name), end))
            assert np.array_equal(first, second, equal_nan=True), (name, end, first, second)
    for name in ("ratio", "aggregate_rate"):
        assert np.array_equal(getattr(several, name)[place], getattr(alone, name), equal_nan=True), name
    for name in ("model", "protocol", "path", "is_bound"):
        assert getattr(several, name)[place] == getattr(alone, name)
    assert several.is_extrapolated[place] == bool(alone.extrapolates)


def check(question, cluster, columns, **options):
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    alone = [answers(question, cluster, **row, **options) for row in rows]
    several = answers(question, cluster, **columns, **options)
    if MissingParameterError in alone:
        assert several is MissingParameterError
        return
    for place, prediction in enumerate(alone):
        agree(several, prediction, place)


@pytest.mark.parametrize("few", [10_000, 0], ids=["one by one", "compiled"])
@pytest.mark.parametrize("cluster", MACHINES, ids=lambda cluster: cluster.name)
def test_messages_of_arrays_have_the_bits_of_messages_alone(cluster, few, monkeypatch):
    monkeypatch.setattr(seconds, "_FEW", few)

    @settings(max_examples=25, deadline=None)
    @given(st.lists(st.tuples(SIZES, st.integers(1, 40)), min_size=1, max_size=12), st.booleans())
    def property_(points, chooses):
        sizes, processes = map(list, zip(*points, strict=True))
        model = None if chooses else "postal"
        check(predict.send, cluster, {"message_size": sizes, "processes": processes}, model=model)

    property_()


@pytest.mark.parametrize("few", [10_000, 0], ids=["one by one", "compiled"])
@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(SIZES, st.integers(1, 9), st.integers(1, 30), st.integers(0, 10**9)), min_size=1, max_size=9))
def test_halo_exchanges_of_arrays_have_the_bits_of_exchanges_alone(few, points):
    sizes, processes, neighbours, volumes = map(list, zip(*points, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seconds, "_FEW", few)
        columns = {"message_size": sizes, "processes": processes, "neighbours": neighbours, "link_volume": volumes}
        check(predict.halo, MEASURED, columns)
        mixed = predict.halo(MEASURED, sizes, {"between-nodes": neighbours, "same-node": 2}, processes=1)
        for place, (size, count) in enumerate(zip(sizes, neighbours, strict=True)):
            agree(mixed, predict.halo(MEASURED, size, {"between-nodes": count, "same-node": 2}), place)


def test_arguments_broadcast_and_the_answer_has_their_shape():
    sizes, processes = np.array([[1024], [65536]]), range(1, 4)
    answer = predict.send(machine.load("blue-waters"), sizes, processes=processes)
    assert answer.time.seconds.shape == answer.model.shape == (2, 3)
    assert answer.arguments["processes"].tolist() == [[1, 2, 3]] * 2
    assert answer.time.seconds[1, 2] == predict.send(machine.load("blue-waters"), 65536, processes=3).time.seconds
    assert predict.send(MEASURED, []).time.seconds.size == 0


def test_numbers_of_numpy_alone_give_one_prediction():
    alone = predict.send(MEASURED, 1024, processes=2)
    assert predict.send(MEASURED, np.int64(1024), processes=np.int64(2)) == alone
    assert predict.send(MEASURED, np.float64(1024.0), processes=2) == alone


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"message_size": [8, -1]}, "message_size is -1"),
        ({"message_size": [8.5]}, "message_size is 8.5"),
        ({"message_size": ["8"]}, "message_size is"),
        ({"message_size": [math.nan]}, "message_size is nan"),
        ({"message_size": 8, "processes": [0]}, "processes is 0"),
        ({"message_size": [1, 2], "processes": [1, 2, 3]}, r"message_size of shape \(2,\), processes of shape \(3,\)"),
    ],
)
def test_what_is_wrong_in_an_array_is_named(arguments, message):
    with pytest.raises(InputError, match=message):
        predict.send(MEASURED, **arguments)


def test_lines_on_extrapolation_and_doubts_stay_few():
    sizes = np.arange(1, 100_000, 7)
    answer = predict.send(UNLIMITED, sizes, processes=5)
    assert answer.is_bound.all()
    assert answer.is_extrapolated.all()
    assert len(answer.extrapolates) < 5


def test_columns_repr_and_plot_of_messages():
    answer = predict.send(MEASURED, [64, 1024, 4096], processes=np.array([[1], [4]]))
    columns = answer.to_dict()
    assert {len(column) for column in columns.values()} == {6}
    assert columns["processes"] == [1, 1, 1, 4, 4, 4]
    assert list(answer.to_frame()["seconds"]) == answer.time.seconds.ravel().tolist()
    assert "\n" not in repr(answer)
    assert len(repr(answer)) < 100
    axes = answer.plot(Figure().subplots())
    assert [line.get_label() for line in axes.lines] == ["processes 1", "processes 4"]
    assert axes.lines[1].get_ydata().tolist() == answer.time.seconds[1].tolist()
    assert len(axes.collections) == 2


def test_times_without_an_interval_have_none_in_columns():
    answer = predict.send(machine.load("blue-waters"), [1024, 65536])
    assert answer.to_dict()["low"] == [None, None]


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 20)), min_size=1, max_size=5), st.sampled_from(["", "best"])
)
def test_collectives_of_arrays_have_the_bits_of_collectives_alone(points, are_best):
    sizes, processes = map(list, zip(*points, strict=True))
    options = {"algorithm": "best" if are_best else None}
    answer = predict.collective(OF_TABLES, "bcast", sizes, processes, **options)
    for place, (size, count) in enumerate(points):
        alone = predict.collective(OF_TABLES, "bcast", Problem(count, size), **options)
        assert predict.collective(OF_TABLES, "bcast", size, count, **options) == alone
        ends = [getattr(answer.time, end)[place] for end in ("seconds", "low", "high")]
        expected = [number(getattr(alone.time, end)) for end in ("seconds", "low", "high")]
        assert np.array_equal(ends, expected, equal_nan=True)
        assert np.array_equal(answer.closed_form[place], number(alone.closed_form), equal_nan=True)
        for name in ("model", "algorithm", "chosen_by", "evaluation"):
            assert getattr(answer, name)[place] == getattr(alone, name)


def test_columns_and_plot_of_collectives():
    answer = predict.collective(OF_TABLES, "alltoall", [8, 1024, 4096], [[4], [8]])
    assert answer.to_dict()["processes"] == [4, 4, 4, 8, 8, 8]
    axes = answer.plot(Figure().subplots())
    assert [line.get_label() for line in axes.lines] == ["processes 4", "processes 8"]
    with pytest.raises(InputError, match="processes is None"):
        predict.collective(OF_TABLES, "alltoall", [8, 1024])
    with pytest.raises(InputError, match="processes is 0"):
        predict.collective(OF_TABLES, "alltoall", 8, [0])


def test_a_prediction_alone_has_a_row_and_a_bar_for_each_model():
    alone = predict.send(MEASURED, 64, processes=4)
    columns = alone.to_dict()
    assert columns["model"] == list(alone.models)
    assert columns["seconds"][columns["is_used"].index(True)] == alone.time.seconds
    axes = alone.plot(Figure().subplots())
    assert [bar.get_width() for bar in axes.patches] == columns["seconds"]


def test_machines_stand_side_by_side():
    machines = {"first": MEASURED, "second": UNLIMITED}
    answer = predict.side_by_side(machines, [64, 1024], processes=2)
    columns = answer.to_dict()
    assert columns["machine"] == ["first", "first", "second", "second"]
    assert columns["seconds"][2:] == predict.send(UNLIMITED, [64, 1024], processes=2).time.seconds.tolist()
    assert [line.get_label() for line in answer.plot(Figure().subplots()).lines] == ["first", "second"]
    halo = predict.side_by_side(machines, 64, by=predict.halo, neighbours=6)
    assert halo.predictions["first"] == predict.halo(MEASURED, 64, 6)
    assert len(halo.plot(Figure().subplots()).patches) == 2
    assert set(halo.to_dict()["machine"]) == set(machines)
    with pytest.raises(InputError, match="machines is"):
        predict.side_by_side({}, 8)


def test_sizes_and_processes_are_a_problem_or_numbers():
    alone = predict.collective(OF_TABLES, "bcast", 1024, 8)
    assert alone == predict.collective(OF_TABLES, "bcast", message_size=Problem(8, 1024))
    assert predict.algorithms(OF_TABLES, "bcast", 1024, 8) == predict.algorithms(OF_TABLES, "bcast", Problem(8, 1024))
    with pytest.raises(InputError, match="processes is of the Problem"):
        predict.algorithms(OF_TABLES, "bcast", Problem(8, 1024), 8)
    with pytest.raises(InputError, match="processes is of the Problem"):
        predict.collective(OF_TABLES, "bcast", Problem(8, 1024), 8)
