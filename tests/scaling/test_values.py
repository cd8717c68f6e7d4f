"""Values of an own program, checked by one call."""

import numpy as np
import pytest

from commmodel import scaling
from commmodel.errors import InputError
from commmodel.results import Header, Launch, Library, Measurements, Record
from commmodel.results.configurations import Function

SCALES = [2, 4, 8, 16, 32, 64]


def test_values_have_the_verdict_of_the_same_values_in_a_file():
    times = [[1e-3 * p, 1.02e-3 * p, 0.99e-3 * p] for p in SCALES]
    records = [
        Record(Function("f", "time", (("p", float(p)),)), "s", tuple(row)) for p, row in zip(SCALES, times, strict=True)
    ]
    launch = Launch(Header("commmodel-results", 1, "", (), Library("MPI"), (), ()), tuple(records))
    expected = scaling.Expectations(expectations=(scaling.Expectation("f", scaling.parse_growth("log p")),))
    (row,) = scaling.check(Measurements((launch,)), expected, at=1024).rows
    checked = scaling.check_values(SCALES, times, "log p", at=1024)
    assert checked.verdict == row.verdict == "mismatch"
    assert checked.judgement.divergence == row.judgement.divergence
    assert checked.predicted == row.predicted


@pytest.mark.parametrize("kind", [list, np.array, tuple])
def test_a_flat_list_is_one_repetition_each_in_any_order(kind):
    scales = SCALES[::-1]
    checked = scaling.check_values(kind(scales), kind([3e-6 * n for n in scales]), "n", over="n")
    assert checked.verdict == "match"
    assert checked.series.scales == tuple(map(float, SCALES))
    assert [sample.shape for sample in checked.series.samples] == [(1, 1)] * 6


def test_memory_has_a_scale_up_to_which_it_lasts():
    checked = scaling.check_values(
        SCALES, [1e6 * p for p in SCALES], "p", metric="memory", memory=scaling.MemoryLimit(2**30, 16)
    )
    assert (checked.verdict, checked.series.unit) == ("match", "B")
    assert checked.room.scale == pytest.approx(2**30 / 16e6, rel=0.02)


@pytest.mark.parametrize(
    ("scales", "values", "growth"),
    [
        ([1, 2], [1, 2], "p"),
        (SCALES, [1, 2, 3], "p"),
        (SCALES, 5, "p"),
        (SCALES, ["a"] * 6, "p"),
        (SCALES, SCALES, "x y"),
    ],
)
def test_what_is_no_growth_is_refused(scales, values, growth):
    with pytest.raises(InputError):
        scaling.check_values(scales, values, growth)


def test_a_checked_list_says_in_a_line_what_it_is_what_fits_and_the_verdict():
    checked = scaling.check_values([2, 4, 8, 16, 32], [10, 20, 40, 80, 160], "1", metric="memory")
    assert repr(checked) == "CheckedSeries(values (memory): 1 expected, p fits, mismatch)"


def test_parameters_of_a_function_may_be_a_mapping_and_wrong_ones_are_refused():
    assert Function("f", "time", {"p": 2}) == Function("f", "time", (("p", 2.0),))
    for wrong in ({"p": "2"}, {"p": float("nan")}, 2, (("p",),), "p"):
        with pytest.raises(InputError, match="parameters is"):
            Function("f", "time", wrong)
