"""Small programs for the tests of the flow engine."""

import numpy as np

from commmodel.simulate import OPERATION, Code, Program, platform

BANDWIDTH = 125e6
LATENCY = 15e-6


def flat(hosts, **options):
    """Return hosts on a switch, with the links of the oracles."""
    return platform.flat(hosts, **{"bandwidth": BANDWIDTH, "latency": LATENCY, **options})


def program(*ranks):
    """Return the program of ranks, each a list of operations as tuples."""
    return Program.from_ranks([np.array(rank, dtype=OPERATION) for rank in ranks])


def compute(seconds):
    return (Code.COMPUTE, 0, 0, -1, seconds)


def send(peer, size, tag=0):
    return (Code.SEND, peer, tag, -1, size)


def isend(peer, size, tag=0, request=-1):
    return (Code.ISEND, peer, tag, request, size)


def recv(peer, size=-1, tag=0):
    return (Code.RECV, peer, tag, -1, size)


def irecv(peer, size=-1, tag=0, request=-1):
    return (Code.IRECV, peer, tag, request, size)


def wait(request):
    return (Code.WAIT, 0, 0, request, 0)


def test(request):
    return (Code.TEST, 0, 0, request, 0)


def mark(number):
    return (Code.MARK, 0, 0, 0, number)


WAITALL = (Code.WAITALL, 0, 0, -1, 0)
WAITALL_NAMED = (Code.WAITALL, 0, 0, -2, 0)


def ring(processes, size):
    """Return an exchange in which each rank sends to the next."""
    return program(
        *([irecv((rank - 1) % processes), isend((rank + 1) % processes, size), WAITALL] for rank in range(processes))
    )


def shifted(processes, sizes, tag=0):
    """Return rounds in which each rank sends to one and receives from another; sizes: (rounds, processes)."""
    rounds = len(sizes)
    operations = np.zeros((processes, rounds, 3), OPERATION)
    operations["code"] = Code.IRECV, Code.ISEND, Code.WAITALL
    operations["request"] = -1
    operations["tag"] = tag
    rank = np.arange(processes)
    for number, of_round in enumerate(sizes):
        shift = 1 + number % max(processes - 1, 1)
        operations["peer"][:, number, 0] = (rank - shift) % processes
        operations["peer"][:, number, 1] = (rank + shift) % processes
        operations["value"][:, number, 0] = -1
        operations["value"][:, number, 1] = of_round
    return Program(operations.ravel(), np.arange(processes + 1) * 3 * rounds)
