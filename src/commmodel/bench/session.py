"""The session of a configuration: participating ranks, buffers, clock and time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from commmodel.bench.clock import kind_number
from commmodel.bench.synchronisation import GroupClock
from commmodel.results import BenchOptions, Clock

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class Session:
    """One configuration's environment, on each rank that takes part.

    Attributes
    ----------
    comm : MPI.Intracomm
        The ranks that take part: the first ranks of k pairs, then their second ranks. Its rank 0 is the
        launch's rank 0; it decides and keeps the samples.
    send_buffer, receive_buffer : uint8 arrays
        At least as large as the largest message; received windows of messages fit, too.
    share : float
        Seconds that this configuration may take.
    shared_clock : GroupClock
        What makes the ranks' clocks one; it costs nothing until it is used.
    """

    comm: "MPI.Intracomm"
    clock: Clock
    options: BenchOptions
    send_buffer: NDArray[np.uint8]
    receive_buffer: NDArray[np.uint8]
    share: float
    shared_clock: GroupClock

    @property
    def is_root(self) -> bool:
        """Whether this rank decides."""
        return self.comm.rank == 0

    @property
    def first(self) -> bool:
        """Whether this rank sends first."""
        return self.comm.rank < self.comm.size // 2

    @property
    def peer(self) -> int:
        """The other rank of the pair, in `comm`."""
        half = self.comm.size // 2
        return self.comm.rank + half if self.first else self.comm.rank - half

    @property
    def pair(self) -> tuple["MPI.Intracomm", int, bool]:
        """The first arguments of loops of pairs: `comm`, `peer` and `first`."""
        return self.comm, self.peer, self.first

    @property
    def touched(self) -> bool:
        """Whether ranks write messages before they send them and read those that have arrived."""
        return self.options.buffers == "touched"

    @property
    def clock_number(self) -> int:
        """Number of the clock in the loops of `_core`."""
        return kind_number(self.clock)

    def seconds(self, ticks: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Convert ticks of this rank's clock."""
        return ticks / self.clock.frequency

    def timed(self, loop: Callable[..., NDArray[np.uint64]], *arguments: object) -> NDArray[np.float64]:
        """Return the seconds of a loop of `_core`, whose last arguments are the clock and whether to touch messages."""
        return self.seconds(loop(*arguments, self.clock_number, self.touched))

    def slowest(self, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return, on every rank, the time of each repetition on its slowest rank."""
        from mpi4py import MPI

        slowest = np.empty_like(seconds)
        self.comm.Allreduce(seconds, slowest, op=MPI.MAX)
        return slowest

    def ticks(self, seconds: float) -> int:
        """Convert seconds to ticks of this rank's clock."""
        return round(seconds * self.clock.frequency)
