"""The rounds of a collective's schedule as operations of ranks, block by block. Main entry: `blocks_of`."""

from collections.abc import Iterator, Sequence

import numpy as np

from commmodel._core.common.codes import COLLECTIVE_TAG, COLLECTIVE_TAGS
from commmodel._core.program.traces import arranged, exchanged
from commmodel.collectives.schedule import Integers, Round, flatten
from commmodel.simulate.work.block_streams import Block

_BLOCK = 1 << 16
"""Operations of a block, about: 1.5 MiB, so that what was just made is still in the cache."""
_PER_RANK = 6


def collective_tag(number: int) -> int:
    """Return the tag of the messages of a call of a collective, the first being number 0.

    >>> collective_tag(0), collective_tag(1)
    (-2, -3)
    """
    return COLLECTIVE_TAG - number % COLLECTIVE_TAGS


def blocks_of(
    processes: int,
    rounds: Iterator[Round],
    tag: int = COLLECTIVE_TAG,
    byte_times: tuple[float, float] = (0.0, 0.0),
    block: int = _BLOCK,
) -> Iterator[Block]:
    """Yield the operations of rounds, in blocks of at least one round and about `block` operations.

    Blocks are larger where there are many ranks: 6 operations for each, two rounds of most exchanges. Copying and
    combining a byte take `byte_times` seconds.
    """
    batch: list[Round] = []
    size, most = 0, max(block, _PER_RANK * processes)
    for round_ in rounds:
        more = 2 * round_.size.size + 2 * min(round_.size.size, processes) + round_.copier.size + round_.reducer.size
        if batch and size + more > most:
            yield _block(processes, batch, tag, byte_times)
            batch, size = [], 0
        batch.append(round_)
        size += more
    if batch:
        yield _block(processes, batch, tag, byte_times)


def _block(processes: int, rounds: Sequence[Round], tag: int, byte_times: tuple[float, float]) -> Block:
    rank = rounds[0].sender
    if all(_is_exchange(round_, rank) for round_ in rounds) and np.array_equal(rank, np.arange(processes)):
        # Each sends one message: most rounds of many ranks are so, and need no sorting.
        block = exchanged(processes, [round_.receiver for round_ in rounds], [round_.size for round_ in rounds], tag)
        if block is not None:
            return Block(*block)
    schedule = flatten(processes, rounds)
    copying, combining = byte_times
    seconds = schedule.copied * copying + schedule.reduced * combining
    return Block(
        *arranged(
            processes,
            schedule.round,
            schedule.sender,
            schedule.receiver,
            schedule.size,
            schedule.work_round,
            schedule.worker,
            seconds,
            tag,
        )
    )


def _is_exchange(exchange: Round, rank: Integers) -> bool:
    """Whether all that a round does is that each of these ranks sends a message."""
    return (
        exchange.sender is rank
        and exchange.receiver.size == rank.size
        and not (exchange.copier.size or exchange.reducer.size)
    )
