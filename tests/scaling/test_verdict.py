"""Verdicts on samples: what grows as promised passes, what does not fails, what cannot be told says what to measure."""

import numpy as np
import pytest

from commmodel.errors import InputError
from commmodel.scaling import Growth, Model, judge, parse_growth, parse_rule, predict_at
from commmodel.scaling.bootstrap import ensemble
from commmodel.scaling.growth import ONE
from commmodel.scaling.rules import measured_violation, modelled_violation
from commmodel.scaling.search_space import case_study_space

SCALES = [4, 8, 16, 32, 64, 128]
ROOT = parse_growth("p^0.5")
RULE = parse_rule("allreduce <= reduce + bcast")


def measured(text, constant=5.0, noise=0.02, repetitions=20, scales=SCALES, seed=0):
    """Return repetitions at each scale of constant + growth."""
    random = np.random.default_rng(seed)
    return [
        (constant + float(parse_growth(text)(scale))) * (1 + noise * np.abs(random.normal(size=repetitions)))
        for scale in scales
    ]


@pytest.mark.parametrize(
    ("grows", "expected", "deviation", "verdict"),
    [
        ("1", "1", None, "match"),
        ("log p", "log p", ROOT, "match"),
        ("p", "p", None, "match"),
        ("p log p", "p log p", None, "match"),
        ("p", "log p", ROOT, "mismatch"),
        ("p^2", "p", None, "mismatch"),
        ("p", "1", None, "mismatch"),
        ("p^1.25", "p", None, "approximate"),
    ],
)
def test_verdicts_on_clear_data(grows, expected, deviation, verdict):
    judgement = judge(SCALES, measured(grows, constant=1.0, noise=0.002), parse_growth(expected), deviation)
    assert judgement.verdict == verdict
    assert not judgement.advice
    assert judgement.divergence == judgement.ensemble.best.growth / parse_growth(expected)


def test_noise_alone_is_hardly_ever_a_mismatch_and_mostly_a_match():
    verdicts = [
        judge(SCALES, measured("1", noise=0.1, repetitions=5, seed=seed), ONE, draws=100).verdict for seed in range(40)
    ]
    assert verdicts.count("mismatch") <= 4
    assert verdicts.count("match") >= 32


def test_a_linear_broadcast_is_caught_under_noise():
    verdicts = [
        judge(
            SCALES, measured("p", constant=1.0, noise=0.05, seed=seed), parse_growth("log p"), ROOT, draws=100
        ).verdict
        for seed in range(10)
    ]
    assert verdicts.count("mismatch") >= 9


@pytest.mark.parametrize(
    ("grows", "expected", "wrong"),
    [
        ("p^0.25", "log p", ("match", "approximate")),
        ("p^0.25 log p", "p", ("match", "approximate")),
        ("log p", "log p", ("mismatch", "approximate")),
        ("p^0.5", "p", ("mismatch",)),
    ],
)
def test_a_preference_for_simple_terms_makes_no_verdict_too_sure(grows, expected, wrong):
    verdicts = [
        judge(
            SCALES[:5], measured(grows, noise=0.1, scales=SCALES[:5], seed=seed), parse_growth(expected), draws=100
        ).verdict
        for seed in range(25)
    ]
    assert sum(verdict in wrong for verdict in verdicts) <= 2


@pytest.mark.parametrize(
    ("grows", "noise", "verdict", "least", "most_wrong"),
    [
        ("log p", 0.02, "match", 38, 0),
        ("log p", 0.05, "match", 20, 0),
        ("log^2 p", 0.05, "mismatch", 38, 0),
        ("p^0.25", 0.05, "mismatch", 0, 2),
        ("p^(1/3)", 0.02, "mismatch", 32, 0),
        ("p^0.5", 0.05, "mismatch", 36, 0),
    ],
)
def test_growth_near_the_logarithm_at_five_scales(grows, noise, verdict, least, most_wrong):
    random = np.random.default_rng(5)
    scales = np.array(SCALES[:5], dtype=float)
    truth = 5 + 3 * parse_growth(grows)(scales)
    verdicts = [
        judge(scales, list(truth[:, None] * (1 + noise * random.normal(size=(5, 5)))), Growth(log=1), draws=50).verdict
        for _ in range(40)
    ]
    assert verdicts.count(verdict) >= least
    wrong = ("mismatch",) if grows == "log p" else ("match", "approximate")
    assert sum(entry in wrong for entry in verdicts) <= most_wrong


def test_what_cannot_be_told_apart_is_uncertain_and_says_to_measure_at_more_scales():
    samples = measured("p^(2/3)", constant=1.0, noise=0.25, repetitions=4, scales=SCALES[:3], seed=3)
    judgement = judge(SCALES[:3], samples, parse_growth("log p"), ROOT)
    assert judgement.verdict == "uncertain"
    assert "5 or more" in judgement.advice
    assert len(judgement.ensemble.shares) > 1


def test_an_uncertain_verdict_says_at_which_scale_to_measure_next_or_how_often():
    lines = []
    for seed in range(20):
        samples = measured("p^(2/3)", constant=1.0, noise=0.15, repetitions=4, seed=seed)
        judgement = judge(SCALES, samples, parse_growth("log p"), ROOT, over="n", draws=100)
        assert (judgement.verdict == "uncertain") == bool(judgement.advice)
        lines.append(judgement.advice)
    assert any("measure also at n = " in advice for advice in lines)


def test_wild_scatter_is_no_proof_of_a_constant():
    samples = [[1.0, 9.0], [7.0, 0.5], [0.7, 8.0], [6.0, 0.3], [0.9, 9.0], [5.0, 0.4]]
    assert judge(SCALES, samples, ONE, statistic="median").verdict == "uncertain"


def test_whole_launches_are_drawn_where_there_are_several():
    random = np.random.default_rng(0)
    launches = [np.repeat((3 + np.log2(p)) * (1 + 0.1 * random.normal(size=(4, 1))), 50, axis=1) for p in SCALES]
    apart = ensemble(SCALES, launches, case_study_space(), statistic="mean", seed=0)
    alike = ensemble(SCALES, [launch.ravel() for launch in launches], case_study_space(), statistic="mean", seed=0)
    draws = len(apart.drawn) // 2
    assert apart.drawn.values(64.0)[:draws].std() > 2 * alike.drawn.values(64.0)[:draws].std()


def test_the_same_seed_gives_the_same_answer():
    samples = measured("log p", noise=0.1)
    assert (
        judge(SCALES, samples, parse_growth("log p")).ensemble.shares
        == judge(SCALES, samples, parse_growth("log p")).ensemble.shares
    )


def test_counts_without_scatter_are_one_model():
    result = ensemble(SCALES, [[3770.0 + 18 * p] for p in SCALES], case_study_space())
    assert result.shares == {Growth(power=1): 1.0}
    assert result.noise < 1e-9


def test_predictions_hold_the_truth_and_widen_with_distance():
    inside = 0
    for seed in range(20):
        result = ensemble(SCALES, measured("log p", noise=0.05, seed=seed), case_study_space(), draws=100)
        near, far = predict_at(result, 256), predict_at(result, 65536)
        assert near.low <= near.value <= near.high
        assert far.high - far.low >= near.high - near.low
        inside += far.low <= 5 + 16 * 1.02 and far.high >= 5 + 16
    assert inside >= 16


@pytest.mark.parametrize(("scale", "confidence", "message"), [(0.5, 0.95, "from 1 up"), (64, 95, "between 0 and 1")])
def test_a_prediction_of_nonsense_is_refused(scale, confidence, message):
    result = ensemble(SCALES, [[1.0 * p] for p in SCALES], [Growth(power=1)])
    with pytest.raises(InputError, match=message):
        predict_at(result, scale, confidence)


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([[1.0]] * 5, "samples of 5 scales, but 6 scales"),
        ([[1.0]] * 5 + [[]], "samples at 128: shape"),
        ([[1.0]] * 5 + [[np.nan]], "samples at 128: one is no finite number"),
    ],
)
def test_samples_that_do_not_belong_to_the_scales_are_refused(samples, message):
    with pytest.raises(InputError, match=message):
        judge(SCALES, samples, ONE)


def test_a_measured_violation_must_be_more_than_scatter():
    samples = {name: measured("log p", seed=seed) for seed, name in enumerate(("allreduce", "reduce", "bcast"))}
    assert measured_violation(RULE, SCALES, samples) is None
    samples["allreduce"] = [2 * entry + 20 * (p >= 32) for p, entry in zip(SCALES, samples["allreduce"], strict=True)]
    broken = measured_violation(RULE, SCALES, samples)
    assert broken.scale == 32
    assert broken.ratio > 1.5


def test_equal_sides_are_rarely_called_a_violation():
    wrong = 0
    for seed in range(40):
        samples = {name: measured("1", noise=0.1, seed=2 * seed + i) for i, name in enumerate(("bcast", "ibcast"))}
        wrong += measured_violation(parse_rule("bcast <= ibcast"), SCALES, samples) is not None
    assert wrong <= 6


def test_a_violation_to_come_is_found_from_its_first_scale_on():
    models = {
        "allreduce": Model(0.0, 1.0, Growth(power=1)),
        "reduce": Model(50.0, 1.0, Growth(log=1)),
        "bcast": Model(0.0, 1.0, Growth(log=1)),
    }
    broken = modelled_violation(RULE, models, 32, 1e6)
    assert broken.scale == pytest.approx(50 + 2 * np.log2(broken.scale))
    assert broken.ratio == pytest.approx(1e6 / (50 + 2 * np.log2(1e6)))
    assert modelled_violation(RULE, models, 32, 40) is None
    assert modelled_violation(RULE, models, 128, 128).scale == 128


@pytest.mark.parametrize(
    "text", ["", "a", "a < b", "a <= ", "a <= b <= c", "2 a <= b", "a <= b - c", "a <= 0 b", "a + b <= c"]
)
def test_what_is_no_rule_is_refused_in_one_line(text):
    with pytest.raises(InputError, match="rule"):
        parse_rule(text)


def test_a_function_without_model_or_samples_is_named():
    with pytest.raises(InputError, match="no model of allreduce"):
        modelled_violation(RULE, {}, 2, 4)
    with pytest.raises(InputError, match="no samples of bcast"):
        measured_violation(RULE, [2], {"allreduce": [[1.0]], "reduce": [[1.0]]})
    with pytest.raises(InputError, match="below the largest scale"):
        modelled_violation(parse_rule("a <= a"), {"a": Model(1.0, 0.0, ONE)}, 8, 4)


def test_three_scales_that_show_no_growth_leave_it_open_but_the_same_number_thrice_does_not():
    bytes_kept = [5752, 5768, 5800]  # of win_create on 2, 3 and 4 processes, in an allocator's steps of 16
    judgement = judge([2, 3, 4], [[entry] * 8 for entry in bytes_kept], parse_growth("p"), parse_growth("p^0.5"))
    assert judgement.verdict == "uncertain"
    assert "measure at 5 or more" in judgement.advice
    assert judge([2, 3, 4], [[5400] * 8] * 3, parse_growth("p"), parse_growth("p^0.5")).verdict == "mismatch"
    assert judge([2, 3, 4], [[5752] * 8, [5768] * 8, [5760] * 8], parse_growth("1")).verdict == "match"


@pytest.mark.parametrize("expected", ["1", "log p", "p", "p log p"])
def test_exact_cubes_are_a_mismatch_for_what_should_grow_less(expected):
    judgement = judge([4, 8, 16, 32, 64], [[float(p) ** 3] * 5 for p in (4, 8, 16, 32, 64)], parse_growth(expected))
    assert (judgement.verdict, judgement.ensemble.best.growth) == ("mismatch", parse_growth("p^3"))


def about(values, noise=0.02, repetitions=5, seed=0):
    """Return repetitions about values."""
    random = np.random.default_rng(seed)
    return [value * (1 + noise * random.normal(size=repetitions)) for value in values]


@pytest.mark.parametrize("expected", ["1", "log p", "p"])
@pytest.mark.parametrize("values", [(1, 1, 1, 1, 10), (1, 1, 10, 10, 10), (1, 2, 4, 8, 100), (9, 9, 9, 1, 0.9)])
def test_what_goes_one_way_as_no_class_does_is_a_mismatch(values, expected):
    judgement = judge([4, 8, 16, 32, 64], about(values), parse_growth(expected))
    assert not judgement.ensemble.fits
    assert judgement.verdict == "mismatch"
    assert judgement.advice.startswith("no class fits")


def test_what_falls_is_told_to_be_expected_to_fall():
    judgement = judge([4, 8, 16, 32, 64], about([64.0, 32, 16, 8, 4]), ONE)
    assert (judgement.verdict, judgement.advice) == (
        "mismatch",
        "no class fits: it falls to 1/16: expect such as 1 / p",
    )


def test_values_that_go_up_and_down_are_uncertain_and_no_class_fits():
    judgement = judge([4, 8, 16, 32, 64], about([1.0, 1, 5, 1, 1]), ONE)
    assert not judgement.ensemble.fits
    assert judgement.verdict == "uncertain"
    assert "go up and down" in judgement.advice


def test_of_four_scales_nobody_knows_whether_no_class_fits():
    judgement = judge([4, 8, 16, 32], about([1.0, 1, 1, 20]), ONE)
    assert judgement.verdict == "uncertain"
    assert "no class fits 4 scales" in judgement.advice


@pytest.mark.parametrize("noise", [0.05, 0.3])
@pytest.mark.parametrize("drift", [0.0, 0.1])
def test_noise_about_a_class_does_not_keep_it_from_fitting(noise, drift):
    scales, space = [4, 8, 16, 32, 64], case_study_space()
    random = np.random.default_rng(1)
    for seed, text in enumerate(["1", "log p", "p", "p log p", "p^2"] * 8):
        truth = [(5 + 3 * float(parse_growth(text)(p))) * np.exp(drift * random.normal()) for p in scales]
        assert ensemble(scales, about(truth, noise, seed=seed), space, draws=50).fits


def test_a_disturbed_repetition_in_ten_does_not_keep_a_class_from_fitting():
    scales, space = [4, 8, 16, 32, 64], case_study_space()
    random = np.random.default_rng(2)
    for _ in range(20):
        samples = [(5 + p) * (1 + 0.02 * random.normal(size=20) + 9 * (random.random(20) < 0.1)) for p in scales]
        assert ensemble(scales, samples, space, draws=50).fits


def test_a_linear_growth_is_not_made_uncertain_by_curves_that_look_like_it():
    random = np.random.default_rng(3)
    truth = 5 + 3 * np.array(SCALES[:5], dtype=float)
    samples = [truth[:, None] * (1 + 0.1 * random.normal(size=(5, 5))) for _ in range(20)]
    verdicts = [judge(SCALES[:5], list(sample), parse_growth("p"), draws=100).verdict for sample in samples]
    assert verdicts.count("match") >= 14
