"""Exchanges in bursts on real MPI: the same bytes as a blocking exchange brings, in order, and no rank left waiting."""

import array
from typing import get_args

import numpy as np
import pytest
from mpi4py import MPI
from support.choosing import choose

from commmodel.choices import ExchangeImplementation
from commmodel.errors import InputError
from commmodel.overlap import Exchange, Transfer, exchange, row_transfers

COMM = MPI.COMM_WORLD
DTYPES = ["u1", "<i2", ">f4", "f8", "c16", "M8[s]", [("a", "f8"), ("b", "i4")]]


class Recorder:
    """A `compute` that keeps what it is called with."""

    def __init__(self):
        self.calls = []

    def __call__(self, piece, start):
        self.calls.append((start, piece.copy()))

    def joined(self):
        """Return the bytes of the pieces one after the other, each having started where the one before ended."""
        at = 0
        for start, piece in self.calls:
            assert start == at
            at += piece.size
        return b"".join(piece.tobytes() for _, piece in self.calls)


def random_elements(random, count, dtype):
    return np.frombuffer(random.bytes(count * np.dtype(dtype).itemsize), dtype)


def blocking(send, dest, receive, source):
    COMM.Sendrecv([send.view("u1"), MPI.BYTE], dest, 0, [receive.view("u1"), MPI.BYTE], source, 0)


def shift(by):
    return {"dest": (COMM.rank + by) % COMM.size, "source": (COMM.rank - by) % COMM.size}


def outcome(work):
    """Return the message of the InputError that `work` raises on this rank, or "no error"."""
    try:
        work()
    except InputError as error:
        return str(error)
    return "no error"


@pytest.mark.parallel([1, 2, 4])
@pytest.mark.parametrize("seed", range(40))
def test_any_exchange_brings_what_blocking_ones_bring_in_order(seed):
    """All draws are the same on all ranks, but for the contents of the buffers."""
    draw, contents = np.random.default_rng(seed), np.random.default_rng([seed, COMM.rank])
    transfers, expected, recorders = [], [], []
    sizes = []
    for _ in range(draw.integers(1, 4)):
        dtype = np.dtype(DTYPES[draw.integers(len(DTYPES))])
        by = int(draw.integers(COMM.size))
        lengths = draw.integers(0, draw.choice([2, 50, 20_000]), COMM.size)
        to = shift(by)
        send = random_elements(contents, lengths[COMM.rank], dtype)
        receive = np.zeros(lengths[to["source"]], dtype)
        expected.append(receive.copy())
        blocking(send, to["dest"], expected[-1], to["source"])
        recorders.append(Recorder())
        transfers.append(Transfer(send=send, receive=receive, compute=recorders[-1], **to))
        sizes += [dtype.itemsize, int(lengths.max()) * dtype.itemsize]
    message_size = int(draw.integers(max(sizes[::2]), max(sizes) + 20)) // int(draw.choice([1, 7, 40]))
    with Exchange(
        COMM,
        transfers,
        message_size=max(message_size, *sizes[::2]),
        burst=int(draw.integers(1, 9)),
        order=str(draw.choice(["contiguous", "interleaved"])),
        implementation=str(draw.choice([*get_args(ExchangeImplementation)])),
    ) as result:
        for _ in range(2):
            result.run()
            for transfer, entry, recorder in zip(transfers, expected, recorders, strict=True):
                assert transfer.receive.tobytes() == entry.tobytes()
                assert recorder.joined() == entry.tobytes()
                recorder.calls.clear()
                transfer.receive.view("u1")[:] = 0


@pytest.mark.parallel([1, 2, 4])
@pytest.mark.parametrize("implementation", get_args(ExchangeImplementation))
@pytest.mark.parametrize("order", ["contiguous", "interleaved"])
@pytest.mark.parametrize("size", [64, 100_000])
def test_a_ring_in_both_directions_does_not_deadlock_whatever_the_protocol(order, implementation, size):
    """More messages than are ever under way, small ones and such as wait for the receiver; bursts differ by rank."""
    transfers = [
        Transfer(send=np.full(12 * size, COMM.rank, "u1"), receive=np.full(12 * size, 255, "u1"), **shift(by))
        for by in (1, -1)
    ]
    burst = 3 if implementation == "collective" else 1 + 2 * (COMM.rank % 2)
    with Exchange(
        COMM, transfers, message_size=size, burst=burst, order=order, implementation=implementation
    ) as result:
        result.run()
    for transfer in transfers:
        assert (transfer.receive == transfer.source).all()


@pytest.mark.parallel([2, 4])
def test_transfers_take_turns_or_follow_each_other():
    calls = []
    transfers = [
        Transfer(
            send=np.zeros(3),
            receive=np.ones(3),
            **shift(by),
            compute=lambda _, start, by=by: calls.append((by, start)),
        )
        for by in (1, -1)
    ]
    for order in ("contiguous", "interleaved"):
        with Exchange(COMM, transfers, message_size=8, burst=2, order=order) as result:
            result.run()
    assert calls[:6] == [(1, 0), (1, 1), (1, 2), (-1, 0), (-1, 1), (-1, 2)]
    assert calls[6:] == [(1, 0), (-1, 0), (1, 1), (-1, 1), (1, 2), (-1, 2)]


@pytest.mark.parallel([1, 2, 4])
def test_the_ends_of_a_line_have_nobody_beyond():
    line = COMM.Create_cart([COMM.size], periods=[False])
    source, dest = line.Shift(0, 1)
    received, recorder = np.full(10, -1.0), Recorder()
    exchange(
        line,
        Transfer(send=np.full(10, line.rank), receive=received.astype(int), source=source, dest=dest),
        message_size=24,
        burst=2,
    )
    exchange(
        line,
        Transfer(send=np.full(10, 1.0 * line.rank), receive=received, source=source, dest=dest, compute=recorder),
        message_size=24,
        burst=2,
    )
    line.Free()
    assert (received == COMM.rank - 1).all()
    assert len(recorder.calls) == (4 if COMM.rank else 0)


@pytest.mark.parallel([1, 2, 4])
def test_one_direction_alone_and_nothing_at_all():
    received = np.zeros(5, "i4")
    sends, receives = COMM.rank % 2 == 0 and COMM.rank + 1 < COMM.size, COMM.rank % 2 == 1
    transfer = Transfer(
        **({"send": np.arange(5, dtype="i4"), "dest": COMM.rank + 1} if sends else {}),
        **({"receive": received, "source": COMM.rank - 1} if receives else {}),
    )
    done = []
    with Exchange(COMM, [transfer], message_size=8, burst=1) as result:
        result.run(lambda: done.append("interior"))
    assert received.tolist() == (list(range(5)) if receives else [0] * 5)
    with Exchange(COMM, [], message_size=8, burst=1) as result:
        result.run(lambda: done.append("interior"))
    assert done == ["interior"] * 2


@pytest.mark.parallel([1, 2, 4])
def test_no_bytes_are_no_messages():
    recorder = Recorder()
    exchange(
        COMM,
        Transfer(send=np.empty(0), receive=np.empty((3, 0)), **shift(1), compute=recorder),
        message_size=8,
        burst=1,
    )
    assert recorder.calls == []


@pytest.mark.parallel([1, 2, 4])
def test_plain_buffers_and_arrays_of_any_contiguous_shape():
    received = bytearray(7)
    exchange(COMM, Transfer(send=b"rank %2d" % COMM.rank, receive=received, **shift(1)), message_size=3, burst=2)
    assert received == b"rank %2d" % shift(1)["source"]
    numbers = array.array("d", [0, 0, 0])
    exchange(
        COMM,
        Transfer(send=memoryview(array.array("d", [1, 2, COMM.rank])), receive=numbers, **shift(1)),
        message_size=8,
        burst=1,
    )
    assert numbers.tolist() == [1, 2, shift(1)["source"]]
    table, recorder = np.zeros((3, 4), order="F"), Recorder()
    sent = np.asfortranarray(np.arange(12.0).reshape(3, 4) + COMM.rank)
    exchange(COMM, Transfer(send=sent, receive=table, **shift(1), compute=recorder), message_size=40, burst=1)
    assert (table == np.arange(12.0).reshape(3, 4) + shift(1)["source"]).all()
    assert recorder.joined() == table.tobytes(order="F")
    number = np.array(-1)
    exchange(COMM, Transfer(send=np.array(COMM.rank), receive=number, **shift(1)), message_size=8, burst=1)
    assert number == shift(1)["source"]


@pytest.mark.parallel([2, 4])
def test_processes_of_two_groups():
    low = COMM.rank < COMM.size // 2
    group = COMM.Split(low)
    between = group.Create_intercomm(0, COMM, COMM.size // 2 if low else 0)
    received = np.zeros(4, "i8")
    partner = {"source": group.rank, "dest": group.rank}
    exchange(between, Transfer(send=np.full(4, COMM.rank), receive=received, **partner), message_size=8, burst=1)
    assert (received == (COMM.rank + COMM.size // 2) % COMM.size).all()
    wrong = outcome(lambda: Exchange(between, [Transfer(send=b"", dest=group.size)], message_size=8, burst=1))
    assert f"from 0 to {group.size - 1}" in wrong
    between.Free()
    group.Free()


@pytest.mark.parallel([1, 2, 4])
@pytest.mark.parametrize("implementation", get_args(ExchangeImplementation))
def test_what_lies_in_the_middle_is_computed_once_before_anything_is_computed_on(implementation):
    calls, parts = [], []

    def whole():
        calls.append("interior")

    def in_parts():
        for part in range(5):
            parts.append(part)
            yield

    transfer = Transfer(send=np.zeros(9), receive=np.ones(9), **shift(1), compute=lambda _, start: calls.append(start))
    with Exchange(COMM, [transfer], message_size=24, burst=1, implementation=implementation) as result:
        result.run(whole)
        result.run(in_parts)
    assert calls == ["interior", 0, 3, 6, 0, 3, 6]
    assert parts == [0, 1, 2, 3, 4]


@pytest.mark.parallel([2, 4])
def test_a_message_arrives_within_an_interior_in_parts():
    """A yield calls MPI: a message too long to be sent eagerly gets there while both ranks compute."""
    peer = COMM.rank ^ 1
    received = np.zeros(1 << 20, "u1")
    rows = []

    def until_it_is_there():
        for _ in range(100_000):
            if received[-1]:
                break
            yield
        rows.append(int(received[-1]))
        for _ in range(1000):  # the other one may need this rank yet
            yield

    transfer = Transfer(send=np.ones(1 << 20, "u1"), dest=peer, receive=received, source=peer)
    with Exchange(COMM, [transfer], message_size=1 << 20, burst=1) as result:
        result.run(until_it_is_there)
    assert rows == [1]


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize(("implementation", "expected"), [("pipelined", [1, 1, 0]), ("tight", [1, 0, 0])])
def test_two_bursts_are_under_way_in_a_pipeline_and_one_in_a_tight_loop(implementation, expected):
    """The sender has sent all three messages; what the receiver has asked for is there before it computes on any."""
    peer, sends = COMM.rank ^ 1, COMM.rank % 2 == 0
    received, rows = np.zeros(3), []

    def until_they_are_there():
        COMM.recv(source=peer, tag=1)
        for _ in range(100_000):
            if received.tolist() == expected:
                break
            yield
        rows.append(received.tolist())

    end = {"send": np.ones(3), "dest": peer} if sends else {"receive": received, "source": peer}
    with Exchange(COMM, [Transfer(**end)], message_size=8, burst=1, implementation=implementation) as result:
        if sends:
            result.run()
            COMM.send(None, peer, tag=1)
        else:
            result.run(until_they_are_there)
            assert rows == [expected]
            assert received.tolist() == [1, 1, 1]


@pytest.mark.parallel([1, 2, 4])
@pytest.mark.parametrize("implementation", get_args(ExchangeImplementation))
@pytest.mark.parametrize("where", ["interior", "first", "last"])
def test_an_error_of_the_computation_comes_out_after_the_exchange_is_complete(where, implementation):
    """On one rank alone: the others finish, and the same exchange can be run again."""
    received, calls = np.zeros(20), []
    fails = [COMM.rank == 0]

    def compute(piece, start):
        calls.append(start)
        if fails[0] and start == {"first": 0, "last": 18}.get(where):
            raise ArithmeticError("of the application")

    def interior():
        if fails[0] and where == "interior":
            raise ArithmeticError("of the application")

    transfer = Transfer(send=np.full(20, COMM.rank + 1.0), receive=received, compute=compute, **shift(1))
    with Exchange(COMM, [transfer], message_size=24, burst=2, implementation=implementation) as result:
        if fails[0]:
            with pytest.raises(ArithmeticError, match="of the application"):
                result.run(interior)
            assert len(calls) == {"interior": 0, "first": 1, "last": 7}[where]
        else:
            result.run(interior)
        assert (received == transfer.source + 1).all()
        fails[0], received[:] = False, 0
        calls.clear()
        result.run(interior)
    assert (received == transfer.source + 1).all()
    assert calls == [0, 3, 6, 9, 12, 15, 18]


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"send": np.zeros((4, 4))[:, 0]}, "transfer 0: send is not contiguous: give a contiguous part, or a copy by"),
        ({"receive": np.zeros(8)[::2]}, "transfer 0: receive is not contiguous"),
        ({"receive": bytes(32)}, "transfer 0: receive is read-only: give a buffer that can be written"),
        ({"send": [1.0, 2.0]}, "transfer 0: send is a list: give a numpy array or another buffer"),
        ({"send": np.array([{}] * 4)}, "transfer 0: send holds elements of type object: give a buffer of numbers or"),
        ({"send": np.empty(4, "V0")}, "transfer 0: send holds elements of type |V0"),
        ({"send": None}, "transfer 0: send and dest belong together"),
        ({"source": None}, "transfer 0: receive and source belong together"),
        ({"dest": 4711}, "transfer 0: dest is 4711: give a rank from 0 to"),
        ({"source": MPI.ANY_SOURCE}, f"transfer 0: source is {MPI.ANY_SOURCE}: give a rank from 0 to"),
        ({"compute": "sum"}, "transfer 0: compute is a str: give a function of (piece, start)"),
        ({"message_size": 7}, "message_size is 7, but an element of transfer 0: send has 8 bytes: give at least those"),
        ({"message_size": 0}, "message_size is 0: "),
        ({"message_size": "64KiB"}, "message_size is '64KiB': "),
        ({"burst": 0}, "burst is 0: "),
        ({"burst": 1.5}, "burst is 1.5: "),
        ({"order": "random"}, "order is 'random': choose one of contiguous, interleaved"),
        ({"implementation": "loose"}, "implementation is 'loose': choose one of pipelined, tight"),
    ],
)
def test_what_is_wrong_on_one_rank_is_refused_there_and_told_its_partners(change, problem):
    """Rank 0 is wrong; rank 1 learns of it, others have nothing to complain of."""
    common = {"message_size": 16, "burst": 1, "order": "contiguous", "implementation": "pipelined"}
    fields = {"send": np.zeros(4), "dest": COMM.rank ^ 1, "receive": np.zeros(4), "source": COMM.rank ^ 1}
    if COMM.rank == 0:
        fields |= {name: value for name, value in change.items() if name not in common}
        common |= {name: value for name, value in change.items() if name in common}
    result = outcome(lambda: Exchange(COMM, [Transfer(**fields)], **common).free())
    if COMM.rank == 0:
        assert result.startswith(problem)
        assert "\n" not in result
    elif COMM.rank == 1:
        assert result.startswith(f"rank 0 has refused its end: {problem}")
    else:
        assert result == "no error"


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize(
    ("change", "problem", "heard"),
    [
        (
            {"send": np.zeros(5)},
            "transfer 0, from this rank to rank 1: its volume is 40 on this rank and 32 on rank 1: make both buffers",
            "transfer 0, from rank 0 to this rank: its volume is 32 on this rank and 40 on rank 0: make both buffers",
        ),
        (
            {"receive": np.zeros(8, "f4")},
            "transfer 0, from rank 1 to this rank: its dtype is float32 on this rank and float64 on rank 1: give both",
            "transfer 0, from this rank to rank 0: its dtype is float64 on this rank and float32 on rank 0: give both",
        ),
        (
            {"message_size": 24},
            "transfer 0, from this rank to rank 1: its message_size is 24 on this rank and 16 on rank 1: give the same",
            "transfer 0, from this rank to rank 0: its message_size is 16 on this rank and 24 on rank 0: give the same",
        ),
        (
            {"order": "interleaved"},
            "order is interleaved here and contiguous on rank 1: give the same on all ranks",
            "order is contiguous here and interleaved on rank 0: give the same on all ranks",
        ),
    ],
)
def test_what_does_not_fit_between_two_ranks_is_refused_on_both(change, problem, heard):
    fields = {"send": np.zeros(4), "dest": COMM.rank ^ 1, "receive": np.zeros(4), "source": COMM.rank ^ 1}
    options = {"message_size": 16, "burst": 1}
    if COMM.rank == 0:
        options |= {name: value for name, value in change.items() if name not in fields}
        fields |= {name: value for name, value in change.items() if name in fields}
    result = outcome(lambda: Exchange(COMM, [Transfer(**fields)], **options).free())
    assert result.startswith({0: problem, 1: heard}.get(COMM.rank, "no error"))


@pytest.mark.parallel([4])
def test_lists_that_are_no_shifts_are_refused_rather_than_mixed_up():
    """Each exchanges with the one above, then with the one below: what goes up comes as the other's second.

    With two ranks, above and below are the same, and nobody can tell.
    """
    above, below = (COMM.rank - 1) % COMM.size, (COMM.rank + 1) % COMM.size
    transfers = [Transfer(send=np.zeros(4), dest=rank, receive=np.ones(4), source=rank) for rank in (above, below)]
    result = outcome(lambda: Exchange(COMM, transfers, message_size=8, burst=1))
    assert "its number is" in result
    assert "as shifts (all send up and receive from below)" in result


@pytest.mark.parallel([2, 4])
def test_different_numbers_of_transfers_are_refused_on_both():
    if COMM.rank < 2:
        peer = 1 - COMM.rank
        result = Transfer(send=np.zeros(1), dest=peer, receive=np.zeros(1), source=peer)
        more = [Transfer(send=np.zeros(1), dest=peer)] if COMM.rank == 0 else []
        entry = outcome(lambda: Exchange(COMM, [result, *more], message_size=8, burst=1))
        assert entry.startswith(("2 transfers go from this rank to rank 1", "1 transfers go from rank 0 to this rank"))


@pytest.mark.parallel([1])
@pytest.mark.parametrize("comm", [None, MPI.COMM_NULL, "world"])
def test_no_communicator(comm):
    assert "give a communicator" in outcome(lambda: Exchange(comm, [], message_size=8, burst=1))


@pytest.mark.parallel([1])
@pytest.mark.parametrize("tag", [-1, "a", 2**62, MPI.ANY_TAG])
def test_no_tag(tag):
    assert "tag is" in outcome(lambda: Exchange(COMM, [], message_size=8, burst=1, tag=tag))


@pytest.mark.parallel([1])
@pytest.mark.parametrize("transfers", [Transfer(), [1], None])
def test_no_list_of_transfers(transfers):
    assert "give a list of Transfer" in outcome(lambda: Exchange(COMM, transfers, message_size=8, burst=1))


@pytest.mark.parallel([1])
def test_memory_that_is_received_into_and_used_otherwise():
    memory = np.zeros(10)

    def make(*pairs):
        transfers = [Transfer(send=send, dest=0, receive=receive, source=0) for send, receive in pairs]
        return outcome(lambda: Exchange(MPI.COMM_SELF, transfers, message_size=8, burst=1).free())

    shared = "share memory: receive into memory of its own"
    apart = np.zeros(3)
    assert make((memory[:3], memory[2:5])) == f"receive of transfer 0 and send of transfer 0 {shared}"
    assert shared in make((memory[:3], apart), (memory[5:8], memory[1:4]))
    assert shared in make((memory[:3], memory[5:8]), (apart, memory[7:10]))
    assert make((memory[:3], memory[3:6]), (memory[1:3], memory[6:8])) == "no error"
    assert make((memory[:8], np.zeros(8)), (memory[1:3], np.zeros(2))) == "no error"
    assert shared in make((memory[:8], np.zeros(8)), (memory[1:3], memory[4:6]))


@pytest.mark.parallel([1])
def test_an_interior_that_is_called_already_and_a_run_after_the_end():
    received = np.zeros(4)
    result = Exchange(
        MPI.COMM_SELF,
        [Transfer(send=np.ones(4), dest=0, receive=received, source=0)],
        message_size=8,
        burst=1,
    )
    assert "interior is a generator: give a function" in outcome(lambda: result.run(iter_once()))
    assert received.tolist() == [1] * 4
    result.free()
    result.free()
    assert outcome(result.run) == "this exchange was freed: make another one"


def iter_once():
    yield


@pytest.mark.parallel([1])
def test_more_messages_than_can_be_meant():
    buffers = {"send": np.zeros(2**21, "u1"), "dest": 0, "receive": np.zeros(2**21, "u1"), "source": 0}
    result = outcome(lambda: Exchange(MPI.COMM_SELF, [Transfer(**buffers)], message_size=1, burst=1))
    assert "would go in more than 1048576 messages: give a larger message_size" in result


@pytest.mark.parallel([1, 2, 4])
@pytest.mark.parametrize(
    ("pattern", "peers"),
    [("point-to-point", 1), ("multiple-end-points-contiguous", 2), ("multiple-end-points-interleaved", 2)],
)
@pytest.mark.parametrize("implementation", ["pipelined", "tight"])
def test_a_choice_is_carried_out(pattern, peers, implementation):
    """As many messages as were chosen, in the order of the pattern."""
    values = {"overhead": 2e-6, "latency": 10e-6, "byte_time": 1e-9}
    choice = choose(1 << 17, 100e-6, pattern=pattern, peers=peers, implementation=implementation, **values)
    calls = []
    transfers = [
        Transfer(
            send=np.zeros(1 << 14),
            receive=np.ones(1 << 14),
            **shift(by),
            compute=lambda _, start, by=by: calls.append((by, start)),
        )
        for by in range(peers)
    ]
    with Exchange.from_choice(COMM, transfers, choice) as result:
        result.run()
    starts = range(0, 1 << 14, choice.message_size // 8)
    contiguous = [(by, start) for by in range(peers) for start in starts]
    assert choice.messages == len(starts)
    assert calls == (sorted(contiguous, key=lambda call: call[1]) if "interleaved" in pattern else contiguous)


@pytest.mark.parallel([1, 2, 4])
def test_a_stencil_has_the_rows_of_its_neighbours():
    rows, begin = np.arange(5 * COMM.size * 3.0).reshape(-1, 3), 5 * COMM.rank
    for width, periodic in ((1, False), (1, True), (2, False), (2, True)):
        field = np.full((5 + 2 * width, 3), -1.0)
        field[width:-width] = rows[begin : begin + 5]
        transfers = row_transfers(COMM, field, width=width, periodic=periodic)
        with Exchange(COMM, transfers, message_size=24, burst=2) as halo:
            halo.run()
        beyond = rows if periodic else np.full_like(rows, -1.0)
        around = np.concatenate([beyond, rows, beyond])
        assert np.array_equal(field, around[len(rows) + begin - width : len(rows) + begin + 5 + width])


def test_a_field_without_rows_of_its_own_is_refused():
    for field in (np.zeros((2, 3)), np.zeros(())):
        with pytest.raises(InputError, match=r"^field is .*: give 1 rows or more"):
            row_transfers(MPI.COMM_SELF, field)
    with pytest.raises(InputError, match=r"^field is .*: give an array"):  # rows of others would come into a copy
        row_transfers(MPI.COMM_SELF, [1.0, 2.0, 3.0])


@pytest.mark.parallel([2, 4])
def test_a_collective_is_made_by_all_ranks_with_whatever_they_have():
    """Rank 0 alone sends to rank 1, and the others nothing."""
    received = np.zeros(7, "i4")
    ends = [
        {"send": np.arange(7, dtype="i4"), "dest": 1} if COMM.rank == 0 else {},
        {"receive": received, "source": 0} if COMM.rank == 1 else {},
    ]
    transfers = [Transfer(**ends[0], **ends[1])] if COMM.rank < 2 else []
    with Exchange(COMM, transfers, message_size=8, burst=3, implementation="collective") as result:
        for _ in range(3):
            result.run()
    assert received.tolist() == ([*range(7)] if COMM.rank == 1 else [0] * 7)


@pytest.mark.parallel([2, 4])
def test_what_a_collective_cannot_do_is_refused_on_all_ranks():
    def problem_of(comm=COMM, burst=2, send=b"12345678", **more):
        transfer = Transfer(send=send, receive=bytearray(8), **shift(1))
        return outcome(lambda: Exchange(comm, [transfer], message_size=4, burst=burst, **more))

    apart = problem_of(burst=2 + (COMM.rank == 1), implementation="collective")
    assert "a collective needs the same on all ranks" in apart
    wrong = problem_of(send=[1.0] if COMM.rank == 0 else b"12345678", implementation="collective")
    assert "send is a list" in wrong
    assert ("rank 0 has refused its end" in wrong) == (COMM.rank > 0)
    mixed = problem_of(implementation="partitioned" if COMM.rank == 0 else "pipelined")
    if COMM.rank < 2 or COMM.rank == COMM.size - 1:  # a neighbour of rank 0
        assert "implementation is of" in mixed or "refused" in mixed


@pytest.mark.parallel([2])
def test_a_collective_needs_one_group():
    alone = COMM.Split(COMM.rank)
    between = alone.Create_intercomm(0, COMM, 1 - COMM.rank)
    transfer = Transfer(send=b"1", dest=0, receive=bytearray(1), source=0)
    problem = outcome(lambda: Exchange(between, [transfer], message_size=1, burst=1, implementation="collective"))
    assert "comm is an intercommunicator: give pipelined" in problem
    between.Free()
    alone.Free()
