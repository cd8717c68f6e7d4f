"""What recorded messages hold that is not in one piece: layouts of datatypes, and pickled objects."""

import sys
from collections import Counter
from pathlib import Path
from textwrap import dedent

import pytest
from support.launching import launch
from support.logs import new_logs, write
from support.recordings import calls, decode

from commmodel import record
from commmodel.record.files import RecordedLayout, _is_sound

VECTOR, SUBARRAY, INDEXED, STRUCT, OBJECT, ARRAY, DICT = 0, 1, 2, 3, 16, 17, 21


def contents(tmp_path, logs):
    return record.site_contents(record.load(write(tmp_path / "r", logs)))


def test_sends_are_counted_by_site_and_layout(tmp_path):
    logs = new_logs(2)
    logs[0].layout(1, VECTOR, 8000, 1000, 512)
    logs[0].layout(2, ARRAY)
    logs[0].call("Send", 0, 1, line=1, peer=1, bytes=8000)  # in one piece
    logs[0].contents(1)
    for _ in range(3):
        logs[0].call("Send", 0, 1, line=2, peer=1, bytes=16000)
    logs[0].call("Send", 0, 1, line=2, peer=-2, bytes=16000)  # to nobody
    logs[0].contents(2)
    logs[0].call("Isend", 0, 1, line=3, peer=1, bytes=5000, request=1)
    logs[0].call("Wait", 0, 1, line=4, given=1)  # gives no data
    logs[0].contents(0)
    logs[0].call("Send", 0, 1, line=5, peer=1, bytes=8000)
    column, array = contents(tmp_path, logs)
    assert (column.place, column.call, column.calls, column.messages) == ("solver.py:2", "MPI_Send", 3, 3)
    assert (column.layout, column.block, column.stride, column.kind) == ("vector", 8.0, 512, None)
    assert (column.bytes, column.message_size, column.pieces) == (48000, 16000, 2000)
    assert (array.place, array.kind, array.layout, array.pieces) == ("solver.py:3", "array", None, 0)


def test_layouts_of_more_of_the_same_pieces_are_one(tmp_path):
    (log,) = logs = new_logs(1)
    for number, pieces in ((1, 10), (2, 20)):
        log.layout(number, VECTOR, 8 * pieces, pieces, 64)
        log.contents(number)
        log.call("Send", 0, 1, peer=0, bytes=8 * pieces)
    (column,) = contents(tmp_path, logs)
    assert (column.calls, column.bytes, column.pieces) == (2, 240, 15)


def test_a_persistent_send_counts_as_often_as_it_is_started(tmp_path):
    (log,) = logs = new_logs(1)
    log.layout(1, INDEXED, 24, 3)
    log.contents(1)
    log.call("Send_init", 0, 1, line=7, peer=0, bytes=24, request=4)
    log.contents(0)
    for _ in range(5):
        log.call("Startall", 0, 1, line=8, requests=[3, 4])
    (sent,) = contents(tmp_path, logs)
    assert (sent.place, sent.call, sent.calls, sent.bytes) == ("solver.py:7", "MPI_Send_init", 5, 120)
    assert (sent.layout, sent.stride) == ("indexed", None)


def test_of_collectives_the_root_gives_and_each_peer_gets_its_part(tmp_path):
    logs = new_logs(3)
    for log in logs:
        log.layout(1, DICT)
        log.contents(1)
        log.call("Bcast", 0, 1, line=1, bytes=100, root=1)
        log.call("Alltoall", 0, 1, line=2, bytes=10)
        log.call("Scatterv", 0, 1, line=3, root=0, sent_counts=(5, 0, 7) if log.rank == 0 else ())
    counted = {content.call: (content.calls, content.messages, content.bytes) for content in contents(tmp_path, logs)}
    assert counted == {"MPI_Bcast": (1, 1, 100), "MPI_Alltoall": (3, 9, 90), "MPI_Scatterv": (1, 2, 12)}


def test_receives_into_pieces_are_told_apart(tmp_path):
    (log,) = logs = new_logs(1)
    log.layout(1, STRUCT, 12, 2)
    log.contents(1)
    log.call("Recv", 0, 1, peer=0, source=0, bytes=12, received_bytes=12)
    (received,) = contents(tmp_path, logs)
    assert (received.is_sent, received.layout) == (False, "struct")


def test_a_recording_without_layouts_holds_nothing(tmp_path):
    logs = new_logs(1)
    logs[0].call("Send", 0, 1, peer=0, bytes=8)
    assert contents(tmp_path, logs) == ()


@pytest.mark.parametrize("layout", [(4, 8, 1, 0), (VECTOR, 8, 0, 0), (VECTOR, 8, 9, 0)])
def test_a_damaged_layout_is_none(tmp_path, layout):
    assert not _is_sound(RecordedLayout(*layout))
    (log,) = logs = new_logs(1)
    log.layout(1, *layout)
    log.contents(1)
    log.call("Send", 0, 1, peer=0, bytes=8)
    assert contents(tmp_path, logs) == ()


TYPES = """\
    from mpi4py import MPI
    import numpy as np
    world, data = MPI.COMM_WORLD, np.zeros(4000)
    peer, number = 1 - world.rank, MPI.DOUBLE
    column = number.Create_vector(10, 1, 20)
    def subarray(sizes, lengths, order=MPI.ORDER_C):
        return number.Create_subarray(sizes, lengths, [0] * len(sizes), order)
    types = [
        number.Create_contiguous(10),                                # 0
        column,                                                      # 1
        number.Create_hvector(10, 2, 160),                           # 2
        column.Dup(),                                                # 3
        subarray([10, 20], [10, 1]),                                 # 4
        subarray([10, 20], [4, 20]),                                 # 5
        subarray([6, 7, 8], [6, 3, 2]),                              # 6
        subarray([6, 7, 8], [1, 7, 8], MPI.ORDER_F),                 # 7
        number.Create_indexed([1, 1, 1], [0, 5, 7]),                 # 8
        number.Create_indexed([2, 3, 1], [0, 2, 5]),                 # 9
        number.Create_indexed_block(2, [0, 4, 9]),                   # 10
        number.Create_hindexed([1, 2], [0, 80]),                     # 11
        MPI.Datatype.Create_struct([1, 1], [0, 8], [MPI.INT, number]),          # 12
        MPI.Datatype.Create_struct([1, 1], [0, 8], [number, number]),           # 13
        column.Create_resized(0, 8),                                 # 14
        number.Create_vector(3, 1, 2).Create_hvector(4, 1, 160),     # 15
        number.Create_resized(0, 64),                                # 16
        MPI.DOUBLE_INT,                                              # 17
    ]
    counts = {14: 3, 16: 5}
    for place, type in enumerate(types):
        if type is not MPI.DOUBLE_INT:
            type.Commit()
        buffer = [MPI.buffer.fromaddress(data.ctypes.data, data.nbytes), counts.get(place, 1), type]
        if world.rank == 0:
            world.Send(buffer, peer, place)
        else:
            world.Recv(buffer, peer, place)
    for _ in range(2):  # a handle that is used again
        for type in (number.Create_vector(3, 1, 4).Commit(), number.Create_contiguous(3).Commit()):
            if world.rank == 0:
                world.Send([data, 1, type], peer, 100)
            else:
                world.Recv([data, 1, type], peer, 100)
            type.Free()
    """
LAYOUTS = {
    1: (VECTOR, 80, 10, 160), 2: (VECTOR, 160, 10, 160), 3: (VECTOR, 80, 10, 160), 4: (VECTOR, 80, 10, 160),
    6: (SUBARRAY, 288, 18, 64), 7: (VECTOR, 448, 56, 48), 8: (INDEXED, 24, 3, 0), 10: (INDEXED, 48, 3, 0),
    11: (INDEXED, 24, 2, 0), 12: (STRUCT, 12, 2, 0), 14: (SUBARRAY, 80, 10, 160), 15: (SUBARRAY, 96, 12, 16),
    16: (VECTOR, 8, 1, 64),
}  # fmt: skip


def recorded(tmp_path, text):
    """Record a program of two ranks; return the logs of both."""
    program, folder = tmp_path / "program.py", tmp_path / "recording"
    program.write_text(dedent(text))
    completed = launch(2, sys.executable, "-m", "commmodel", "record", "-o", folder, "--", sys.executable, program)
    assert completed.returncode == 0, completed.stderr
    return [folder / f"rank-{rank:06}.log" for rank in range(2)]


def layouts_of(log, *names):
    """Return tag and layout of each call; None where data are in one piece."""
    layouts, layout, rows = {0: None}, None, []
    for entry in decode(log)[1]:
        match entry["kind"]:
            case "layout":
                layouts[entry["number"]] = tuple(entry[name] for name in ("shape", "size", "pieces", "distance"))
            case "content":
                layout = layouts[entry["number"]]
            case "call" if entry["name"].removeprefix("MPI_") in names:
                rows.append((entry.get("tag"), layout))
    return rows


@pytest.mark.mpi
def test_datatypes_have_the_layouts_that_they_were_made_with(tmp_path):
    for log in recorded(tmp_path, TYPES):
        rows = layouts_of(log, "Send", "Recv")
        assert {tag: layout for tag, layout in rows if tag < 100 and layout} == LAYOUTS
        assert [layout for tag, layout in rows if tag == 100] == 2 * [(VECTOR, 24, 3, 32), None]


@pytest.mark.mpi
def test_objects_are_told_from_arrays_and_bytes(tmp_path):
    logs = recorded(tmp_path, """\
        from mpi4py import MPI
        from mpi4py.util import pkl5
        import numpy as np
        world, peer = MPI.COMM_WORLD, 1 - MPI.COMM_WORLD.rank
        objects = [
            np.zeros(100), b"x" * 100, "x" * 100, "x" * 1000, [0.5] * 100, (0.5,) * 100,
            {f"key{i}": 0.5 for i in range(100)}, {"a": np.zeros(9)}, [{}], None, np.float64(1.0),
        ]
        if world.rank == 0:
            for place, value in enumerate(objects):
                world.send(value, peer, place)
            world.isend(objects[0], peer, 20).wait()
            world.Send(np.zeros(100), peer, 30)
            world.Send(bytes(100), peer, 31)
            world.Send(b"\\x80\\x05" + bytes(98), peer, 32)
            pkl5.Intracomm(world).send(objects[1], peer, 33)
        else:
            for place in range(len(objects)):
                world.recv(source=peer, tag=place)
            world.recv(source=peer, tag=20)
            room = bytearray(800)
            for tag in (30, 31, 32):
                world.Recv(room, peer, tag)
            pkl5.Intracomm(world).recv(source=peer, tag=33)
        world.bcast(objects[4])
        world.gather(objects[6])
        world.allgather(objects[0])
        """)  # fmt: skip
    kinds = [17, 18, 19, 19, 20, 20, 21, 16, 16, 16, 16]
    rows = layouts_of(logs[0], "Send", "Isend")
    assert [(tag, layout and layout[0]) for tag, layout in rows[: len(kinds)]] == list(enumerate(kinds))
    assert Counter((tag, layout and layout[0]) for tag, layout in rows[len(kinds) :]) == Counter(
        {(20, 17): 1, (30, None): 1, (31, None): 1, (32, None): 1, (33, None): 2}
    )
    assert [layout and layout[0] for _, layout in layouts_of(logs[0], "Bcast")] == [None, 20]
    assert layouts_of(logs[1], "Gatherv")[-1][1][0] == 21
    assert layouts_of(logs[1], "Allgatherv")[-1][1][0] == 17
    (places,) = {Path(content.file).name for content in record.site_contents(record.load(logs[0].parent))}
    assert places == "program.py"


@pytest.mark.mpi
def test_a_program_without_datatypes_of_its_own_has_not_a_byte_more(tmp_path):
    for log in recorded(tmp_path, """\
        from mpi4py import MPI
        import numpy as np
        world, data = MPI.COMM_WORLD, np.zeros(100)
        for _ in range(10):
            world.Sendrecv(data, 1 - world.rank, 0, data.copy(), 1 - world.rank, 0)
            world.Bcast([data, MPI.BYTE])
            world.Allreduce(MPI.IN_PLACE, data)
        """):  # fmt: skip
        assert len(calls(log, "Sendrecv", "Bcast", "Allreduce")) == 30
        assert {"layout", "content"}.isdisjoint(entry["kind"] for entry in decode(log)[1])
