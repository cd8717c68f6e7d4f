"""Schedules of collectives: each moves the right data, in as many messages and bytes as textbooks say, in order."""

import math
import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.effort import effort

from commmodel.collectives import ALGORITHMS, Nodes, Problem, algorithm, build, summary
from commmodel.collectives.algorithms.blocks import border, cuts, piece_sizes
from commmodel.collectives.operation import OPERATIONS, SCHEDULED
from commmodel.collectives.verification import verify_rounds
from commmodel.errors import InputError

EVERY = [(operation, name) for operation, entry in ALGORITHMS.items() for name in entry if not entry[name].stages]
TWO_LEVEL = [(operation, name) for operation, entry in ALGORITHMS.items() for name in entry if entry[name].stages]
ALL_LEAD = [("allgather", "two-level-multi-leader"), ("alltoall", "two-level"), ("alltoall", "two-level-steps")]
ROOTED = {name for name in SCHEDULED if OPERATIONS[name].has_root}
OF_A_VECTOR = {"bcast", "reduce", "allreduce", "scan"}
PIPELINED = {("bcast", "binary"), ("bcast", "chain"), ("reduce", "binary"), ("reduce", "chain")}
PROCESSES = effort([*range(1, 18), 31, 32, 33, 64], [*range(1, 34), 64])


def exists(name, processes):
    return not (
        (name == "pairwise-xor" and processes & (processes - 1))
        or (name == "neighbor-exchange" and processes > 1 and processes % 2)
    )


def problems(operation, name):
    """Yield problems of an operation: of a vector, empty, shorter than P, divisible by P, and not."""
    for processes in filter(lambda processes: exists(name, processes), PROCESSES):
        roots = {0, 1 % processes, processes // 2, processes - 1} if operation in ROOTED else {0}
        sizes = (0, processes - 1, 2 * processes, 3 * processes + 1) if operation in OF_A_VECTOR else (0, 3)
        for root in sorted(roots):
            for size in sizes:
                for segment in (None, 5) if (operation, name) in PIPELINED else (None,):
                    yield Problem(processes, size, root, segment)


@pytest.mark.parametrize(("operation", "name"), EVERY)
def test_the_right_data_arrive_for_any_number_of_processes_root_and_size(operation, name):
    make = algorithm(operation, name)
    for problem in problems(operation, name):
        verify_rounds(operation, make(problem), problem)


@given(data=st.data())
def test_the_right_data_arrive_for_whatever_problem(data):
    operation, name = data.draw(st.sampled_from(EVERY))
    processes = data.draw(st.integers(1, 40))
    assume(exists(name, processes))
    problem = Problem(
        processes,
        data.draw(st.integers(0, 200)),
        data.draw(st.integers(0, processes - 1)),
        data.draw(st.none() | st.integers(1, 250)),
    )
    verify_rounds(operation, algorithm(operation, name)(problem), problem)


def test_every_operation_with_schedules_has_an_algorithm():
    assert tuple(ALGORITHMS) == SCHEDULED
    assert all(ALGORITHMS.values())


def rounds_of(processes):
    """⌈log₂P⌉."""
    return math.ceil(math.log2(processes))


def k(processes):
    """⌊log₂P⌋."""
    return processes.bit_length() - 1


def extra(processes):
    """Return how many do not take part in a hypercube."""
    return processes - 2 ** k(processes)


def height(processes):
    """Return the height of a binary tree whose root has a half of the others before it, and the rest after these."""
    halves = [count for count in (processes // 2, processes - processes // 2 - 1) if count > 0]
    return 1 + max(map(height, halves)) if processes > 1 else 0


def moved(processes):
    """Return how many numbers below 2^k change where their bits are put in opposite order."""
    return processes - 2 ** math.ceil(k(processes) / 2)


ANY, POWERS = (2, 3, 4, 6, 8, 12, 13, 16, 31), (2, 4, 8, 16, 32)
EVEN = (2, 4, 6, 8, 12, 30)
TEXTBOOK = [
    # Messages, bytes and rounds for P processes and n bytes, a multiple of P. Thakur, Rabenseifner and Gropp 2005;
    # Chan et al., "Collective communication: theory, practice, and experience", 2007; Bruck et al. 1997. Where P is
    # no power of two, each of the P - 2^k processes that stand aside sends once before and gets once after.
    ("barrier", "linear", ANY, lambda P, _: (2 * (P - 1), 0, 2)),
    ("barrier", "dissemination", ANY, lambda P, _: (P * rounds_of(P), 0, rounds_of(P))),
    ("barrier", "recursive-doubling", POWERS, lambda P, _: (P * k(P), 0, k(P))),
    ("barrier", "recursive-doubling", (3, 6, 13), lambda P, _: (2 ** k(P) * k(P) + 2 * extra(P), 0, k(P) + 2)),
    ("barrier", "binomial", ANY, lambda P, _: (2 * (P - 1), 0, 2 * rounds_of(P))),
    ("bcast", "linear", ANY, lambda P, n: (P - 1, (P - 1) * n, 1)),
    ("bcast", "binomial", ANY, lambda P, n: (P - 1, (P - 1) * n, rounds_of(P))),
    ("bcast", "binomial-at-once", ANY, lambda P, n: (P - 1, (P - 1) * n, k(P))),
    ("bcast", "binary", ANY, lambda P, n: (P - 1, (P - 1) * n, k(P))),
    ("bcast", "chain", ANY, lambda P, n: (P - 1, (P - 1) * n, P - 1)),
    ("bcast", "scatter-ring", POWERS, lambda P, n: (P * P - 1, n // 2 * k(P) + (P - 1) * n, k(P) + P - 1)),
    (
        *("bcast", "scatter-recursive-doubling", POWERS),
        lambda P, n: (P - 1 + P * k(P), n // 2 * k(P) + (P - 1) * n, 2 * k(P)),
    ),
    ("reduce", "linear", ANY, lambda P, n: (P - 1, (P - 1) * n, 1)),
    (
        "reduce",
        "reduce-scatter-gather-halves",
        POWERS,
        lambda P, n: (P * k(P) + P - 1, (P - 1) * n + n // 2 * k(P), 2 * k(P)),
    ),
    ("reduce", "binomial", ANY, lambda P, n: (P - 1, (P - 1) * n, rounds_of(P))),
    ("reduce", "binary", ANY, lambda P, n: (P - 1, (P - 1) * n, k(P))),
    ("reduce", "chain", ANY, lambda P, n: (P - 1, (P - 1) * n, P - 1)),
    ("reduce", "reduce-scatter-gather", POWERS, lambda P, n: (P * k(P) + P - 1, (P - 1) * n + n // 2 * k(P), 2 * k(P))),
    ("allreduce", "recursive-doubling", POWERS, lambda P, n: (P * k(P), P * k(P) * n, k(P))),
    (
        *("allreduce", "recursive-doubling", (3, 6, 13)),
        lambda P, n: (2 ** k(P) * k(P) + 2 * extra(P), (2 ** k(P) * k(P) + 2 * extra(P)) * n, k(P) + 2),
    ),
    ("allreduce", "linear", ANY, lambda P, n: (2 * (P - 1), 2 * (P - 1) * n, 2)),
    ("allreduce", "reduce-scatter-allgather-halves", POWERS, lambda P, n: (2 * P * k(P), 2 * (P - 1) * n, 2 * k(P))),
    (  # half a vector each way and half of the result before, all of it after: counted in Open MPI 5.0.11
        *("allreduce", "reduce-scatter-allgather-halves", (3, 5, 6, 12)),
        lambda P, n: (
            2 * 2 ** k(P) * k(P) + 4 * extra(P),
            (2 * (2 ** k(P) - 1) + 5 * extra(P) / 2) * n,
            2 * k(P) + 3,
        ),
    ),
    ("allreduce", "reduce-scatter-allgather", POWERS, lambda P, n: (2 * P * k(P), 2 * (P - 1) * n, 2 * k(P))),
    (
        *("allreduce", "reduce-scatter-allgather", (3, 6, 13)),
        lambda P, n: (
            *(2 ** (k(P) + 1) * k(P) + 2 * extra(P), 2 * (2 ** k(P) - 1 + extra(P)) * n),
            2 * k(P) + 2,
        ),
    ),
    ("allreduce", "ring", ANY, lambda P, n: (2 * P * (P - 1), 2 * (P - 1) * n, 2 * (P - 1))),
    ("allreduce", "reduce-broadcast", ANY, lambda P, n: (2 * (P - 1), 2 * (P - 1) * n, 2 * rounds_of(P))),
    ("gather", "linear", ANY, lambda P, n: (P - 1, (P - 1) * n, 1)),
    ("gather", "binomial", POWERS, lambda P, n: (P - 1, P // 2 * k(P) * n, k(P))),
    ("scatter", "linear", ANY, lambda P, n: (P - 1, (P - 1) * n, 1)),
    ("scatter", "binomial", POWERS, lambda P, n: (P - 1, P // 2 * k(P) * n, k(P))),
    ("allgather", "ring", ANY, lambda P, n: (P * (P - 1), P * (P - 1) * n, P - 1)),
    ("allgather", "recursive-doubling", POWERS, lambda P, n: (P * k(P), P * (P - 1) * n, k(P))),
    ("allgather", "bruck", ANY, lambda P, n: (P * rounds_of(P), P * (P - 1) * n, rounds_of(P))),
    ("allgather", "neighbor-exchange", EVEN, lambda P, n: (P * P // 2, P * (P - 1) * n, P // 2)),
    ("alltoall", "linear", ANY, lambda P, n: (P * (P - 1), P * (P - 1) * n, 1)),
    ("alltoall", "pairwise", ANY, lambda P, n: (P * (P - 1), P * (P - 1) * n, P - 1)),
    ("alltoall", "pairwise-xor", POWERS, lambda P, n: (P * (P - 1), P * (P - 1) * n, P - 1)),
    ("alltoall", "bruck", POWERS, lambda P, n: (P * k(P), P * k(P) * P // 2 * n, k(P))),
    ("reduce_scatter_block", "recursive-halving", POWERS, lambda P, n: (P * k(P), P * (P - 1) * n, k(P))),
    (
        *("reduce_scatter_block", "recursive-halving", (3, 6, 13)),
        lambda P, n: (
            *(2 ** k(P) * k(P) + 2 * extra(P), (extra(P) * P + (2 ** k(P) - 1) * P + extra(P)) * n),
            k(P) + 2,
        ),
    ),
    ("reduce_scatter_block", "pairwise", ANY, lambda P, n: (P * (P - 1), P * (P - 1) * n, P - 1)),
    ("reduce_scatter_block", "ring", ANY, lambda P, n: (P * (P - 1), P * (P - 1) * n, P - 1)),
    ("scan", "linear", ANY, lambda P, n: (P - 1, (P - 1) * n, P - 1)),
    ("scan", "recursive-doubling", POWERS, lambda P, n: (P * k(P), P * k(P) * n, k(P))),
    # In order: a message more, of the process that has the result to the root.
    ("reduce", "binomial-in-order", ANY, lambda P, n: (P - 1, (P - 1) * n, rounds_of(P))),
    ("reduce", "binary-in-order", ANY, lambda P, n: (P, P * n, height(P) + 1)),
    (
        *("allreduce", "reduce-broadcast-in-order", ANY),
        lambda P, n: (2 * P - 1, (2 * P - 1) * n, height(P) + 1 + rounds_of(P)),
    ),
    ("alltoall", "pairwise-in-place", ANY, lambda P, n: (P * (P - 1), P * (P - 1) * n, 2 * P - 3)),
    ("alltoall", "shift-in-place", ANY, lambda P, n: (P * (P - 1), P * (P - 1) * n, P - 1)),
    (
        *("reduce_scatter_block", "recursive-doubling", POWERS),
        lambda P, n: (P * k(P), P * (P * k(P) - P + 1) * n, k(P)),
    ),
    ("reduce_scatter_block", "butterfly", POWERS, lambda P, n: (P * k(P), P * (P - 1) * n, k(P))),
    (
        *("reduce_scatter_block", "butterfly-exchange", POWERS),
        lambda P, n: (P * k(P) + moved(P), (P * (P - 1) + moved(P)) * n, k(P) + (moved(P) > 0)),
    ),
    *[
        (
            *("reduce_scatter_block", f"{first}-then-{second}", POWERS),
            lambda P, n, first=first, second=second: (
                *(P - 1 + (first == "binary-in-order") + P - 1,),
                ((P - 1 + (first == "binary-in-order")) * P + (P - 1 if second == "linear" else P // 2 * k(P))) * n,
                {"linear": 1, "binomial": k(P), "binary-in-order": height(P) + 1}[first]
                + (1 if second == "linear" else k(P)),
            ),
        )
        for first in ("linear", "binomial", "binary-in-order")
        for second in ("linear", "binomial")
    ],
]
TEXTBOOK += [("reduce_scatter", *row[1:]) for row in TEXTBOOK if row[0] == "reduce_scatter_block"]


@pytest.mark.parametrize(("operation", "name", "processes", "expected"), TEXTBOOK)
def test_messages_bytes_and_rounds_are_those_of_the_textbook(operation, name, processes, expected):
    for number in processes:
        size = 48 * number
        schedule = build(operation, name, Problem(number, size))
        counted = schedule.messages, int(schedule.size.sum()), int(schedule.round.max()) + 1
        assert counted == expected(number, size), number


def test_the_textbook_has_every_algorithm():
    assert {row[:2] for row in TEXTBOOK} == set(EVERY)


@pytest.mark.parametrize(("operation", "name"), EVERY)
def test_one_process_alone_sends_nothing_and_does_nothing(operation, name):
    schedule = build(operation, name, Problem(1, 10))
    assert schedule.messages == 0
    assert schedule.worker.size == 0


@pytest.mark.parametrize(("operation", "name"), EVERY)
def test_combined_bytes_are_at_least_what_an_operation_needs(operation, name):
    """P vectors become one by P - 1 combinations of each byte (Chan et al. 2007); without a reduction it is none."""
    processes, size = 8, 64
    schedule = build(operation, name, Problem(processes, size))
    least = {"reduce": 7 * size, "allreduce": 7 * size, "scan": 7 * size}
    least |= dict.fromkeys(("reduce_scatter", "reduce_scatter_block"), 7 * size * processes)
    if operation in least:
        assert schedule.reduced.sum() >= least[operation]
    else:
        assert schedule.reduced.sum() == 0


def test_a_rabenseifner_reduction_combines_no_byte_more_often_than_it_must():
    schedule = build("allreduce", "reduce-scatter-allgather", Problem(8, 64))
    assert np.bincount(schedule.worker, schedule.reduced).tolist() == [32 + 16 + 8] * 8


@pytest.mark.parametrize("processes", [2, 8, 16])
def test_brucks_alltoall_copies_half_of_the_data_each_round_and_all_at_the_end(processes):
    schedule = build("alltoall", "bruck", Problem(processes, 10))
    per_round = np.bincount(schedule.work_round, schedule.copied) / processes
    assert per_round.tolist() == [processes * 10 / 2] * k(processes) + [processes * 10]


def test_brucks_allgather_rotates_once_and_other_algorithms_copy_nothing():
    copied = {entry: build(*entry, Problem(8, 16)).copied.sum() for entry in EVERY}
    assert {entry for entry, total in copied.items() if total} == {("alltoall", "bruck"), ("allgather", "bruck")}
    assert copied["allgather", "bruck"] == 8 * 8 * 16


def sent_by(schedule, rank):
    return schedule.receiver[schedule.sender == rank].tolist()


def test_a_binomial_broadcast_begins_with_the_farthest_child():
    schedule = build("bcast", "binomial", Problem(16, 8))
    assert sent_by(schedule, 0) == [8, 4, 2, 1]
    assert sent_by(build("bcast", "binomial", Problem(13, 8, root=5)), 5) == [0, 9, 7, 6]
    assert schedule.round.tolist() == [0] + [1] * 2 + [2] * 4 + [3] * 8


def test_a_binomial_broadcast_at_once_sends_to_all_children_in_one_round():
    schedule = build("bcast", "binomial-at-once", Problem(16, 8))
    assert sent_by(schedule, 0) == [1, 2, 4, 8]
    assert sent_by(schedule, 1) == [3, 5, 9]
    assert sent_by(build("bcast", "binomial-at-once", Problem(13, 8, root=5)), 5) == [6, 7, 9, 0]
    for rank in range(16):
        assert np.unique(schedule.round[schedule.sender == rank]).size <= 1


def test_a_linear_alltoall_begins_with_the_next_rank_in_a_single_round():
    schedule = build("alltoall", "linear", Problem(5, 8))
    assert sent_by(schedule, 3) == [4, 0, 1, 2]
    assert set(schedule.round.tolist()) == {0}


@pytest.mark.parametrize(
    ("operation", "name", "order"),
    [
        ("alltoall", "pairwise", [4, 5, 6, 7, 0, 1, 2]),
        ("alltoall", "pairwise-xor", [2, 1, 0, 7, 6, 5, 4]),
        ("reduce_scatter_block", "pairwise", [4, 5, 6, 7, 0, 1, 2]),
        ("reduce_scatter_block", "recursive-halving", [7, 1, 2]),
        ("allreduce", "reduce-scatter-allgather", [2, 1, 7, 7, 1, 2]),
        ("allgather", "bruck", [2, 1, 7]),
        ("allgather", "neighbor-exchange", [2, 4, 2, 4]),
    ],
)
def test_process_3_of_8_sends_in_the_order_of_the_definition(operation, name, order):
    assert sent_by(build(operation, name, Problem(8, 64)), 3) == order


def test_a_binary_tree_is_filled_level_by_level():
    schedule = build("bcast", "binary", Problem(7, 8))
    assert [sent_by(schedule, rank) for rank in range(7)] == [[1, 2], [3, 4], [5, 6], [], [], [], []]


def test_a_chain_passes_a_segment_on_while_the_next_comes_in():
    schedule = build("bcast", "chain", Problem(3, 10, segment_size=4))
    listed = zip(schedule.round.tolist(), schedule.sender.tolist(), schedule.size.tolist(), strict=True)
    assert list(listed) == [(0, 0, 4), (1, 0, 4), (1, 1, 4), (2, 0, 2), (2, 1, 4), (3, 1, 2)]


@pytest.mark.parametrize(("operation", "name"), sorted(PIPELINED))
@given(processes=st.integers(2, 30), size=st.integers(0, 100), segment=st.integers(1, 120))
def test_a_pipeline_sends_every_segment_over_every_edge(operation, name, processes, size, segment):
    schedule = build(operation, name, Problem(processes, size, segment_size=segment))
    segments = max(1, math.ceil(size / segment))
    assert schedule.messages == (processes - 1) * segments
    assert schedule.size.sum() == (processes - 1) * size
    assert schedule.size.max() <= segment
    deepest = processes - 2 if name == "chain" else k(processes) - 1
    assert schedule.round.max() == deepest + segments - 1


@pytest.mark.parametrize(
    ("operation", "name"), [item for item in EVERY if item[0] in ROOTED and not item[1].endswith("in-order")]
)
@settings(max_examples=25)
@given(data=st.data())
def test_another_root_is_the_same_schedule_with_other_ranks(operation, name, data):
    processes = data.draw(st.integers(1, 20))
    root = data.draw(st.integers(0, processes - 1))
    size = data.draw(st.integers(0, 50))
    result, entry = (build(operation, name, Problem(processes, size, item)) for item in (root, 0))

    def listed(schedule, root):
        ranks = ((ends - root) % processes for ends in (schedule.sender, schedule.receiver))
        return sorted(zip(schedule.round, *ranks, schedule.size, strict=True))

    assert listed(result, root) == listed(entry, 0)


@given(size=st.integers(0, 1000), parts=st.integers(1, 50))
def test_blocks_cover_a_vector_without_a_gap_and_all_but_the_last_are_full(size, parts):
    borders = border(size, parts, np.arange(parts + 1))
    sizes = np.diff(borders)
    assert (borders[0], borders[-1]) == (0, size)
    full = math.ceil(size / parts)
    assert (sizes[:-1] >= sizes[1:]).all()
    assert full == 0 or (sizes == full).sum() >= size // full


@given(st.builds(Problem, st.integers(1, 40), st.integers(0, 300), segment_size=st.none() | st.integers(1, 400)))
def test_pieces_of_a_vector_are_none_of_them_empty_and_sum_to_it(problem):
    assert sum(piece_sizes(problem)) == problem.message_size
    assert all(size > 0 for size in piece_sizes(problem))
    assert set(border(problem.message_size, problem.processes, range(problem.processes + 1))) <= set(cuts(problem))


@pytest.mark.parametrize(
    ("operation", "name", "processes", "message"),
    [
        ("alltoall", "pairwise-xor", 12, "needs a power of two of processes, not 12: take 'pairwise'"),
        ("allgather", "neighbor-exchange", 7, "needs an even number of processes, not 7: take 'ring'"),
        (
            "alltoall",
            "ring",
            4,
            "alltoall has no algorithm 'ring': choose one of linear, pairwise, pairwise-xor, "
            "pairwise-in-place, shift-in-place, bruck",
        ),
        (
            "alltoal",
            "ring",
            4,
            "operation is 'alltoal': did you mean alltoall? Choose one of barrier, bcast",
        ),
    ],
)
def test_what_there_is_not_is_refused_with_what_to_take_instead(operation, name, processes, message):
    with pytest.raises(InputError, match=re.escape(message)):
        build(operation, name, Problem(processes, 8))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"processes": 0}, "processes is 0"),
        ({"processes": 2, "message_size": -1}, "message_size is -1"),
        ({"processes": 2, "root": 2}, "root is 2"),
        ({"processes": 2, "segment_size": 0}, "segment_size is 0"),
    ],
)
def test_a_problem_that_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        Problem(**arguments)


@pytest.mark.parametrize(("operation", "name"), EVERY)
def test_every_algorithm_says_in_a_line_what_it_does(operation, name):
    assert 20 < len(summary(operation, name)) < 120
    assert summary(operation, name).endswith((".", "\u2026"))


def test_a_million_messages_are_made_of_a_few_arrays_and_their_blocks_are_not_worked_out():
    rounds = list(algorithm("alltoall", "pairwise")(Problem(1024, 8)))
    assert len(rounds) == 1023
    assert build("alltoall", "pairwise", Problem(1024, 8)).messages == 1023 * 1024
    assert all(isinstance(entry.blocks(5), list) and len(entry.blocks(5)) == 1 for entry in rounds)


LEVELS = st.tuples(st.integers(1, 6), st.integers(1, 6))


@settings(max_examples=300, deadline=None)
@given(data=st.data(), levels=LEVELS)
def test_two_levels_move_the_right_data_whatever_the_algorithms_of_each(data, levels):
    operation, name = data.draw(st.sampled_from(TWO_LEVEL))
    processes = levels[0] * levels[1]
    chosen = {"within": {}, "between": {}}
    for stage in ALGORITHMS[operation][name].stages:
        flat = [other for other, form in ALGORITHMS[stage.operation].items() if not form.stages]
        count = levels[0] if stage.level == "within" else levels[1]
        chosen[stage.level][stage.operation] = data.draw(
            st.sampled_from([name for name in flat if exists(name, count)])
        )
    problem = Problem(
        processes,
        0 if operation == "barrier" else data.draw(st.integers(0, 60)),
        data.draw(st.integers(0, processes - 1)) if operation in ROOTED else 0,
        data.draw(st.none() | st.integers(1, 70)),
        Nodes(levels[0], **chosen),
    )
    verify_rounds(operation, algorithm(operation, name)(problem), problem)


@pytest.mark.parametrize(("operation", "name"), [case for case in TWO_LEVEL if case not in ALL_LEAD])
def test_of_two_levels_one_process_of_a_node_talks_to_others(operation, name):
    for root in (0, 5) if operation in ROOTED else (0,):
        schedule = build(operation, name, Problem(24, 0 if operation == "barrier" else 100, root, nodes=Nodes(8)))
        crosses = schedule.sender // 8 != schedule.receiver // 8
        assert crosses.any()
        assert set(schedule.sender[crosses] % 8) | set(schedule.receiver[crosses] % 8) == {root % 8}


@pytest.mark.parametrize(("operation", "name"), ALL_LEAD)
@pytest.mark.parametrize(("nodes", "per_node"), [(2, 4), (3, 8), (4, 1), (5, 2)])
def test_of_two_levels_with_shared_memory_each_process_sends_its_nodes_data_to_its_place_on_others(
    operation, name, nodes, per_node
):
    processes = nodes * per_node
    schedule = build(operation, name, Problem(processes, 100, nodes=Nodes(per_node, between={"allgather": "ring"})))
    crosses = schedule.sender // per_node != schedule.receiver // per_node
    assert np.array_equal(schedule.sender[crosses] % per_node, schedule.receiver[crosses] % per_node)
    assert set(schedule.size[crosses].tolist()) == {100 * per_node}
    assert np.bincount(schedule.sender[crosses], minlength=processes).tolist() == [nodes - 1] * processes
    assert np.bincount(schedule.receiver[crosses], minlength=processes).tolist() == [nodes - 1] * processes
    # Within the node only addresses, or that data are there.
    assert set(schedule.size[~crosses].tolist()) <= ({0, 24} if name == "two-level-steps" else {0})
    result = np.bincount(schedule.worker, schedule.copied, minlength=processes)
    entry = {"two-level": processes, "two-level-steps": 2 * processes + per_node, "two-level-multi-leader": 1}[name]
    assert set(result.tolist()) == {100 * entry}


def test_in_the_alltoall_of_han_a_node_sends_to_others_in_the_order_of_open_mpi():
    schedule = build("alltoall", "two-level-steps", Problem(8, 1, nodes=Nodes(2)))
    crosses = schedule.sender // 2 != schedule.receiver // 2
    partners = {node: (schedule.receiver[crosses & (schedule.sender == 2 * node)] // 2).tolist() for node in range(4)}
    # By hand: partner = step - node modulo 4, without the step in which that is the node itself.
    assert partners == {0: [1, 2, 3], 1: [3, 0, 2], 2: [3, 0, 1], 3: [1, 2, 0]}


def test_a_scan_in_two_levels_adds_what_the_nodes_before_have():
    schedule = build("scan", "two-level", Problem(6, 10, nodes=Nodes(2, {"scan": "linear"}, {"scan": "linear"})))
    messages = list(zip(schedule.sender.tolist(), schedule.receiver.tolist(), schedule.size.tolist(), strict=True))
    within, between = [(0, 1, 10), (2, 3, 10), (4, 5, 10)], [(0, 2, 10), (2, 4, 10)]
    back = [(sender + 1 - sender % 2, sender - sender % 2, 10) for sender in (0, 2, 4)]
    flag = [(0, 1, 4), (2, 3, 4), (4, 5, 4)]
    assert messages == [*within, *back, *between, *between, *flag, *within[1:]]
    # The scans combine at the receiver, and all processes of later nodes what came before.
    assert np.bincount(schedule.worker, schedule.reduced).tolist() == [0, 10, 20, 20, 20, 20]


def test_a_pipelined_broadcast_goes_on_within_nodes_while_the_next_segment_is_between_them():
    schedule = build("bcast", "two-level-pipelined", Problem(4, 30, segment_size=10, nodes=Nodes(2)))
    messages = list(zip(schedule.round.tolist(), schedule.sender.tolist(), schedule.receiver.tolist(), strict=True))
    assert messages == [
        (0, 0, 2),
        *((step, *pair) for step in (1, 2) for pair in ((0, 2), (0, 1), (2, 3))),
        (3, 0, 1),
        (3, 2, 3),
    ]
    assert set(schedule.size.tolist()) == {10}


def test_two_levels_need_nodes_that_are_alike():
    with pytest.raises(InputError, match="two levels need the number of processes on each node"):
        build("bcast", "two-level", Problem(8, 1))
    with pytest.raises(InputError, match="8 are not 3 each"):
        build("bcast", "two-level", Problem(8, 1, nodes=Nodes(3)))
    with pytest.raises(InputError, match="per_node is 0"):
        Nodes(0)
