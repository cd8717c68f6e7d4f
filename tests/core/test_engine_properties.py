"""The flow engine: what holds for every program."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.engine_programs import (
    NETWORKS,
    SIZES,
    compute,
    flat,
    matched_programs,
    program,
    recv,
    send,
    shifted,
)

from commmodel.simulate import OPERATION, Network, Program, fluid, run
from commmodel.simulate.network import Overhead


def contents(outcome):
    """Return everything but what was measured of the engine itself, as bytes."""
    result = dataclasses.asdict(outcome)
    del result["wall_seconds"]
    return {name: value.tobytes() if isinstance(value, np.ndarray) else value for name, value in result.items()}


@settings(max_examples=60, deadline=None)
@given(matched_programs(), st.sampled_from(NETWORKS))
def test_matched_programs_come_to_their_end_and_lose_no_byte(drawn, network):
    result, total = drawn
    outcome = run(result, network, flat(result.processes), record=True)
    assert not outcome.blocked
    assert outcome.unmatched_messages == 0
    assert len(outcome.transfers) == outcome.messages
    assert outcome.transfers["size"].sum() == total
    assert outcome.spent.sum(axis=1) == pytest.approx(outcome.ends)
    assert contents(outcome) == contents(run(result, network, flat(result.processes), record=True))


@settings(max_examples=40, deadline=None)
@given(matched_programs(), st.sampled_from(NETWORKS), st.integers(1, 7))
def test_a_program_in_parts_of_any_length_goes_the_same_way(drawn, network, length):
    result, _ = drawn
    parts = {}
    for rank in range(result.processes):
        operation = result.operations[result.offsets[rank] : result.offsets[rank + 1]]
        parts[rank] = [operation[begin : begin + length] for begin in range(0, len(operation), length)]

    def refill(rank):
        return parts[rank].pop(0) if parts[rank] else np.empty(0, OPERATION)

    empty = Program(np.empty(0, OPERATION), np.zeros(result.processes + 1, np.int64), refill)
    whole = run(result, network, flat(result.processes), record=True)
    assert contents(run(empty, network, flat(result.processes), record=True)) == contents(whole)


@settings(max_examples=40, deadline=None)
@given(matched_programs(), st.sampled_from([2.0, 1 / 8, 1024.0]))
def test_sizes_and_bandwidths_scaled_by_one_factor_leave_times(drawn, factor):
    entry, _ = drawn
    larger = entry.operations.copy()
    larger["value"][(larger["code"] >= 2) & (larger["code"] <= 5)] *= factor
    network = fluid(np.inf)
    result = run(entry, network, flat(entry.processes))
    scaled = run(Program(larger, entry.offsets), network, flat(entry.processes, bandwidth=125e6 * factor))
    assert scaled.ends == pytest.approx(result.ends, rel=1e-12)
    assert scaled.link_bytes == pytest.approx(result.link_bytes * factor)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 9), st.lists(SIZES, min_size=1, max_size=6), st.sampled_from(NETWORKS))
def test_ranks_that_do_the_same_end_at_the_same_time(processes, sizes, network):
    rounds = np.repeat(np.array(sizes)[:, None], processes, axis=1)
    outcome = run(shifted(processes, rounds), network, flat(processes))
    assert outcome.ends == pytest.approx(np.full(processes, outcome.ends[0]), rel=1e-12)
    assert outcome.messages == processes * len(sizes)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.integers(0, 3), st.permutations(range(40)))
def test_many_open_messages_are_matched_by_source_tag_and_order(count, tags, order):
    """Against a plain list of what is open."""
    tag_of = [number % (tags + 1) for number in range(count)]
    receives = [tag_of[number] for number in order if number < count]
    sender = [send(1, number + 1, tag=tag) for number, tag in enumerate(tag_of)]
    receiver = [compute(1.0), *(recv(0, tag=tag) for tag in receives)]
    slow = Network("slow", eager_limit=1e9, receive=(Overhead(np.inf, 1.0),))
    outcome = run(program(sender, receiver), slow, flat(2), record=True)
    open_ = list(enumerate(tag_of))
    expected = []
    for tag in receives:
        match = next(entry for entry in open_ if entry[1] == tag)
        open_.remove(match)
        expected.append(match[0] + 1)
    got = outcome.intervals[(outcome.intervals["rank"] == 1) & (outcome.intervals["state"] == 2)]
    assert got["size"].tolist() == expected
