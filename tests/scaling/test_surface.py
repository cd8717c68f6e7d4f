"""Models of two parameters: products and sums come back, one parameter alone is found, noise is no growth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commmodel.errors import InputError
from commmodel.scaling import fit_surface, parse_growth, surface
from commmodel.scaling.growth import ONE
from commmodel.scaling.search_space import case_study_space, default_space

TERMS = [parse_growth(text) for text in ("1", "log p", "p^0.5", "p", "p log p", "p^2")]
GROWING = st.sampled_from(TERMS[1:])
P, N = (axis.ravel() for axis in np.meshgrid([2.0, 4, 8, 16, 32], [16.0, 64, 256, 1024, 4096]))


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(TERMS), st.sampled_from(TERMS), st.floats(0.1, 10), st.floats(0.1, 10))
def test_products_come_back(first, second, constant, coefficient):
    values = constant + coefficient * first(P) * second(N)
    model = fit_surface(P, N, values, TERMS, TERMS)
    assert model(P, N) == pytest.approx(values)
    expected = [] if first == second == ONE else [(first, second)]
    assert [(entry, other) for _, entry, other in model.parts] == expected


@settings(max_examples=25, deadline=None)
@given(GROWING, GROWING, st.floats(0.2, 5))
def test_sums_of_like_size_come_back(first, second, share):
    values = 1 + first(P) / first(P).max() + share * second(N) / second(N).max()
    model = fit_surface(P, N, values, TERMS, TERMS)
    assert [(entry, other) for _, entry, other in model.parts] == [(first, ONE), (ONE, second)]
    assert model(P, N) == pytest.approx(values)


def test_noise_about_a_constant_is_mostly_constant_and_clear_products_survive_noise():
    random = np.random.default_rng(0)
    noise = 1 + 0.05 * random.normal(size=(40, P.size))
    assert sum(not fit_surface(P, N, 7 * entry, TERMS, TERMS).parts for entry in noise) >= 36
    truth = 3 + np.log2(P) * N
    models = [fit_surface(P, N, truth * entry, TERMS, TERMS) for entry in noise[:20]]
    assert sum(model.parts[0][1:] == (parse_growth("log p"), parse_growth("p")) for model in models) >= 15


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
    terms = [parse_growth(text) for text in ("1", "log p", "p^0.25", "p^(1/3)", "p^0.5", "p^0.75", "p", "p^1.25")]
    random = np.random.default_rng(3)
    truth = 3 + 2 * np.log2(P) * N
    models = [fit_surface(P, N, truth * (1 + 0.1 * random.normal(size=P.size)), terms, terms) for _ in range(20)]
    assert sum(model.parts[0][1:] == (parse_growth("log p"), parse_growth("p")) for model in models) >= 15


def test_what_noise_reaches_is_simulated_once_for_the_same_points_and_terms(monkeypatch):
    count = []
    simulate = surface.needed_evidence
    monkeypatch.setattr(surface, "needed_evidence", lambda *words: count.append(1) or simulate(*words))
    surface._designed.cache_clear()
    for factor in (1.0, 2.0, 3.0):
        fit_surface(P, N, factor * (3 + np.log2(P) * N), TERMS, TERMS)
    fit_surface(P, 2 * N, 3 + np.log2(P) * N, TERMS, TERMS)
    assert len(count) == 2


def test_no_other_model_would_have_come_out_had_all_pairs_been_fitted_in_full(monkeypatch):
    space, random = case_study_space(), np.random.default_rng(0)
    cases = []
    for number in range(24):
        f, g = (space[place](axis) for place, axis in zip(random.integers(len(space), size=2), (P, N), strict=True))
        truth = random.random() * 5 + (f * g if number % 2 else f / f.max() + g / g.max())
        cases.append(truth * (1 + random.choice([0, 0.01, 0.05, 0.1]) * random.normal(size=P.size)))
    some = [fit_surface(P, N, values, space, space).parts for values in cases]
    monkeypatch.setattr(surface, "_CANDIDATES", 10**6)
    rows = [fit_surface(P, N, values, space, space).parts for values in cases]
    assert [[part[1:] for part in parts] for parts in some] == [[part[1:] for part in parts] for parts in rows]


@pytest.mark.parametrize("text", ["p^3", "log^2 p", "p log^2 p"])
def test_growth_up_to_cubes_is_found_beside_another_parameter(text):
    space = default_space()
    model = fit_surface(P, N, 7 + parse_growth(text)(P) * parse_growth("p")(N), space, space)
    assert [part[1:] for part in model.parts] == [(parse_growth(text), parse_growth("p"))]
