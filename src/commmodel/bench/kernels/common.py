"""What a kernel is, and what several kernels share. Main entry: `Kernel`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from commmodel.bench.placement import Placement
from commmodel.bench.sampling import Measure, sample
from commmodel.bench.session import Session
from commmodel.results import Batch, Configuration, Mode, Options, Record

__all__ = ["Kernel", "Room", "message_room", "modes", "sampled", "stride", "window", "window_room"]

Room = tuple[int, int]
"""Bytes that the send buffer and the receive buffer need."""

_WINDOW = 64  # as OSU's and most other bandwidth tests have it
_WINDOW_BYTES = 16 << 20  # takes about a thousand times as long as the answer after it, at 10 GB/s and 1.5 us
_LINE = 64  # messages of a window arrive in different cache lines


def message_room(configuration: Any) -> Room:
    """Return room for one message each way."""
    return configuration.message_size, configuration.message_size


@dataclass(frozen=True)
class Kernel:
    """One thing that can be measured.

    Attributes
    ----------
    summary : str
        One line for the help.
    plan : callable
        (options, placement) -> configurations, in any order; `on_several_nodes` adds further pairs of nodes.
    measure : callable
        (session, configuration) -> record on the root, None elsewhere. Called by all ranks that take part.
    room : callable
        configuration -> bytes that it needs of the send buffer and of the receive buffer.
    refine : callable or None
        (options, records) -> what else is worth measuring, given all records up to now; empty where nothing is.
        Needs no more room than what was planned.
    left_out : callable or None
        options -> what the plan leaves out, in one line; empty where nothing is.
    on_request : bool
        Whether it is measured only where it is named.
    """

    summary: str
    plan: Callable[[Options, Placement], list[Configuration]]
    measure: Callable[[Session, Any], Record | None]
    room: Callable[[Any], Room] = message_room
    refine: Callable[[Options, Sequence[Record]], list[Configuration]] | None = None
    left_out: Callable[[Options], str] | None = None
    on_request: bool = False


def sampled(session: Session, configuration: Configuration, measure: Measure, batch: Batch = 1) -> Record | None:
    """Repeat until the interval is narrow enough; return the record on the root."""
    found = sample(session, measure, batch)
    if not session.is_root:
        return None
    return Record(configuration, "s", found.samples, stop=found.stop, batch=found.batch, warmup=found.warmup)


def modes(options: Options) -> tuple[Mode, ...]:
    """Return the modes in which to send and receive."""
    return ("blocking", "non-blocking") if options.mode == "both" else (options.mode,)


def stride(size: int) -> int:
    """Return how far apart the messages of a window arrive."""
    return -(-size // _LINE) * _LINE


def window(size: int) -> int:
    """Return how many messages a window has: a function of the size alone, so that --resume finds the same."""
    return max(1, min(_WINDOW, _WINDOW_BYTES // max(stride(size), 1)))


def window_room(size: int) -> int:
    """Return the bytes that a window of messages needs, or of any smaller ones."""
    return max(stride(size), min(_WINDOW * stride(size), _WINDOW_BYTES))
