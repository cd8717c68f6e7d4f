"""Configurations of kernels of calls beside plain messages.

Main entries: `OneSided`, `Persistent`, `PersistentCollective`, `Matching`, `Threads` and `StartUp`.
"""

from typing import Annotated, Literal

from msgspec import Meta

from commmodel.results.quantities import Bytes, Count, MessagePath
from commmodel.structs import InputStruct

WindowOperation = Literal["put", "get", "accumulate", "get-accumulate", "fetch-and-op", "compare-and-swap"]
"""One-sided operations: MPI_Put, MPI_Get, ..., of which the last two work on one integer of 8 bytes."""
Synchronisation = Literal["flush", "flush-local", "lock", "lock-all", "fence", "post-start"]
"""What completes a one-sided operation: MPI_Win_flush or MPI_Win_flush_local within MPI_Win_lock_all; a lock and unlock
of the target, or of all, around each; MPI_Win_fence; or MPI_Win_post, start, complete and wait."""
WindowMemory = Literal["allocate", "create"]
"""Where a window's memory is from: MPI_Win_allocate, or a buffer given to MPI_Win_create."""
RequestKind = Literal["non-blocking", "persistent", "partitioned"]
"""A message by MPI_Isend; by MPI_Start of a request that MPI_Send_init made; or of one of MPI_Psend_init."""
PersistentOperation = Literal["allreduce", "bcast", "alltoall", "allgather", "reduce"]
"""Collectives of which MPI 4.0 has persistent requests, as far as they are measured."""
CollectiveRequest = Literal["blocking", "non-blocking", "persistent"]
"""A collective by its call; by MPI_Iallreduce and MPI_Wait; or by MPI_Start of a request of MPI_Allreduce_init."""
QueueLength = Annotated[int, Meta(ge=0, le=2**20)]


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


class Persistent(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="persistent"):
    """Ping-pong of one pair by requests of a kind; samples are half round trips.

    Each message is begun and waited for at once. The sender of a partitioned one declares
    `partitions` equal parts ready.
    """

    message_size: Bytes
    path: MessagePath
    request: RequestKind = "persistent"
    partitions: Count = 1


class PersistentCollective(
    InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kernel",
    tag="persistent-collective",
):  # fmt: skip
    """A collective by a request of a kind, after a barrier; samples are the time on the slowest rank."""

    operation: PersistentOperation
    message_size: Bytes
    """What the count says: the whole vector of a broadcast or reduction, one block of the others."""
    processes: Count
    request: CollectiveRequest = "persistent"
    per_node: Count | None = None
    """Processes of a node; None where the launch's ranks say it, or nobody knows."""


class Matching(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="matching"):
    """A message that its receiver finds behind `entries` others in a queue.

    ``posted``: behind receives that are posted and not met; samples are the time from asking for the message to its
    arrival. ``unexpected``: behind messages that have arrived and are not received; samples are the time of MPI_Recv
    alone.
    """

    queue: Literal["posted", "unexpected"]
    entries: QueueLength
    message_size: Bytes
    path: MessagePath


class Threads(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="threads"):
    """Messages of `threads` threads of one rank at once, each with its like of another rank.

    Ping-pongs, whose samples are half round trips; or windows of messages one way, each answered by an empty message,
    whose samples are the time of a message. From the first thread's begin to the last one's end, over the messages of a
    thread. MPI is started at thread level multiple.
    """

    message_size: Bytes
    threads: Count
    path: MessagePath
    window: Count = 1
    """Messages that a thread begins before it waits; 1: a ping-pong."""


class StartUp(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="start-up"):
    """How long MPI takes to start on all ranks of a launch; the sample is the time of the slowest rank.

    From the begin of MPI_Init (or MPI_Init_thread) to its end, ``init``, or to that of the first barrier.
    """

    stage: Literal["init", "first-barrier"]
    processes: Count
