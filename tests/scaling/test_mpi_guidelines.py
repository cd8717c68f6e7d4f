"""The guidelines of MPI that come with commmodel, held against the verdicts of ReproMPI's checker on the same times.

That is pgchecker, by default a t-test with pooled variance of the library's times against those of the mock-up, on one
side with 5 %, over all repetitions of one run. What we call broken needs launches that agree, and 5 % at least.
"""

import math
import random
import statistics

import pytest
from support.scaling_samples import launch

from commmodel.errors import InputError
from commmodel.results import Measurements, Record
from commmodel.results.configurations import Collective
from commmodel.scaling import Expectations, check, load

GUIDELINES = load("guidelines").guidelines
SIZE, PROCESSES, LAUNCHES, REPETITIONS = 1024, 4, 6, 30
CRITICAL = 1.644854
"""Of the normal distribution at 5 %, which pgchecker takes from 25 samples on."""


def pgchecker_accuses(library, mock_up):
    """Whether a t-test with pooled variance puts the mock-up's mean below the library's."""
    n, m = len(library), len(mock_up)
    pooled = ((n - 1) * statistics.variance(library) + (m - 1) * statistics.variance(mock_up)) / (n + m - 2)
    t = (statistics.mean(mock_up) - statistics.mean(library)) / math.sqrt(pooled * (1 / n + 1 / m))
    return t < -CRITICAL


def size_of(guideline, name):
    """Return the message size of a function of the right side, bytes."""
    product = dict(dict(guideline.sizes).get(name, ()))
    values = {"n": SIZE, "p": PROCESSES}
    return round(math.prod(growth(values[key]) for key, growth in product.items())) if product else SIZE


def times(ratio, seed, launches, between=0.0):
    """Return times of each launch, of which logarithms scatter by 5 % within launches and by `between` among them."""
    draw = random.Random(seed)  # noqa: S311  (times, no secrets)
    result = []
    for _ in range(launches):
        middle = math.log(ratio) + draw.gauss(0, between)
        result.append(tuple(1e-5 * math.exp(middle + draw.gauss(0, 0.05)) for _ in range(REPETITIONS)))
    return result


def measured(guideline, ratio, launches=LAUNCHES, between=0.0, seed=1):
    """Return launches in which the left side takes `ratio` times as long as the right, and both sides' times."""
    parts = [name for _, name in guideline.rule.right]
    left = times(ratio, seed, launches, between)
    right = [times(1 / len(parts), seed + 1 + number, launches, between) for number in range(len(parts))]
    records = [
        [
            Record(Collective(guideline.rule.left, SIZE, PROCESSES), "s", left[number]),
            *(
                Record(Collective(name, size_of(guideline, name), PROCESSES), "s", samples[number])
                for name, samples in zip(parts, right, strict=True)
            ),
        ]
        for number in range(launches)
    ]
    sums = [
        [sum(values) for values in zip(*(part[number] for part in right), strict=True)] for number in range(launches)
    ]
    return Measurements(tuple(launch(*members) for members in records)), left, sums


@pytest.mark.parametrize("guideline", GUIDELINES, ids=lambda guideline: guideline.name)
@pytest.mark.parametrize("ratio", [0.7, 0.9, 1.2, 1.5])
def test_verdicts_are_those_of_pgchecker(guideline, ratio):
    measurements, left, right = measured(guideline, ratio)
    checked = check(measurements, Expectations("", (), (guideline,)))
    accused = pgchecker_accuses([time for samples in left for time in samples], [t for sums in right for t in sums])
    assert bool(checked.violations) == accused == (ratio > 1)
    if accused:
        (broken,) = checked.violations
        assert (broken.name, broken.scale, broken.kind) == (guideline.name, PROCESSES, "measured")
        assert broken.ratio == pytest.approx(ratio, rel=0.05)


def test_where_launches_differ_pgchecker_accuses_who_is_as_fast():
    (guideline,) = (guideline for guideline in GUIDELINES if guideline.name == "gather_as_allgather")
    violations = accusations = 0
    for seed in range(40):
        measurements, left, right = measured(guideline, 1.0, between=0.1, seed=10 * seed)
        violations += bool(check(measurements, Expectations("", (), (guideline,))).violations)
        accusations += pgchecker_accuses(list(left[0]), right[0])  # it sees one run
    assert (violations, accusations) == (3, 25)  # violations: 5 % of 40, and their scatter


def test_all_that_were_measured_are_tested_together_and_the_rest_is_one_line():
    by_name = {guideline.name: guideline for guideline in GUIDELINES}
    slow, _, _ = measured(by_name["gather_as_allgather"], 1.5)
    fast, _, _ = measured(by_name["scatter_as_scatterv"], 0.8, seed=7)
    pairs = zip(slow.launches, fast.launches, strict=True)
    checked = check(
        Measurements(tuple(launch(*first.records, *second.records) for first, second in pairs)), load("guidelines")
    )
    assert [broken.name for broken in checked.violations] == ["gather_as_allgather"]
    (note,) = checked.notes
    assert note.startswith("18 rules: not tested, since allgatherv, allreduce, ")
    with pytest.raises(InputError, match="rules: not tested, since"):
        check(Measurements((launch(Record(Collective("gather", 8, 4), "s", (1e-6,))),)), load("guidelines"))


def test_names_are_the_mock_ups_and_rules_are_none_twice():
    assert (
        len({guideline.name for guideline in GUIDELINES})
        == len({str(guideline.rule) for guideline in GUIDELINES})
        == 20
    )
    assert {str(guideline.rule) for guideline in load("mpi").guidelines} <= {
        str(guideline.rule) for guideline in GUIDELINES
    }
