"""What became slower: few false alarms, real changes found, and nothing said that the measurements do not know."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import header

from commmodel.errors import InputError
from commmodel.results import Collective, Function, Launch, Library, Measurements, Memory, Queue, Record, Threshold
from commmodel.scaling.difference import changed_surroundings, differences

BCAST = Collective("bcast", 8, 4)


def launch(*records, **changes):
    return Launch(header(**changes), records)


def of_samples(*launches, configuration=BCAST, unit="s"):
    """Measurements of one configuration, the samples of each launch given."""
    return Measurements(tuple(launch(Record(configuration, unit, tuple(samples))) for samples in launches))


def noise(random, count, memory):
    """Return an AR(1) series of unit variance; each value remembers a share `memory` of the one before."""
    series = random.normal(size=count)
    for index in range(1, count if memory else 0):
        series[index] = memory * series[index - 1] + math.sqrt(1 - memory**2) * series[index]
    return series


def made(random, launches, *, factor=1.0, between=0.03, within=0.03, count=30, memory=0.0, configurations=3):
    """Launches that scatter by `between`, repetitions by `within`, of several configurations."""

    def record(processes):
        place = between * random.normal()
        samples = factor * 1e-6 * np.exp(place + within * noise(random, count, memory))
        return Record(Collective("bcast", 8, processes), "s", tuple(samples.tolist()))

    return Measurements(tuple(launch(*map(record, range(2, 2 + configurations))) for _ in range(launches)))


def alarms(runs, launches, factor=1.0, least=0.0, **more):
    """Return the changes called in each of so many comparisons of what differs by a factor."""
    found = []
    for seed in range(runs):
        random = np.random.default_rng(seed)
        rows = differences(
            made(random, launches, **more), made(random, launches, factor=factor, **more), least=least
        ).rows
        found.append([row.change for row in rows if row.change in {"slower", "faster"}])
    return found


@pytest.mark.parametrize("launches", [2, 5])
def test_the_same_against_the_same_hardly_ever_raises_an_alarm(launches):
    assert sum(map(bool, alarms(200, launches, least=0.05))) <= 10


@pytest.mark.parametrize("launches", [3, 8])
def test_without_a_least_effect_alarms_are_as_rare_as_the_confidence_says(launches):
    """5 % of 200 are 10, and their standard deviation is 3."""
    assert sum(map(bool, alarms(200, launches))) <= 19


def test_ten_percent_slower_in_five_launches_is_found():
    found = alarms(100, 5, factor=1.1)
    assert sum(changes.count("slower") for changes in found) >= 0.9 * 3 * 100
    assert not any("faster" in changes for changes in found)


def test_repetitions_that_resemble_each_other_do_not_raise_alarms():
    """A launch alone; as independent samples these would be called changed in more than a third of all runs."""
    found = alarms(200, 1, between=0.0, memory=0.8, count=200, configurations=1)
    assert sum(map(bool, found)) <= 20


def test_ten_percent_slower_in_one_launch_is_found_and_said_to_be_of_one_launch():
    random = np.random.default_rng(3)
    found = differences(made(random, 1, between=0.0), made(random, 1, between=0.0, factor=1.1))
    assert {row.change for row in found.rows} == {"slower"}
    assert any("each file has one launch" in remark for remark in found.remarks)


def test_launches_that_were_not_repeated_scatter_as_their_ratios_do():
    """By their own intervals alone, most of these twelve would be called changed in every run."""
    found = alarms(100, 1, between=0.05, configurations=12)
    assert sum(map(bool, found)) <= 10
    random = np.random.default_rng(5)
    slower = Record(Collective("barrier", 0, 4), "s", (1.5e-6,) * 20)
    usual = Record(Collective("barrier", 0, 4), "s", (1e-6,) * 20)
    before, after = (made(random, 1, between=0.02, configurations=12).launches[0] for _ in range(2))
    rows = differences(
        Measurements((launch(*before.records, usual),)), Measurements((launch(*after.records, slower),))
    ).rows
    assert [row.configuration.operation for row in rows if row.change == "slower"] == ["barrier"]
    all_of_them = differences(made(random, 1, between=0.0, configurations=12), made(random, 1, between=0.0, factor=1.2))
    assert {row.change for row in all_of_them.rows} == {"slower"}


def test_a_change_below_the_least_effect_is_not_called():
    exactly = np.full(20, 1e-6)
    before, after = of_samples(exactly, exactly * 1.001), of_samples(exactly * 1.03, exactly * 1.031)
    assert differences(before, after, least=0.05).rows[0].change == "same"
    assert differences(before, after, least=0.02).rows[0].change == "slower"
    assert differences(after, before, least=0.02).rows[0].change == "faster"


def test_an_interval_as_wide_as_everything_is_unclear():
    (row,) = differences(of_samples([1e-6]), of_samples([3e-6])).rows
    assert (row.change, row.low, row.high, row.p_value) == ("unclear", 0.0, math.inf, 1.0)


def test_a_single_launch_is_taken_to_scatter_as_the_others_do():
    several = of_samples(*(np.full(20, 1e-6 * (1 + off)) for off in (-0.1, -0.05, 0.0, 0.0, 0.05, 0.1)))
    alone = of_samples(np.full(20, 1.1e-6))
    (row,) = differences(several, alone).rows
    assert (row.change, row.launches) == ("unclear", (6, 1))
    assert row.low < 0.95 < 1.2 < row.high
    (row,) = differences(of_samples(np.full(20, 1e-6)), alone).rows
    assert (row.change, row.low) == ("slower", pytest.approx(row.high))


@pytest.mark.parametrize(
    ("before", "after", "change", "is_worse"),
    [(1000, 2000, "larger", True), (2000, 1000, "smaller", False), (1000, 1000, "same", False)],
)
def test_bytes_need_no_repetition(before, after, change, is_worse):
    configuration = Memory("comm_dup", 4)
    (row,) = differences(
        of_samples([before], configuration=configuration, unit="B"),
        of_samples([after], configuration=configuration, unit="B"),
    ).rows
    assert (row.change, row.is_worse, row.low, row.high) == (change, is_worse, row.ratio, row.ratio)


def test_a_larger_eager_limit_is_not_worse():
    (row,) = differences(
        of_samples([4096.0], configuration=Threshold("same-node"), unit="B"),
        of_samples([8192.0], configuration=Threshold("same-node"), unit="B"),
    ).rows
    assert (row.change, row.is_worse) == ("larger", False)


def test_nothing_before_is_a_change_without_a_ratio():
    configuration = Function("sort", "bytes", (("p", 4.0),))
    nothing, some = [of_samples([value] * 3, configuration=configuration, unit="B") for value in (0.0, 64.0)]
    (row,) = differences(nothing, some).rows
    assert (row.ratio, row.low, row.change) == (math.inf, math.inf, "larger")
    (row,) = differences(some, nothing).rows
    assert (row.ratio, row.high, row.change) == (0.0, 0.0, "smaller")
    assert differences(nothing, nothing).rows[0].change == "same"


def test_the_largest_effect_comes_first_and_what_is_in_one_file_only_is_named():
    def file(seconds, *more):
        records = [Record(Collective("bcast", 8, processes), "s", (value,) * 8) for processes, value in seconds.items()]
        return Measurements((launch(*records, *more),))

    found = differences(
        file({2: 1e-6, 3: 1e-6, 4: 1e-6, 5: 1e-6}, Record(Queue(8, "isend", "same-node"), "s", (1e-6, 2e-6))),
        file({2: 1.2e-6, 3: 0.5e-6, 4: 1e-6, 6: 1e-6}, Record(Queue(8, "isend", "same-node"), "s", (1e-6, 3e-6))),
    )
    assert [(row.configuration.processes, row.change) for row in found.rows] == [
        (3, "faster"), (2, "slower"), (4, "same")
    ]  # fmt: skip
    assert found.only_before == (Collective("bcast", 8, 5),)
    assert found.only_after == (Collective("bcast", 8, 6),)
    assert any("kernel queue" in remark for remark in found.remarks)


@given(
    st.lists(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=12), min_size=1, max_size=4),
    st.lists(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=12), min_size=1, max_size=4),
    st.sampled_from(["median", "first quartile", "minimum", "mean"]),
)
def test_the_other_way_round_everything_is_inverted(first, second, statistic):
    before, after = of_samples(*first), of_samples(*second)
    (there,) = differences(before, after, statistic=statistic).rows
    (back,) = differences(after, before, statistic=statistic).rows
    assert there.low <= there.ratio <= there.high
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert back.low == pytest.approx(1 / there.high if there.high else math.inf)
    assert back.p_value == pytest.approx(there.p_value)
    opposite = {"slower": "faster", "faster": "slower"}
    assert back.change == opposite.get(there.change, there.change)


def test_what_differs_in_the_surroundings_is_named():
    record = Record(BCAST, "s", (1e-6,))
    before = Measurements((launch(record), launch(record)))
    after = Measurements(
        (launch(record, mpi=Library("Open MPI v5.0.8"), versions={"commmodel": "0.2.0", "numpy": "2"}),)
    )
    changed = {name: (old, new) for name, old, new in changed_surroundings(before, after)}
    assert changed == {
        "MPI library": ("MPICH Version: 5.0.2", "Open MPI v5.0.8"), "version of commmodel": ("0.1.0", "0.2.0")
    }  # fmt: skip
    assert not changed_surroundings(before, before)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"statistic": "mode"}, "statistic 'mode'"),
        ({"confidence": 1.0}, "confidence 1"),
        ({"least": -0.1}, "least effect -0.1"),
        ({"least": math.nan}, "least effect nan"),
    ],
)
def test_what_cannot_be_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        differences(of_samples([1e-6]), of_samples([1e-6]), **changes)


def test_files_with_nothing_in_common_are_refused():
    with pytest.raises(InputError, match="nothing was measured in both"):
        differences(of_samples([1e-6]), of_samples([1e-6], configuration=Collective("bcast", 16, 4)))


def test_of_many_warnings_some_are_named_and_the_others_counted():
    record = Record(BCAST, "s", (1e-6,))
    noisy = Measurements(tuple(launch(record, warnings=(f"load {number}",)) for number in range(9)))
    remarks = differences(noisy, of_samples([1e-6])).remarks
    assert [remark for remark in remarks if "load" in remark] == [f"before: load {number}" for number in range(3)]
    assert any(remark.startswith("before: 6 more warnings") for remark in remarks)
