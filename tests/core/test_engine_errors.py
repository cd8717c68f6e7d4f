"""The flow engine: deadlocks, and programs that do what cannot be done."""

import msgspec
import numpy as np
import pytest
from support.engine_programs import WAITALL, WAITALL_NAMED, compute, flat, irecv, isend, program, recv, send, wait
from support.engine_programs import test as probe

from commmodel.errors import DeadlockError, InputError
from commmodel.simulate import OPERATION, SMPI, Code, DelayModel, DelayParameters, Network, fluid, run
from commmodel.simulate.network import Factor, Overhead

LOGGPS = DelayModel(DelayParameters(L=1e-6, o=1e-6, S=0.0))
NEVER = Network("synchronous", eager_limit=-1, detached_limit=-1)


def blocked(*ranks):
    """Return what ranks wait for: by every model the same."""
    flows, delays = (
        run(program(*ranks), model, flat(len(ranks)), deadlock="return").blocked for model in (NEVER, LOGGPS)
    )
    assert flows == delays
    return [str(flow) for flow in flows]


@pytest.mark.parametrize("model", [NEVER, LOGGPS])
def test_a_deadlock_is_an_error_that_names_the_ranks_and_has_the_result(model):
    ranks = [compute(1.0), recv(1, tag=3)], [compute(2.0)], *[[recv(0)]] * 7
    with pytest.raises(DeadlockError) as raised:
        run(program(*ranks), model, flat(len(ranks)))
    assert str(raised.value).startswith(
        "deadlock: 8 of 9 ranks never end: rank 0 waits in MPI_Recv for a message from rank 1 with tag 3; rank 2 waits"
    )
    assert str(raised.value).endswith("and 5 more ranks")
    assert raised.value.result.seconds == 2.0
    assert [rank.rank for rank in raised.value.result.blocked] == [0, *range(2, 9)]
    with pytest.raises(InputError, match="deadlock is 'retrun': did you mean return"):
        run(program(*ranks), model, flat(len(ranks)), deadlock="retrun")


def test_two_sends_that_face_each_other():
    assert blocked([send(1, 100), recv(1)], [send(0, 200, tag=5), recv(0)]) == [
        "rank 0 waits in MPI_Send until rank 1 receives 100 bytes with tag 0",
        "rank 1 waits in MPI_Send until rank 0 receives 200 bytes with tag 5",
    ]


def test_receives_of_nothing():
    assert blocked([recv(1, tag=3)], [recv(-1, tag=-1)], [compute(1.0)]) == [
        "rank 0 waits in MPI_Recv for a message from rank 1 with tag 3",
        "rank 1 waits in MPI_Recv for a message from any rank",
    ]


def test_only_requests_that_are_waited_for_are_named():
    ranks = [irecv(1, request=4), irecv(1, tag=9), isend(1, 7, tag=8, request=5), wait(5)], []
    assert blocked(*ranks) == ["rank 0 waits in MPI_Wait until rank 1 receives 7 bytes with tag 8"]
    ranks = [irecv(1, request=4), irecv(1, tag=9), isend(1, 7, tag=8), WAITALL], []
    assert blocked(*ranks) == [
        "rank 0 waits in MPI_Waitall for a message from rank 1 with tag 9",
        "rank 0 waits in MPI_Waitall until rank 1 receives 7 bytes with tag 8",
    ]
    ranks = [irecv(1, request=4), irecv(1, tag=9), WAITALL_NAMED], []
    assert blocked(*ranks) == ["rank 0 waits in MPI_Waitall for a message from rank 1 with tag 0"]


def test_a_rank_that_waits_for_much_is_named_four_times():
    assert len(blocked([*[irecv(1)] * 9, WAITALL], [])) == 4


def test_deadlock_of_many_ranks_is_cut():
    ranks = [[recv(0)]] * 10005
    outcome = run(program(*ranks), fluid(), flat(2), hosts=np.zeros(len(ranks), int), deadlock="return")
    assert len(outcome.blocked) == 10000


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ((17, 0, 0, 0, 0), "unknown code 17"),
        ((-1, 0, 0, 0, 0), "unknown code -1"),
        (send(2, 8), "there is no rank 2"),
        (send(-1, 8), "there is no rank -1"),
        (recv(-2), "there is no rank -2"),
        (recv(2), "there is no rank 2"),
        (send(1, 8, tag=-1), "a message cannot have tag -1"),
        (send(1, -1), "the value -1 is not possible here"),
        (send(1, np.nan), "the value nan is not possible here"),
        (isend(1, np.inf), "the value inf is not possible here"),
        (recv(1, np.nan), "the value nan is not possible here"),
        (compute(-1.0), "the value -1 is not possible here"),
        (compute(np.inf), "the value inf is not possible here"),
        ((Code.MARK, 0, 0, 0, 1e10), "the value 1e+10 is not possible here"),
        (isend(1, 8, request=-2), "a request cannot be named -2 here"),
        (irecv(1, 8, request=0), "request 0 is in use: wait for it first"),
        (wait(-1), "a request cannot be named -1 here"),
        (wait(1), "no request was ever named 1"),
        (probe(1), "no request was ever named 1"),
        ((Code.WAITALL, 0, 0, 3, 0), "a request cannot be named 3 here"),
    ],
)
@pytest.mark.parametrize("model", [SMPI, LOGGPS])
def test_what_cannot_be_done_is_said_in_one_line(operation, message, model):
    ranks = [], [compute(1.0), irecv(0, request=0), operation, compute(1.0)]
    with pytest.raises(InputError) as raised:
        run(program(*ranks), model, flat(2))
    assert str(raised.value) == f"rank 1, operation 2: {message}"


@pytest.mark.parametrize("late", [0.0, 1.0])
def test_a_message_too_long_for_its_receive(late):
    for ranks in ([compute(late), send(1, 9)], [recv(0, 8)]), ([send(1, 9)], [compute(late), recv(0, 8)]):
        with pytest.raises(InputError) as raised:
            run(program(*ranks), SMPI, flat(2))
        line = "a message of 9 bytes from rank 0 to rank 1 with tag 0 is longer than its receive, which takes 8"
        assert str(raised.value) == f"{line}: make the receive larger"
    assert not run(program([send(1, 8)], [recv(0, 8)]), SMPI, flat(2)).blocked


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"header": -1}, "header is -1: give a finite number from 0 up"),
        ({"window": np.inf}, "window is inf: give a finite number from 0 up"),
        ({"eager_limit": np.nan}, "eager_limit is not a number"),
        ({"send": (Overhead(9, 1.0), Overhead(9, 1.0))}, "send: limits must rise, 9 follows 9"),
        ({"receive": (Overhead(9, -1.0),)}, "receive: overheads must be numbers from 0 on"),
        ({"bandwidth_factors": (Factor(9, 0.0),)}, "bandwidth_factors must be above 0"),
    ],
)
def test_networks_with_impossible_parameters(change, message):
    with pytest.raises(InputError) as raised:
        run(program([]), msgspec.structs.replace(SMPI, **change), flat(1))
    assert str(raised.value) == f"network 'smpi': {message}"


def test_places_that_do_not_fit():
    for hosts in ([0], [0.0, 1.0], [0, 2**31], [-1, 0]):
        with pytest.raises(InputError, match="hosts: "):
            run(program([], []), SMPI, flat(2), hosts=hosts)


def test_what_a_refill_raises_or_gives_wrong_comes_out():
    def broken(rank):
        raise InputError("trace.txt: line 7: no such action")

    first = program([compute(1.0)], [])
    wrong = (broken, "trace.txt: line 7: no such action"), (lambda _: [1], "refill of rank 1 gave list")
    for refill, message in wrong:
        with pytest.raises(InputError, match=message):
            run(type(first)(first.operations, first.offsets, refill), SMPI, flat(2))


def test_the_number_of_an_operation_counts_what_refills_gave():
    parts = {0: [[compute(1.0)] * 3, [compute(1.0), send(9, 1)]], 1: []}

    def refill(rank):
        return np.array(parts[rank].pop(0) if parts[rank] else [], OPERATION)

    first = program([compute(1.0)], [])
    with pytest.raises(InputError, match="rank 0, operation 5: there is no rank 9"):
        run(type(first)(first.operations, first.offsets, refill), SMPI, flat(2))
