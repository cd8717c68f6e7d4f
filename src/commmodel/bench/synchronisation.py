"""A global clock for several ranks, by offset and drift (HCA3), and its remaining error.

HCA3 of Hunold and Carpen-Amarie, "Hierarchical clock synchronization in MPI" (2018): in about log2 P rounds, ranks that
know rank 0's clock teach it to others, each by some exchanges of messages and a straight line through them. Everything
here is in seconds of a rank's own clock since a moment of its own, so that nothing is lost to rounding. Main entries:
`GroupClock`; `synchronise` and `residuals`, which know their ranks by `Wires` alone.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from commmodel.bench import simulation
from commmodel.bench.clock import kind_number
from commmodel.results import Clock

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = [
    "METHODS", "Exchanges", "GlobalClock", "GroupClock", "MPIWires", "Reading", "Wires", "anchor", "best_reading",
    "fitted", "residuals", "rounds", "spread_ranks", "synchronise",
]  # fmt: skip

Floats = NDArray[np.float64]

_FIT_POINTS = 20
_EXCHANGES = 10  # of each point; the one with the smallest round trip is taken
_ANCHOR_EXCHANGES = 30  # as a single point must do
_PAUSE_SECONDS = 5e-3  # between points: a drift shows in time only, so they are spread over a tenth of a second
_SURE = 3.0  # standard errors; a drift smaller than that is taken as none
_SLEEP_SECONDS = 2e-4
_TAG_MEET, _TAG_TELL = 8, 9

_AGE_SECONDS = 0.5  # of intercepts: a drift wrong by 1e-6 makes half a microsecond of it
_DRIFT_AGE_SECONDS = 10.0
_TOLERANCE = 0.05  # of what is measured, that clocks may be apart before drifts are learnt anew
_YIELD_SECONDS = 50e-6
_CHECKED_RANKS = 8


class Exchanges(NamedTuple):
    """Time requests: when each was sent, when its answer arrived, and the remote time in the answer."""

    sent: Floats
    received: Floats
    answered: Floats


class Reading(NamedTuple):
    """The other rank's time `there` at this rank's time `here`, uncertain by half the round trip."""

    local: float
    remote: float
    round_trip: float


class Wires(Protocol):
    """Communication for clock synchronisation: `MPIWires` in production, simulated in tests."""

    @property
    def rank(self) -> int:
        """Rank that calls."""

    @property
    def size(self) -> int:
        """Number of ranks."""

    def ask(self, peer: int, count: int) -> Exchanges:
        """Ask a rank that answers for its time so many times; all times are in seconds of each one's own clock."""

    def answer(self, peer: int, count: int) -> None:
        """Answer so many questions of a rank."""

    def tell(self, peer: int, numbers: tuple[float, ...]) -> None:
        """Send some numbers."""

    def hear(self, peer: int) -> tuple[float, ...]:
        """Return the numbers that a rank tells."""

    def pause(self, seconds: float) -> None:
        """Let some time go by."""


@dataclass(frozen=True)
class GlobalClock:
    """Rank 0's time as a linear function of a rank's local time: global = local + intercept + slope local, in seconds.

    >>> clock = GlobalClock(slope=1e-6, intercept=0.5)
    >>> clock.to_global(10.0)
    10.50001
    >>> clock.to_local(10.50001)
    10.0
    """

    slope: float = 0.0
    intercept: float = 0.0

    @overload
    def to_global(self, local: float) -> float: ...
    @overload
    def to_global(self, local: Floats) -> Floats: ...
    def to_global(self, local: float | Floats) -> float | Floats:
        """Return rank 0's time at a local time."""
        return local + (self.intercept + self.slope * local)

    def to_local(self, seconds: float) -> float:
        """Return the local time at a time of rank 0's."""
        return (seconds - self.intercept) / (1 + self.slope)


def rounds(size: int) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Return the synchronisation rounds: pairs (parent, child), of which the parent is synchronised already.

    Ranks above the largest power of two that fits learn in one last round.

    >>> rounds(6)
    (((0, 2),), ((0, 1), (2, 3)), ((0, 4), (1, 5)))
    """
    power = size.bit_length() - 1
    pairs = [
        tuple((parent, parent + (1 << number - 1)) for parent in range(0, 1 << power, 1 << number))
        for number in range(power, 0, -1)
    ]
    rest = tuple((rank - (1 << power), rank) for rank in range(1 << power, size))
    return (*pairs, *([rest] if rest else []))


def spread_ranks(size: int, most: int) -> tuple[int, ...]:
    """Return up to a number of ranks except the first, evenly spread, including the last.

    >>> spread_ranks(4, 8), spread_ranks(100, 3)
    ((1, 2, 3), (33, 66, 99))
    """
    count = min(most, size - 1)
    return tuple(round((number + 1) * (size - 1) / count) for number in range(count))


def best_reading(exchanges: Exchanges) -> Reading:
    """Return the reading of the exchange with the shortest round trip: the answer belongs to its middle."""
    round_trips = exchanges.received - exchanges.sent
    best = int(np.argmin(round_trips))
    middle = exchanges.sent[best] + round_trips[best] / 2
    return Reading(float(middle), float(exchanges.answered[best]), float(round_trips[best]))


def fitted(readings: list[Reading], parent: GlobalClock) -> GlobalClock:
    """Return the line through readings of a parent's clock, weighted by the inverse square of the round trip.

    A slope that is smaller than three standard errors is no drift that could be told from noise: it is taken as 0,
    as a drift that is not there would grow with time.
    """
    local = np.array([reading.local for reading in readings])
    offset = parent.to_global(np.array([reading.remote for reading in readings])) - local
    weights = np.array([reading.round_trip for reading in readings]).clip(1e-12) ** -2
    weights /= weights.sum()
    middle, height = float(weights @ local), float(weights @ offset)
    width = float(weights @ (local - middle) ** 2)
    slope = float(weights @ ((local - middle) * (offset - height))) / width if width > 0 else 0.0
    scatter = float(weights @ (offset - height - slope * (local - middle)) ** 2)
    error = math.sqrt(scatter / (width * max(len(readings) - 2, 1))) if width > 0 else math.inf
    slope = slope if abs(slope) > _SURE * error else 0.0
    return GlobalClock(slope, height - slope * middle)


def _learn_drift(wires: Wires, parent: int) -> GlobalClock:
    readings = []
    for _ in range(_FIT_POINTS):
        readings.append(best_reading(wires.ask(parent, _EXCHANGES)))
        wires.pause(_PAUSE_SECONDS)
    return fitted(readings, GlobalClock(*wires.hear(parent)))


def _teach_drift(wires: Wires, child: int, clock: GlobalClock) -> None:
    for _ in range(_FIT_POINTS):
        wires.answer(child, _EXCHANGES)
    wires.tell(child, (clock.slope, clock.intercept))


def _hca3(wires: Wires) -> GlobalClock:
    clock = GlobalClock()
    for parent, child in _my_pairs(wires):
        if wires.rank == parent:
            _teach_drift(wires, child, clock)
        else:
            clock = _learn_drift(wires, parent)
    return anchor(wires, clock)


def _offset(wires: Wires) -> GlobalClock:
    return anchor(wires, GlobalClock())


def _my_pairs(wires: Wires) -> list[tuple[int, int]]:
    return [pair for pairs in rounds(wires.size) for pair in pairs if wires.rank in pair]


def anchor(wires: Wires, clock: GlobalClock) -> GlobalClock:
    """Return a clock with the same slope and a newly measured intercept, parents first."""
    for parent, child in _my_pairs(wires):
        if wires.rank == parent:
            wires.answer(child, _ANCHOR_EXCHANGES)
            wires.tell(child, (clock.slope, clock.intercept))
        else:
            local, remote, _ = best_reading(wires.ask(parent, _ANCHOR_EXCHANGES))
            now = GlobalClock(*wires.hear(parent)).to_global(remote)
            clock = GlobalClock(clock.slope, now - local - clock.slope * local)
    return clock


METHODS: dict[Literal["hca3", "offset"], Callable[[Wires], GlobalClock]] = {"hca3": _hca3, "offset": _offset}
"""``hca3`` knows offset and drift; ``offset``, for comparison, the offset alone."""


def synchronise(wires: Wires, method: Literal["hca3", "offset"] = "hca3") -> GlobalClock:
    """Return the global clock of this rank. Collective over all ranks."""
    return METHODS[method](wires)


def residuals(wires: Wires, clock: GlobalClock, most: int) -> tuple[float, ...]:
    """Return, on rank 0, the errors of the global clock on a few spread ranks, in seconds; empty elsewhere.

    Each is uncertain by half a round trip, of which both ways may differ.
    """
    offsets: list[float] = []
    for rank in spread_ranks(wires.size, most):
        if wires.rank == 0:
            wires.answer(rank, _ANCHOR_EXCHANGES)
            offsets += wires.hear(rank)
        elif wires.rank == rank:
            local, remote, _ = best_reading(wires.ask(0, _ANCHOR_EXCHANGES))
            wires.tell(0, (clock.to_global(local) - remote,))
    return tuple(offsets)


class MPIWires:
    """Communication through an MPI communicator; made by all of its ranks."""

    def __init__(self, comm: "MPI.Intracomm", clock: Clock, *, is_one_clock: bool = False) -> None:
        from commmodel._core.clock import processor_clock as core

        self._comm = comm
        self.number: int = kind_number(clock)
        self.origin: int = int(core.read_ticks(self.number, 1)[0])
        self.frequency: float = clock.frequency
        self._clocks: list[tuple[int, float]] = []
        if is_one_clock:
            self.origin = comm.bcast(self.origin)
        else:
            self._clocks = comm.allgather((self.origin, self.frequency))

    @property
    def rank(self) -> int:
        """Rank that calls."""
        return self._comm.rank

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self._comm.size

    def ask(self, peer: int, count: int) -> Exchanges:
        """Ask a rank that answers for its time so many times; all times are in seconds of each one's own clock."""
        from commmodel._core.mpi import clock_sync

        self._meet(peer)
        sent, received, answered = clock_sync.ask(self._comm, peer, count, self.number)
        return Exchanges(self.seconds(self.rank, sent), self.seconds(self.rank, received),
                         self.seconds(peer, answered))  # fmt: skip

    def answer(self, peer: int, count: int) -> None:
        """Answer so many questions of a rank."""
        from commmodel._core.mpi import clock_sync

        self._meet(peer)
        clock_sync.answer(self._comm, peer, count, self.number)

    def tell(self, peer: int, numbers: tuple[float, ...]) -> None:
        """Send some numbers."""
        self._comm.send(numbers, peer, _TAG_TELL)

    def hear(self, peer: int) -> tuple[float, ...]:
        """Return the numbers that a rank tells."""
        return tuple(self._comm.recv(None, peer, _TAG_TELL))

    def pause(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)

    def rest(self) -> None:
        """Sleep until all ranks are here."""
        request = self._comm.Ibarrier()
        while not request.Test():
            time.sleep(_SLEEP_SECONDS)

    def seconds(self, rank: int, ticks: NDArray[np.uint64]) -> Floats:
        """Convert ticks of a rank's clock to seconds since the construction of this object."""
        origin, frequency = self._clocks[rank]
        since = (ticks - np.uint64(origin)).astype(np.int64)  # whole numbers: exact whatever the ticks count from
        return since / frequency

    def _meet(self, peer: int) -> None:
        """Meet a rank while asleep: polling could take the processor from ranks that exchange messages."""
        request = self._comm.Isend(b"", peer, _TAG_MEET)
        while not self._comm.Iprobe(peer, _TAG_MEET):
            time.sleep(_SLEEP_SECONDS)
        self._comm.Recv(bytearray(), peer, _TAG_MEET)
        request.Wait()


class GroupClock:
    """The global clock of a group of ranks, synchronised again when needed. Collective over the group."""

    def __init__(self, comm: "MPI.Intracomm", clock: Clock) -> None:
        self._comm = comm
        self._clock = clock
        self._wires: MPIWires | None = None
        self._model = GlobalClock()
        self._learnt = self._anchored = -math.inf
        self._doubtful = True

    def refresh(self) -> None:
        """Synchronise again what is outdated: intercepts often, slopes where clocks have drifted."""
        if simulation.is_simulated():
            self._wires = self._wires or MPIWires(self._comm, self._clock, is_one_clock=True)
            return
        now = time.perf_counter()
        stale = self._doubtful and now - self._learnt > _DRIFT_AGE_SECONDS, now - self._anchored > _AGE_SECONDS
        drifts, intercepts = self._comm.bcast(stale)
        wires = self._wires = self._wires or MPIWires(self._comm, self._clock)
        if drifts:
            self._model = synchronise(wires)
            self._learnt, self._doubtful = now, False
        elif intercepts:
            self._model = anchor(wires, self._model)
        if drifts or intercepts:
            wires.rest()
            self._anchored = time.perf_counter()

    def for_loops(self, slack: float) -> Any:
        """Return the `CommonClock` for the loops of `_core`; a rank later than `slack` seconds has missed the start."""
        from commmodel._core.mpi import collective

        if self._wires is None:
            raise RuntimeError("a clock must be refreshed before it is used")
        wires, model = self._wires, self._model
        patience, late = (round(seconds * wires.frequency) for seconds in (_YIELD_SECONDS, slack))
        rate = (1 + model.slope) / wires.frequency
        return collective.CommonClock(wires.number, wires.origin, rate, model.intercept, patience, late)

    def check(self, typical: float) -> float:
        """Return, on every rank, the largest error of the global clock.

        Where it is more than 5 % of a `typical` time that is measured, drifts are learnt anew when they are old.
        """
        if self._wires is None:
            raise RuntimeError("a clock must be refreshed before it is used")
        if simulation.is_simulated():
            return 0.0
        apart = residuals(self._wires, self._model, _CHECKED_RANKS)
        self._wires.rest()
        error = float(self._comm.bcast(max(map(abs, apart), default=0.0)))
        self._doubtful |= error > _TOLERANCE * typical
        return error
