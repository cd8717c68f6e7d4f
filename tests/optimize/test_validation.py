"""The model's choices judged by measured times: made from the formulas, with planted noise, or with nothing to hide."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.choosing import choose
from support.overlap_samples import (
    BURSTS,
    PROFILE,
    G,
    L,
    blocking_seconds,
    decompositions,
    machine,
    measurements,
    o,
    overlap_record,
    problem,
    seconds,
)
from support.report_samples import header

from commmodel.errors import InputError, MissingParameterError
from commmodel.machine import Machine, OverlapProfile, Parameter, ParameterTable, Segment
from commmodel.optimize.progress import progress_sentence
from commmodel.optimize.validation import MISESTIMATES, required_sweeps, sweeps, validate
from commmodel.results import Launch, Library, Measurements, Record
from commmodel.results.configurations import PingPong

V = 1 << 20


def only_case(*records, known_machine=None, model="paper"):
    """The case of records made from the paper's equations, judged by them."""
    (case,) = validate(measurements(*records), known_machine or machine(), model).cases
    return case


def replaced(records, where, **more):
    """The records, that of one decomposition with other values."""
    return [
        msgspec.structs.replace(record, **more)
        if (record.configuration.message_size, record.configuration.burst) == where
        and record.configuration.template != "blocking"
        else record
        for record in records
    ]


@pytest.mark.parametrize("template", ["pipelined", "tight"])
@pytest.mark.parametrize("ratio", [0.3, 0.9, 1.0, 2.5])
@pytest.mark.parametrize("volume", [1 << 14, V, 3 << 20])
def test_where_times_are_those_of_the_formulas_nothing_is_lost(volume, ratio, template):
    case = only_case(*problem(volume, ratio, template))
    assert case.loss == pytest.approx(0, abs=1e-9)
    assert case.model_seconds == pytest.approx(case.chosen.seconds)
    assert case.within_noise
    assert case.share_of_best == pytest.approx(1)
    assert case.sweep.ratio == pytest.approx(ratio * volume * G / (o + L + volume * G))


def test_hidden_share_and_loss_are_those_of_the_paper():
    records = problem(V, 0.9)
    case = only_case(*records)
    t_V, whole = 0.9 * V * G, blocking_seconds(V, 0.9 * V * G)
    assert case.hidden_share == pytest.approx((whole - case.chosen.seconds) / (whole - t_V))
    right = case.chosen.message_size, case.chosen.burst
    slower = case.chosen.seconds + 0.05 * whole
    planted = only_case(*replaced(records, right, samples=(slower,) * 9))
    assert (planted.chosen.message_size, planted.chosen.burst) == right
    assert planted.sweep.best.seconds >= case.chosen.seconds
    expected = (slower - planted.sweep.best.seconds) / whole
    assert 0.03 < expected <= 0.05 + 1e-9
    assert planted.loss == pytest.approx(expected)
    assert not planted.within_noise
    assert planted.share_of_best < 1


def test_a_loss_within_the_intervals_is_called_noise():
    records = problem(V, 0.9)
    right = only_case(*records).chosen
    scattered = tuple(right.seconds * (1 + 0.02 * step) for step in range(-4, 8))
    case = only_case(*replaced(records, (right.message_size, right.burst), samples=scattered))
    assert case.loss > 0
    assert case.within_noise


def test_few_samples_have_their_range_for_an_interval():
    records = replaced(problem(V, 0.9), (V, 1), samples=(3e-3, 1e-3, 2e-3))
    (sweep,) = sweeps(measurements(*records))
    (whole,) = (decomposition for decomposition in sweep.decompositions if decomposition.message_size == V)
    assert (whole.low, whole.seconds, whole.high) == (1e-3, 2e-3, 3e-3)


@pytest.mark.parametrize(
    ("ratio", "factor", "words"),
    [(0.5, 0.99, "of the communication"), (1e4, 1.0, "no longer than the computation"), (0, 1.0, "no computation")],
)
def test_where_nothing_can_be_hidden_the_case_says_so_and_is_summed_apart(ratio, factor, words):
    t_V = ratio * V * G
    whole = blocking_seconds(V, t_V)
    rows = [overlap_record(V, V, 1, "blocking", whole, t_V, passes=7)]
    rows += [overlap_record(V, *where, "pipelined", factor * whole, t_V, passes=7) for where in decompositions(V)]
    result = validate(measurements(*rows, *problem(V, 0.9)), machine())
    assert [bool(case.sweep.nothing_to_hide) for case in result.cases] == [False, True]
    assert words in result.cases[1].sweep.nothing_to_hide
    assert result.cases[1].share_of_best is None
    (summary,) = result.summaries
    assert (summary.cases, summary.nothing_to_hide) == (1, 1)
    assert summary.worst_loss == result.cases[0].loss
    assert summary.worst_loss_of_nothing == result.cases[1].loss


def test_sums_are_made_for_each_pattern_operation_path_and_template_and_for_all():
    records = [*problem(V, 0.9), *problem(V, 0.9, "tight"), *problem(V // 4, 0.9), *problem(V, 0.9, operation="put")]
    constant = ParameterTable((8.0,), (1.0,), ((o,),))
    puts = OverlapProfile("same-node", "put", L=Parameter(L), overhead=constant)
    result = validate(measurements(*records), machine(overlap=(puts,)))
    assert [(entry.operation, entry.template, entry.cases) for entry in result.summaries] == [
        ("", "", 4),
        ("put", "pipelined", 1),
        ("two-sided", "pipelined", 2),
        ("two-sided", "tight", 1),
    ]


def test_a_wrong_estimate_costs_what_was_measured_of_the_other_choice():
    case = only_case(*problem(V, 0.9))
    assert tuple(misestimate.factor for misestimate in case.misestimates) == MISESTIMATES
    for misestimate in case.misestimates:
        sizes = tuple(sorted({size for size, _ in decompositions(V)}))
        other = choose(V, misestimate.factor * 0.9 * V * G, machine(), sizes=sizes, bursts=BURSTS)
        assert (misestimate.message_size, misestimate.burst) == (other.message_size, other.burst)
        time = seconds(V, misestimate.message_size, misestimate.burst, 0.9 * V * G)
        assert misestimate.loss == pytest.approx((time - case.sweep.best.seconds) / blocking_seconds(V, 0.9 * V * G))


@pytest.mark.parametrize(
    ("records", "line"),
    [
        (problem(V, 0.9)[1:], "without a record of the template blocking"),
        (problem(V, 0.9)[:3], "fewer than 3"),
        (problem(V, 0.9, "loose"), "of template loose"),
        ([msgspec.structs.replace(item, computation=None) for item in problem(V, 0.9)], "computation alone"),
    ],
)
def test_what_cannot_be_judged_is_left_out_and_counted(records, line):
    other = problem(V // 4, 0.9)
    result = validate(measurements(*records, *other), machine())
    assert [case.sweep.volume for case in result.cases] == [V // 4]
    (entry,) = result.left_out
    assert entry.startswith("1 case left out, ")
    assert line in entry
    with pytest.raises(InputError, match=line):
        validate(measurements(*records), machine())


def test_without_any_records_the_error_names_the_command():
    with pytest.raises(InputError, match="burst bandwidth progress overlap --exhaustive"):
        required_sweeps(measurements(Record(PingPong(8, "same-node"), "s", (1e-6,))))
    with pytest.raises(InputError, match="--templates blocking,pipelined"):
        required_sweeps(measurements(problem(V, 0.9)[0]))


def test_what_the_machine_does_not_know_is_left_out_or_an_error():
    elsewhere = problem(V, 0.9, path="between-nodes")
    result = validate(measurements(*problem(V, 0.9), *elsewhere), machine())
    assert [case.sweep.path for case in result.cases] == ["same-node"]
    assert "between-nodes" in result.left_out[0]
    with pytest.raises(MissingParameterError, match=r"python -m commmodel\.bench"):
        validate(measurements(*problem(V, 0.9)), Machine("m", (Segment("all"),)))


def test_launches_of_one_library_are_taken_together_those_of_two_are_not():
    records = problem(V, 0.9)
    launch = Launch(header(), tuple(records))
    other = Launch(header(mpi=Library("Open MPI v5.0.8")), tuple(records))
    (together,) = sweeps(Measurements((launch, launch)))
    assert len(together.decompositions) == len(decompositions(V))
    result = validate(Measurements((launch, other)), machine())
    assert [case.sweep.library for case in result.cases] == ["MPICH Version: 5.0.2", "Open MPI v5.0.8"]
    assert len(result.summaries) == 3


def test_of_the_equally_fast_the_larger_messages_are_chosen_whatever_was_not_measured():
    """Only some bursts of some sizes are there: the choice is one of them."""
    records = problem(V, 0.9)
    rows = [records[0], *records[1::5]]
    case = only_case(*rows)
    result = {(record.configuration.message_size, record.configuration.burst) for record in rows[1:]}
    assert (case.chosen.message_size, case.chosen.burst) in result
    assert case.loss == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("pattern", "peers", "share"),
    [
        ("multiple-end-points-contiguous", 3, 1 / 3),
        ("multiple-end-points-interleaved", 3, 1 / 3),
        ("end-point-congestion", 3, 1),
        ("all-to-all-same-order", 4, 1),
        ("all-to-all-contiguous", 4, 1),
        ("all-to-all-interleaved", 4, 1),
    ],
)
def test_other_patterns_have_as_many_peers_as_the_model_means(pattern, peers, share):
    case = only_case(*problem(V, 0.9, pattern=pattern, processes=4, path="any"))
    expected = choose(
        V, share * 0.9 * V * G, machine(), pattern=pattern, peers=peers,
        sizes=(case.chosen.message_size,), bursts=(case.chosen.burst,), model="paper",
    )  # fmt: skip
    assert case.model_seconds == pytest.approx(expected.seconds)


def test_the_blocking_version_of_all_to_all_has_a_message_from_each_peer():
    kind = {"pattern": "all-to-all-contiguous", "processes": 4, "path": "any"}
    records = problem(V, 0.9, **kind)[1:]
    whole = overlap_record(V, -(-V // 3), 1, "blocking", 4e-3, 1e-3, **kind)
    case = only_case(whole, *records)
    assert (case.sweep.blocking.message_size, case.sweep.blocking.seconds) == (-(-V // 3), 4e-3)
    assert case.sweep.computation == 1e-3


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_whatever_was_measured_the_choice_is_among_it_and_never_better_than_the_best(data):
    where = decompositions(1 << 13)
    times = data.draw(st.lists(st.floats(1e-6, 1e-3), min_size=len(where) + 1, max_size=len(where) + 1))
    computation = data.draw(st.floats(0, 1e-3))
    records = [overlap_record(1 << 13, 1 << 13, 1, "blocking", times[0], computation)]
    records += [
        overlap_record(1 << 13, *misestimate, "pipelined", time, computation)
        for misestimate, time in zip(where, times[1:], strict=True)
    ]
    case = only_case(*records)
    assert (case.chosen.message_size, case.chosen.burst) in where
    assert case.loss >= 0
    assert case.sweep.best.seconds == pytest.approx(min(times[1:]))
    assert case.share_of_best is None or case.share_of_best <= 1 + 1e-9
    assert all(misestimate.loss >= 0 for misestimate in case.misestimates)


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        (((0.0, 0.04), (0.0, 0.0)), "do not move while both sides compute, at most 4.0 % of a transfer"),
        (((0.95, 1.0), (0.92, 1.0)), "of 1 KiB to 1 MiB move while both sides compute, at least 92 %"),
        (((0.95, 1.0), (0.0, 0.01)), "of 1 MiB and more do not move"),
        (((0.5, 0.3), (0.4, 0.45)), "in part while both sides compute, 30 % to 50 %"),
    ],
)
def test_progress_in_a_sentence(shares, words):
    profile = OverlapProfile("between-nodes", "get", progress=ParameterTable((1024.0, 1048576.0), (1.0, 8.0), shares))
    result = progress_sentence(profile)
    assert words in result
    assert result.startswith("Between ranks of different nodes gets of 1 KiB")


def test_progress_that_changes_with_every_size_is_one_range():
    table = ParameterTable((1.0, 2.0, 4.0, 8.0, 16.0), (1.0,), ((0.95,), (0.5,), (0.0,), (0.4,), (0.3,)))
    assert "0.0 % to 95 %" in progress_sentence(OverlapProfile(progress=table))


def test_what_progress_says_of_the_machine_is_part_of_the_validation():
    result = validate(measurements(*problem(V, 0.9)), machine(overlap=(PROFILE, OverlapProfile("same-node", "put"))))
    assert result.progress == (progress_sentence(PROFILE),)
