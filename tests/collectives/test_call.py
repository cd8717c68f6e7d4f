"""Calls of collectives as records: written as actions of traces, and read from them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commmodel.collectives.call import MOVED, TYPE_SIZES, CollectiveCall, parse, parse_definition
from commmodel.collectives.operation import OPERATIONS, OPERATORS
from commmodel.errors import InputError

SIZES = st.integers(0, 1 << 40)


@st.composite
def calls(draw):
    processes = draw(st.integers(1, 9))
    counts = st.lists(SIZES, min_size=processes, max_size=processes).map(tuple)
    fields = {
        "sent": draw(SIZES),
        "received": draw(SIZES),
        "root": draw(st.integers(0, processes - 1)),
        "element": draw(st.integers(0, 64)),
        "operator": draw(st.sampled_from(OPERATORS)),
        "in_place": draw(st.booleans()),
        "communicator": draw(st.integers(0, 5)),
        "sent_counts": draw(counts),
        "received_counts": draw(counts),
    }
    return CollectiveCall.of(draw(st.sampled_from(sorted(MOVED))), **fields), processes


@given(calls())
def test_a_call_is_read_as_it_was_written(drawn):
    call, processes = drawn
    expected = call._replace(operation="alltoallv") if call.operation == "alltoallw" else call
    assert parse(call.text(processes), 1, lambda _: processes) == expected
    assert hash(call) == hash(CollectiveCall(*call))


def test_every_operation_of_one_group_is_a_call():
    assert {*MOVED} == {
        name for name, row in OPERATIONS.items() if not name.startswith("neighbor") and row.group != "by-hand"
    }
    assert CollectiveCall.of("neighbor_alltoall", sent=8) is None


def test_a_library_hears_nothing_that_it_does_not_look_at():
    call = CollectiveCall.of("allgather", sent=8, received=8, element=4, operator="commutative", in_place=True)
    assert call == CollectiveCall("allgather", 8, 8)


@pytest.mark.parametrize("number", range(len(TYPE_SIZES)))
def test_counts_are_of_the_type_named(number):
    call = parse(f"alltoall 3 5 {number} {number}", 8, lambda _: 4)
    assert (call.sent, call.received) == (3 * TYPE_SIZES[number], 5 * TYPE_SIZES[number])
    assert call.element == (0 if number == 6 else TYPE_SIZES[number])
    assert call.unit == TYPE_SIZES[number]


def test_counts_without_a_type_are_of_the_default():
    assert parse("bcast 3", 8, lambda _: 4)[:5] == ("bcast", 24, 0, 0, 8)
    assert parse("bcast 3", 1, lambda _: 4)[:5] == ("bcast", 3, 0, 0, 0)


def test_blocks_are_those_of_one_call():
    assert parse("reducescatter 8 8 0 6 block", 1, lambda _: 2) == CollectiveCall("reduce_scatter_block", 8)
    assert parse("reducescatter 8 8 5 6", 1, lambda _: 2).received_counts == (8, 8)


def test_a_communicator_has_a_number_and_its_own_size():
    call = parse("within 7 gatherv 8 1 2 3 1 6 6", 1, {7: 3}.get)
    assert (call.communicator, call.received_counts, call.root) == (7, (1, 2, 3), 1)
    assert parse_definition("communicator 7 0-4:2") == (7, "0-4:2")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("bcast", "argument 1, count, is missing"),
        ("bcast -1", "expected a finite number that is not negative"),
        ("bcast 8 4 6", "root '4': expected a whole number from 0 to 3"),
        ("bcast 8 0 99", "type '99'"),
        ("bcast 8 0 6 element=x", "expected a whole number of bytes"),
        ("allgatherv 8 1 2 6", "has 3 receive_counts: expected one for each of 4 ranks"),
        ("within 3 send 1 0 8", "'send' is no collective"),
    ],
)
def test_damage_is_named(text, problem):
    with pytest.raises(InputError) as error:
        parse(text, 1, lambda _: 4)
    assert problem in str(error.value)
