"""Choosing messages and bursts: what every choice must keep."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.choosing import choose, misdiagnosis, sensitivity

from commmodel.errors import InputError, MissingParameterError
from commmodel.machine import Limit, LogGP, Machine, Parameter, ParameterTable, PLogP, Segment
from commmodel.models import overlap
from commmodel.optimize import LIMITS

MIB = 1 << 20
INFINIBAND = {"overhead": 2e-6, "latency": 10e-6, "byte_time": 1 / 900e6}
TRANSFER = MIB / 900e6
PATTERNS = [
    "multiple-end-points-contiguous", "multiple-end-points-interleaved", "end-point-congestion",
    "all-to-all-same-order", "all-to-all-contiguous", "all-to-all-interleaved",
]  # fmt: skip


def parameter(value, width=0.0):
    return Parameter(value, "", value * (1 - width), value * (1 + width))


def loggp(o, L, G, width=0.0):
    return LogGP(parameter(L, width), parameter(o, width), parameter(o), parameter(G, width))


def machine(width=0.0, **more):
    eager = Segment("eager", limit=Limit(8192), loggp=loggp(1e-6, 5e-6, 1e-9, width))
    return Machine("two", (eager, Segment("rendezvous", loggp=loggp(2e-6, 9e-6, 0.8e-9, width))), **more)


@example(3, 0.0, "all-to-all-contiguous", 3, "tight", 2, "powers-of-two")  # V / (P - 1) is no whole number
@given(
    st.integers(1, 10**8), st.floats(0, 1e-1), st.sampled_from(["point-to-point", *PATTERNS]), st.integers(1, 64),
    st.sampled_from(["pipelined", "tight", "any"]), st.integers(2, 100), st.sampled_from(["powers-of-two", "fine"]),
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_whatever_is_chosen_keeps_its_constraints_and_takes_no_less_than_the_computation(
    volume, computation, pattern, peers, implementation, queue_depth, grid
):
    peers = 1 if pattern == "point-to-point" else max(2, peers)
    chosen = choose(
        volume, computation, machine(0.1), pattern=pattern, implementation=implementation, peers=peers, grid=grid,
        queue_depth=queue_depth, outstanding_volume=volume,
    )  # fmt: skip
    assert 1 <= chosen.message_size <= volume
    assert chosen.messages == math.ceil(volume / chosen.message_size)
    assert 1 <= chosen.burst <= chosen.messages
    assert chosen.burst < queue_depth
    assert chosen.burst * chosen.message_size <= volume
    assert computation <= chosen.seconds <= chosen.blocking_seconds * (1 + 1e-12)
    assert 0 <= chosen.hidden_fraction + 1e-9 <= 1 + 2e-9
    assert set(chosen.limits) <= LIMITS.keys()
    assert (chosen.message_size, chosen.burst) not in chosen.alternatives


def test_a_machine_gives_each_size_its_own_segment_and_the_overhead_of_both_ends():
    whole = choose(8192, 1e-6, machine(), outstanding_volume=8192)
    assert whole.blocking_seconds == pytest.approx(2e-6 + 5e-6 + 8192e-9 + 1e-6)
    larger = choose(16384, 1e-6, machine())
    assert larger.blocking_seconds == pytest.approx(4e-6 + 9e-6 + 16384 * 0.8e-9 + 1e-6)


def test_given_numbers_replace_those_of_the_machine():
    chosen = choose(16384, 1e-6, machine(), overhead=1e-6, latency=0.0)
    assert chosen.blocking_seconds == pytest.approx(1e-6 + 16384 * 0.8e-9 + 1e-6)
    assert choose(MIB, 5e-4, machine(), **INFINIBAND) == choose(MIB, 5e-4, **INFINIBAND)


def test_a_plogp_table_does_where_there_is_no_loggp():
    table = PLogP(Parameter(3e-6), (0, 1024, MIB), (1e-6, 1e-6, 2e-6), (1e-6, 1e-6, 2e-6), (2e-6, 2e-6, 1e-3))
    chosen = choose(MIB, 5e-4, Machine("table", (Segment("all"),), plogp=(table,)))
    assert chosen.blocking_seconds == pytest.approx(4e-6 + 3e-6 + 1e-3 + 5e-4)
    assert chosen.seconds < chosen.blocking_seconds


def test_functions_and_tables_do_as_numbers():
    expected = choose(MIB, 5e-4, **INFINIBAND)
    functions = {"overhead": lambda _S, _b: 2e-6, "byte_time": lambda _P, _S: 1 / 900e6, "latency": 10e-6}
    assert choose(MIB, 5e-4, **functions) == expected
    flat = {"sizes": (64, MIB), "bursts": (1, 64)}
    tables = {name: ParameterTable(**flat, values=((INFINIBAND[name],) * 2,) * 2) for name in ("overhead", "byte_time")}
    assert choose(MIB, 5e-4, **tables, latency=10e-6).message_size == expected.message_size


def test_longer_bursts_with_cheaper_messages_are_chosen_and_peers_change_the_byte_time():
    cheaper = choose(MIB, 5e-4, **INFINIBAND | {"overhead": lambda _S, b: 2e-6 / b})
    assert cheaper.burst > choose(MIB, 5e-4, **INFINIBAND).burst
    shared = INFINIBAND | {"byte_time": lambda P, _S: P / 900e6}
    many = choose(MIB, 5e-4, pattern="multiple-end-points-contiguous", peers=4, **shared)
    assert many.blocking_seconds == pytest.approx(4 * (12e-6 + 4 * TRANSFER + 5e-4))


@pytest.mark.parametrize(
    ("name", "more"), [("queue-depth", {"queue_depth": 4}), ("outstanding-volume", {"outstanding_volume": 65536})]
)
def test_a_constraint_that_costs_time_is_named(name, more):
    free, bound = choose(MIB, 5e-4, **INFINIBAND), choose(MIB, 5e-4, **INFINIBAND, **more)
    assert name in bound.limits
    assert name not in free.limits
    assert bound.seconds > free.seconds


def test_a_constraint_that_costs_nothing_is_not_named():
    assert choose(MIB, 5e-4, **INFINIBAND, queue_depth=64, outstanding_volume=MIB).limits == ("burst-overhead",)


def test_without_overhead_nothing_but_the_grid_limits():
    assert choose(MIB, 5e-4, **INFINIBAND | {"overhead": 0.0}).limits == ()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_add_what_their_equations_say(pattern):
    chosen = choose(MIB, 1e-4, pattern=pattern, peers=8, model="paper", **INFINIBAND)
    S, b, G = chosen.message_size, chosen.burst, 1 / 900e6
    assert MIB * G - chosen.messages * 2e-6 > 1e-4  # communication bound, by Eq 2
    alone = overlap.pipelined_time(MIB, S, b, 1e-4, 2e-6, 10e-6, G, G)
    eighth = overlap.pipelined_time(MIB / 8, S, b, 1e-4 / 8, 2e-6, 10e-6, G, G)
    expected = {
        "multiple-end-points-contiguous": 8 * alone,
        "multiple-end-points-interleaved": 8 * alone,
        "end-point-congestion": alone + 7 * b * G * S,
        "all-to-all-same-order": 8 * (eighth + 7 * b * G * S),
        "all-to-all-contiguous": alone + 7 * 2 * b * G * S,
        "all-to-all-interleaved": alone + MIB * G,
    }
    assert chosen.seconds == pytest.approx(expected[pattern])


def test_the_last_message_is_shorter_where_sizes_do_not_divide():
    volume = 3 * MIB + 1
    chosen = choose(volume, 1e-3, **INFINIBAND)
    assert chosen.messages == -(-volume // chosen.message_size)
    near = choose(3 * MIB, 1e-3, **INFINIBAND)
    assert near.seconds <= chosen.seconds * (1 + 1e-6)
    assert chosen.seconds == pytest.approx(near.seconds, rel=0.01)


def test_any_is_the_faster_implementation():
    for t_V in (1e-4, 1e-3, 1e-2):
        seconds = {name: choose(MIB, t_V, implementation=name, **INFINIBAND).seconds for name in ("pipelined", "tight")}
        chosen = choose(MIB, t_V, implementation="any", **INFINIBAND)
        assert chosen.seconds == min(seconds.values())
        assert seconds[chosen.implementation] == chosen.seconds


def test_wider_intervals_leave_more_alternatives():
    certain, vague = (choose(MIB, 9e-4, machine(width)) for width in (0.0, 0.4))
    assert set(certain.alternatives) <= set(vague.alternatives)
    assert len(vague.alternatives) > len(certain.alternatives)
    assert (certain.message_size, certain.burst) == (vague.message_size, vague.burst)


def test_a_choice_is_no_alternative_to_itself():
    pattern = {"pattern": "all-to-all-contiguous", "peers": 3}
    for volume in (1, 2, 3, 5, 8, 100):
        chosen = choose(volume, 1e-7, machine(0.4), **pattern)
        assert (chosen.message_size, chosen.burst) not in chosen.alternatives


def test_the_choice_changes_beyond_the_factors_of_its_sensitivity_and_not_before():
    t_V = 5e-4
    result = sensitivity(MIB, t_V, machine())

    def decomposition(computation):
        chosen = choose(MIB, computation, machine())
        return chosen.message_size, chosen.burst

    for factor, direction in ((result.overestimate, -1), (result.underestimate, 1)):
        assert factor >= 1
        assert decomposition(t_V * (min(factor, 100) * 0.9999) ** direction) == decomposition(t_V)
        if factor < math.inf:
            assert decomposition(t_V * (factor * 1.0001) ** direction) != decomposition(t_V)


@given(st.floats(0.1, 5), st.sampled_from([4096, 65536, MIB]), st.sampled_from(["pipelined", "tight"]))
@settings(max_examples=20, deadline=None)
def test_the_right_diagnosis_is_never_worse(ratio, volume, implementation):
    loss = misdiagnosis(volume, ratio * volume / 900e6, implementation=implementation, **INFINIBAND)
    assert -1e-12 <= loss < 1


def test_a_table_is_bilinear_in_logarithms_and_flat_beyond_its_edges():
    table = ParameterTable((1024, 4096), (1, 4), ((4.0, 2.0), (8.0, 4.0)))
    assert [table.at(S, b) for S, b in ((1024, 1), (4096, 4), (1, 1), (1e9, 64))] == [4, 4, 4, 4]
    assert [table.at(S, b) for S, b in ((2048, 1), (1024, 2), (2048, 2))] == [6, 3, 4.5]
    assert ParameterTable((8,), (1,), ((3.0,),)).at(100, 100) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((4096, 1024), (1,), ((1.0,), (1.0,))), "must ascend"),
        (((), (1,), ()), "must ascend"),
        (((0, 1), (1,), ((1.0,), (1.0,))), "must ascend"),
        (((1, 2), (1,), ((1.0,),)), "as many rows"),
        (((1,), (1,), ((math.nan,),)), r"values\[0\]\[0\] is nan"),
    ],
)
def test_numbers_that_make_no_table_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        ParameterTable(*arguments)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"volume": 0}, "volume is 0: give a whole number from 1"),
        ({"volume": 1.5}, "volume is 1.5: give a whole number"),
        ({"volume": math.inf}, "volume is inf: give a whole number"),
        ({"volume": "1MiB"}, "give a whole number"),
        ({"computation": None}, "computation is None: give a number"),
        ({"volume": 2.0**60}, "from 1 to 9007199254740992"),
        ({"computation": -1.0}, "from 0 up"),
        ({"computation": math.nan}, "computation is nan: give a number"),
        ({"pattern": "ring"}, "choose one of point-to-point"),
        ({"implementation": "loose"}, "choose one of pipelined, tight, any"),
        ({"grid": "coarse"}, "choose one of powers-of-two, fine"),
        ({"peers": 0, "pattern": "end-point-congestion"}, "from 1 up"),
        ({"peers": 2}, "give another pattern"),
        ({"queue_depth": 1}, "from 2 up"),
        ({"outstanding_volume": 0}, "from 1 up"),
        ({"outstanding_volume": 64}, "raise it"),
        ({"latency": None}, "give a machine, or all three"),
        ({"overhead": -1e-6}, "overhead is -1e-06: give a finite number from 0 up"),
        ({"byte_time": 0.0}, "above 0"),
        ({"byte_time": lambda _P, _S: math.inf}, "byte_time must be finite"),
        ({"overhead": "2us"}, "overhead is '2us': give a number"),
        ({"progress": 1.5}, "share, 0 to 1"),
        ({"operation": "send"}, "choose one of two-sided, put, get"),
        ({"direction": "down"}, "choose one of both-ways, one-way"),
        ({"rule": "of thumb"}, "choose one of equations, measured"),
        ({"rule": "measured"}, "leave it out for point-to-point"),
        ({"peers": 2.5, "pattern": "end-point-congestion"}, "whole number"),
        ({"sizes": ()}, "sizes: .* at least one"),
        ({"sizes": (0, 8)}, "from 1 up"),
        ({"sizes": 4096}, "sizes is 4096: give a list"),
        ({"bursts": (1.5,)}, r"bursts\[0\] is 1.5: give a whole number"),
        ({"sizes": (2 * MIB,)}, "give a smaller one"),
        ({"sizes": (MIB,), "bursts": (2,)}, "no burst is possible"),
        ({"bursts": (8, 16), "queue_depth": 4}, "give shorter bursts"),
        ({"sizes": (4096,), "bursts": (8,), "outstanding_volume": 8192}, "the shortest burst, 8 messages"),
        ({"computation": lambda _S: -1.0}, r"computation\(1048576\) is -1.0: give a finite number from 0"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line_with_the_mend(more, message):
    with pytest.raises(InputError, match=message) as error:
        choose(**{"volume": MIB, "computation": 1e-3} | INFINIBAND | more)
    assert "\n" not in str(error.value)


def test_a_machine_that_lacks_parameters_names_what_to_measure():
    for segments in ((Segment("all"),), (machine().segments[0], Segment("rendezvous"))):
        with pytest.raises(MissingParameterError, match=r"commmodel\.bench pingpong burst queue progress bandwidth"):
            choose(MIB, 1e-3, Machine("bare", segments))
    with pytest.raises(MissingParameterError, match="ends at 8192"):
        choose(MIB, 1e-3, Machine("short", machine().segments[:1]))
    with pytest.raises(MissingParameterError, match="no path"):
        choose(MIB, 1e-3, Machine("paths", (Segment("all", path="within-node"),)), path="between-nodes")
