# Collective operations: what each one's MPI call needs, made before a loop, and the call itself. All of it is inlined;
# nothing here holds a Python object on the way that is timed. Main entries: `prepare`, `carry_out`, `finish`.

from libc.limits cimport INT_MAX
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc
from mpi4py cimport libmpi as mpi

from commmodel._core.mpi.messages cimport Message, describe, release, spin, wait
from commmodel._core.mpi.mpi_calls cimport CHKERR

cdef enum Operation:
    BARRIER
    BCAST
    REDUCE
    ALLREDUCE
    GATHER
    SCATTER
    ALLGATHER
    ALLTOALL
    REDUCE_SCATTER
    SCAN
    EXSCAN
    GATHERV
    SCATTERV
    ALLGATHERV
    ALLTOALLV
    ALLTOALLW
    REDUCE_SCATTERV
    NEIGHBOR_ALLGATHER
    NEIGHBOR_ALLGATHERV
    NEIGHBOR_ALLTOALL
    NEIGHBOR_ALLTOALLV
    NEIGHBOR_ALLTOALLW
    BCAST_BINARY_TREE
    BCAST_LINEAR

cdef enum Mode:
    BLOCKING
    NON_BLOCKING
    OVERLAPPED

cdef enum:
    ROOT = 0
    FLOAT_BYTES = 4
    DIMENSIONS = 2
    NEIGHBOURS = 4  # one each way of each dimension, be it the process itself
    TAG_BROADCAST = 21  # of no other traffic of a communicator that collectives are measured on

cdef struct Call:
    # All that an operation needs; made by `prepare` before the loop, ended by `finish` after it.
    Operation operation
    Mode mode
    void *outgoing
    void *incoming
    int count
    mpi.MPI_Datatype type
    mpi.MPI_Op op
    mpi.MPI_Comm comm
    Message message
    # Of forms with counts, an entry for each process or neighbour; NULL of all others.
    int *counts
    int *places
    mpi.MPI_Aint *byte_places
    mpi.MPI_Datatype *types
    # Of broadcasts by hand.
    int rank
    int processes
    # Of operations that do not block.
    mpi.MPI_Request request
    uint64_t delay
    int clock
    # Of touched messages: bytes that this rank writes before and reads after the operation; else 0.
    Py_ssize_t written
    Py_ssize_t read


cdef inline bint is_reduction(int operation) noexcept:
    return operation in (REDUCE, ALLREDUCE, REDUCE_SCATTER, SCAN, EXSCAN, REDUCE_SCATTERV)


cdef inline bint is_among_neighbours(int operation) noexcept:
    return operation in (NEIGHBOR_ALLGATHER, NEIGHBOR_ALLGATHERV, NEIGHBOR_ALLTOALL, NEIGHBOR_ALLTOALLV,
                         NEIGHBOR_ALLTOALLW)


cdef inline bint is_by_hand(int operation) noexcept:
    return operation in (BCAST_BINARY_TREE, BCAST_LINEAR)


cdef inline bint has_counts(int operation) noexcept:
    return operation in (GATHERV, SCATTERV, ALLGATHERV, ALLTOALLV, ALLTOALLW, REDUCE_SCATTERV, NEIGHBOR_ALLGATHERV,
                         NEIGHBOR_ALLTOALLV, NEIGHBOR_ALLTOALLW)


cdef inline int blocks_sent(int operation, int processes, int rank) noexcept:
    """Return how many blocks of the message's size lie in the send buffer."""
    if operation in (ALLTOALL, ALLTOALLV, ALLTOALLW, REDUCE_SCATTER, REDUCE_SCATTERV):
        return processes
    if operation in (SCATTER, SCATTERV) and rank == ROOT:
        return processes
    if operation in (NEIGHBOR_ALLTOALL, NEIGHBOR_ALLTOALLV, NEIGHBOR_ALLTOALLW):
        return NEIGHBOURS
    return 1


cdef inline int blocks_received(int operation, int processes, int rank) noexcept:
    """Return how many blocks of the message's size arrive in the receive buffer."""
    if operation in (ALLTOALL, ALLTOALLV, ALLTOALLW, ALLGATHER, ALLGATHERV):
        return processes
    if operation in (GATHER, GATHERV) and rank == ROOT:
        return processes
    if is_among_neighbours(operation):
        return NEIGHBOURS
    return 1


cdef inline int check_room(int operation, Py_ssize_t size, int processes, int rank, unsigned char[::1] send_buffer,
                           unsigned char[::1] receive_buffer) except -1:
    cdef Py_ssize_t sent = size * blocks_sent(operation, processes, rank)
    cdef Py_ssize_t received = size * blocks_received(operation, processes, rank)
    if size < 0 or sent > send_buffer.shape[0] or received > receive_buffer.shape[0]:
        raise ValueError(f"{size} bytes of each of {processes} processes do not fit buffers of "
                         f"{send_buffer.shape[0]} and {receive_buffer.shape[0]} bytes")
    return 0


cdef inline int describe_elements(Message *message, Py_ssize_t size, mpi.MPI_Op *op) except -1:
    """What a reduction works on: the sum of floats, or bitwise or of bytes where there is no whole number of them."""
    cdef Py_ssize_t width = FLOAT_BYTES if size % FLOAT_BYTES == 0 else 1
    if size // width > INT_MAX:
        raise ValueError(f"a reduction of {size} bytes has more elements than an int counts")
    message.count = <int>(size // width)
    message.type = mpi.MPI_FLOAT if width == FLOAT_BYTES else mpi.MPI_UINT8_T
    op[0] = mpi.MPI_SUM if width == FLOAT_BYTES else mpi.MPI_BOR
    return 0


cdef inline int count_blocks(Call *call, Py_ssize_t size, int blocks) except -1:
    """Make the arrays of a form with counts: all blocks alike, one after the other."""
    # Of MPI_Alltoallw the places are bytes, of the others elements; all are int but for neighbours' bytes (MPI_Aint).
    cdef Py_ssize_t step = size if call.operation == ALLTOALLW else call.count
    cdef int i
    if call.operation != NEIGHBOR_ALLTOALLW and (blocks - 1) * step > INT_MAX:
        raise ValueError(f"the place of the last of {blocks} blocks of {size} bytes is more than an int counts")
    call.counts = <int *>malloc(blocks * sizeof(int))
    call.places = <int *>malloc(blocks * sizeof(int))
    call.byte_places = <mpi.MPI_Aint *>malloc(blocks * sizeof(mpi.MPI_Aint))
    call.types = <mpi.MPI_Datatype *>malloc(blocks * sizeof(mpi.MPI_Datatype))
    if call.counts == NULL or call.places == NULL or call.byte_places == NULL or call.types == NULL:
        raise MemoryError(f"no memory for {blocks} counts")
    for i in range(blocks):
        call.counts[i] = call.count
        call.places[i] = <int>(i * step)
        call.byte_places[i] = i * size
        call.types[i] = call.type
    return 0


cdef inline int make_grid(Call *call) except -1:
    """Put a periodic grid of all processes in the place of the communicator, each where it is."""
    cdef int dimensions[DIMENSIONS]
    cdef int periodic[DIMENSIONS]
    cdef int i
    for i in range(DIMENSIONS):
        dimensions[i], periodic[i] = 0, 1
    CHKERR(mpi.MPI_Dims_create(call.processes, DIMENSIONS, dimensions))
    return CHKERR(mpi.MPI_Cart_create(call.comm, DIMENSIONS, dimensions, periodic, 0, &call.comm))


cdef inline int prepare(Call *call, Operation operation, mpi.MPI_Comm comm, unsigned char[::1] send_buffer,
                        unsigned char[::1] receive_buffer, Py_ssize_t size) except -1:
    """Describe one blocking operation of `comm` on these buffers; every rank calls it alike."""
    CHKERR(mpi.MPI_Comm_rank(comm, &call.rank))
    CHKERR(mpi.MPI_Comm_size(comm, &call.processes))
    check_room(operation, size, call.processes, call.rank, send_buffer, receive_buffer)
    call.operation = operation
    call.mode = BLOCKING
    call.written = call.read = 0
    call.op = mpi.MPI_OP_NULL
    call.counts = call.places = NULL
    call.byte_places = NULL
    call.types = NULL
    call.comm = comm
    cdef bint is_broadcast = operation == BCAST or is_by_hand(operation)
    if is_reduction(operation):
        describe_elements(&call.message, size, &call.op)
    else:
        describe(&call.message, send_buffer, size)
    call.outgoing = &send_buffer[0]
    call.incoming = &send_buffer[0] if is_broadcast and call.rank == ROOT else &receive_buffer[0]
    call.count = call.message.count
    call.type = call.message.type
    if has_counts(operation):
        count_blocks(call, size, NEIGHBOURS if is_among_neighbours(operation) else call.processes)
    if is_among_neighbours(operation):
        make_grid(call)
    return 0


cdef inline int choose_mode(Call *call, Mode mode, uint64_t delay, int clock) except -1:
    """Say how to wait for it, after `prepare`; overlapped: outside MPI for `delay` ticks after the begin."""
    if mode != BLOCKING and is_by_hand(call.operation):
        raise ValueError("a broadcast by hand has no non-blocking form")
    call.mode, call.delay, call.clock = mode, delay, clock
    if is_among_neighbours(call.operation):
        carry_out(call)  # the first use of the grid's communicator makes what later ones find
    return 0


cdef inline void choose_touching(Call *call, Py_ssize_t size) noexcept:
    """Have `size` bytes of each block touched, after `prepare`: what this rank sends, and what it receives."""
    cdef bint is_broadcast = call.operation == BCAST or is_by_hand(call.operation)
    if call.operation == BARRIER:
        return
    if not is_broadcast or call.rank == ROOT:
        call.written = size * blocks_sent(call.operation, call.processes, call.rank)
    if call.rank == ROOT or call.operation not in (REDUCE, GATHER, GATHERV):
        call.read = size * blocks_received(call.operation, call.processes, call.rank)


cdef inline int finish(Call *call) except -1:
    """Give back what `prepare` made."""
    free(call.counts)
    free(call.places)
    free(call.byte_places)
    free(call.types)
    if call.op == mpi.MPI_OP_NULL:
        release(&call.message)
    if is_among_neighbours(call.operation):
        CHKERR(mpi.MPI_Comm_free(&call.comm))
    return 0


cdef inline int send_broadcast(Call *c, int target) except -1 nogil:
    return CHKERR(mpi.MPI_Send(c.incoming, c.count, c.type, target, TAG_BROADCAST, c.comm))


cdef inline int receive_broadcast(Call *c, int source) except -1 nogil:
    return CHKERR(mpi.MPI_Recv(c.incoming, c.count, c.type, source, TAG_BROADCAST, c.comm, mpi.MPI_STATUS_IGNORE))


cdef inline int broadcast_along_binary_tree(Call *c) except -1 nogil:
    cdef int child
    if c.rank != ROOT:
        receive_broadcast(c, (c.rank - 1) // 2)
    for child in range(2 * c.rank + 1, min(2 * c.rank + 3, c.processes)):
        send_broadcast(c, child)
    return 0


cdef inline int broadcast_one_by_one(Call *c) except -1 nogil:
    cdef int target
    if c.rank != ROOT:
        return receive_broadcast(c, ROOT)
    for target in range(1, c.processes):
        send_broadcast(c, target)
    return 0


cdef inline int carry_out_blocking(Call *c) except -1 nogil:
    cdef Operation operation = c.operation
    if operation == BARRIER:
        return CHKERR(mpi.MPI_Barrier(c.comm))
    elif operation == BCAST:
        return CHKERR(mpi.MPI_Bcast(c.incoming, c.count, c.type, ROOT, c.comm))
    elif operation == REDUCE:
        return CHKERR(mpi.MPI_Reduce(c.outgoing, c.incoming, c.count, c.type, c.op, ROOT, c.comm))
    elif operation == ALLREDUCE:
        return CHKERR(mpi.MPI_Allreduce(c.outgoing, c.incoming, c.count, c.type, c.op, c.comm))
    elif operation == GATHER:
        return CHKERR(mpi.MPI_Gather(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, ROOT, c.comm))
    elif operation == SCATTER:
        return CHKERR(mpi.MPI_Scatter(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, ROOT, c.comm))
    elif operation == ALLGATHER:
        return CHKERR(mpi.MPI_Allgather(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, c.comm))
    elif operation == ALLTOALL:
        return CHKERR(mpi.MPI_Alltoall(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, c.comm))
    elif operation == REDUCE_SCATTER:
        return CHKERR(mpi.MPI_Reduce_scatter_block(c.outgoing, c.incoming, c.count, c.type, c.op, c.comm))
    elif operation == SCAN:
        return CHKERR(mpi.MPI_Scan(c.outgoing, c.incoming, c.count, c.type, c.op, c.comm))
    elif operation == EXSCAN:
        return CHKERR(mpi.MPI_Exscan(c.outgoing, c.incoming, c.count, c.type, c.op, c.comm))
    elif operation == GATHERV:
        return CHKERR(mpi.MPI_Gatherv(c.outgoing, c.count, c.type, c.incoming, c.counts, c.places, c.type, ROOT,
                                      c.comm))
    elif operation == SCATTERV:
        return CHKERR(mpi.MPI_Scatterv(c.outgoing, c.counts, c.places, c.type, c.incoming, c.count, c.type, ROOT,
                                       c.comm))
    elif operation == ALLGATHERV:
        return CHKERR(mpi.MPI_Allgatherv(c.outgoing, c.count, c.type, c.incoming, c.counts, c.places, c.type, c.comm))
    elif operation == ALLTOALLV:
        return CHKERR(mpi.MPI_Alltoallv(c.outgoing, c.counts, c.places, c.type, c.incoming, c.counts, c.places, c.type,
                                        c.comm))
    elif operation == ALLTOALLW:
        return CHKERR(mpi.MPI_Alltoallw(c.outgoing, c.counts, c.places, c.types, c.incoming, c.counts, c.places,
                                        c.types, c.comm))
    elif operation == REDUCE_SCATTERV:
        return CHKERR(mpi.MPI_Reduce_scatter(c.outgoing, c.incoming, c.counts, c.type, c.op, c.comm))
    elif operation == NEIGHBOR_ALLGATHER:
        return CHKERR(mpi.MPI_Neighbor_allgather(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, c.comm))
    elif operation == NEIGHBOR_ALLGATHERV:
        return CHKERR(mpi.MPI_Neighbor_allgatherv(c.outgoing, c.count, c.type, c.incoming, c.counts, c.places, c.type,
                                                  c.comm))
    elif operation == NEIGHBOR_ALLTOALL:
        return CHKERR(mpi.MPI_Neighbor_alltoall(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, c.comm))
    elif operation == NEIGHBOR_ALLTOALLV:
        return CHKERR(mpi.MPI_Neighbor_alltoallv(c.outgoing, c.counts, c.places, c.type, c.incoming, c.counts,
                                                 c.places, c.type, c.comm))
    elif operation == NEIGHBOR_ALLTOALLW:
        return CHKERR(mpi.MPI_Neighbor_alltoallw(c.outgoing, c.counts, c.byte_places, c.types, c.incoming, c.counts,
                                                 c.byte_places, c.types, c.comm))
    elif operation == BCAST_BINARY_TREE:
        return broadcast_along_binary_tree(c)
    else:
        return broadcast_one_by_one(c)


cdef inline int begin(Call *c) except -1 nogil:
    cdef Operation operation = c.operation
    cdef mpi.MPI_Request *request = &c.request
    if operation == BARRIER:
        return CHKERR(mpi.MPI_Ibarrier(c.comm, request))
    elif operation == BCAST:
        return CHKERR(mpi.MPI_Ibcast(c.incoming, c.count, c.type, ROOT, c.comm, request))
    elif operation == REDUCE:
        return CHKERR(mpi.MPI_Ireduce(c.outgoing, c.incoming, c.count, c.type, c.op, ROOT, c.comm, request))
    elif operation == ALLREDUCE:
        return CHKERR(mpi.MPI_Iallreduce(c.outgoing, c.incoming, c.count, c.type, c.op, c.comm, request))
    elif operation == GATHER:
        return CHKERR(mpi.MPI_Igather(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, ROOT, c.comm, request))
    elif operation == SCATTER:
        return CHKERR(mpi.MPI_Iscatter(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, ROOT, c.comm,
                                       request))
    elif operation == ALLGATHER:
        return CHKERR(mpi.MPI_Iallgather(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, c.comm, request))
    elif operation == ALLTOALL:
        return CHKERR(mpi.MPI_Ialltoall(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, c.comm, request))
    elif operation == REDUCE_SCATTER:
        return CHKERR(mpi.MPI_Ireduce_scatter_block(c.outgoing, c.incoming, c.count, c.type, c.op, c.comm, request))
    elif operation == SCAN:
        return CHKERR(mpi.MPI_Iscan(c.outgoing, c.incoming, c.count, c.type, c.op, c.comm, request))
    elif operation == EXSCAN:
        return CHKERR(mpi.MPI_Iexscan(c.outgoing, c.incoming, c.count, c.type, c.op, c.comm, request))
    elif operation == GATHERV:
        return CHKERR(mpi.MPI_Igatherv(c.outgoing, c.count, c.type, c.incoming, c.counts, c.places, c.type, ROOT,
                                       c.comm, request))
    elif operation == SCATTERV:
        return CHKERR(mpi.MPI_Iscatterv(c.outgoing, c.counts, c.places, c.type, c.incoming, c.count, c.type, ROOT,
                                        c.comm, request))
    elif operation == ALLGATHERV:
        return CHKERR(mpi.MPI_Iallgatherv(c.outgoing, c.count, c.type, c.incoming, c.counts, c.places, c.type, c.comm,
                                          request))
    elif operation == ALLTOALLV:
        return CHKERR(mpi.MPI_Ialltoallv(c.outgoing, c.counts, c.places, c.type, c.incoming, c.counts, c.places,
                                         c.type, c.comm, request))
    elif operation == ALLTOALLW:
        return CHKERR(mpi.MPI_Ialltoallw(c.outgoing, c.counts, c.places, c.types, c.incoming, c.counts, c.places,
                                         c.types, c.comm, request))
    elif operation == REDUCE_SCATTERV:
        return CHKERR(mpi.MPI_Ireduce_scatter(c.outgoing, c.incoming, c.counts, c.type, c.op, c.comm, request))
    elif operation == NEIGHBOR_ALLGATHER:
        return CHKERR(mpi.MPI_Ineighbor_allgather(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, c.comm,
                                                  request))
    elif operation == NEIGHBOR_ALLGATHERV:
        return CHKERR(mpi.MPI_Ineighbor_allgatherv(c.outgoing, c.count, c.type, c.incoming, c.counts, c.places, c.type,
                                                   c.comm, request))
    elif operation == NEIGHBOR_ALLTOALL:
        return CHKERR(mpi.MPI_Ineighbor_alltoall(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, c.comm,
                                                 request))
    elif operation == NEIGHBOR_ALLTOALLV:
        return CHKERR(mpi.MPI_Ineighbor_alltoallv(c.outgoing, c.counts, c.places, c.type, c.incoming, c.counts,
                                                  c.places, c.type, c.comm, request))
    else:
        return CHKERR(mpi.MPI_Ineighbor_alltoallw(c.outgoing, c.counts, c.byte_places, c.types, c.incoming, c.counts,
                                                  c.byte_places, c.types, c.comm, request))


cdef inline int carry_out(Call *c) except -1 nogil:
    """Carry the operation out once, and return when this rank's part of it is done."""
    if c.mode == BLOCKING:
        return carry_out_blocking(c)
    begin(c)
    if c.mode == OVERLAPPED:
        spin(c.delay, c.clock)
    return wait(&c.request)
