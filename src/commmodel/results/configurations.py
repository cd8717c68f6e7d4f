"""Configurations of the benchmark: a struct per kernel, and the options. Main entry: `Configuration`, any of them.

The types of a struct's fields say how programs show them that do not know the kernel: `Bytes` as sizes, `Seconds` as
times.
"""

from typing import Annotated, Literal, get_args

from msgspec import Meta, field
from msgspec.structs import force_setattr

from commmodel.arguments import finite, refuse
from commmodel.choices import (
    DataLayout,
    DeviceOperation,
    MessageOperation,
    ObjectKind,
    ObjectWay,
    Pattern,
    PieceWay,
    SendMode,
    SendWay,
)
from commmodel.collectives.operation import OPERATIONS, CollectiveName
from commmodel.results.calls import (
    CollectiveRequest,
    Matching,
    OneSided,
    Persistent,
    PersistentCollective,
    PersistentOperation,
    QueueLength,
    RequestKind,
    StartUp,
    Synchronisation,
    Threads,
    WindowMemory,
    WindowOperation,
)
from commmodel.results.devices import DeviceCollective, DeviceCopy, DeviceMessage
from commmodel.results.quantities import Bytes, Count, MessagePath, Seconds, Share, SomeBytes
from commmodel.structs import InputStruct
from commmodel.units import parse_sizes
from commmodel.values import Value

__all__ = [
    "Answer", "Bandwidth", "Batch", "BenchOptions", "Burst", "Clocks", "Collective", "CollectiveMode",
    "CollectiveName", "CollectiveRequest", "Configuration", "Contention", "DataLayout", "Datatype",
    "DeviceCollective", "DeviceCopy", "DeviceMessage", "Direction", "Function", "Halo", "HugePages", "Local",
    "Matching", "Memory", "MemoryOperation", "MessageBuffers", "MessageOperation", "MessagePath", "ObjectKind",
    "ObjectWay", "OneSided", "Overlap", "PLogPParameter", "Pairs", "Pattern", "Persistent", "PersistentCollective",
    "PersistentOperation", "PieceWay", "Ping", "PingPong", "PointToPoint", "Progress", "PythonObject", "Queue",
    "RandomPing", "RandomPingPong", "Receive", "RequestKind", "SendMode", "SendWay", "Start", "StartUp", "Stream",
    "StreamBuffers", "Synchronisation", "Template", "Threads", "Threshold", "Train", "Unexpected", "WindowMemory",
    "WindowOperation",
]  # fmt: skip

Batch = Count | Literal["auto"]
HugePages = Literal["never", "always", "system"]
"""What is asked of the kernel for message buffers; ``system`` leaves it to the system's setting."""
MessageBuffers = Literal["touched", "untouched"]
"""Whether ranks write a message before they send it and read it when it has arrived, as programs do, or never, as in
most other suites: caches then hold what no other process has changed."""
CollectiveMode = Literal["blocking", "non-blocking", "overlapped"]
"""What a process does until the operation is done: `Collective.mode` says more."""
Start = Literal["barrier", "fixed-window", "round-time"]
"""How the repetitions of a collective operation begin: as each process leaves a barrier, or all at one time on
synchronised clocks, in windows of a fixed length or announced anew for each repetition (Hunold and Carpen-Amarie)."""
MemoryOperation = Literal[
    "init", "use", "comm_create", "comm_dup", "comm_split", "win_create", "win_allocate", "cart_create"
]
"""What may keep memory: MPI_Init, the use of MPI by some collective operations, or one call as MPI names it."""
Template = Literal["blocking", "communication", "tight", "loose", "pipelined"]
"""Figure 6 of Iancu 2007: A one message after the other; B a burst, then its computation; C a burst, whose messages are
computed on as they come; D a burst, during which the data of the one before are computed on; E as C, but the next
burst is begun before the computation on this one."""
StreamBuffers = Literal["one", "each"]
"""Where the messages of a window arrive: all in one buffer, which stays in the cache, as OSU's tests do unless told
otherwise; or each in a buffer of its own, as MPI demands of pending receives, and so as programs do."""
Direction = Literal["one-way", "both-ways", "ring"]
"""From the first rank of a pair to the second; that and back at once; or all to the next one, in a ring."""
Receive = Literal["awaited", "late"]
"""When a receive is posted: before its message is sent, or when that has had time to come."""
Exchange = Literal["alone", "beside", "empty"]
"""Whether a message is sent the other way when a larger one is there, or while that is under way; or empty messages go
there and back."""


class BenchOptions(Value, InputStruct, frozen=True, forbid_unknown_fields=True):
    """Options of the benchmark, sufficient to plan the same measurements again; defaults as on the command line."""

    kernels: tuple[str, ...]
    seed: int
    """Of the order of measurements and of random sizes."""
    sizes: tuple[Bytes, ...] = parse_sizes("1:16MiB")
    pairs: tuple[Count, ...] | None = None
    """None: every number of pairs from one to all."""
    batch: Batch | None = None
    """None: each kernel's own default."""
    time: Annotated[float, Meta(gt=0)] = 60.0
    ci: Annotated[float, Meta(gt=0)] = 0.02
    confidence: Share = 0.95
    repetitions: Count = 10_000
    """Upper limit of samples a record."""
    buffers: MessageBuffers = "touched"
    huge_pages: HugePages = "never"
    node_pairs: tuple[Count, ...] = (1,)
    """Numbers of pairs of hosts active at once."""
    mode: SendMode | Literal["both"] = "blocking"
    """How the kernels ``loggp``, ``plogp`` and ``collective`` communicate."""
    collectives: tuple[CollectiveName, ...] = tuple(
        operation.name for operation in OPERATIONS.values() if operation.group == "usual"
    )
    """Operations of the kernel ``collective``."""
    procs: tuple[Count, ...] = ()
    """Numbers of its processes; known once the number of ranks is."""
    templates: tuple[Template, ...] = ("blocking", "pipelined")
    """Of the kernel ``overlap``."""
    patterns: tuple[Pattern, ...] = ("point-to-point",)
    """Of the kernel ``overlap``."""
    operations: tuple[MessageOperation, ...] = ("two-sided",)
    """Of the kernels ``overlap``, ``burst``, ``queue`` and ``progress``."""
    volumes: tuple[Count, ...] = parse_sizes("64KiB:4MiB:*4")
    """V of the kernel ``overlap``, bytes."""
    bursts: tuple[Count, ...] = parse_sizes("1:64")
    work: tuple[Annotated[int, Meta(ge=0)], ...] = (1, 2, 3, 4, 5)
    """Multiples of the base amount of computation, `passes`."""
    passes: Count | None = None
    """Vector-scalar adds of the base amount; None until it is measured: about half the time of the transfer."""
    iterations: Count = 1
    exhaustive: bool = False
    """Whether the kernel overlap measures every message size and burst, not a choice of them."""
    imb_repetitions: bool = False
    """Whether the kernel collective repeats as often as the Intel MPI Benchmarks, not until the interval is narrow."""
    start: Start = "round-time"
    """Of the kernel ``collective``."""
    per_rank: bool = False
    """Whether the times of each rank are kept, too."""
    waits: tuple[Seconds, ...] = (0.0, 1.0, 5.0)
    """Of the kernel ``clocks``."""
    memory_operations: tuple[MemoryOperation, ...] = get_args(MemoryOperation)
    """Of the kernel ``memory``."""
    visits: Count = 4
    """How often the plan is gone through, for the kernels pingpong, ping, pairs and stream."""
    random_sizes: Count | None = None
    """Of the kernels ``ping`` and ``pingpong``: how many sizes to draw at random between the ends of `sizes`, to be
    taken instead of those."""
    stream_buffers: StreamBuffers | Literal["both"] = "each"
    """Of the kernel ``stream``."""
    neighbours: tuple[Count, ...] = (2, 4)
    """Of the kernel ``halo``."""
    layouts: tuple[DataLayout, ...] = ("vector", "indexed")
    """Of the kernel ``datatype``."""
    kinds: tuple[ObjectKind, ...] = get_args(ObjectKind)
    """Of the kernel ``object``."""
    ways: tuple[SendWay, ...] = get_args(SendWay)
    """Of the kernels ``datatype``, ``object`` and ``device``."""
    blocks: tuple[Count, ...] = parse_sizes("8,64,512,4KiB,64KiB")
    """Bytes of a piece, of the kernel ``datatype``."""
    totals: tuple[Count, ...] = parse_sizes("1KiB:4MiB:*4")
    """Bytes of all pieces of a message, or of an object, of the kernels ``datatype`` and ``object``."""
    strides: tuple[Count, ...] = (4160,)
    """Bytes between the begins of pieces, of the kernel ``datatype``, beside twice the length of a piece. Of more than
    a page: no two pieces share a page, nor the same few lines of a cache."""
    window_operations: tuple[WindowOperation, ...] = get_args(WindowOperation)
    """Of the kernel ``one-sided``, as the two below."""
    synchronisations: tuple[Synchronisation, ...] = ("flush",)
    windows: tuple[WindowMemory, ...] = ("allocate",)
    accelerator: str = ""
    """Of the kernel ``device``: name of the device of rank 0, known once that was looked at."""
    without_direct: str = ""
    """Why the kernel ``device`` gives MPI no device buffers; empty where it does."""
    device_collectives: tuple[DeviceOperation, ...] = get_args(DeviceOperation)
    requests: tuple[RequestKind, ...] = get_args(RequestKind)
    """Of the kernel ``persistent``, as the two below."""
    partitions: tuple[Count, ...] = (1, 4, 16)
    persistent_collectives: tuple[PersistentOperation, ...] = ("allreduce", "bcast", "alltoall")
    queue_lengths: tuple[QueueLength, ...] = (0, 16, 64, 256, 1024)
    """Of the kernel ``matching``."""
    threads: tuple[Count, ...] = (1, 2, 4)
    """Of the kernel ``threads``, as the one below."""
    messages_in_flight: tuple[Count, ...] = (1, 64)
    further: dict[str, bool | int | float | str | tuple[int | float, ...]] = field(default_factory=dict)
    """Of own kernels: field of an option -> its value."""


class PingPong(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="pingpong"):
    """Blocking ping-pong of one pair; samples are half round trips."""

    message_size: Bytes
    path: MessagePath
    batch: Batch = 1


class Pairs(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="pairs"):
    """`pairs` blocking ping-pongs at once; samples are half round trips of the slowest rank."""

    message_size: Bytes
    pairs: Count
    path: MessagePath
    batch: Batch = "auto"
    node_pairs: Count = 1
    """Pairs of hosts that are active at once, each with `pairs` pairs of ranks."""


class Stream(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="stream"):
    """`pairs` senders each stream windows of messages to a receiver of their own, which answers once a window.

    Samples are the time of a window on its slowest rank over its messages: one direction only, unlike ping-pongs.
    """

    message_size: Bytes
    pairs: Count
    path: MessagePath
    window: Count = 64
    node_pairs: Count = 1
    """Pairs of hosts that are active at once, each with `pairs` pairs of ranks."""
    buffers: StreamBuffers = "each"


class Ping(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="ping"):
    """Time inside one MPI_Send, or inside one MPI_Recv, while the other side is ready."""

    message_size: Bytes
    operation: Literal["send", "receive"]
    path: MessagePath


class RandomPingPong(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="random-pingpong"):
    """Blocking ping-pongs of one pair with messages of many sizes; samples are half round trips.

    A record of m sizes has r m samples: the first r are those of the first size, and so on, each in the order in which
    it was taken. Bédaride 2013, Section IV.
    """

    message_sizes: Annotated[tuple[Bytes, ...], Meta(min_length=1)]
    path: MessagePath


class RandomPing(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="random-ping"):
    """Time inside one call with messages of many sizes, while the other side is ready; samples as of `RandomPingPong`.

    ``send``: MPI_Send to a posted receive; ``isend``: MPI_Isend alone, without its MPI_Wait; ``receive``: MPI_Recv of a
    message that is there, or if it may not leave before, whose sender waits.
    """

    message_sizes: Annotated[tuple[Bytes, ...], Meta(min_length=1)]
    operation: Literal["send", "isend", "receive"]
    path: MessagePath


class Contention(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="contention"):
    """Large transfers of pairs of ranks at once, one way or both ways, each pair between two nodes of its own.

    Samples are the time of a transfer on the slowest rank, both ways that of one each way (Bédaride 2013, Section
    IV-B). In a ring, all ranks of the pairs send to the next one and receive from the one before.
    """

    message_size: SomeBytes
    direction: Direction
    path: MessagePath
    node_pairs: Count = 1
    """Pairs of nodes at once, each with one pair of ranks."""


class Unexpected(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="unexpected"):
    """A large message to a receiver that is in MPI.

    ``awaited``: its receive is posted; samples are the time from asking for the message to the end of the receive.
    ``late``: the receive begins when twice that time is over; samples are the time of MPI_Recv alone.
    """

    message_size: SomeBytes
    receive: Receive
    path: MessagePath


class Answer(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="answer"):
    """A large message, and one of an eighth of its size to its sender.

    ``alone``: samples are the time from asking for the large message to its end. ``beside``: the other one is sent when
    a quarter of that time is over, spent in MPI; samples are the time of that MPI_Send. ``empty``: samples are half
    round trips of empty messages.
    """

    message_size: SomeBytes
    exchange: Exchange
    path: MessagePath

    @property
    def smaller(self) -> int:
        """Bytes of the other message."""
        return max(1, self.message_size // 8)


class Threshold(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="threshold"):
    """Eager limit: the largest message whose MPI_Send returns although the receiver stays out of MPI."""

    path: MessagePath


class Train(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="loggp"):
    """PRTT(n, d, s): a train of n messages of s bytes, d apart, and one answer of 1 byte after the last.

    Samples are from the first send's begin to the answer's end. Each send begins d after the end of the send before
    it, and the sender spends d busy outside MPI, so that o_s = (PRTT(n, d, s) − PRTT(1, 0, s)) / (n − 1) − d. A
    non-blocking send ends when MPI_Isend returns; one MPI_Waitall follows the last. `Record.delay` holds d.
    """

    message_size: Bytes
    messages: Count
    path: MessagePath
    delayed: bool = False
    """False: d = 0. True: d = PRTT(1, 0, s) as measured just before, so that every message finds the network empty."""
    mode: SendMode = "blocking"


class PLogPParameter(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="plogp"):
    """One parameter of pLogP at one size, in seconds, as Kielmann, Bal and Verstoep (2000) measure it.

    ``send``: o_s(m), time of a send. ``receive``: o_r(m), time of a receive that begins 1.2 RTT(m) after the
    message was asked for. ``gap``: g(m), a saturating train's time over its messages. ``round-trip``: RTT(m),
    the message there, an answer of 0 bytes back.
    """

    message_size: Bytes
    quantity: Literal["send", "receive", "gap", "round-trip"]
    path: MessagePath
    mode: SendMode = "blocking"


class Collective(
    InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kernel", tag="collective"
):
    """A collective operation of the first `processes` ranks; samples are its time.

    From the common start to the end on the slowest rank; where repetitions begin after a barrier, the longest time of a
    rank. `message_size` is what the count argument of the MPI call says, in bytes: the whole vector of a broadcast,
    reduction or scan, each process's or neighbour's block of all others; 0 for a barrier.
    """

    operation: CollectiveName
    message_size: Bytes
    processes: Count
    start: Start = "barrier"
    mode: CollectiveMode = "blocking"
    """Non-blocking: begun and waited for at once. Overlapped: in between, each process computes outside MPI for
    `Record.delay`, the median time of the non-blocking operation measured just before. So a sample is as long as the
    delay where everything goes on by itself, and twice as long where nothing does."""
    algorithm: str = ""
    """Name of the algorithm, as the program that measured it spells it; empty where the MPI library chose it."""
    per_node: Count | None = None
    """Processes of a node; None where the launch's ranks say it, or nobody knows."""


class Clocks(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="clocks"):
    """Differences of clocks some seconds after synchronisation; samples are those of all ranks but the first.

    Absolute differences from rank 0's clock. ``hca3`` knows offset and drift (Hunold and Carpen-Amarie 2018),
    ``offset`` the offset alone.
    """

    method: Literal["hca3", "offset"]
    processes: Count
    wait: Seconds
    """Between the end of the synchronisation and the look at what is left."""


class Memory(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="memory"):
    """Bytes that an operation of the first `processes` ranks keeps on a rank; samples are the most that any rank keeps.

    ``allocated``: by the allocator, within MPI's call, freed bytes taken off. ``mapped``: within the call by mmap
    itself, without a file or to be shared with other processes, in whole pages. ``private`` and ``pss``: by how much
    the process's memory has grown since before MPI began, without our buffers, as Linux counts it (smaps_rollup): what
    it alone has written, or with its share of what it has in common with others. These are of all ranks of a launch.
    """

    operation: MemoryOperation
    processes: Count
    measure: Literal["allocated", "mapped", "private", "pss"] = "allocated"


class Function(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="function"):
    """A function measured by another program, or by a kernel of one's own, and its parameters."""

    name: str
    metric: str
    parameters: tuple[tuple[str, float], ...]
    """Name and value of each, such as ``p`` and 64; a mapping becomes such pairs."""

    def __post_init__(self) -> None:
        if type(self.parameters) is tuple and all(type(pair) is tuple and len(pair) == 2 for pair in self.parameters):
            return
        try:
            pairs = [(str(name), finite(name, value)) for name, value in dict(self.parameters).items()]
        except (TypeError, ValueError):
            raise refuse("parameters", self.parameters, "give names and numbers, like {'p': 64}") from None
        force_setattr(self, "parameters", tuple(pairs))

    def __getitem__(self, parameter: str) -> float:
        return dict(self.parameters)[parameter]


class Burst(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="burst"):
    """`burst` initiations in a row of one operation; samples are the mean time of one, o(S, b) of one end.

    What was begun is completed, outside the timed part, before the next repetition. `get` and `put` are one-sided
    with a passive target. Iancu 2007, Section 2.1.
    """

    message_size: Bytes
    burst: Count
    operation: Literal["isend", "irecv", "put", "get"]
    path: MessagePath


class Queue(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="queue"):
    """Times of the first initiation in a row, the second, the third, ...: the samples, in this order.

    Each is the median over repetitions. Where they jump, the queue is full (Iancu 2007, HD).
    """

    message_size: Bytes
    operation: Literal["isend", "put", "get"]
    path: MessagePath


class Progress(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="progress"):
    """An exchange of `burst` messages each way, during which both ranks compute outside MPI for `Record.delay`.

    The delay is the time of the same exchange without computation, measured just before. So a sample is as long as
    the delay where everything goes on by itself, and twice as long where nothing does.
    """

    message_size: Bytes
    burst: Count
    path: MessagePath
    operation: MessageOperation = "two-sided"


class Bandwidth(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="bandwidth"):
    """All of P processes stream windows of messages in pairs, i and i + 1 or i and i + P / 2 (Iancu 2007, G(P, S)).

    Samples are the time of a window on the slowest pair over its messages (one direction's); `Record.fastest` has that
    of the fastest pair.
    """

    message_size: Bytes
    processes: Count
    pattern: Literal["nearest-neighbour", "cross"]
    direction: Literal["one-way", "both-ways"]
    path: MessagePath
    """Of two processes; ``any`` for more."""
    window: Count = 64


class Overlap(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="overlap"):
    """Communication and computation of one problem, in messages of S bytes and bursts of b (Iancu 2007, Figure 6).

    Every process receives V bytes from each of its peers (in all-to-all patterns from all of them together), sends as
    many, and computes on what it received, a message at a time. Samples are the time of all that on the slowest
    process; `Record.computation` is the time of the computation alone.
    """

    volume: SomeBytes
    """V, bytes."""
    message_size: SomeBytes
    """S, bytes; the last message may be shorter."""
    burst: Count
    """b; the last burst may be shorter."""
    template: Template
    passes: Annotated[int, Meta(ge=0)]
    """Vector-scalar adds, b[i] = a[i] + s on float64, over the data."""
    processes: Count
    path: MessagePath
    """Of two processes; ``any`` for more."""
    pattern: Pattern = "point-to-point"
    operation: MessageOperation = "two-sided"
    iterations: Count = 1
    """1: all begin together (balanced); more: so many in a row without synchronisation (unbalanced)."""


class Halo(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="halo"):
    """An exchange of each of P ranks in a ring with `neighbours` others: i + 1, i - 1, i + 2, ..., one message each.

    All messages are begun, then completed in one MPI_Waitall. Samples are the time on the slowest rank.
    """

    message_size: Bytes
    neighbours: Count
    processes: Count


class Local(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="local"):
    """Work within one process's memory: a copy, or MPI_Reduce_local, of so many bytes."""

    operation: Literal["copy", "reduction"]
    message_size: Bytes


class NodeMatrix(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="matrix"):
    """Ping-pongs between every two nodes, all nodes at once in disjoint pairs; samples are the time of a message.

    Of a rank of each node with one of each other, in the order (0, 1), (0, 2), ..., (1, 2), ... of
    `commmodel.results.tournament`; within a node, of the ranks of its pairs. Each is the lower quartile of some
    repetitions; 0 where a table of another program has no time of two.
    """

    message_size: Bytes
    path: MessagePath


class Datatype(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="datatype"):
    """Blocking ping-pong of data in pieces, which a rank gathers, sends, receives and scatters; half round trips.

    Pieces of `block` bytes begin `stride` bytes apart, the irregular ones of ``indexed`` on average.
    """

    message_size: SomeBytes
    """Of all pieces together."""
    layout: DataLayout
    block: SomeBytes
    way: PieceWay
    path: MessagePath
    stride: SomeBytes

    @property
    def pieces(self) -> int:
        """How many there are."""
        return self.message_size // self.block


class PythonObject(InputStruct, frozen=True, forbid_unknown_fields=True, tag_field="kernel", tag="object"):
    """Blocking ping-pong of a Python object by mpi4py; half round trips, with what pickles it on both sides."""

    message_size: SomeBytes
    """About what it has pickled, without the head; of lists and dictionaries `ITEM_BYTES` for each item."""
    kind: ObjectKind
    way: ObjectWay
    path: MessagePath

    @property
    def items(self) -> int:
        """How many items an array, a list or a dictionary has, at least one."""
        return max(1, self.message_size // ITEM_BYTES[self.kind])


ITEM_BYTES: dict[ObjectKind, int] = {"array": 8, "bytes": 1, "str": 1, "list": 9, "dict": 23}
"""Bytes of a pickled item of a kind of object: a float has 9, a key of ten letters 14 more."""


PointToPoint = (
    PingPong
    | Pairs
    | Stream
    | Ping
    | Threshold
    | Train
    | PLogPParameter
    | Burst
    | Queue
    | Progress
    | RandomPing
    | RandomPingPong
    | Contention
    | Unexpected
    | Answer
    | NodeMatrix
    | Datatype
    | PythonObject
    | OneSided
    | DeviceMessage
    | Persistent
    | Matching
    | Threads
)
"""What pairs of ranks do, on a path."""
Configuration = (
    PointToPoint
    | Bandwidth
    | Overlap
    | Collective
    | PersistentCollective
    | Halo
    | Local
    | DeviceCollective
    | DeviceCopy
    | Clocks
    | Memory
    | StartUp
    | Function
)
