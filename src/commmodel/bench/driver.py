"""In which order and how long: walks through a plan of configurations. Main entry: `Launch.measure`.

Every rank knows the whole plan. Rank 0 takes part in everything, decides, and hands each record on as soon as it
is complete. Ranks that have nothing to do sleep: a rank that polls would take memory bandwidth, power or a whole
processor away from those that are measured.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from commmodel.bench.buffers import allocate, available_memory, huge_bytes
from commmodel.bench.kernels import REGISTRY, pair_count, receive_bytes, send_bytes
from commmodel.bench.placement import Placement, members
from commmodel.bench.session import Session
from commmodel.errors import InputError
from commmodel.results import Buffers, Clock, Configuration, Options, Record
from commmodel.units import format_size

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["Launch", "check_memory", "make_plan"]

_SLEEP_SECONDS = 2e-3
_TAG_TURN = 7


def make_plan(options: Options, placement: Placement) -> list[Configuration]:
    """Return every configuration of the kernels asked for, in the order that the seed gives."""
    plan = [one for name in options.kernels for one in REGISTRY[name].plan(options, placement)]
    random.Random(options.seed).shuffle(plan)  # noqa: S311  (an order, no secret)
    return plan


def check_memory(comm: "MPI.Intracomm", options: Options) -> None:
    """Raise `InputError` on every rank where the message buffers do not fit into some rank's host."""
    from mpi4py import MPI

    on_host = comm.Split_type(MPI.COMM_TYPE_SHARED)
    needed = (send_bytes(options) + receive_bytes(options)) * on_host.size
    on_host.Free()
    available = available_memory()
    if comm.allreduce(available is not None and needed > available, op=MPI.LOR):
        raise InputError(
            f"buffers of {format_size(send_bytes(options))} and {format_size(receive_bytes(options))} for each rank "
            "do not fit into a host's free memory: "
            "ask for smaller --sizes, or start fewer ranks on a host"
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
    """

    comm: "MPI.Intracomm"
    clock: Clock
    options: Options
    placement: Placement
    _groups: dict[tuple[int, ...], "MPI.Intracomm"] = field(default_factory=dict)
    _send_buffer: NDArray[np.uint8] = field(init=False)
    _receive_buffer: NDArray[np.uint8] = field(init=False)

    def __post_init__(self) -> None:
        self._send_buffer = allocate(send_bytes(self.options), self.options.huge_pages)
        self._receive_buffer = allocate(receive_bytes(self.options), self.options.huge_pages)

    def describe_buffers(self) -> Buffers:
        """Return how this rank's buffers were made."""
        alignment = self._send_buffer.ctypes.data & -self._send_buffer.ctypes.data
        return Buffers(alignment, self.options.huge_pages, huge_bytes(self._send_buffer))

    def measure(self, todo: Sequence[Configuration], keep: Callable[[Record], None]) -> None:
        """Measure each configuration in turn; `keep` gets each record, on rank 0."""
        started = time.perf_counter()
        for position, configuration in enumerate(todo):
            ranks = members(self.placement[configuration.path][: pair_count(configuration)])
            if self.comm.rank not in ranks:
                continue
            self._wait_for_turn(ranks)
            begun = time.perf_counter() - started
            share = max(0.0, self.options.time - begun) / (len(todo) - position)
            record = REGISTRY[_kernel_name(configuration)].measure(self._session(ranks, share), configuration)
            if record is not None:
                duration = time.perf_counter() - started - begun
                keep(msgspec.structs.replace(record, started=round(begun, 6), duration=round(duration, 6)))
        self._quiet_barrier()
        for group in self._groups.values():
            group.Free()

    def _session(self, ranks: list[int], share: float) -> Session:
        key = tuple(ranks)
        if key not in self._groups:
            group = self.comm.group.Incl(ranks)
            self._groups[key] = self.comm.Create_group(group)
            group.Free()
        return Session(self._groups[key], self.clock, self.options, self._send_buffer, self._receive_buffer, share)

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


def _kernel_name(configuration: Configuration) -> str:
    return str(type(configuration).__struct_config__.tag)
