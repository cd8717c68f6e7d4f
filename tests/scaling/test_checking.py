"""Measurements against expectations, rules and earlier measurements: what must be found, and what must not."""

import math

import numpy as np
import pytest
from msgspec.structs import replace
from support.effort import effort
from support.scaling_samples import AS_PROMISED, KEPT, PROCESSES, launch, measured, memory_record, record

from commmodel.errors import InputError
from commmodel.results import Host, Measurements, Record
from commmodel.results.configurations import Collective, Function
from commmodel.scaling import (
    CheckSettings,
    Expectation,
    Expectations,
    Growth,
    Guideline,
    MemoryLimit,
    check,
    load,
    parse_growth,
    parse_rule,
)
from commmodel.scaling.growth import ONE, parse_product

MPI = load("mpi")
LINEAR = AS_PROMISED | {"bcast": "p"}


def expected(*expectations, rules=()):
    return Expectations("", expectations, tuple(rules))


def rule(text, **sizes):
    products = tuple((name, tuple(parse_product(size).items())) for name, size in sizes.items())
    return Guideline(parse_rule(text), sizes=products)


def verdicts(checked):
    return {row.series.name: row.verdict for row in checked.rows}


def series_of(values, name="solve", metric="time", over="n", unit="s"):
    """Return what another program measured, scale -> samples."""
    return Measurements(
        (launch(*(Record(Function(name, metric, ((over, float(x)),)), unit, value) for x, value in values.items())),)
    )


def test_what_grows_as_promised_holds_and_a_linear_broadcast_does_not():
    checked = check(measured(noise=0.02), MPI)
    assert set(verdicts(checked).values()) == {"match"}
    assert list(verdicts(checked)) == list(AS_PROMISED)
    assert checked.holds
    assert checked.count("match") == len(AS_PROMISED)
    result = check(measured(LINEAR, noise=0.02), MPI)
    assert {name for name, verdict in verdicts(result).items() if verdict == "mismatch"} == {"bcast"}
    assert not result.holds


def test_each_message_size_has_a_row_and_the_expectation_with_most_conditions_counts():
    measurements = measured({"bcast": "p"}, sizes=(8, 1024), noise=0.01)
    result = expected(
        Expectation("bcast", parse_growth("p")),
        Expectation("bcast", parse_growth("log p"), where=(("n", 1024.0),)),
    )
    table = {dict(row.series.fixed)["n"]: row.verdict for row in check(measurements, result).rows}
    assert table == {8.0: "match", 1024.0: "mismatch"}


def test_memory_is_counted_exactly_and_says_up_to_where_it_lasts():
    growths = KEPT | {"comm_dup": "p"}
    measurements = Measurements(
        (launch(*(memory_record(name, growth, p) for name, growth in growths.items() for p in PROCESSES)),)
    )
    checked = check(measurements, MPI, at=8192, memory=MemoryLimit(8 * (1000 + 24 * 5000), processes=8))
    assert verdicts(checked) == {
        "comm_create": "match",
        "comm_dup": "mismatch",
        "win_create": "match",
        "cart_create": "match",
    }
    for row in checked.rows:
        assert row.predicted.value == pytest.approx(1000 + 24 * 8192)
        assert row.room.scale == pytest.approx(5000)
        assert row.room.low <= row.room.scale <= row.room.high


def test_room_widens_with_the_models_and_times_have_none():
    random = np.random.default_rng(2)
    samples = {p: tuple(1e6 * p * (1 + 0.1 * random.random(10))) for p in PROCESSES}
    (row,) = check(
        series_of(samples, metric="memory", unit="B", over="p"),
        expected(Expectation("solve", parse_growth("p"), "memory")),
        memory=MemoryLimit(1e9),
    ).rows
    assert row.room.low < row.room.scale < row.room.high
    assert all(entry.room is None for entry in check(measured(), MPI, memory=MemoryLimit(1e9)).rows)


def test_other_parameters_and_metrics_than_ours_are_checked_as_well():
    measurements = series_of({n: (float(n * n),) for n in (8, 16, 32, 64)}, metric="comparisons", unit="1")
    assert check(measurements, expected(Expectation("solve", parse_growth("n^2"), "comparisons", "n"))).holds
    assert not check(measurements, expected(Expectation("solve", parse_growth("n"), "comparisons", "n"))).holds


def test_scales_below_1_are_left_out():
    measurements = measured({"bcast": "1"}, sizes=(0, 8, 64, 512, 4096))
    checked = check(measurements, expected(Expectation("bcast", ONE, over="n")))
    assert {row.series.scales for row in checked.rows} == {(8.0, 64.0, 512.0, 4096.0)}


def test_the_deviation_of_the_file_can_be_replaced():
    measurements = measured({"bcast": "p^(1/3)"}, noise=0.002)
    assert verdicts(check(measurements, MPI))["bcast"] == "approximate"
    assert verdicts(check(measurements, MPI, deviation={"p": parse_growth("log^0.5 p")}))["bcast"] == "mismatch"


RULES = [rule("allreduce <= reduce + bcast")]


@pytest.mark.parametrize("launches", [1, 4, 6])
def test_a_rule_that_measurements_break_is_found_and_one_that_holds_is_not(launches):
    def verdict_at(factor):
        growths = {"reduce": "log p", "bcast": "log p"}
        sound, slow = measured(growths, launches=launches), measured({"allreduce": "log p"}, 1, launches)
        broken = Measurements(
            tuple(
                launch(
                    *entry.records,
                    *(
                        Record(
                            item.configuration,
                            "s",
                            tuple(factor(item.configuration.processes) * x for x in item.samples),
                        )
                        for item in other.records
                    ),
                )
                for entry, other in zip(sound.launches, slow.launches, strict=True)
            )
        )
        return check(broken, expected(Expectation("bcast", parse_growth("log p")), rules=RULES))

    assert not verdict_at(lambda _: 1.9).violations
    checked = verdict_at(lambda p: 3.0 if p >= 16 else 1.0)
    # One launch differs from the next: what it breaks is seen, but not called broken.
    (violation,) = checked.violations if launches > 1 else checked.possible
    assert checked.holds == (launches == 1)
    assert (violation.kind, violation.scale, violation.launches) == ("measured", 16.0, launches)
    assert violation.ratio == pytest.approx(1.5, rel=0.1)
    assert dict(violation.fixed)["n"] == 8.0


def test_a_growth_of_one_launch_beside_other_programs_is_no_mismatch():
    def crowded(measurements, load, other_processes=None):
        host = Host("vm", cpus=2, load=(load, load, load), other_processes=other_processes)
        return Measurements(
            tuple(replace(entry, header=replace(entry.header, hosts=(host,))) for entry in measurements.launches)
        )

    linear, result = measured({"bcast": "p"}), expected(Expectation("bcast", parse_growth("log p")))
    assert verdicts(check(crowded(linear, 2.2), result)) == {"bcast": "mismatch"}
    checked = check(crowded(linear, 14), result)
    assert verdicts(checked) == {"bcast": "uncertain"}
    assert "other programs took the processors (load average 14.0 on 2 processors)" in checked.rows[0].judgement.advice
    assert not check(crowded(measured({"bcast": "p"}, launches=3), 14), result).holds
    assert verdicts(check(crowded(linear, 14, other_processes=0.1), result)) == {"bcast": "mismatch"}  # of a minute ago
    assert verdicts(check(crowded(linear, 0, other_processes=3.0), result)) == {"bcast": "uncertain"}  # began just now


def test_sides_that_are_equal_are_hardly_ever_a_broken_rule():
    rules = [rule("reduce <= allreduce"), rule("gather <= allgather")]
    result = expected(Expectation("bcast", parse_growth("log p")), rules=rules)
    few = CheckSettings(draws=50)
    wrong = [check(measured(seed=seed, noise=0.2), result, settings=few).violations for seed in range(20)]
    assert sum(map(bool, wrong)) <= 2


def test_a_rule_is_held_against_the_message_sizes_that_it_names():
    growths = {"allgather": "p", "gather": "p"}
    collected = measured(growths, noise=0.01)
    random = np.random.default_rng(5)
    # One broadcast takes 1 µs for each byte: of n p bytes it is long enough, of n bytes it would not be.
    sent = [
        Record(Collective("bcast", n, p, "round-time"), "s", tuple(1e-6 * n * (1 + 0.01 * random.random(20))))
        for n in (8, 16, 32, 64, 128, 256, 512)
        for p in PROCESSES
    ]
    slow = [
        Record(entry.configuration, "s", tuple(x + 5e-6 * entry.configuration.processes for x in entry.samples))
        if entry.configuration.operation == "allgather"
        else entry
        for entry in collected.launches[0].records
    ]
    measurements = Measurements((launch(*slow, *sent),))
    anything = Expectation("gather", parse_growth("p"))
    sized = check(measurements, expected(anything, rules=[rule("allgather <= gather + bcast", bcast="n p")]))
    assert not sized.possible
    plain = check(measurements, expected(anything, rules=[rule("allgather <= gather + bcast")]))
    assert [broken.kind for broken in plain.possible] == ["measured"]
    without = Measurements((launch(*slow, *sent[: len(PROCESSES)]),))
    untested = check(without, expected(anything, rules=[rule("allgather <= gather + bcast", bcast="n p")]))
    assert any("not tested, for want of bcast of n p bytes: measure larger messages" in note for note in untested.notes)


def test_models_must_keep_a_rule_up_to_the_target_and_classes_are_a_remark():
    growths = {"allreduce": "p", "reduce": "log p", "bcast": "log p"}
    measurements = Measurements(
        tuple(
            launch(
                *(record(name, growth, p, np.random.default_rng(p), noise=0.01, constant=constant) for p in PROCESSES)
            )
            for name, growth, constant in zip(growths, growths.values(), (5, 100, 100), strict=True)
        )
    )
    result = expected(Expectation("bcast", parse_growth("log p")), rules=RULES)
    near = check(measurements, result)
    assert near.holds
    assert [(entry.kind, entry.certain) for entry in near.possible] == [("class", False)]
    far = check(measurements, result, at=100_000)
    (violation,) = far.violations
    assert violation.kind == "modelled"
    assert 200 < violation.scale < 260
    assert not far.holds
    assert check(measurements, result, at=150).holds


def test_noise_alone_is_no_change():
    alarms = sum(
        not check(measured(seed=2 * seed + 1), baseline=measured(seed=2 * seed), settings=CheckSettings(draws=40)).holds
        for seed in range(12)
    )
    assert alarms == 0


def test_launches_that_differ_are_no_change():
    def effects(seed):
        random = np.random.default_rng(seed)
        factors = random.normal(1, 0.05, (3, 8 * len(PROCESSES)))
        result = measured(seed=seed, launches=3, noise=0.02)
        return Measurements(
            tuple(
                launch(
                    *(
                        Record(item.configuration, "s", tuple(factor * x for x in item.samples))
                        for item, factor in zip(entry.records, row, strict=True)
                    )
                )
                for entry, row in zip(result.launches, factors, strict=True)
            )
        )

    few = CheckSettings(draws=40)
    alarms = sum(not check(effects(2 * seed + 1), baseline=effects(2 * seed), settings=few).holds for seed in range(10))
    assert alarms <= 1


def test_a_broadcast_that_became_linear_is_a_mismatch_and_slower():
    for seed in range(5):
        after, before = (measured(of, 2 * seed + place, 5) for place, of in enumerate((LINEAR, AS_PROMISED)))
        checked = check(after, baseline=before, settings=CheckSettings(draws=40))
        assert {name for name, verdict in verdicts(checked).items() if verdict == "mismatch"} == {"bcast"}
        assert {entry.name for entry in checked.slower} == {"bcast"}
        worst = max(checked.slower, key=lambda entry: entry.ratio)
        assert (worst.scale, worst.over) == (64.0, "p")
        assert worst.low < 69 / 11 < worst.high * 1.02
        assert all(row.source == "before" for row in checked.rows)


def test_what_became_slower_without_growing_faster_is_found_and_what_became_better_is_no_failure():
    fast = measured(seed=1, launches=6)
    barriers = measured({"barrier": "log p"}, 3, launches=6, constant=9)
    slow = Measurements(
        tuple(
            launch(*usual.records[6:], *item.records)
            for usual, item in zip(measured(seed=2, launches=6).launches, barriers.launches, strict=True)
        )
    )
    worse = check(slow, baseline=fast)
    assert set(verdicts(worse).values()) == {"match"}
    assert {entry.name for entry in worse.slower} == {"barrier"}
    assert not worse.holds
    assert worse.compared == 6 * len(AS_PROMISED)
    assert check(fast, baseline=slow).holds
    assert check(measured({"bcast": "log p"}, 1), baseline=measured({"bcast": "p"}, 2)).holds


def test_what_is_written_down_goes_before_the_baseline():
    checked = check(measured(LINEAR), MPI, baseline=measured(LINEAR, 1))
    assert verdicts(checked)["bcast"] == "mismatch"
    assert {row.source for row in checked.rows} == {"expected"}
    assert not checked.slower
    mixed = check(measured(LINEAR), expected(Expectation("bcast", parse_growth("p"))), baseline=measured(LINEAR, 1))
    assert {row.series.name: row.source for row in mixed.rows}["bcast"] == "expected"
    assert sum(row.source == "before" for row in mixed.rows) == len(LINEAR) - 1


def test_functions_of_other_programs_are_held_against_their_baseline_over_their_own_parameter():
    old = series_of({n: (float(n),) * 3 for n in (8, 16, 32, 64)}, metric="comparisons", unit="1")
    new = series_of({n: (float(n * n),) * 3 for n in (8, 16, 32, 64)}, metric="comparisons", unit="1")
    checked = check(new, baseline=old)
    assert [(row.series.over, row.verdict) for row in checked.rows] == [("n", "mismatch")]
    assert math.isclose(max(entry.ratio for entry in checked.slower), 64)
    assert check(old, baseline=old).holds


def test_what_could_not_be_tested_is_named():
    checked = check(measured({"bcast": "log p", "scan": "log p"}), MPI)
    notes = " | ".join(checked.notes)
    assert "expected, but not measured over p: time of barrier, reduce" in notes
    assert "memory of comm_create, comm_dup" in notes
    assert "measured, but nothing is expected: scan" in notes
    assert "5 rules: not tested, since allreduce, reduce, allgather, gather, scatter were not measured" in notes
    few = check(
        Measurements((*measured().launches, *measured({"bcast": "1"}, sizes=(64,), processes=(2, 4)).launches)), MPI
    )
    assert any("bcast: no growth over p can be seen with 2 scales: measure at 3 or more" in note for note in few.notes)


@pytest.mark.parametrize(
    ("measurements", "expectations", "options", "message"),
    [
        (measured(), None, {}, "nothing is expected: name a file of expectations"),
        (measured({"scan": "1"}), MPI, {}, "expected, but not measured over p: time of barrier"),
        (measured(processes=(2, 4)), MPI, {}, "no growth over p can be seen with 2 scales"),
        (measured(), MPI, {"metric": "memory"}, "nothing was measured of metric 'memory', but time: measure"),
        (Measurements((launch(),)), MPI, {}, "no function was measured: measure a function at three scales or more"),
        (measured(), MPI, {"at": 0.5}, "at is 0.5: give a finite number from 1 up"),
        (measured(), MPI, {"deviation": {"n": parse_growth("n")}}, "deviation n: nothing is over n: write it over p"),
        (measured(), MPI, {"deviation": {"p": Growth(power=-1)}}, "it falls, but must be 1 or grow"),
        (measured(), None, {"baseline": measured({"scan": "1"})}, "nothing was measured in both files"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_one_line(measurements, expectations, options, message):
    with pytest.raises(InputError) as error:
        check(measurements, expectations, **options)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "settings", [{"statistic": "mode"}, {"confidence": 95}, {"least": -1}, {"draws": 1}, {"seed": -1}], ids=str
)
def test_settings_that_make_no_sense_are_refused_where_they_are_made(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        CheckSettings(**settings)


def test_a_limit_of_no_processes_is_refused():
    with pytest.raises(InputError, match="processes is 0"):
        MemoryLimit(1e9, processes=0)


def test_the_same_seed_gives_the_same_answer_and_hundreds_of_series_are_no_trouble():
    measurements = measured(noise=0.1, sizes=tuple(8 * n for n in range(1, effort(5, 13))), repetitions=10)
    first, second = (check(measurements, MPI, settings=CheckSettings(draws=50, seed=3)) for _ in range(2))
    assert len(first.rows) > effort(25, 80)
    assert [row.judgement.ensemble.shares for row in first.rows] == [
        row.judgement.ensemble.shares for row in second.rows
    ]
