"""Configurations of kernels that measure kinds of MPI calls beside plain messages. Main entry: `OneSided`."""

from typing import Literal

from commmodel.results.quantities import Bytes, MessagePath
from commmodel.structs import InputStruct

WindowOperation = Literal["put", "get", "accumulate", "get-accumulate", "fetch-and-op", "compare-and-swap"]
"""One-sided operations: MPI_Put, MPI_Get, ..., of which the last two work on one integer of 8 bytes."""
Synchronisation = Literal["flush", "flush-local", "lock", "lock-all", "fence", "post-start"]
"""What completes a one-sided operation: MPI_Win_flush or MPI_Win_flush_local within MPI_Win_lock_all; a lock and unlock
of the target, or of all, around each; MPI_Win_fence; or MPI_Win_post, start, complete and wait."""
WindowMemory = Literal["allocate", "create"]
"""Where a window's memory is from: MPI_Win_allocate, or a buffer given to MPI_Win_create."""


class OneSided(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="one-sided"):
    """One operation of the first rank on a window of the second, and its completion, as the OSU tests have them.

    Samples are the time from the operation's begin, or the lock before it, to the end of what completes it. With fence
    and post-start each rank works on the other's window in turn, and samples are half of both turns.
    """

    operation: WindowOperation
    message_size: Bytes
    path: MessagePath
    synchronisation: Synchronisation = "flush"
    window: WindowMemory = "allocate"
