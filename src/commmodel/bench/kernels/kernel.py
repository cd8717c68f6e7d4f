"""The interface of a benchmark kernel, and what several kernels share. Main entry: `Kernel`."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from commmodel.bench.option import Option
from commmodel.bench.placement import FurtherNodes, NodePairs, Placement, members
from commmodel.bench.sampling import Measure, sample
from commmodel.bench.session import Session
from commmodel.choices import Unit
from commmodel.results import BenchOptions, Clock, Configuration, Record
from commmodel.results.configurations import Batch, Function, SendMode
from commmodel.signatures import check_fields
from commmodel.values import OneLine

if TYPE_CHECKING:
    from mpi4py import MPI

Floats = NDArray[np.float64]
Room = tuple[int, int]
"""Bytes that the send buffer and the receive buffer need."""

WINDOW = 64  # messages, as OSU's and most other bandwidth tests have it
_WINDOW_BYTES = 16 << 20  # takes about a thousand times as long as the answer after it, at 10 GB/s and 1.5 us
_LOOK_SECONDS = 10e-3  # of repetitions for a first look at a time: longer than another process's time slice
_FEWEST_LOOKS, _MOST_LOOKS = 5, 99
_LOW = 0.25
_PAUSE_ROUND_TRIPS = 1.2  # as Kielmann et al. wait for a message to arrive before they time its receive
_LINE = 64  # messages of a window arrive in different cache lines


class Effort(NamedTuple):
    """What the smallest visit to a configuration sends through a link, one message after the other.

    Attributes
    ----------
    size : float
        Bytes of a message.
    messages : float
        Of a repetition.
    repetitions : float
        Besides those that `sampling.sample` takes.
    seconds : float
        Besides all messages.
    sampled : bool
        Whether `sampling.sample` repeats it.
    by_all : bool
        Whether all ranks of a node send at once, so that a link takes so many times as long.
    """

    size: float = 0
    messages: float = 1
    repetitions: float = 0
    seconds: float = 0
    sampled: bool = True
    by_all: bool = False


NO_MESSAGES = Effort(sampled=False)
LOOKS = 6
"""Repetitions that `undisturbed_seconds` takes where they are long."""


def round_trip(configuration: Any) -> Effort:
    """Return the effort of one message there and one back."""
    return Effort(configuration.message_size, 2)


def message_room(configuration: Any) -> Room:
    """Return the buffer sizes for one message each way."""
    return configuration.message_size, configuration.message_size


def one_pair(configuration: Any, placement: Placement, further: FurtherNodes) -> list[int]:  # noqa: ARG001
    """Return the first pair of ranks on the path of the configuration."""
    return members(placement[configuration.path][:1])


def all_processes(configuration: Any, placement: Placement, further: FurtherNodes) -> list[int]:  # noqa: ARG001
    """Return the first ranks, up to the number of processes of the configuration."""
    return list(range(configuration.processes))


def pair_or_all(configuration: Any, placement: Placement, further: FurtherNodes) -> list[int]:
    """Return the first pair of ranks of the path, or without a path the first ranks."""
    return (all_processes if configuration.path == "any" else one_pair)(configuration, placement, further)


def _room_of_function(configuration: Any) -> Room:
    return (int(dict(configuration.parameters).get("n", 0)),) * 2


def _ranks_of_function(configuration: Any, placement: Placement, further: FurtherNodes) -> range:  # noqa: ARG001
    return range(int(dict(configuration.parameters).get("p", 2)))


def always(placement: Placement, node_pairs: Sequence[int]) -> bool:  # noqa: ARG001
    """Rule of a kernel that is always measured by default."""
    return True


@dataclass(frozen=True)
class Kernel(OneLine):
    """A benchmark kernel: help text, configurations, plan, measurement and requirements.

    Attributes
    ----------
    summary : str
        One line for the help.
    configurations : tuple of struct types
        What it measures; the tag of the first is its name.
    plan : callable
        (options, placement) -> configurations, in any order.
    measure : callable
        (session, configuration) -> record on the root, None elsewhere. Called by all ranks that take part.
    room : callable
        configuration -> bytes that it needs of the send buffer and of the receive buffer; by default a message each,
        of a kernel of one's own as many as its parameter ``n`` says.
    ranks : callable
        (configuration, placement, further nodes) -> the ranks that take part, rank 0 first; by default a pair, of a
        kernel of one's own as many as its parameter ``p`` says.
    options : tuple of Option
        Those of the command line that it alone, or with a few others, goes by. Where `BenchOptions` has no such field,
        the value is in its `further`.
    by_default : callable or None
        (placement, numbers of node pairs) -> whether it is measured where no kernel is named; None: only where named.
    node_pairs : callable or None
        (configuration, `NodePairs`) -> on how many pairs of nodes at once to measure it, 1 or more numbers.
    prepare : callable or None
        (comm, clock, options, placement) -> options, with what must be measured before there is a plan. Called by all
        ranks.
    refine : callable or None
        (options, records) -> what else is worth measuring, given all records up to now; empty where nothing is.
        Needs no more room than what was planned.
    check : callable or None
        (comm, plan) -> nothing; raises on every rank alike where some rank cannot measure the plan.
    left_out : callable or None
        options -> what the plan leaves out, in one line; empty where nothing is.
    one_sided : bool
        Whether ``--operations`` may ask it for one-sided operations, which are then tried before anything is measured.
    visited : tuple of struct types
        Those of its configurations that are visited several times, where `BenchOptions.visits` says so.
    effort : callable
        configuration -> what its smallest visit sends, for the time that a plan takes at least.
    decides : bool
        Whether it tells of which kind a model is: such kernels are measured before the others.
    name : str
        On the command line; empty: the tag of its first configuration. A kernel of one's own measures `Function` with
        this name, its parameters, and as metric what it measures.
    """

    summary: str
    configurations: tuple[type[Configuration], ...]
    plan: Callable[[BenchOptions, Placement], list[Configuration]]
    measure: Callable[[Session, Any], Record | None]
    room: Callable[[Any], Room] = message_room
    ranks: Callable[[Any, Placement, FurtherNodes], Sequence[int]] = one_pair
    options: tuple[Option, ...] = ()
    by_default: Callable[[Placement, Sequence[int]], bool] | None = None
    node_pairs: Callable[[Any, NodePairs], Sequence[int]] | None = None
    prepare: Callable[["MPI.Intracomm", Clock, BenchOptions, Placement], BenchOptions] | None = None
    refine: Callable[[BenchOptions, Sequence[Record]], list[Configuration]] | None = None
    check: Callable[["MPI.Intracomm", Sequence[Configuration]], None] | None = None
    left_out: Callable[[BenchOptions], str] | None = None
    one_sided: bool = False
    visited: tuple[type[Configuration], ...] = ()
    effort: Callable[[Any], Effort] = round_trip
    decides: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.configurations[0] is Function:
            for name, usual, part in (
                ("room", message_room, _room_of_function), ("ranks", one_pair, _ranks_of_function),
                ("effort", round_trip, lambda _: NO_MESSAGES),
            ):  # fmt: skip
                if getattr(self, name) is usual:
                    object.__setattr__(self, name, part)
        if not self.name:
            object.__setattr__(self, "name", str(self.configurations[0].__struct_config__.tag))


def sampled(
    session: Session, configuration: Configuration, measure: Callable[[int], Floats], unit: Unit = "s"
) -> Record | None:
    """Repeat until the interval is narrow enough; return the record, on the root.

    `measure` returns the seconds of so many repetitions, or in another unit what they measured, 0 on ranks that do not
    time. The largest of all ranks counts.
    """
    return sampled_in_batches(session, configuration, lambda _, repetitions: measure(repetitions), 1, unit)


def timed(session: Session, configuration: Configuration, call: Callable[[], object]) -> Record | None:
    """Time a Python function until the interval is narrow enough; return the record, on the root.

    All ranks call it as often, each time behind a barrier; the time of the slowest rank counts.
    """

    def seconds(repetitions: int) -> Floats:
        times = np.empty(repetitions)
        for repetition in range(repetitions):
            session.comm.Barrier()
            begin = time.perf_counter()
            call()
            times[repetition] = time.perf_counter() - begin
        return session.slowest(times)

    return sampled(session, configuration, seconds)


def sampled_in_batches(
    session: Session, configuration: Configuration, measure: Measure, batch: Batch, unit: Unit = "s"
) -> Record | None:
    """Do as `sampled`, with so many exchanges timed together."""
    samples = sample(session, measure, batch)
    if not session.is_root:
        return None
    return Record(configuration, unit, samples.samples, stop=samples.stop, batch=samples.batch, warmup=samples.warmup)


def exchange_seconds(session: Session, ticks: NDArray[np.uint64]) -> Floats:
    """Convert ticks of ping-pongs; of touched messages, take off what the other rank has spent on touching.

    These are known on the ranks that send first, and 0 elsewhere.
    """
    seconds = session.seconds(ticks)
    if not session.touched:
        return seconds
    touching = np.empty_like(seconds)
    session.comm.Sendrecv(seconds, session.peer, recvbuf=touching, source=session.peer)
    return (seconds - touching) * session.first


def round_trips(session: Session, size: int, repetitions: int, batch: int = 1) -> Floats:
    """Return the seconds of ping-pongs; these are known on the ranks that send first."""
    from commmodel._core.mpi import pingpong

    ticks = pingpong.pingpong(
        *session.pair, session.send_buffer, session.receive_buffer, size, repetitions, batch, session.clock_number,
        session.touched,
    )  # fmt: skip
    return exchange_seconds(session, ticks) / batch


def undisturbed_seconds(session: Session, measure: Callable[[int], Floats]) -> float:
    """Return, on every rank, the lower quartile of the root's times in some repetitions after a warm-up.

    For what is made of a time before it is measured well, a delay or a pause: an interruption in that would be in every
    repetition.
    """

    def looked(repetitions: int) -> float:
        return float(session.comm.bcast(np.quantile(measure(repetitions), _LOW)))

    affordable = int(_LOOK_SECONDS / max(looked(1), 1e-9))
    return looked(min(_MOST_LOOKS, max(_FEWEST_LOOKS, affordable)))


def pause_ticks(session: Session, round_trips: Callable[[int], Floats]) -> int:
    """Return the ticks until a requested message has arrived; `round_trips` measures on the root."""
    return session.ticks(_PAUSE_ROUND_TRIPS * undisturbed_seconds(session, round_trips))


MODE = Option(
    "mode",
    "mode of sending, receiving and waiting; with non-blocking, collective measures overlapped operations, too",
    choices=(*get_args(SendMode), "both"),
)


def modes(options: BenchOptions) -> tuple[SendMode, ...]:
    """Return the modes of sending and receiving."""
    return ("blocking", "non-blocking") if options.mode == "both" else (options.mode,)


def stride(size: int) -> int:
    """Return the distance between the receive buffers of a window's messages."""
    return -(-size // _LINE) * _LINE


def window(size: int) -> int:
    """Return the number of messages in a window: a function of the size alone, so that --resume finds the same."""
    return max(1, min(WINDOW, _WINDOW_BYTES // max(stride(size), 1)))


def window_room(size: int) -> Room:
    """Return the buffer sizes for a window of messages of this size or any smaller one, at both ends."""
    room = max(stride(size), min(WINDOW * stride(size), _WINDOW_BYTES))
    return room, room
