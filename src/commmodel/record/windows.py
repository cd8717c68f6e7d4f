"""One-sided operations of a recording between fences: what each rank does to others' memory, and others to its own.

An operation is a message to its target, which takes it when it comes to the fence; where the origin gets something, the
target answers. Under a lock the target calls nothing, and of start and post the log has no groups: such operations have
no point where the target takes them. Main entry: `Windows`.
"""

from collections import Counter, defaultdict
from typing import Any, NamedTuple

import numpy as np

from commmodel.record.calls import CALLS
from commmodel.record.communicators import View
from commmodel.record.files import Recording

_NAMES = {call.code: call.name.removeprefix("MPI_") for call in CALLS if call.group in {"one-sided", "synchronisation"}}
_PUTS = {"Put", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap"}
_GETS = {"Get", "Get_accumulate", "Fetch_and_op", "Compare_and_swap"}
_BEGINS = {"Win_lock", "Win_lock_all", "Win_start"}
_ENDS = {"Win_unlock", "Win_unlock_all", "Win_complete"}


class WindowAccess(NamedTuple):
    """What an operation sends to its target, and what that answers: None, or bytes."""

    sent: int
    answer: int | None


class Epochs:
    """Counts the fences of a rank's windows, and tells operations between them from those under locks."""

    def __init__(self) -> None:
        self.fences: Counter[int] = Counter()
        self._accesses: Counter[int] = Counter()

    def operation(self, name: str, call: Any) -> WindowAccess | None:
        """Take a call; return what it moves where it is an operation between fences."""
        self.fences[call.window] += name == "Win_fence"
        self._accesses[call.window] += (name in _BEGINS) - (name in _ENDS)
        is_operation = name in _PUTS or name in _GETS
        if not is_operation or self._accesses[call.window] or not self.fences[call.window]:
            return None
        received = int(call.room) if name == "Get_accumulate" else int(call.bytes)
        return WindowAccess(int(call.bytes) if name in _PUTS else 0, received if name in _GETS else None)


class Windows:
    """The windows of a recording.

    Attributes
    ----------
    numbers : dict
        (rank, window in its log) -> (number of its communicator, which of that communicator's windows), the same on all
        ranks.
    incoming : dict
        (rank, those two numbers, fences so far) -> list of (origin, `WindowAccess`), each origin's in their order.
    """

    def __init__(self, recording: Recording) -> None:
        self.numbers: dict[tuple[int, int], tuple[int, int]] = {}
        self.incoming: dict[tuple[int, tuple[int, int], int], list[tuple[int, WindowAccess]]] = defaultdict(list)
        self._views: dict[tuple[int, int], View] = {}
        for rank in recording.ranks:
            views = {view.local: view for view in recording.views(rank)}
            counts: Counter[int] = Counter()
            for window, communicator in recording.windows(rank).items():
                if communicator in views:
                    view = self._views[rank, window] = views[communicator]
                    self.numbers[rank, window] = (view.number, counts[view.number])
                    counts[view.number] += 1
        if self.numbers:
            for rank in recording.ranks:
                self._read(recording, rank)

    def view(self, rank: int, window: int) -> View | None:
        """Return the communicator of a rank's window, None where it is not known."""
        return self._views.get((rank, window))

    def _read(self, recording: Recording, rank: int) -> None:
        epochs = Epochs()
        codes = np.array([*_NAMES], dtype=np.int32)
        for block in recording.events(rank):
            for call in block.calls[np.isin(block.calls["code"], codes)].view(np.recarray):
                operation = epochs.operation(_NAMES[call.code], call)
                view = self.view(rank, int(call.window))
                group = () if view is None else recording.groups[view.group]
                if operation is None or not 0 <= call.target < len(group):
                    continue
                target = int(group[call.target])
                key = (target, self.numbers[rank, int(call.window)], epochs.fences[call.window])
                self.incoming[key].append((rank, operation))
