"""PRTT(n, d, s), for LogGP: n messages of s bytes, d apart, and one answer of 1 byte.

Source: Hoefler, Lichei and Rehm, "Low-Overhead LogGP Parameter Assessment for Modern Interconnection Networks"
(2007). There the answer is as large as the messages; it is 1 byte here, and what is computed from PRTT
knows only differences in which it is gone. Main entry: `KERNELS`.
"""

from itertools import product

import msgspec
import numpy as np

from commmodel.bench.kernels.kernel import (
    LOOKS,
    MODE,
    Effort,
    Floats,
    Kernel,
    Room,
    modes,
    sampled,
    stride,
    undisturbed_seconds,
)
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import SendMode, Train

_MESSAGES = 16
_TRAIN_BYTES = 4 << 20  # in flight
_FEWEST_MESSAGES = 2  # with one there is no distance between two
_WAITS = 50  # busy waits in a row of
_WAIT_SECONDS = 1e-6  # this, which show how much longer they last than they should,
_ROWS = 21  # and so many such rows, most of which nothing interrupts


def messages(size: int) -> int:
    """Return the number of messages in a train: a function of the size alone, so that --resume finds the same."""
    return max(_FEWEST_MESSAGES, min(_MESSAGES, _TRAIN_BYTES // max(stride(size), 1)))


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:
    return [
        train
        for path, size, mode in product(placement, options.sizes, modes(options))
        for train in (
            Train(size, 1, path, mode=mode),
            Train(size, messages(size), path, mode=mode),
            Train(size, messages(size), path, delayed=True, mode=mode),
        )
    ]


def _room(train: Train) -> Room:
    room = train.messages * stride(train.message_size)
    return room, room


def time_trains(
    session: Session, size: int, mode: SendMode, *, count: int, delay: int = 0, answer: int, repetitions: int
) -> Floats:
    """Return the seconds of trains of `count` messages, `delay` ticks apart, on the sender and 0 elsewhere."""
    from commmodel._core.mpi import trains

    loop = trains.blocking_train if mode == "blocking" else trains.immediate_train
    buffer = session.send_buffer if session.first else session.receive_buffer
    train = buffer, size, stride(size), count, delay, answer
    return session.timed(loop, *session.pair, *train, repetitions) * session.first


def _wait_seconds(session: Session, delay: int) -> float:
    """Return the real duration of a busy wait of some ticks: it ends with its last reading of the clock."""
    from commmodel._core.mpi import trains

    ticks = session.ticks(_WAIT_SECONDS)
    rows = [trains.waits(ticks, _WAITS, session.clock_number) / _WAITS for _ in range(_ROWS)]
    return float(delay + np.median(rows) - ticks) / session.clock.frequency


def _measure(session: Session, train: Train) -> Record | None:
    size, mode = train.message_size, train.mode
    delay = 0

    def measure(repetitions: int, count: int = train.messages) -> Floats:
        return time_trains(session, size, mode, count=count, delay=delay, answer=1, repetitions=repetitions)

    if train.delayed:  # by PRTT(1, 0, s)
        delay = session.ticks(undisturbed_seconds(session, lambda repetitions: measure(repetitions, 1)))
    record = sampled(session, train, measure)
    if record is None or not train.delayed:
        return record
    return msgspec.structs.replace(record, delay=_wait_seconds(session, delay))


def _effort(train: Train) -> Effort:
    if not train.delayed:
        return Effort(train.message_size, train.messages)
    return Effort(train.message_size, 2 * train.messages, LOOKS / (2 * train.messages))


KERNELS = (
    Kernel(
        "trains of messages with one answer, for LogGP", (Train,), _plan, _measure, _room, visited=(Train,),
        options=(MODE,), effort=_effort,
    ),
)  # fmt: skip
