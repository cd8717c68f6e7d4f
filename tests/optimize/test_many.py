"""Choices for arrays of volumes and computations: each is that of the transfer alone."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from commmodel.errors import InputError
from commmodel.machine import LogGP, Machine, MeasuredPairs, Parameter, Segment
from commmodel.optimize import (
    Candidates,
    Choices,
    MessageCosts,
    TransferProblem,
    TransferProblems,
    choose,
    ranking,
)

NETWORK = MessageCosts(overhead=2e-6, latency=10e-6, byte_time=1 / 900e6)


def test_many_choices_are_those_of_each_transfer():
    volumes, computations = np.array([1 << 16, 1 << 20, 3_000_000]), np.array([[1e-4], [5e-4]])
    answer = choose(NETWORK, TransferProblems(volumes, computations), model="paper")
    assert answer.seconds.shape == (2, 3)
    for row, column in np.ndindex(2, 3):
        problem = TransferProblem(int(volumes[column]), float(computations[row, 0]))
        alone = choose(NETWORK, problem, model="paper")
        for name in Choices.__struct_fields__[1:]:
            assert getattr(answer, name)[row, column] == getattr(alone, name)


def test_peers_are_several_too():
    pattern = "multiple-end-points-contiguous"
    answer = choose(NETWORK, TransferProblems(1 << 20, 5e-4, pattern, peers=[2, 3]))
    alone = choose(NETWORK, TransferProblem(1 << 20, 5e-4, pattern, 3))
    assert answer.seconds[1] == alone.seconds


def test_columns_and_plot_of_choices():
    answer = choose(NETWORK, TransferProblems([1 << 18, 1 << 20], 5e-4))
    assert answer.to_dict()["volume"] == [1 << 18, 1 << 20]
    assert list(answer.to_frame()["message_size"]) == answer.message_size.tolist()
    assert answer.plot(Figure().subplots()).get_xlabel() == "volume"


@pytest.mark.parametrize(("volume", "computation"), [([8, -1], 1e-3), ([8, 9], [1e-3] * 3)])
def test_what_cannot_be_moved_is_refused(volume, computation):
    with pytest.raises(InputError):
        choose(NETWORK, TransferProblems(volume, computation))


def test_a_ranking_has_the_choice_of_each_problem_and_implementation_by_its_time():
    patterns = ("multiple-end-points-contiguous", "all-to-all-interleaved")
    problems = [TransferProblem(1 << 20, 5e-4, pattern, 4) for pattern in patterns]
    ranked = ranking(NETWORK, problems, Candidates("any", rule="measured"))
    assert [choice.seconds for choice in ranked] == sorted(choice.seconds for choice in ranked)
    alone = [
        choose(NETWORK, problem, Candidates(name, rule=rule))
        for problem, rule in zip(problems, ("equations", "measured"), strict=True)
        for name in ("pipelined", "tight")
    ]
    assert sorted(map(str, ranked)) == sorted(map(str, alone))
    assert ranking(NETWORK, []) == []


def test_a_choice_says_what_it_extrapolates_and_is_drawn_beside_blocking_messages():
    loggp = LogGP(*(Parameter(value) for value in (5e-6, 1e-6, 1e-6, 1e-9)))
    machine = Machine("m", (Segment("all", loggp=loggp, measured=(MeasuredPairs(1, (1, 512)),)),))
    choice = choose(machine, TransferProblem(1 << 20, 5e-4), Candidates(sizes=[1024, 1 << 20]))
    (line,) = choice.extrapolates
    assert "512 B" in line
    assert not choose(NETWORK, TransferProblem(1 << 20, 5e-4)).extrapolates
    assert choice.to_frame().shape[0] == 1
    axes = choice.plot(Figure().subplots())
    assert [bar.get_width() for bar in axes.patches] == [choice.blocking_seconds, choice.seconds]
