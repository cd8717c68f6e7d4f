"""What became slower: few false alarms, real changes found, and nothing said that the measurements do not know."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.report_samples import header

from commmodel.errors import InputError
from commmodel.results import Launch, Library, Measurements, Record
from commmodel.results.configurations import Collective, Function, Memory, Queue, Threshold
from commmodel.scaling.difference import differences
from commmodel.scaling.environment import changed_environment

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


def synthetic(random, launches, *, factor=1.0, between=0.03, within=0.03, count=30, memory=0.0, configurations=3):
    """Launches that scatter by `between`, repetitions by `within`, of several configurations."""

    def record(processes):
        place = between * random.normal()
        samples = factor * 1e-6 * np.exp(place + within * noise(random, count, memory))
        return Record(Collective("bcast", 8, processes), "s", tuple(samples.tolist()))

    return Measurements(tuple(launch(*map(record, range(2, 2 + configurations))) for _ in range(launches)))


def alarms(runs, launches, factor=1.0, least=0.0, **more):
    """Return the changes called in each of so many comparisons of what differs by a factor."""
    values = []
    for seed in range(runs):
        random = np.random.default_rng(seed)
        rows = differences(
            synthetic(random, launches, **more), synthetic(random, launches, factor=factor, **more), least=least
        ).rows
        values.append([row.change for row in rows if row.change in {"slower", "faster"}])
    return values


@pytest.mark.parametrize("launches", [2, 5])
def test_the_same_against_the_same_hardly_ever_raises_an_alarm(launches):
    assert sum(map(bool, alarms(200, launches, least=0.05))) <= 10


@pytest.mark.parametrize("launches", [3, 8])
def test_without_a_least_effect_alarms_are_as_rare_as_the_confidence_says(launches):
    """5 % of 200 are 10, and their standard deviation is 3."""
    assert sum(map(bool, alarms(200, launches))) <= 19


def test_ten_percent_slower_in_five_launches_is_found():
    result = alarms(100, 5, factor=1.1)
    assert sum(changes.count("slower") for changes in result) >= 0.9 * 3 * 100
    assert not any("faster" in changes for changes in result)


def test_repetitions_that_resemble_each_other_do_not_raise_alarms():
    """A launch alone; as independent samples these would be called changed in more than a third of all runs."""
    result = alarms(200, 1, between=0.0, memory=0.8, count=200, configurations=1)
    assert sum(map(bool, result)) <= 20


def test_of_one_launch_on_each_side_no_time_is_called_changed():
    random = np.random.default_rng(3)
    result = differences(synthetic(random, 1, between=0.0), synthetic(random, 1, between=0.0, factor=1.5))
    assert {(row.change, row.low, row.high) for row in result.rows} == {("unclear", 0.0, math.inf)}
    assert result.together.change == "unclear"
    assert any(
        "each file has one launch" in remark and "5 launches on each side" in remark for remark in result.remarks
    )


@pytest.mark.parametrize("launches", [1, 2, 3])
def test_two_modes_that_split_by_chance_raise_no_alarm(launches):
    """Of 20 configurations with times of 1 and 15 us, some have all slow launches on one side in nearly every run."""
    for seed in range(20):
        random = np.random.default_rng(seed)

        def side(random=random):
            def record(processes):
                mode = random.choice([1e-6, 15e-6]) * math.exp(0.02 * random.normal())
                return Record(Collective("bcast", 8, processes), "s", (mode,) * 10)

            return Measurements(tuple(launch(*map(record, range(2, 22))) for _ in range(launches)))

        result = differences(side(), side())
        assert not {"slower", "faster"} & {result.together.change, *(row.change for row in result.rows)}


def test_three_quiet_launches_on_each_side_show_a_change_that_is_plain():
    """Too few for any p-value; but one configuration alone is off by ten times what any launch differs."""
    random = np.random.default_rng(2)
    before, usual = (synthetic(random, 3, configurations=8) for _ in range(2))
    after = Measurements(
        tuple(
            launch(Record(BCAST, "s", tuple(4.2 * seconds for seconds in entry.records[2].samples)), *entry.records[3:])
            for entry in usual.launches
        )
    )
    values = {row.configuration.processes: row.change for row in differences(before, after).rows}
    assert values[BCAST.processes] == "slower"
    assert list(values.values()).count("slower") == 1
    two = [Measurements(side.launches[:2]) for side in (before, after)]
    assert "slower" not in {row.change for row in differences(*two).rows}
    remarks = " ".join(differences(before, after).remarks)
    assert "only a time that is off by far more can be called changed" in remarks


def begun(minutes, factors, configurations=4):
    """Launches that began at these minutes, all of whose times are so many times the usual ones."""
    random = np.random.default_rng(8)
    return Measurements(
        tuple(
            launch(
                *(
                    Record(
                        Collective("bcast", 8, processes), "s",
                        (1e-6 * processes * factor * math.exp(0.01 * random.normal()),) * 10,
                    )
                    for processes in range(2, 2 + configurations)
                ),
                created=f"2026-11-22T10:{minute:02}:00+00:00",
            )
            for minute, factor in zip(minutes, factors, strict=True)
        )
    )  # fmt: skip


def test_a_drift_of_the_machine_is_no_change():
    """Twelve launches, each a few percent slower than the one before: the last six are no slower program."""
    random = np.random.default_rng(5)
    drift = np.exp(np.cumsum(0.06 * np.abs(random.normal(size=12))))
    result = differences(begun(range(6), drift[:6]), begun(range(6, 12), drift[6:]))
    assert not {"slower", "faster"} & {result.together.change, *(row.change for row in result.rows)}
    assert any("did not take turns" in remark for remark in result.remarks)
    steady = differences(begun(range(6), [1.0] * 6), begun(range(6, 12), [1.5] * 6))
    assert {steady.together.change, *(row.change for row in steady.rows)} == {"slower"}


def test_launches_in_turns_are_compared_in_pairs_so_that_drift_cancels():
    drift = np.exp(np.linspace(0.0, 2.0, 20))
    before, after = begun(range(0, 20, 2), drift[::2]), begun(range(1, 20, 2), 1.1 * drift[::2])
    result = differences(before, after)
    assert result.pairs == 10
    assert result.together.change == "slower"
    assert result.together.low < 1.1 < result.together.high < 1.15
    by_hand = differences(before, after, in_pairs=True)
    assert by_hand.together == result.together
    assert differences(before, after, in_pairs=False).together.change == "unclear"


def test_what_no_pair_has_on_both_sides_is_unclear():
    """One side measured it in the first launch only, the other in the second."""
    before, after = begun((0, 2), [1, 1]), begun((1, 3), [1, 1])
    extra = Record(Collective("barrier", 0, 4), "s", (1e-6,) * 3)
    first, second = (
        Measurements(
            tuple(
                Launch(entry.header, (*entry.records, extra) if number == place else entry.records)
                for number, entry in enumerate(side.launches)
            )
        )
        for place, side in enumerate((before, after))
    )
    result = differences(first, second)
    (row,) = (row for row in result.rows if row.configuration.operation == "barrier")
    assert result.pairs == 2
    assert (row.change, row.ratio, row.low, row.high) == ("unclear", 1.0, 0.0, math.inf)


def test_medians_beside_the_ratio_of_pairs_are_of_those_that_enter():
    before = of_samples(*([31e-6] * 3,) * 8, [9e-3] * 3, [8e-3] * 3)  # two launches beside other programs
    after = of_samples(*([33.6e-6] * 3,) * 10)
    (row,) = differences(before, after, in_pairs=True).rows
    assert (row.before, row.after) == (pytest.approx(31e-6), pytest.approx(33.6e-6))
    assert row.ratio == pytest.approx(33.6 / 31, rel=1e-3)


@pytest.mark.parametrize("launches", [5, 10, 20])
def test_a_drift_of_files_that_do_not_say_when_launches_began_is_no_change(launches):
    """A walk, a steady trend, and load that remembers; one file was measured after the other."""
    false = 0
    for seed in range(45):
        random = np.random.default_rng((launches, seed))
        count = 2 * launches
        drift = [
            np.cumsum(0.05 * random.normal(size=count)),
            0.02 * random.normal() * np.arange(count),
            0.15 * noise(random, count, 0.9),
        ][seed % 3]
        logs = drift + 0.03 * random.normal(size=(4, count))
        sides = [
            Measurements(
                tuple(
                    launch(
                        *(
                            Record(Collective("bcast", 8, 2 + row), "s", (1e-6 * math.exp(value),) * 3)
                            for row, value in enumerate(column)
                        ),
                        created="",
                    )
                    for column in side.T
                )
            )
            for side in (logs[:, :launches], logs[:, launches:])
        ]
        result = differences(*sides)
        changes = {row.change for row in result.rows} | {result.together.change if result.together else ""}
        false += bool(changes & {"slower", "faster"})
    assert false <= 4


def test_in_pairs_there_are_as_many_launches_on_both_sides():
    with pytest.raises(InputError, match="2 launches before and 3 after"):
        differences(begun(range(2), [1, 1]), begun(range(2, 5), [1, 1, 1]), in_pairs=True)


def test_a_shift_that_all_share_is_found_where_no_configuration_alone_shows_it():
    random = np.random.default_rng(1)
    few = {"between": 0.06, "within": 0.01, "configurations": 15}
    result = differences(synthetic(random, 6, **few), synthetic(random, 6, factor=1.08, **few), least=0.02)
    assert result.together.change == "slower"
    assert result.is_worse
    assert result.together.configurations == 15
    assert result.together.low < 1.08 < result.together.high


def test_what_resumes_a_launch_is_no_launch_of_its_own():
    def side(factor):
        first, second = (Record(Collective("bcast", 8, p), "s", (factor * 1e-6,) * 9) for p in (2, 4))
        return Measurements((launch(first), launch(second, resumes=True)))

    assert {row.launches for row in differences(side(1), side(2)).rows} == {(1, 1)}


def test_a_change_below_the_least_effect_is_not_called():
    exactly = [np.full(20, 1e-6 * (1 + off / 1000)) for off in range(5)]
    before, after = of_samples(*exactly), of_samples(*(1.03 * entry for entry in exactly))
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
    result, some = [of_samples([value] * 3, configuration=configuration, unit="B") for value in (0.0, 64.0)]
    (row,) = differences(result, some).rows
    assert (row.ratio, row.low, row.change) == (math.inf, math.inf, "larger")
    (row,) = differences(some, result).rows
    assert (row.ratio, row.high, row.change) == (0.0, 0.0, "smaller")
    assert differences(result, result).rows[0].change == "same"


def test_the_largest_effect_comes_first_and_what_is_in_one_file_only_is_named():
    def file(seconds, *more):
        records = [Record(Collective("bcast", 8, processes), "s", (value,) * 8) for processes, value in seconds.items()]
        return Measurements((launch(*records, *more),))

    result = differences(
        file({2: 1e-6, 3: 1e-6, 4: 1e-6, 5: 1e-6}, Record(Queue(8, "isend", "same-node"), "s", (1e-6, 2e-6))),
        file({2: 1.2e-6, 3: 0.5e-6, 4: 1e-6, 6: 1e-6}, Record(Queue(8, "isend", "same-node"), "s", (1e-6, 3e-6))),
    )
    assert [(row.configuration.processes, row.change) for row in result.rows] == [
        (3, "unclear"), (2, "unclear"), (4, "unclear")
    ]  # fmt: skip
    assert result.only_before == (Collective("bcast", 8, 5),)
    assert result.only_after == (Collective("bcast", 8, 6),)
    assert any("kernel queue" in remark for remark in result.remarks)


@given(
    st.lists(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=12), min_size=1, max_size=4),
    st.lists(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=12), min_size=1, max_size=4),
    st.sampled_from(["median", "first quartile", "minimum", "mean"]),
)
def test_the_other_way_round_everything_is_inverted(first, second, statistic):
    before, after = of_samples(*first), of_samples(*second)
    (entry,) = differences(before, after, statistic=statistic).rows
    (back,) = differences(after, before, statistic=statistic).rows
    assert entry.low <= entry.ratio <= entry.high
    assert back.ratio == pytest.approx(1 / entry.ratio)
    assert back.low == pytest.approx(1 / entry.high if entry.high else math.inf)
    assert back.p_value == pytest.approx(entry.p_value)
    opposite = {"slower": "faster", "faster": "slower"}
    assert back.change == opposite.get(entry.change, entry.change)


def test_what_differs_in_the_surroundings_is_named():
    record = Record(BCAST, "s", (1e-6,))
    before = Measurements((launch(record), launch(record)))
    after = Measurements(
        (launch(record, mpi=Library("Open MPI v5.0.8"), versions={"commmodel": "0.2.0", "numpy": "2"}),)
    )
    headers = [[entry.header for entry in side.launches] for side in (before, after)]
    changed = {name: (old, new) for name, old, new in changed_environment(*headers)}
    assert changed == {
        "MPI library": ("MPICH Version: 5.0.2", "Open MPI v5.0.8"), "version of commmodel": ("0.1.0", "0.2.0")
    }  # fmt: skip
    assert not changed_environment(headers[0], headers[0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"statistic": "mode"}, "statistic is 'mode'"),
        ({"confidence": 1.0}, "confidence is 1"),
        ({"confidence": 1e-308}, "confidence is 1e-308"),
        ({"least": -0.1}, "least is -0.1"),
        ({"least": math.nan}, "least is nan"),
    ],
)
def test_what_cannot_be_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        differences(of_samples([1e-6]), of_samples([1e-6]), **changes)


def test_sizes_at_the_ends_of_what_numbers_can_be_are_compared():
    """The squares of such values are no numbers."""
    configuration = Function("sort", "bytes", (("p", 4.0),))
    largest, result, least = (
        of_samples([value] * 3, configuration=configuration, unit="B") for value in (1e302, 0.0, 1e-302)
    )
    assert differences(result, largest).rows[0].ratio == math.inf
    assert differences(largest, result).rows[0].ratio == 0.0
    assert differences(least, largest).rows[0].change == "larger"
    times = [of_samples(*[[value] * 3] * 5) for value in (1e302, 1e-302)]
    assert differences(*times).rows[0].change == "faster"


def test_files_with_nothing_in_common_are_refused():
    with pytest.raises(InputError, match="nothing was measured in both"):
        differences(of_samples([1e-6]), of_samples([1e-6], configuration=Collective("bcast", 16, 4)))


def test_of_many_warnings_some_are_named_and_the_others_counted():
    record = Record(BCAST, "s", (1e-6,))
    noisy = Measurements(tuple(launch(record, warnings=(f"load {number}",)) for number in range(9)))
    remarks = differences(noisy, of_samples([1e-6])).remarks
    assert [remark for remark in remarks if "load" in remark] == [f"before: load {number}" for number in range(3)]
    assert any(remark.startswith("before: 6 more warnings") for remark in remarks)


@pytest.mark.parametrize("least", [0.0, 0.1])
def test_what_is_detectable_is_found_in_four_of_five_comparisons(least):
    def compared(factor, seed):
        random = np.random.default_rng(seed)
        sides = (synthetic(random, 20, factor=by, between=0.2, configurations=1) for by in (1.0, factor))
        return differences(*sides, least=least, in_pairs=True).rows[0]

    detectable = np.median([compared(1.0, seed).detectable for seed in range(20)])
    assert detectable > max(least, 0.05)
    slower = sum(compared(1 + detectable, seed).change == "slower" for seed in range(20, 120))
    assert 65 <= slower <= 95


def test_nothing_is_detectable_where_nothing_can_be_called():
    once = of_samples([1e-6, 1.1e-6])
    assert differences(once, once, in_pairs=True).rows[0].detectable == math.inf
