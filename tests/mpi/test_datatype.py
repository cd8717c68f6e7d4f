"""The loops of data in pieces and of objects on real MPI: every way brings the same data; refusals."""

import numpy as np
import pytest
from mpi4py import MPI

from commmodel._core.clock import processor_clock
from commmodel._core.mpi import datatype
from commmodel.bench.buffers import allocate
from commmodel.bench.kernels.datatype import layout_of, numpy_copies
from commmodel.bench.kernels.object import calls, example
from commmodel.results.configurations import Datatype

COMM = MPI.COMM_WORLD
PEER = COMM.rank ^ 1
FIRST = COMM.rank < PEER
LAYOUTS = ["vector", "subarray", "indexed", "struct"]
WAYS = ["type", "pack", "numpy", "core"]


def places(configuration):
    """Return a mask of the bytes that are sent, over the extent of the layout."""
    layout = layout_of(configuration)
    begins = np.arange(layout.pieces) * layout.stride if layout.places is None else layout.places
    mask = np.zeros(layout.extent, dtype=bool)
    mask[(begins[:, None] + np.arange(layout.block)).ravel()] = True
    layout.datatype.Free()
    return mask


def exchange(configuration, send, receive, *, touched=False, buffer_functions=None):
    layout = layout_of(configuration)
    functions = buffer_functions or [numpy_copies(layout, configuration.layout, buffer) for buffer in (send, receive)]
    try:
        return datatype.exchange(
            COMM, PEER, FIRST, configuration.way, send, receive, layout, functions, 2, processor_clock.COUNTER, touched
        )
    finally:
        layout.datatype.Free()


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize("block", [8, 12, 30, 200])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_brings_the_pieces_to_their_places_and_nothing_else(way, layout, block):
    configuration = Datatype(64 * block, layout, block, way, "any", 2 * block)
    mask = places(configuration)
    send, receive = (allocate(mask.size + configuration.message_size, "never") for _ in range(2))
    send[: mask.size] = (np.arange(mask.size) + COMM.rank) % 251
    receive[:] = 255
    ticks = exchange(configuration, send, receive)
    assert ticks.shape == (2,)
    assert (ticks > 0).all() == FIRST
    expected = np.where(mask, (np.arange(mask.size) + PEER) % 251, 255)
    np.testing.assert_array_equal(receive[: mask.size], expected)


@pytest.mark.parallel([2])
@pytest.mark.parametrize("way", ["contiguous", *WAYS])
def test_touched_pieces_go_there_and_back_between_the_send_buffers(way):
    configuration = Datatype(1024, "vector", 64, way, "any", 128)
    send, receive = (allocate(4096, "never") for _ in range(2))
    send[:], receive[:] = 7 * COMM.rank, 255
    exchange(configuration, send, receive, touched=True)
    assert (send[1:64] == 0).all()  # what the first rank had, but the first byte of a line, which both write
    assert (receive == 255).all()


@pytest.mark.parallel([2])
def test_what_does_not_fit_is_refused():
    buffer = allocate(1024, "never")
    with pytest.raises(ValueError, match="do not fit a buffer"):
        exchange(Datatype(1024, "vector", 64, "type", "any", 128), buffer, buffer, buffer_functions=[(None, None)] * 2)


@pytest.mark.parallel([2, 4])
@pytest.mark.parametrize("way", ["pickle", "pickle5", "buffer"])
@pytest.mark.parametrize("kind", ["array", "bytes", "str", "list", "dict"])
def test_an_object_arrives_as_it_was_sent(kind, way):
    content = example(kind, 1000)
    give, take = calls(COMM, PEER, way, content)
    if FIRST:
        give(content)
        received = take()
    else:
        received = take()
        give(received)
    assert type(received) is type(content)
    assert np.array_equal(received, content) if kind == "array" else received == content
