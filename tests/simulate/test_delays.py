"""Delay models: programs under LogP, LogGP and LogGPS against closed forms and predicted collectives."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commmodel._core.delays.critical_path import finish_times
from commmodel.collectives import ALGORITHMS, Problem, build
from commmodel.errors import InputError, MissingParameterError
from commmodel.machine import Edge, Hybrid, Limit, LogGP, Machine, Mode, Parameter, Segment
from commmodel.simulate import OPERATION, Code, DelayModel, DelayParameters, Program, delays, run, work
from commmodel.simulate.operations import ANY, EVERY_NAMED, UNNAMED
from commmodel.simulate.states import State

COMPUTE, SEND, ISEND, RECV, IRECV = Code.COMPUTE, Code.SEND, Code.ISEND, Code.RECV, Code.IRECV
WAIT, WAITALL, TEST, MARK, SLEEP = Code.WAIT, Code.WAITALL, Code.TEST, Code.MARK, Code.SLEEP
TIED = {
    ("bcast", "scatter-recursive-doubling"),
    ("allgather", "recursive-doubling"),
    ("reduce_scatter", "recursive-doubling"),
    ("reduce_scatter_block", "recursive-doubling"),
    ("reduce", "reduce-scatter-gather-halves"),
    ("allreduce", "reduce-scatter-allgather-halves"),
}
"""On numbers of processes that are no power of two, messages for different rounds come at the same time: `criticalpath`
knows the rounds, and lets that of the sooner round pass the port first; here the rank of the sender decides."""

SIMPLE = DelayParameters(L=8.0, o=1.0, g=2.0, G=0.5)
NICS = DelayParameters(L=8.0, o=1.0, G=0.5, G_small=1.0, small=4.0, S=64.0)


def rank(*operations: tuple) -> np.ndarray:
    """Operations of a rank: code, peer, tag, value, and a request's name where there is one."""
    entry = [item if len(item) == 5 else (*item, UNNAMED) for item in operations]
    return np.array([(code, peer, tag, name, value) for code, peer, tag, value, name in entry], dtype=OPERATION)


def only(code: Code, request: int = UNNAMED) -> tuple:
    return (code, -1, 0, 0.0, request)


def closed_form(p: DelayParameters, k: float, late: float) -> tuple[float, float]:
    """What MPI_Send and MPI_Recv take where the receive begins `late` after the send: Bédaride 2013, Figure 1."""
    T1 = p.o + k * p.O_s
    T2 = p.L + (k * p.G_small if k < p.small else p.small * p.G_small + (k - p.small) * p.G)
    T3 = p.o + k * p.O_r
    T5 = 2 * p.o + p.L
    if k <= p.S:
        return T1, max(T1 + T2 - late, 0) + T3
    T4 = max(p.L + p.o, late) + p.o
    return T4 + T5 + T1, max(p.o + p.L - late, 0) + p.o + T5 + T1 + T2 + T3


numbers = st.integers(0, 50).map(float)
quarters = st.integers(0, 40).map(lambda n: n / 4)  # sums of these are exact


@settings(deadline=None, max_examples=150)
@given(
    numbers, numbers, quarters, quarters, quarters, quarters, st.sampled_from([0.0, 4.0, 16.0]), st.integers(0, 40),
    st.integers(-300, 300),
)  # fmt: skip
def test_a_message_takes_what_the_formulas_say(L, o, G, O_s, O_r, G_small, small, size, late):
    parameters = DelayParameters(L=L, o=o, G=G, O_s=O_s, O_r=O_r, S=20.0, G_small=G_small, small=small)
    sender = rank((SLEEP, -1, 0, max(-late, 0)), (SEND, 1, 0, size))
    receiver = rank((SLEEP, -1, 0, max(late, 0)), (RECV, 0, 0, size))
    result = run(Program.from_ranks([sender, receiver]), DelayModel(parameters))
    send, receive = closed_form(parameters, size, late)
    assert result.blocked == ()
    assert result.ends.tolist() == [max(-late, 0) + send, max(late, 0) + receive]
    assert result.spent[0, [State.SEND, State.WAIT]].sum() == send
    assert result.spent[1, [State.RECEIVE, State.WAIT]].sum() == receive


def schedule_ends(operation: str, algorithm: str, problem: Problem, p: DelayParameters, G: float) -> list[float]:
    schedule = build(operation, algorithm, problem)
    rest, o = np.maximum(schedule.size - 1, 0) * G, np.full(schedule.messages, p.o)
    messages = schedule.round, schedule.sender, schedule.receiver
    return finish_times(problem.processes, *messages, o, o, p.g + rest, p.L + rest).tolist()


@pytest.mark.parametrize("g", [0.25, 2.0, 8.0])
@pytest.mark.parametrize("operation", ALGORITHMS)
def test_collectives_are_what_the_critical_path_says(operation, g):
    parameters = DelayParameters(L=3.0, o=1.0, g=g, G=0.25)
    for algorithm, form in ALGORITHMS[operation].items():
        for processes in (2, 3, 7, 8):
            power = processes & (processes - 1) == 0
            if form.stages or (not power and (algorithm == "pairwise-xor" or (operation, algorithm) in TIED)):
                continue
            for size in (0,) if operation == "barrier" else (0, 1, 100):
                try:
                    program = work.collective(operation, Problem(processes, size), algorithm=algorithm)
                except InputError:
                    assert not power
                    continue
                for model, G in (("logp", 0.0), ("loggp", 0.25)):
                    expected = schedule_ends(operation, algorithm, Problem(processes, size), parameters, G)
                    assert run(program, DelayModel(parameters, model)).ends.tolist() == expected


def test_a_nic_sends_one_message_at_a_time_and_the_processor_goes_on():
    sender = rank((ISEND, 1, 0, 20), (ISEND, 2, 0, 20), only(WAITALL))
    result = run(Program.from_ranks([sender, rank((RECV, 0, 0, 20)), rank((RECV, 0, 0, 20))]), DelayModel(NICS))
    bytes_take = 4 * 1.0 + 16 * 0.5
    first = 1 + bytes_take  # leaves at 1, the NIC is free at 13
    assert result.ends.tolist() == [2.0, 1 + 8 + bytes_take + 1, first + 8 + bytes_take + 1]


def test_a_nic_receives_one_message_at_a_time():
    receiver = rank((IRECV, 1, 0, 20), (IRECV, 2, 0, 20), only(WAITALL))
    result = run(Program.from_ranks([receiver, rank((SEND, 0, 0, 20)), rank((SEND, 0, 0, 20))]), DelayModel(NICS))
    assert result.ends[0] == 1 + 8 + 12 + 12 + 1


@pytest.mark.parametrize("name", ["logp", "loggp", "loggps"])
@pytest.mark.parametrize("S", [math.inf, 10.0])
def test_a_message_to_oneself_takes_no_nic_and_no_latency(name, S):
    p = DelayParameters(L=100.0, o=1.0, g=50.0, G=2.0, S=S)
    alone = Program.from_ranks([rank((Code.IRECV, 0, 0, 1000), (Code.ISEND, 0, 0, 1000), only(Code.WAITALL))])
    asks = 4 * p.o if name == "loggps" and S < 1000 else 0.0  # question and answer, each sent and taken
    assert run(alone, DelayModel(p, name)).seconds == 2 * p.o + asks


def test_loggp_stalls_the_processor_at_its_port():
    sender = rank((SEND, 1, 0, 9), (SEND, 1, 0, 9), (COMPUTE, -1, 0, 5.0))
    receiver = rank((RECV, 0, 0, 9), (RECV, 0, 0, 9))
    result = run(Program.from_ranks([sender, receiver]), DelayModel(SIMPLE, "loggp"))
    gap = 2 + 8 * 0.5
    assert result.ends.tolist() == [gap + 1 + 5, gap + 1 + 8 + 4 + 1]
    assert result.spent[0].tolist() == [5.0, gap + 1, 0, 0, 0, 0, 0]


def test_messages_are_received_in_the_order_of_sending():
    sender = rank((SEND, 1, 5, 1), (SEND, 1, 6, 2), (SEND, 1, 5, 3))
    receiver = rank((SLEEP, -1, 0, 99), (RECV, 0, ANY, 1), (RECV, ANY, 5, 3), (RECV, ANY, ANY, 2))
    assert run(Program.from_ranks([sender, receiver]), DelayModel(NICS)).blocked == ()
    crossed = rank((SLEEP, -1, 0, 99), (RECV, 0, ANY, 1), (RECV, ANY, ANY, 1))
    with pytest.raises(InputError, match="from rank 0 to rank 1 with tag 6 is longer than its receive"):
        run(Program.from_ranks([sender, crossed]), DelayModel(NICS))


def test_a_posted_wildcard_comes_before_what_was_posted_later():
    receiver = rank((IRECV, ANY, ANY, 1), (IRECV, 0, 5, 2), (IRECV, ANY, 7, 3), (IRECV, 0, ANY, 4), only(WAITALL))
    sender = rank((SEND, 1, 5, 1), (SEND, 1, 5, 2), (SEND, 1, 7, 3), (SEND, 1, 5, 4))
    result = run(Program.from_ranks([sender, receiver]), DelayModel(NICS))
    assert (result.blocked, result.unmatched_messages) == ((), 0)


def test_any_tag_takes_no_collective_message():
    result = run(
        Program.from_ranks([rank((SEND, 1, -2, 1)), rank((RECV, 0, ANY, 1))]), DelayModel(NICS), deadlock="return"
    )
    assert [str(entry) for entry in result.blocked] == ["rank 1 waits in MPI_Recv for a message from rank 0"]
    assert result.unmatched_messages == 1


def test_deadlocks_say_who_waits_for_whom():
    entry = [rank((SEND, 1 - index, 3, 100), (RECV, 1 - index, 3, 100)) for index in range(2)]
    third = rank((IRECV, ANY, 4, 8, 7), (WAIT, -1, 0, 0, 7))
    result = run(Program.from_ranks([*entry, third]), DelayModel(NICS), deadlock="return")
    assert [str(item) for item in result.blocked] == [
        "rank 0 waits in MPI_Send until rank 1 receives 100 bytes with tag 3",
        "rank 1 waits in MPI_Send until rank 0 receives 100 bytes with tag 3",
        "rank 2 waits in MPI_Wait for a message from any rank with tag 4",
    ]
    assert run(Program.from_ranks(entry), DelayModel(NICS, "loggp")).blocked == ()


def test_an_exchange_by_rendezvous_ends():
    entry = [rank((IRECV, 1 - index, 0, 100), (ISEND, 1 - index, 0, 100), only(WAITALL)) for index in range(2)]
    result = run(Program.from_ranks(entry), DelayModel(NICS))
    assert result.blocked == ()
    # Question 1 + 8; question taken and answered 2 + 8; answer taken, message leaves 1 + 1 + 8 + (4 + 48); taken 1.
    assert result.ends.tolist() == [9 + 10 + 1 + 1 + 8 + 52 + 1] * 2


def test_a_send_may_wait_for_a_rank_that_has_ended():
    result = run(Program.from_ranks([rank((ISEND, 1, 0, 100)), rank((RECV, 0, 0, 100))]), DelayModel(NICS))
    assert result.blocked == ()


def test_requests_by_name_and_all_at_once():
    receiver = rank(
        *((IRECV, 0, tag, 8, tag) for tag in range(4)), only(WAIT, 0), (IRECV, 0, 4, 8, 0),
        only(WAITALL, EVERY_NAMED), only(WAIT, 1), only(TEST, 1), (MARK, -1, 0, 3),
    )  # fmt: skip
    sender = rank(*((ISEND, 1, tag, 8, tag) for tag in range(5)), only(TEST, 2), only(WAITALL, EVERY_NAMED))
    result = run(Program.from_ranks([sender, receiver]), DelayModel(NICS))
    assert result.blocked == ()
    assert result.marks.tolist() == [(1, 3, result.ends[1])]


def test_test_takes_what_has_come_and_goes_on():
    receiver = rank((IRECV, 0, 0, 8, 1), (COMPUTE, -1, 0, 4.0), only(TEST, 1), (COMPUTE, -1, 0, 50.0), only(TEST, 1))
    result = run(Program.from_ranks([rank((SEND, 1, 0, 8)), receiver]), DelayModel(NICS))
    assert result.ends.tolist() == [1.0, 55.0]
    assert result.spent[1].tolist() == [54.0, 0, 1.0, 0, 0, 0, 0]


def test_a_program_may_come_in_pieces():
    whole = work.collective("allreduce", Problem(8, 5000), algorithm="ring")
    parts = {r: list(np.array_split(whole.operations[whole.offsets[r] : whole.offsets[r + 1]], 3)) for r in range(8)}
    pieces = Program(
        np.empty(0, OPERATION), np.zeros(9, np.int64), lambda r: parts[r].pop(0) if parts[r] else np.empty(0, OPERATION)
    )
    expected = run(whole, DelayModel(NICS))
    assert run(pieces, DelayModel(NICS)).ends.tolist() == expected.ends.tolist()


def test_what_goes_wrong_in_a_refill_is_told():
    def refill(_: int) -> np.ndarray:
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        run(Program(np.empty(0, OPERATION), np.zeros(3, np.int64), refill), DelayModel(NICS))


def test_wrong_names_and_numbers_are_told():
    with pytest.raises(InputError, match="choose one of loggps, loggp, logp"):
        run(Program.from_ranks([rank()]), DelayModel(NICS, "hybrid"))
    with pytest.raises(InputError, match="L is -1"):
        DelayParameters(L=-1.0, o=0.0)
    with pytest.raises(InputError, match="G is inf"):
        DelayParameters(L=1.0, o=0.0, G=math.inf)


def test_records_are_what_happened():
    result = run(
        Program.from_ranks([rank((SEND, 1, 4, 10)), rank((COMPUTE, -1, 0, 2.0), (RECV, 0, 4, 10))]),
        DelayModel(NICS),
        record=True,
    )
    assert result.transfers.tolist() == [(0, 1, 4, 10.0, 0.0, 1.0, 1 + 8 + 4 + 3.0)]
    assert result.intervals.tolist() == [
        (0, State.SEND, 1, 4, 10.0, 0.0, 1.0),
        (1, State.COMPUTE, -1, -1, 0.0, 0.0, 2.0),
        (1, State.RECEIVE, 0, 4, 10.0, 2.0, 17.0),
    ]


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_times_scale_and_repeat(data):
    """Twice as slow in all, twice as long to the last bit; and the same a second time."""
    processes = data.draw(st.integers(2, 6))
    ranks = [[] for _ in range(processes)]
    for tag in range(data.draw(st.integers(1, 12))):
        sender, receiver = data.draw(st.permutations(range(processes)))[:2]
        size = data.draw(st.sampled_from([0, 1, 30, 64, 65, 500]))
        ranks[sender].append((ISEND, receiver, tag, size))
        ranks[receiver].append((IRECV, sender, tag, size))
        ranks[data.draw(st.integers(0, processes - 1))].append((COMPUTE, -1, 0, data.draw(numbers)))
    program = Program.from_ranks([rank(*entry, only(WAITALL)) for entry in ranks])
    twice = program.operations.copy()
    twice["value"][twice["code"] == COMPUTE] *= 2
    for model in delays.MODELS:
        slow = DelayParameters(L=16.6, o=1.4, g=4.2, G=0.2, G_small=0.6, small=4.0, S=64.0)
        fast = DelayParameters(L=8.3, o=0.7, g=2.1, G=0.1, G_small=0.3, small=4.0, S=64.0)
        result = run(program, DelayModel(fast, model))
        assert result.blocked == ()
        assert result.unmatched_messages == 0
        assert run(program, DelayModel(fast, model)).ends.tobytes() == result.ends.tobytes()
        slowed = run(Program(twice, program.offsets), DelayModel(slow, model))
        assert slowed.ends.tolist() == (2 * result.ends).tolist()
        np.testing.assert_allclose(result.spent.sum(axis=1), result.ends)


def test_parameters_of_a_machine():
    def delay_parameters(L, G):
        return LogGP(Parameter(L), Parameter(1e-6), Parameter(3e-6), Parameter(G))

    machine = Machine("m", (Segment("all", loggp=delay_parameters(2e-6, 1e-9)),))
    assert delays.from_machine(machine) == DelayParameters(L=2e-6, o=1e-6, g=3e-6, G=1e-9)
    eager = Segment("eager", limit=Limit(1000), loggp=delay_parameters(2e-6, 4e-9))
    two = Machine("m", (eager, Segment("rendezvous", loggp=delay_parameters(5e-6, 1e-9))))
    assert delays.from_machine(two) == DelayParameters(
        L=2e-6, o=1e-6, g=3e-6, G=1e-9, S=1000.0, G_small=4e-9, small=1000.0
    )
    with pytest.raises(MissingParameterError, match=r"measure it with python -m commmodel.bench loggp"):
        delays.from_machine(Machine("m", (Segment("all"),)))


def test_parameters_of_a_hybrid_model():
    def mode(kind, L, B, limit=None, **overheads):
        values = {name: Parameter(value) for name, value in overheads.items()}
        return Mode(kind, Parameter(L), Parameter(B), limit=limit and Edge(limit), **values)

    small = mode("asynchronous", 3e-5, 1e8, 1000, o_s=2e-6, O_s=1e-9, o_r=4e-6, O_r=2e-9)
    model = Hybrid((small, mode("detached", 4e-5, 1.1e8, 9000, O_s=3e-9, O_r=1e-9), mode("synchronous", 9e-5, 1.2e8)))
    p = delays.from_machine(Machine("m", (Segment("all"),), hybrid=(model,)))
    assert (p.small, p.S, p.O_s, p.O_r) == (1000, 9000, 3e-9, 1e-9)

    def one_way(size):
        return run(Program.from_ranks([rank((SEND, 1, 0, size)), rank((RECV, 0, 0, size))]), DelayModel(p)).ends[1]

    assert [one_way(size) for size in (0, 1000)] == pytest.approx([model.seconds(size) for size in (0, 1000)])
    assert one_way(200_000) - one_way(100_000) == pytest.approx(100_000 / 1.2e8)


def test_by_loggps_a_question_does_not_overtake_by_rounding():
    waits = (Code.WAITALL, -1, -1, -1, 0.0)
    sends = [(Code.ISEND, 0, 2, -1, size) for size in (1000.0, 70000.0)]
    receives = [(Code.IRECV, 1, 2, -1, size) for size in (1000.0, 70000.0)]
    parameters = DelayParameters(L=3e-6, o=1e-6, G=7e-9, O_s=1e-10, O_r=2e-10, S=65536)
    for step in range(220, 300):
        before = (Code.COMPUTE, -1, -1, -1, step * 1e-7)
        ranks = [np.array(calls, dtype=OPERATION) for calls in ([*receives, waits], [before, *sends, waits])]
        assert run(Program.from_ranks(ranks), DelayModel(parameters, "loggps")).messages == 2
