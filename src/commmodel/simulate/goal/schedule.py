"""GOAL schedules as arrays: operations of all ranks, with dependencies. Main entry: `GoalSchedule`."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from commmodel._core.common.codes import GoalKind as Kind
from commmodel.errors import InputError
from commmodel.signatures import check_fields
from commmodel.values import Value

GOAL_OPERATION = np.dtype(
    [
        *(("value", np.float64), ("peer", np.int32), ("tag", np.int32), ("kind", np.uint8), ("cpu", np.uint8)),
        *(("nic", np.uint8), ("unused", np.uint8), ("line", np.uint32)),
    ]
)
"""One operation: bytes or time; rank, −1 for any in a receive; tag, the same; the line of the file, or 0."""
DEPENDENCY = np.dtype([("dependent", np.int32), ("on", np.int32), ("start", np.int32)])
"""One operation waits for another of its rank until that is done, or where `start` is 1 until it has started."""


@dataclass(frozen=True)
class GoalSchedule(Value):
    """A GOAL schedule: operations of all ranks, with dependencies."""

    operations: NDArray[np.void]
    """Of `GOAL_OPERATION`, of all ranks, one rank after the other."""
    offsets: NDArray[np.int64]
    """Where each rank's operations begin and end, shape (processes + 1,)."""
    dependencies: NDArray[np.void]
    """Of `DEPENDENCY`, indices of operations; none go in a circle."""
    name: str = ""
    """What it is, for people."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.operations.dtype != GOAL_OPERATION or self.dependencies.dtype != DEPENDENCY:
            raise InputError("a schedule's arrays must be of the types GOAL_OPERATION and DEPENDENCY")
        count = self.operations.size
        if (
            self.offsets.size < 2
            or self.offsets[0] != 0
            or self.offsets[-1] != count
            or (np.diff(self.offsets) < 0).any()
        ):
            raise InputError("offsets of a schedule must rise from 0 to the number of its operations")
        if count >= 2**31 or self.dependencies.size >= 2**31:
            raise InputError(f"{count} operations, {self.dependencies.size} dependencies: at most {2**31 - 1} of each")
        self._check_operations()
        self._check_dependencies()

    @cached_property
    def width(self) -> tuple[int, int]:
        """Processors and NICs of each rank."""
        processors, nics = (1 + int(self.operations[name].max(initial=0)) for name in ("cpu", "nic"))
        return processors, nics

    def _check_operations(self) -> None:
        operations = self.operations
        sends, calculates = operations["kind"] == Kind.SEND, operations["kind"] == Kind.CALCULATE
        lowest = np.where(sends | calculates, 0, -1)
        wrong = (
            (operations["peer"] < lowest)
            | (operations["peer"] >= self.processes)
            | (operations["tag"] < lowest)
            | (operations["kind"] > 2)
        )
        wrong |= ~((operations["value"] >= 0) & (operations["value"] < 2.0**53))
        if wrong.any():
            raise InputError(
                f"operation {int(wrong.argmax())} of the schedule: a kind, peer, tag or value that there is not"
            )

    def _check_dependencies(self) -> None:
        after, on = self.dependencies["dependent"], self.dependencies["on"]
        count = self.operations.size
        outside = (after < 0) | (after >= count) | (on < 0) | (on >= count)
        if not outside.any():
            ends = self.offsets[1:]
            outside = np.searchsorted(ends, after, "right") != np.searchsorted(ends, on, "right")
        if outside.any():
            raise InputError(
                f"dependency {int(outside.argmax())} of the schedule does not join two operations of one rank"
            )

    @property
    def processes(self) -> int:
        """P."""
        return self.offsets.size - 1
