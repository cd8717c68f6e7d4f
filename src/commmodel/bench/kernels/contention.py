"""What several transfers leave to each other: within a node's link, and between pairs of nodes. Main entry: `KERNEL`.

Source: Bédaride et al. (2013), Section IV-B. Large messages go one way, and both ways at once as MPI_Sendrecv sends
them; the ratio of their rates is by how much a node's link holds more than one direction, 1 to 2. More and more pairs
of nodes do the same at once: where that slows them, what joins them limits.
"""

from typing import get_args

import numpy as np
from numpy.typing import NDArray

from commmodel.bench.kernels.kernel import Kernel, sampled
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.results import Configuration, Contention, Options, Record
from commmodel.results.configurations import Direction

__all__ = ["KERNEL"]

_LARGE = 4 << 20
"""Bytes; as in the paper: its time is that of its bytes."""


def _plan(options: Options, placement: Placement) -> list[Configuration]:
    size = max(1, min(_LARGE, max(options.sizes)))
    return [Contention(size, direction, path) for path in placement for direction in get_args(Direction)]


def _measure(session: Session, configuration: Contention) -> Record | None:
    from commmodel._core.mpi import burst, pingpong

    size = configuration.message_size

    def one_way(_: int, repetitions: int) -> NDArray[np.float64]:
        buffer = session.send_buffer if session.first else session.receive_buffer
        ticks = pingpong.stream(
            session.comm, session.peer, session.first, buffer, size, size, 1, repetitions, session.clock_number
        )
        return session.seconds(ticks) * session.first

    def both_ways(_: int, repetitions: int) -> NDArray[np.float64]:
        ticks = burst.both_ways(
            session.comm, session.peer, session.send_buffer, session.receive_buffer, size, size, 1, repetitions,
            session.clock_number,
        )  # fmt: skip
        return session.seconds(ticks)

    return sampled(session, configuration, one_way if configuration.direction == "one-way" else both_ways)


KERNEL = Kernel(
    "large transfers one way and both ways at once, of more and more pairs of nodes", _plan, _measure, on_request=True
)
