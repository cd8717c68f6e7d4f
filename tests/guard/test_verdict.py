"""Verdicts on made counts: a planted growth, numbers that are no counts, and what may be asked."""

from types import SimpleNamespace

import pytest

from commmodel import guard
from commmodel.errors import InputError
from commmodel.guard import Counts, Guard, GuardedProgram, RunCounts, verdict

P = (4, 8, 16, 32, 64)
EXPECTING = Guard((GuardedProgram("app", P, expect={"messages": "p log p", "seconds": "log p"}),))


def run_with(monkeypatch, rules, *sides):
    """Return the verdict where the programs send what `sides` say, one run after the other."""
    answers = iter(sides)
    monkeypatch.setattr(verdict, "count", lambda *_, **__: next(answers))
    return guard.run(rules, *(() if len(sides) == 1 else (next(answers),)))


def counts(messages, seconds=lambda p: 1e-5 * p.bit_length()):
    return Counts(runs=tuple(RunCounts("app", p, messages=messages(p), seconds=seconds(p)) for p in P))


def linear(p):
    return 10 * p * (p.bit_length() - 1)


def quadratic(p):
    return linear(p) + p * (p - 1)


def test_a_program_that_keeps_its_promise_holds(monkeypatch):
    result = run_with(monkeypatch, EXPECTING, counts(linear))
    assert result.holds
    assert [row.verdict for row in result.growth.rows] == ["match", "match"]


def test_everybody_who_writes_to_everybody_is_found_without_a_baseline(monkeypatch):
    result = run_with(monkeypatch, EXPECTING, counts(quadratic))
    assert [row.series.metric for row in result.mismatches] == ["messages"]
    assert not result.holds


def test_simulated_times_are_judged_like_counts(monkeypatch):
    result = run_with(monkeypatch, EXPECTING, counts(linear, lambda p: 1e-6 * p))
    assert [row.series.metric for row in result.mismatches] == ["seconds"]


def test_more_than_the_baseline_does_not_hold(monkeypatch):
    plain = Guard((GuardedProgram("app", P),))
    assert run_with(monkeypatch, plain, counts(linear), counts(linear)).holds
    result = run_with(monkeypatch, plain, counts(linear), counts(quadratic), counts(quadratic))
    assert [change.processes for change in result.larger] == [*P]
    assert not result.holds
    assert run_with(monkeypatch, plain, counts(quadratic), counts(linear), counts(linear)).holds


def test_numbers_that_two_runs_do_not_agree_on_are_no_counts(monkeypatch):
    plain = Guard((GuardedProgram("app", P),))
    sides = [counts(lambda p, more=more: 100 * p + more) for more in (0, 3, 5)]
    result = run_with(monkeypatch, plain, *sides)
    assert result.larger == ()
    assert "403, and 405 in a second run: seed what is random" in result.comparison.notes[0]


def test_a_change_far_beyond_what_two_runs_differ_by_counts(monkeypatch):
    plain = Guard((GuardedProgram("app", P),))
    sides = [counts(lambda p, more=more: 100 * p + more) for more in (0, 300, 305)]
    assert len(run_with(monkeypatch, plain, *sides).larger) == len(P)


def test_a_run_that_does_not_end_does_not_hold(monkeypatch):
    result = run_with(monkeypatch, EXPECTING, Counts(runs=(RunCounts("app", 4, error="deadlock"),)))
    assert (result.holds, result.growth, len(result.failures)) == (False, None, 1)


def test_slower_times_do_not_hold():
    times = SimpleNamespace(is_worse=True)
    assert not guard.GuardResult(Counts(), times=times).holds


@pytest.mark.parametrize(
    ("rules", "baseline", "problem"),
    [
        (EXPECTING, None, "the guard has no command of times"),
        (Guard(EXPECTING.program, times=guard.GuardTimes("x {side} {output}")), Counts(), "times of another day"),
    ],
)
def test_times_need_a_command_and_a_folder(rules, baseline, problem):
    with pytest.raises(InputError, match=problem):
        guard.run(rules, baseline, timed=True)


def test_a_folder_that_is_none_is_named():
    with pytest.raises(InputError, match="nowhere: no folder"):
        guard.count(EXPECTING, "nowhere")
