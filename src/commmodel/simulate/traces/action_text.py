"""Actions of other programs' traces as text of time-independent traces. Main entries: `collective_text`, `Tags`.

All counts are in bytes (type 6), seconds of computation are flops at `SPEED`.
"""

import re
from collections.abc import Sequence

from commmodel.collectives.operation import OPERATIONS
from commmodel.simulate.work.collective_expansion import CallData

__all__ = ["COLLECTIVES", "SPEED", "Tags", "collective_text", "is_opaque", "is_polling", "is_waiting"]

SPEED = 1e9
"""Flops per second: a second of computation becomes so many flops."""
_FIRST_TAG = 500_000
"""Tags of MPI_COMM_WORLD below this are written as they are; all others get one from here on."""
COLLECTIVES = frozenset({
    "barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv",
    "alltoallw", "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan",
})  # fmt: skip

_POLLING = re.compile(r"MPI_(Im?probe|Test(all|any|some)?)$")
_WAITING = re.compile(r"MPI_(Init|Init_thread|Finalize|Probe|Mprobe|Wait(all|any|some)?|Comm_free|Pcontrol)$")
_OPAQUE = re.compile(
    r"MPI_(Win_|File_|R?(put|get|accumulate|get_accumulate)$|Compare_and_swap|Fetch_and_op"
    r"|Comm_(spawn|accept|connect|join)|Intercomm|Cart_sub|I?alltoallw|I?neighbor_)",
    re.IGNORECASE,
)


def is_polling(name: str) -> bool:
    """Whether a call asks whether something has happened, and goes on.

    >>> is_polling("MPI_Testall"), is_polling("MPI_Wait")
    (True, False)
    """
    return _POLLING.match(name) is not None


def is_waiting(name: str) -> bool:
    """Whether a call that carries nothing waits, so that its time is none of computation."""
    return _WAITING.match(name) is not None or is_polling(name)


def is_opaque(name: str) -> bool:
    """Whether a call communicates, or waits for a device, and has no action.

    >>> is_opaque("MPI_File_open"), is_opaque("MPI_Put"), is_opaque("MPI_Type_commit")
    (True, True, False)
    """
    return _OPAQUE.match(name) is not None


class Tags:
    """Numbers of pairs of a communicator and a tag in it.

    >>> tags = Tags()
    >>> tags(0, 7), tags(3, 7), tags(3, 7), tags(4, 7)
    (7, 500000, 500000, 500001)
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, int], int] = {}

    def __call__(self, communicator: int, tag: int) -> int:
        """Return the number of a tag in a communicator, of which 0 is MPI_COMM_WORLD; -1 is any."""
        if tag == -1 or (communicator == 0 and 0 <= tag < _FIRST_TAG):
            return tag
        return self._numbers.setdefault((communicator, tag), _FIRST_TAG + len(self._numbers))


def _words(counts: Sequence[int], processes: int) -> str:
    """Return bytes to or from each rank; where they mean nothing on this rank, nothing."""
    return " ".join(map(str, counts or [0] * processes))


def collective_text(
    verb: str,
    processes: int,
    sent: int = 0,
    received: int = 0,
    root: int = 0,
    counts: tuple[Sequence[int], Sequence[int]] = ((), ()),
    data: CallData | None = None,
) -> str | None:
    """Return a collective's action, None where there is none.

    Parameters
    ----------
    verb : str
        MPI's name in small letters: ``reduce_scatter``.
    processes : int
        Of its communicator.
    sent, received : int
        Bytes that the rank sends and receives, per peer where MPI counts so.
    root : int
        A rank in the communicator.
    counts : two sequences of int
        Bytes to and from each rank, where the collective has such; empty where they mean nothing on this rank.
    data : CallData, optional
        Its elements, its operator and whether it is in place: written where libraries look at them.

    Examples
    --------
    >>> collective_text("bcast", 4, sent=8, root=1), collective_text("gatherv", 2, sent=8, counts=((), (8, 16)))
    ('bcast 8 1 6', 'gatherv 8 8 16 0 6 6')
    >>> collective_text("allreduce", 4, sent=8, data=CallData(4, "commutative"))
    'allreduce 8 0 6 element=4 commutative'
    """
    text = _plain_text(verb, processes, sent, received, root, counts)
    if text is None:
        return None
    data = data or CallData()
    if verb == "bcast":
        return text + CallData(data.element).words
    if OPERATIONS[verb].combines:
        return text + CallData(data.element, data.operator, is_block=verb == "reduce_scatter_block").words
    return text + (CallData(in_place=data.in_place).words if verb == "alltoall" else "")


def _plain_text(
    verb: str, processes: int, sent: int, received: int, root: int, counts: tuple[Sequence[int], Sequence[int]]
) -> str | None:
    to_each, from_each = (_words(listed, processes) for listed in counts)
    match verb:
        case "barrier":
            return "barrier"
        case "bcast":
            return f"bcast {sent} {root} 6"
        case "reduce":
            return f"reduce {sent} 0 {root} 6"
        case "allreduce" | "scan" | "exscan":
            return f"{verb} {sent} 0 6"
        case "gather" | "scatter":
            return f"{verb} {sent} {received} {root} 6 6"
        case "allgather" | "alltoall":
            return f"{verb} {sent} {received} 6 6"
        case "gatherv":
            return f"gatherv {sent} {from_each} {root} 6 6"
        case "scatterv":
            return f"scatterv {to_each} {received} {root} 6 6"
        case "allgatherv":
            return f"allgatherv {sent} {from_each} 6"
        case "alltoallv" | "alltoallw":
            return f"alltoallv 0 {to_each} 0 {from_each} 6 6"
        case "reduce_scatter":
            return f"reducescatter {from_each} 0 6"
        case "reduce_scatter_block":
            return f"reducescatter {_words([sent] * processes, processes)} 0 6"
    return None
