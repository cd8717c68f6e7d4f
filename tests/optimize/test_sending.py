"""How to send an array or an object: what is recognised, the choice, its code on two ranks."""

import sys

import msgspec
import numpy as np
import pytest
from support.launching import launch
from support.sending_ranks import PROGRAM

from commmodel.errors import InputError, MissingParameterError
from commmodel.machine import Machine, MeasuredTimes, ObjectTimes, PieceCosts, Segment, Sending
from commmodel.optimize import PieceLayout, how_to_send
from commmodel.optimize.sending import _message_of

FLOOR = MeasuredTimes((1024, 1 << 20, 1 << 24), (1e-6, 1e-4, 3.2e-3))
SIZES, BLOCKS = (1024, 1 << 20), (8, 4096)


def costs(way, small, large, scatter=0.1):
    row = (small, large)
    return PieceCosts("vector", way, SIZES, BLOCKS, (row, row), scatter)


def objects(kind, **seconds):
    return [ObjectTimes(kind, way, MeasuredTimes((1024, 1 << 20), times), 0.1) for way, times in seconds.items()]


MACHINE = Machine(
    "m",
    (Segment("all"),),
    confidence=0.95,
    sending=(
        Sending(
            "same-node",
            FLOOR,
            (
                costs("type", 9e-9, 0.0),
                costs("numpy", 1e-9, 5e-10),
                costs("pack", 2e-9, 6e-10),
                costs("core", 5e-10, 4e-10),
            ),
            (
                *objects("array", pickle=(9e-6, 9e-4), pickle5=(2e-5, 2e-4), buffer=(2e-6, 1.2e-4)),
                *objects("dict", pickle=(2e-5, 2e-2), pickle5=(3e-5, 2.1e-2), buffer=(5e-6, 4e-3)),
                *objects("str", pickle=(9e-6, 9e-4), buffer=(4e-6, 4e-4)),
            ),
        ),
    ),
)


@pytest.mark.parametrize(
    ("view", "layout", "block", "message_size"),
    [
        (np.zeros((10, 64))[:, 0], "vector", 8, 80),
        (np.zeros((10, 64))[:, 3:7], "vector", 32, 320),
        (np.zeros((10, 64))[::-1], "vector", 512, 5120),
        (np.zeros((10, 64), order="F")[2], "vector", 8, 512),
        (np.zeros((4, 4, 4))[:, 1:3, 1:3], "subarray", 16, 128),
        (np.zeros(9, dtype=[("a", "i4"), ("b", "f8")])["b"], "vector", 8, 72),
        (np.zeros((5, 1, 6))[:, 0, ::2], "subarray", 8, 120),
        (np.zeros((10, 64)), "contiguous", 0, 5120),
        (np.zeros((10, 64)).T, "contiguous", 0, 5120),
        (np.array(1.0), "contiguous", 0, 8),
        (np.zeros((0, 5))[:, 0], "contiguous", 0, 0),
    ],
)
def test_how_an_array_lies_is_seen_from_its_strides(view, layout, block, message_size):
    data = _message_of(view)
    assert (data.layout, data.block, data.message_size) == (layout, block, message_size)


def test_a_column_is_copied_by_numpy_where_its_datatype_is_slow():
    advice = how_to_send(np.zeros((131072, 4))[:, 0], MACHINE)
    assert [row.way for row in advice.ways] == ["core", "numpy", "pack", "type"]
    assert (advice.best, advice.usual) == ("numpy", "type")  # nobody types a compiled loop into mpi4py
    assert advice.gain == pytest.approx((1e-4 + 9e-9 * 2**20) / (1e-4 + 1e-9 * 2**20))
    assert advice.certainty > 0.999
    assert "buffer[...] = data" in advice.sender
    assert any("compiled loop" in line for line in advice.remarks)
    assert repr(advice).startswith("SendAdvice(131072 pieces of 8 B, 32 B apart: numpy, ")


def test_long_pieces_go_by_their_datatype_and_the_gain_is_none():
    advice = how_to_send(np.zeros((256, 1024))[:, :512], MACHINE)
    assert (advice.best, advice.usual, advice.gain, advice.certainty) == ("type", "type", 1.0, 1.0)


def column_by(type_cost, numpy_cost):
    pieces = costs("type", type_cost, 0.0), costs("numpy", numpy_cost, 0.0)
    sending = msgspec.structs.replace(MACHINE.sending[0], pieces=pieces)
    return how_to_send(np.zeros((131072, 4))[:, 0], msgspec.structs.replace(MACHINE, sending=(sending,)))


def test_the_usual_way_stays_where_another_is_hardly_faster():
    alike, faster = column_by(1.03e-9, 1e-9), column_by(1.1e-9, 1e-9)
    assert (alike.best, alike.gain, alike.certainty) == ("type", 1.0, 1.0)
    assert alike.ways[0].way == "numpy"
    assert faster.best == "numpy"
    assert 0.6 < faster.certainty < 0.9


def test_a_dictionary_is_pickled_and_its_values_alone_are_told_of():
    advice = how_to_send({f"item{number:06}": float(number) for number in range(1000)}, MACHINE)
    assert (advice.best, advice.sender) == ("pickle", "comm.send(data, dest=peer, tag=tag)")
    assert advice.time_of("buffer").seconds < advice.time_of("pickle").seconds
    assert any("where the receiver knows the keys" in line for line in advice.remarks)


def test_an_array_in_a_dictionary_goes_beside_the_pickle():
    advice = how_to_send({"field": np.zeros(131072)}, MACHINE)
    assert (advice.best, advice.usual) == ("pickle5", "pickle")
    assert "pkl5" in advice.receiver


def test_a_gigabyte_is_sent_in_parts_where_that_is_faster():
    advice = how_to_send(np.broadcast_to(np.zeros(1), (1 << 27,))[:0], MACHINE)
    assert advice.best == "buffer"
    large = np.zeros(1 << 22)  # 32 MiB; its rate falls beyond 1 MiB
    parts = how_to_send(large, MACHINE)
    assert parts.best == "chunks"
    assert "for begin in range(0, numbers.size, 131072):" in parts.sender


def test_a_message_larger_than_all_that_were_measured_is_said_to_be_extrapolated():
    large = how_to_send(PieceLayout(1 << 22, 8), MACHINE, path="same-node")
    assert "measured up to 16 MiB: each further byte is taken to cost as much as those" in large.remarks
    within = how_to_send(PieceLayout(1 << 20, 8), MACHINE, path="same-node")
    assert not any("measured up to" in remark for remark in within.remarks)


def test_objects_of_numbers_that_are_none_are_pickled():
    assert how_to_send(np.array([{}, None], dtype=object), MACHINE).best in ("pickle", "pickle5")
    assert {row.way for row in how_to_send({"a": "text"}, MACHINE).ways} == {"pickle", "pickle5"}


def test_pieces_can_be_described_by_numbers():
    advice = how_to_send(PieceLayout(131072, 8, 16384), MACHINE, path="same-node")
    assert advice.best == "numpy"
    assert any("measured with pieces closer together" in line for line in advice.remarks)
    assert advice.to_dict()["way"] == [row.way for row in advice.ways]
    with pytest.raises(InputError, match="stride 4: pieces of 8 bytes that begin so close overlap"):
        PieceLayout(2, 8, 4)


def test_what_is_missing_is_named_with_its_kernel():
    bare = Machine("bare", (Segment("all"),))
    with pytest.raises(MissingParameterError, match="bench datatype object"):
        how_to_send(np.zeros(8), bare)
    no_lists = msgspec.structs.replace(MACHINE, sending=(msgspec.structs.replace(MACHINE.sending[0], objects=()),))
    with pytest.raises(MissingParameterError, match="object --kinds str"):
        how_to_send("text", no_lists)
    with pytest.raises(InputError, match="cannot be pickled"):
        how_to_send(lambda: None, MACHINE)


@pytest.mark.mpi
def test_the_lines_of_each_way_bring_what_was_sent():
    done = launch(2, sys.executable, PROGRAM)
    assert done.returncode == 0, done.stderr
    assert "92 executed, wrong: []" in done.stdout
