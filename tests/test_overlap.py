"""Overlap formulas: what the corrected equations promise, beside the values that test_models checks."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.paths import ORACLES

from commmodel.models import overlap

PUBLISHED = tomllib.loads((ORACLES / "overlap.toml").read_text("utf-8"))
BURSTS = [2**step for step in range(7)]
POWER = st.integers(0, 12).map(lambda step: 2.0**step)
TIME = st.floats(1e-9, 1e-3)
BYTE_TIME = st.floats(1e-12, 1e-6)
COMPUTATION = st.floats(0, 1)


@st.composite
def decompositions(draw):
    """Return V, S and b, such that bursts and messages come out whole."""
    size, burst, bursts = draw(POWER), draw(POWER), draw(POWER)
    return size * burst * bursts, size, burst


def all_to_all(message_size, burst, contiguous):
    entry = PUBLISHED["all_to_all"]
    V, o, L, G = (entry[name] for name in ("volume", "overhead", "latency", "byte_time"))
    alone = overlap.pipelined_time(V, message_size, burst, entry["ratio"] * G * V, o, L, G, G)
    if contiguous:
        return overlap.all_to_all_contiguous_time(alone, message_size, burst, entry["peers"], G)
    return overlap.all_to_all_interleaved_time(alone, V, G)


@pytest.mark.parametrize("order", ["contiguous", "interleaved"])
def test_all_to_all_is_best_with_the_bursts_that_the_equations_say_and_not_always_with_one(order):
    entry = PUBLISHED["all_to_all"]
    for size, expected in zip(entry["message_sizes"], entry[order], strict=True):
        times = {burst: all_to_all(size, burst, order == "contiguous") for burst in BURSTS}
        assert min(times, key=times.get) == expected


@given(st.sampled_from([64, 512, 1024]), st.floats(0.5, 2))
def test_no_burst_is_better_than_the_best_of_all_to_all(size, factor):
    entry = PUBLISHED["all_to_all"]
    V, P, o, L, G = (entry[name] for name in ("volume", "peers", "overhead", "latency", "byte_time"))
    best = overlap.all_to_all_best_burst(V, size, entry["ratio"] * G * V, P, o, L, G, G)
    assert all_to_all(size, best, True) <= all_to_all(size, best * factor, True) * (1 + 1e-12)


@given(decompositions(), COMPUTATION, TIME, TIME, BYTE_TIME)
def test_tight_bursts_of_one_message_are_blocking(decomposition, computation, o, L, G):
    volume, size, _ = decomposition
    blocking = pytest.approx(overlap.blocking_time(volume, size, computation, o, L, G))
    assert overlap.tight_time(volume, size, 1, computation, o, L, G) == blocking
    assert overlap.tight_computation_time(volume, size, 1, computation, o, L, G) == blocking


@given(decompositions(), COMPUTATION, TIME, TIME, BYTE_TIME)
def test_longer_bursts_take_no_longer(decomposition, computation, o, L, G):
    volume, size, burst = decomposition
    arguments = (computation, o, L, G)
    for function, more in (
        (overlap.tight_time, ()),
        (overlap.tight_computation_time, ()),
        (overlap.pipelined_time, (G,)),
    ):
        longer = function(volume, size, 2 * burst, *arguments, *more)
        assert longer <= function(volume, size, burst, *arguments, *more) * (1 + 1e-14)


@given(decompositions(), COMPUTATION, TIME, TIME, BYTE_TIME, BYTE_TIME)
def test_the_lower_bound_is_one(decomposition, computation, o, L, G, G_V):
    volume, size, burst = decomposition
    least = overlap.pipelined_least_time(volume, size, computation, o, L, G)
    assert least <= overlap.pipelined_time(volume, size, burst, computation, o, L, G, G_V)
    if computation / (G_V * volume) * volume / size / burst <= 1:
        assert overlap.pipelined_time(volume, size, burst, computation, o, L, G, G_V) == least


@given(decompositions(), COMPUTATION, TIME, TIME, BYTE_TIME)
def test_nothing_is_faster_than_its_computation_or_its_transfer_alone(decomposition, computation, o, L, G):
    volume, size, burst = decomposition
    arguments = (volume, size, burst, computation, o, L, G)
    assert overlap.tight_computation_time(*arguments) >= computation
    assert overlap.pipelined_computation_time(*arguments) >= computation
    for seconds in (overlap.tight_time(*arguments), overlap.pipelined_time(*arguments, G)):
        assert seconds >= volume * G
        if volume * G >= computation:
            assert seconds >= computation


@given(decompositions(), COMPUTATION, TIME, TIME, BYTE_TIME)
def test_from_two_bursts_on_equation_7_is_as_printed(decomposition, computation, o, L, G):
    volume, size, burst = decomposition
    bursts = volume / size / burst
    printed = (o + L + G * size) + burst * (computation * size / volume) * bursts + o * burst * (bursts - 2)
    seconds = overlap.pipelined_computation_time(volume, size, burst, computation, o, L, G)
    assert seconds == pytest.approx(printed if bursts >= 2 else o + L + G * size + computation)


@given(TIME, POWER, POWER, st.integers(1, 1024), BYTE_TIME)
def test_congestion_adds_a_burst_of_everybody_else(seconds, size, burst, peers, G):
    congested = overlap.congested_time(seconds, size, burst, peers, G)
    assert congested - seconds == pytest.approx((peers - 1) * burst * G * size, abs=1e-15 + 1e-12 * seconds)
    twice = overlap.all_to_all_contiguous_time(seconds, size, burst, peers, G)
    assert twice - seconds == pytest.approx(2 * (congested - seconds), abs=1e-15 + 1e-12 * seconds)
    assert overlap.congested_time(seconds, size, burst, 1, G) == seconds


@given(decompositions(), COMPUTATION, TIME, TIME, BYTE_TIME)
def test_constraints_get_no_easier_with_more_messages_or_longer_bursts(decomposition, computation, o, L, G):
    volume, size, burst = decomposition
    fewer = overlap.initiation_slack(volume, size, computation, o, G)
    assert overlap.initiation_slack(volume, size / 2, computation, o, G) <= fewer
    assert overlap.burst_slack(size, 2 * burst, o, L, G) <= overlap.burst_slack(size, burst, o, L, G)
    assert overlap.burst_slack(size, 1, o, L, G) > 0
    assert overlap.queue_slack(2 * burst, 64) < overlap.queue_slack(burst, 64)
    assert overlap.outstanding_slack(size, burst, burst * size) == 0
    assert overlap.outstanding_slack(size, 2 * burst, burst * size) < 0


@given(COMPUTATION, TIME, st.floats(0, 1))
def test_the_hidden_share_is_one_where_computation_alone_is_left_and_never_more(computation, communication, share):
    blocking = computation + communication
    chosen = blocking - share * communication
    assert overlap.hidden_share(computation, blocking, computation) == 1
    assert overlap.hidden_share(chosen, blocking, computation) <= 1 + 1e-6
    assert overlap.hidden_share(blocking, blocking, computation) in {0, 1}  # 1: nothing to hide
    assert overlap.hidden_share(blocking + communication, blocking, computation) <= 1
    assert overlap.performance_loss(blocking, blocking, blocking) == 0
