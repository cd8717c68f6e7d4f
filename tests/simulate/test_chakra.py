"""Traces of Chakra: nodes in the order of their dependencies, process groups, damage in one line."""

import gzip
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.chakra import METADATA, encoded, field, node, varint

from commmodel.errors import DamagedFileError, InputError
from commmodel.simulate import SMPI, platform, run, traces

COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7
ALLREDUCE, ALLGATHER, BROADCAST, ALLTOALL, REDUCE_SCATTER, BARRIER = 0, 2, 5, 6, 7, 9


def write_trace(folder, ranks):
    for rank, nodes in enumerate(ranks):
        (folder / f"trace.{rank}.et").write_bytes(encoded(*nodes))
    return folder


def actions(path, rank):
    return [line.removeprefix(f"{rank} ") for line in "".join(traces.load(path).text(rank)).splitlines()[1:-1]]


def outcome(path, processes):
    return run(traces.replay(path), SMPI, platform.flat(processes, 125e6, 15e-6))


def test_nodes_come_after_what_they_depend_on(tmp_path):
    write_trace(tmp_path, [
        [
            node(3, COMPUTE, [7], duration=5), node(9, RECEIVE, comm_src=1, comm_size=64, comm_tag=2),
            node(7, COMPUTE, [9], duration=20, packed=True), node(8, COMPUTE, duration=100),
            node(1, SEND, [8], comm_dst=1, comm_size=1000, comm_tag=3), node(2, COMPUTE, [1, 8], duration=1),
        ],
        [node(0, SEND, comm_dst=0, comm_size=64, comm_tag=2), node(5, RECEIVE, comm_src=0, comm_size=1000, comm_tag=3)],
    ])  # fmt: skip
    assert actions(tmp_path, 0) == [
        "irecv 1 2 64 6", "compute 100000", "isend 1 3 1000 6", "wait 1 0 2", "compute 20000", "compute 5000",
        "wait 0 1 3", "compute 1000",
    ]  # fmt: skip
    assert not outcome(tmp_path, 2).blocked


def test_earlier_nodes_come_first(tmp_path):
    nodes = [node(1, COMPUTE, begin=30, duration=3), node(2, COMPUTE, begin=10, duration=1), node(4, 1), node(5, 0)]
    write_trace(tmp_path, [[*nodes, node(3, COMPUTE, begin=20, duration=2)]])
    assert actions(tmp_path, 0) == ["compute 1000", "compute 2000", "compute 3000"]


def test_collectives_are_of_their_groups(tmp_path):
    ranks = []
    for rank in range(4):
        whole = [node(1, COLLECTIVE, comm_type=ALLREDUCE, comm_size=800), node(2, COLLECTIVE, [1], comm_type=BARRIER)]
        group = node(3, COLLECTIVE, [2], comm_type=ALLTOALL, comm_size=10, pg_name=f"tp{rank % 2}", is_cpu_op=False)
        more = node(4, COLLECTIVE, [3], comm_type=ALLGATHER, comm_size=8, pg_name=f"tp{rank % 2}")
        ranks.append([*whole, group, more])
    write_trace(tmp_path, ranks)
    assert actions(tmp_path, 3) == [
        "allreduce 800 0 6", "barrier", "communicator 2 1 3", "within 2 alltoall 5 5 6 6", "within 2 allgather 8 8 6 6",
    ]  # fmt: skip
    assert not outcome(tmp_path, 4).blocked


@pytest.mark.parametrize(
    ("kind", "text"),
    [(BROADCAST, "bcast 9 0 6"), (REDUCE_SCATTER, "reducescatter 5 5 0 6 block"), (1, "reduce 9 0 0 6"),
     (3, "gather 9 9 0 6 6"), (4, "scatter 5 5 0 6 6"), (8, "reducescatter 5 5 0 6 block")],
)  # fmt: skip
def test_collectives(tmp_path, kind, text):
    write_trace(tmp_path, [[node(1, COLLECTIVE, comm_type=kind, comm_size=9)]] * 2)
    assert actions(tmp_path, 1) == [text]
    assert not outcome(tmp_path, 2).blocked


def test_what_is_left_out_is_noted(tmp_path):
    nodes = [
        node(1, COMPUTE, [77, 78], duration=7, is_cpu_op=True), node(2, COMPUTE, [1, 79], duration=8, is_cpu_op=False),
        node(3, COLLECTIVE, duration=9, is_cpu_op=True), node(4, SEND, [2], duration=11, comm_size=8),
    ]  # fmt: skip
    trace = traces.load(write_trace(tmp_path, [nodes]))
    run(trace.program(), SMPI, platform.flat(1, 125e6, 15e-6))
    assert trace.notes() == [
        "carried over as the time that they took, not as messages: 1 COMM_SEND_NODE without a rank",
        "left out: 3 dependencies on nodes that the trace does not have",
    ]
    assert actions(tmp_path, 0) == ["compute 8000", "sleep 1.1e-05"]  # the launching of work takes no time beside it
    write_trace(tmp_path, [[node(1, COMPUTE, duration=7, is_cpu_op=True)]])
    assert actions(tmp_path, 0) == ["compute 7000"]


def test_packed_file_and_other_attributes(tmp_path):
    values = field(10, field(1, "double") + varint(3 << 3 | 1) + struct.pack("<d", 1.5))
    values += field(10, field(1, "float") + varint(5 << 3 | 5) + struct.pack("<f", 1.5))
    values += field(10, field(1, "zigzag") + field(17, 3)) + field(
        10, field(1, "list") + field(8, field(1, b"\x01\x02"))
    )
    long = field(2, field(1, "input_file") + field(29, "x" * 200000))
    data = encoded(*[node(number, COMPUTE, duration=1) + values for number in range(2000)], metadata=long)
    (tmp_path / "0.et").write_bytes(gzip.compress(data))
    assert len(actions(tmp_path / "0.et", 0)) == 2000


GOOD = encoded(node(1, COMPUTE, duration=5), node(2, COMPUTE, [1], duration=5))
FIRST = len(varint(len(METADATA)) + METADATA)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (GOOD[:-1], "the last message is cut off"),
        (GOOD[: FIRST + 1], f"byte {FIRST}: the last message is cut off"),
        (encoded(node(1, COMPUTE), node(1, COMPUTE)), "node 1 for a second time"),
        (encoded(node(1, COMPUTE, [2]), node(2, COMPUTE, [1])), "dependencies go in a circle"),
        (encoded(node(1, 8)), f"byte {FIRST + 1}: a node of kind 8"),
        (encoded(node(1, COMPUTE, duration=1 << 60)), "a time of 2^53"),
        (encoded(node(1, SEND, comm_dst=1, comm_size=1)), "comm_dst '1': expected 0 to 0"),
        (encoded(node(1, SEND, comm_dst=0, comm_size=-1)), "comm_size '-1'"),
        (encoded(node(1, SEND, comm_dst="x", comm_size=1)), "comm_dst 'x'"),
        (encoded(node(1, COLLECTIVE, comm_size=1)), "a collective without comm_type or comm_size"),
        (encoded(node(1, COLLECTIVE, comm_type=10, comm_size=1)), "comm_type '10'"),
        (encoded(b"\x0b"), "wire type 3"),
        (encoded(field(1, b"x")), "field 1 of a node is no number"),
        (encoded(b"\x0a\x7fx"), "does not fit into its message"),
        (GOOD + varint(1 << 40), "a message of 1099511627776 bytes"),
        (GOOD + b"\xff" * 12, "a number of more than 10 bytes"),
    ],
)
def test_damage_is_told_with_its_byte(tmp_path, data, problem):
    (tmp_path / "0.et").write_bytes(data)
    with pytest.raises(DamagedFileError, match=r"0\.et: byte \d+: ") as error:
        outcome(tmp_path / "0.et", 1)
    assert problem in str(error.value)


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_any_bytes_are_a_trace_or_damaged(tmp_path_factory, data):
    nodes = [node(1, COMPUTE, duration=5), node(2, SEND, [1], comm_dst=0, comm_size=8, comm_tag=1)]
    nodes += [node(3, RECEIVE, [1], comm_src=0, comm_size=8, comm_tag=1), node(4, COLLECTIVE, comm_type=0, comm_size=1)]
    damaged = bytearray(encoded(*nodes))
    for _ in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(FIRST, len(damaged) - 1))
        damaged[place] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "any.et"
    path.write_bytes(damaged[: data.draw(st.integers(FIRST, len(damaged)))] + data.draw(st.binary(max_size=8)))
    try:
        outcome(path, 1)
    except InputError:  # one line always, as `CommModelError` makes sure
        return


@given(st.binary(max_size=80))
def test_any_beginning_is_recognised_or_not(data):
    assert traces.FORMATS["chakra"][0](data) in (True, False)


def test_control_dependencies_are_no_order(tmp_path):
    """They go in a circle here, as 1,954 do in mlcommons' reference trace; data dependencies are 1, 2, 3."""
    nodes = [
        node(1, COMPUTE, duration=100) + field(4, b"\x02"),
        node(2, COMPUTE, [1], packed=True, duration=100) + field(4, b"\x01"),
        node(3, COMPUTE, [2], duration=100) + field(4, 2),
    ]
    write_trace(tmp_path, [nodes])
    assert outcome(tmp_path, 1).seconds == pytest.approx(300e-6)
