"""Whether a message above the eager limit leaves before its receive is posted. Main entry: `KERNELS`.

The receiver is in MPI all the time, so that its library may read what comes, as over TCP; the kernel `threshold` asks
what a sender does whose receiver computes. The late receive begins when twice the time of an awaited message is over.
"""

from typing import get_args

from commmodel.bench.kernels.kernel import LOOKS, Effort, Floats, Kernel, sampled, undisturbed_seconds
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import Receive, Unexpected

_SIZE = 1 << 20
"""Bytes, whatever sizes are asked for: above libraries' eager limits, and no window of a socket holds most of it."""
_PATIENCE = 2.0


def _plan(_: BenchOptions, placement: Placement) -> list[Configuration]:
    return [Unexpected(_SIZE, receive, path) for path in placement for receive in get_args(Receive)]


def _measure(session: Session, configuration: Unexpected) -> Record | None:
    from commmodel._core.mpi import unexpected

    buffer = session.receive_buffer if session.first else session.send_buffer

    def received(repetitions: int, delay: int | None = None) -> Floats:
        """Return the times on the receiver, which is the root, and 0 elsewhere."""
        ticks = unexpected.receives(
            *session.pair, buffer, configuration.message_size, delay is not None, delay or 0, repetitions,
            session.clock_number,
        )  # fmt: skip
        return session.seconds(ticks) * session.first

    delay = None
    if configuration.receive == "late":
        delay = session.ticks(_PATIENCE * undisturbed_seconds(session, received))
    return sampled(session, configuration, lambda repetitions: received(repetitions, delay))


def _effort(configuration: Unexpected) -> Effort:
    late = configuration.receive == "late"
    return Effort(configuration.message_size, _PATIENCE if late else 1, LOOKS / _PATIENCE if late else 0)


KERNELS = (
    Kernel("large messages whose receive is posted late", (Unexpected,), _plan, _measure, effort=_effort, decides=True),
)
