"""Actions of a rank of another program's trace: lines of text, and collectives as records.

Collectives become text where a trace is written (`as_text`), and not where one is replayed (`as_piece`). All counts
are in bytes (type 6), seconds of computation are flops at `SPEED`. Main entries: `Action`, `as_text`, `as_piece`,
`Tags`.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from commmodel.collectives.call import CollectiveCall
from commmodel.simulate.work.communicators import Definition, ranks_text

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
        self._origins: list[tuple[int, int]] = []

    def __call__(self, communicator: int, tag: int) -> int:
        """Return the number of a tag in a communicator, of which 0 is MPI_COMM_WORLD; -1 is any."""
        if tag == -1 or (communicator == 0 and 0 <= tag < _FIRST_TAG):
            return tag
        return self._numbers.setdefault((communicator, tag), _FIRST_TAG + len(self._numbers))

    def origin(self, number: int) -> tuple[int, int]:
        """Return the communicator and the tag in it that have a number.

        >>> tags = Tags()
        >>> tags.origin(tags(3, 7)), tags.origin(7)
        ((3, 7), (0, 7))
        """
        if number < _FIRST_TAG:
            return 0, number
        if len(self._origins) < len(self._numbers):
            self._origins = [*self._numbers]
        return self._origins[number - _FIRST_TAG]


class MemberCall(NamedTuple):
    """A collective of a communicator of so many processes."""

    call: CollectiveCall
    processes: int


Action = str | MemberCall | Definition
"""What a rank does: a line of a trace without the rank, a collective, or the definition of a communicator."""
Piece = tuple[bytes, list[CollectiveCall | Definition]]
"""Lines for the parser, and the records that its lines ``collective NUMBER COMMUNICATOR`` name."""


def _text(action: Action) -> str:
    if isinstance(action, Definition):
        return f"communicator {action.number} {ranks_text(action.members)}"
    return action.call.text(action.processes) if isinstance(action, MemberCall) else action


def as_text(rank: int, actions: Iterable[Action]) -> str:
    r"""Return actions as lines of a trace.

    >>> as_text(3, ["init", MemberCall(CollectiveCall("bcast", 8), 4)])
    '3 init\n3 bcast 8 0 6\n'
    """
    return "".join([f"{rank} {_text(action)}\n" for action in actions])


def as_piece(rank: int, actions: Iterable[Action]) -> Piece:
    r"""Return actions for a replay; a call that comes again as the same object is one record.

    >>> barrier = MemberCall(CollectiveCall("barrier"), 4)
    >>> as_piece(3, ["init", barrier, barrier])[0]
    b'3 init\n3 collective 0 0\n3 collective 0 0\n'
    """
    records: list[CollectiveCall | Definition] = []
    call_lines: dict[int, str] = {}  # by the identity of a call
    lines = []
    for action in actions:
        if isinstance(action, str):
            lines.append(f"{rank} {action}\n")
        elif isinstance(action, Definition):
            lines.append(f"{rank} collective {len(records)} -1\n")
            records.append(action)
        else:
            line = call_lines.get(id(action.call))
            if line is None:
                line = f"{rank} collective {len(records)} {action.call.communicator}\n"
                call_lines[id(action.call)] = line
                records.append(action.call)
            lines.append(line)
    return "".join(lines).encode("ascii"), records
