"""What is chosen for sizes and numbers of processes that were not measured, on a machine whose times are known."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from commmodel.tuning import decision
from commmodel.tuning.decision import decide
from commmodel.tuning.log_times import Estimate
from commmodel.tuning.search import DEFAULT_CHOICE, AlgorithmSearch, CollectiveCell

SIZES = [2**power for power in range(3, 23)]
ROUNDS = {"tree": lambda count: 2 * math.log2(count), "ring": lambda count: 2.0 * count}


def seconds(cell, name, favours=1.0):
    """The library takes the tree, which the butterfly beats everywhere, but by less where `favours` is less."""
    if name == "butterfly":
        return seconds(cell, "tree") / 1.5 / favours
    return ROUNDS[name or "tree"](cell.processes) * (2e-6 + 1e-9 * cell.message_size)


def measured(sizes, counts, per_node=None, turns=None):
    search = AlgorithmSearch(
        lambda _: ["butterfly", "ring"],
        lambda cell, name: seconds(cell, name or "tree"),
        lambda _, name: name,
        per_node,
    )
    for count in counts:
        for size in sizes:
            cell = CollectiveCell("bcast", size, count)
            for name in (DEFAULT_CHOICE, "butterfly", "ring"):
                favours = 1.0 if turns is None else turns(cell)
                search.add(cell, name, [seconds(cell, name, favours)] * 9)
    return search


def chosen(search, sizes, count):
    return [choice.algorithm for choice in decide(search, [CollectiveCell("bcast", size, count) for size in sizes])]


def test_sizes_between_get_the_algorithm_that_wins_at_their_neighbours():
    choices = decide(measured(SIZES[::2], [8]), [CollectiveCell("bcast", size, 8) for size in SIZES])
    assert {choice.algorithm for choice in choices} == {"butterfly"}
    assert [choice.is_measured for choice in choices] == [True, False] * 10
    assert all(choice.low < 1.5 < choice.high for choice in choices[1::2])


def test_where_neighbours_disagree_the_library_decides():
    search = measured(SIZES[::2], [8], turns=lambda cell: 3.0 if math.log2(cell.message_size) % 4 == 1 else 1 / 3)
    assert set(chosen(search, SIZES[1::2], 8)) == {DEFAULT_CHOICE}


def test_an_algorithm_that_was_never_measured_is_not_chosen():
    search = AlgorithmSearch(lambda _: ["butterfly"], lambda _, name: 1e-9 if name else 1e-3, lambda _, name: name)
    for size in SIZES[::2]:
        search.add(CollectiveCell("bcast", size, 8), DEFAULT_CHOICE, [1e-3] * 9)
    assert set(chosen(search, SIZES[1::2], 8)) == {DEFAULT_CHOICE}


@pytest.mark.parametrize(
    ("counts", "per_node", "algorithm"),
    [
        ([8, 16, 32], 1, "butterfly"),
        ([8], 1, DEFAULT_CHOICE),  # one number does not show what more of them change
        ([8, 16, 32], None, DEFAULT_CHOICE),  # maybe on more nodes
        ([8, 16, 32], 32, DEFAULT_CHOICE),  # on more nodes
    ],
)
def test_more_processes_get_rules_where_several_numbers_of_them_were_measured_on_nodes_alike(
    counts, per_node, algorithm
):
    assert set(chosen(measured(SIZES, counts, per_node), SIZES, 64)) == {algorithm}


def test_more_processes_get_no_rule_that_did_not_win_at_the_nearest_size():
    search = measured(SIZES, [8, 16, 32], 1, turns=lambda cell: 1.0 if cell.message_size < 1024 else 0.5)
    names = chosen(search, SIZES, 64)
    assert DEFAULT_CHOICE not in names[:6]
    assert set(names[8:]) == {DEFAULT_CHOICE}


def test_what_may_be_slower_is_limited_for_all_cells_together(monkeypatch):
    search = measured(SIZES[::4], [8], turns=lambda cell: 1.1 if cell.message_size < 5000 else 0.75)
    few = chosen(search, SIZES, 8)
    monkeypatch.setattr(decision, "SLOWER_SHARE", 0.2)
    more = chosen(search, SIZES, 8)
    assert len([name for name in few if name]) < len([name for name in more if name])


def test_on_more_processes_an_algorithm_must_have_won_twice():
    cell = CollectiveCell("bcast", 64, 64)
    for wins, names in (({16, 32}, {"butterfly"}), ({32}, set())):
        search = measured([64], [16, 32], 1, turns=lambda cell, wins=wins: 1.0 if cell.processes in wins else 0.5)
        assert decision.usable_algorithms(search.times("bcast"), cell, is_beyond=True) == names


def test_of_two_algorithms_the_one_with_the_least_expected_time_is_chosen():
    points = measured([64], [8]).points(CollectiveCell("bcast", 64, 8))
    estimate = Estimate(np.array([0.0, -0.5, -0.6]), np.diag([0.0, 0.01, 1.0]))
    option = decision._best(CollectiveCell("bcast", 64, 8), points, estimate, {"butterfly", "ring"})
    assert option.choice.algorithm == "butterfly"
    assert option.saved == pytest.approx(1 - math.exp(-0.5 + 0.005))
    assert option.risk == pytest.approx(ndtr((-math.log(1.03) - 0.5) / 0.1))


def test_where_choices_of_cells_left_out_are_slower_fewer_are_made(monkeypatch):
    search = measured(SIZES[::4], [8], turns=lambda cell: 1.1 if cell.message_size < 5000 else 0.75)
    counts = []
    for is_slower in (False, True):
        option = decision._Option(None, 0.5, 1e-4, is_slower)
        monkeypatch.setattr(decision, "_held_out", lambda *_, option=option, **__: iter([option] * 20))
        counts.append(sum(name != DEFAULT_CHOICE for name in chosen(search, SIZES, 8)))
    assert counts[1] < counts[0]
