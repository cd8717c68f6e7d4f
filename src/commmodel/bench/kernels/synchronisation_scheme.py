"""Synchronisation schemes of collectives: a barrier, or start times on a global clock.

Common starts after Hunold and Carpen-Amarie, "Reproducible MPI Benchmarking is Still Not as Easy as You Think" (2016):
a repetition for which a rank came too late is left out, and leads or windows follow from how many are. Main entry:
`measure_started`.
"""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from commmodel.bench import simulation
from commmodel.bench.kernels.kernel import Floats
from commmodel.bench.sampling import ROUNDING, Sampled, repeat, sample
from commmodel.bench.session import Session
from commmodel.results import Record
from commmodel.results.configurations import Collective, Start
from commmodel.units import format_size

if TYPE_CHECKING:
    from mpi4py import MPI

_LOOKS = 10  # repetitions after a barrier, for a first idea of the time, unless they take more than
_LOOK_SHARE = 0.05  # this of the time
_BROADCASTS = 20
_LEAD_BROADCASTS = 3
_WINDOW_REPETITIONS = 1.5  # of the slowest repetition of the first look, then at least of one that is slower than
_SLOW = 0.9  # this of them
_MOST_LATE = 0.2  # of the repetitions; with more, ranks get twice the time
_HARDLY_LATE = 0.01  # with fewer, of at least
_ENOUGH = 50  # repetitions, they get
_LESS = 0.95  # of the time
_SLACK_SECONDS = 1e-6  # that a rank may begin after the start: a few looks at the clock, or
_SLACK_SHARE = 0.05  # this of the shortest time if longer, and
_MOST_SLACK_SHARE = 0.25  # at most this where ranks take turns on a processor
_MOST_SECONDS = 0.1  # of a lead or window, but for longer operations: some time slices of a busy processor
_FEWEST_SAMPLES = 3
_BEGAN_LATE = np.uint8(2)  # of `_core.collective.LATE`, which cannot be had without MPI


class Repetitions(NamedTuple):
    """Repetitions of a rank: seconds, and 0 or the reason of a missed start (`_core.mpi.collective.LATE`)."""

    seconds: Floats
    late: NDArray[np.uint8]


class Starts(Protocol):
    """One way to begin repetitions. All ranks call it alike."""

    def run(self, repetitions: int) -> Repetitions:
        """Return what so many repetitions took."""

    def adapt(self, local: Floats, slowest: Floats, late: NDArray[np.uint8]) -> None:
        """Go by the last repetitions in the next ones."""

    def check(self, typical: float) -> float | None:
        """Return the largest error of the common clock in seconds, where there is one."""

    @property
    def window(self) -> float | None:
        """Seconds between starts, where they are fixed."""


class Pace:
    """Lead time before a common start and permitted lateness, in seconds.

    `seconds` is a lead or a window, at first as told; `shortest` is the time of the shortest repetition yet.

    >>> pace = Pace(10e-6, shortest=100e-6)
    >>> pace.adapt(np.full(4, 100e-6), late=np.array([0, 0, 1, 1]))
    >>> pace.seconds, pace.slack
    (2e-05, 5e-06)
    """

    def __init__(self, seconds: float, shortest: float) -> None:
        self._least = self.seconds = seconds
        self._shortest = shortest
        self._slack_share = _SLACK_SHARE

    @property
    def slack(self) -> float:
        """How long after the start a rank may begin."""
        return max(_SLACK_SECONDS, self._slack_share * self._shortest)

    def need(self, least: float) -> None:
        """Give no less from now on."""
        self._least = least
        self.seconds = max(self.seconds, least)

    def adapt(self, slowest: Floats, late: NDArray[np.uint8]) -> None:
        """Give twice of what more than 20 % had too little of, and a little less time where hardly any was late.

        More time is of no use to who lost the processor just before the start; a larger slack is.
        """
        # The shortest time yet: where a first look at a busy time let ranks begin late, one good repetition ends that.
        self._shortest = min(self._shortest, float(slowest.min()))
        too_many = _MOST_LATE * late.size
        if np.count_nonzero(late & _BEGAN_LATE) > too_many:
            self._slack_share = min(2 * self._slack_share, _MOST_SLACK_SHARE)
        if np.count_nonzero(late & ~_BEGAN_LATE) > too_many:
            self.seconds = max(self._least, min(2 * self.seconds, _MOST_SECONDS))
        elif late.size >= _ENOUGH and np.count_nonzero(late) < _HARDLY_LATE * late.size:
            self.seconds = max(self._least, _LESS * self.seconds)


class _Operation(NamedTuple):
    """Arguments of an operation for the loops of `_core`."""

    session: Session
    where: tuple["MPI.Intracomm", str, NDArray[np.uint8], NDArray[np.uint8], int]
    mode: str
    delay: int

    def after_barriers(self, repetitions: int) -> Floats:
        """Return this rank's seconds in repetitions that each begin after a barrier."""
        from commmodel._core.mpi import collective

        clock = self.session.clock_number
        ticks = collective.collective(
            *self.where, repetitions, clock, mode=self.mode, delay=self.delay,
            touched=self.session.touched,
        )  # fmt: skip
        return self.session.seconds(ticks)


def _operation(session: Session, configuration: Collective, delay: float | None) -> _Operation:
    where = (
        session.comm, configuration.operation, session.send_buffer, session.receive_buffer, configuration.message_size
    )  # fmt: skip
    return _Operation(session, where, configuration.mode, session.ticks(delay or 0))


def _anyone(session: Session, late: NDArray[np.uint8]) -> NDArray[np.uint8]:
    from mpi4py import MPI

    any_late = np.empty_like(late)
    session.comm.Allreduce(late, any_late, op=MPI.BOR)
    return any_late


class _Look(NamedTuple):
    """Seconds of a few repetitions after barriers, on this rank and on the slowest."""

    local: Floats
    slowest: Floats


def _first_look(operation: _Operation) -> _Look:
    session = operation.session

    def look(repetitions: int) -> _Look:
        local = operation.after_barriers(repetitions)
        return _Look(local, session.slowest(local))

    first = look(1)
    if simulation.is_simulated():  # exact
        return first
    affordable = int(_LOOK_SHARE * session.share / max(float(first.slowest[0]), 1e-9))
    more = session.comm.bcast(min(_LOOKS, affordable))
    return look(more) if more else first


def _behind(session: Session, local: Floats, slowest: Floats) -> float:
    """Return how long the slowest rank mostly still works when rank 0 is done, the same on every rank."""
    return float(session.comm.bcast(np.quantile(slowest - local, _SLOW)))


def _broadcast_seconds(session: Session) -> float:
    """Return how long a start takes to be known on all ranks, the same on every rank."""
    from commmodel._core.mpi import collective

    buffer = np.zeros(8, dtype=np.uint8)
    count = 1 if simulation.is_simulated() else _BROADCASTS
    ticks = collective.collective(session.comm, "bcast", buffer, buffer.copy(), 8, count, session.clock_number)
    return float(np.median(session.slowest(session.seconds(ticks))))


class _Barriers:
    window = None

    def __init__(self, operation: _Operation) -> None:
        self._operation = operation

    def run(self, repetitions: int) -> Repetitions:
        return Repetitions(self._operation.after_barriers(repetitions), np.zeros(repetitions, np.uint8))

    def adapt(self, local: Floats, slowest: Floats, late: NDArray[np.uint8]) -> None:
        """No rank is late after a barrier."""

    def check(self, typical: float) -> float | None:  # noqa: ARG002
        """No common clock was used."""
        return None


class _CommonStarts:
    """Repetitions that begin at times of the ranks' common clock."""

    _pace: Pace

    def __init__(self, operation: _Operation) -> None:
        self._operation, self._session = operation, operation.session
        self._look = _first_look(operation)
        self._announcing = _LEAD_BROADCASTS * _broadcast_seconds(self._session)

    def _run(self, loop: str, repetitions: int, *leads: float) -> Repetitions:
        from commmodel._core.mpi import collective

        operation, shared = self._operation, self._session.shared_clock
        shared.refresh()
        clock = shared.for_loops(self._pace.slack)
        return Repetitions(*getattr(collective, loop)(
            *operation.where, repetitions, clock, *leads, mode=operation.mode, delay=operation.delay,
            touched=self._session.touched,
        ))  # fmt: skip

    def check(self, typical: float) -> float | None:
        return self._session.shared_clock.check(typical)

    @property
    def window(self) -> float | None:
        return self._pace.seconds


class _RoundTimes(_CommonStarts):
    """Rank 0 announces each start so far ahead as three broadcasts take, once the slowest rank is done."""

    def __init__(self, operation: _Operation) -> None:
        super().__init__(operation)
        look = self._look
        behind = _behind(self._session, look.local, look.slowest)
        self._pace = Pace(self._announcing + behind, float(look.slowest.min()))

    def run(self, repetitions: int) -> Repetitions:
        return self._run("announced", repetitions, self._pace.seconds)

    def adapt(self, local: Floats, slowest: Floats, late: NDArray[np.uint8]) -> None:
        self._pace.need(self._announcing + _behind(self._session, local, slowest))
        self._pace.adapt(slowest, late)


class _FixedWindows(_CommonStarts):
    """Windows follow each other unannounced; first of one and a half times the slowest repetition of a first look."""

    def __init__(self, operation: _Operation) -> None:
        super().__init__(operation)
        slowest = self._look.slowest
        self._pace = Pace(_WINDOW_REPETITIONS * float(slowest.max()), float(slowest.min()))

    def run(self, repetitions: int) -> Repetitions:
        return self._run("windowed", repetitions, max(self._announcing, self._pace.seconds), self._pace.seconds)

    def adapt(self, local: Floats, slowest: Floats, late: NDArray[np.uint8]) -> None:  # noqa: ARG002
        # A window that cut off the slowest repetitions would make the samples faster than the operation is.
        self._pace.need(_WINDOW_REPETITIONS * float(np.quantile(slowest, _SLOW)))
        self._pace.adapt(slowest, late)


_WAYS: dict[Start, Callable[[_Operation], Starts]] = {
    "barrier": _Barriers, "round-time": _RoundTimes, "fixed-window": _FixedWindows
}  # fmt: skip


def measure_started(
    session: Session, configuration: Collective, repetitions: int | None = None, delay: float | None = None
) -> Record | None:
    """Measure a collective operation; return the record on the root.

    Parameters
    ----------
    repetitions : int or None
        How often; None: until the interval is narrow enough.
    delay : float or None
        Seconds for which ranks compute while an operation goes on (mode ``overlapped``).
    """
    starts = _WAYS[configuration.start](_operation(session, configuration, delay))
    of_ranks: list[Floats] = []  # on the root: of each call, a row for each rank

    def measure(batch: int, count: int) -> Floats:  # noqa: ARG001
        seconds, own_late = starts.run(count)
        seconds = np.maximum(seconds, 0.0)  # a tick may end before the start that it was rounded down to
        slowest, late = session.slowest(seconds), _anyone(session, own_late)
        starts.adapt(seconds, slowest, late)
        if session.options.per_rank:
            rows = session.comm.gather(seconds[late == 0])
            of_ranks.append(np.array(rows if rows is not None else []))
        return np.where(late == 0, slowest, np.inf)

    sampled = repeat(session, measure, repetitions) if repetitions else sample(session, measure)
    typical = float(np.median(sampled.samples)) if sampled.samples else 0.0  # 0 but on the root, which is asked
    error = starts.check(typical)
    if not session.is_root:
        return None
    if len(sampled.samples) < min(_FEWEST_SAMPLES, repetitions or session.options.repetitions):
        _tell_left_out(configuration, sampled)
        return None
    ranks = np.concatenate(of_ranks, axis=1)[:, -len(sampled.samples) :].round(ROUNDING) if of_ranks else None
    return Record(
        configuration,
        "s",
        sampled.samples,
        stop=sampled.stop,
        warmup=sampled.warmup,
        delay=delay,
        late=sampled.left_out,
        window=starts.window, clock_error=error,
        ranks=None if ranks is None else tuple(tuple(row) for row in ranks.tolist()),
    )  # fmt: skip


def _tell_left_out(configuration: Collective, sampled: Sampled) -> None:
    total = sampled.left_out + len(sampled.samples)
    print(
        f"commmodel.bench: left out {configuration.operation} of {format_size(configuration.message_size)} on "
        f"{configuration.processes} processes: a rank was late for {sampled.left_out} of {total} common starts: "
        "start no more ranks than there are processors, give it more --time, or use --start barrier",
        file=sys.stderr,
        flush=True,
    )
