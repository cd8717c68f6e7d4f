"""GOAL's binary form: the bytes of LogGOPSim's txt2bin, the same schedule again, and damage in one line."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commmodel.collectives import Problem, build
from commmodel.errors import DamagedFileError, InputError
from commmodel.simulate import goal
from commmodel.simulate.delays import DelayParameters, run_schedule
from commmodel.simulate.goal.binary_form import content

PEER = DelayParameters(L=2500e-9, o=1500e-9, g=1000e-9, G=6e-9, S=65535)
COLUMNS = ["value", "peer", "tag", "kind", "cpu", "nic"]
SMALL = """num_ranks 2
rank 0 {
a: calc 100 cpu 2
b irequires a
b: send 8b to 1 tag 3 cpu 1 nic 2
c: calc 5
c requires b
c requires a
}
rank 1 { recv 8b from -1 tag -1
}
"""
ANY = 0xFFFFFFFF


def packed_operation(waits, kind, peer, size, tag, cpu, nic, ended, ended_at, started, started_at):
    return struct.pack("<IBIQIBBIIII", waits, kind, peer, size, tag, cpu, nic, ended, ended_at, started, started_at)


# As `Graph::serialize_mmap` of LogGOPSim's Parser.hpp puts them: (offsets count from byte 8 on.)
FIRST = struct.pack("<III", 3, 1, 0) + b"".join(
    [
        packed_operation(0, 3, 0, 100, 0, 2, 0, 1, 0, 1, 1),
        packed_operation(1, 1, 1, 8, 3, 1, 2, 1, 2, 0, 3),
        packed_operation(2, 3, 0, 5, 0, 0, 0, 0, 3, 0, 3),
        struct.pack("<III", 2, 1, 2),
    ]
)
SECOND = struct.pack("<III", 1, 1, 0) + packed_operation(0, 2, ANY, 8, ANY, 0, 0, 0, 0, 0, 0)
BEGIN = 6 + 32
BINARY = (
    struct.pack("<QIBB", 4223, 2, 2, 2)
    + struct.pack("<4Q", BEGIN, BEGIN + len(FIRST), BEGIN + len(FIRST), BEGIN + len(FIRST) + len(SECOND))
    + FIRST
    + SECOND
)


def assert_equal(first, second):
    assert first.operations[COLUMNS].tolist() == second.operations[COLUMNS].tolist()
    assert first.offsets.tolist() == second.offsets.tolist()
    assert sorted(first.dependencies.tolist()) == sorted(second.dependencies.tolist())


def rewritten(folder, schedule):
    goal.dump(schedule, folder / "schedule.bin")
    return goal.load(folder / "schedule.bin")


def test_bytes_are_those_of_the_peer(tmp_path):
    schedule = goal.parse(SMALL)
    goal.dump(schedule, tmp_path / "small.bin")
    assert (tmp_path / "small.bin").read_bytes() == BINARY
    assert goal.is_schedule(tmp_path / "small.bin")
    assert_equal(goal.load(tmp_path / "small.bin"), schedule)


def test_form_is_told_by_content(tmp_path):
    (tmp_path / "misnamed.txt").write_bytes(BINARY)
    assert goal.load(tmp_path / "misnamed.txt").operations.size == 4
    for words in ("num_ranks 2\n", "// a schedule\n/* of two */ num_ranks 2\n", SMALL):
        (tmp_path / "text.bin").write_text(words)
        assert goal.is_schedule(tmp_path / "text.bin")
        assert goal.load(tmp_path / "text.bin").processes == 2
    for words in ("0 init\n", "", "rank0\nrank1\n", "/* num_ranks 2", "/**/" * 4000):
        (tmp_path / "other").write_text(words)
        assert not goal.is_schedule(tmp_path / "other")
    assert not goal.is_schedule(tmp_path)
    assert not goal.is_schedule(tmp_path / "none")


def test_older_lists_of_no_dependents_may_begin_anywhere(tmp_path):
    at = BINARY.index(packed_operation(2, 3, 0, 5, 0, 0, 0, 0, 3, 0, 3)) + 23
    (tmp_path / "old.bin").write_bytes(BINARY[:at] + struct.pack("<IIII", 0, 999, 0, ANY) + BINARY[at + 16 :])
    assert_equal(goal.load(tmp_path / "old.bin"), goal.parse(SMALL))


@pytest.mark.parametrize("operation", ["bcast", "allreduce", "alltoall"])
def test_collectives_survive(tmp_path, operation):
    algorithm = {"bcast": "binomial", "allreduce": "ring", "alltoall": "linear"}[operation]
    schedule = goal.from_collective(build(operation, algorithm, Problem(7, 1000)))
    again = rewritten(tmp_path, schedule)
    assert_equal(again, schedule)
    assert run_schedule(again, PEER).ends.tobytes() == run_schedule(schedule, PEER).ends.tobytes()


@st.composite
def schedules(draw):
    """Text of schedules whose operations depend on earlier and, now and then, on later ones, without a circle."""
    processes = draw(st.integers(1, 4))
    lines = [f"num_ranks {processes}"]
    small, size = st.integers(0, 255), st.integers(0, 2**53 - 1)
    for rank in draw(st.permutations(range(processes))):
        count = draw(st.integers(0, 6))
        lines.append(f"rank {rank} {{")
        for number in range(count):
            kind = draw(st.sampled_from(["send", "recv", "calc"]))
            if kind == "calc":
                lines.append(f"l{number}: calc {draw(size)} cpu {draw(small)}")
                continue
            peer = draw(st.integers(0 if kind == "send" else -1, processes - 1))
            tag = draw(st.integers(0 if kind == "send" else -1, 2**31 - 1))
            way = "to" if kind == "send" else "from"
            lines.append(f"l{number}: {kind} {draw(size)}b {way} {peer} tag {tag} cpu {draw(small)} nic {draw(small)}")
        order = draw(st.permutations(range(count)))
        for earlier in range(count):
            for later in range(earlier + 1, count):
                relation = draw(st.sampled_from(["", "", "requires", "irequires"]))
                lines.append(f"l{order[later]} {relation} l{order[earlier]}" if relation else "")
        lines.append("}")
    return "\n".join(lines)


@settings(deadline=None, max_examples=100)
@given(words=schedules())
def test_any_schedule_is_read_as_written(tmp_path_factory, words):
    schedule = goal.parse(words)
    first = b"".join(content(schedule))
    path = tmp_path_factory.getbasetemp() / "schedule.bin"
    path.write_bytes(first)
    again = goal.load(path)
    assert_equal(again, schedule)
    assert_equal(goal.parse("".join(goal.text(again))), schedule)
    assert b"".join(content(again)) == first


def changed(place, value, form="<I"):
    return BINARY[:place] + struct.pack(form, value) + BINARY[place + struct.calcsize(form) :]


PART = BEGIN + 8
OPERATION = PART + 12


@pytest.mark.parametrize(
    ("damaged", "problem"),
    [
        (changed(0, 2342, "<Q"), "byte 0: a simulation of LogGOPSim that saves memory has spoilt this schedule"),
        (changed(8, 0), "byte 8: 0 ranks"),
        (changed(8, 2**20), "places of ranks do not fit in"),
        (BINARY[:11], "byte 0: 1 header do not fit in before byte 11"),
        (BINARY[:-1], "byte 30: rank 1 from byte"),
        (changed(14, 2**40, "<Q"), "parts of ranks|damaged"),
        (changed(14, 2**64 - 1, "<Q"), "damaged"),
        (changed(22, len(BINARY) - 8, "<Q"), "the parts of ranks are larger than the file|bytes too many"),
        (changed(PART, 4), "do not fit in before byte"),
        (changed(PART, 2**32 - 1), "do not fit in before byte"),
        (changed(PART + 4, 0), "do not fit in before byte|bytes too many|too many|that is no"),
        (changed(PART + 8, 1), "roots that are not the operations that wait for nothing"),
        (changed(OPERATION, 1), "waits for another number"),
        (changed(OPERATION + 4, 7, "<B"), f"byte {OPERATION + 4}: rank 0: an operation that is no send"),
        (changed(OPERATION + 39 + 5, 2), f"byte {OPERATION + 44}: rank 0: at most rank 1"),
        (changed(OPERATION + 9, 2**60, "<Q"), f"byte {OPERATION + 9}: rank 0: a size or time"),
        (changed(OPERATION + 39 + 17, 2**31), f"byte {OPERATION + 56}: rank 0: a tag of more than"),
        (changed(OPERATION + 23, 9), "dependencies do not fit in before byte"),
        (changed(OPERATION + 27, 3), "dependencies outside of their list of 3"),
        (changed(OPERATION + 117, 3), f"byte {OPERATION + 117}: rank 0: a dependent that is not one of 3"),
    ],
)
def test_damage_is_told_with_its_byte(tmp_path, damaged, problem):
    (tmp_path / "damaged.bin").write_bytes(damaged)
    with pytest.raises(DamagedFileError, match=problem):
        goal.load(tmp_path / "damaged.bin")


def test_circle_is_found(tmp_path):
    part = struct.pack("<II", 2, 0) + packed_operation(1, 3, 0, 5, 0, 0, 0, 1, 0, 0, 1)
    part += packed_operation(1, 3, 0, 5, 0, 0, 0, 0, 1, 1, 1) + struct.pack("<II", 1, 0)
    head = struct.pack("<QIBB2Q", 4223, 1, 0, 0, 22, 22 + len(part))
    (tmp_path / "circle.bin").write_bytes(head + part)
    with pytest.raises(DamagedFileError, match=r"byte 38: rank 0: .* go in a circle"):
        goal.load(tmp_path / "circle.bin")


def test_missing_file_is_told(tmp_path):
    with pytest.raises(InputError, match=r"none\.bin: No such file"):
        goal.load(tmp_path / "none.bin")


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_any_bytes_are_a_schedule_or_damaged(tmp_path_factory, data):
    damaged = bytearray(BINARY)
    for _ in range(data.draw(st.integers(0, 4))):
        damaged[data.draw(st.integers(8, len(damaged) - 1))] = data.draw(st.sampled_from([0, 1, 2, 3, 38, 127, 255]))
    damaged = damaged[: data.draw(st.integers(8, len(damaged)))] + data.draw(st.binary(max_size=8))
    path = tmp_path_factory.getbasetemp() / "any.bin"
    path.write_bytes(damaged)
    try:
        schedule = goal.load(path)
    except InputError:  # one line always, as `CommModelError` makes sure
        return
    run_schedule(schedule, PEER)
