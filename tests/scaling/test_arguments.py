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
    "parse": [lambda given: parse_growth(given), 5, None, NAN, b"p"],
    "parse_product": [lambda given: growth.parse_product(given), 5, None],
    "parse_rule": [lambda given: scaling.parse_rule(given), 5, None, "a <= " + "9" * 400 + " b"],
    "exponent": [lambda given: Growth(power=given), NAN, INF, "x", None],
    "power": [lambda given: LINEAR**given, NAN, INF, "x"],
    "at": [lambda given: LINEAR(given), NAN, -1.0, "8", None, [1.0, NAN], [[1], [1, 2]]],
    "model at": [lambda given: Model(1.0, 0.0, Growth())(given), NAN, -1.0, "8"],
    "scales of fit": [lambda given: scaling.fit(given, [[1, 2, 3]], [LINEAR]), [1, 2, NAN], "abc", ["a", "b", "c"], 5],
    "values of fit": [
        lambda given: scaling.fit([1, 2, 3], given, [LINEAR]), [["a", "b", "c"]], [[1, 2], [3]], [[1, 2, 10**400]], None
    ],
    "terms of fit": [lambda given: scaling.fit([1, 2, 3], [[1, 2, 3]], given), ["p"], [None]],
    "values of fit_term": [lambda given: scaling.fit_term([1, 2, 4], given, LINEAR), [1, NAN, 3], [1, 3], "abc"],
    "term of fit_term": [lambda given: scaling.fit_term([1, 2, 4], [1, 2, 3], given), "p", None],
    "samples": [lambda given: scaling.judge(P, given, LINEAR), None, 5, "abcde", [[NAN]] * 5, [["x"]] * 5, [[]] * 5],
    "reduce": [lambda given: scaling.reduce(given), [[NAN]], [[INF]], [[]], [["x"]], None, "x", 5],
    "expectation": [lambda given: scaling.judge(P, OK, given), "p", None, 1],
    "deviation": [lambda given: scaling.judge(P, OK, LINEAR, given), "p", 0.5, LINEAR**-1],
    "statistic": [lambda given: scaling.judge(P, OK, LINEAR, statistic=given), "mode", None, 5],
    "draws": [lambda given: scaling.judge(P, OK, LINEAR, draws=given), 0, -1, 2.5, NAN, "5", None, 10**12],
    "seed": [lambda given: scaling.judge(P, OK, LINEAR, seed=given), -1, 0.5, "a", None],
    "interval at": [lambda given: FOUND.interval(given), NAN, INF, -1, "8"],
    "interval confidence": [lambda given: FOUND.interval(8, given), 0, 1, 95, NAN, "95 %"],
    "predict": [lambda given: scaling.predict_at(FOUND, given), NAN, INF, 0.5, "8", None],
    "limit": [lambda given: scaling.largest_scale(MODEL, given), NAN, INF, -5, "24GB", None],
    "processes": [lambda given: scaling.largest_scale(MODEL, 5, given), NAN, INF, 0, -1, "8"],
    "surface x": [lambda given: scaling.fit_surface(given, NINE, NINE, [LINEAR], []), [NAN] * 9, [INF] * 9, ["x"] * 9],
    "surface terms": [lambda given: scaling.fit_surface(NINE, NINE, NINE, given, [LINEAR]), ["p"], [None]],
    "largest": [lambda given: rules.modelled_violation(RULE, MODELS, given, 8), NAN, 0, -5, "4"],
    "target": [lambda given: rules.modelled_violation(RULE, MODELS, 4, given), NAN, INF, 2, "8"],
    "measured confidence": [lambda given: rules.measured_violation(RULE, [8], SAMPLES, confidence=given), 95, 0, NAN],
    "measured draws": [lambda given: rules.measured_violation(RULE, [8], SAMPLES, draws=given), 0, 2.5, NAN],
    "measured seed": [lambda given: rules.measured_violation(RULE, [8], SAMPLES, seed=given), -1, "a"],
    "measured scales": [lambda given: rules.measured_violation(RULE, given, SAMPLES), [NAN], ["x"], []],
    "classes": [lambda given: rules.class_violation(RULE, {"a": given, "b": LINEAR}), "p", None],
    "published": [lambda given: verdict.published_verdict(LINEAR, given, LINEAR), "x", None],
    "load": [lambda given: scaling.load(given), None, 5, "a\0b", "x" * 300],
    **{
        name: [getattr(search_space, name), "p", None, 2.0]
        for name in ("default_deviation", "deviation_limits", "search_space", "judged_space", "ticks", "prior_odds")
    },
    **{name: [lambda given, name=name: getattr(verdict, name)(given, LINEAR), "p"] for name in ("rank", "divergence")},
}  # fmt: skip


@pytest.mark.parametrize(
    ("call", "given"),
    [
        pytest.param(call, given, id=f"{name}-{place}")
        for name, (call, *wrong) in NONSENSE.items()
        for place, given in enumerate(wrong)
    ],
)
def test_nonsense_is_refused_in_one_line(call, given):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError) as caught:
            call(given)
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("given", [2, 2.0, [1, 2], (4, 8.5), [], range(1, 4)])
def test_numbers_of_any_kind_are_numbers(given):
    assert LINEAR(given).tolist() == np.array(given, dtype=float).tolist()
