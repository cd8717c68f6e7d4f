"""The check of schedules finds what is wrong with them: each test spoils a schedule that is right."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.effort import effort

from commmodel.collectives import ALGORITHMS, Problem, algorithm
from commmodel.collectives.algorithms.blocks import piece_sizes
from commmodel.collectives.schedule import Access, Round
from commmodel.collectives.verification import ScheduleError, verify_rounds
from commmodel.errors import InputError

EVERY = [(operation, name) for operation, entry in ALGORITHMS.items() for name in entry if not entry[name].stages]
COMBINING = {"reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan"}
PROCESSES = 8
"""A power of two, for which every algorithm exists and no message is superfluous but to who has all already."""


def problem_of(operation, processes=PROCESSES):
    return Problem(processes, 24, root=2 if operation in {"bcast", "reduce", "gather", "scatter"} else 0)


def rounds_of(operation, name, processes=PROCESSES):
    problem = problem_of(operation, processes)
    return list(algorithm(operation, name)(problem)), problem


def without(rounds_given, index):
    """Return the round less a message; whoever would have combined it does not."""
    result = np.delete(np.arange(rounds_given.sender.size), index)
    into = None if rounds_given.into is None else lambda message: rounds_given.into(int(result[message]))
    changes = {}
    if rounds_given.combine:
        got = int(rounds_given.size[index]) * (
            1 if into is None else len(rounds_given.into(index)) // len(rounds_given.blocks(index))
        )
        changes["reduced"] = rounds_given.reduced - np.where(
            rounds_given.reducer == rounds_given.receiver[index], got, 0
        )
    return replace(
        rounds_given,
        sender=rounds_given.sender[result],
        receiver=rounds_given.receiver[result],
        size=rounds_given.size[result],
        blocks=lambda message: rounds_given.blocks(int(result[message])),
        into=into,
        **changes,
    )


def wrong(operation, rounds, problem):
    try:
        verify_rounds(operation, rounds, problem)
    except ScheduleError:
        return True
    return False


def every_message(rounds):
    return [(number, index) for number, entry in enumerate(rounds) for index in range(entry.sender.size)]


def superfluous(operation, name, rounds, number, index):
    """Whether an algorithm sends what its receiver has, or has no use for."""
    if operation == "bcast" and name.startswith("scatter-"):
        return number >= 3  # after the scatter the root, and whoever passed blocks on, get some that they have
    if operation == "scan" and name == "recursive-doubling":
        return rounds[number].sender[index] > rounds[number].receiver[index]
    if name.startswith("binary-in-order-then-"):  # process P - 1 has had everything
        return rounds[number].receiver[index] == PROCESSES - 1 and number >= len(rounds) - 3
    return name == "reduce-broadcast-in-order" and rounds[number].receiver[index] == PROCESSES - 1


@pytest.mark.parametrize(("operation", "name"), EVERY)
def test_a_message_that_is_missing_is_noticed(operation, name):
    rounds, problem = rounds_of(operation, name)
    verify_rounds(operation, rounds, problem)
    value = 0
    for number, index in every_message(rounds):
        spoilt = [*rounds[:number], without(rounds[number], index), *rounds[number + 1 :]]
        if wrong(operation, spoilt, problem):
            value += 1
        else:
            assert superfluous(operation, name, rounds, number, index), (number, index)
    assert value >= len(every_message(rounds)) / 2


@pytest.mark.parametrize(("operation", "name"), EVERY)
def test_a_message_of_a_byte_too_much_is_noticed(operation, name):
    rounds, problem = rounds_of(operation, name)
    for number, index in every_message(rounds):
        entry = rounds[number]
        size = entry.size + (np.arange(entry.size.size) == index)
        spoilt = [*rounds[:number], replace(entry, size=size), *rounds[number + 1 :]]
        with pytest.raises(
            ScheduleError, match=rf"round {number}: {entry.sender[index]} -> {entry.receiver[index]}: .*bytes"
        ):
            verify_rounds(operation, spoilt, problem)


@pytest.mark.parametrize(
    ("operation", "name"),
    [
        (operation, name)
        for operation, name in EVERY
        if operation not in {"barrier", "bcast"}
        # This one sends blocks that nobody needs any more.
        and (operation.removesuffix("_block"), name) != ("reduce_scatter", "recursive-doubling")
    ],
)
@settings(max_examples=effort(5, 25))
@given(data=st.data())
def test_a_message_with_another_block_of_the_same_size_is_noticed(operation, name, data):
    rounds, problem = rounds_of(operation, name)
    number, index = data.draw(st.sampled_from(every_message(rounds)))
    entry = rounds[number]
    assume(not superfluous(operation, name, rounds, number, index))
    carried = list(entry.blocks(index))
    places = 64 if operation == "alltoall" else 16 if operation == "scan" else 8
    instead = data.draw(st.sampled_from(range(places)))
    position = data.draw(st.integers(0, len(carried) - 1))
    assume((instead - carried[position]) % (64 if operation == "alltoall" else 8))  # modulo: scan has two of each
    changed = [instead if at == position else block for at, block in enumerate(carried)]
    spoilt = replace(entry, blocks=lambda message: changed if message == index else entry.blocks(message))
    assert wrong(operation, [*rounds[:number], spoilt, *rounds[number + 1 :]], problem)


@pytest.mark.parametrize(("operation", "name"), [entry for entry in EVERY if entry[0] in COMBINING])
def test_what_is_combined_twice_is_noticed(operation, name):
    rounds, problem = rounds_of(operation, name)
    for number, entry in enumerate(rounds):
        if entry.combine and not (operation == "scan" and name == "linear"):
            with pytest.raises(
                ScheduleError, match=rf"round {number + 1}: \d+ -> \d+: block \d+ has the data of \d.* already"
            ):
                verify_rounds(operation, [*rounds[: number + 1], entry, *rounds[number + 1 :]], problem)
    with pytest.raises(ScheduleError, match=r"already|not of"):
        verify_rounds(operation, [rounds[0], *rounds], problem)


@pytest.mark.parametrize(("operation", "name"), [entry for entry in EVERY if entry[0] in COMBINING])
def test_combined_bytes_that_are_not_those_received_are_noticed(operation, name):
    rounds, problem = rounds_of(operation, name)
    for number, entry in enumerate(rounds):
        if entry.combine:
            spoilt = [*rounds[:number], replace(entry, reduced=entry.reduced - 1), *rounds[number + 1 :]]
            with pytest.raises(ScheduleError, match=rf"round {number}: process \d combines \d+ bytes, but it got \d+"):
                verify_rounds(operation, spoilt, problem)


@pytest.mark.parametrize(("operation", "name"), [entry for entry in EVERY if entry[0] in COMBINING])
def test_a_replacement_where_a_combination_belongs_is_noticed(operation, name):
    rounds, problem = rounds_of(operation, name)
    for number, entry in enumerate(rounds):
        if entry.combine:
            plain = replace(entry, combine=False, reducer=entry.reducer[:0], reduced=entry.reduced[:0])
            assert wrong(operation, [*rounds[:number], plain, *rounds[number + 1 :]], problem)


def one_message(sender=0, receiver=1, size=8, blocks=(0,), **more):
    return Round(np.array([sender]), np.array([receiver]), np.array([size]), lambda _: blocks, **more)


TWO = Problem(2, 8)
NOBODY = np.empty(0, dtype=np.int64)


@pytest.mark.parametrize(
    ("rounds", "message"),
    [
        ([one_message(sender=1, receiver=0)], "round 0: 1 -> 0: the sender does not hold block 0"),
        ([one_message(size=4), one_message(receiver=2)], "round 1: 0 -> 2: the 2 processes are 0 and up"),
        ([one_message(sender=-1)], "round 0: -1 -> 1: the 2 processes"),
        ([one_message(receiver=0)], "round 0: 0 -> 0: a process sends to itself"),
        ([one_message(size=7)], "round 0: 0 -> 1: 7 bytes, but its blocks have 4"),
        ([one_message(size=8)], "round 0: 0 -> 1: 8 bytes, but its blocks have 4"),
        ([one_message(size=4)], "at the end: process 1, block 1: has the data of nobody, not of 0"),
        ([], "at the end: process 1, block 0: has the data of nobody, not of 0"),
        ([one_message(combine=True)], "round 0: bcast combines nothing"),
        ([one_message(blocks=(0, 1), into=lambda _: (0,))], "round 0: 0 -> 1: blocks [0, 1] put as [0]"),
        ([one_message(blocks=(), size=0, into=lambda _: (0,))], "round 0: 0 -> 1: blocks [] put as [0]"),
        (
            [one_message(blocks=(0, 1), reducer=np.array([1]), reduced=np.array([8]))],
            "process 1 combines 8 bytes, but it got 0",
        ),
        ([Round(copier=np.array([2]), copied=np.array([1]))], "round 0: a process that copies is out of range"),
        ([Round(copier=np.array([1]), copied=np.array([-1]))], "or its size negative"),
        ([Round(copier=np.array([1, 1]), copied=np.array([1, 1]))], "each process that copies must be named once"),
        ([Round(copier=np.array([1]), copied=NOBODY)], "each process that copies must be named once, with one size"),
        ([Round(np.array([0]), np.array([1]), NOBODY)], "round 0: there are not as many senders as receivers"),
        (
            [Round(np.array([0, 0]), np.array([1, 1]), np.array([4, 4]), lambda _: [0])],
            "round 0: 0 -> 1: two messages of the same in one round",
        ),
    ],
)
def test_the_message_says_where_it_is_wrong(rounds, message):
    with pytest.raises(ScheduleError) as raised:
        verify_rounds("bcast", rounds, TWO)
    assert message in str(raised.value)


def test_data_sent_in_a_round_are_those_from_before_it():
    """Process 1 cannot pass on in a round what comes in during it."""
    at_once = Round(np.array([0, 1]), np.array([1, 2]), np.array([9, 9]), lambda _: range(5))
    problem = Problem(3, 9)
    count = len({0, 3, 6, 9} | {0, 5, 9}) - 1
    spoilt = replace(at_once, blocks=lambda _: range(count))
    with pytest.raises(ScheduleError, match="round 0: 1 -> 2: the sender does not hold block 0"):
        verify_rounds("bcast", [spoilt], problem)
    one_by_one = [
        Round(np.array([rank]), np.array([rank + 1]), np.array([9]), lambda _: range(count)) for rank in range(2)
    ]
    verify_rounds("bcast", one_by_one, problem)


def test_rounds_in_another_order_are_noticed():
    for operation, name in EVERY:
        rounds, problem = rounds_of(operation, name)
        if len(rounds) > 1 and (operation, name) in {
            ("bcast", "binomial"),
            ("allgather", "ring"),
            ("gather", "binomial"),
        }:
            assert wrong(operation, rounds[::-1], problem)


def test_an_operation_that_there_is_not_is_refused():
    with pytest.raises(
        InputError, match=r"operation is 'broadcast': did you mean bcast\? Choose one of barrier, bcast"
    ):
        verify_rounds("broadcast", [], TWO)


def test_memory_is_read_of_processes_that_are_known_to_have_begun():
    problem = Problem(2, 8)
    block = (1,)
    exchange = Round(
        np.array([0, 1]), np.array([1, 0]), np.zeros(2, np.int64), is_control=True,
        accesses=lambda: [Access(0, 1, block, block), Access(1, 0, (0,), (0,))],
    )  # fmt: skip
    verify_rounds("allgather", [exchange], problem)
    with pytest.raises(ScheduleError, match="round 0: 0 reads the memory of 1, which may not have begun"):
        verify_rounds("allgather", [replace(exchange, sender=np.array([0, 0]), receiver=np.array([1, 1]))], problem)
    with pytest.raises(ScheduleError, match="round 0: 1 -> 0: the sender does not hold block 0"):
        verify_rounds("allgather", [replace(exchange, accesses=lambda: [Access(0, 1, (0,), (0,))])], problem)
    with pytest.raises(ScheduleError, match="round 0: 0 -> 1: 8 bytes, but its blocks have 0"):
        verify_rounds("allgather", [replace(exchange, size=np.array([8, 8]), is_control=False)], problem)


def test_what_is_combined_from_memory_is_counted_and_counted_once():
    problem = Problem(2, 8)
    result = Round(np.array([0, 1]), np.array([1, 0]), np.array([0, 0]), is_control=True)
    ids = range(len(piece_sizes(problem)))
    rank, size = np.array([0, 1]), np.array([8, 8])
    added = Round(
        reducer=rank, reduced=size, accesses=lambda: [Access(1, 0, ids, ids, True), Access(0, 1, ids, ids, True)]
    )
    verify_rounds("allreduce", [result, added], problem)
    with pytest.raises(ScheduleError, match="round 1: process 1 combines 7 bytes, but it got 8"):
        verify_rounds("allreduce", [result, replace(added, reduced=np.array([8, 7]))], problem)
    with pytest.raises(ScheduleError, match="round 2: 0 -> 1: block 0 has the data of 0, 1 already"):
        verify_rounds("allreduce", [result, added, added], problem)
