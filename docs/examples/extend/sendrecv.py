"""A kernel: every rank sends to the next one with MPI_Sendrecv; the time of the slowest counts."""

import time

import numpy as np

from commmodel.bench.kernels import NO_MESSAGES, Kernel, register, sampled
from commmodel.results.configurations import Function


def plan(options, placement):
    return [Function("sendrecv", "time", (("n", n), ("p", p))) for n in options.sizes for p in options.procs]


def measure(session, configuration):
    comm, n = session.comm, int(configuration["n"])
    sent, received = session.send_buffer[:n], session.receive_buffer[:n]

    def seconds(repetitions):
        times = np.empty(repetitions)
        for i in range(repetitions):
            comm.Barrier()
            begin = time.perf_counter()
            comm.Sendrecv(sent, (comm.rank + 1) % comm.size, recvbuf=received, source=(comm.rank - 1) % comm.size)
            times[i] = time.perf_counter() - begin
        return session.slowest(times)

    return sampled(session, configuration, seconds)


ROOM, RANKS, FREE = lambda ring: (int(ring["n"]),) * 2, lambda ring, *_: range(int(ring["p"])), lambda _: NO_MESSAGES
register(Kernel("MPI_Sendrecv round a ring", (Function,), plan, measure, ROOM, RANKS, effort=FREE, name="sendrecv"))
