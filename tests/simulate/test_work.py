"""Programs of collectives, sequences of programs, and streams of blocks."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.work_reference import carry_out

from commmodel.collectives import ALGORITHMS, CollectiveSettings, Problem, build
from commmodel.errors import InputError
from commmodel.simulate.operations import COLLECTIVE_TAG, OPERATION, UNNAMED, Code, Program
from commmodel.simulate.result import MARK, SimulationResult
from commmodel.simulate.work import between_marks, collective, mark, repeat, sequence, slowest
from commmodel.simulate.work.block_streams import Block, BlockStream, fresh, program_of
from commmodel.simulate.work.rounds import blocks_of, collective_tag

ALL = [(operation, name) for operation, names in ALGORITHMS.items() for name in names if not names[name].stages]


def operations_of(program: Program, rank: int) -> list:
    result = program.operations[program.offsets[rank] : program.offsets[rank + 1]].tolist()
    while program.refill and len(more := program.refill(rank)):
        result += more.tolist()
    return result


def all_operations(program: Program) -> list:
    return [operations_of(program, rank) for rank in range(program.processes)]


def possible(operation, name, processes):
    if name == "pairwise-xor" or (operation, name) == ("allgather", "recursive-doubling"):
        return processes & (processes - 1) == 0
    return name != "neighbor-exchange" or processes % 2 == 0


@pytest.mark.parametrize(("operation", "name"), ALL)
@pytest.mark.parametrize("processes", [1, 2, 6, 8])
def test_a_collective_sends_the_messages_of_its_schedule(operation, name, processes):
    if not possible(operation, name, processes):
        pytest.skip("no such number of processes")
    size = 0 if operation == "barrier" else 100
    root = 1 % processes if operation in ("bcast", "reduce", "gather", "scatter") else 0
    schedule = build(operation, name, Problem(processes, size, root))
    carried = carry_out(collective(operation, Problem(processes, size, root=root), algorithm=name))
    expected = zip(schedule.sender.tolist(), schedule.receiver.tolist(), schedule.size.tolist(), strict=True)
    assert Counter((s, r, n) for s, r, _, n in carried.messages) == Counter(expected)
    assert carried.blocked == []
    assert carried.unwaited == 0
    assert {tag for _, _, tag, _ in carried.messages} <= {COLLECTIVE_TAG}


def test_receives_come_first_then_sends_in_order_then_the_wait():
    program = collective("alltoall", Problem(4, 10), algorithm="linear")
    assert [(code, peer) for code, peer, *_ in operations_of(program, 1)] == [
        *((Code.IRECV, peer) for peer in (0, 2, 3)),
        *((Code.ISEND, peer) for peer in (2, 3, 0)),
        (Code.WAITALL, -1),
    ]


def test_copying_and_combining_take_the_given_time_for_each_byte():
    program = collective("alltoall", Problem(4, 100), algorithm="bruck", settings=CollectiveSettings(None, 1e-9, 1e-3))
    schedule = build("alltoall", "bruck", Problem(4, 100))
    copied = np.bincount(schedule.worker, schedule.copied, 4)
    assert [carry_out(program).computed[rank] for rank in range(4)] == pytest.approx((copied * 1e-9).tolist())
    reduced = collective(
        "allreduce", Problem(4, 64), algorithm="recursive-doubling", settings=CollectiveSettings(reduction=1e-9)
    )
    assert carry_out(reduced).computed[0] == pytest.approx(2 * 64e-9)
    codes = [code for code, *_ in operations_of(reduced, 0)]
    assert codes == [Code.IRECV, Code.ISEND, Code.WAITALL, Code.COMPUTE] * 2


def test_the_selector_picks_algorithm_and_segments():
    by_mpich = collective("alltoall", Problem(6, 1 << 16))
    assert all_operations(by_mpich) == all_operations(collective("alltoall", Problem(6, 1 << 16), algorithm="pairwise"))
    chain = collective("bcast", Problem(3, 1000, segment_size=300), algorithm="chain")
    assert [value for *_, value in operations_of(chain, 2) if value] == [300.0, 300.0, 300.0, 100.0]


def test_calls_of_different_numbers_have_different_tags():
    assert collective("barrier", Problem(2), number=5).operations["tag"].min() == collective_tag(5)
    assert len({collective_tag(number) for number in range(0, 1 << 20, 4097)}) == len(range(0, 1 << 20, 4097))
    assert collective_tag(1 << 20) == COLLECTIVE_TAG


@pytest.mark.parametrize(
    ("operation", "size", "problem"),
    [
        ("shuffle", (4, 1), "operation is 'shuffle'"),
        ("bcast", (4, -1), "message_size is -1"),
        ("bcast", (0, 1), "processes is 0"),
        ("barrier", (4, 8), "empty"),
    ],
)
def test_wrong_collectives_are_refused_in_a_line(operation, size, problem):
    with pytest.raises(InputError, match=problem):
        collective(operation, Problem(*size))


def test_a_wrong_algorithm_names_those_that_there_are():
    with pytest.raises(InputError, match="choose one of linear, binomial"):
        collective("bcast", Problem(4, 1), algorithm="magic")


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(ALL), st.integers(2, 9), st.integers(0, 300), st.integers(1, 60))
def test_blocks_give_what_one_piece_gives(kind, processes, size, block):
    operation, name = kind
    if not possible(operation, name, processes):
        return
    problem = Problem(processes, 0 if operation == "barrier" else size)
    make = ALGORITHMS[operation][name]
    # Few operations a block, whatever the number of ranks: each round is a block.
    parts = [part for entry in make(problem) for part in blocks_of(processes, iter([entry]), block=block)]
    streamed = program_of(processes, lambda: iter(parts))
    at_once = collective(operation, Problem(processes, problem.message_size), algorithm=name)
    assert all_operations(streamed) == all_operations(at_once)


def small_blocks(count, processes=2):
    def blocks():
        for number in range(count):
            operations = np.empty(processes, dtype=OPERATION)
            operations[:] = (Code.COMPUTE, -1, -1, UNNAMED, number)
            yield Block(operations, np.arange(processes + 1))

    return blocks


def test_a_stream_keeps_only_what_a_rank_has_yet_to_take():
    stream = BlockStream(2, small_blocks(100))
    for number in range(50):
        assert stream(0)["value"].tolist() == [number]
    assert len(stream._stored) == 50
    for number in range(50):
        assert stream(1)["value"].tolist() == [number]
    assert len(stream._stored) == 0


def test_blocks_beyond_the_bound_wait_in_a_file():
    stream = BlockStream(2, small_blocks(100), read_ahead=240)
    first = [stream(0)["value"].item() for _ in range(100)]
    assert stream._in_memory <= 240 + 48
    assert sum(entry.operations is None for entry in stream._stored) > 90
    assert [stream(1)["value"].item() for _ in range(100)] == first
    assert not len(stream(0))


def test_a_stream_begins_anew_after_its_end_and_when_asked():
    program = program_of(2, small_blocks(5))
    assert all_operations(program) == all_operations(program)
    program.refill(0)
    assert program.restarted() is program.refill
    assert program.refill(0)["value"].tolist() == [1.0]


def test_a_stream_that_can_be_read_once_is_not_repeated():
    once = Program(np.empty(0, OPERATION), np.zeros(3, np.int64), lambda _: np.empty(0, OPERATION), "tape")
    with pytest.raises(InputError, match="tape can be read only once"):
        fresh(once)


def test_a_sequence_does_one_after_the_other():
    first, second = collective("barrier", Problem(4)), collective("bcast", Problem(4, 10))
    result = sequence([first, mark(4, 3), second])
    for rank in range(4):
        marked = (Code.MARK, -1, -1, UNNAMED, 3.0)
        assert operations_of(result, rank) == [*operations_of(first, rank), marked, *operations_of(second, rank)]


@pytest.mark.parametrize("times", [1, 2, 7])
def test_repeating_a_stream_gives_it_so_many_times(times):
    streamed, plain = program_of(2, small_blocks(3)), program_of(2, small_blocks(1))
    expected = [value for _ in range(times) for value in range(3)]
    assert [value for *_, value in operations_of(repeat(streamed, times), 1)] == expected
    assert len(operations_of(repeat(plain, times), 0)) == times
    mixed = sequence([plain, streamed, plain])
    for _ in range(2):  # it begins anew
        assert [[value for *_, value in rank] for rank in all_operations(mixed)] == [[0, 0, 1, 2, 0]] * 2


def test_many_repetitions_are_made_as_they_are_needed():
    program = repeat(mark(1000, 0), 5000)
    assert program.operations.size == 0
    assert sum(len(program.refill(0)) for _ in range(5)) == 5000
    assert not len(program.refill(0))


def test_sequences_of_different_sizes_or_of_nothing_are_refused():
    with pytest.raises(InputError, match="2 and 3 processes"):
        sequence([mark(2, 0), mark(3, 0)])
    with pytest.raises(InputError, match="at least one"):
        sequence([])
    with pytest.raises(InputError, match="times is 0"):
        repeat(mark(2, 0), 0)


def test_a_measured_program_is_between_two_marks_of_every_rank():
    carried = carry_out(between_marks(collective("allreduce", Problem(5, 8), number=1)))
    assert carried.blocked == []
    assert sorted(carried.marks) == [(rank, number) for rank in range(5) for number in (0, 1)]


def test_the_slowest_rank_is_what_a_collective_took():
    marks = np.array([(0, 0, 1.0), (1, 0, 2.0), (1, 1, 5.0), (0, 1, 3.0)], dtype=MARK)
    assert slowest(SimulationResult(np.zeros(2), np.zeros((2, 5)), 0, 0, marks=marks)) == 3.0
    with pytest.raises(InputError, match="between_marks"):
        slowest(SimulationResult(np.zeros(2), np.zeros((2, 5)), 0, 0, marks=marks[:3]))


def test_large_alltoalls_need_little_memory():
    program = collective("alltoall", Problem(1024, 8), algorithm="pairwise")
    assert program.operations.nbytes <= 26e6
    sizes = [program.operations.size]
    while len(program.refill(0)):
        sizes += [len(program.refill(rank)) for rank in range(1, 1024)]
        assert sum(entry.bytes_in_memory for entry in program.refill._stored) <= 52e6
    assert max(sizes) < 1 << 20
