"""Traces of liballprof: calls, times, communicators and requests; damage in one line."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commmodel.cli import main
from commmodel.errors import DamagedFileError, InputError
from commmodel.simulate import SMPI, platform, run, traces

MPICH, OPEN_MPI = 0x44000000, 5641280
HEAD = "# htor's PMPI Tracer 0.1 Output File\n# clockdiff: 0.000000 s (relative to rank 0)\n\n"


def world(rank, size, handle=MPICH):
    return f"{handle},{rank},{size}"


def write_trace(folder, ranks):
    """Write lines of each rank, given without MPI_, as files; times stand in them."""
    for rank, lines in enumerate(ranks):
        text = "".join(f"MPI_{line}\n" for line in ["Init:-:140:141:0", *lines, "Finalize:1000000:-"])
        (folder / f"trace-{rank}.txt").write_text(HEAD + text)
    return folder


def actions(path, rank):
    lines = "".join(traces.load(path).text(rank)).splitlines()
    return [line.removeprefix(f"{rank} ") for line in lines[1:-1]]


def test_messages_and_times(tmp_path):
    w0, w1 = world(0, 2), world(1, 2)
    write_trace(tmp_path, [
        [f"Send:100:77:4500:11,8,8:1:7:{w0}:250", f"Recv:300:77:10:1,4,4:-2:-1:{w0}:88:999000"],
        [f"Recv:5:77:4500:11,8,8:0:7:{w1}:88:300", f"Comm_rank:310:{w1}:99:312", f"Send:320:77:10:1,4,4:0:9:{w1}:330"],
    ])  # fmt: skip
    assert actions(tmp_path, 0) == [
        "compute 100000", "send 1 7 36000 6", "compute 50000", "recv -1 -1 40 6", "compute 1000000",
    ]  # fmt: skip
    assert actions(tmp_path, 1)[:4] == ["compute 5000", "recv 0 7 36000 6", "compute 10000", "compute 2000"]
    trace = traces.load(tmp_path)
    assert (trace.processes, trace.in_seconds, trace.notes()) == (2, True, [])
    outcome = run(trace.program(), SMPI, platform.flat(2, 125e6, 15e-6))
    assert not outcome.blocked
    assert outcome.seconds > 0.99
    assert run(trace.program(faster=2.0), SMPI, platform.flat(2, 125e6, 15e-6)).seconds < 0.6


def test_requests_are_known_by_their_addresses(tmp_path):
    w0, w1 = world(0, 2), world(1, 2)
    isend = "Isend:{0}:77:1:13,1,1:1:{1}:" + w0 + ":{2}:{0}"
    sends = [isend.format(time, tag, address) for time, tag, address in ((1, 1, 100), (2, 2, 104), (3, 3, 112))]
    write_trace(tmp_path, [
        [*sends, "Wait:4:100:9:5", "Waitall:6:3:104:9:7", "Wait:8:100:9:9"],
        [*[f"Irecv:1:77:1:13,1,1:0:{tag}:{w1}:{96 + 8 * tag}:1" for tag in (1, 2, 3)], "Waitall:2:3:104:9:3"],
    ])  # fmt: skip
    first = [line for line in actions(tmp_path, 0) if not line.startswith("compute")]
    assert first == [
        "isend 1 1 1 6", "isend 1 2 1 6", "isend 1 3 1 6", "wait 0 1 1", "wait 0 1 2", "wait 0 1 3",
    ]  # fmt: skip
    second = [line for line in actions(tmp_path, 1) if not line.startswith("compute")]
    assert second[3:] == ["wait 0 1 1", "wait 0 1 2", "wait 0 1 3"]
    assert not run(traces.replay(tmp_path), SMPI, platform.flat(2, 125e6, 15e-6)).blocked


def test_address_that_is_used_again_has_been_completed(tmp_path):
    w0 = world(0, 1)
    write_trace(tmp_path, [[
        f"Irecv:1:77:1:13,1,1:0:1:{w0}:100:1", f"Isend:1:77:1:13,1,1:0:1:{w0}:200:1", "Test:1:100:9:9:1",
        "Test:5:100:9:9:5", f"Irecv:6:77:1:13,1,1:-1:1:{w0}:100:6", f"Isend:7:77:1:13,1,1:-1:1:{w0}:200:7",
    ]])  # fmt: skip
    lines = [line for line in actions(tmp_path, 0) if not line.startswith("compute")]
    assert lines == ["irecv 0 1 1 6", "isend 0 1 1 6", "wait 0 0 1", "wait 0 0 1"]
    assert "compute 4000" not in actions(tmp_path, 0)  # between two tests


def test_persistent_requests_and_exchanges(tmp_path):
    w0 = world(0, 1, OPEN_MPI)
    write_trace(tmp_path, [[
        f"Send_init:1:77:2:1,4,4:0:3:{w0}:100:1", f"Recv_init:1:77:2:1,4,4:-1:3:{w0}:108:1", "Startall:2:2:100:2",
        "Waitall:2:2:100:9:2", f"Sendrecv:3:7:1:1,4,4:0:5:8:1:1,4,4:0:5:{w0}:9:3",
        f"Sendrecv_replace:3:7:1:1,4,4:-2:5:-2:5:{w0}:9:3",
    ]])  # fmt: skip
    lines = [line for line in actions(tmp_path, 0) if not line.startswith("compute")]
    assert lines == [
        "isend 0 3 8 6", "irecv -1 3 8 6", "wait 0 0 3", "wait -1 0 3",
        "irecv 0 5 4 6", "isend 0 5 4 6", "wait 0 0 5", "wait 0 0 5",
    ]  # fmt: skip


COLLECTIVES = {
    "Barrier:1:{c}:2": "barrier",
    "Bcast:1:5:12:13,4,4:1:{c}:2": "bcast 48 1 6 element=4",
    "Reduce:1:5:6:3:1,4,4:3:1:{c}:2": "reduce 12 0 1 6 element=4",
    "Allreduce:1:5:6:3:1,4,4:3:{c}:2": "allreduce 12 0 6 element=4",
    "Scan:1:5:6:3:1,4,4:3:{c}:2": "scan 12 0 6 element=4",
    "Alltoall:1:5:3:1,4,4:6:6:2,2,2:{c}:2": "alltoall 12 12 6 6",
    "Gather:1:5:3:1,4,4:6:6:2,2,2:0:{c}:2": "gather 12 12 0 6 6",
    "Scatter:1:5:3:1,4,4:6:6:2,2,2:1:{c}:2": "scatter 0 12 1 6 6",
    "Gatherv:1:5:3:1,4,4:6:7:3,1:8:0,3:1,4,4:0:{c}:2": "gatherv 12 12 4 0 6 6",
    "Scatterv:1:5:7:3,1:8:0,3:1,4,4:6:3:1,4,4:0:{c}:2": "scatterv 12 4 12 0 6 6",
    "Allgatherv:1:5:3:1,4,4:6:7:3,1:8:0,3:1,4,4:{c}:2": "allgatherv 12 12 4 6",
    "Alltoallv:1:5:7:3,1:8:0,3:1,4,4:6:7:3,2:8:0,3:1,4,4:{c}:2": "alltoallv 0 12 4 0 12 8 6 6",
    "Reduce_scatter:1:5:6:7:3,1:1,4,4:3:{c}:2": "reducescatter 12 4 0 6 element=4",
    "Ibcast:1:5:12:13,4,4:1:{c}:100:2": "bcast 48 1 6 element=4",
}


@pytest.mark.parametrize("line", COLLECTIVES)
def test_collectives(tmp_path, line):
    lines = [[line.format(c=world(rank, 2)), "Wait:2:100:0:2"] for rank in range(2)]
    write_trace(tmp_path, lines)
    assert actions(tmp_path, 0)[1] == COLLECTIVES[line]


def test_communicators_are_told_by_what_made_them(tmp_path):
    ranks = []
    for rank in range(4):
        w, color, key = world(rank, 4), rank % 2, -rank
        row, pair = f"99,{1 - rank // 2},2", f"{7 if rank < 2 else 8},{rank % 2},2"
        ranks.append([
            f"Comm_split:1:{w}:{color}:{key}:500:1", f"Comm_dup:2:{w}:501:2", f"Barrier:3:1234,{rank},4:3",
            f"Allreduce:4:1:2:3:1,4,4:3:{row}:4", f"Comm_split:5:{w}:{rank // 2}:0:502:5",
            f"Comm_split:5:{row}:0:0:503:5", f"Bcast:6:5:1:13,1,1:0:{pair}:6",
            f"Send:7:5:1:13,1,1:{(1 - rank % 2)}:3:{pair}:7" if rank % 2 else
            f"Recv:7:5:1:13,1,1:{(1 - rank % 2)}:3:{pair}:9:7",
            f"Cart_create:8:{w}:2:1:2:0:504:8", f"Barrier:9:4321,{rank % 2},2:9", "Win_fence:9:0:7:11",
        ])  # fmt: skip
    write_trace(tmp_path, ranks)
    lines = [line for line in actions(tmp_path, 3) if not line.startswith("compute")]
    assert lines == [
        "allreduce 8 0 6", "allreduce 8 0 6", "communicator 3 0-3", "within 3 barrier", "communicator 2 3 1",
        "within 2 allreduce 12 0 6 element=4", "allreduce 8 0 6", "within 2 allreduce 8 0 6", "communicator 5 2 3",
        "within 5 bcast 1 0 6 element=1", "send 2 500000 1 6", "allreduce 8 0 6", "sleep 2e-06",
    ]  # fmt: skip
    trace = traces.load(tmp_path)
    assert not run(trace.program(), SMPI, platform.flat(4, 125e6, 15e-6)).blocked
    (note,) = trace.notes()
    assert "4 MPI_Barrier of a communicator without ranks" in note
    assert "4 MPI_Win_fence" in note


def test_files_are_a_folder_a_list_or_packed(tmp_path):
    lines = [[f"Barrier:1:{world(rank, 11)}:1"] for rank in range(11)]
    write_trace(tmp_path, lines)
    assert traces.load(tmp_path).processes == 11
    assert traces.is_foreign(tmp_path)
    for rank in range(11):
        path = tmp_path / f"trace-{rank}.txt"
        (tmp_path / f"{rank}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert "barrier" in actions(tmp_path, 10)
    (tmp_path / "list").write_text("".join(f"{rank}.gz\n" for rank in range(11)))
    assert traces.load(tmp_path / "list").processes == 11
    with pytest.raises(InputError, match="no number of a rank in its name"):
        traces.load(tmp_path)
    with pytest.raises(InputError, match="a trace of 11 processes, not of 4"):
        traces.load(tmp_path / "list", 4)


def test_command_replays_and_converts(tmp_path, capsys):
    (tmp_path / "in").mkdir()
    lines = [[f"Barrier:1:{world(rank, 2)}:1", "Put:1:2:3"] for rank in range(2)]
    source = str(write_trace(tmp_path / "in", lines))
    assert main(["simulate", "graphene", "replay", source, "--faster", "2", "--json"]) == 0
    output = capsys.readouterr()
    assert '"processes":2' in output.out
    assert "2 MPI_Put" in output.err
    assert main(["simulate", "graphene", "replay", source, "--speed", "1e9"]) == 2
    assert "give --faster" in capsys.readouterr().err
    for name in ("out", "x.goal", "x.bin"):
        assert main(["convert", source, "-o", str(tmp_path / name)]) == 0
        assert "2 MPI_Put" in capsys.readouterr().err
    assert "0 barrier\n" in (tmp_path / "out" / "rank0.txt").read_text()
    assert main(["convert", source, "-o", str(tmp_path / "out")]) == 2


W = world(0, 1)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("Send:1:2", "line 5: Send with 0 arguments: expected 6"),
        ("Send:1:77:x:13,1,1:0:0:{w}:2", "'x': expected a number"),
        ("Send:1:77:1:13:0:0:{w}:2", "expected type,size,extent"),
        ("Send:1:77:-1:13,1,1:0:0:{w}:2", "Send of -1 elements"),
        ("Send:1:77:1:13,1,1:1:0:{w}:2", "rank 1 of a communicator of 1"),
        ("Send:1:77:1:13,1,1:0:9999999999:{w}:2", "tag 9999999999"),
        ("Send:nan:77:1:13,1,1:0:0:{w}:2", "time 'nan': expected microseconds"),
        ("Send:1:77:1:13,1,1:0:0:77:2", "expected handle,rank,size"),
        ("Alltoallv:1:5:7:3,1:8:0,3:1,4,4:6:7:3,2:8:0,3:1,4,4:{w}:2", "2 counts in a communicator of 1 ranks"),
        ("Barrier", "expected MPI_NAME:begin:...:end"),
    ],
)
def test_damage_is_told_with_its_line(tmp_path, line, problem):
    write_trace(tmp_path, [[line.format(w=W)]])
    with pytest.raises(DamagedFileError, match=r"trace-0\.txt: line 5: ") as error:
        run(traces.replay(tmp_path), SMPI, platform.flat(1, 125e6, 15e-6))
    assert problem in str(error.value)


FIELDS = [*"MPI_:-,.\n#0123", "Send", "Wait", "MPI_Send:", "MPI_Comm_split:1:", "77,0,1", ":1,4,4", "Init:-:", "\xff"]


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(FIELDS), max_size=60))
def test_any_text_is_a_trace_or_damaged(tmp_path_factory, fields):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(b"MPI_Init:-:1:2:3\n" + "".join(fields).encode("latin-1"))
    try:
        outcome = run(traces.replay(path), SMPI, platform.flat(1, 125e6, 15e-6))
    except InputError:  # one line always, as `CommModelError` makes sure
        return
    assert outcome.seconds >= 0
