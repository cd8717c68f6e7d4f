"""Statistics: the interval of the median is the formula's, and holds the median as often as it promises."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commmodel.statistics import Summary, median_interval, median_ranks, summarise

Z = {0.95: 1.959963984540054, 0.99: 2.5758293035489004}
"""Quantiles (1 + confidence) / 2 of the normal distribution, as any table prints them."""
COUNTS = [1, 2, 3, 5, 6, 7, 8, 9, 10, 20, 30, 50, 99, 100, 101, 1000, 12345, 1_000_000]
SAMPLES = st.lists(st.floats(0, 1e6), min_size=1, max_size=60)


def chance_that_ranks_hold_the_median(count, low, high):
    """Return Σ C(n, i) / 2ⁿ over low ≤ i < high: exact for every continuous distribution."""
    return sum(math.comb(count, i) for i in range(low, high)) / 2**count


@pytest.mark.parametrize("confidence", Z)
@pytest.mark.parametrize("count", COUNTS)
def test_ranks_are_those_of_the_formula(count, confidence):
    spread = Z[confidence] * math.sqrt(count)
    expected = (math.floor((count - spread) / 2), math.ceil(1 + (count + spread) / 2))
    assert median_ranks(count, confidence) == expected


@given(st.integers(1, 10**9), st.sampled_from(sorted(Z)))
def test_ranks_are_symmetric_about_the_middle(count, confidence):
    low, high = median_ranks(count, confidence)
    assert low + high == count + 1
    assert low <= (count + 1) / 2 <= high


@pytest.mark.parametrize(("confidence", "fewest"), [(0.95, 8), (0.99, 11)])
def test_an_interval_exists_from_so_many_samples_on(confidence, fewest):
    for count in range(1, 40):
        interval = median_interval(range(count), confidence)
        assert all(map(math.isfinite, interval)) == (count >= fewest)


@pytest.mark.parametrize("confidence", Z)
@pytest.mark.parametrize("count", [count for count in COUNTS if 11 <= count <= 1000])
def test_the_exact_chance_of_holding_the_median_is_at_least_the_nominal_one(count, confidence):
    chance = chance_that_ranks_hold_the_median(count, *median_ranks(count, confidence))
    assert confidence <= chance < 1


@pytest.mark.parametrize("count", [20, 101])
@pytest.mark.parametrize(
    ("draw", "true_median"),
    [
        (lambda rng, shape: rng.lognormal(0.0, 1.5, shape), 1.0),
        (lambda rng, shape: rng.exponential(1.0, shape), math.log(2)),
        (lambda rng, shape: 1 + rng.pareto(1.1, shape), 2 ** (1 / 1.1)),
    ],
    ids=["lognormal", "exponential", "pareto without a variance"],
)
def test_intervals_hold_the_true_median_of_skewed_samples_at_the_exact_rate(draw, true_median, count):
    trials = 3000
    rows = draw(np.random.default_rng(20150815), (trials, count))
    intervals = np.array([median_interval(row) for row in rows])
    rate = np.mean((intervals[:, 0] <= true_median) & (true_median < intervals[:, 1]))
    expected = chance_that_ranks_hold_the_median(count, *median_ranks(count))
    assert abs(rate - expected) < 4 * math.sqrt(expected * (1 - expected) / trials)


@given(SAMPLES)
def test_bounds_are_samples_around_the_median_or_there_are_none(samples):
    low, high = median_interval(samples)
    if math.isfinite(low):
        assert {low, high} <= set(samples)
        assert low <= np.median(samples) <= high
    else:
        assert (low, high) == (-math.inf, math.inf)


@given(SAMPLES, st.randoms(use_true_random=False))
def test_the_order_of_samples_does_not_matter_and_they_stay_in_order(samples, random):
    shuffled = random.sample(samples, len(samples))
    before = list(shuffled)
    assert median_interval(shuffled) == median_interval(samples)
    assert shuffled == before


@given(SAMPLES)
def test_a_summary_says_what_numpy_says(samples):
    summary = summarise(samples)
    assert summary.count == len(samples)
    assert (summary.minimum, summary.maximum) == (min(samples), max(samples))
    assert (summary.p10, summary.p90, summary.p99) == pytest.approx(np.percentile(samples, [10, 90, 99]))
    assert summary.median == pytest.approx(np.median(samples))
    assert summary.mean == pytest.approx(np.mean(samples))
    assert (summary.low, summary.high) == median_interval(samples)
    assert summary == summarise(np.array(samples))
    assert all(type(value) in {int, float} for value in (getattr(summary, name) for name in Summary.__struct_fields__))


@pytest.mark.parametrize(
    ("samples", "width"),
    [
        (range(1, 101), (61 - 40) / 2 / 50.5),
        ([2.0] * 20, 0.0),
        ([0.0] * 20, 0.0),
        ([0.0] * 12 + [1.0] * 8, math.inf),
        ([1.0, 2.0, 3.0], math.inf),
    ],
    ids=["half of 21 over 50.5", "equal samples", "all 0", "median 0 with a width", "too few samples"],
)
def test_relative_half_width_is_half_the_interval_over_the_median(samples, width):
    assert summarise(samples).relative_half_width == pytest.approx(width)


def test_a_higher_confidence_gives_a_wider_interval():
    samples = np.random.default_rng(1).exponential(size=200)
    (low95, high95), (low99, high99) = median_interval(samples), median_interval(samples, 0.99)
    assert low99 < low95 < high95 < high99
    assert (summarise(samples, 0.99).low, summarise(samples, 0.99).high) == (low99, high99)
