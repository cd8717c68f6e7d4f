"""The session of a configuration: participating ranks, buffers, clock and time."""

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

    def ticks(self, seconds: float) -> int:
        """Convert seconds to ticks of this rank's clock."""
        return round(seconds * self.clock.frequency)
