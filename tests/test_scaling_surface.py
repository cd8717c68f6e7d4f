"""Models of two parameters: products and sums come back, one parameter alone is found, noise is no growth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commmodel.errors import InputError
from commmodel.scaling import ONE, fit_surface, parse

TERMS = [parse(text) for text in ("1", "log p", "p^0.5", "p", "p log p", "p^2")]
GROWING = st.sampled_from(TERMS[1:])
P, N = (axis.ravel() for axis in np.meshgrid([2.0, 4, 8, 16, 32], [16.0, 64, 256, 1024, 4096]))


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(TERMS), st.sampled_from(TERMS), st.floats(0.1, 10), st.floats(0.1, 10))
def test_products_come_back(first, second, constant, coefficient):
    values = constant + coefficient * first(P) * second(N)
    model = fit_surface(P, N, values, TERMS, TERMS)
    assert model(P, N) == pytest.approx(values)
    expected = [] if first == second == ONE else [(first, second)]
    assert [(one, other) for _, one, other in model.parts] == expected


@settings(max_examples=25, deadline=None)
@given(GROWING, GROWING, st.floats(0.2, 5))
def test_sums_of_like_size_come_back(first, second, share):
    values = 1 + first(P) / first(P).max() + share * second(N) / second(N).max()
    model = fit_surface(P, N, values, TERMS, TERMS)
    assert [(one, other) for _, one, other in model.parts] == [(first, ONE), (ONE, second)]
    assert model(P, N) == pytest.approx(values)


def test_noise_about_a_constant_is_mostly_constant_and_clear_products_survive_noise():
    random = np.random.default_rng(0)
    noise = 1 + 0.05 * random.normal(size=(40, P.size))
    assert sum(not fit_surface(P, N, 7 * one, TERMS, TERMS).parts for one in noise) >= 36
    truth = 3 + np.log2(P) * N
    models = [fit_surface(P, N, truth * one, TERMS, TERMS) for one in noise[:20]]
    assert sum(model.parts[0][1:] == (parse("log p"), parse("p")) for model in models) >= 15


@pytest.mark.parametrize(
    ("x", "y", "values", "message"),
    [
        (P[:8], N[:8], N[:8], "8 points: too few"),
        (P, N[:9], N, "equally long"),
        (P - 2, N, N, "at least 1"),
        (P, N, N * np.nan, "finite"),
    ],
)
def test_what_cannot_be_fitted_is_refused(x, y, values, message):
    with pytest.raises(InputError, match=message):
        fit_surface(x, y, values, TERMS, TERMS)


def test_simple_terms_are_found_among_others_like_them():
    terms = [parse(text) for text in ("1", "log p", "p^0.25", "p^(1/3)", "p^0.5", "p^0.75", "p", "p^1.25")]
    random = np.random.default_rng(3)
    truth = 3 + 2 * np.log2(P) * N
    models = [fit_surface(P, N, truth * (1 + 0.1 * random.normal(size=P.size)), terms, terms) for _ in range(20)]
    assert sum(model.parts[0][1:] == (parse("log p"), parse("p")) for model in models) >= 15
