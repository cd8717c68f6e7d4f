"""GOAL schedules: the text format, and LogGOPS against closed forms, the peer's figures and small cases by hand."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commmodel.collectives import Problem, build
from commmodel.errors import DamagedFileError, InputError
from commmodel.simulate import goal
from commmodel.simulate.delays import DelayParameters, run_schedule
from commmodel.simulate.states import State

PEER = DelayParameters(L=2500e-9, o=1500e-9, g=1000e-9, G=6e-9, S=65535)
"""LogGOPSim's defaults."""


def nanoseconds(schedule, parameters=PEER, **options) -> list[int]:
    result = run_schedule(schedule, parameters, **options)
    assert result.blocked == ()
    ends = result.ends * 1e9
    assert np.abs(ends - ends.round()).max() < 1e-6
    return ends.round().astype(int).tolist()


def ranks(*statements: str, head: str = "") -> goal.GoalSchedule:
    """A schedule of ranks; statements of a rank are parted by semicolons."""
    blocks = (f"rank {rank} {{\n{statement.replace(';', chr(10))}\n}}\n" for rank, statement in enumerate(statements))
    return goal.parse(f"{head}num_ranks {len(statements)}\n{''.join(blocks)}")


def collective(operation: str, algorithm: str, processes: int, size: int = 8) -> goal.GoalSchedule:
    schedule = goal.from_collective(
        build(operation, algorithm, Problem(processes, 0 if operation == "barrier" else size))
    )
    messages = schedule.operations["kind"] != goal.Kind.CALCULATE
    schedule.operations["value"][messages] = size
    return schedule


# LogGOPSim's figures: L 2500, o 1500, g 1000, G 6, O 0, S 65535, messages of 8 bytes.
LOGARITHMIC = {2: 5542, 64: 33252, 1024: 55420, 4096: 66504}
LINEAR = {64: 191646, 128: 386334, 256: 775710}


@pytest.mark.parametrize(("processes", "expected"), LOGARITHMIC.items())
@pytest.mark.parametrize(("operation", "algorithm"), [("bcast", "binomial"), ("barrier", "dissemination")])
def test_broadcast_and_dissemination_take_what_the_peer_says(operation, algorithm, processes, expected):
    assert max(nanoseconds(collective(operation, algorithm, processes))) == expected


@pytest.mark.parametrize(("processes", "expected"), LINEAR.items())
def test_linear_alltoall_takes_what_the_peer_says(processes, expected):
    assert max(nanoseconds(collective("alltoall", "linear", processes))) == expected


def test_sends_keep_the_order_of_the_file():
    schedule = collective("bcast", "binomial", 5)
    root = schedule.operations[: schedule.offsets[1]]
    assert root["peer"][root["kind"] == goal.Kind.SEND].tolist() == [4, 2, 1]
    # The root's sends begin at 0, 1500 and 3000; rank 2 has its message at 7042 and sends it to rank 3.
    assert nanoseconds(schedule) == [4500, 8542, 8542, 12584, 5542]


sizes = st.sampled_from([1, 8, 1000, 65535])
times = st.integers(0, 3000)


@settings(deadline=None, max_examples=100)
@given(times, times, times, st.integers(0, 9), st.integers(0, 9), sizes, st.integers(0, 20000))
def test_a_message_classic_and_newer(L, o, g, G, per_byte, size, late):
    p = DelayParameters(*(entry * 1e-9 for entry in (L, o, g, G, per_byte, per_byte)), S=65535)
    schedule = ranks(f"send {size}b to 1", f"c: calc {late};r: recv {size}b from 0;r requires c")
    busy, rest = size - 1, (size - 1) * G
    arrives = o + L
    # Classic: on its arrival it takes the processor, which may be calculating.
    end = max(arrives, late) + o + max(busy * per_byte, rest)
    assert nanoseconds(schedule, p) == [o + busy * per_byte, end]
    arrives = o + busy * per_byte + L + rest
    assert nanoseconds(schedule, p, rules="newer") == [
        o + busy * per_byte,
        max(arrives, late) + g + o + busy * per_byte,
    ]


def test_a_rendezvous_ends_at_the_match():
    p = DelayParameters(L=10e-9, o=2e-9, g=1e-9, G=1e-9, S=4)
    after = "s: send 5b to 1;c: calc 7;c requires s"
    assert nanoseconds(ranks(after, "recv 5b from 0"), p) == [12 + 7, 12 + 2 + 4]
    late = ranks(after, "w: calc 100;r: recv 5b from 0;r requires w")
    assert nanoseconds(late, p) == [
        107,
        106,
    ]  # the message's processor time comes after the calculation, then the receive
    assert nanoseconds(ranks(after.replace("5b", "4b"), "recv 4b from 0"), p)[0] == 2 + 7
    assert nanoseconds(late, p, rules="newer") == [100 + 1 + 2 + 7, 103]


def test_nics_and_processors_work_side_by_side():
    p = DelayParameters(L=10e-9, o=2e-9, g=5e-9, G=0.0)
    receives = "recv 1b from 0 tag 1; recv 1b from 0 tag 2"
    assert nanoseconds(ranks("send 1b to 1 tag 1; send 1b to 1 tag 2", receives), p) == [7, 19]
    assert nanoseconds(ranks("send 1b to 1 tag 1; send 1b to 1 tag 2 nic 1", receives), p) == [4, 16]
    text = "send 1b to 1 tag 1; send 1b to 1 tag 2 cpu 1 nic 1"
    assert nanoseconds(ranks(text, receives), p) == [2, 14]
    assert nanoseconds(ranks("calc 5; calc 7 cpu 3", ""), p) == [7, 0]


def test_requires_waits_for_the_end_and_irequires_for_the_start():
    assert nanoseconds(ranks("a: calc 10; b: calc 5 cpu 1; b requires a")) == [15]
    assert nanoseconds(ranks("a: calc 10; b: calc 5 cpu 1; b irequires a")) == [10]
    assert nanoseconds(ranks("a: calc 10; b: calc 5 cpu 1; c: calc 9 cpu 2; b requires a; c irequires b")) == [19]


def test_models_leave_parameters_out():
    schedule = ranks("send 101b to 1", "recv 101b from 0")
    p = DelayParameters(L=10e-9, o=2e-9, g=1e-9, G=1e-9, O_s=3e-9, O_r=3e-9, S=4)
    assert [nanoseconds(schedule, p, model=model)[1] for model in ("logp", "loggp", "loggps", "loggops")] == [
        14,
        114,
        114,
        314,
    ]
    with pytest.raises(InputError, match="choose one of loggops, loggps, loggp, logp"):
        run_schedule(schedule, p, model="hybrid")
    with pytest.raises(InputError, match="choose one of classic, newer"):
        run_schedule(schedule, p, rules="old")


def test_a_deadlock_names_the_lines():
    result = run_schedule(
        ranks("recv 8b from 1 tag 5", "send 70000b to 0 tag 6", "recv 1b from any"), PEER, deadlock="return"
    )
    assert [str(entry) for entry in result.blocked] == [
        "rank 0 waits in recv (line 3) for a message from rank 1 with tag 5",
        "rank 1 waits in send (line 6) until rank 0 receives 70000 bytes with tag 6",
        "rank 2 waits in recv (line 9) for a message from any rank with tag 0",
    ]
    assert result.unmatched_messages == 1


def test_wildcards_and_records():
    schedule = ranks(
        "a: recv 8b from -1 tag -1; b: recv 8b from any tag 7; b requires a", "send 8b to 0 tag 3; send 8b to 0 tag 7"
    )
    result = run_schedule(schedule, PEER, record=True)
    assert result.blocked == ()
    assert result.transfers[["sender", "receiver", "tag"]].tolist() == [(1, 0, 3), (1, 0, 7)]
    assert [round(1e9 * entry) for entry in result.transfers["arrived"].tolist()] == [4042, 5584]
    states = [State.SEND, State.SEND, State.RECEIVE, State.RECEIVE, State.WAIT, State.TRANSFER]
    assert result.intervals["state"].tolist() == states
    assert (1e9 * result.spent[0]).round().tolist() == [0, 0, 3084, 1500, 0, 2500, 0]  # until the first has left: o


SOURCE = """/* a schedule
   of three */
num_ranks 3
rank 2 { // the last one first
  last: recv 16b from 1 tag 4
}

rank 0 {
a: calc 100 cpu 2
b irequires a   # b comes later
b: send 8b to 1 tag 3 cpu 1 nic 2
calc 5 }
rank 1 { x: recv 8b from any
send 16 b to 2 tag 4
}
"""


def test_text_is_read_and_written(tmp_path):
    schedule = goal.parse(SOURCE)
    assert schedule.offsets.tolist() == [0, 3, 5, 6]
    assert schedule.dependencies.tolist() == [(1, 0, 1)]
    assert schedule.operations["value"].tolist() == [100, 8, 5, 8, 16, 16]
    assert schedule.operations["line"].tolist() == [9, 11, 12, 13, 14, 5]
    assert schedule.operations[["peer", "tag", "cpu", "nic"]][1].tolist() == (1, 3, 1, 2)
    path = tmp_path / "one.goal"
    goal.dump(schedule, path)
    again = goal.load(path)
    columns = ["value", "peer", "tag", "kind", "cpu", "nic"]
    assert again.operations[columns].tolist() == schedule.operations[columns].tolist()
    assert again.dependencies.tolist() == schedule.dependencies.tolist()
    packed = tmp_path / "one.goal.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert goal.load(packed).operations.tobytes() == again.operations.tobytes()


def test_collectives_survive_their_text(tmp_path):
    schedule = collective("allreduce", "ring", 5, 1000)
    path = tmp_path / "ring.goal"
    goal.dump(schedule, path)
    assert nanoseconds(goal.load(path)) == nanoseconds(schedule)


def test_many_join_through_one_operation():
    schedule = goal.from_collective(build("alltoall", "linear", Problem(6, 8)), memory_copy=1.0)
    assert schedule.operations.size == 2 * 30
    two = build("barrier", "linear", Problem(6))
    joined = goal.from_collective(two)
    assert max(nanoseconds(joined)) > 0
    bruck = goal.from_collective(build("alltoall", "bruck", Problem(8, 100)), memory_copy=1.0)
    assert (bruck.operations["kind"] == goal.Kind.CALCULATE).sum() == 8 * 4
    assert max(nanoseconds(bruck)) > max(nanoseconds(goal.from_collective(build("alltoall", "bruck", Problem(8, 100)))))


HEAD = "num_ranks 2\nrank 0 {\n"


@pytest.mark.parametrize(
    ("words", "line", "problem"),
    [
        ("", "", "it does not say `num_ranks N`"),
        ("rank 0 {\n}", "1", "a rank before num_ranks"),
        ("num_ranks 0\n", "1", "there must be at least one"),
        ("num_ranks 99999999\n", "1", "at most 16777216"),
        ("num_ranks 2\nnum_ranks 2\n", "2", "for a second time"),
        ("num_ranks 2\nrank 2 {\n", "2", "a rank 2: at most 1"),
        ("num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n", "4", "rank 0 for a second time"),
        (f"{HEAD}send 8b to 2\n}}", "3", "a rank 2: at most 1"),
        (f"{HEAD}send 8b from 1\n}}", "3", "expected to, found 'from'"),
        (f"{HEAD}send 8 to 1\n}}", "3", "expected b, as in 8b, found 'to'"),
        (f"{HEAD}send -8b to 1\n}}", "3", "expected a number of bytes, found '-8b'"),
        (f"{HEAD}send 8b to -1\n}}", "3", "expected a rank, found '-1'"),
        (f"{HEAD}calc 99999999999999999999\n}}", "3", "more than 17 digits"),
        (f"{HEAD}calc 5 cpu 256\n}}", "3", "a processor 256: at most 255"),
        (f"{HEAD}calc 5 tag 1\n}}", "3", "expected the end of the statement, found 'tag'"),
        (f"{HEAD}a: calc 5\na: calc 6\n}}", "4", "label a for a second time"),
        (f"{HEAD}a: calc 5\nb requires a\n}}", "4", "rank 0 has no label b"),
        (
            f"{HEAD}a: calc 5\nb: calc 5\na requires b\nb irequires a\n}}",
            "",
            "rank 0: .* its dependencies go in a circle",
        ),
        (f"{HEAD}a: calc 5\na requires a\n}}", "3", "rank 0: a waits for itself"),
        (f"{HEAD}a: fly 5\n}}", "3", "expected send, recv or calc, found 'fly'"),
        (f"{HEAD}send 8b to 1\n", "3", "the file ends within rank 0"),
        (f"{HEAD}rank 1 {{\n", "3", "is its } missing"),
        (f"{HEAD}}}\n}}\n", "4", "a } that closes nothing"),
        (f"{HEAD}/* calc 5\n", "3", "close it with"),
        (f"{HEAD}{'x' * 70000}: calc 5\n}}\n", "3", "a line of more than 65536 bytes"),
        ("\x00\x01\x02\n", "1", "expected num_ranks N"),
    ],
)
def test_damaged_text_is_told_with_its_line(words, line, problem):
    with pytest.raises(DamagedFileError, match=problem) as raised:
        goal.parse(words)
    assert f"line {line}" in str(raised.value) or not line


@settings(deadline=None, max_examples=200)
@given(
    st.lists(
        st.sampled_from(
            [*"{}:/*#\n 19ab-", "rank 0 {\n", "num_ranks 2\n", "send 8b to 1", "l1", " requires ", "calc 5\n"]
        )
    )
)
def test_any_text_is_a_schedule_or_damaged(parts):
    try:
        schedule = goal.parse("".join(parts))
    except DamagedFileError:
        return
    assert schedule.processes == 2 or schedule.processes > 0


def test_wrong_arrays_are_told():
    good = ranks("calc 1;a: calc 2;b: calc 3;b requires a", "calc 4")
    for column, value in (("peer", 7), ("tag", -1), ("kind", 3), ("value", -1.0)):
        operations = good.operations.copy()
        operations[column][1] = value
        with pytest.raises(InputError, match="operation 1 of the schedule"):
            goal.GoalSchedule(operations, good.offsets, good.dependencies)
    for on in (3, 4, -1):
        dependencies = good.dependencies.copy()
        dependencies["on"] = on
        with pytest.raises(InputError, match="dependency 0 of the schedule"):
            goal.GoalSchedule(good.operations, good.offsets, dependencies)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_schedules_end_repeat_and_bound(data):
    """A schedule in which all comes in one order ends, the same each time, no sooner than its busiest processor."""
    processes = data.draw(st.integers(2, 5))
    lines = [[] for _ in range(processes)]
    for tag in range(data.draw(st.integers(1, 15))):
        sender, receiver = data.draw(st.permutations(range(processes)))[:2]
        size = data.draw(st.sampled_from([1, 8, 1000, 70000]))
        lines[sender].append(f"send {size}b to {receiver} tag {tag}")
        lines[receiver].append(f"recv {size}b from {sender} tag {tag}")
        lines[data.draw(st.integers(0, processes - 1))].append(f"calc {data.draw(st.integers(0, 9999))}")
    chained = [
        ";".join(
            [
                *(f"l{i}: {item}" for i, item in enumerate(entry)),
                *(f"l{i} requires l{i - 1}" for i in range(1, len(entry))),
            ]
        )
        for entry in lines
    ]
    for rules in ("classic", "newer"):
        result = run_schedule(ranks(*chained), PEER, rules=rules)
        assert (result.blocked, result.unmatched_messages) == ((), 0)
        assert result.ends.tobytes() == run_schedule(ranks(*chained), PEER, rules=rules).ends.tobytes()
        busy = result.spent[:, [State.COMPUTE, State.SEND, State.RECEIVE]].sum(axis=1)
        assert (busy <= result.ends * (1 + 1e-12)).all()


def test_too_many_processors_are_told():
    words = "num_ranks 1000\nrank 0 {\ncalc 5 cpu 255\nsend 8b to 1 nic 255\n}\n"
    with pytest.raises(InputError, match="1000 ranks with 256 processors and 256 NICs each: that is too many"):
        run_schedule(goal.parse(words), PEER)
