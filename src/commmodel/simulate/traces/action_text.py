"""Calls of other programs' traces: what they are, and their tags. Main entries: `Tags`, `is_opaque`, `is_waiting`.

All counts are in bytes (type 6), seconds of computation are flops at `SPEED`.
"""

import re

__all__ = ["SPEED", "Tags", "is_opaque", "is_polling", "is_waiting"]

SPEED = 1e9
"""Flops per second: a second of computation becomes so many flops."""
_FIRST_TAG = 500_000
"""Tags of MPI_COMM_WORLD below this are written as they are; all others get one from here on."""
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
