"""The walk through a plan, round by round, each configuration with its share of the time. Main entry: `Runner.measure`.

Every rank knows the whole plan. Rank 0 takes part in everything, decides, and hands each record on as soon as it
is complete. Ranks that have nothing to do sleep: a rank that polls would take memory bandwidth, power or a whole
processor away from those that are measured.
"""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import InitVar, dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from commmodel.bench import simulation
from commmodel.bench.buffers import allocate, available_memory, huge_bytes
from commmodel.bench.kernels import REGISTRY, kernel_of, participants
from commmodel.bench.outlook import NO_OUTLOOK, Outlook, PathTimes, look
from commmodel.bench.placement import FurtherNodes, Placement, members
from commmodel.bench.plan import Rounds, in_rounds, latest
from commmodel.bench.session import Session
from commmodel.bench.synchronisation import GroupClock
from commmodel.errors import InputError, blame
from commmodel.results import BenchOptions, Buffers, Clock, Configuration, Record
from commmodel.units import format_size

if TYPE_CHECKING:
    from mpi4py import MPI

_SLEEP_SECONDS = 2e-3
_TAG_TURN = 7
_REFINING_SHARE = 0.25  # of the time, kept for what turns out to be worth measuring


def check_memory(comm: "MPI.Intracomm", room: tuple[int, int]) -> None:
    """Raise `InputError` on every rank where the message buffers of some host exceed its memory."""
    from mpi4py import MPI

    if simulation.is_simulated():  # all ranks have the same buffers
        return
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
class Runner:
    """Measurement of a plan in one launch, on every rank.

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
    outlook : Outlook
        How long visits take at least; nothing until `look` was called.
    """

    comm: "MPI.Intracomm"
    clock: Clock
    options: BenchOptions
    placement: Placement
    further_nodes: FurtherNodes
    room: InitVar[tuple[int, int]]
    outlook: Outlook = NO_OUTLOOK
    _groups: dict[tuple[int, ...], tuple["MPI.Intracomm", GroupClock]] = field(default_factory=dict)
    _send_buffer: NDArray[np.uint8] = field(init=False)
    _receive_buffer: NDArray[np.uint8] = field(init=False)
    _started: float = field(init=False)
    _until: float = field(init=False)
    """Seconds from `_started` until which the rounds may take."""
    _expected: float = field(init=False)
    """Seconds that the launch should take: what was asked for, or what one visit to each takes at least."""

    def __post_init__(self, room: tuple[int, int]) -> None:
        self._send_buffer = allocate(room[0], self.options.huge_pages)
        self._receive_buffer = allocate(room[1], self.options.huge_pages, is_receiving=True)
        self._expected = self.options.time

    def describe_buffers(self) -> Buffers:
        """Return how the buffers of this rank were allocated."""
        alignment = self._send_buffer.ctypes.data & -self._send_buffer.ctypes.data
        return Buffers(alignment, self.options.huge_pages, huge_bytes(self._send_buffer))

    def look(self, plan: Iterable[Configuration]) -> float:
        """Look at the links of all paths; return the seconds that one smallest visit to each configuration takes.

        Called by all ranks, before `measure`. Where nothing is sent nothing is looked at: memory may be measured.
        """
        plan = list(plan)
        room = max(self._send_buffer.size, self._receive_buffer.size)
        sent = max((kernel_of(configuration).effort(configuration).size for configuration in plan), default=0)
        links: dict[str, PathTimes] = {}
        if sent:
            for path, pairs in self.placement.items():
                ranks = members(pairs[:1])
                if self.comm.rank in ranks:
                    links[path] = look(self._session(ranks, 0.0, 1), min(room, math.ceil(sent)))
                self._quiet_barrier()
        on_node = len(self.placement.get("between-nodes", ((0, 0),)))
        self.outlook = self.comm.bcast(Outlook(links, on_node))
        self._expected = max(self.options.time, self.outlook.total(plan))
        return self._expected

    def measure(
        self,
        rounds: Rounds,
        keep: Callable[[Record], None],
        further: Callable[[float], Sequence[Configuration]],
    ) -> None:
        """Measure each configuration in turn, then the refinements, as long as there is time.

        Parameters
        ----------
        rounds : Rounds
            The plan, or what is left of it.
        keep : callable
            Gets each record, on rank 0.
        further : callable
            Seconds -> what else to measure in them, given all that `keep` got; asked on rank 0 after the rounds until
            there is nothing, or no time left.
        """
        self._started = time.perf_counter()
        refines = any(REGISTRY[name].refine for name in self.options.kernels)
        self._until = self.options.time * (1 - _REFINING_SHARE * refines)
        while rounds:
            self._visit(rounds, keep)
            elapsed = self._elapsed()
            # Each refinement may show that another one is worth it, so it gets half of what is left.
            self._until = (elapsed + self.options.time) / 2
            in_time = self.comm.rank == 0 and elapsed < self.options.time
            rounds = in_rounds(self.comm.bcast(further(self._until - elapsed) if in_time else []), self.options)
        for comm, _ in self._groups.values():
            comm.Free()

    def _elapsed(self) -> float:
        return time.perf_counter() - self._started

    def _visit(self, rounds: Rounds, keep: Callable[[Record], None]) -> None:
        """Measure the first round, unless it gets far too late, and the others as long as there is time."""
        left, least = len(rounds), self.outlook.total(chain(*rounds.rounds))
        for configurations in rounds.rounds:
            for number, configuration in enumerate(configurations):
                ranks = participants(configuration, self.placement, self.further_nodes)
                if self.comm.rank in ranks:
                    if self._must_leave(ranks, configurations[number:]):
                        break
                    # All that is left may take its least time; what remains is shared.
                    spare = max(0.0, self._until - self._elapsed() - least) / left
                    share = spare + self.outlook.least(configuration)
                    self._measure(configuration, ranks, rounds.visits[configuration], share, keep)
                left, least = left - 1, least - self.outlook.least(configuration)
            self._quiet_barrier()
            if left and not self.comm.bcast(self._elapsed() < self._until):
                return

    def _must_leave(self, ranks: list[int], configurations: Sequence[Configuration]) -> bool:
        """Sleep until rank 0 announces the first of these, for these ranks, or that they are left for want of time."""
        if self.comm.rank == 0:
            late = self._elapsed() > latest(self._expected)
            waiting = ranks
            if late:
                waiting = sorted({
                    rank
                    for configuration in configurations
                    for rank in participants(configuration, self.placement, self.further_nodes)
                })  # fmt: skip
            for rank in waiting[1:]:
                self.comm.send(late, rank, _TAG_TURN)
            return late
        while not simulation.is_simulated() and not self.comm.Iprobe(0, _TAG_TURN):
            time.sleep(_SLEEP_SECONDS)
        return bool(self.comm.recv(source=0, tag=_TAG_TURN))

    def _measure(
        self,
        configuration: Configuration,
        ranks: list[int],
        visits: int,
        share: float,
        keep: Callable[[Record], None],
    ) -> None:
        """Measure a configuration on its ranks within its share of the time."""
        begun = self._elapsed()
        kernel = kernel_of(configuration)
        try:
            record = kernel.measure(self._session(ranks, share, visits), configuration)
        except Exception as error:
            blame(error, f"the kernel {kernel.name}", kernel.measure)
            raise
        if record is not None:
            if visits > 1:
                record = msgspec.structs.replace(record, visits=(len(record.samples),))
            duration = self._elapsed() - begun
            keep(msgspec.structs.replace(record, started=round(begun, 6), duration=round(duration, 6)))

    def _session(self, ranks: list[int], share: float, visits: int) -> Session:
        key = tuple(ranks)
        if key not in self._groups:
            group = self.comm.group.Incl(ranks)
            comm = self.comm.Create_group(group)
            self._groups[key] = comm, GroupClock(comm, self.clock)
            group.Free()
        comm, shared_clock = self._groups[key]
        options = msgspec.structs.replace(self.options, repetitions=-(-self.options.repetitions // visits))
        return Session(comm, self.clock, options, self._send_buffer, self._receive_buffer, share, shared_clock)

    def _quiet_barrier(self) -> None:
        if simulation.is_simulated():  # those who wait disturb nobody
            self.comm.Barrier()
            return
        request = self.comm.Ibarrier()
        while not request.Test():
            time.sleep(_SLEEP_SECONDS)
