"""What a choice takes from a machine's profiles, and what limits progress, sizes, bursts and rules put on it."""

import math
import subprocess
import sys

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.choosing import choose, decomposition_search, misdiagnosis, sensitivity

from commmodel.errors import MissingParameterError
from commmodel.machine import (
    BandwidthProfile,
    LogGP,
    Machine,
    OverlapProfile,
    Parameter,
    ParameterTable,
    PLogP,
    Segment,
    load,
)
from commmodel.models import overlap
from commmodel.optimize import search
from commmodel.optimize.parameters import MessageCosts, problem_parameters

MIB = 1 << 20
INFINIBAND = {"overhead": 2e-6, "latency": 10e-6, "byte_time": 1 / 900e6}
PATTERNS = [
    "point-to-point", "multiple-end-points-contiguous", "multiple-end-points-interleaved", "end-point-congestion",
    "all-to-all-same-order", "all-to-all-contiguous", "all-to-all-interleaved",
]  # fmt: skip


def flat(value, sizes=(1, MIB), counts=(1, 64)):
    return ParameterTable(sizes, counts, ((value,) * len(counts),) * len(sizes))


def profiled(*profiles, bandwidth=(), loggp=True):
    result = LogGP(Parameter(5e-6), Parameter(1e-6), Parameter(1e-6), Parameter(1e-9)) if loggp else None
    return Machine("m", (Segment("all", path="same-node", loggp=result),), overlap=profiles, bandwidth=bandwidth)


def blocking(machine, **more):
    """Return o + L + V G, as the blocking time tells."""
    return choose(MIB, 0.0, machine, **more).blocking_seconds


def test_a_profile_comes_before_loggp_and_the_caller_before_a_profile():
    profile = OverlapProfile("same-node", L=Parameter(7e-6), overhead=flat(3e-6), queue_depth=8)
    machine = profiled(profile)
    assert blocking(profiled()) == pytest.approx(2e-6 + 5e-6 + MIB * 1e-9)
    assert blocking(machine) == pytest.approx(3e-6 + 7e-6 + MIB * 1e-9)
    assert blocking(machine, overhead=1e-6) == pytest.approx(1e-6 + 7e-6 + MIB * 1e-9)
    assert blocking(machine, **INFINIBAND) == pytest.approx(12e-6 + MIB / 900e6)
    assert choose(MIB, 5e-4, machine, **INFINIBAND).burst < 8
    assert choose(MIB, 5e-4, machine, **INFINIBAND, queue_depth=33).burst > 8


def test_a_profile_limits_the_bytes_under_way():
    machine = profiled(OverlapProfile("same-node", outstanding_volume=16384))
    chosen = choose(MIB, 5e-4, machine)
    assert chosen.message_size * chosen.burst <= 16384
    assert "outstanding-volume" in chosen.limits
    free = choose(MIB, 5e-4, machine, outstanding_volume=MIB)
    assert free.message_size * free.burst > 16384


def test_each_operation_and_path_has_its_own_profile():
    gets = OverlapProfile("same-node", "get", L=Parameter(9e-6), overhead=flat(0.0))
    elsewhere = OverlapProfile("between-nodes", L=Parameter(1e-3))
    machine = profiled(gets, elsewhere)
    assert blocking(machine) == pytest.approx(7e-6 + MIB * 1e-9)
    assert blocking(machine, operation="get") == pytest.approx(9e-6 + MIB * 1e-9)
    assert blocking(machine, path="between-nodes", **{**INFINIBAND, "latency": None}) > 1e-3
    with pytest.raises(MissingParameterError, match="does not know overhead and latency of put"):
        choose(MIB, 0.0, machine, operation="put")
    with pytest.raises(MissingParameterError, match="knows no path 'same-socket'"):
        choose(MIB, 0.0, machine, path="same-socket", **INFINIBAND)


def test_the_overhead_is_looked_up_for_each_size_and_burst():
    table = ParameterTable((1024, MIB), (1, 64), ((1e-6, 5e-7), (8e-6, 2e-6)))
    machine = profiled(OverlapProfile("same-node", overhead=table))
    by_function = {"overhead": table.at, "latency": 5e-6, "byte_time": 1e-9}
    for t_V in (1e-4, 8e-4, 2e-3):
        choice, expected = choose(MIB, t_V, machine), choose(MIB, t_V, **by_function)
        assert (choice.message_size, choice.burst) == (expected.message_size, expected.burst)
        assert choice.seconds == pytest.approx(expected.seconds)


def test_the_bandwidth_is_that_of_the_pattern_and_of_as_many_processes():
    G = {2: 1e-9, 4: 2e-9, 8: 4e-9}
    neighbours = ParameterTable((1,), tuple(G), (tuple(G.values()),))
    across = ParameterTable((1,), tuple(G), (tuple(10 * entry for entry in G.values()),))
    machine = profiled(
        bandwidth=(
            BandwidthProfile("cross", "both-ways", across),
            BandwidthProfile("nearest-neighbour", "both-ways", neighbours),
            BandwidthProfile("nearest-neighbour", "one-way", flat(5e-10)),
        )
    )
    assert blocking(machine) == pytest.approx(7e-6 + MIB * 1e-9)
    assert blocking(machine, direction="one-way") == pytest.approx(7e-6 + MIB * 5e-10)
    several = {"contiguous": 4e-9, "interleaved": 4e-8}
    for order, byte_time in several.items():
        result = blocking(machine, pattern=f"multiple-end-points-{order}", peers=8)
        assert result == pytest.approx(8 * (7e-6 + MIB * byte_time))
    congested = blocking(machine, pattern="end-point-congestion", peers=8)
    assert congested == pytest.approx(7e-6 + 8 * MIB * 1e-9)
    result = blocking(machine, pattern="all-to-all-interleaved", peers=8)
    assert result == pytest.approx(7 * 7e-6 + 2 * MIB * 4e-8, rel=1e-5)


def test_without_a_profile_of_two_processes_or_of_the_pattern_loggp_knows_the_bandwidth():
    many = BandwidthProfile("nearest-neighbour", "both-ways", ParameterTable((1,), (4, 8), ((1e-3, 1e-3),)))
    machine = profiled(bandwidth=(many,))
    assert blocking(machine) == pytest.approx(7e-6 + MIB * 1e-9)
    across = blocking(machine, pattern="multiple-end-points-interleaved", peers=4)
    assert across == pytest.approx(4 * (7e-6 + MIB * 1e-9))


def test_what_nobody_knows_is_named_with_the_kernels_that_measure_it():
    profile = OverlapProfile("same-node", L=Parameter(7e-6))
    with pytest.raises(MissingParameterError) as error:
        choose(MIB, 1e-3, profiled(profile, loggp=False))
    text = str(error.value)
    assert "does not know overhead and byte time: measure with python -m commmodel.bench pingpong burst queue" in text
    assert text.endswith("or give --overhead and --byte-time")
    with pytest.raises(MissingParameterError, match=r"does not know overhead, latency and byte time:"):
        choose(MIB, 1e-3, profiled(loggp=False))


@pytest.mark.parametrize(("name", "L", "HD"), [("quadrics-elan3", 7.4e-6, 32), ("quadrics-elan4", 2.4e-6, 32),
                                               ("infiniband-2007", 10e-6, 64)])  # fmt: skip
def test_published_networks_lack_what_is_in_figures_only_and_work_with_it(name, L, HD):
    machine = load(name)
    with pytest.raises(MissingParameterError, match=r"overhead and byte time \(its publication does not print them"):
        choose(MIB, 1e-3, machine)
    for operation in ("two-sided", "get"):
        chosen = choose(8 * MIB, 5e-3, machine, operation=operation, overhead=1e-9, byte_time=1e-9)
        assert chosen.blocking_seconds == pytest.approx(1e-9 + L + 8 * MIB * 1e-9 + 5e-3)
        assert chosen.burst < HD
        assert name == "infiniband-2007" or chosen.burst * chosen.message_size <= 4 * MIB


def test_a_machine_whose_publication_lacks_only_the_bandwidth_works_with_it():
    with pytest.raises(MissingParameterError, match="does not know byte time for messages of"):
        choose(MIB, 1e-3, load("ranger"))
    assert choose(MIB, 1e-3, load("ranger"), byte_time=1e-9).blocking_seconds > MIB * 1e-9 + 1e-3


@given(st.floats(0, 1), st.floats(0, 5), st.sampled_from(["pipelined", "tight"]), st.sampled_from(PATTERNS))
@settings(max_examples=40, deadline=None)
def test_less_progress_hides_less_and_none_hides_no_computation(share, ratio, implementation, pattern):
    t_V = ratio * MIB / 900e6
    options = {"implementation": implementation, "pattern": pattern, "peers": 1 if pattern == "point-to-point" else 4}
    result, some, full = (choose(MIB, t_V, **INFINIBAND, **options, progress=entry) for entry in (0.0, share, 1.0))
    assert full == choose(MIB, t_V, **INFINIBAND, **options)
    assert full.seconds <= some.seconds * (1 + 1e-9)
    assert some.seconds <= result.seconds * (1 + 1e-9)
    assert result.seconds <= result.blocking_seconds * (1 + 1e-12)
    if pattern == "point-to-point":
        assert result.seconds >= MIB / 900e6 + t_V


def test_progress_is_weighed_between_overlap_and_none():
    chosen = choose(MIB, 5e-4, **INFINIBAND, progress=0.25, sizes=(4096,), bursts=(4,))
    alone = overlap.pipelined_time(MIB, 4096, 4, 5e-4, 2e-6, 10e-6, 1 / 900e6, 1 / 900e6)
    without = 12e-6 * 256 + MIB / 900e6 + 5e-4
    assert chosen.seconds == pytest.approx(0.25 * alone + 0.75 * without)


def test_of_a_machine_the_progress_of_single_messages_counts_in_bursts_too():
    """A process calls MPI after each message on which it has computed, so that a burst is not left to itself."""
    only_singles = ParameterTable((1, MIB), (1, 64), ((0.75, 0.0), (0.75, 0.0)))
    result, entry = (profiled(OverlapProfile("same-node", progress=item)) for item in (only_singles, flat(0.75)))
    problem = {"sizes": (4096,), "bursts": (4,)}
    assert choose(MIB, 5e-4, result, **problem) == choose(MIB, 5e-4, entry, **problem)
    assert choose(MIB, 5e-4, result, **problem) != choose(MIB, 5e-4, result, **problem, progress=only_singles)


def test_little_progress_is_named_as_a_limit_and_moves_the_choice_to_where_there_is_some():
    shares = ParameterTable((8192, 16384), (1,), ((1.0,), (0.0,)))
    free, bound = choose(MIB, 5e-4, **INFINIBAND), choose(MIB, 5e-4, **INFINIBAND, progress=shares)
    assert "independent-progress" in bound.limits
    assert "independent-progress" not in free.limits
    assert free.message_size > 8192 >= bound.message_size
    machine = profiled(OverlapProfile("same-node", progress=shares))
    measured = choose(MIB, 5e-4, machine, **INFINIBAND)
    assert msgspec.structs.replace(measured, low=bound.low, high=bound.high, error_seconds=bound.error_seconds) == bound
    assert measured.error_seconds > bound.error_seconds  # what was measured may be off, what is given is taken as it is
    assert choose(MIB, 5e-4, machine, **INFINIBAND, progress=1.0) == free


def test_a_little_less_than_all_of_a_transfer_limits_too():
    assert "independent-progress" in choose(MIB, 5e-4, **INFINIBAND, progress=0.9).limits


def test_progress_that_changes_nothing_is_no_limit():
    chosen = choose(MIB, 5e-4, **INFINIBAND, progress=ParameterTable((8, 16), (1,), ((0.0,), (1.0,))))
    assert chosen == choose(MIB, 5e-4, **INFINIBAND)


@given(
    st.lists(st.integers(1, MIB), min_size=1, max_size=5), st.lists(st.integers(2, 99), max_size=4),
    st.floats(0, 3), st.sampled_from(PATTERNS),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_only_what_is_offered_is_chosen_and_the_best_of_it(sizes, bursts, ratio, pattern):
    t_V, peers = ratio * MIB / 900e6, 1 if pattern == "point-to-point" else 3
    options = {**INFINIBAND, "pattern": pattern, "peers": peers}
    largest = MIB // (peers - 1) if pattern.startswith("all-to-all") else MIB
    sizes = [*sizes, 999]
    chosen = choose(MIB, t_V, **options, sizes=sizes, bursts=[1, *bursts])
    assert chosen.message_size in sizes
    assert chosen.message_size <= largest
    assert chosen.burst in {1, *bursts}
    assert all(size in sizes and burst in {1, *bursts} for size, burst in chosen.alternatives)
    result = [choose(MIB, t_V, **options, sizes=(size,), bursts=[1, *bursts]) for size in sizes if size <= largest]
    assert chosen.seconds == min(entry.seconds for entry in result)
    assert {chosen.blocking_seconds} == {entry.blocking_seconds for entry in result}
    whole = choose(MIB, t_V, **options, sizes=(largest,), bursts=(1,))
    assert chosen.blocking_seconds == whole.blocking_seconds


def test_sizes_alone_take_the_bursts_of_the_grid_and_the_other_way_round():
    free = choose(MIB, 5e-4, **INFINIBAND)
    assert choose(MIB, 5e-4, **INFINIBAND, sizes=(free.message_size, 1000)).burst == free.burst
    assert choose(MIB, 5e-4, **INFINIBAND, bursts=[free.burst]).message_size == free.message_size
    assert choose(MIB, 5e-4, **INFINIBAND, sizes=np.array([MIB, 2 * MIB])).message_size == MIB


def test_messages_of_all_to_all_are_no_larger_than_what_one_peer_gets():
    for pattern in PATTERNS[4:]:
        chosen = choose(MIB, 5e-4, pattern=pattern, peers=65, **INFINIBAND | {"overhead": 0.0})
        assert chosen.message_size <= MIB // 64
        assert chosen.seconds <= chosen.blocking_seconds


def test_the_measured_rule_takes_short_bursts_for_balanced_problems_and_long_ones_else():
    options = {"pattern": "all-to-all-interleaved", "peers": 8, "rule": "measured", **INFINIBAND}
    transfer = MIB / 900e6
    for ratio in (0.8, 1.0, 3.0):
        chosen = choose(MIB, ratio * transfer, **options)
        assert chosen.burst == 2
        assert choose(MIB, ratio * transfer, **options | {"rule": "equations"}).burst > 2
    several = {"pattern": "multiple-end-points-contiguous", "peers": 7, **INFINIBAND}
    long = choose(7 * MIB, 7 * 0.4 * transfer, **options)
    expected = choose(MIB, 0.4 * transfer, **several)
    assert (long.message_size, long.burst) == (expected.message_size, expected.burst)
    assert long.burst > 2
    assert long.seconds == pytest.approx(expected.seconds)
    assert sensitivity(MIB, 3 * transfer, **options).overestimate > 1


def test_the_measured_rule_takes_single_messages_where_two_are_not_allowed():
    options = {"pattern": "all-to-all-contiguous", "peers": 4, "rule": "measured", **INFINIBAND}
    assert choose(MIB, 1.0, **options, queue_depth=2).burst == 1
    assert choose(MIB, 1.0, **options, bursts=(4, 8)).burst in {4, 8}
    assert choose(MIB, 1.0, **options, bursts=(2, 4)).burst == 2
    table = {"overhead": ParameterTable((1,), (1, 2, 64), ((4e-6, 3e-6, 2e-6),))}
    options["model"] = "paper"  # the bounded one does not cut for so little
    pairs, single = choose(MIB, 1.0, **options | table), choose(MIB, 1.0, **options | {"overhead": 4e-6})
    assert pairs.blocking_seconds == single.blocking_seconds
    assert pairs.seconds < single.seconds


def test_computation_that_is_measured_for_each_size_moves_the_choice_to_cached_sizes():
    def in_cache(size):
        return size * (1e-9 if size <= 4096 else 4e-9)

    constant = choose(MIB, lambda size: size * 1e-9, **INFINIBAND)
    assert constant.seconds == pytest.approx(choose(MIB, MIB * 1e-9, **INFINIBAND).seconds)
    assert constant.message_size > 4096
    chosen = choose(MIB, in_cache, **INFINIBAND)
    assert chosen.message_size <= 4096
    assert chosen.blocking_seconds == pytest.approx(12e-6 + MIB / 900e6 + MIB * 4e-9)
    assert 0 < chosen.hidden_fraction <= 1
    assert sensitivity(MIB, in_cache, **INFINIBAND).overestimate >= 1
    assert misdiagnosis(MIB, in_cache, **INFINIBAND) > -1e-12


def test_the_shorter_last_message_is_computed_on_too():
    rows = []
    chosen = choose(10, lambda size: rows.append(size) or 1e-3 * size, **INFINIBAND, sizes=(4,), bursts=(1,))
    assert {4, 2, 10} == set(rows)
    expected = choose(10, 10e-3, **INFINIBAND, sizes=(4,), bursts=(1,))
    assert chosen.seconds == pytest.approx(expected.seconds)


@given(
    st.integers(1, 10**6), st.floats(0, 1e-2), st.sampled_from(PATTERNS),
    st.sampled_from(["pipelined", "tight", "any"]), st.floats(0, 1),
    st.sampled_from([None, "communication", "computation"]), st.booleans(),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_the_compiled_search_finds_what_plain_python_finds(
    volume, t_V, pattern, implementation, share, bound, intervals
):
    G = Parameter(1e-9, "s/B", 0.8e-9, 1.2e-9) if intervals else Parameter(1e-9)
    loggp = LogGP(Parameter(5e-6), Parameter(1e-6), Parameter(1e-6), G)
    machine = Machine("m", (Segment("all", loggp=loggp),))
    options = {"pattern": pattern, "implementation": implementation, "peers": 1 if pattern == PATTERNS[0] else 5}
    problem = decomposition_search(volume, t_V, machine, **options, progress=share, queue_depth=16)
    arguments = []
    with pytest.MonkeyPatch.context() as patch:
        whole = search.search
        patch.setattr(search, "search", lambda *values: arguments.append(values) or whole(*values))
        result = problem.solve(bound=bound)
    assert search.search.compiled(*arguments[0]) == search.search.python(*arguments[0]) == result
    if bound is None:
        assert problem.seconds(result) == pytest.approx(result.seconds, rel=1e-14)


def test_one_choice_in_a_fresh_process_loads_no_numba_and_many_are_compiled():
    code = """
import sys
from commmodel.optimize import Candidates, MessageCosts, TransferProblem, choose, search

costs = MessageCosts(overhead=2e-6, latency=10e-6, byte_time=1e-9)
problem, fine = TransferProblem(1 << 20, 5e-4), Candidates("any", "fine")
first = choose(costs, problem, fine)
assert not {"numba", "scipy"} & set(sys.modules)
while "compiled" not in vars(search.search):
    assert choose(costs, problem, fine) == first
assert choose(costs, problem, fine) == first
assert len(search.search.compiled.signatures) == 1
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


AXIS = st.lists(st.integers(1, 10**7), min_size=1, max_size=5, unique=True).map(lambda axis: tuple(sorted(axis)))


@given(AXIS, AXIS, st.randoms(use_true_random=False), AXIS, AXIS)
@settings(max_examples=60, deadline=None)
def test_tables_are_looked_up_as_one_by_one(sizes, counts, random, asked_sizes, asked_counts):
    table = ParameterTable(sizes, counts, tuple(tuple(random.random() for _ in counts) for _ in sizes))
    asked_counts = asked_counts[::-1]  # bursts go down
    costs = MessageCosts(overhead=table, latency=1.0, byte_time=1.0)
    axes = (np.array(axis, dtype=float) for axis in (asked_sizes, asked_counts))
    entry = problem_parameters(costs, "", *axes, 1).o[0]
    expected = [[table.at(size, count) for count in asked_counts] for size in asked_sizes]
    assert entry == pytest.approx(np.array(expected), rel=1e-12)


@given(
    st.lists(st.integers(0, 10**6), min_size=2, max_size=6, unique=True).map(sorted), AXIS,
    st.randoms(use_true_random=False),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_plogp_is_interpolated_as_the_table_does(sizes, query, random):
    o_s, o_r, g = (tuple(random.random() for _ in sizes) for _ in range(3))
    table = PLogP(Parameter(1.0), tuple(sizes), o_s, o_r, g, low={"g": tuple(entry / 2 for entry in g)})
    machine = Machine("m", (Segment("all"),), plogp=(table,))
    result = problem_parameters(MessageCosts(machine), "", np.array(query, dtype=float), np.ones(1), 1)
    assert result.o[0, :, 0] == pytest.approx(table.at("o_s", query) + table.at("o_r", query))
    assert result.G[0] == pytest.approx(table.at("g", query) / query)
    assert result.G[1] == pytest.approx(result.G[0] / 2)
    latency = max(0.0, 1.0 + float(table.at("g", 1) - table.at("o_s", 1) - table.at("o_r", 1)))
    assert result.L[0] == pytest.approx(latency)


def test_a_byte_time_of_nothing_is_no_division_by_it():
    free = LogGP(Parameter(5e-6), Parameter(1e-6), Parameter(1e-6), Parameter(0.0))
    chosen = choose(MIB, 1e-3, Machine("m", (Segment("all", loggp=free),)))
    assert math.isfinite(chosen.seconds)
    measured = profiled(bandwidth=(BandwidthProfile("nearest-neighbour", "both-ways", flat(0.0, counts=(2,))),))
    assert math.isfinite(choose(MIB, 1e-3, measured).seconds)
