"""The ranks of a program as the engine's source of operations. Main entry: `LiveProgram`."""

import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from commmodel._core.online.pump import Pump
from commmodel.choices import ProgramClocks
from commmodel.docstrings import with_attributes
from commmodel.simulate.findings import Finding
from commmodel.simulate.online.beginnings import (
    Beginning,
    BeginningOverError,
    BeginningProcesses,
    CopiedProcesses,
)
from commmodel.simulate.online.call_names import CallNames
from commmodel.simulate.online.collectives import Collectives
from commmodel.simulate.online.computation import RecordedComputation
from commmodel.simulate.online.decisions import RunRecord
from commmodel.simulate.online.memory import MemoryWatch, reserve
from commmodel.simulate.online.patience import Patience
from commmodel.simulate.online.processes import Forks, Processes, RepeatedForks
from commmodel.simulate.online.processor import Processor
from commmodel.simulate.online.rank_processes import RankProcesses
from commmodel.simulate.online.unbuffered import without_buffers
from commmodel.simulate.online.variables import misuses, unread
from commmodel.simulate.operations import Operations
from commmodel.simulate.storage import Storage

_ORDER = "order of a reduction"
"""Kind of finding that is a note."""
_DIFFERENCE = re.compile(r"rank (\d+) calls \w+ where rank (\d+) does not")
"""What a rank says whose collective is not that of the ranks before it."""
_MOST_NAMED = 4
"""Messages or requests in a note."""
_UNRECEIVED = "message never received"


@with_attributes
@dataclass(frozen=True)
class Outlets:
    """Where what a program prints goes, and what is said of it."""

    output: IO[str] | int | None = None
    """Gets the program's standard output, or ``subprocess.DEVNULL``; by default ours does."""
    report: Callable[[str], None] | None = None
    """Gets a line on the memory of ranks before most of them begin, and on one that computes for long."""
    patience: float = 60.0
    """Seconds of processor time between two calls of MPI, from which on that is told; 0 for never."""
    check: bool = False
    """Whether wrong uses of MPI become findings of the result."""
    clocks: ProgramClocks = "machine"
    """What clocks other than MPI_Wtime tell the program, the time of this ``machine`` or ``simulated`` time."""
    forks: Forks | RepeatedForks | None = None
    """An interpreter that has been started before, of which ranks are copies, or one for many runs; by default one is
    started."""
    errors: IO[str] | int | None = None
    """Gets the program's standard error, as `output` its standard output."""
    record: RunRecord | None = None
    """Says what each run decides that time would decide, and gets what the run has decided."""
    sites: bool = False
    """Whether the result says of which call site operations are, for its critical path."""


Disturbance = Callable[[int, NDArray[np.uint8]], tuple[Operations, NDArray[np.intp]]]
"""Rank and its operations' bytes -> its operations with noise, and for each the place of the one that it is of."""


class LiveProgram:
    """A program that runs while it is simulated.

    `collectives` returns what turns collectives into operations; `compute_factor` is how many simulated seconds each
    second of computation takes, unless a recording says how long ranks compute.
    """

    def __init__(
        self,
        command: Sequence[str],
        processes: int,
        collectives: Callable[[], Collectives],
        compute_factor: float,
        computation: RecordedComputation | None = None,
        outlets: Outlets | None = None,
        universe: int | None = None,
    ) -> None:
        self._command, self._collectives = command, collectives
        self._compute_factor, self._computation = compute_factor, computation
        self._outlets = outlets or Outlets()
        self.storage: Storage | None = None
        """Of its files."""
        self.noise: Callable[[], Disturbance] | None = None
        """Makes what puts noise into the operations of a run."""
        self._first_ranks, self._processes = processes, processes if universe is None else universe
        self._pump: Pump | None = None
        self._running: RankProcesses | None = None
        self._memory = -1
        self._call_of = CallNames()
        self.notes: list[str] = []
        """What the last run has used that is not simulated, a sentence each."""
        self.findings: list[Finding] = []
        """Wrong uses of MPI of the last run, where it was checked."""
        self.sites: list[str] = []
        """Call sites of the last run by the numbers of their marks, where there are any."""
        self._processor = Processor()
        self.has_buffers = True
        """Whether some sends end before their receives."""

    def begin(self, hosts: Sequence[tuple[int, str]], simulated: str = "", sockets: Sequence[int] = ()) -> None:
        """Make the memory of the ranks: number and name of each rank's host, and what is simulated, for people.

        `sockets` are those of the ranks within their hosts, where hosts have some.
        """
        self._processor.take()
        self.notes.clear()
        self.findings.clear()
        self.sites.clear()
        forks = self._outlets.forks
        beginning = forks.beginning if isinstance(forks, RepeatedForks) else None
        self._begin_anew(hosts, simulated, sockets) if beginning is None else self._go_on(beginning)
        if self._pump is None or self._running is None:
            raise NotImplementedError
        self._running.explained, self._running.state = self._explained, self._pump.state
        self._running.patience = Patience(
            self._outlets.patience, self._pump.progress, self._last_call, self._outlets.report
        )
        if self._outlets.check and self.has_buffers:
            self._pump.look_without_buffers()
        if self._outlets.sites:
            self._pump.mark_sites()
        if self._outlets.record is not None:
            self._outlets.record.ranks.clear()
            self._pump.note_decisions(self._outlets.record.choices())
        if self.noise is not None:
            self._pump.disturb(self.noise())
        if self.storage is not None:
            self._pump.store(self.storage.bandwidth, self.storage.latency, self.storage.client or 0.0)

    def _go_on(self, beginning: Beginning) -> None:
        """Let ranks go on from where nothing is decided yet."""
        self._running = CopiedProcesses(
            self._command[0], self._processes, beginning.processes.codes(), beginning.pump.copy_of
        )
        self._pump = Pump(
            self._processes, -1, self._running, self._collectives(), self._compute_factor, (), beginning.pump
        )

    def _begin_anew(self, hosts: Sequence[tuple[int, str]], simulated: str, sockets: Sequence[int]) -> None:
        """Let ranks begin, all of them or as they are needed."""
        forks = self._outlets.forks
        self._memory = os.memfd_create("commmodel-online", os.MFD_CLOEXEC)
        outputs = self._outlets.output, self._outlets.errors
        server = None
        if isinstance(forks, RepeatedForks) and forks.makes_beginning:
            is_usual = self._first_ranks == self._processes
            server = forks.server_of(self._command, simulated, outputs, sockets) if is_usual else None
            if server is None:
                raise BeginningOverError("ranks cannot be copied")
        reserve(self._memory, self._processes, 1 if server is None else 2)
        if server is None:
            self._running = Processes(
                self._command, self._first_ranks, self._memory, outputs, simulated, forks, sockets
            )
        else:
            self._running = BeginningProcesses(self._command[0], self._processes, self._memory, server)
        pump = self._pump = Pump(
            self._processes, self._memory, self._running, self._collectives(), self._compute_factor, hosts,
            copies=server is not None,
        )  # fmt: skip
        if self._first_ranks < self._processes:
            pump.spare(self._first_ranks)
        if self._outlets.check:
            pump.check()
        if isinstance(forks, RepeatedForks):  # a run before has shown what ranks take
            pump.repeat()
        else:
            self._running.watch = MemoryWatch(self._processes, pump.memory, self._outlets.report)
        pump.set_clocks(self._outlets.clocks == "simulated", time.time_ns(), time.monotonic_ns())
        if self._computation is not None:
            pump.compare(self._computation.names)
            for rank in range(self._first_ranks):
                pump.record(rank, *self._computation.intervals(rank))

    @property
    def live(self) -> Any:
        """What the engine asks."""
        return None if self._pump is None else self._pump.live

    @property
    def raised(self) -> BaseException | None:
        """What a callback of the engine raised."""
        return None if self._pump is None else self._pump.raised

    def place(self, rank: int, step: int) -> tuple[str, str]:
        """Return the call and the site of an operation that hangs, so many behind the first of those given last."""
        words = [] if self._pump is None else self._pump.call_site(rank, step)
        return self._call_of.name_and_site(words) if words else ("MPI", "")

    def _last_call(self, rank: int) -> tuple[str, str]:
        words = [] if self._pump is None else self._pump.last_call(rank)
        return self._call_of.name_and_site(words) if words else ("MPI_Init", "")

    def words_of_call(self, rank: int) -> str:
        """Return the call of the operations that a rank has given last, for the end of a sentence; none of a strand."""
        if rank >= self._processes:
            return ""
        name, site = self.place(rank, 0)
        return f" ({name}{f', {site}' if site else ''})"

    def _explained(self, rank: int, words: str) -> str:
        """Return why a rank ends, with the site of its call, or of two that should call the same."""
        if words.endswith(" is not simulated yet"):
            site = self._last_call(rank)[1]
            return f"{words}: rank {rank} calls it{f' at {site}' if site else ''}"
        if " was ended by SIG" in words:
            name, site = self._last_call(rank)
            return f"{words}; its last call of MPI: {name}{f', {site}' if site else ''}"
        if ": fatal error in " in words:
            site = self._last_call(rank)[1]
            return f"{words}, {site}" if site else words
        match = _DIFFERENCE.fullmatch(words)
        if match is None:
            return words
        calls = []
        for caller in map(int, match.groups()):
            name, site = self._last_call(caller)
            calls.append(f"rank {caller} calls {name}{f' at {site}' if site else ''}")
        return (
            f"{calls[0]} where {calls[1]}: all ranks of a communicator call the same collectives, with the same root, "
            "in the same order"
        )

    def __call__(self, rank: int) -> Operations:
        """Return nothing: the engine asks for operations through `live`."""
        raise NotImplementedError(f"rank {rank}")

    def _note(self) -> None:
        """Write down what the ranks have used that is not simulated."""
        if self._pump is not None and self._outlets.sites:
            for words in self._pump.marked_sites():
                name, site = self._call_of.name_and_site(words)
                is_at_end = os.path.basename(words[1]) == "fork_server.py"  # ours: the program has come to its end
                self.sites.append(name if is_at_end or not site else f"{site}, {name}")
        clock, threads, blas = ([], False, False) if self._pump is None else self._pump.unsimulated()
        if clock:
            name, site = self._call_of.name_and_site(clock)
            cure = "MPI_Wtime is; with --clocks simulated all are"
            self.notes.append(f"{site} reads {name}, which is no simulated time: {cure}")
        if self._pump is not None and (sleep := self._pump.sleep()):
            _, site = self._call_of.name_and_site(sleep)
            self.notes.append(
                f"{site or 'a rank'} sleeps in simulated time, which takes none here: MPI_Wtime "
                "tells it; with --clocks simulated all clocks do"
            )
        if self._pump is not None and self._pump.has_untimed_files():
            self.notes.append("files take no simulated time: --storage bandwidth=10GB/s,latency=100us gives them one")
        if threads:
            self.notes.append("ranks have started threads: only what calls MPI is timed")
        if blas and self._running is not None and self._running.has_one_thread:
            self.notes.append("BLAS and OpenMP had one thread in each rank: set OMP_NUM_THREADS to have more")
        self._keep_findings() if self._outlets.check else self._note_what_is_left()

    def _keep_findings(self) -> None:
        """Keep what ranks have found, and messages that were never received."""
        if self._pump is None:
            return
        for kind, sentence, ranks, times, sites in self._pump.findings():
            calls = tuple(map(self._call_of, sites))
            if kind == _ORDER:  # as it does nearly always
                self.notes.append(f"{calls[0]}: {sentence}")
            else:
                self.findings.append(Finding(kind, sentence, ranks, calls, times))
        uses = self._pump.uses()
        self.findings.extend(misuses(uses, self._call_of))
        self.notes.extend(unread(uses))
        steps = [(rank, self._pump.hanging_without_buffers(rank)) for rank in range(self._processes)]
        finding = without_buffers([(rank, *step) for rank, step in steps if step is not None], self._call_of)
        if finding is not None and all(self._pump.state(rank)[0] == "finalized" for rank in range(self._processes)):
            self.findings.append(finding)
        unreceived: dict[str, list[tuple[int, str]]] = {}
        for rank in range(self._processes):
            _, messages = self._pump.unreceived(rank)
            for source, tag, size, words in messages:
                sentence = f"{size} bytes with tag {tag} from rank {source} to rank {rank}"
                unreceived.setdefault(self._call_of(words), []).append((source, sentence))
        for site, senders in unreceived.items():
            ranks = tuple(sorted({source for source, _ in senders}))
            self.findings.append(Finding(_UNRECEIVED, senders[0][1], ranks, (site,), len(senders)))

    def _note_what_is_left(self) -> None:
        """Write down messages that were never received, and requests that were never completed."""
        if self._pump is None:
            return
        total = 0
        lines: list[str] = []
        for rank in range(self._processes):
            count, messages = self._pump.unreceived(rank)
            total += count
            for source, tag, size, words in messages[: _MOST_NAMED - len(lines)]:
                message = f"{size} bytes with tag {tag} from rank {source} to rank {rank}"
                lines.append(f"{message} ({self._call_of(words)})")
        self._note_some("never received", lines, total)
        total, requests = self._pump.open_requests()
        lines = [f"rank {rank}'s of {self._call_of(words)}" for rank, words in requests[:_MOST_NAMED]]
        self._note_some("requests never completed by a wait, a test or MPI_Request_free", lines, total)

    def _note_some(self, subject: str, lines: Sequence[str], total: int) -> None:
        if lines:
            more = f"; and {total - len(lines)} more" if total > len(lines) else ""
            self.notes.append(f"{subject}: {'; '.join(lines)}{more}")

    def close(self) -> None:
        """End all processes and give back the memory; a beginning is kept."""
        if self._keep_beginning():
            return
        self._note()
        record = self._outlets.record
        if record is not None and self._pump is not None:
            record.ranks = [self._pump.decisions(rank) for rank in range(self._processes)]
        if self._running is not None:
            self._running.close()
        self._processor.leave()
        self._running = self._pump = None
        if self._memory >= 0:
            os.close(self._memory)
            self._memory = -1

    def _keep_beginning(self) -> bool:
        """Hand a beginning that is complete on; return whether there is one."""
        forks, running = self._outlets.forks, self._running
        if not isinstance(running, BeginningProcesses) or not running.is_complete:
            return False
        if self._pump is None or not isinstance(forks, RepeatedForks):
            raise NotImplementedError
        forks.beginning = Beginning(self._pump, self._memory, running)
        self._processor.leave()
        self._running, self._pump, self._memory = None, None, -1
        return True
