# Collective operations: what each one's MPI call needs, made before a loop, and the call itself. All of it is inlined;
# nothing here holds a Python object on the way that is timed. Main entries: `prepare`, `carry_out`, `finish`.

from libc.limits cimport INT_MAX
from mpi4py cimport libmpi as mpi

from commmodel._core.messages cimport Message, describe, release
from commmodel._core.mpicalls cimport CHKERR

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

cdef enum:
    ROOT = 0
    FLOAT_BYTES = 4

cdef struct Call:
    # All that an operation needs; made by `prepare` before the loop, ended by `finish` after it.
    Operation operation
    void *outgoing
    void *incoming
    int count
    mpi.MPI_Datatype type
    mpi.MPI_Op op
    mpi.MPI_Comm comm
    Message message


cdef inline int check_room(int operation, Py_ssize_t size, int processes, int rank, unsigned char[::1] send_buffer,
                           unsigned char[::1] receive_buffer) except -1:
    cdef Py_ssize_t sent = size, received = size
    if operation == ALLTOALL or operation == REDUCE_SCATTER or (operation == SCATTER and rank == ROOT):
        sent *= processes
    if operation == ALLTOALL or operation == ALLGATHER or (operation == GATHER and rank == ROOT):
        received *= processes
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


cdef inline int prepare(Call *call, Operation operation, mpi.MPI_Comm comm, unsigned char[::1] send_buffer,
                        unsigned char[::1] receive_buffer, Py_ssize_t size) except -1:
    """Describe one operation of `comm` on these buffers; every rank calls it alike."""
    cdef int rank, processes
    CHKERR(mpi.MPI_Comm_rank(comm, &rank))
    CHKERR(mpi.MPI_Comm_size(comm, &processes))
    check_room(operation, size, processes, rank, send_buffer, receive_buffer)
    call.operation = operation
    call.op = mpi.MPI_OP_NULL
    if operation in (REDUCE, ALLREDUCE, REDUCE_SCATTER, SCAN):
        describe_elements(&call.message, size, &call.op)
    else:
        describe(&call.message, send_buffer, size)
    call.outgoing = &send_buffer[0]
    call.incoming = &send_buffer[0] if operation == BCAST and rank == ROOT else &receive_buffer[0]
    call.count = call.message.count
    call.type = call.message.type
    call.comm = comm
    return 0


cdef inline int finish(Call *call) except -1:
    """Give back what `prepare` made."""
    if call.op == mpi.MPI_OP_NULL:
        release(&call.message)
    return 0


cdef inline int carry_out(Call *c) except -1 nogil:
    """Carry the operation out once, and return when this rank's part of it is done."""
    cdef Operation operation = c.operation
    if operation == BARRIER:
        return CHKERR(mpi.MPI_Barrier(c.comm))
    if operation == BCAST:
        return CHKERR(mpi.MPI_Bcast(c.incoming, c.count, c.type, ROOT, c.comm))
    if operation == REDUCE:
        return CHKERR(mpi.MPI_Reduce(c.outgoing, c.incoming, c.count, c.type, c.op, ROOT, c.comm))
    if operation == ALLREDUCE:
        return CHKERR(mpi.MPI_Allreduce(c.outgoing, c.incoming, c.count, c.type, c.op, c.comm))
    if operation == GATHER:
        return CHKERR(mpi.MPI_Gather(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, ROOT, c.comm))
    if operation == SCATTER:
        return CHKERR(mpi.MPI_Scatter(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, ROOT, c.comm))
    if operation == ALLGATHER:
        return CHKERR(mpi.MPI_Allgather(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, c.comm))
    if operation == ALLTOALL:
        return CHKERR(mpi.MPI_Alltoall(c.outgoing, c.count, c.type, c.incoming, c.count, c.type, c.comm))
    if operation == REDUCE_SCATTER:
        return CHKERR(mpi.MPI_Reduce_scatter_block(c.outgoing, c.incoming, c.count, c.type, c.op, c.comm))
    return CHKERR(mpi.MPI_Scan(c.outgoing, c.incoming, c.count, c.type, c.op, c.comm))
