"""What is no number, no class or out of bounds is refused in one line by every public function of scaling."""

import math
import warnings

import numpy as np
import pytest

from commmodel import scaling
from commmodel.errors import InputError
from commmodel.scaling import Growth, Model, bootstrap, growth, parse_growth, rules, search_space, verdict

NAN, INF = math.nan, math.inf
LINEAR = parse_growth("p")
P = [2, 4, 8, 16, 32]
OK = [[float(p)] * 3 for p in P]
MODEL = Model(1.0, 1.0, LINEAR)
RULE = scaling.parse_rule("a <= b")
MODELS = {"a": MODEL, "b": MODEL}
SAMPLES = {"a": [[5.0]], "b": [[4.0]]}
NINE = [1.0] * 9
FOUND = bootstrap.ensemble(P, OK, [LINEAR])

NONSENSE = {
    "parse": [lambda value: parse_growth(value), 5, None, NAN, b"p"],
    "parse_product": [lambda value: growth.parse_product(value), 5, None],
    "parse_rule": [lambda value: scaling.parse_rule(value), 5, None, "a <= " + "9" * 400 + " b"],
    "exponent": [lambda value: Growth(power=value), NAN, INF, "x", None],
    "power": [lambda value: LINEAR**value, NAN, INF, "x"],
    "at": [lambda value: LINEAR(value), NAN, -1.0, "8", None, [1.0, NAN], [[1], [1, 2]]],
    "model at": [lambda value: Model(1.0, 0.0, Growth())(value), NAN, -1.0, "8"],
    "scales of fit": [lambda value: scaling.fit(value, [[1, 2, 3]], [LINEAR]), [1, 2, NAN], "abc", ["a", "b", "c"], 5],
    "values of fit": [
        lambda value: scaling.fit([1, 2, 3], value, [LINEAR]), [["a", "b", "c"]], [[1, 2], [3]], [[1, 2, 10**400]], None
    ],
    "terms of fit": [lambda value: scaling.fit([1, 2, 3], [[1, 2, 3]], value), ["p"], [None]],
    "values of fit_term": [lambda value: scaling.fit_term([1, 2, 4], value, LINEAR), [1, NAN, 3], [1, 3], "abc"],
    "term of fit_term": [lambda value: scaling.fit_term([1, 2, 4], [1, 2, 3], value), "p", None],
    "samples": [lambda value: scaling.judge(P, value, LINEAR), None, 5, "abcde", [[NAN]] * 5, [["x"]] * 5, [[]] * 5],
    "reduce": [lambda value: scaling.reduce(value), [[NAN]], [[INF]], [[]], [["x"]], None, "x", 5],
    "expectation": [lambda value: scaling.judge(P, OK, value), "p", None, 1],
    "deviation": [lambda value: scaling.judge(P, OK, LINEAR, value), "p", 0.5, LINEAR**-1],
    "statistic": [lambda value: scaling.judge(P, OK, LINEAR, statistic=value), "mode", None, 5],
    "draws": [lambda value: scaling.judge(P, OK, LINEAR, draws=value), 0, -1, 2.5, NAN, "5", None, 10**12],
    "seed": [lambda value: scaling.judge(P, OK, LINEAR, seed=value), -1, 0.5, "a", None],
    "interval at": [lambda value: FOUND.interval(value), NAN, INF, -1, "8"],
    "interval confidence": [lambda value: FOUND.interval(8, value), 0, 1, 95, NAN, "95 %"],
    "predict": [lambda value: scaling.predict_at(FOUND, value), NAN, INF, 0.5, "8", None],
    "limit": [lambda value: scaling.largest_scale(MODEL, value), NAN, INF, -5, "24GB", None],
    "processes": [lambda value: scaling.largest_scale(MODEL, 5, value), NAN, INF, 0, -1, "8"],
    "surface x": [lambda value: scaling.fit_surface(value, NINE, NINE, [LINEAR], []), [NAN] * 9, [INF] * 9, ["x"] * 9],
    "surface terms": [lambda value: scaling.fit_surface(NINE, NINE, NINE, value, [LINEAR]), ["p"], [None]],
    "largest": [lambda value: rules.modelled_violation(RULE, MODELS, value, 8), NAN, 0, -5, "4"],
    "target": [lambda value: rules.modelled_violation(RULE, MODELS, 4, value), NAN, INF, 2, "8"],
    "measured confidence": [lambda value: rules.measured_violation(RULE, [8], SAMPLES, confidence=value), 95, 0, NAN],
    "measured draws": [lambda value: rules.measured_violation(RULE, [8], SAMPLES, draws=value), 0, 2.5, NAN],
    "measured seed": [lambda value: rules.measured_violation(RULE, [8], SAMPLES, seed=value), -1, "a"],
    "measured scales": [lambda value: rules.measured_violation(RULE, value, SAMPLES), [NAN], ["x"], []],
    "classes": [lambda value: rules.class_violation(RULE, {"a": value, "b": LINEAR}), "p", None],
    "published": [lambda value: verdict.published_verdict(LINEAR, value, LINEAR), "x", None],
    "load": [lambda value: scaling.load(value), None, 5, "a\0b", "x" * 300],
    **{
        name: [getattr(search_space, name), "p", None, 2.0]
        for name in ("default_deviation", "deviation_limits", "search_space", "judged_space", "ticks", "prior_odds")
    },
    **{name: [lambda value, name=name: getattr(verdict, name)(value, LINEAR), "p"] for name in ("rank", "divergence")},
}  # fmt: skip


@pytest.mark.parametrize(
    ("call", "value"),
    [
        pytest.param(call, value, id=f"{name}-{place}")
        for name, (call, *wrong) in NONSENSE.items()
        for place, value in enumerate(wrong)
    ],
)
def test_nonsense_is_refused_in_one_line(call, value):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError) as caught:
            call(value)
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [2, 2.0, [1, 2], (4, 8.5), [], range(1, 4)])
def test_numbers_of_any_kind_are_numbers(value):
    assert LINEAR(value).tolist() == np.array(value, dtype=float).tolist()
