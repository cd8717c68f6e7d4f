"""Requests of an exchange in bursts: begun, waited for and computed on, without Python between two messages.

`commmodel.overlap` lists what a burst has; nothing here decides anything. A burst is a range of requests: those of its
messages, receives before sends, or one of a collective.
"""

from libc.stdlib cimport calloc, free
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport new_requests
from commmodel._core.mpi.mpi_calls cimport CHKERR, PyMPIComm_Get, check_same_library, import_mpi4py
from commmodel._core.mpi.partitioned cimport (
    COMMMODEL_PARTITIONED, commmodel_parrived, commmodel_precv_init, commmodel_pready, commmodel_psend_init,
)

import_mpi4py()
check_same_library()

HAS_PARTITIONED = bool(COMMMODEL_PARTITIONED)


cdef class Requests:
    """Requests in the order in which they were added, each of a piece of memory that it keeps alive."""

    cdef mpi.MPI_Request *requests
    cdef int most
    cdef readonly int count
    cdef list pieces

    def __cinit__(self, int most, *_):
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
            do(calls[i])

    def free(self):
        """Free the requests; none may be under way."""
        cdef int i
        for i in range(self.count):
            CHKERR(mpi.MPI_Request_free(&self.requests[i]))
        self.count = 0
        self.pieces.clear()


cdef class PartitionedRequests(Requests):
    """Requests of which some are partitioned: a transfer of equal pieces is one message, whose pieces arrive alone."""

    cdef int *partitions
    cdef int *arrivals  # pairs: a request, and the partition of it; -1 of a message without
    cdef int expected, most_arrivals

    def __cinit__(self, int most, int most_arrivals):
        self.partitions = <int *>calloc(most + 1, sizeof(int))
        self.arrivals = <int *>calloc(2 * most_arrivals + 1, sizeof(int))
        if self.partitions == NULL or self.arrivals == NULL:
            raise MemoryError()
        self.most_arrivals, self.expected = most_arrivals, 0

    def __dealloc__(self):
        free(self.partitions)
        free(self.arrivals)

    def add_parts(self, comm, const unsigned char[::1] piece not None, int partitions, int peer, int tag, bint is_sent):
        """Add the send or receive of a piece in equal partitions."""
        self._room()
        if partitions < 1 or piece.shape[0] % partitions:
            raise ValueError(f"{piece.shape[0]} bytes have no {partitions} equal partitions")
        cdef mpi.MPI_Comm owner = PyMPIComm_Get(comm)[0]
        cdef mpi.MPI_Request *request = &self.requests[self.count]
        cdef mpi.MPI_Count size = piece.shape[0] // partitions
        if is_sent:
            CHKERR(commmodel_psend_init(<void *>&piece[0], partitions, size, mpi.MPI_BYTE, peer, tag, owner,
                                        mpi.MPI_INFO_NULL, request))
        else:
            CHKERR(commmodel_precv_init(<void *>&piece[0], partitions, size, mpi.MPI_BYTE, peer, tag, owner,
                                        mpi.MPI_INFO_NULL, request))
        self.partitions[self.count] = partitions if is_sent else 0
        self._keep(piece)

    def expect(self, int request, int partition):
        """Note what `receive` waits for next: a partition of a request, or where it is -1 the whole."""
        self._check(request, request + 1)
        if self.expected == self.most_arrivals:
            raise ValueError(f"there is room for {self.most_arrivals} arrivals")
        self.arrivals[2 * self.expected], self.arrivals[2 * self.expected + 1] = request, partition
        self.expected += 1

    def start(self, int first, int end):
        """Begin the requests of a range, and declare all partitions ready: a library may wait for the last one."""
        cdef int i, j
        self._check(first, end)
        with nogil:
            start(&self.requests[first], end - first)
            for i in range(first, end):
                for j in range(self.partitions[i]):
                    CHKERR(commmodel_pready(j, self.requests[i]))

    def test(self, int first, int end):
        """Let the library go on with the requests of a range, one by one: MPI_Testall of MPICH 5.0 fails on them."""
        cdef int i, done
        self._check(first, end)
        for i in range(first, end):
            CHKERR(mpi.MPI_Request_get_status(self.requests[i], &done, mpi.MPI_STATUS_IGNORE))

    def receive(self, int first, tuple calls not None):
        """Wait for each arrival that is expected, in that order; after each call its ``(function, piece, start)``."""
        cdef int i
        if len(calls) != self.expected:
            raise ValueError(f"{len(calls)} calls of {self.expected} arrivals")
        for i in range(self.expected):
            with nogil:
                arrive(self.requests, self.arrivals[2 * i], self.arrivals[2 * i + 1])
            do(calls[i])


cdef class CollectiveRequests(Requests):
    """Collectives among neighbours of a communicator, one for a burst; the communicator is freed with them."""

    cdef list bursts
    cdef object comm

    def __cinit__(self, int most, comm):
        self.bursts, self.comm = [], comm

    def add(self, list received not None, list sent not None):
        """Add a burst: for each source, and for each destination of the communicator, a list of pieces."""
        self._room()
        self.bursts.append((Blocks(received), Blocks(sent)))
        self._keep(None)

    def start(self, int first, int end):
        """Begin the collectives of a range in their order."""
        cdef Blocks received, sent
        cdef mpi.MPI_Comm comm = PyMPIComm_Get(self.comm)[0]
        cdef int i
        self._check(first, end)
        for i in range(first, end):
            received, sent = self.bursts[i]
            with nogil:
                CHKERR(mpi.MPI_Ineighbor_alltoallw(
                    mpi.MPI_BOTTOM, sent.counts, sent.places, sent.types,
                    mpi.MPI_BOTTOM, received.counts, received.places, received.types, comm, &self.requests[i],
                ))

    def receive(self, int first, tuple calls not None):
        """Wait for a collective; then call each ``(function, piece, start)``."""
        self.complete(first, first + 1)
        for call in calls:
            do(call)

    def free(self):
        """Free datatypes and communicator; no collective may be under way."""
        for received, sent in self.bursts:
            received.release()
            sent.release()
        self.comm.Free()
        self.count = 0
        self.bursts.clear()
        self.pieces.clear()


cdef class Blocks:
    """What goes to, or comes from, each neighbour: a datatype of addresses."""

    cdef int *counts
    cdef mpi.MPI_Aint *places
    cdef mpi.MPI_Datatype *types
    cdef int neighbours
    cdef list pieces

    def __cinit__(self, list pieces not None):
        cdef int i
        self.neighbours, self.pieces = 0, pieces
        self.counts = <int *>calloc(len(pieces) + 1, sizeof(int))
        self.places = <mpi.MPI_Aint *>calloc(len(pieces) + 1, sizeof(mpi.MPI_Aint))
        self.types = <mpi.MPI_Datatype *>calloc(len(pieces) + 1, sizeof(mpi.MPI_Datatype))
        if self.counts == NULL or self.places == NULL or self.types == NULL:
            raise MemoryError()
        for i in range(len(pieces)):
            self.counts[i], self.types[i] = bool(pieces[i]), mpi.MPI_BYTE
            if pieces[i]:
                make_type(pieces[i], &self.types[i])
            self.neighbours += 1

    def __dealloc__(self):
        free(self.counts)
        free(self.places)
        free(self.types)

    cpdef release(self):
        """Free the datatypes."""
        cdef int i
        for i in range(self.neighbours):
            if self.counts[i]:
                CHKERR(mpi.MPI_Type_free(&self.types[i]))
        self.neighbours = 0


cdef int make_type(list pieces, mpi.MPI_Datatype *datatype) except -1:
    """Make the datatype of all pieces, relative to MPI_BOTTOM."""
    cdef int count = len(pieces), i
    cdef int *lengths = <int *>calloc(count, sizeof(int))
    cdef mpi.MPI_Aint *places = <mpi.MPI_Aint *>calloc(count, sizeof(mpi.MPI_Aint))
    cdef const unsigned char[::1] piece
    try:
        if lengths == NULL or places == NULL:
            raise MemoryError()
        for i in range(count):
            piece = pieces[i]
            lengths[i] = <int>piece.shape[0]
            CHKERR(mpi.MPI_Get_address(<void *>&piece[0], &places[i]))
        CHKERR(mpi.MPI_Type_create_hindexed(count, lengths, places, mpi.MPI_BYTE, datatype))
        CHKERR(mpi.MPI_Type_commit(datatype))
    finally:
        free(lengths)
        free(places)
    return 0


cdef inline int do(call) except -1:
    """Call ``(function, piece, start)``; nothing where it is None."""
    if call is not None:
        (<object>(<tuple>call)[0])((<tuple>call)[1], (<tuple>call)[2])
    return 0


cdef int arrive(mpi.MPI_Request *requests, int request, int partition) except -1 nogil:
    cdef int arrived = 0
    if partition < 0:
        return CHKERR(mpi.MPI_Wait(&requests[request], mpi.MPI_STATUS_IGNORE))
    while not arrived:
        CHKERR(commmodel_parrived(requests[request], partition, &arrived))
    return 0


cdef int start(mpi.MPI_Request *requests, int count) except -1 nogil:
    # MPI_Startall may start them in any order, and messages of a transfer are told apart by theirs alone.
    cdef int i
    for i in range(count):
        CHKERR(mpi.MPI_Start(&requests[i]))
    return 0
