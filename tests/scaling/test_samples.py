"""Samples drawn anew: a bootstrap, whether its samples are made or only their quantiles."""

import numpy as np
import pytest

from commmodel.scaling import STATISTICS
from commmodel.scaling.samples import reduce, resample


@pytest.mark.parametrize("statistic", ["first quartile", "median", "minimum", "third quartile"])
@pytest.mark.parametrize("count", [1, 2, 3, 6, 40, 41])
def test_quantiles_are_distributed_as_those_of_samples_that_are_really_drawn(statistic, count):
    values = np.random.default_rng(count).gamma(2.0, size=count)
    fast = resample([values.reshape(-1, 1)], 20_000, statistic, np.random.default_rng(0))[:, 0]
    rows = np.random.default_rng(1).integers(0, count, (20_000, count))
    result = STATISTICS[statistic](values[rows], axis=1)
    shares = np.linspace(0.02, 0.98, 25)
    at = np.unique(np.quantile(result, shares, method="nearest"))
    # At the steps of the distribution functions and before them; 20000 draws know a share to 0.0035.
    for edge in (at + 1e-9, at - 1e-9):
        difference = (fast[:, None] <= edge).mean(axis=0) - (result[:, None] <= edge).mean(axis=0)
        assert np.abs(difference).max() < 0.02
    assert np.isin(fast, values).all() or statistic != "minimum"


def test_a_mean_and_whole_launches_are_drawn_as_they_are():
    launches = np.array([[1.0, 1.0], [3.0, 3.0]])
    drawn = resample([launches], 1000, "median", np.random.default_rng(0))[:, 0]
    assert set(drawn.tolist()) == {1.0, 2.0, 3.0}
    means = resample([np.array([[0.0], [1.0]])], 1000, "mean", np.random.default_rng(0))[:, 0]
    assert set(means.tolist()) == {0.0, 0.5, 1.0}


@pytest.mark.parametrize("draw", ["normal", "exponential"])
@pytest.mark.parametrize("count", [5, 10, 50])
def test_the_mean_of_the_lower_half_scatters_less_than_the_first_quartile(draw, count):
    values = getattr(np.random.default_rng(count), draw)(size=(20_000, count))
    half, quartile = (STATISTICS[name](values, axis=1).var() for name in ("lower half", "first quartile"))
    assert half < 0.9 * quartile


def test_the_slower_half_does_not_move_the_mean_of_the_lower_half():
    assert reduce([[3.0, 1.0, 2.0, 4.0, 5.0], [3.0, 1.0, 2.0, 400.0, 500.0]]).tolist() == [2.0, 2.0]
    drawn = resample([np.arange(4.0).reshape(-1, 1)], 1000, "lower half", np.random.default_rng(0))
    assert drawn.min() == 0.0
    assert drawn.max() <= 3.0


def test_many_repetitions_are_drawn_in_parts():
    values = np.random.default_rng(0).random((1_000_000, 1))
    assert resample([values], 5, "lower half", np.random.default_rng(0)) == pytest.approx(0.25, abs=0.01)
