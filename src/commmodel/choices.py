"""Words that parameters of functions and options of the command line take: a Literal each, so that a word stands once.

The command line shows them before anything is loaded; what it does not show stands beside its function.
"""

from typing import Literal

CostModel = Literal["plogp", "loggp", "logp"]
"""Models that know what a message costs its sender, its receiver and the network."""
MessageModel = Literal["extended", "max-rate", "latency-aware", "one-way", "postal", "plogp", "loggp", "logp"]
"""Models of single messages, the richest first; the one-way model is that of streams, the last three of trains."""
DelayName = Literal["loggps", "loggp", "logp"]
FlowModel = Literal["hybrid", "fluid", "smpi"]
"""Models in which messages share links."""
ProgramModel = Literal[FlowModel, DelayName]
ProgramClocks = Literal["machine", "simulated"]
Slopes = Literal["parameters", "factors"]
"""Derivatives by what is added to parameters of a delay model, or by their factors."""
ScheduleModel = Literal["loggops", DelayName]
ScheduleRules = Literal["classic", "newer"]
Exchange = Literal["halo", "ring", "irregular", "pairwise"]
Application = Literal["lu", "cg"]
JobPlacement = Literal["block", "round-robin", "random"]
"""Which nodes jobs get: the next ones, one in turn, or any."""
NASClass = Literal["S", "W", "A", "B", "C", "D"]
Pattern = Literal[
    "point-to-point", "multiple-end-points-contiguous", "multiple-end-points-interleaved", "end-point-congestion",
    "all-to-all-same-order", "all-to-all-contiguous", "all-to-all-interleaved",
]  # fmt: skip
"""Who communicates with whom, in which order (Iancu 2007, Section 2.2). With several peers, each is finished before
the next (contiguous), or they take turns (interleaved)."""
Implementation = Literal["pipelined", "tight"]
ExchangeImplementation = Literal[Implementation, "partitioned", "collective"]
"""Of `commmodel.overlap.Exchange`: schedules of messages, partitioned sends, or a collective for each burst."""
MessageOperation = Literal["two-sided", "put", "get"]
"""MPI_Isend and MPI_Irecv, or one-sided operations with a passive target."""
PairDirection = Literal["both-ways", "one-way"]
Grid = Literal["powers-of-two", "fine"]
BurstRule = Literal["equations", "measured"]
OverlapModel = Literal["bounded", "paper"]
SendMode = Literal["blocking", "non-blocking"]
"""MPI_Send and MPI_Recv, or MPI_Isend and MPI_Irecv: a single one with its MPI_Wait, several with one MPI_Waitall."""
Loss = Literal["robust", "paper"]
Statistic = Literal["lower half", "first quartile", "median", "minimum", "mean", "third quartile"]
TunedLibrary = Literal["openmpi", "openmpi-6", "mpich"]
ProblemGrowth = Literal["strong", "weak"]
"""How a program's problem grows with the number of its processes: not at all, or in proportion."""
Unit = Literal["s", "B", "1", "B/s", "flop/s", "1/s", "J", "W"]
"""Of what is measured; ``1`` is a plain number."""
WrittenFormat = Literal["commmodel", "extrap-json", "extrap-text", "csv"]
DeviceWay = Literal["direct", "pinned", "staged"]
"""How a buffer in device memory is sent: given to MPI as it is; copied to page-locked memory of the host, sent, and
copied to the other device; or so through pageable memory of the host."""
DeviceOperation = Literal["allreduce", "alltoall", "bcast", "allgather"]
"""Collectives that are measured on buffers in device memory."""
CopyDirection = Literal["copy-out", "copy-in"]
"""From the device to the host, or from the host to the device."""
HostMemory = Literal["pinned", "pageable"]
DataLayout = Literal["vector", "subarray", "indexed", "struct"]
"""How data in pieces lie in memory: pieces of one length at one distance, such as a column of a matrix; a rectangle of
a matrix; pieces at irregular places; records, of whose members every second one is of another type."""
PieceWay = Literal["contiguous", "type", "pack", "numpy", "core"]
"""How data in pieces are sent: by their MPI datatype; packed by MPI_Pack; copied into one piece by numpy, or by a
compiled loop. ``contiguous``: as many bytes that lie in one piece."""
ObjectKind = Literal["array", "bytes", "str", "list", "dict"]
"""A contiguous array, a list and a dictionary of floats, the keys short texts."""
ObjectWay = Literal["pickle", "pickle5", "buffer"]
"""How Python objects are sent: by mpi4py's lowercase methods; by those of mpi4py.util.pkl5, which pickle large buffers
out of band; or as bytes or numbers in one buffer, of whose meaning the receiver knows: of a dictionary its values."""
SendWay = Literal[PieceWay, ObjectWay, DeviceWay]
