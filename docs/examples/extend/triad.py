"""A kernel whose loop is compiled: a[i] = b[i] + 3 a[i] on rank 0, in triad.c."""

import ctypes
from pathlib import Path

import numpy as np

from commmodel.bench.kernels import NO_MESSAGES, Kernel, register, sampled
from commmodel.results.configurations import Function


def plan(options, placement):
    return [Function("triad", "time", (("n", size),)) for size in options.sizes if size >= 8]


def measure(session, configuration):
    loop = ctypes.CDLL(str(Path(__file__).with_name("libtriad.so"))).triad
    a, b, count = session.send_buffer.ctypes, session.receive_buffer.ctypes, ctypes.c_long(int(configuration["n"]) // 8)

    def seconds(repetitions):
        times = np.empty(repetitions)
        loop(a, b, count, times.ctypes, ctypes.c_long(repetitions))
        return times

    return sampled(session, configuration, seconds)


ROOM, FIRST, FREE = lambda triad: (int(triad["n"]),) * 2, lambda *_: [0], lambda _: NO_MESSAGES
register(Kernel("a vector triad", (Function,), plan, measure, ROOM, FIRST, effort=FREE, name="triad"))
