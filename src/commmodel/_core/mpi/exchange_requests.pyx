"""Persistent requests of an exchange in bursts: begun, waited for and computed on, without Python between two messages.

`commmodel.overlap` lists what a burst has; nothing here decides anything. A burst is a range of requests, its receives
before its sends.
"""

from libc.stdlib cimport free
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport new_requests
from commmodel._core.mpi.mpi_calls cimport CHKERR, PyMPIComm_Get, check_same_library, import_mpi4py

import_mpi4py()
check_same_library()


cdef class Requests:
    """Requests in the order in which they were added, each of a piece of memory that it keeps alive."""

    cdef mpi.MPI_Request *requests
    cdef int most
    cdef readonly int count
    cdef list pieces

    def __cinit__(self, int most):
        self.requests = new_requests(most + 1)
        self.most, self.count, self.pieces = most, 0, []

    def __dealloc__(self):
        free(self.requests)  # whoever made them frees the requests themselves, before MPI ends

    def add_send(self, comm, const unsigned char[::1] piece not None, int peer, int tag):
        """Add the send of a piece."""
        self._room()
        CHKERR(mpi.MPI_Send_init(<void *>&piece[0], <int>piece.shape[0], mpi.MPI_BYTE, peer, tag,
                                 PyMPIComm_Get(comm)[0], &self.requests[self.count]))
        self._keep(piece)

    def add_receive(self, comm, unsigned char[::1] piece not None, int peer, int tag):
        """Add the receive of a piece."""
        self._room()
        CHKERR(mpi.MPI_Recv_init(&piece[0], <int>piece.shape[0], mpi.MPI_BYTE, peer, tag, PyMPIComm_Get(comm)[0],
                                 &self.requests[self.count]))
        self._keep(piece)

    cdef int _room(self) except -1:
        if self.count == self.most:
            raise ValueError(f"there is room for {self.most} requests")
        return 0

    cdef int _keep(self, piece) except -1:
        self.pieces.append(piece)
        self.count += 1
        return 0

    cdef int _check(self, int first, int end) except -1:
        if not 0 <= first <= end <= self.count:
            raise ValueError(f"requests {first} to {end} of {self.count}")
        return 0

    def start(self, int first, int end):
        """Begin the requests of a range in their order."""
        self._check(first, end)
        with nogil:
            start(&self.requests[first], end - first)

    def test(self, int first, int end):
        """Let the library go on with the requests of a range."""
        cdef int done
        self._check(first, end)
        CHKERR(mpi.MPI_Testall(end - first, &self.requests[first], &done, mpi.MPI_STATUSES_IGNORE))

    def complete(self, int first, int end):
        """Wait for the requests of a range, without computing."""
        self._check(first, end)
        with nogil:
            CHKERR(mpi.MPI_Waitall(end - first, &self.requests[first], mpi.MPI_STATUSES_IGNORE))

    def receive(self, int first, tuple calls not None):
        """Wait for a request after the other, from `first` on; after each call its ``(function, piece, start)``.

        Where there is None in place of a call, the next request is waited for.
        """
        cdef Py_ssize_t i
        self._check(first, first + <int>len(calls))
        for i in range(len(calls)):
            with nogil:
                CHKERR(mpi.MPI_Wait(&self.requests[first + i], mpi.MPI_STATUS_IGNORE))
            call = calls[i]
            if call is not None:
                (<object>(<tuple>call)[0])((<tuple>call)[1], (<tuple>call)[2])

    def free(self):
        """Free the requests; none may be under way."""
        cdef int i
        for i in range(self.count):
            CHKERR(mpi.MPI_Request_free(&self.requests[i]))
        self.count = 0
        self.pieces.clear()


cdef int start(mpi.MPI_Request *requests, int count) except -1 nogil:
    # MPI_Startall may start them in any order, and messages of a transfer are told apart by theirs alone.
    cdef int i
    for i in range(count):
        CHKERR(mpi.MPI_Start(&requests[i]))
    return 0
