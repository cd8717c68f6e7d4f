"""Measurements become series over one parameter, launches kept apart."""

import numpy as np
import pytest

from commmodel.results import Header, Launch, Library, Measurements, Record
from commmodel.results.configurations import Collective, Function, Local, Memory, PingPong
from commmodel.scaling import series_over

HEADER = Header("commmodel-results", 1, "", (), Library("MPI"), (), ())


def measured(*launches):
    return Measurements(tuple(Launch(HEADER, tuple(records)) for records in launches))


def test_what_differs_in_another_parameter_is_another_series():
    records = [Record(Collective("bcast", n, p, start), "s", (1.0,)) for n in (8, 64) for p in (4, 2, 8)
               for start in ("barrier", "round-time")]  # fmt: skip
    result = list(series_over(measured(records)))
    assert [(entry.name, entry.metric, entry.unit, entry.over) for entry in result] == [("bcast", "time", "s", "p")] * 4
    assert {entry.fixed for entry in result} == {
        (("n", n), ("start", start)) for n in (8.0, 64.0) for start in ("barrier", "round-time")
    }
    assert {entry.scales for entry in result} == {(2.0, 4.0, 8.0)}
    assert [entry.scales for entry in series_over(measured(records), "n")] == [(8.0, 64.0)] * 6


@pytest.mark.parametrize(
    ("configuration", "unit", "name", "metric"),
    [
        (Collective("bcast", 8, 2, mode="non-blocking"), "s", "ibcast", "time"),
        (Collective("bcast", 8, 2, mode="overlapped"), "s", "ibcast", "overlapped time"),
        (Memory("comm_dup", 2), "B", "comm_dup", "memory"),
        (Memory("init", 2, "pss"), "B", "init", "pss memory"),
        (Function("main->solve", "visits", (("p", 2.0), ("size", 8.0))), "1", "main->solve", "visits"),
    ],
)
def test_names_and_metrics(configuration, unit, name, metric):
    (entry,) = series_over(measured([Record(configuration, unit, (1.0,))]))
    assert (entry.name, entry.metric, entry.scales) == (name, metric, (2.0,))


def test_what_has_no_such_parameter_is_left_out():
    records = [Record(PingPong(8, "any"), "s", (1.0,)), Record(Local("copy", 8), "s", (1.0,))]
    assert list(series_over(measured(records))) == []
    assert [entry.name for entry in series_over(measured(records), "n")] == ["pingpong", "local"]
    assert list(series_over(measured(records), "path")) == []  # no number


def test_launches_stay_apart_and_longer_ones_are_thinned_to_the_same_quartiles():
    draw = np.random.default_rng(1).gamma(2.0, size=4001)
    result = Collective("barrier", 0, 2)
    match = next(
        series_over(measured([Record(result, "s", tuple(draw))], [Record(result, "s", tuple(2 * draw[:401]))]))
    )
    (samples,) = match.samples
    assert samples.shape == (2, 401)
    assert np.quantile(samples[0], [0.25, 0.5]) == pytest.approx(np.quantile(draw, [0.25, 0.5]), rel=0.01)
    assert samples[1] == pytest.approx(2 * draw[:401])


def test_what_one_launch_measured_twice_is_put_together():
    record = Record(Collective("barrier", 0, 2), "s", (1.0, 2.0))
    (entry,) = series_over(measured([record, record]))
    assert entry.samples[0].tolist() == [[1.0, 2.0, 1.0, 2.0]]
