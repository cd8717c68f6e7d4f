"""Exploration of orders by outcomes that no program has made: the same with any number of runs at a time."""

from collections import deque
from itertools import permutations

import pytest

from commmodel.simulate.online.call_names import CallNames
from commmodel.simulate.online.decisions import RunRecord
from commmodel.simulate.online.orders import Outcome, explore

SITE = ["MPI_Recv", "", "0", "", "0"]


def outcome_of(prescribed):
    """Return that of a rank 0 which gets a message of each of ranks 1 to 4, first the lowest that is left."""
    left, got, rows = [1, 2, 3, 4], [], []
    for number in range(4):
        choice = prescribed.get((0, number), left[0])
        if choice not in left:
            break
        left.remove(choice)
        got.append(choice)
        rows.append((0, choice, prescribed.get((0, number), -1), -1, number, number + 1, number, 0, SITE, SITE))
    record = RunRecord(prescribed, [(rows, [(number, source, 0, 0, None) for number, source in enumerate(got)], [])])
    decisions = record.decisions()
    return Outcome("exit code" if got[:2] == [4, 3] else "", f"got {got}", str(got[-1]), is_unmet=len(got) < 4,
                   decisions=decisions, alternatives=record.alternatives(decisions))  # fmt: skip


class SeveralAtOnce:
    """Runs so many at a time, the last ones first."""

    def __init__(self, ahead):
        self.ahead, self.waiting, self.runs = ahead, deque(), []

    def ask(self, prescribed, rest):
        assert rest >= 0
        self.waiting.append(prescribed)
        assert len(self.waiting) <= self.ahead

    def outcome(self):
        prescribed = self.waiting.popleft()
        self.runs.append(outcome_of(prescribed))
        return self.runs[-1]


def explored(ahead, most):
    runner = SeveralAtOnce(ahead)
    result = explore(outcome_of({}), runner, most, CallNames())
    return result, [run.words for run in runner.runs]


@pytest.mark.parametrize("most", [None, 1, 2, 10, 24])
def test_several_runs_at_a_time_say_the_same(most):
    first = explored(1, most)
    assert [explored(ahead, most) for ahead in (2, 3, 50)] == [first] * 3
    assert first[0].runs <= (most or 24)


def test_all_orders_are_run_once():
    result, words = explored(4, None)
    assert sorted(["got [1, 2, 3, 4]", *words]) == [f"got {[*order]}" for order in permutations([1, 2, 3, 4])]
    assert result.runs == 24
    assert {finding.kind for finding in result.findings} == {"message race", "output depends on the order of messages"}
