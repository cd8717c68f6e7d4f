"""Exchanges with peers of different volumes: the sum over the transfers, and what its command refuses."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commmodel.cli import main
from commmodel.errors import InputError
from commmodel.optimize import Candidates, MessageCosts, PeerTransfer, TransferProblem, choose, choose_exchange

NETWORK = MessageCosts(overhead=2e-6, latency=10e-6, byte_time=1 / 900e6)
CONTIGUOUS = "multiple-end-points-contiguous"
WORDS = ["optimize", "L=10us,o=2us,g=2us,G=1.1ns", "--volume"]


@pytest.mark.parametrize("peers", [1, 2, 5])
def test_equal_peers_are_what_the_papers_equation_says(peers):
    unequal = choose_exchange(NETWORK, [PeerTransfer(1 << 20, 5e-4)] * peers)
    pattern = CONTIGUOUS if peers > 1 else "point-to-point"
    equal = choose(NETWORK, TransferProblem(1 << 20, 5e-4, pattern, peers))
    assert (unequal.message_size, unequal.burst, unequal.advice) == (equal.message_size, equal.burst, equal.advice)
    for name in ("seconds", "blocking_seconds", "gain_seconds", "error_seconds", "low", "high", "hidden_fraction"):
        assert getattr(unequal, name) == pytest.approx(getattr(equal, name))
    assert unequal.messages == peers * equal.messages


TRANSFER = st.builds(PeerTransfer, st.integers(1, 1 << 20), st.sampled_from([0.0, 1e-5, 1e-3]))


@given(st.lists(TRANSFER, min_size=1, max_size=4))
def test_no_other_size_and_burst_is_faster(transfers):
    choice = choose_exchange(NETWORK, transfers, Candidates("any"))
    for size, burst in ((512, 1), (4096, 4), (1 << 15, 16)):
        alone = Candidates("any", sizes=[size], bursts=[burst])
        try:
            other = choose_exchange(NETWORK, transfers, alone)
        except InputError:
            continue
        slack = choice.error_seconds if choice.advice == "do not split" else 0.0
        assert choice.seconds <= other.seconds * (1 + 1e-9) + slack


def test_the_command_takes_one_volume_and_computation_for_each_peer(capsys):
    assert main([*WORDS, "1MiB,1MiB,4KiB", "--computation", "500us,500us,2us", "--json"]) == 0
    best, other = json.loads(capsys.readouterr().out)["choices"]
    assert {best["pattern"], other["pattern"]} == {CONTIGUOUS, "multiple-end-points-interleaved"}
    assert best["messages"] == 65


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["1MiB,4KiB", "--computation", "1ms"], "2 volumes, but 1 computations: give one of each for a peer"),
        (["1MiB,1", "--computation", "1ms,1us", "--peers", "3"], "--peers 3: there are 2 volumes; leave it out"),
        (["1MiB,1", "--computation", "1ms,1us", "--patterns", "point-to-point"], "--patterns point-to-point: peers of"),
        (["1MiB,1", "--computation", "1ms,1us", "--sensitivity"], "--sensitivity is of equal peers"),
        (["1MiB,0", "--computation", "1ms,1us"], "volume is 0"),
    ],
)
def test_wrong_peers_are_refused_in_a_line(words, problem, capsys):
    assert main([*WORDS, *words]) == 2
    assert problem in capsys.readouterr().err


def test_no_transfers_and_a_measured_rule_are_refused():
    with pytest.raises(InputError, match="give one for each peer"):
        choose_exchange(NETWORK, [])
    with pytest.raises(InputError, match="the rule measured is of all-to-all patterns"):
        choose_exchange(NETWORK, [PeerTransfer(8, 0.0)], Candidates(rule="measured"))
