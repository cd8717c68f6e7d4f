"""Where ranks meet between two tests. Main entry: `Boundary`.

Ranks that hang in calls of this file have left their test: the name of the file says so in reports.
"""

from typing import Any


class Boundary:
    """A communicator of all ranks that no test knows."""

    def __init__(self, world: Any) -> None:
        self._communicator = world.Dup()
        self.rank: int = self._communicator.rank
        self.size: int = self._communicator.size

    def order(self, words: list[str] | None) -> list[str]:
        """Return the words of rank 0."""
        received: list[str] = self._communicator.bcast(words, root=0)
        return received

    def meet(self) -> None:
        """Wait for all ranks."""
        self._communicator.Barrier()

    def end(self) -> None:
        """Forget it."""
        self._communicator.Free()
