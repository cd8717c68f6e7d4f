"""Fits: the closed form is leaving out and fitting again, terms come back, and noise about a constant is no growth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commmodel.errors import InputError
from commmodel.scaling import ONE, Growth, case_study_space, fit, fit_term, parse, reduce, search_space
from commmodel.scaling.fit import _columns, normalised, search

SPACE = case_study_space()
SCALES = np.array([4.0, 8, 16, 32, 64])
COEFFICIENT = st.floats(1e-9, 1e9)


def noisy(truth, noise, kernels, repetitions=5, seed=0):
    """Return (kernels, scales) of first quartiles."""
    random = np.random.default_rng(seed)
    samples = truth[:, None] * (1 + noise * random.normal(size=(kernels, len(truth), repetitions)))
    return np.quantile(samples, 0.25, axis=2)


def test_leave_one_out_in_closed_form_is_leaving_out_and_fitting_again():
    values = noisy(2 + 3 * SCALES, 0.1, 4)
    values, weights, _ = normalised(values)
    usable, columns, _ = _columns(SCALES, SPACE)
    found = search(columns, values, weights)
    for kernel in range(len(values)):
        for number in range(len(usable)):
            design = np.stack([np.ones_like(SCALES), columns[number]], axis=1)
            errors = 0.0
            for left_out in range(len(SCALES)):
                kept = np.arange(len(SCALES)) != left_out
                root = np.sqrt(weights[kernel, kept])
                solved, *_ = np.linalg.lstsq(design[kept] * root[:, None], values[kernel, kept] * root, rcond=None)
                errors += weights[kernel, left_out] * (values[kernel, left_out] - design[left_out] @ solved) ** 2
            assert found.loo[kernel, number] == pytest.approx(errors, rel=1e-6)


@pytest.mark.parametrize("criterion", ["cross-validation", "residuals"])
@given(st.sampled_from(SPACE), st.floats(0, 10), COEFFICIENT)
def test_without_noise_every_term_comes_back_with_its_numbers(criterion, term, share, coefficient):
    constant = share * coefficient
    model = fit(SCALES, [constant + coefficient * term(SCALES)], SPACE, criterion).model(0)
    assert model.growth == term
    assert model(SCALES) == pytest.approx(constant + coefficient * term(SCALES))
    if term != ONE:
        assert model.coefficient == pytest.approx(coefficient, rel=1e-6)
        assert model.adjusted_r2 == pytest.approx(1)


@given(st.sampled_from(["log p", "p log p", "k^3 2^k", "1 / p", "p^2"]))
def test_without_noise_every_term_of_the_space_about_an_expectation_comes_back(text):
    space = search_space(parse(text))
    scales = np.arange(3.0, 17.0)
    found = fit(scales, [5 + 2 * term(scales) for term in space], space)
    assert [found.model(kernel).growth for kernel in range(len(space))] == list(space)


@settings(max_examples=30)
@given(st.integers(0, 1000), st.floats(1e-6, 1e6))
def test_the_unit_of_the_values_changes_nothing_but_the_numbers(seed, unit):
    values = noisy(2 + np.log2(SCALES), 0.05, 5, seed=seed)
    one, other = fit(SCALES, values, SPACE), fit(SCALES, values * unit, SPACE)
    assert (one.chosen == other.chosen).all()
    assert other.constant == pytest.approx(one.constant * unit, rel=1e-6)


def test_kernels_do_not_know_of_each_other():
    values = noisy(2 + SCALES, 0.05, 50)
    together = fit(SCALES, values, SPACE)
    for kernel in range(50):
        alone = fit(SCALES, values[kernel : kernel + 1], SPACE)
        assert alone.model(0).growth == together.model(kernel).growth
        assert alone.constant[0] == pytest.approx(together.constant[kernel])


@pytest.mark.parametrize("noise", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("scales", [SCALES, 2.0 ** np.arange(1, 11), np.arange(3.0, 17.0)], ids=len)
def test_noise_about_a_constant_is_called_constant_nineteen_times_in_twenty(scales, noise):
    found = fit(scales, noisy(np.full(len(scales), 7.0), noise, 2000), search_space(ONE))
    assert np.mean(found.coefficient == 0) >= 0.95


def test_growth_well_above_the_noise_is_seen():
    for text in ("log p", "p^0.5", "p", "p log p"):
        found = fit(SCALES, noisy(parse(text)(SCALES), 0.05, 200), SPACE)
        assert np.mean(found.coefficient > 0) > 0.99


def test_what_falls_needs_a_space_that_falls():
    falling = [100 / SCALES + 1]
    assert fit(SCALES, falling, SPACE).model(0).growth == ONE
    assert fit(SCALES, falling, search_space(parse("1 / p"))).model(0).growth == parse("1 / p")


def test_terms_beyond_a_number_are_left_out():
    scales = np.array([512.0, 1024.0, 2048.0, 4096.0])
    assert fit(scales, [scales], search_space(parse("2^p"))).model(0).growth != parse("2^p")
    with pytest.raises(InputError, match="too large for a number"):
        fit_term(scales, scales, Growth(exponential=1))


@pytest.mark.parametrize("values", [np.zeros(5), np.full(5, -3.0), np.full(5, 1e300), np.full(5, 1e-300)])
def test_constants_of_any_size_are_constants(values):
    model = fit(SCALES, [values], SPACE).model(0)
    assert model.growth == ONE
    assert model(128) == pytest.approx(values[0])
    assert np.isnan(model.adjusted_r2)


def test_no_kernels_are_no_models():
    assert len(fit(SCALES, np.empty((0, 5)), SPACE)) == 0


@pytest.mark.parametrize(
    ("scales", "values", "message"),
    [
        ([1, 2], [[1, 2]], "2 scales: no growth can be seen"),
        ([1, 2, 2], [[1, 2, 3]], "is there twice"),
        ([0, 2, 3], [[1, 2, 3]], "at least 1"),
        ([1, 2, np.nan], [[1, 2, 3]], "at least 1"),
        ([1, 2, 3], [[1, 2]], "give one row for each kernel"),
        ([1, 2, 3], [1, 2, 3], "give one row for each kernel"),
        ([1, 2, 3], [[1, 2, np.inf]], "no finite number"),
    ],
)
def test_what_cannot_be_fitted_is_refused(scales, values, message):
    with pytest.raises(InputError, match=message):
        fit(scales, values, SPACE)


def test_an_unknown_criterion_or_statistic_is_refused():
    with pytest.raises(InputError, match="choose cross-validation or residuals"):
        fit(SCALES, [SCALES], SPACE, "luck")
    with pytest.raises(InputError, match="choose among first quartile, median"):
        reduce([[1.0]], "mode")
