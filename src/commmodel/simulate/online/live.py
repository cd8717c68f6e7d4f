"""The ranks of a program as the engine's source of operations. Main entry: `LiveProgram`."""

import os
from collections.abc import Callable, Sequence
from typing import IO, Any

from commmodel._core.online.pump import Pump
from commmodel.simulate.online.collectives import Collectives
from commmodel.simulate.online.processes import Processes
from commmodel.simulate.online.processor import Processor
from commmodel.simulate.operations import Operations

__all__ = ["LiveProgram"]


class LiveProgram:
    """A program that runs while it is simulated.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments.
    processes : int
        P.
    collectives : callable
        Returns what turns collectives into operations.
    compute_factor : float
        Simulated seconds for each second of computation.
    output : file, optional
        Where the program's standard output goes.
    """

    def __init__(
        self,
        command: Sequence[str],
        processes: int,
        collectives: Callable[[], Collectives],
        compute_factor: float,
        output: IO[str] | int | None = None,
    ) -> None:
        self._command, self._processes, self._collectives = command, processes, collectives
        self._compute_factor, self._output = compute_factor, output
        self._pump: Pump | None = None
        self._running: Processes | None = None
        self._memory = -1
        self._processor = Processor()

    def begin(self, hosts: Sequence[tuple[int, str]]) -> None:
        """Make the memory of the ranks.

        Parameters
        ----------
        hosts : sequence of (int, str)
            Number and name of each rank's host.
        """
        self._processor.take()
        self._memory = os.memfd_create("commmodel-online", os.MFD_CLOEXEC)
        self._running = Processes(self._command, self._memory, self._output)
        self._pump = Pump(
            self._processes, self._memory, self._running, self._collectives(), self._compute_factor, hosts
        )

    @property
    def live(self) -> Any:
        """What the engine asks."""
        return None if self._pump is None else self._pump.live

    @property
    def raised(self) -> BaseException | None:
        """What a callback of the engine raised."""
        return None if self._pump is None else self._pump.raised

    def __call__(self, rank: int) -> Operations:
        """Return nothing: the engine asks for operations through `live`."""
        raise NotImplementedError(f"rank {rank}")

    def close(self) -> None:
        """End all processes and give back the memory."""
        if self._running is not None:
            self._running.close()
        self._processor.leave()
        self._running = self._pump = None
        if self._memory >= 0:
            os.close(self._memory)
            self._memory = -1
