"""Ping-pong of data that do not lie in one piece, by the ways in which a program can send them.

The function is called by both ranks of a pair, `first` true on the rank that sends first; it returns the ticks of each
repetition (uint64), uninterpreted. Between two ticks stand MPI calls and what gathers and scatters the data.
"""

from cpython.ref cimport PyObject
from libc.limits cimport INT_MAX
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport TAG_MESSAGE, read_lines, ticks_start, ticks_stop, write_lines
from commmodel._core.mpi.mpi_calls cimport CHKERR, PyMPIComm_Get, check_same_library, import_mpi4py

import_mpi4py()
check_same_library()

cdef extern from *:
    """
    #include <mpi4py/mpi4py.h>
    """
    mpi.MPI_Datatype *PyMPIDatatype_Get(object) except NULL

cdef enum Way:
    CONTIGUOUS, TYPE, PACK, CORE, NUMPY

_WAYS = {"contiguous": CONTIGUOUS, "type": TYPE, "pack": PACK, "core": CORE, "numpy": NUMPY}


cdef struct Side:
    # Where the data of one direction lie, and what gathers them into `packed` and scatters them from there.
    char *address
    char *packed
    PyObject *gather
    PyObject *scatter


cdef struct Work:
    mpi.MPI_Comm comm
    int peer
    bint first
    bint touched
    int clock
    Way way
    int size
    int count  # elements of `type`
    mpi.MPI_Datatype type
    Py_ssize_t block
    Py_ssize_t pieces
    Py_ssize_t stride
    const int64_t *places  # of irregular pieces; NULL for those `stride` bytes apart
    Side outgoing
    Side incoming


cdef inline Py_ssize_t place(Work *work, Py_ssize_t piece) noexcept nogil:
    return piece * work.stride if work.places == NULL else work.places[piece]


cdef void gather(Work *work, Side *side) noexcept nogil:
    """Copy the pieces into `packed`; those of eight bytes, such as a column's, as one number each."""
    cdef Py_ssize_t piece
    if work.block == 8:
        for piece in range(work.pieces):
            (<int64_t *>side.packed)[piece] = (<int64_t *>(side.address + place(work, piece)))[0]
    else:
        for piece in range(work.pieces):
            memcpy(side.packed + piece * work.block, side.address + place(work, piece), work.block)


cdef void scatter(Work *work, Side *side) noexcept nogil:
    cdef Py_ssize_t piece
    if work.block == 8:
        for piece in range(work.pieces):
            (<int64_t *>(side.address + place(work, piece)))[0] = (<int64_t *>side.packed)[piece]
    else:
        for piece in range(work.pieces):
            memcpy(side.address + place(work, piece), side.packed + piece * work.block, work.block)


cdef int call(PyObject *function) except -1 with gil:
    (<object>function)()
    return 0


cdef int give(Work *work) except -1 nogil:
    cdef Side *side = &work.outgoing
    cdef int position = 0
    if work.way == TYPE:
        return CHKERR(mpi.MPI_Send(side.address, work.count, work.type, work.peer, TAG_MESSAGE, work.comm))
    if work.way == PACK:
        CHKERR(mpi.MPI_Pack(side.address, work.count, work.type, side.packed, work.size, &position, work.comm))
        return CHKERR(mpi.MPI_Send(side.packed, position, mpi.MPI_PACKED, work.peer, TAG_MESSAGE, work.comm))
    if work.way == CORE:
        gather(work, side)
    elif work.way == NUMPY:
        call(side.gather)
    return CHKERR(mpi.MPI_Send(side.address if work.way == CONTIGUOUS else side.packed, work.size, mpi.MPI_BYTE,
                               work.peer, TAG_MESSAGE, work.comm))


cdef int take(Work *work) except -1 nogil:
    cdef Side *side = &work.incoming
    cdef int position = 0
    if work.way == TYPE:
        return CHKERR(mpi.MPI_Recv(side.address, work.count, work.type, work.peer, TAG_MESSAGE, work.comm,
                                   mpi.MPI_STATUS_IGNORE))
    CHKERR(mpi.MPI_Recv(side.address if work.way == CONTIGUOUS else side.packed, work.size,
                        mpi.MPI_PACKED if work.way == PACK else mpi.MPI_BYTE, work.peer, TAG_MESSAGE, work.comm,
                        mpi.MPI_STATUS_IGNORE))
    if work.way == PACK:
        CHKERR(mpi.MPI_Unpack(side.packed, work.size, &position, side.address, work.count, work.type, work.comm))
    elif work.way == CORE:
        scatter(work, side)
    elif work.way == NUMPY:
        call(side.scatter)
    return 0


cdef uint64_t touch_pieces(Work *work, char *address) noexcept nogil:
    """Read what has arrived and write the next message in its place; return the ticks that this takes."""
    cdef uint64_t begin = ticks_start(work.clock)
    cdef Py_ssize_t piece
    if work.way == CONTIGUOUS:
        read_lines(address, work.size)
        write_lines(address, work.size)
        return ticks_stop(work.clock) - begin
    for piece in range(work.pieces):
        read_lines(address + place(work, piece), work.block)
        write_lines(address + place(work, piece), work.block)
    return ticks_stop(work.clock) - begin


cdef int exchange_once(Work *work, uint64_t *ticks) except -1 nogil:
    cdef uint64_t begin, touching = 0
    if work.first:
        if work.touched:
            touch_pieces(work, work.outgoing.address)
        begin = ticks_start(work.clock)
        give(work)
        take(work)
        ticks[0] = ticks_stop(work.clock) - begin
    else:
        take(work)
        if work.touched:
            touching = touch_pieces(work, work.incoming.address)
        give(work)
        ticks[0] = touching
    return 0


cdef int set_side(Side *side, unsigned char[::1] buffer, Py_ssize_t extent, Py_ssize_t size, functions) except -1:
    if extent + size > buffer.shape[0]:
        raise ValueError(f"a layout of {extent} bytes and its packed {size} do not fit a buffer of "
                         f"{buffer.shape[0]} bytes")
    side.address = <char *>&buffer[0]
    side.packed = side.address + extent
    side.gather, side.scatter = <PyObject *>functions[0], <PyObject *>functions[1]
    return 0


def exchange(comm, int peer, bint first, str way not None, unsigned char[::1] send_buffer not None,
             unsigned char[::1] receive_buffer not None, layout not None, functions not None,
             Py_ssize_t repetitions, int clock, bint touched=False):
    """Return the ticks of `repetitions` round trips of data in pieces.

    `layout` is what `commmodel.bench.kernels.datatype.Layout` has: the bytes of a piece, their number, their distance
    or their places, the extent of all, and the MPI datatype and how many of it they are. In each buffer the data packed
    lie behind the layout. `functions` are gather and scatter of numpy, of each buffer. A touched message goes there and
    back between the send buffers, as in `pingpong`; the ticks of the second rank are those of its touching.
    """
    import numpy as np
    cdef Work work
    cdef const int64_t[::1] places
    cdef Py_ssize_t i, size = layout.block * layout.pieces
    if way not in _WAYS:
        raise ValueError(f"{way!r} is no way to send: {', '.join(_WAYS)}")
    if not 0 < size <= INT_MAX:
        raise ValueError(f"a message of {size} bytes: from 1 to {INT_MAX}, as MPI counts packed bytes in int")
    work.comm, work.peer, work.first, work.clock, work.touched = PyMPIComm_Get(comm)[0], peer, first, clock, touched
    work.way, work.size, work.count = _WAYS[way], <int>size, layout.count
    work.type = PyMPIDatatype_Get(layout.datatype)[0]
    work.block, work.pieces, work.stride, work.places = layout.block, layout.pieces, layout.stride, NULL
    if layout.places is not None:
        places = layout.places
        if places.shape[0] != work.pieces:
            raise ValueError(f"{work.pieces} pieces at {places.shape[0]} places")
        work.places = &places[0]
    set_side(&work.outgoing, send_buffer, layout.extent, size, functions[0])
    set_side(&work.incoming, receive_buffer, layout.extent, size, functions[1])
    if touched:
        work.incoming = work.outgoing
    ticks = np.zeros(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    with nogil:
        for i in range(repetitions):
            exchange_once(&work, &out[i])
    return ticks
