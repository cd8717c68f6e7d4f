"""Cost of finding a message behind others: in the queue of posted receives, and in that of unexpected messages.

The entries have other tags and the same source, and are not met meanwhile. The kernel ``unexpected`` asks something
else: whether a large message arrives before its receive. Main entry: `KERNELS`.
"""

from itertools import product
from typing import Literal, get_args

from commmodel.bench.kernels.kernel import Effort, Floats, Kernel, sampled
from commmodel.bench.option import Option, number_list
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import Matching
from commmodel.units import parse_counts

_SIZE = 8
"""Bytes, whatever sizes are asked for: the search is the same for all."""
_QUEUES: tuple[Literal["posted", "unexpected"], ...] = get_args(Literal["posted", "unexpected"])


def _lengths(text: str) -> tuple[int, ...]:
    """Parse a list of counts that may begin with 0.

    >>> _lengths("0,16:64:*2"), _lengths("0")
    ((0, 16, 32, 64), (0,))
    """
    first, _, rest = text.partition(",")
    if first.strip() != "0":
        return parse_counts(text)
    return (0, *(parse_counts(rest) if rest else ()))


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:
    return [
        Matching(queue, entries, _SIZE, path)
        for path, queue, entries in product(placement, _QUEUES, options.queue_lengths)
    ]


def _measure(session: Session, configuration: Matching) -> Record | None:
    from commmodel._core.mpi import matching

    loop = matching.posted if configuration.queue == "posted" else matching.unexpected
    buffer = session.receive_buffer if session.first else session.send_buffer

    def measure(repetitions: int) -> Floats:
        ticks = loop(
            *session.pair, buffer, configuration.message_size, configuration.entries, repetitions, session.clock_number
        )
        return session.seconds(ticks) * session.first

    return sampled(session, configuration, measure)


KERNELS = (
    Kernel(
        "a receive behind others in the queue of posted receives or of unexpected messages",
        (Matching,),
        _plan,
        _measure,
        options=(Option("queue_lengths", "entries of the queues: 0,16,64", _lengths, number_list, metavar="N,..."),),
        effort=lambda configuration: Effort(configuration.message_size, 2 + configuration.entries),
    ),
)
