"""A world: the ranks of one number, and the process that simulates them. Main entries: `World`, `WorldEnding`.

It lives from the first test of so many ranks to the last, or until a test ends it: a deadlock, a crash, a call of
MPI_Abort.
"""

import json
import os
import select
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, takewhile
from typing import Any

from commmodel.errors import CommModelError, DeadlockError, RankEndedError
from commmodel.pytest_simulation.messages import read_lines
from commmodel.pytest_simulation.reports import rank_list
from commmodel.simulate.online import Outlets, workload
from commmodel.simulate.online.forks import ForkServer
from commmodel.simulate.online.processes import Forks
from commmodel.simulate.result import BlockedRank
from commmodel.simulate.scenario import Place, Workload, prepare

_END_OF_TEST = "end_of_test.py"
_MOST_FAULT_LINES = 12


@dataclass(frozen=True)
class WorldEnding:
    """How a world ended."""

    kind: str
    """Kind: ``over`` where the ranks had no more to do."""
    words: str
    notes: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    """Wrong uses of MPI since the last test that ended well."""


class World:
    """Ranks that wait for tests."""

    def __init__(self, place: Place, ranks: int, server: ForkServer, folder: str, *, check: bool) -> None:
        self.ranks: int = ranks
        self._folder = tempfile.mkdtemp(prefix=f"world-{ranks}-", dir=folder)
        self._offsets = dict.fromkeys(range(ranks), 0)
        their_orders, self._orders = os.pipe()
        self._answers, their_answers = os.pipe()
        self._ending, their_ending = os.pipe()
        self._unread = b""
        sys.stdout.flush()
        sys.stderr.flush()
        self._process = os.fork()
        if not self._process:
            os.close(self._orders)
            forks = Forks(server, (their_orders, their_answers))
            outlets = Outlets(report=lambda _: None, check=check, forks=forks)
            world = partial(workload, place, ["pytest"], ranks, computation=0.0, outlets=outlets)
            _simulate(place, world, their_ending)
        for descriptor in (their_orders, their_answers, their_ending):
            os.close(descriptor)

    def order(self, name: str, following: str = "") -> None:
        """Have a test run, which another one of as many ranks follows; without a name, the ranks end."""
        with suppress(BrokenPipeError):
            os.write(self._orders, f"{self._folder}\t{name}\t{following}\n".encode() if name else b"\n")

    def wait(self) -> bool:
        """Return whether all ranks have carried out the order; otherwise the world has ended."""
        while b"\n" not in self._unread:
            ready = select.select([self._answers, self._ending], [], [])[0]
            if self._answers not in ready:
                return False
            piece = os.read(self._answers, 4096)
            if not piece:  # all who could answer have gone: the end may be told at the same time
                return False
            self._unread += piece
        _, _, self._unread = self._unread.partition(b"\n")
        return True

    def lines(self, name: str) -> dict[int, list[Any]]:
        """Return what each rank has written of a test since the last call; without a name, of the end."""
        lines_of_ranks: dict[int, list[Any]] = {}
        for rank, begin in self._offsets.items():
            entries, self._offsets[rank] = read_lines(os.path.join(self._folder, f"rank-{rank}"), begin)
            for entry in entries:
                if entry["item"] == name:
                    lines_of_ranks.setdefault(rank, []).extend(entry["lines"])
        return lines_of_ranks

    def faults(self) -> list[str]:
        """Return where ranks have crashed, as Python's faulthandler says it."""
        lines: list[str] = []
        for rank in range(self.ranks):
            with suppress(FileNotFoundError), open(os.path.join(self._folder, f"fault-{rank}"), "rb") as file:
                text = file.read().decode("utf-8", "replace").splitlines()
                of_program = takewhile(lambda line: "pluggy" not in line, filter(None, text))
                lines += [f"rank {rank}: {line}" for line in islice(of_program, _MOST_FAULT_LINES)]
        return lines

    def ending(self) -> WorldEnding:
        """Wait for the end and return it."""
        text = b""
        while piece := os.read(self._ending, 65536):
            text += piece
        with suppress(ChildProcessError):
            os.waitpid(self._process, 0)
        self._process = 0
        for descriptor in (self._orders, self._answers, self._ending):
            os.close(descriptor)
        if not text:
            return WorldEnding("simulator", "the simulator ended before its time")
        return WorldEnding(**json.loads(text))

    def close(self) -> None:
        """End all at once."""
        if self._process:
            with suppress(ProcessLookupError):
                os.kill(self._process, signal.SIGKILL)
            self.ending()


def _simulate(place: Place, world: Callable[[], Workload], descriptor: int) -> None:
    """Simulate a world and tell how it ended; does not return."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        ending = _simulated(place, world)
        os.write(descriptor, json.dumps(vars(ending)).encode())
    finally:
        os._exit(0)


def _deadlock(error: DeadlockError) -> str:
    """Return who hangs where, ranks that hang at the same call on one line."""
    result: Any = error.result
    groups: dict[str, list[BlockedRank]] = {}
    for blocked in {blocked.rank: blocked for blocked in reversed(result.blocked)}.values():
        has_left = blocked.site.startswith(_END_OF_TEST)
        where = "left the test" if has_left else f"wait in {blocked.call}{f', {blocked.site}' if blocked.site else ''}"
        groups.setdefault(where, []).append(blocked)
    lines = [f"deadlock: {sum(map(len, groups.values()))} of {result.ends.size} ranks never end"]
    for where, ranks in sorted(groups.items(), key=lambda group: -len(group[1])):
        is_plain = len(ranks) > 1 or where == "left the test"
        words = f"{rank_list([blocked.rank for blocked in ranks], result.ends.size)} {where}"
        lines.append(words if is_plain else str(ranks[0]))
    return "\n".join(lines)


def _simulated(place: Place, world: Callable[[], Workload]) -> WorldEnding:
    try:
        workload_of_tests = world()
        scenario = prepare(place, workload_of_tests)
    except CommModelError as error:
        return WorldEnding("refusal", str(error))
    try:
        result = scenario.run()
    except DeadlockError as error:
        notes = [*workload_of_tests.notes()]
        return WorldEnding("deadlock", _deadlock(error), notes, [*map(str, workload_of_tests.findings())])
    except RankEndedError as error:
        return WorldEnding(error.kind, str(error), [], [*map(str, error.findings)])
    except CommModelError as error:  # what a test did with its messages, as one that is longer than its receive
        return WorldEnding("error", str(error), [], [*map(str, workload_of_tests.findings())])
    except Exception:  # of ours: it is a failed test, not the end of all
        return WorldEnding("simulator", traceback.format_exc())
    return WorldEnding("over", "", [], [*map(str, result.findings)])
