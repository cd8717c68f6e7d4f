"""Many records: read line by line, pooled where they repeat, never compared each with each."""

import tracemalloc

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commmodel import statistics
from commmodel.fit import FitSettings, fit_machine
from commmodel.fit.bootstrap import WeightedFit, resample
from commmodel.report.page import render
from commmodel.results import Header, Host, Launch, Library, Measurements, Rank, Record, Writer, load, pool
from commmodel.results.configurations import PingPong, Threshold

HEADER = Header(
    "commmodel-results", 1, "2026-01-01", (), Library("MPICH"), (Host("m", cpus=2),), (Rank(0, 0), Rank(1, 0))
)
SIZES = [2**exponent for exponent in range(13)]


def repeated(times, launches=4, samples=3):
    """Return launches that measured each size so many times together."""
    records = []
    for turn in range(times):
        for size in SIZES:
            seconds = (1e-6 + size / 1e10) * (1 + 0.01 * ((turn * 7 + size) % 5))
            result = tuple(seconds * (1 + 0.001 * index) for index in range(samples))
            records.append(Record(PingPong(size, "same-socket"), "s", result))
    parts = np.array_split(np.arange(len(records)), launches)
    return Measurements(tuple(Launch(HEADER, tuple(records[index] for index in part)) for part in parts))


def peak(work):
    tracemalloc.start()
    work()
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return used


def test_few_repeats_are_left_as_they_are():
    measurements = repeated(40)
    assert pool(measurements) is measurements


def test_many_repeats_are_pooled_without_losing_a_sample():
    measurements = repeated(130)
    result = pool(measurements)
    counts = {}
    for record in result.records:
        counts[record.configuration] = counts.get(record.configuration, 0) + 1
    assert set(counts.values()) == {40}
    assert len(counts) == len(SIZES)
    samples = [sorted(s for r in launch.records for s in r.samples) for launch in (measurements, result)]
    assert samples[0] == samples[1]
    assert len(result.launches) == 4
    assert "1690 records of 13 configurations" in result.notes[0]


def test_what_is_no_plain_time_is_never_pooled():
    probes = tuple(Record(Threshold("same-socket"), "B", (float(size),)) for size in range(100))
    measurements = Measurements((Launch(HEADER, probes),))
    assert pool(measurements) is measurements


def test_pooled_records_give_the_fit_of_all():
    few, many = (fit_machine(repeated(count), settings=FitSettings(samples=100)) for count in (40, 400))
    for segment, other in zip(few.segments, many.segments, strict=True):
        assert other.postal.alpha.value == pytest.approx(segment.postal.alpha.value, rel=0.02)
        assert other.postal.beta.value == pytest.approx(segment.postal.beta.value, rel=0.02)


def test_memory_of_a_fit_does_not_grow_with_the_square_of_the_records():
    def fit(count):
        measurements = repeated(count)
        return peak(lambda: fit_machine(measurements, settings=FitSettings(samples=20)))

    few, many = map(fit, (100, 800))
    assert many < 8 * few


def test_memory_of_a_bootstrap_grows_with_the_points_and_not_with_their_square():
    def draw(points):
        sizes = np.geomspace(1, 1e6, points)
        fitted = 1e-6 + sizes / 1e9
        design = np.stack([np.ones(points), sizes], axis=1)
        return resample(WeightedFit(design, 1 / sizes, fitted, fitted * 1.01), 20, 1)

    few, many = (peak(lambda count=count: draw(count)) for count in (500, 4000))
    assert many < 12 * few


def test_the_page_of_many_records_is_no_longer_than_that_of_few():
    few, many = (len(render(repeated(count, samples=10), None, "m")) for count in (80, 400))
    assert many < 1.2 * few


def test_reading_keeps_records_and_not_the_file(tmp_path):
    """The samples are long in the file, as text, and short in memory; equal configurations are one object."""
    path = tmp_path / "r.jsonl"
    record = Record(PingPong(8, "same-socket"), "s", (1.0000000000000002e-06,))
    with Writer(path) as writer:
        writer.write(HEADER)
    line = msgspec.json.encode(record)
    with open(path, "ab") as file:
        for _ in range(5000):
            file.write(line + b" " * 5000 + b"\n")
    assert peak(lambda: load(path)) < path.stat().st_size / 4
    result = list(load(path).records)
    assert len(result) == 5000
    assert len({id(entry.configuration) for entry in result}) == 1


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=100))
def test_short_records_are_summarised_as_numpy_does(samples):
    result = statistics.summarise(samples)
    quantiles = np.quantile(np.array(samples), (0.1, 0.5, 0.9, 0.99))
    assert [result.p10, result.median, result.p90, result.p99] == quantiles.tolist()
    assert (result.minimum, result.maximum, result.count) == (min(samples), max(samples), len(samples))
    assert result.mean == pytest.approx(np.mean(samples), rel=1e-12)
    assert (result.low, result.high) == statistics.median_interval(samples)
