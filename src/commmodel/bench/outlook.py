"""How long a plan takes at least: the links that a launch finds, and what one visit sends. Main entry: `Outlook`.

On a slow network a few repetitions of a large message take longer than all the time that was asked for. So each path is
looked at before anything is measured, by ping-pongs of larger and larger messages, and each kernel says what its
smallest visit sends (`kernels.kernel.Effort`).
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from commmodel.bench.kernels import kernel_of
from commmodel.bench.session import Session
from commmodel.results import Configuration

_LOOKS = 3
_ENOUGH_SECONDS = 30e-3  # of a message: its time is that of its bytes
_STEP = 8  # from one size to the next
_FEWEST, _LEAST = 3, 10  # repetitions that `sampling.sample` takes, the latter
_LEAST_SECONDS = 0.1  # where they take no longer than this
_SAMPLED = 1  # and the first message of a warm-up
_OWN_SECONDS = 2e-3  # of a visit besides its messages


class PathTimes(NamedTuple):
    """Times of one message over a path, one way: ascending bytes, and seconds."""

    sizes: tuple[int, ...]
    times: tuple[float, ...]

    def seconds(self, size: float) -> float:
        """Return the time of a message: interpolated, or at the last rate.

        >>> PathTimes((1, 1000), (1e-6, 1e-3)).seconds(4000)
        0.004
        """
        if size > self.sizes[-1]:
            return self.times[-1] * size / self.sizes[-1]
        return float(np.interp(size, self.sizes, self.times))


class Outlook(NamedTuple):
    """What a launch found of its links.

    Attributes
    ----------
    links : dict of path to PathTimes
    on_node : int
        Ranks of a node that send to another one at once.
    """

    links: Mapping[str, PathTimes]
    on_node: int = 1

    def least(self, configuration: Configuration) -> float:
        """Return the seconds of the smallest visit to a configuration."""
        effort = kernel_of(configuration).effort(configuration)
        if not self.links:
            return effort.seconds
        path = getattr(configuration, "path", "any")
        link = self.links.get(path) or list(self.links.values())[-1]
        shared = self.on_node if effort.by_all and "between-nodes" in self.links else 1
        once = link.seconds(effort.size * shared) * effort.messages
        count = effort.repetitions
        if effort.sampled:
            count += _SAMPLED + (_LEAST if _LEAST * once <= _LEAST_SECONDS else _FEWEST)
        return _OWN_SECONDS + effort.seconds + count * once

    def total(self, configurations: Iterable[Configuration]) -> float:
        """Return the seconds of one smallest visit to each."""
        return sum(map(self.least, configurations))

    def affordable(self, configurations: Iterable[Configuration], seconds: float) -> list[Configuration]:
        """Return those configurations, in their order, that are visited once within some seconds."""
        within: list[Configuration] = []
        for configuration in configurations:
            if self.least(configuration) <= seconds:
                seconds -= self.least(configuration)
                within.append(configuration)
        return within


NO_OUTLOOK = Outlook({})


def sent_bytes(configurations: Iterable[Configuration]) -> float:
    """Return the bytes that the smallest visits send one after the other, on a network where these take the time."""
    efforts = (kernel_of(configuration).effort(configuration) for configuration in configurations)
    return sum(
        effort.size * effort.messages * (effort.repetitions + effort.sampled * (_SAMPLED + _FEWEST))
        for effort in efforts
    )


def look(session: Session, largest: int) -> PathTimes:
    """Return the times of larger and larger messages of a pair, up to `largest` bytes, on every rank.

    They go there and back between the larger buffers: of some kernels the other one is empty.
    """
    from commmodel._core.mpi import pingpong

    buffer = max(session.send_buffer, session.receive_buffer, key=len)
    sizes: list[int] = []
    times: list[float] = []
    while not sizes or (sizes[-1] < largest and times[-1] < _ENOUGH_SECONDS):
        sizes.append(min(largest, sizes[-1] * _STEP) if sizes else 1)
        ticks = pingpong.pingpong(
            *session.pair, buffer, buffer, sizes[-1], _LOOKS, 1, session.clock_number,
        )  # fmt: skip
        times.append(session.comm.bcast(float(np.median(session.seconds(ticks))) / 2))
    return PathTimes(tuple(sizes), tuple(times))
