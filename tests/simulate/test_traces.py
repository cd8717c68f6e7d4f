"""Time-independent traces: every action, many files or one, compressed or not, and written anew."""

import bz2
import gzip
import lzma
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.paths import SHARED
from support.work_reference import carry_out

from commmodel.collectives import CollectiveSettings, Problem, build
from commmodel.collectives.call import CollectiveCall
from commmodel.collectives.library.selection import load, select, select_for
from commmodel.errors import InputError
from commmodel.simulate import fluid, run
from commmodel.simulate.operations import EVERY_NAMED, UNNAMED, Code, Program
from commmodel.simulate.platform import flat
from commmodel.simulate.states import State
from commmodel.simulate.traces import dump, files, formats, reader, replay
from commmodel.simulate.work import cg, collective, halo, lu, repeat, sequence
from commmodel.simulate.work.actions import Actions
from commmodel.simulate.work.collective_expansion import Expander
from commmodel.simulate.work.rounds import blocks_of

SIMGRID = SHARED / "simgrid"


def actions(*texts) -> Actions:
    """Return what ranks do; lines are given without their rank."""
    lines = ["".join(f"{rank} {line.strip()}\n" for line in text.split(";") if line) for rank, text in enumerate(texts)]
    result = ("",) * len(texts)
    return Actions(tuple(lines), result, result, 0)


def operations_of(program: Program, rank: int) -> list:
    result = program.operations[program.offsets[rank] : program.offsets[rank + 1]].tolist()
    while program.refill and len(more := program.refill(rank)):
        result += more.tolist()
    return result


def all_operations(program: Program) -> list:
    return [operations_of(program, rank) for rank in range(program.processes)]


def traces(folder: Path, texts, name="trace{}.txt") -> Path:
    for rank, text in enumerate(texts):
        (folder / name.format(rank)).write_text(text)
    index = folder / "index.txt"
    index.write_text("".join(name.format(rank) + "\n" for rank in range(len(texts))))
    return index


ONE_EACH = """\
# a trace
{r} init

{r} compute 2e9
{r} sleep 0.25
{r} irecv {o} 3 4 0
{r} isend {o} 3 4 0
{r} wait {o} {r} 3
{r} wait {r} {o} 3
{r} comm_size 2
{r} finalize
"""


def test_point_to_point_computing_and_sleep(tmp_path):
    program = replay(traces(tmp_path, [ONE_EACH.format(r=0, o=1), ONE_EACH.format(r=1, o=0)]), speeds=[1e9, 4e9])
    for rank, seconds in ((0, 2.0), (1, 0.5)):
        peer = 1 - rank
        assert operations_of(program, rank) == [
            (Code.COMPUTE, -1, -1, UNNAMED, seconds),
            (Code.SLEEP, -1, -1, UNNAMED, 0.25),
            (Code.IRECV, peer, 3, 0, 32.0),
            (Code.ISEND, peer, 3, 1, 32.0),
            (Code.WAIT, -1, -1, 0, 0.0),
            (Code.WAIT, -1, -1, 1, 0.0),
        ]


@pytest.mark.parametrize(("first", "size"), [("init", 10.0), ("init 1", 80.0)])
def test_the_default_type_is_a_byte_or_a_double(first, size):
    program = actions(f"{first}; send 1 0 10; send 1 0 10 1", f"{first}; recv 0 0 10; recv 0 0 10 1").program()
    assert [value for *_, value in operations_of(program, 0)] == [size, 40.0]


def test_a_wait_for_all_needs_no_names_where_nobody_asked_for_one():
    program = actions("isend 1 0 8; irecv 1 0 8; waitall 2", "irecv 0 0 8; isend 0 0 8; wait 0 1 0; waitall").program()
    assert [request for *_, request, _ in operations_of(program, 0)] == [UNNAMED] * 3
    assert [request for *_, request, _ in operations_of(program, 1)] == [0, 1, 0, EVERY_NAMED]


def test_a_collective_between_a_send_and_its_wait_does_not_wait_for_it():
    program = actions("isend 1 0 8; barrier; waitall", "barrier; recv 0 0 8").program()
    requests = [(code, request) for code, _, _, request, _ in operations_of(program, 0)]
    assert requests[0] == (Code.ISEND, 0)
    assert requests[-1] == (Code.WAITALL, EVERY_NAMED)
    assert carry_out(program).blocked == []


def test_requests_of_one_name_are_waited_for_in_order():
    program = actions("isend 1 5 1; isend 1 5 2; wait 0 1 5; wait 0 1 5", "recv 0 5 1; recv 0 5 2").program()
    assert [request for *_, request, _ in operations_of(program, 0)] == [0, 1, 0, 1]


def test_a_test_leaves_the_request_to_a_later_wait():
    program = actions("irecv 1 2 8; test 1 0 2; wait 1 0 2", "send 0 2 8").program()
    assert [code for code, *_ in operations_of(program, 0)] == [Code.IRECV, Code.TEST, Code.WAIT]


def test_receives_from_any_rank_and_of_unknown_size():
    program = actions("irecv -1 -1 8; wait 1 0 4; recv -444 -555 0", "send 0 4 8; send 0 7 99").program()
    assert operations_of(program, 0)[:2] == [(Code.IRECV, -1, -1, 0, 8.0), (Code.WAIT, -1, -1, 0, 0.0)]
    assert operations_of(program, 0)[2] == (Code.RECV, -1, -1, UNNAMED, -1.0)
    assert carry_out(program).blocked == []


def test_waits_for_what_there_is_not_and_actions_without_time_are_counted(tmp_path):
    index = traces(tmp_path, ["0 comm_split 3\n0 wait 0 1 9\n0 comm_dup 3\n", "1 init\n"])
    program = replay(index)
    assert all_operations(program) == [[], []]
    assert program.refill.counts == {"actions": 4, "skipped": 2, "unmatched": 1}


def test_a_sendrecv_is_a_receive_a_send_and_a_wait():
    program = actions("sendRecv 4 1 8 2 0 2", "sendRecv 4 2 4 0 0 0", "sendRecv 1 0 4 1 6 0").program()
    assert operations_of(program, 0) == [
        (Code.IRECV, 2, 0, UNNAMED, 8.0),
        (Code.ISEND, 1, 0, UNNAMED, 32.0),
        (Code.WAITALL, -1, -1, UNNAMED, 0.0),
    ]
    assert carry_out(program).unwaited == 0


UNIFORM = [
    ("barrier", "barrier", 0, 0),
    ("bcast 3 2 0", "bcast", 24, 2),
    ("bcast 3", "bcast", 3, 0),
    ("reduce 10 5 1 1", "reduce", 40, 1),
    ("allreduce 300 7 0", "allreduce", 2400, 0),
    ("scan 3 7 4", "scan", 24, 0),
    ("exscan 3 7", "scan", 3, 0),
    ("alltoall 100 100 3 3", "alltoall", 200, 0),
    ("allgather 100 100", "allgather", 100, 0),
    ("gather 10 10 3 0 0", "gather", 80, 3),
    ("scatter 0 10 1 0 0", "scatter", 80, 1),
]


@pytest.mark.parametrize(("action", "operation", "size", "root"), UNIFORM)
@pytest.mark.parametrize("selector", ["mpich", "openmpi"])
def test_collectives_send_what_the_selector_says(action, operation, size, root, selector):
    processes = 5
    rule = select(load(selector), operation, size, processes)
    schedule = build(operation, rule.algorithm, Problem(processes, size, root, rule.segment_size))
    carried = carry_out(actions(*[action] * processes).program(1e6, settings=CollectiveSettings(selector)))
    expected = zip(schedule.sender.tolist(), schedule.receiver.tolist(), schedule.size.tolist(), strict=True)
    assert Counter((s, r, n) for s, r, _, n in carried.messages) == Counter(expected)
    assert carried.blocked == []
    flops = float(action.split()[2]) if operation in ("reduce", "allreduce", "scan") else 0.0
    assert sum(carried.computed.values()) == pytest.approx(processes * flops / 1e6)


OF_CALLS = [
    ("allreduce 60 0 6", "openmpi", "allreduce", Problem(16, 60)),  # bytes of doubles
    ("allreduce 60 0 6 element=1", "openmpi", "allreduce", Problem(16, 60, element_size=1)),
    ("allreduce 60 0 2", "openmpi", "allreduce", Problem(16, 60, element_size=1)),  # chars
    ("allreduce 240 0 6 element=12 commutative", "mpich-5.0", "allreduce",
     Problem(16, 240, element_size=12, operator="commutative")),
    ("reduce 80 0 3 6 non-commutative", "openmpi", "reduce", Problem(16, 80, 3, operator="non-commutative")),
    ("alltoall 80 80 6 6 in-place", "openmpi", "alltoall", Problem(16, 80, in_place=True)),
    ("alltoall 80 80 6 6 in-place", "mpich-5.0", "alltoall", Problem(16, 80, in_place=True)),
    ("reducescatter " + "8 " * 16 + "0 6 block", "openmpi", "reduce_scatter_block", Problem(16, 8)),
    ("reducescatter " + "8 " * 16 + "0 6", "openmpi", "reduce_scatter", Problem(16, 8)),
]  # fmt: skip


@pytest.mark.parametrize(("action", "selector", "operation", "problem"), OF_CALLS)
@pytest.mark.parametrize("within", ["", "communicator 3 0-15; within 3 "])
def test_words_say_what_a_library_looks_at_beside_sizes(action, selector, operation, problem, within):
    rule = select_for(load(selector), operation, problem)
    schedule = build(operation, rule.algorithm, problem)
    text = within + action
    carried = carry_out(actions(*[text] * 16).program(1e6, settings=CollectiveSettings(selector)))
    expected = zip(schedule.sender.tolist(), schedule.receiver.tolist(), schedule.size.tolist(), strict=True)
    assert Counter((s, r, n) for s, r, _, n in carried.messages) == Counter(expected)
    assert carried.blocked == []


def test_an_element_is_a_number_of_bytes():
    with pytest.raises(InputError, match="expected a whole number of bytes"):
        actions("allreduce 8 0 6 element=x").program(1e6)


def vectors(rank, size):
    """Return what four ranks say of collectives with a size for each; rank r sends r + i + 1 to i."""
    to = " ".join(str(rank + other + 1) for other in range(size))
    result = " ".join(str(10 * other) for other in range(size))
    entry = " ".join("0" for _ in range(size))
    return [
        f"alltoallv 99 {to} 99 {to} 0 0",
        f"gatherv {10 * rank} {result if rank == 1 else entry} 1 6 6",
        f"scatterv {result if rank == 2 else entry} {10 * rank} 2 6 6",
        f"allgatherv {10 * rank} {result} 1 1",
        f"reducescatter {result} 1000 2",
    ]


def test_collectives_with_a_size_for_each_rank():
    size = 4
    ranks = range(size)
    expected = [
        Counter((s, r, 8.0 * (s + r + 1)) for s in ranks for r in ranks if s != r),
        Counter((s, 1, 10.0 * s) for s in ranks if s not in (0, 1)),
        Counter((2, r, 10.0 * r) for r in ranks if r not in (0, 2)),
        Counter((s, (s + 1) % size, 40.0 * ((s - step) % size)) for s in ranks for step in range(size - 1)),
        Counter((s, r, 10.0 * r) for s in ranks for r in ranks if s != r),
    ]
    for number, messages in enumerate(expected):
        carried = carry_out(actions(*(vectors(rank, size)[number] for rank in ranks)).program(1e6))
        assert Counter((s, r, n) for s, r, _, n in carried.messages) == messages
        assert carried.blocked == []
        assert sum(carried.computed.values()) == pytest.approx(4e-3 if number == 4 else 0)


def test_successive_collectives_have_tags_of_their_own():
    program = actions("barrier; bcast 1; barrier", "barrier; bcast 1; barrier").program()
    assert {tag for _, _, tag, _ in carry_out(program).messages} == {-2, -3, -4}
    crossed = actions("barrier; bcast 1", "bcast 1; barrier").program()
    assert carry_out(crossed).blocked == [0, 1]


def test_a_trace_of_a_large_collective_is_made_block_by_block(monkeypatch):
    monkeypatch.setattr(blocks_of, "__defaults__", (-2, 0.0, 0.0, 100))
    text = "compute 5; alltoall 40000 40000; compute 6; alltoall 40000 40000; reducescatter " + "9000 " * 40 + "7"
    texts = [text] * 40
    assert collective("alltoall", Problem(40, 40000)).refill is not None
    streamed = all_operations(actions(*texts).program(1.0))
    monkeypatch.undo()
    whole = all_operations(actions(*texts).program(1.0))
    assert streamed == whole


@pytest.mark.parametrize("compressed", ["", ".gz", ".bz2", ".xz"])
def test_what_is_written_is_read_again(tmp_path, compressed):
    program = sequence(
        [
            halo(1000, 6),
            collective("allreduce", Problem(6, 4096), settings=CollectiveSettings(reduction=1e-9)),
            repeat(halo(7, 6), 3),
        ]
    )
    index = dump(program, tmp_path / "trace", speed=1e9, compression=compressed)
    again, first = carry_out(replay(index, speeds=1e9)), carry_out(program)
    assert Counter((s, r, n) for s, r, _, n in again.messages) == Counter((s, r, n) for s, r, _, n in first.messages)
    assert again.computed == pytest.approx(first.computed)
    assert again.blocked == []


def test_named_requests_are_written_by_their_partners_and_tags(tmp_path):
    result = actions(
        "irecv 1 2 8; isend 1 3 8; test 1 0 2; wait 0 1 3; wait 1 0 2", "isend 0 2 8; irecv 0 3 8; waitall"
    )
    assert all_operations(replay(dump(result.program(), tmp_path))) == all_operations(result.program())


@pytest.mark.parametrize("kernel", [lu, cg])
def test_a_kernels_trace_is_its_program(tmp_path, kernel):
    result = kernel("S", 4, 2)
    again, first = carry_out(replay(dump(result, tmp_path), speeds=2e9)), carry_out(result.program(2e9))
    assert [(s, r, n) for s, r, _, n in again.messages] == [(s, r, n) for s, r, _, n in first.messages]
    assert again.computed == pytest.approx(first.computed)


def merge(texts, order) -> str:
    """Return lines of all ranks in one text, in the order of ranks that is given."""
    lines = [iter(text.splitlines(keepends=True)) for text in texts]
    mixed = [next(lines[rank], "") for rank in order]
    return "".join(mixed + [line for rest in lines for line in rest])


@settings(max_examples=30, deadline=None)
@given(order=st.lists(st.integers(0, 3), max_size=40), size=st.sampled_from([7, 60, 4096]))
def test_pieces_and_merging_change_nothing(tmp_path_factory, order, size):
    folder = tmp_path_factory.mktemp("traces")
    result = cg("S", 4, 1)
    texts = ["\n".join("".join(result.text(rank)).splitlines()[:90]) + "\n" for rank in range(4)]
    index = traces(folder, texts)
    (folder / "merged.txt").write_text(merge(texts, order))
    (folder / "one.txt").write_text("merged.txt\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_SMALLEST_PIECE", size)
        patch.setattr(reader, "_TOGETHER", size)
        patch.setattr(reader, "_LARGEST_PIECE", size)
        several = carry_out(replay(index))
        assert carry_out(replay(folder / "one.txt")) == several
        assert carry_out(replay(folder / "merged.txt", 4)) == several


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("size", [13, 1000, 1 << 16])
def test_compressed_text_comes_in_pieces_of_whole_lines(tmp_path, pack, size):
    text = b"".join(b"%d compute %d\n" % (number % 7, number**3) for number in range(3000)) + b"0 finalize"
    path = tmp_path / "packed"
    path.write_bytes(pack(text[:20000]) + pack(text[20000:]))  # in two members
    result = list(files.pieces(path, size))
    assert b"".join(result) == text
    assert all(piece.endswith(b"\n") for piece in result[:-1])
    assert max(map(len, result)) <= 2 * size + 64


def test_a_trace_can_be_replayed_again(tmp_path):
    index = traces(tmp_path, [ONE_EACH.format(r=0, o=1), ONE_EACH.format(r=1, o=0)])
    (tmp_path / "both.txt").write_text("".join((tmp_path / f"trace{rank}.txt").read_text() for rank in (0, 1)))
    for program in (replay(index), replay(tmp_path / "both.txt")):
        assert all_operations(program) == all_operations(program)
        program.refill(0)
        program.restarted()
        assert len(operations_of(program, 0)) == 6


def test_a_whole_number_may_be_written_in_any_way():
    for text in ("64", "0064", "+64", "64.", "64.0", "6.4e1", "640e-1", "0000000000000000064"):
        sent = operations_of(actions(f"send 1 {text} {text} 6", "").program(1e6), 0)[0]
        assert (sent[2], sent[4]) == (64, 64.0), text
    for text in ("999999999999999", "1000000000000000", "9007199254740992"):
        assert operations_of(actions(f"send 1 0 {text} 6", "").program(1e6), 0)[0][4] == float(text)


def test_numbers_are_read_as_python_reads_them():
    for text in ("0.1", "1e6", "123456789012345678901", "1.7976931348623157e308", "5e-324", "3.14159265358979", "7.e1"):
        program = actions(f"compute {text}", "").program(1.0)
        assert program.operations["value"].tolist() == [float(text)]


def test_many_requests_are_waited_for_backwards():
    count = 100_000
    lines = [f"isend 1 {tag} 1" for tag in range(count)] + [f"wait 0 1 {tag}" for tag in reversed(range(count))]
    program = actions(";".join(lines), "").program()
    assert program.operations["request"][count:].tolist() == list(reversed(range(count)))


def test_the_expander_forgets_what_is_too_much(monkeypatch):
    monkeypatch.setattr("commmodel.simulate.work.collective_expansion._CACHED", 1000)
    expander = Expander(16, [1.0] * 16)
    for size in range(1, 40):
        expander.expand(CollectiveCall("alltoall", 1000 * size, 1000 * size), 3)
    assert sum(program.operations.size for program in expander._programs.values()) < 2000


@pytest.mark.skipif(not SIMGRID.exists(), reason="no data of the peer here")
def test_the_peers_generator_writes_what_is_read(tmp_path):
    script = [sys.executable, str(SIMGRID / "gentrace.py"), "16", "4000", str(tmp_path), "100"]
    subprocess.run(script, check=True, capture_output=True)
    carried = carry_out(replay(tmp_path / "index.txt"))
    assert carried.blocked == []
    halos = [message for message in carried.messages if message[3] == 100.0]
    assert len(halos) == 22 * 4 * 16
    assert np.isclose(sum(carried.computed.values()), 22 * 16 * 1e-3)


@pytest.mark.parametrize("place", ["first", "second", "third", "all but the last"])
def test_a_piece_of_a_merged_trace_may_hold_no_operations(tmp_path, monkeypatch, place):
    """A block that gives nobody anything has no users, and must not shift the numbers of those that do."""
    monkeypatch.setattr(reader, "_LARGEST_PIECE", 1 << 12)
    work = "".join(f"{rank} compute 1e6\n" for _ in range(400) for rank in range(2))
    uneven = "0 compute 1e6\n" * 100 + "1 compute 1e6\n" * 400
    empty = "#" * 99 + "\n"
    pieces = {
        "first": [empty * 90, work, uneven, work],
        "second": [work, empty * 90, uneven, work],
        "third": [work, uneven, empty * 90, work],
        "all but the last": [empty * 300, "0 init\n1 init\n", empty * 300, work],
    }[place]
    path = tmp_path / "merged.trace"
    path.write_text("".join(pieces) + "0 send 1 0 1000 6\n1 recv 0 0 1000 6\n")
    outcome = run(replay(path), fluid(), flat(2, 1e9, 1e-6))
    assert not outcome.blocked
    assert outcome.spent[1, State.COMPUTE] == pytest.approx(1e-3 * "".join(pieces).count("1 compute"))


def test_a_trace_of_ranks_that_do_nothing_takes_no_time(tmp_path):
    path = tmp_path / "merged.trace"
    path.write_text("0 init\n1 init\n")
    assert run(replay(path), fluid(), flat(2, 1e9, 1e-6)).seconds == 0


@pytest.mark.parametrize(
    ("line", "remark"),
    [("comm_split 2", 1), ("comm_size 1", 1), ("comm_size 2", 0), ("comm_dup 2", 0), ("comm_size", 0)],
)
@pytest.mark.parametrize("merged", [False, True])
def test_communicators_that_cannot_be_told_are_noted_once(tmp_path, line, remark, merged):
    texts = [f"{rank} init\n{rank} {line}\n{rank} bcast 8 0 6\n" for rank in range(2)]
    (tmp_path / "merged").write_text("".join(texts))
    (tmp_path / "list").write_text("0\n1\n")
    for rank, text in enumerate(texts):
        (tmp_path / str(rank)).write_text(text)
    trace = formats.load(tmp_path / ("merged" if merged else "list"))
    run(trace.program(), fluid(), flat(2, 1e8, 1e-6))
    run(trace.program(), fluid(), flat(2, 1e8, 1e-6))
    assert ["does not say which" in note for note in trace.notes()] == [True] * remark
