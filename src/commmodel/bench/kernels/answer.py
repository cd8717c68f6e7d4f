"""Whether the answer to a rendezvous waits behind the data that its receiver is sending. Main entry: `KERNELS`.

Over TCP, all that goes from one rank to another shares a connection. A message above the eager limit is sent to a rank
that has begun to send a larger one; where its MPI_Send takes about as long as what is left of that, it has waited for
its answer.
"""

from typing import get_args

from commmodel.bench.kernels.kernel import LOOKS, Effort, Floats, Kernel, round_trips, sampled, undisturbed_seconds
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import Answer, Exchange

_SIZE = 1 << 20
"""Bytes of the larger message, whatever sizes are asked for: an eighth is above libraries' eager limits over TCP."""
_BEGUN = 0.25
"""Share of the larger message's time after which the other one begins."""


def _plan(_: BenchOptions, placement: Placement) -> list[Configuration]:
    return [Answer(_SIZE, exchange, path) for path in placement for exchange in get_args(Exchange)]


def _measure(session: Session, configuration: Answer) -> Record | None:
    from commmodel._core.mpi import answer

    size = configuration.message_size

    def halves(repetitions: int) -> Floats:
        """Return half round trips of empty messages on the root, and 0 elsewhere."""
        return round_trips(session, 0, repetitions) / 2 * session.first

    def sent(repetitions: int, delay: int | None = None) -> Floats:
        """Return the times on the root, and 0 elsewhere."""
        ticks = answer.sends(
            *session.pair, session.send_buffer, session.receive_buffer, configuration.smaller, size, delay is not None,
            delay or 0, repetitions, session.clock_number,
        )  # fmt: skip
        return session.seconds(ticks) * session.first

    if configuration.exchange == "empty":
        return sampled(session, configuration, halves)
    delay = None
    if configuration.exchange == "beside":
        delay = session.ticks(_BEGUN * undisturbed_seconds(session, sent))
    return sampled(session, configuration, lambda repetitions: sent(repetitions, delay))


def _effort(configuration: Answer) -> Effort:
    if configuration.exchange == "empty":
        return Effort(0, 2)
    size = configuration.message_size
    return Effort(size, 1 + configuration.smaller / size, LOOKS if configuration.exchange == "beside" else 0)


KERNELS = (
    Kernel("messages to a rank that is sending a larger one", (Answer,), _plan, _measure, effort=_effort, decides=True),
)
