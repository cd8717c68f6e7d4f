"""Small programs for the tests of the flow engine."""

import msgspec
import numpy as np
from hypothesis import strategies as st

from commmodel.simulate import OPERATION, SMPI, Code, Program, fluid, platform
from commmodel.simulate.network import Overhead

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


HYBRID = msgspec.structs.replace(
    SMPI,
    eager_limit=1000,
    send=(Overhead(100, 1e-6), Overhead(np.inf, 2e-6, 1e-10)),
    isend=(Overhead(np.inf, 1e-6, 1e-10),),
    receive=(Overhead(np.inf, 3e-6, 1e-10),),
)
NETWORKS = [SMPI, fluid(), HYBRID, msgspec.structs.replace(HYBRID, leaves_after_overhead=False)]
SIZES = st.sampled_from([0, 1, 100, 1000, 1001, 65535, 65536, 100000, 1000000])


@st.composite
def matched_programs(draw):
    """Draw a program of messages that all find their receives: each rank keeps to one order of them all."""
    processes = draw(st.integers(1, 6))
    ranks = [[] for _ in range(processes)]
    total = 0
    for _ in range(draw(st.integers(0, 25))):
        source, destination = (draw(st.integers(0, processes - 1)) for _ in range(2))
        size, tag = draw(SIZES), draw(st.integers(0, 2))
        total += size
        if draw(st.booleans()):
            ranks[draw(st.integers(0, processes - 1))].append(compute(draw(st.sampled_from([0.0, 1e-5, 1e-3]))))
        if source == destination or draw(st.booleans()):
            ranks[destination].append(irecv(source, size, tag))
            ranks[source].append(isend(destination, size, tag))
        else:
            # Nothing that is open may match instead, or the order of programs would be another.
            ranks[destination].append(WAITALL)
            ranks[source] += [WAITALL, send(destination, size, tag)]
            ranks[destination].append(recv(source, size, tag))
    return program(*([*rank, WAITALL] for rank in ranks)), total
