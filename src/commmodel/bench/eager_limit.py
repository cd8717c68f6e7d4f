"""The eager limit by a blocking send to an absent receiver: an eager send returns at once, a rendezvous send waits.

Bisection over powers of two, then down to the byte; every verdict is taken by two of at most three sends, so
that one interruption by the operating system decides nothing. Main entry: `search`.
"""

from collections.abc import Callable

from commmodel.bench.session import Session

LARGEST = 4 << 20
"""Largest message that is tried; no MPI library sends larger ones eagerly by default."""
PROBES_OF_LARGEST = 2
"""Messages of that size in a search."""
SECONDS = 0.5
"""Of all the others: mostly delays of receivers."""
_DELAY_SECONDS = 10e-3


def send_blocks(session: Session, size: int) -> bool:
    """Return, on the root, whether an MPI_Send of `size` bytes waits for its receiver."""
    from commmodel._core.mpi import pingpong

    delay = session.ticks(_DELAY_SECONDS)
    ticks = pingpong.delayed_send(*session.pair, session.send_buffer, size, delay, session.clock_number)
    return bool(ticks > session.ticks(_DELAY_SECONDS / 2))


def search(session: Session, blocks: Callable[[int], bool]) -> tuple[int, int | None]:
    """Return the largest eager size and the smallest size that waits (None: no send waited).

    The root searches; the other rank answers each of its sends.
    """
    if not session.is_root:
        while (size := session.comm.bcast(None)) is not None:
            blocks(size)
        return 0, None

    def once(size: int) -> bool:
        session.comm.bcast(size)
        return blocks(size)

    def waits(size: int) -> bool:
        first, second = once(size), once(size)
        return first if first == second else once(size)

    limit = _bisect(waits)
    session.comm.bcast(None)
    return limit


def _bisect(waits: Callable[[int], bool]) -> tuple[int, int | None]:
    if not waits(LARGEST):
        return LARGEST, None
    low, high = 0, LARGEST.bit_length() - 1
    if waits(1):
        return 0, 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if waits(1 << middle) else (middle, high)
    eager, waiting = 1 << low, 1 << high
    while waiting - eager > 1:
        middle = (eager + waiting) // 2
        eager, waiting = (eager, middle) if waits(middle) else (middle, waiting)
    return eager, waiting
