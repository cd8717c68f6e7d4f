"""An exchange with several neighbours at once: all messages begun, then completed together.

The function is called by all ranks of a communicator; it returns ticks (uint64), uninterpreted.
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport free
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport (
    TAG_MESSAGE, Message, check_places, describe, new_requests, read_lines, release, ticks_start, ticks_stop, wait_all,
    write_lines,
)
from commmodel._core.mpi.mpi_calls cimport CHKERR, PyMPIComm_Get, check_same_library, import_mpi4py

import numpy as np

import_mpi4py()
check_same_library()


def exchange(comm, int[::1] sources not None, int[::1] targets not None, unsigned char[::1] send_buffer not None,
             unsigned char[::1] receive_buffer not None, Py_ssize_t size, Py_ssize_t stride, Py_ssize_t repetitions,
             int clock, bint touched=False):
    """Return the ticks of exchanges in which message i comes from ``sources[i]`` and message i goes to ``targets[i]``.

    After a barrier of `comm` each rank begins its MPI_Irecv, then its MPI_Isend, and completes all of them in one
    MPI_Waitall. Messages lie `stride` bytes apart in both buffers. Touched ones are written before the barrier and
    read after the MPI_Waitall.
    """
    cdef int count = <int>sources.shape[0], k
    if targets.shape[0] != count:
        raise ValueError(f"{count} sources, but {targets.shape[0]} targets")
    check_places(send_buffer, False, size, stride, count)
    check_places(receive_buffer, False, size, stride, count)
    ticks = np.empty(repetitions, dtype=np.uint64)
    cdef uint64_t[::1] out = ticks
    cdef mpi.MPI_Comm handle = PyMPIComm_Get(comm)[0]
    cdef Message outgoing, incoming
    cdef mpi.MPI_Request *requests
    cdef Py_ssize_t i, extent = (count - 1) * stride + size
    cdef uint64_t begin
    describe(&outgoing, send_buffer, size)
    describe(&incoming, receive_buffer, size)
    requests = new_requests(2 * count)
    try:
        with nogil:
            for i in range(repetitions):
                if touched:
                    write_lines(outgoing.address, extent)
                CHKERR(mpi.MPI_Barrier(handle))
                begin = ticks_start(clock)
                for k in range(count):
                    CHKERR(mpi.MPI_Irecv(<char *>incoming.address + k * stride, incoming.count, incoming.type,
                                         sources[k], TAG_MESSAGE, handle, &requests[k]))
                for k in range(count):
                    CHKERR(mpi.MPI_Isend(<char *>outgoing.address + k * stride, outgoing.count, outgoing.type,
                                         targets[k], TAG_MESSAGE, handle, &requests[count + k]))
                wait_all(2 * count, requests)
                out[i] = ticks_stop(clock) - begin
                if touched:
                    read_lines(incoming.address, extent)
    finally:
        free(requests)
    release(&outgoing)
    release(&incoming)
    return ticks
