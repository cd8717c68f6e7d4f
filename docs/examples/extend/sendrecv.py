"""A kernel: every rank sends to the next one with MPI_Sendrecv; the time of the slowest counts."""

from commmodel.bench.kernels import Kernel, register, timed
from commmodel.results.configurations import Function


def plan(options, placement):
    return [Function("sendrecv", "time", (("n", n), ("p", p))) for n in options.sizes for p in options.procs]


def measure(session, configuration):
    comm, n = session.comm, int(configuration["n"])
    sent, received, right, left = session.send_buffer[:n], session.receive_buffer[:n], comm.rank + 1, comm.rank - 1
    return timed(session, configuration, lambda: comm.Sendrecv(sent, right % comm.size, 0, received, left % comm.size))


register(Kernel("MPI_Sendrecv round a ring", (Function,), plan, measure, name="sendrecv"))
