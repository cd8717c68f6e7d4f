"""Fits: the closed form is leaving out and fitting again, terms come back, and noise about a constant is no growth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commmodel.errors import InputError
from commmodel.scaling import Growth, fit, fit_term, judge, parse_growth, reduce
from commmodel.scaling.fitting import (
    CHANCE,
    _over,
    evidence,
    needed_evidence,
    normalised,
    search,
    search_positive,
    volume,
)
from commmodel.scaling.growth import ONE
from commmodel.scaling.search_space import case_study_space, default_space, prior_odds, search_space

SPACE = case_study_space()
SCALES = np.array([4.0, 8, 16, 32, 64])
COEFFICIENT = st.floats(1e-9, 1e9)


def noisy(truth, noise, kernels, repetitions=5, seed=0):
    """Return (kernels, scales) of first quartiles."""
    random = np.random.default_rng(seed)
    samples = truth[:, None] * (1 + noise * random.normal(size=(kernels, len(truth), repetitions)))
    return np.quantile(samples, 0.25, axis=2)


OTHERS = {
    "log p": (1.0, 0.914, 0.732),
    "p^0.5": (0.512, 0.268, 0.152),
    "p": (0.724, 0.594, 0.464),
    "p log p": (0.904, 0.692, 0.533),
    "p^1.5": (0.773, 0.590, 0.472),
    "p^2": (0.746, 0.461, 0.237),
}
"""How often extrap 4.2.5 finds a class under 2, 5 and 10 % noise: ``benchmarks.validation.scaling_models``."""


CLASSES = (
    "1", "log p", "p^0.5", "p", "p log p", "p^1.5", "p^2", "p^0.25", "p^(1/3)", "p^0.25 log p", "p^0.5 log p",
    "p^(2/3)", "p^0.75 log p", "p^(4/3)", "p^1.25 log p", "p^1.75", "log^2 p", "p log^2 p", "p^3",
)  # fmt: skip


def left_out_errors(designs, values, weights):
    """Return the sum of squares of each design (scales, coefficients): leave one scale out, fit the others again."""
    sums = []
    for design in designs:
        errors = 0.0
        for left_out in range(len(values)):
            condition = np.arange(len(values)) != left_out
            root = np.sqrt(weights[condition])
            solved, *_ = np.linalg.lstsq(design[condition] * root[:, None], values[condition] * root, rcond=None)
            errors += weights[left_out] * (values[left_out] - design[left_out] @ solved) ** 2
        sums.append(errors)
    return sums


def test_leave_one_out_in_closed_form_is_leaving_out_and_fitting_again():
    values, weights, _ = normalised(noisy(2 + 3 * SCALES, 0.1, 4))
    columns = _over(SCALES, SPACE).columns
    result = search(columns, values, weights)
    designs = [np.stack([np.ones_like(SCALES), column], axis=1) for column in columns]
    for kernel in range(len(values)):
        assert result.loo[kernel] == pytest.approx(left_out_errors(designs, values[kernel], weights[kernel]), rel=1e-6)


def test_so_it_is_where_a_model_is_held_at_nothing():
    values, weights, _ = normalised(noisy(SCALES - 1, 0.05, 40))
    over = _over(SCALES, SPACE)
    free = search(over.columns, values, weights)
    result = search_positive(over.columns, over.lowest, values, weights)
    entry = (result.constant != free.constant) & np.isfinite(result.loo)
    assert 40 < entry.sum() < entry.size
    for kernel, number in np.argwhere(entry)[:60]:
        design = (over.columns[number] - over.lowest[number])[:, None]
        (errors,) = left_out_errors([design], values[kernel], weights[kernel])
        assert result.loo[kernel, number] == pytest.approx(errors, rel=1e-6)
        assert result.constant[kernel, number] == -result.slope[kernel, number] * over.lowest[number]


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
    space = search_space(parse_growth(text))
    scales = np.arange(3.0, 17.0)
    result = fit(scales, [5 + 2 * term(scales) for term in space], space)
    assert [result.model(kernel).growth for kernel in range(len(space))] == list(space)


@settings(max_examples=30)
@given(st.integers(0, 1000), st.floats(1e-6, 1e6))
def test_the_unit_of_the_values_changes_nothing_but_the_numbers(seed, unit):
    values = noisy(2 + np.log2(SCALES), 0.05, 5, seed=seed)
    result, other = fit(SCALES, values, SPACE), fit(SCALES, values * unit, SPACE)
    assert (result.chosen == other.chosen).all()
    assert other.constant == pytest.approx(result.constant * unit, rel=1e-6)


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
    result = fit(scales, noisy(np.full(len(scales), 7.0), noise, 2000), search_space(ONE))
    assert np.mean(result.coefficient == 0) >= 0.95


@pytest.mark.parametrize("text", OTHERS)
def test_classes_that_algorithms_have_come_back_more_often_than_from_the_other_generator(text):
    for noise, entry in zip((0.02, 0.05, 0.1), OTHERS[text], strict=True):
        result = fit(SCALES, noisy(5 + 3 * parse_growth(text)(SCALES), noise, 2000, seed=77), SPACE)
        assert np.mean([result.terms[place] == parse_growth(text) for place in result.chosen]) >= entry


def test_data_overrule_the_preference_for_simple_terms():
    for term in SPACE[1:]:
        result = fit(SCALES, noisy(5 + 3 * term(SCALES), 0.002, 200), SPACE)
        assert np.mean([result.terms[place] == term for place in result.chosen]) > 0.9, term.text("p")


def test_simple_terms_are_preferred_to_even_odds():
    values = noisy(2 + SCALES, 0.05, 50)
    even, simple = (fit(SCALES, values, SPACE, prior=prior) for prior in (lambda _: 1.0, prior_odds))
    of_even, of_simple = (np.mean([prior_odds(SPACE[place]) for place in fits.chosen]) for fits in (even, simple))
    assert of_simple > of_even


@pytest.mark.parametrize("text", ["p", "log p", "p^1.5"])
def test_the_volume_is_the_integral_over_logarithms_of_constants_and_coefficients(text):
    term, variance = parse_growth(text), 1e-4
    truth = 5 + 3 * term(SCALES)
    values, weights, _ = normalised(truth[None])
    over = _over(SCALES, (term,))
    fits = search(over.columns, values, weights)
    approximation = float(volume(fits, over, weights, np.full_like(fits.rss, variance))[0, 0])
    steps = np.linspace(-0.6, 0.6, 601)
    curves = 5 * np.exp(steps)[:, None, None] + 3 * np.exp(steps)[None, :, None] * term(SCALES)
    squares = ((curves / truth - 1) ** 2).sum(axis=2)
    integral = np.exp(-squares / (2 * variance)).sum() * (steps[1] - steps[0]) ** 2
    assert approximation + np.log(2 * np.pi * variance) == pytest.approx(np.log(integral), abs=0.1)


@pytest.mark.parametrize(("noise", "least", "least_drawn"), [(0.02, 0.9, 0.77), (0.05, 0.74, 0.65), (0.1, 0.58, 0.53)])
def test_most_classes_come_back_whatever_constants_and_coefficients_are(noise, least, least_drawn):
    space = default_space()
    shares = []
    for row, text in enumerate(CLASSES):
        term, random = parse_growth(text), np.random.default_rng(row)
        growth = term(SCALES) if term != ONE else np.zeros(5)
        scatter = 1 + noise * random.normal(size=(400, 5, 5)).mean(axis=2)
        for coefficients in (np.full(400, 0.6), 10 ** random.uniform(-3, 3, 400)):
            chosen = fit(SCALES, (1 + coefficients[:, None] * growth) * scatter, space).chosen
            shares.append(np.mean(chosen == space.index(term)))
    assert np.mean(shares[::2]) > least
    assert np.mean(shares[1::2]) > least_drawn


@pytest.mark.parametrize(("noise", "least"), [(0.02, 0.85), (0.05, 0.7)])
def test_what_is_nothing_on_one_process_may_have_a_constant_below_nothing(noise, least):
    result = fit(SCALES, noisy(SCALES - 1, noise, 400), default_space())
    assert np.mean([result.terms[place] == Growth(power=1) for place in result.chosen]) > least


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_odds_that_are_none_are_refused(value):
    with pytest.raises(InputError, match="each must be a positive number"):
        fit(SCALES, [SCALES], SPACE, prior=lambda _: value)


def test_a_model_below_nothing_needs_data_that_say_so():
    space = search_space(parse_growth("p log p"))
    exact = fit(SCALES, [parse_growth("p log p")(SCALES) - 7], space).model(0)
    assert exact.growth == parse_growth("p log p")
    assert exact.constant == pytest.approx(-7)
    started = fit(SCALES, noisy(3 * np.log2(SCALES), 0.05, 500), SPACE)
    assert np.mean(started.values(1.0) < -1e-9) < 0.05
    assert np.mean([started.terms[place] == parse_growth("log p") for place in started.chosen]) > 0.8
    falling = fit(SCALES, noisy(100 / SCALES, 0.05, 500), search_space(parse_growth("1 / p")))
    assert np.mean(falling.constant < -1e-9) < 0.05


def test_growth_well_above_the_noise_is_seen():
    for text in ("log p", "p^0.5", "p", "p log p"):
        result = fit(SCALES, noisy(parse_growth(text)(SCALES), 0.05, 200), SPACE)
        assert np.mean(result.coefficient > 0) > 0.99


def test_what_falls_needs_a_space_that_falls():
    falling = [100 / SCALES + 1]
    assert fit(SCALES, falling, SPACE).model(0).growth == ONE
    assert fit(SCALES, falling, search_space(parse_growth("1 / p"))).model(0).growth == parse_growth("1 / p")


def test_terms_beyond_a_number_are_left_out():
    scales = np.array([512.0, 1024.0, 2048.0, 4096.0])
    assert fit(scales, [scales], search_space(parse_growth("2^p"))).model(0).growth != parse_growth("2^p")
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
    with pytest.raises(InputError, match="criterion is 'luck': choose one of"):
        fit(SCALES, [SCALES], SPACE, "luck")
    with pytest.raises(InputError, match="choose one of lower half, first quartile, median"):
        reduce([[1.0]], "mode")


@pytest.mark.parametrize("constant", [0.0, 5.0, 500.0])
@pytest.mark.parametrize("scales", [SCALES, np.array([2.0, 3, 4, 6, 8, 12, 16])], ids=len)
def test_without_noise_every_term_of_the_default_space_comes_back(scales, constant):
    space = default_space()
    result = fit(scales, [constant + 3 * term(scales) for term in space], space)
    assert [result.model(kernel).growth for kernel in range(len(space))] == list(space)


def test_what_grows_is_not_taken_for_a_constant():
    space = default_space()
    for text in CLASSES[1:]:
        for noise in (0.02, 0.05):
            result = fit(SCALES, noisy(5 + 3 * parse_growth(text)(SCALES), noise, 300), space)
            assert (result.coefficient > 0).all(), (text, noise)


@pytest.mark.parametrize("text", ["p^4", "p^6", "2^p", "p^3.5 log p"])
def test_what_grows_faster_than_all_terms_is_no_constant(text):
    for constant in (0.0, 5.0, 1000.0):
        model = fit(SCALES, [constant + parse_growth(text)(SCALES)], default_space()).model(0)
        assert model.growth >= parse_growth("p^(8/3)"), model.text("p")


@pytest.mark.parametrize("noise", [0.02, 0.05, 0.1])
def test_a_larger_space_calls_no_more_constants_a_growth(noise):
    result = fit(SCALES, noisy(np.full(5, 7.0), noise, 4000, seed=5), default_space())
    assert np.mean(result.coefficient > 0) <= 0.04


def test_the_simulated_noise_is_what_a_search_of_it_finds():
    over = _over(SCALES, SPACE)
    noise = np.random.default_rng(1).normal(size=(500, 5))
    result = search(over.columns, noise - 100, np.ones_like(noise))  # negative, so that logarithms have no part in it
    for criterion in ("residuals", "cross-validation"):
        needed = needed_evidence(over.columns, over.prior, criterion, 500)
        best = evidence(result, over.columns, over.prior, criterion).max(axis=1)
        assert np.quantile(best, 1 - CHANCE) == pytest.approx(needed)


@pytest.mark.parametrize(
    ("count", "leading", "text"),
    [
        (lambda p: p * p - p, "p^2", "0 + 1 p^2 - 1 p"),
        (lambda p: p * (p - 1) / 2, "p^2", "0 + 0.5 p^2 - 0.5 p"),
        (lambda p: p * np.log2(p) - p + 1, "p log p", "1 + 1 p log p - 1 p"),
        (lambda p: p**3 - 3 * p**2 + 2 * p, "p^3", "0 + 1 p^3 - 3 p^2 + 2 p"),
    ],
)
def test_an_exact_count_grows_as_its_leading_term(count, leading, text):
    p = np.array([2.0, 4, 8, 16, 32])
    judgement = judge(p, [[value] for value in count(p)], parse_growth(leading))
    assert (judgement.verdict, judgement.ensemble.best.growth) == ("match", parse_growth(leading))
    assert judgement.ensemble.best.text("p").replace("-0 +", "0 +") == text
    assert judgement.ensemble.interval(1024) == pytest.approx((count(1024.0),) * 2)
    # What scatters follows no sum exactly: then one term speaks.
    assert not fit(p, count(p)[None] + np.array([0, 0.01, 0, -0.01, 0.02]), default_space()).exact
