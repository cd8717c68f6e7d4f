"""Choices for arrays of volumes and computations: each is that of the transfer alone."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from commmodel.errors import InputError
from commmodel.optimize import Choices, MessageCosts, TransferProblem, TransferProblems, choose

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


@pytest.mark.parametrize("problems", [TransferProblems([8, -1], 1e-3), TransferProblems([8, 9], [1e-3] * 3)])
def test_what_cannot_be_moved_is_refused(problems):
    with pytest.raises(InputError):
        choose(NETWORK, problems)
