"""Runs of a program in several processes at a time, each with its forks of the program. Main entry: `OrderWorkers`.

What comes out is the same with any number of them, as outcomes are taken in the order in which runs were asked for.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from typing import Any, Protocol

from commmodel.errors import MPIEnvironmentError

_MOST = 8
"""Workers."""
_AHEAD = 4
"""Runs of each worker that are asked for at a time."""
_WORTH = 32
"""Runs that are known, from which on another worker begins: it has to load the program first."""

_PATIENCE = 1.0
"""Seconds for a worker's end."""

Run = Callable[[Any], Any]


class OrderRunner(Protocol):
    """Runs a program in orders that are asked for."""

    ahead: int
    """Runs that should be asked for at a time."""

    def ask(self, prescribed: Any, rest: int) -> None:
        """Ask for a run; so many more are known."""

    def outcome(self) -> Any:
        """Return the outcome of the first run of those that were asked for and not returned."""

    def close(self) -> None:
        """End what runs it."""


class OwnRunner:
    """Runs it in this process."""

    def __init__(self, prepared: Callable[[], AbstractContextManager[Run]]) -> None:
        self.ahead: int = 1
        self._prepared = ExitStack()
        self._run = self._prepared.enter_context(prepared())
        self._requests: deque[Any] = deque()

    def ask(self, prescribed: Any, rest: int) -> None:  # noqa: ARG002
        """Note a run."""
        self._requests.append(prescribed)

    def outcome(self) -> Any:
        """Run it."""
        return self._run(self._requests.popleft())

    def close(self) -> None:
        """Give back what running it takes."""
        self._prepared.close()


def can_fork() -> bool:
    """Return whether copies of this process can run programs: they would have none of its other threads."""
    return threading.active_count() == 1 and not multiprocessing.current_process().daemon


class OrderWorkers:
    """Runs a program in other processes, on a processor each; `prepared` returns there what runs it."""

    def __init__(self, prepared: Callable[[], AbstractContextManager[Run]], most: int = _MOST) -> None:
        self._prepared = prepared
        self._processors = sorted(os.sched_getaffinity(0))[:most]
        self._workers: list[tuple[BaseProcess, Connection]] = []
        self._waiting: deque[int] = deque()
        """Worker of each run that was asked for."""
        self.ahead: int = _AHEAD * len(self._processors)

    def ask(self, prescribed: Any, rest: int) -> None:
        """Ask the worker that has least to do for a run."""
        loads = [self._waiting.count(number) for number in range(len(self._workers))]
        is_worth = not loads or (rest >= _WORTH * len(loads) and len(loads) < len(self._processors))
        if is_worth:
            self._begin()
            loads.append(0)
        worker = loads.index(min(loads))
        self._waiting.append(worker)
        self._workers[worker][1].send(prescribed)

    def outcome(self) -> Any:
        """Return the outcome of the first run of those that were asked for and not returned; raise what it raised."""
        process, connection = self._workers[self._waiting.popleft()]
        try:
            outcome = connection.recv()
        except (EOFError, ConnectionResetError):
            process.join()
            raise MPIEnvironmentError(f"a process that runs orders of messages ended with {process.exitcode}") from None
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def _begin(self) -> None:
        context = multiprocessing.get_context("fork")
        near, far = context.Pipe()
        processor = self._processors[len(self._workers)]
        process: BaseProcess = context.Process(target=self._work, args=(far, near, processor), daemon=True)
        process.start()
        far.close()
        self._workers.append((process, near))

    def _work(self, connection: Connection, other_end: Connection, processor: int) -> None:
        """Run what is asked for, until the other side has closed the connection."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # who has asked ends this process
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for _, inherited in self._workers:
            inherited.close()
        other_end.close()
        os.sched_setaffinity(0, {processor})
        with suppress(BrokenPipeError, ConnectionResetError):
            requests: SimpleQueue[Any] = SimpleQueue()
            threading.Thread(target=_read, args=(connection, requests), daemon=True).start()
            try:
                with self._prepared() as run:
                    while (prescribed := requests.get()) is not None:
                        connection.send(run(prescribed))
            except (BrokenPipeError, ConnectionResetError):
                pass
            except Exception as error:  # of any kind: it is raised where the outcome is asked for
                connection.send(error)

    def close(self) -> None:
        """End all workers; what they have begun ends with them."""
        for _, connection in self._workers:
            connection.close()
        for process, _ in self._workers:
            process.join(_PATIENCE)
            process.kill()  # it is in the middle of a run
            process.join()


def _read(connection: Connection, requests: "SimpleQueue[Any]") -> None:
    """Read what is asked for at once, so that who asks need not wait until an outcome has been sent."""
    with suppress(EOFError, ConnectionResetError):
        while True:
            requests.put(connection.recv())
    requests.put(None)
