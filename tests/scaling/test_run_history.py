"""Measurements over time: where a quantity changed, and where it did not."""

import random

import pytest
from support.report_samples import header

from commmodel.errors import InputError
from commmodel.results import Launch, Measurements, Record
from commmodel.results.configurations import Collective, PingPong
from commmodel.scaling import history


def run(day, factor=1.0, launches=5, noise=0.02, seed=0):
    """A run of a day whose broadcasts take `factor` times as long."""
    luck = random.Random(f"{day} {seed}")  # noqa: S311
    launches_of_day = []
    for launch in range(launches):
        records = tuple(
            Record(configuration, "s", tuple(luck.gauss(1, noise) * times * 1e-6 for _ in range(1)) * 12)
            for configuration, times in (
                (Collective("bcast", 8, 4), factor), (Collective("barrier", 0, 4), 1.0), (PingPong(8, "same-node"), 1.0)
            )
        )  # fmt: skip
        created = f"2026-{1 + day // 28:02}-{1 + day % 28:02}T{launch:02}:00:00+00:00"
        launches_of_day.append(Launch(header(created=created), records))
    return Measurements(tuple(launches_of_day))


def change_points(files, **options):
    return [(point.configuration.operation, point.run, point.change) for point in history(files, **options).changes]


def test_a_change_is_named_at_its_run_and_once():
    files = {f"day {day}": run(day, 3.0 if day >= 4 else 1.0) for day in range(8)}
    assert change_points(files) == [("bcast", 4, "slower")]
    assert change_points(dict(reversed(files.items()))) == [("bcast", 4, "slower")]  # in the order of time


def test_what_became_slower_and_faster_again_is_two_changes():
    files = {f"day {day}": run(day, 3.0 if day in (3, 4) else 1.0) for day in range(8)}
    assert change_points(files) == [("bcast", 3, "slower"), ("bcast", 5, "faster")]


def test_files_of_one_launch_are_compared_in_windows():
    files = {f"day {day}": run(day, 4.0 if day >= 7 else 1.0, launches=1) for day in range(14)}
    result = history(files)
    assert [(point.run, point.change) for point in result.changes] == [(7, "slower")]
    assert "1 launches only" in " ".join(result.remarks)


def test_without_a_change_none_is_named():
    for seed in range(5):
        assert change_points({f"day {day}": run(day, seed=seed) for day in range(6)}) == []


def test_points_are_means_and_ends_of_the_launches():
    result = history({f"day {day}": run(day) for day in range(3)})
    for series in result.series:
        assert [point.run for point in series.points] == [0, 1, 2]
        assert all(point.low <= point.value <= point.high for point in series.points)
    assert {run.launches for run in result.runs} == {5}


def test_two_files_are_no_history():
    with pytest.raises(InputError, match="2 files are no history"):
        history({"a": run(1), "b": run(2)})
