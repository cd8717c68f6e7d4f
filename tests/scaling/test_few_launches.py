"""Mismatches of one launch: what a disturbed value makes is none, what all values show is one."""

import numpy as np
import pytest

from commmodel.results import Header, Launch, Library, Measurements, Record
from commmodel.results.configurations import Collective
from commmodel.scaling import CheckSettings, check, load
from commmodel.scaling.few_launches import scatter_of
from commmodel.scaling.series import series_over

HEADER = Header("commmodel-results", 1, "2026-11-22T00:00:00+00:00", (), Library("made"), (), ())
PROCESSES = (2, 4, 8, 16, 32, 64)
OPERATIONS = ("bcast", "reduce", "allreduce", "scan")
SETTINGS = CheckSettings(draws=40)


def launch(random, factors=None, bcast=np.log2):
    """Return a launch whose times take `factors` times as long in all repetitions, by (operation, processes)."""
    records = []
    for operation in OPERATIONS:
        for p in PROCESSES:
            seconds = (
                1e-6 * (5 + (bcast if operation == "bcast" else np.log2)(p)) * (factors or {}).get((operation, p), 1)
            )
            samples = seconds * np.exp(0.03 * random.normal(size=10))
            records.append(Record(Collective(operation, 8, p, "round-time"), "s", tuple(samples.tolist())))
    return Launch(HEADER, tuple(records))


def verdict(measurements, baseline=None):
    """Return the verdict on the broadcast, and its advice."""
    expected = None if baseline else load("mpi")
    result = check(measurements, expected, baseline=baseline, settings=SETTINGS)
    (row,) = [row for row in result.rows if row.series.name == "bcast"]
    return row.verdict, row.judgement.advice


@pytest.mark.parametrize("has_baseline", [False, True])
@pytest.mark.parametrize("slope", [1.0, 7.3])
def test_a_linear_broadcast_is_found_in_one_launch(has_baseline, slope):
    random = np.random.default_rng(1)
    baseline = Measurements((launch(random),)) if has_baseline else None
    after = Measurements((launch(random, bcast=lambda p: slope * p),))
    assert verdict(after, baseline) == ("mismatch", "")


@pytest.mark.parametrize("has_baseline", [False, True])
def test_one_slow_value_of_one_launch_is_no_mismatch(has_baseline):
    random = np.random.default_rng(2)
    baseline = Measurements((launch(random),)) if has_baseline else None
    entry, advice = verdict(Measurements((launch(random, {("bcast", 64): 6.0}),)), baseline)
    assert entry == "uncertain"
    assert "3 launches or more" in advice


def test_where_other_functions_scatter_as_much_a_growth_of_one_launch_is_no_mismatch():
    random = np.random.default_rng(3)
    slow = {(name, p): np.exp(1.5 * random.random()) for name in OPERATIONS[1:] for p in PROCESSES}
    steep = {("bcast", p): factor for p, factor in zip(PROCESSES, (1, 1, 1.2, 1.5, 2.5, 4.5), strict=True)}
    quiet, disturbed = (Measurements((launch(random, factors),)) for factors in (steep, steep | slow))
    assert verdict(quiet)[0] == "mismatch"
    assert verdict(disturbed)[0] == "uncertain"


def test_one_launch_of_three_scales_may_have_a_disturbed_one():
    records = tuple(Record(Collective("bcast", 8, p), "s", (1e-6 * p**2,) * 3) for p in (2, 8, 32))
    entry, advice = verdict(Measurements((Launch(HEADER, records),)))
    assert entry == "uncertain"
    assert "of 3 scales" in advice
    assert verdict(Measurements((Launch(HEADER, records),) * 3))[0] == "mismatch"


def test_false_alarms_on_a_shared_machine_are_rare():
    alarms = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        slow = {
            (name, p): np.exp(2.5 * random.random()) for name in OPERATIONS for p in PROCESSES if random.random() < 0.4
        }
        alarms += not check(Measurements((launch(random, slow),)), load("mpi"), settings=SETTINGS).holds
    assert alarms <= 1


def test_scatter_is_that_of_times_about_their_models():
    random = np.random.default_rng(4)
    factors = {(name, p): np.exp(0.2 * random.normal()) for name in OPERATIONS for p in PROCESSES}
    for scattered, low, high in ((factors, 0.15, 0.6), ({}, 0.0, 0.03)):
        series = list(series_over(Measurements((launch(random, scattered),))))
        assert low < scatter_of(series, "median") < high
    several = list(series_over(Measurements((launch(random, factors),) * 3)))
    assert scatter_of(several, "median") == 0
