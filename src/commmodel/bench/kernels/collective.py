"""Collective operations of the first ranks: barrier, broadcast, reduction and the others. Main entry: `KERNEL`.

Each repetition begins after a barrier; a sample is the time on the slowest rank. The number of repetitions follows
from the interval of the median, or is that of the Intel MPI Benchmarks, to compare with them (March 2009, Section 4).
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from commmodel.bench.kernels.common import Kernel, Room, sampled
from commmodel.bench.placement import Placement
from commmodel.bench.sampling import repeat
from commmodel.bench.session import Session
from commmodel.results import Collective, CollectiveName, Configuration, Options, Record
from commmodel.units import format_size

__all__ = ["KERNEL", "imb_repetitions"]

_MOST_BYTES = 64 << 20  # of a rank's buffer that holds a block for every process
_BLOCKS_SENT: frozenset[CollectiveName] = frozenset({"scatter", "alltoall", "reduce_scatter"})
_BLOCKS_RECEIVED: frozenset[CollectiveName] = frozenset({"gather", "allgather", "alltoall"})

_IMB_MOST = 1000
_IMB_BYTES = 640 << 16  # 640 repetitions of 64 KiB, half as many of twice the size


def imb_repetitions(size: int) -> int:
    """Return how often the Intel MPI Benchmarks repeat a message of `size` bytes.

    >>> [imb_repetitions(size) for size in (0, 32 << 10, 64 << 10, 4 << 20, 1 << 30)]
    [1000, 1000, 640, 10, 1]
    """
    return max(1, min(_IMB_MOST, _IMB_BYTES // max(size, 1)))


def _fits(operation: CollectiveName, size: int, processes: int) -> bool:
    return operation not in _BLOCKS_SENT | _BLOCKS_RECEIVED or size * processes <= _MOST_BYTES


def _asked(options: Options) -> Iterable[Collective]:
    for operation in options.collectives:
        for size in options.sizes if operation != "barrier" else (0,):
            for processes in options.procs:
                yield Collective(operation, size, processes)


def _plan(options: Options, placement: Placement) -> list[Configuration]:  # noqa: ARG001
    return [one for one in _asked(options) if _fits(one.operation, one.message_size, one.processes)]


def _left_out(options: Options) -> str:
    left = [one for one in _asked(options) if not _fits(one.operation, one.message_size, one.processes)]
    if not left:
        return ""
    operations = ", ".join(dict.fromkeys(one.operation for one in left))
    limits = ", ".join(
        f"{format_size(_MOST_BYTES // processes)} on {processes} processes"
        for processes in sorted({one.processes for one in left})
    )
    return f"left out, as all blocks together exceed {format_size(_MOST_BYTES)}: {operations} above {limits}"


def _room(configuration: Collective) -> Room:
    size, all_blocks = configuration.message_size, configuration.message_size * configuration.processes
    return (
        all_blocks if configuration.operation in _BLOCKS_SENT else size,
        all_blocks if configuration.operation in _BLOCKS_RECEIVED else size,
    )


def _measure(session: Session, configuration: Collective) -> Record | None:
    from commmodel._core import collective

    def measure(batch: int, repetitions: int) -> NDArray[np.float64]:  # noqa: ARG001
        ticks = collective.collective(
            session.comm, configuration.operation, session.send_buffer, session.receive_buffer,
            configuration.message_size, repetitions, session.clock_number,
        )  # fmt: skip
        return session.seconds(ticks)

    if not session.options.imb_repetitions:
        return sampled(session, configuration, measure)
    found = repeat(session, measure, imb_repetitions(configuration.message_size))
    if not session.is_root:
        return None
    return Record(configuration, "s", found.samples, stop=found.stop, warmup=found.warmup)


KERNEL = Kernel(
    "collective operations of the first 2, 4, 8, ... ranks",
    _plan,
    _measure,
    _room,
    left_out=_left_out,
    on_request=True,
)
