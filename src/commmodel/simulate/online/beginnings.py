"""What ranks of a program do in all orders of its messages alike: done once, until something is to be decided.

Of each rank there waits a process, of which those of a run are copies, all of them children of this process. Main
entries: `BeginningProcesses`, `CopiedProcesses`.
"""

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from commmodel._core.online.pump import Pump
from commmodel.errors import CommModelError, InputError
from commmodel.simulate.online.forks import ForkServer
from commmodel.simulate.online.rank_processes import RankProcesses

_INTERVAL = 1e-4
"""Seconds between two looks for a copy that is being made."""


class BeginningOverError(CommModelError):
    """Ends the run of a beginning, which is complete or cannot be."""


def _code(process: int, *, waits: bool = False) -> int | None:
    """Return the exit code of a child that has ended, negative for a signal; None of one that goes on."""
    try:
        ended, status = os.waitpid(process, 0 if waits else os.WNOHANG)
    except ChildProcessError:  # somebody else has waited for it
        return 1
    return os.waitstatus_to_exitcode(status) if ended else None


def _end_all(processes: Sequence[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    for process in processes:
        _code(process, waits=True)


class BeginningProcesses(RankProcesses):
    """The ranks of a beginning, each a fork of what `server` has loaded."""

    def __init__(self, name: str, ranks: int, memory: int, server: ForkServer) -> None:
        super().__init__(name, ranks)
        self.is_complete: bool = False
        """Whether all ranks wait or have ended, and those that wait may be copied."""
        self._processes: dict[int, int] = {}
        self._run = server.begin(memory, (), os.sched_getaffinity(0), are_copied=True)

    def start(self, rank: int, spawned: Sequence[str] | None = None) -> None:
        """Start a rank."""
        process = 0 if spawned is not None else self._run.copy(rank)
        if process <= 0:
            raise BeginningOverError(f"rank {rank} cannot be copied")
        self._processes[rank] = process

    def codes(self) -> dict[int, int]:
        """Return the exit codes of the ranks that have ended."""
        return dict(self._codes)

    def look(self, rank: int, state: tuple[str, int, str, str]) -> bool:
        """Raise where a rank does not go on as most do: that is seen in each run then."""
        self._poll()
        is_idle = self.patience is not None and self.patience.look(rank)
        if state[0] == "aborted" or is_idle or any(not self._has_finalized(other) for other in self._codes):
            raise BeginningOverError(f"rank {rank} is no usual one")
        return False

    def begun(self, may_be_copied: bool) -> None:
        """Wait for the end of ranks that have finalized MPI; raises, as the run is over."""
        for rank in [rank for rank in self._processes if self._has_finalized(rank)]:
            self._wait(rank)
        self.is_complete = may_be_copied
        raise BeginningOverError("")

    def _has_finalized(self, rank: int) -> bool:
        return self.state is not None and self.state(rank)[0] == "finalized"

    def _poll(self) -> None:
        for rank, process in [*self._processes.items()]:
            self._note(rank, _code(process))

    def _wait(self, rank: int) -> None:
        self._note(rank, _code(self._processes[rank], waits=True))

    def _note(self, rank: int, code: int | None) -> None:
        if code is not None:
            self._codes[rank] = code
            del self._processes[rank]

    def close(self) -> None:
        """End all that is left."""
        self._run.close()
        _end_all([*self._processes.values()])
        self._processes.clear()


@dataclass
class Beginning:
    """A beginning that is complete, from which runs go on, one after the other."""

    pump: Pump
    memory: int
    processes: BeginningProcesses

    def close(self) -> None:
        """End its ranks and give back its memory."""
        self.processes.close()
        os.close(self.memory)


class CopiedProcesses(RankProcesses):
    """The copies of ranks of a beginning; `process_of` returns that of a rank, 0 as long as it is not known."""

    def __init__(self, name: str, ranks: int, codes: dict[int, int], process_of: Callable[[int], int]) -> None:
        super().__init__(name, ranks)
        self._codes.update(codes)
        self._started = ranks
        self._process_of = process_of
        self._open = {*range(ranks)} - codes.keys()

    def start(self, rank: int, spawned: Sequence[str] | None = None) -> None:
        """Refuse: all ranks have begun."""
        raise NotImplementedError(f"rank {rank}")

    def _poll(self) -> None:
        for rank in [*self._open]:
            process = self._process_of(rank)
            if process:
                self._note(rank, _code(process))

    def _wait(self, rank: int) -> None:
        self._note(rank, _code(self._process(rank), waits=True))

    def _note(self, rank: int, code: int | None) -> None:
        if code is not None:
            self._codes[rank] = code
            self._open.discard(rank)

    def _process(self, rank: int) -> int:
        while not (process := self._process_of(rank)):
            time.sleep(_INTERVAL)
        if process < 0:
            raise InputError(f"rank {rank}: no process can be made for it")
        return process

    def close(self) -> None:
        """End all that is left."""
        _end_all([self._process(rank) for rank in self._open])
        self._open.clear()
