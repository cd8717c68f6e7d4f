"""A kernel whose loop is compiled, in triad.c: a[i] = b[i] + 3 a[i] on rank 0. It measures a bandwidth."""

import ctypes
from pathlib import Path

import numpy as np

from commmodel.bench.kernels import Kernel, Option, positive, register, sampled
from commmodel.results.configurations import Function

STRIDE = Option("stride", "distance between two elements", positive, default=1)


def plan(options, placement):
    strides = ("stride", options.further["stride"])
    return [Function("triad", "bandwidth", (("n", size), strides)) for size in options.sizes if size >= 8]


def measure(session, configuration):
    loop = ctypes.CDLL(str(Path(__file__).with_name("libtriad.so"))).triad
    count, stride = int(configuration["n"]) // 8, int(configuration["stride"])

    def rates(repetitions):
        times, a, b = np.empty(repetitions), session.send_buffer.ctypes, session.receive_buffer.ctypes
        loop(a, b, ctypes.c_long(count), ctypes.c_long(stride), times.ctypes, ctypes.c_long(repetitions))
        return 24 * -(-count // stride) / np.maximum(times, 1e-9)

    return sampled(session, configuration, rates, "B/s")


register(Kernel("a triad", (Function,), plan, measure, ranks=lambda *_: [0], options=(STRIDE,), name="triad"))
