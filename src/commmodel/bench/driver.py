"""In which order and how long: walks through a plan of configurations. Main entry: `Launch.measure`.

Every rank knows the whole plan. Rank 0 takes part in everything, decides, and hands each record on as soon as it
is complete. Ranks that have nothing to do sleep: a rank that polls would take memory bandwidth, power or a whole
processor away from those that are measured.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from commmodel.bench.buffers import allocate, available_memory, huge_bytes
from commmodel.bench.kernels import REGISTRY, kernel_of, on_several_nodes, participants
from commmodel.bench.placement import FurtherNodes, Placement
from commmodel.bench.session import Session
from commmodel.bench.synchronisation import GroupClock
from commmodel.errors import InputError
from commmodel.results import Buffers, Clock, Configuration, Options, RandomPing, RandomPingPong, Record
from commmodel.units import format_size

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["Launch", "check_memory", "make_plan", "shuffled", "visited"]

_SLEEP_SECONDS = 2e-3
_TAG_TURN = 7
_REFINING_SHARE = 0.25  # of the time, kept for what turns out to be worth measuring
_LEAST_VISIT_SECONDS = 20e-3  # some time slices of a scheduler; where there is less for each, there are fewer visits
_LEAST_VISIT_SAMPLES = 50


def make_plan(options: Options, placement: Placement, further_nodes: FurtherNodes = ()) -> list[Configuration]:
    """Return every configuration of the kernels asked for, in the order that the seed gives."""
    kernels = [one for name in options.kernels for one in REGISTRY[name].plan(options, placement)]
    return shuffled(on_several_nodes(kernels, options, placement, further_nodes), options.seed)


def shuffled(configurations: Sequence[Configuration], seed: int) -> list[Configuration]:
    """Return the configurations in the order that the seed gives."""
    order = list(configurations)
    random.Random(seed).shuffle(order)  # noqa: S311  (an order, no secret)
    return order


def visited(todo: Sequence[Configuration], options: Options) -> list[list[Configuration]]:
    """Return what is measured one after the other, in rounds: the plan, then again what several visits are paid to.

    Between two visits to a configuration all others are measured, so what disturbs one is over at the next. Random
    sizes are spread over one record already.
    """
    again = [one for one in todo if _is_revisited(one)]
    visits = min(options.visits, options.repetitions // _LEAST_VISIT_SAMPLES)
    while visits > 1 and options.time < _LEAST_VISIT_SECONDS * (len(todo) + (visits - 1) * len(again)):
        visits -= 1
    return [list(todo), *(shuffled(again, options.seed + visit) for visit in range(1, visits) if again)]


def _is_revisited(configuration: Configuration) -> bool:
    return kernel_of(configuration).visits and not isinstance(configuration, RandomPing | RandomPingPong)


def check_memory(comm: "MPI.Intracomm", room: tuple[int, int]) -> None:
    """Raise `InputError` on every rank where the message buffers do not fit into some rank's host."""
    from mpi4py import MPI

    on_host = comm.Split_type(MPI.COMM_TYPE_SHARED)
    needed = sum(room) * on_host.size
    on_host.Free()
    available = available_memory()
    if comm.allreduce(available is not None and needed > available, op=MPI.LOR):
        raise InputError(
            f"buffers of {format_size(room[0])} and {format_size(room[1])} for each rank "
            "do not fit into a host's free memory: "
            "ask for smaller --sizes or --volumes, or start fewer ranks on a host"
        )


@dataclass
class Launch:
    """One launch of the benchmark, on every rank.

    Attributes
    ----------
    comm : MPI.Comm
        All ranks; its own duplicate, so that no other traffic meets ours.
    placement : Placement
        Which ranks form the pairs of each path.
    further_nodes : FurtherNodes
        Which ranks form those between the nodes beyond the first two.
    room : (int, int)
        Bytes of the send buffer and of the receive buffer.
    """

    comm: "MPI.Intracomm"
    clock: Clock
    options: Options
    placement: Placement
    further_nodes: FurtherNodes
    room: InitVar[tuple[int, int]]
    _groups: dict[tuple[int, ...], tuple["MPI.Intracomm", GroupClock]] = field(default_factory=dict)
    _send_buffer: NDArray[np.uint8] = field(init=False)
    _receive_buffer: NDArray[np.uint8] = field(init=False)

    def __post_init__(self, room: tuple[int, int]) -> None:
        self._send_buffer = allocate(room[0], self.options.huge_pages)
        self._receive_buffer = allocate(room[1], self.options.huge_pages)

    def describe_buffers(self) -> Buffers:
        """Return how this rank's buffers were made."""
        alignment = self._send_buffer.ctypes.data & -self._send_buffer.ctypes.data
        return Buffers(alignment, self.options.huge_pages, huge_bytes(self._send_buffer))

    def measure(
        self,
        todo: Sequence[Configuration],
        keep: Callable[[Record], None],
        further: Callable[[], Sequence[Configuration]],
    ) -> None:
        """Measure each configuration in turn, then what turns out to be worth it, while there is time.

        Parameters
        ----------
        todo : sequence of configurations
            The plan, or what is left of it.
        keep : callable
            Gets each record, on rank 0.
        further : callable
            () -> what else to measure, given all that `keep` got; asked on rank 0 after each round until there is
            nothing, or no time left.
        """
        started = time.perf_counter()
        refines = any(REGISTRY[name].refine for name in self.options.kernels)
        until = self.options.time * (1 - _REFINING_SHARE * refines)
        while todo:
            self._visit(visited(todo, self.options), keep, started, until)
            elapsed = time.perf_counter() - started
            # Each round may show that another one is worth it, so it gets half of what is left.
            until = (elapsed + self.options.time) / 2
            in_time = self.comm.rank == 0 and elapsed < self.options.time
            todo = self.comm.bcast(further() if in_time else [])
        for comm, _ in self._groups.values():
            comm.Free()

    def _visit(
        self, rounds: Sequence[Sequence[Configuration]], keep: Callable[[Record], None], started: float, until: float
    ) -> None:
        """Go through the first round, and the others while there is time."""
        visits = Counter(one for each in rounds for one in each)
        left = visits.total()
        for each in rounds:
            self._walk(each, visits, left, keep, started, until)
            left -= len(each)
            self._quiet_barrier()
            if left and not self.comm.bcast(time.perf_counter() - started < until):
                return

    def _walk(
        self,
        todo: Sequence[Configuration],
        visits: Counter[Configuration],
        left: int,
        keep: Callable[[Record], None],
        started: float,
        until: float,
    ) -> None:
        """Measure each configuration in turn; `left` are to be measured until `until` seconds from `started`."""
        for position, configuration in enumerate(todo):
            ranks = participants(configuration, self.placement, self.further_nodes)
            if self.comm.rank not in ranks:
                continue
            self._wait_for_turn(ranks)
            begun = time.perf_counter() - started
            share = max(0.0, until - begun) / (left - position)
            several = visits[configuration]
            record = kernel_of(configuration).measure(self._session(ranks, share, several), configuration)
            if record is not None:
                if several > 1:
                    record = msgspec.structs.replace(record, visits=(len(record.samples),))
                duration = time.perf_counter() - started - begun
                keep(msgspec.structs.replace(record, started=round(begun, 6), duration=round(duration, 6)))

    def _session(self, ranks: list[int], share: float, visits: int = 1) -> Session:
        key = tuple(ranks)
        if key not in self._groups:
            group = self.comm.group.Incl(ranks)
            comm = self.comm.Create_group(group)
            self._groups[key] = comm, GroupClock(comm, self.clock)
            group.Free()
        comm, shared_clock = self._groups[key]
        options = msgspec.structs.replace(self.options, repetitions=-(-self.options.repetitions // visits))
        return Session(comm, self.clock, options, self._send_buffer, self._receive_buffer, share, shared_clock)

    def _wait_for_turn(self, ranks: list[int]) -> None:
        """Let rank 0 call the others in; they sleep until then."""
        if self.comm.rank == 0:
            for rank in ranks[1:]:
                self.comm.Send(b"", rank, _TAG_TURN)
            return
        while not self.comm.Iprobe(0, _TAG_TURN):
            time.sleep(_SLEEP_SECONDS)
        self.comm.Recv(bytearray(), 0, _TAG_TURN)

    def _quiet_barrier(self) -> None:
        request = self.comm.Ibarrier()
        while not request.Test():
            time.sleep(_SLEEP_SECONDS)
