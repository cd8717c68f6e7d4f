"""LogGP's formulas beside schedules: the same where exact, or on the side that they promise."""

import math
import tomllib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.effort import effort
from support.evaluating import evaluated
from support.paths import ORACLES

from commmodel._core.delays.critical_path import finish_times
from commmodel.collectives import ALGORITHMS, Problem
from commmodel.models import Formula, collectives, loggp
from commmodel.models.collectives import CLOSED_FORMS

CHECKS = tomllib.loads((ORACLES / "loggp.toml").read_text("utf-8"))["check"]
PAIRS = [(operation, name) for operation, forms in CLOSED_FORMS.items() for name in forms]
SCHEDULED = [(operation, name) for operation, name in PAIRS if name in ALGORITHMS.get(operation, {})]
NAMED = {f"{operation} {name}": (operation, name) for operation, name in SCHEDULED}
SIZE, SECONDS = st.integers(0, 2**30).map(float), st.floats(0, 10) | st.just(0.0)


VALUES = {
    0: {"barrier_linear": 20, "barrier_dissemination": 12, "barrier_dissemination_printed": 12,
        "barrier_recursive_doubling": 12, "barrier_binomial": 24},
    16: {"linear": 62.5, "bcast_binomial": 34.5, "bcast_binary": 60, "bcast_chain": 46, "bcast_scatter_ring": 54,
         "bcast_scatter_recursive_doubling": 38, "reduce_linear": 90.5, "reduce_binomial": 46.5,
         "allreduce_recursive_doubling": 46.5, "allreduce_linear": 153, "allreduce_reduce_broadcast": 81,
         "blocks_binomial": 66.5, "exchanges": 80.5, "allgather_bruck": 82.5, "allgather_neighbor_exchange": 70,
         "alltoall_linear": 62.5, "alltoall_pairwise": 80.5, "alltoall_bruck": 146.5,
         "reduce_scatter_block_recursive_halving": 94.5, "exchanges_reducing": 108.5, "scan_linear": 108.5,
         "scan_recursive_doubling": 58.5},
    64: {"reduce_scatter_gather": 91, "allreduce_reduce_scatter_allgather": 91, "allreduce_ring": 119},
}  # fmt: skip
"""Bytes -> formula -> its time on 8 processes with L = 2, o = g = 1, G = 0.5, δ = 0.125 and γ = 0.25."""
PIECES = {"bcast_binary": [16.0], "bcast_chain": [4.0]}


def test_each_formula_has_its_value():
    formulas = {name for name, value in vars(collectives).items() if isinstance(value, Formula)}
    assert formulas == {name for values in VALUES.values() for name in values}
    for size, values in VALUES.items():
        for name, value in values.items():
            seconds = getattr(collectives, name)(8, size, 2.0, 1.0, 1.0, 0.5, 0.125, 0.25, *PIECES.get(name, []))
            assert seconds == value, name


def closed(operation, name, problem, L, o, g, G=0.0, memory_copy=0.0, reduction=0.0):
    form = CLOSED_FORMS[operation][name]
    pieces = [problem.segment_size or max(problem.message_size, 1)] if form.takes_segment_size else []
    return form.formula(problem.processes, problem.message_size, L, o, g, G, memory_copy, reduction, *pieces)


@pytest.mark.parametrize(
    "check",
    [check for check in CHECKS if check["formula"] in NAMED],
    ids=lambda check: f"{check['formula']}: {check['source']}",
)
def test_published_values_come_out_of_the_schedule(check):
    arguments = check["arguments"].copy()
    problem = Problem(
        arguments.pop("processes"), arguments.pop("message_size"), segment_size=arguments.pop("segment_size", None)
    )
    seconds = evaluated(*NAMED[check["formula"]], problem, **arguments)
    assert seconds == pytest.approx(check["value"] - check.get("above_schedule", 0))


@given(SIZE, SECONDS, SECONDS, SECONDS, SECONDS)
def test_a_train_of_one_message_is_a_message(size, L, o, g, G):
    assert loggp.train_time(size, 1.0, L, o, g, G) == pytest.approx(loggp.time(size, L, o, G))


@given(st.integers(0, 10**6), st.integers(1, 40), SECONDS, SECONDS, SECONDS, st.floats(0, 1e-3))
def test_a_train_takes_what_its_schedule_takes(size, messages, L, o, g, G):
    rest = (max(size, 1) - 1) * G
    result = [np.full(messages, number) for number in (o, o, g + rest, L + rest)]
    zeros, ones = np.zeros(messages, dtype=int), np.ones(messages, dtype=int)
    last = finish_times(2, zeros, zeros, ones, *result).max()
    assert last == pytest.approx(loggp.train_time(size, messages, L, o, g, G), rel=1e-12)


@given(SECONDS, SECONDS, SECONDS, SECONDS)
def test_plogp_and_what_it_is_converted_to_give_a_byte_the_same_time(L, gap, send, receive):
    latency, overhead = loggp.latency_from_plogp(L, gap, send, receive), loggp.overhead_from_plogp(send, receive)
    assert loggp.time(1, latency, overhead, 0.0) == pytest.approx(loggp.plogp_time(L, gap), abs=1e-12)


def power_of_two(P):
    return P & (P - 1) == 0


def anywhere(_):
    return True


class Case:
    """One problem on one machine, as the claims below see it."""

    def __init__(self, P, m, s, L, o, g, G, memory_copy, reduction):
        self.P, self.m, self.s, self.L, self.o, self.g, self.G = P, m, s, L, o, g, G
        self.machine = L, o, g, G, memory_copy, reduction
        self.two = power_of_two(P)
        self.fast = g <= L + 2 * o  # the gap has passed when the answer is there
        self.k = math.ceil(math.log2(P))
        self.rest = (max(m, 1) - 1) * G
        self.cut = m % P == 0 and m > 0


TREE = [
    (lambda c: c.two and c.fast, "exact"),
    (lambda c: c.fast, "upper", 2.0),
    (lambda c: c.two, "lower", 2.0),
    (anywhere, "estimate", 2.0),
]
TREE_UP = [(lambda c: c.two and c.fast, "exact"), (lambda c: c.two, "lower", 2.0), (anywhere, "estimate", 2.0)]
ALWAYS = [(anywhere, "exact")]
FOLD = [(lambda c: c.two and c.fast, "exact"), (lambda c: c.two, "lower", 3.0), (anywhere, "estimate", 3.0)]
CUT = [
    (lambda c: c.two and c.fast and c.cut, "exact"),
    (lambda c: c.two and c.cut, "lower", 3.0),
    (lambda c: c.cut, "estimate", 3.0),
]
CLAIMS = {
    ("barrier", "linear"): ALWAYS,
    ("barrier", "dissemination"): [
        (lambda c: c.fast, "exact"),
        (anywhere, "plus", lambda c: c.g - c.L - 2 * c.o),
    ],
    ("barrier", "recursive-doubling"): [(lambda c: c.two, "exact"), (anywhere, "upper", 2.0)],
    ("barrier", "binomial"): FOLD,
    ("bcast", "linear"): ALWAYS,
    ("bcast", "binomial"): TREE,
    ("bcast", "binomial-at-once"): TREE,
    ("bcast", "binary"): [
        (lambda c: power_of_two(c.P + 1) and c.s >= c.m and c.fast, "exact"),
        (lambda c: c.s >= c.m or c.m % c.s == 0, "estimate", 2.0),
        (anywhere, "estimate", 3.0),  # it takes the last piece for as large as the others
    ],
    ("bcast", "chain"): [
        (lambda c: c.s >= c.m or c.m % c.s == 0, "exact"),
        (anywhere, "upper", 2.0),
    ],
    ("bcast", "scatter-ring"): [
        (lambda c: c.two and c.fast and c.cut, "plus", lambda c: (c.k + c.P - 1) * c.G),
        (lambda c: c.cut, "estimate", 3.0),
    ],
    ("bcast", "scatter-recursive-doubling"): [
        (lambda c: c.two and c.fast and c.cut, "plus", lambda c: 2 * c.k * c.G),
        (lambda c: c.cut, "estimate", 3.0),
    ],
    ("reduce", "linear"): ALWAYS,
    ("reduce", "binomial"): TREE_UP,
    ("reduce", "reduce-scatter-gather"): CUT,
    ("allreduce", "recursive-doubling"): FOLD,
    ("allreduce", "linear"): ALWAYS,
    ("allreduce", "reduce-scatter-allgather"): CUT,
    ("allreduce", "reduce-scatter-allgather-halves"): CUT,
    ("reduce", "reduce-scatter-gather-halves"): CUT,
    ("allreduce", "ring"): [(lambda c: c.fast and c.cut, "exact"), (anywhere, "lower", 3.0)],
    ("allreduce", "reduce-broadcast"): FOLD,
    ("gather", "linear"): ALWAYS,
    ("gather", "binomial"): TREE_UP,
    ("scatter", "linear"): ALWAYS,
    ("scatter", "binomial"): TREE,
    ("allgather", "ring"): ALWAYS,
    ("allgather", "recursive-doubling"): [(lambda c: c.two and c.fast, "exact"), (anywhere, "lower", 3.0)],
    ("allgather", "bruck"): [(lambda c: c.fast, "exact"), (anywhere, "lower", 2.0)],
    ("allgather", "neighbor-exchange"): [(lambda c: c.fast, "exact"), (anywhere, "lower", 2.0)],
    ("alltoall", "linear"): [(lambda c: c.g + c.rest <= c.o, "exact"), (anywhere, "lower", 1.5)],
    ("alltoall", "pairwise"): [
        (lambda c: c.g == c.o, "exact"),
        (lambda c: c.g > c.o, "upper", 3.0),
        (anywhere, "lower", 2.0),
    ],
    ("alltoall", "pairwise-xor"): ALWAYS,
    ("alltoall", "bruck"): [(lambda c: c.g <= c.L + c.o and c.two, "exact"), (anywhere, "upper", 3.0)],
    ("reduce_scatter_block", "recursive-halving"): FOLD,
    ("reduce_scatter_block", "pairwise"): ALWAYS,
    ("reduce_scatter_block", "ring"): ALWAYS,
    ("scan", "linear"): ALWAYS,
    ("scan", "recursive-doubling"): FOLD,
}
"""Formula -> what it promises, and where; the first that applies. With it the factor that bounds its error where the
gap is at most L + 2 o; a longer gap may put it off as many times more. "plus": too large by just so much."""


def test_every_formula_has_its_promise():
    assert set(CLAIMS) == set(PAIRS)


# Made once, as hypothesis looks at each new strategy for longer than at what is drawn from it.
PROCESSES = {
    "pairwise-xor": st.sampled_from([1, 2, 4, 8, 16]),
    "neighbor-exchange": st.integers(1, 10).map(lambda half: 2 * half),
}
ANY_PROCESSES = st.integers(1, 20) | st.sampled_from([2, 4, 7, 8, 16])
BYTES = st.tuples(st.just(False), st.integers(0, 300)) | st.tuples(st.just(True), st.integers(1, 60))
"""Whether they are those of a part of P, and how many."""
SEGMENTS, POSITIVE, OPTIONAL = st.integers(20, 400), st.floats(1e-3, 10), st.just(0.0) | st.floats(1e-6, 0.1)
KINDS_OF_GAP = st.sampled_from(["any", "overhead", "at most a round trip"])


@st.composite
def cases(draw, operation, name):
    P = draw(PROCESSES.get(name, ANY_PROCESSES))
    of_a_part, m = (False, 0) if operation == "barrier" else draw(BYTES)
    L, o, g = draw(POSITIVE), draw(POSITIVE), draw(POSITIVE)
    g = {"any": g, "overhead": o, "at most a round trip": min(g, L + 2 * o)}[draw(KINDS_OF_GAP)]
    G, memory_copy, reduction = draw(OPTIONAL), draw(OPTIONAL), draw(OPTIONAL)
    return Case(P, m * P if of_a_part else m, draw(SEGMENTS), L, o, g, G, memory_copy, reduction)


EVERY_CASE = {pair: cases(*pair) for pair in SCHEDULED}
MORE, FACTORS = st.floats(0, 5), st.floats(1e-9, 1e3)


@pytest.mark.parametrize(("operation", "name"), SCHEDULED)
@settings(max_examples=effort(20, 80))
@given(st.data())
def test_a_formula_keeps_what_it_promises_of_the_schedule(operation, name, data):
    case = data.draw(EVERY_CASE[operation, name])
    segmented = CLOSED_FORMS[operation][name].takes_segment_size
    problem = Problem(case.P, case.m, segment_size=case.s if segmented else None)
    formula = closed(operation, name, problem, *case.machine)
    schedule = evaluated(operation, name, problem, *case.machine)
    if case.P == 1:
        assert formula == schedule == 0
        return
    claim = next(((kind, *rest) for applies, kind, *rest in CLAIMS[operation, name] if applies(case)), None)
    note = f"{formula} of {schedule}, P={case.P} m={case.m} s={case.s} machine={case.machine}"
    slack = 1e-12
    match claim:
        case ("exact",):
            assert formula == pytest.approx(schedule, rel=1e-12), note
        case ("plus", more):
            assert formula == pytest.approx(schedule + more(case), rel=1e-12), note
        case (kind, factor):
            factor *= max(1.0, case.g / (case.L + 2 * case.o))
            low = schedule * (1 - slack) / (1.0 if kind == "upper" else factor)
            high = schedule * (1 + slack) * (1.0 if kind == "lower" else factor)
            assert low <= formula <= high, note


@pytest.mark.parametrize(("operation", "name"), SCHEDULED)
@settings(max_examples=20)
@given(st.data())
def test_times_grow_with_each_parameter_while_no_send_waits_for_its_port(operation, name, data):
    case = data.draw(EVERY_CASE[operation, name])
    L, o, g, *rest = case.machine
    machine = [L, o, min(g, o), 0.0, *rest[1:]]
    problem = Problem(case.P, case.m)
    before = evaluated(operation, name, problem, *machine)
    more = data.draw(MORE)
    for grown in (0, 1, 4, 5):
        larger = [number + more * (place == grown) for place, number in enumerate(machine)]
        assert evaluated(operation, name, problem, *larger) >= before * (1 - 1e-12)
    larger = [*machine[:2], machine[1], *machine[3:]]  # g = o, the largest for which no send waits
    assert evaluated(operation, name, problem, *larger) >= before * (1 - 1e-12)


@pytest.mark.parametrize(("operation", "name"), PAIRS)
@settings(max_examples=40)
@given(st.data())
def test_formulas_grow_with_each_parameter_and_scale_with_the_unit_of_time(operation, name, data):
    case = data.draw(EVERY_CASE[operation, name])
    problem, machine = Problem(case.P, case.m), list(case.machine)
    before = closed(operation, name, problem, *machine)
    assert before >= 0
    more, factor = data.draw(MORE), data.draw(FACTORS)
    for grown in range(len(machine)):
        larger = [number + more * (place == grown) for place, number in enumerate(machine)]
        assert closed(operation, name, problem, *larger) >= before * (1 - 1e-12)
    scaled = closed(operation, name, problem, *(factor * number for number in machine))
    assert scaled == pytest.approx(factor * before, rel=1e-9)


@pytest.mark.skipif(("alltoall", "linear") not in SCHEDULED, reason="no schedule")
def test_a_longer_latency_may_let_everybody_finish_sooner():
    """Why times need not grow: while a send waits for its port a receive may begin, and hold it up for all of o."""
    times = [evaluated("alltoall", "linear", Problem(8, 1), latency, 2.0, 3.5, 0.0) for latency in (1.0, 1.5)]
    assert times == [35.0, 29.5]


@pytest.mark.parametrize(("L", "is_right"), [(1.3, True), (1.95, False), (0.9, False)])
def test_a_linear_alltoall_is_under_way_for_its_latency_at_the_end(L, is_right):
    o, P = 0.65, 64
    exact = closed("alltoall", "linear", Problem(P, 1), L, o, 2 * o)
    assert exact == pytest.approx((P - 2) * 2 * o + L + 2 * o)
    assert (exact == pytest.approx((P - 1) * 2 * o + 2 * o)) == is_right


@pytest.mark.parametrize("processes", [3, 5, 7, 12])
def test_processes_beyond_a_power_of_two_cost_an_allreduce_two_messages_and_a_reduction(processes):
    L, o, g, G, reduction = 2.0, 1.0, 1.5, 0.5, 0.25
    power = 1 << processes.bit_length() - 1
    for size in (0, 1, 64):
        below, beyond = (
            closed("allreduce", "reduce-scatter-allgather", Problem(count, size), L, o, g, G, reduction=reduction)
            for count in (power, processes)
        )
        assert beyond - below == pytest.approx(2 * (L + 2 * o + (max(size, 1) - 1) * G) + size * reduction)
