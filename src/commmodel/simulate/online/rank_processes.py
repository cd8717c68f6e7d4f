"""How ranks' processes end: what all ways to start them have in common. Main entry: `RankProcesses`."""

import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from commmodel.errors import RankEndedError
from commmodel.simulate.online.forks import exit_code
from commmodel.simulate.online.memory import MemoryWatch
from commmodel.simulate.online.patience import Patience

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class RankProcesses(ABC):
    """The processes of all `ranks` of a program; `name` is the program's.

    A rank that returns a code after MPI_Finalize ends no other: the run ends with its code once all have ended. `watch`
    looks at the memory before each rank begins and then, `patience` at the rank that has the turn.
    """

    def __init__(self, name: str, ranks: int) -> None:
        self.watch: MemoryWatch | None = None
        self.patience: Patience | None = None
        self.state: Callable[[int], tuple[str, int, str, str]] | None = None
        """Of a rank, as `look` gets it."""
        self.explained: Callable[[int, str], str] = lambda _, words: words
        """What ranks said as they ended -> more of it."""
        self.has_one_thread: bool = all(os.environ.get(name, "1") == "1" for name in ONE_THREAD)
        """Of BLAS and OpenMP, as the environment does not say otherwise."""
        self._name, self._ranks = os.path.basename(name), ranks
        self._codes: dict[int, int] = {}
        self._over: set[int] = set()  # had not finalized MPI when their end was seen, which is later than their state
        self._started = 0

    @abstractmethod
    def start(self, rank: int, spawned: Sequence[str] | None = None) -> None:
        """Start the process of a rank; of one that another rank spawns, folder, program and arguments are given."""

    @abstractmethod
    def _poll(self) -> None:
        """Take note of ranks that have ended."""

    @abstractmethod
    def _wait(self, rank: int) -> None:
        """Wait for the end of a rank, or for some time."""

    @abstractmethod
    def close(self) -> None:
        """End all that is left."""

    def look(self, rank: int, state: tuple[str, int, str, str]) -> bool:
        """Return whether a rank waits outside MPI; raise `RankEndedError` where any has ended before its time.

        `rank` has the turn; its state is what it is, and its exit code, its words and their kind where it has called
        MPI_Abort.
        """
        name, code, words, kind = state
        if name == "aborted":
            raise RankEndedError(self.explained(rank, words), code & 0xFF or 1, kind or "abort")
        self._poll()
        if self.watch is not None:
            self.watch.check(self._started)
        for other, ended in self._codes.items():
            if ended and not self._may_return(other, ended):
                raise self._ended(other, ended)
        if rank in self._over:
            raise RankEndedError(
                f"rank {rank} ended without MPI_Finalize: does {self._name} call MPI?", 1, "no MPI_Finalize"
            )
        self._over.update({rank} & self._codes.keys())
        return self.patience is not None and self.patience.look(rank)

    def end(self, rank: int) -> None:
        """Wait for the end of a rank that has finalized MPI."""
        while rank not in self._codes:
            self._wait(rank)
            self._poll()
        code = self._codes[rank]
        if code and not self._may_return(rank, code):
            raise self._ended(rank, code)
        if len(self._codes) == max(self._ranks, self._started):
            for other, code in sorted(self._codes.items()):
                if code:
                    raise self._ended(other, code)

    def _ended(self, rank: int, code: int) -> RankEndedError:
        _, _, sentence, kind = self.state(rank) if self.state is not None else ("", 0, "", "")
        if kind == "misplaced call":
            prefix = "" if sentence.startswith("rank ") else f"rank {rank}: "
            return RankEndedError(f"{prefix}{sentence}", exit_code(code), kind)
        words = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        kind = "crash" if code < 0 else "exit code"
        return RankEndedError(self.explained(rank, f"rank {rank} {words}"), exit_code(code), kind)

    def _may_return(self, rank: int, code: int) -> bool:
        """Whether a rank that has ended may leave the others alone."""
        return code > 0 and self.state is not None and self.state(rank)[0] == "finalized"
