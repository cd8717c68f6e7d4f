"""What is advised against the least of all that the equations give, written apart from the package: no regret."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.choosing import choose

from commmodel.cli import main
from commmodel.report.overlap.choices import choice_lines

PATTERNS = [
    "point-to-point", "multiple-end-points-contiguous", "multiple-end-points-interleaved", "end-point-congestion",
    "all-to-all-same-order", "all-to-all-contiguous", "all-to-all-interleaved",
]  # fmt: skip
TIME = st.floats(-8, -4).map(lambda power: 10**power)
PROBLEMS = st.fixed_dictionaries({
    "volume": st.integers(1, 1 << 24) | st.integers(0, 24).map(lambda step: 1 << step),
    "ratio": st.floats(0, 4),
    "pattern": st.sampled_from(PATTERNS),
    "peers": st.integers(2, 64),
    "overhead": TIME,
    "latency": TIME,
    "byte_time": st.floats(-11, -8).map(lambda power: 10**power),
    "queue_depth": st.none() | st.integers(2, 64),
})  # fmt: skip
FEW_PEERS_TAKE_TURNS = {
    "volume": 16384, "ratio": 3.03e-6 / (16384 * 0.878e-9), "pattern": "all-to-all-interleaved", "peers": 32,
    "overhead": 1e-6, "latency": 8.95e-6, "byte_time": 0.878e-9, "queue_depth": 8,
}  # fmt: skip


def between_two(model, implementation, V, N, n_b, t_V, o, L, G):
    """Return Eq 1, 5, 6 or 7 of Iancu and Strohmaier 2007 for N messages in n_b bursts; bounded from below or not."""
    S, b, t_S, r = V / N, N / n_b, t_V / N, t_V / (G * V)
    if implementation == "tight":
        communication, computation = (o + L) * n_b + V * G + n_b * t_S, (o + L + G * S + b * t_S) * n_b
    else:
        communication = (o + L) * max(1, n_b * r) + V * G + t_S
        computation = o + L + G * S + t_V + o * b * max(0, n_b - 2)
    transfer = G * V
    if transfer - t_V > N * o:
        seconds = communication
    elif transfer > t_V:
        seconds = max(communication, computation)
    else:
        seconds = computation
    if model == "bounded":
        turns = math.ceil(round(n_b / (1 if implementation == "tight" else 2), 9))
        seconds = max(seconds, N * o + max(t_V, L + S * G + t_S), turns * (max(o + b * S * G, b * o + S * G) + L + t_S))
    return seconds


def among_peers(model, pattern, V, N, n_b, t_V, o, L, G, P, seconds):
    """Return Section 3.2 and Eq 9 to 11: the time of a pattern from that between two processes."""
    bursts_of_others = (P - 1) * V / n_b * G
    added = {
        "end-point-congestion": bursts_of_others, "all-to-all-same-order": bursts_of_others,
        "all-to-all-contiguous": 2 * bursts_of_others, "all-to-all-interleaved": V * G,
    }  # fmt: skip
    seconds += added.get(pattern, 0.0)
    if model == "bounded" and pattern in {"end-point-congestion", "all-to-all-same-order"}:
        seconds = max(seconds, o + L + P * V * G + P * t_V * (V / N) / (P * V))  # one port carries all
    return seconds * (P if pattern.startswith("multiple") or pattern == "all-to-all-same-order" else 1)


def by_hand(model, implementation, *, volume, ratio, pattern, peers, overhead, latency, byte_time, queue_depth):
    """Return the seconds of each decomposition that keeps Eq 3 and Eq 8, by S and b; and those of blocking messages."""
    o, L, G, P = overhead, latency, byte_time, 1 if pattern == "point-to-point" else peers
    V, t_V = volume, ratio * byte_time * volume
    largest = math.ceil(V / max(1, P - 1)) if pattern.startswith("all-to-all") else V
    if pattern == "all-to-all-same-order":  # P visits, with a part of V each
        V, t_V = V / P, t_V / P
    sizes = {largest} | {2**step for step in range(25) if volume <= 8192 * 2**step < 8192 * largest}
    table = {}
    for S in sizes:
        N = math.ceil(V / S)
        for b in (2**step for step in range(7)):
            if b <= N and (b == 1 or (b - 1) * o < L + G * S) and b < (queue_depth or math.inf):
                n_b = math.ceil(N / b)
                seconds = between_two(model, implementation, V, N, n_b, t_V, o, L, G)
                table[S, b] = among_peers(model, pattern, V, N, n_b, t_V, o, L, G, P, seconds)
    N = math.ceil(V / largest)
    blocking = among_peers("paper", pattern, V, N, N, t_V, o, L, G, P, (o + L) * N + V * G + t_V)
    return table, blocking


def chosen_of(problem, implementation, model):
    options = problem | {"peers": 1 if problem["pattern"] == "point-to-point" else problem["peers"]}
    computation = options.pop("ratio") * options["byte_time"] * options["volume"]
    return choose(options.pop("volume"), computation, implementation=implementation, model=model, **options)


@pytest.mark.parametrize("model", ["paper", "bounded"])
@pytest.mark.parametrize("implementation", ["pipelined", "tight"])
@given(PROBLEMS)
@example(FEW_PEERS_TAKE_TURNS)
@settings(max_examples=60, deadline=None)
def test_nothing_offered_is_faster_than_what_is_advised_by_more_than_the_error_that_is_named(
    model, implementation, problem
):
    times, blocking = by_hand(model, implementation, **problem)
    chosen = chosen_of(problem, implementation, model)
    least = min(blocking, *times.values())
    is_split = chosen.advice == "split"
    result = blocking if not is_split else times[chosen.message_size, chosen.burst]
    assert chosen.blocking_seconds == pytest.approx(blocking, rel=1e-9)
    assert chosen.seconds == pytest.approx(result, rel=1e-9)
    regret_allowed = 0.0 if model == "paper" or is_split else chosen.error_seconds
    assert chosen.seconds <= least * (1 + 1e-9) + regret_allowed
    assert is_split == (blocking - min(times.values()) > max(chosen.error_seconds, 1e-12 * blocking))


@given(PROBLEMS, st.sampled_from(["pipelined", "tight", "any"]), st.sampled_from(["paper", "bounded"]))
@example(FEW_PEERS_TAKE_TURNS, "any", "bounded")
@settings(max_examples=60, deadline=None)
def test_the_sentence_says_what_its_own_numbers_say(problem, implementation, model):
    chosen = chosen_of(problem, implementation, model)
    words = " ".join(str(line) for line in choice_lines(chosen))
    assert ("Fastest: " in words) == (chosen.advice == "split") == (chosen.seconds < chosen.blocking_seconds)
    assert ("nothing is faster" in words) == (chosen.advice != "split" and chosen.rejected is None)
    if "is not above the gain's error" in words:
        assert 0 < chosen.gain_seconds <= chosen.error_seconds
    if "is above its error" in words:
        assert chosen.gain_seconds > chosen.error_seconds


def test_turns_among_32_processes_are_pipelined(capsys):
    """One message per peer, 31 in all: they need not be cut to be sent in bursts."""
    assert main(["optimize", "--volume", "16KiB", "--patterns", "all-to-all-interleaved", "--peers", "32",
                 "--computation", "3.03us", "--overhead", "1us", "--latency", "8.95us", "--byte-time", "0.878ns/B",
                 "--queue-depth", "8"]) == 0  # fmt: skip
    result = " ".join(capsys.readouterr().out.split())
    assert (
        "Fastest: messages of 529 B, bursts of 4, pipelined: 67.9 us instead of 340 us in blocking messages." in result
    )
    assert "not split" not in result
