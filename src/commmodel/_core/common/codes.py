"""Numbers that Python, C and C++ share: codes of operations, states, tags, and what recordings know of calls.

They have their source here. ``python src/commmodel/_core/common/codes.py`` writes them to ``codes.h``; a test fails
where the two differ. Main entries: `Code`, `header`.
"""

from collections.abc import Iterable
from enum import Enum, IntEnum
from pathlib import Path
from textwrap import wrap

__all__ = [
    "ANY", "ANY_OF_COMMUNICATOR", "COLLECTIVE_TAG", "COLLECTIVE_TAGS", "EVERY_NAMED", "FIELDS",
    "FIRST_CALL_TAG", "FIRST_REPORTED",
    "IS_ROOT", "LARGEST_TAG", "NO_PROCESS", "TAG_BITS", "TYPE_SIZES", "UNNAMED", "Code", "CommunicatorKind", "DataFlag",
    "DataShape", "Ending", "GoalKind", "LogRecord", "PathKind", "Reason", "Role", "Rule", "Share", "State", "Volume",
    "header",
]  # fmt: skip


class Code(IntEnum):
    """Codes of operations, with the numbers of the engine."""

    COMPUTE = 0
    """Keep the processor busy for `value` seconds."""
    SLEEP = 1
    """Be idle for `value` seconds."""
    SEND = 2
    """MPI_Send of `value` bytes to `peer` with `tag`."""
    ISEND = 3
    """MPI_Isend; `request` is its name, or `UNNAMED`."""
    RECV = 4
    """MPI_Recv from `peer` or `ANY`, with `tag` or `ANY`; `value` is the most bytes it takes, −1 for any number."""
    IRECV = 5
    """MPI_Irecv; `request` is its name, or `UNNAMED`."""
    WAIT = 6
    """Wait for the request of that name; nothing if it has been waited for."""
    WAITALL = 7
    """Wait for all unnamed requests (`request` is `UNNAMED`), or for all named ones (`EVERY_NAMED`)."""
    TEST = 8
    """Go on, whether a request is done or not, as after MPI_Test; if it is, the request is gone."""
    MARK = 9
    """Note the time; `value` is the number of the mark."""
    AWAIT = 10
    """Wait until a request completes or a message comes, `value` seconds at most; only of programs that run."""
    SSEND = 11
    """MPI_Ssend, which ends when the receive has begun and has the data; only of programs that run."""
    ISSEND = 12
    """MPI_Issend, in the same manner."""
    PUT = 13
    """Store `value` bytes in memory of `peer`, which takes no part in it; only of programs that run. Its `request` is
    complete when they are there."""
    GET = 14
    """Fetch `value` bytes from memory of `peer`: a request, which takes the latency, and the answer."""
    WITHDRAW = 15
    """MPI_Cancel of a receive that has got no message yet, with the peer, tag and request of its IRECV."""
    ACCESS = 16
    """Move `value` bytes to or from the storage in `peer` parts; only of programs that run. Its `request` is complete
    when they are there; the rank waits where that is `UNNAMED`."""


class State(IntEnum):
    """States of a rank; those up to FILES are the engines'."""

    COMPUTE = 0
    SEND = 1
    RECEIVE = 2
    WAIT = 3
    SLEEP = 4
    TRANSFER = 5
    FILES = 6
    START_AND_END = 7


class PathKind(IntEnum):
    """What a part of a critical path is spent on."""

    COMPUTATION = 0
    SLEEP = 1
    SEND = 2
    """A processor sends: the overhead, or of a recording the call."""
    RECEIVE = 3
    TRANSFER = 4
    """A message is on its way: latency, its bytes, and what other messages on its links cost it."""
    PORT = 5
    """A message waits until the NIC has let one before it pass."""
    RENDEZVOUS = 6
    """Question and answer before a large message leaves."""
    WAIT = 7
    """A rank waits, and no record says for what: polls, alarms, non-blocking collectives that compute."""
    FILES = 8
    START_AND_END = 9


class GoalKind(IntEnum):
    """Kinds of operations of a GOAL schedule."""

    SEND = 0
    RECEIVE = 1
    CALCULATE = 2


class Role(IntEnum):
    """What a recorded call does to messages.

    PROBES leaves the message that it finds to another receive; TAKES (MPI_Mprobe) keeps it for a call that FETCHES it.
    """

    PLAIN = 0
    SENDS = 1
    SENDS_LATER = 2
    SEND_PREPARED = 3
    RECEIVES = 4
    RECEIVES_LATER = 5
    RECEIVE_PREPARED = 6
    EXCHANGES = 7
    EXCHANGES_LATER = 8
    PROBES = 9
    TAKES = 10
    FETCHES = 11
    FETCHES_LATER = 12
    WAITS = 13
    TESTS = 14
    STARTS = 15
    FREES = 16
    JOINS = 17
    JOINS_LATER = 18
    JOIN_PREPARED = 19


class Rule(IntEnum):
    """For whom a rank waits in a collective.

    Nobody; all; the root, unless it is the root; all, where it is the root; all ranks up to itself.
    """

    NOBODY = 0
    EVERYBODY = 1
    FOR_ROOT = 2
    AS_ROOT = 3
    PREFIX = 4


class Reason(Enum):
    """Why a call waits; those of collectives come in the order of their `Rule`."""

    LATE_SENDER = "late sender"
    LATE_RECEIVER = "late receiver"
    WAIT_AT_ALL = "wait at N x N"
    LATE_BROADCAST = "late broadcast"
    EARLY_REDUCE = "early reduce"
    WAIT_IN_SCAN = "wait in a scan"


class Share(IntEnum):
    """Where the time of a call belongs."""

    COMMUNICATION = 0
    FILES = 1
    OTHER = 2


class Volume(IntEnum):
    """Bytes of a collective: its field, that times the number of peers, or the sum of what all receive."""

    AS_GIVEN = 0
    TO_EACH = 1
    AS_RECEIVED = 2


class LogRecord(IntEnum):
    """Kinds of records in the log of a recorded rank (docs/reference/recording.md)."""

    END = 0
    SITE = 1
    COMMUNICATOR = 2
    CLOCK = 3
    WINDOW = 4
    THREAD = 5
    TEXT = 6
    LEAVE = 7
    NEIGHBOURS = 8
    DATA = 9
    LAYOUT = 10
    CONTENT = 11
    CALL = 16


class Ending(IntEnum):
    """Why a log ends."""

    KILLED = 0
    FINALISED = 1
    ABORTED = 2
    EXITED = 3
    REPLACED = 4
    DISK_FULL = 5


class DataFlag(IntEnum):
    """Data of a recorded collective: in place, combined by a user's operator, by one that does not commute."""

    IN_PLACE = 1
    OF_USER = 2
    ORDERED = 4


class DataShape(IntEnum):
    """What a recorded message holds that is not in one piece: pieces, as `commmodel.choices.DataLayout` has them, or
    an object that is pickled, by its kind.
    """

    VECTOR = 0
    SUBARRAY = 1
    INDEXED = 2
    STRUCT = 3
    PICKLED_OBJECT = 16
    PICKLED_ARRAY = 17
    PICKLED_BYTES = 18
    PICKLED_STR = 19
    PICKLED_LIST = 20
    PICKLED_DICT = 21


class CommunicatorKind(Enum):
    """Kinds of recorded communicators."""

    PLAIN = "plain"
    CARTESIAN = "Cartesian"
    GRAPH = "graph"
    DISTRIBUTED_GRAPH = "distributed graph"
    INTER = "inter"


FIELDS = (
    "communicator", "peer", "tag", "bytes", "room", "root", "operation", "request", "source", "received_tag",
    "received_bytes", "flag", "requests", "completed", "sent_counts", "received_counts", "new_communicator", "window",
    "target", "level", "message", "given", "receive_peer", "receive_tag",
)  # fmt: skip
"""Fields of a recorded call, in the order of docs/reference/recording.md."""

ANY = -1
"""MPI_ANY_SOURCE and MPI_ANY_TAG. MPI_ANY_TAG matches tags from 0 on only."""
NO_PROCESS = -2
"""MPI_PROC_NULL in recordings; as a root, that of ranks beside the root in its group."""
IS_ROOT = -3
"""MPI_ROOT in recordings."""
UNNAMED = -1
"""A request that only WAITALL waits for, with all the others that have no name."""
EVERY_NAMED = -2
COLLECTIVE_TAG = -2
"""Messages of collective operations have this tag or one below it: no receive of the application matches them."""
COLLECTIVE_TAGS = 1 << 20
"""Tags that calls of collectives take in turn."""
TAG_BITS = 20
"""Bits of a tag that are the program's; above them stands the number of its communicator. Only of programs that run."""
LARGEST_TAG = (1 << TAG_BITS) - 1
"""MPI_TAG_UB."""
ANY_OF_COMMUNICATOR = -(1 << 31) + (1 << 12)
"""A receive with this minus the number of a communicator takes any tag of it; the first communicator has `ANY`.

Programs that run have more tags below 0, in ranges that do not overlap: windows from −2^21 down, partitioned messages
from −3 · 2^20 down, and calls of collectives from `FIRST_CALL_TAG` down to here.
"""
FIRST_CALL_TAG = -(1 << 22)
"""Tag of the first call of a collective in a program that runs; the next has the one below."""
FIRST_REPORTED = 1 << 30
"""Name of a request from which on the engine tells a program that runs which message it got."""

TYPE_SIZES = (8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8)
"""Bytes of the datatypes 0 to 29 of traces.

Double, int, char, short, long, float, byte, long long, signed and unsigned char, unsigned short, int, long, long long,
long double, wchar, bool, int8 to int64, uint8 to uint64, complex, aint, offset.
"""

_LISTS: dict[str, Iterable[str]] = {
    "OPERATION_CODES": Code.__members__,
    "RANK_STATES": [f"IN_{state.name}" for state in State if state <= State.FILES],
    "PATH_KINDS": [f"ON_{kind.name}" for kind in PathKind],
    "GOAL_KINDS": [f"GOAL_{name}" for name in GoalKind.__members__],
    "CALL_ROLES": Role.__members__,
    "WAITING_RULES": Rule.__members__,
    "WAITING_REASONS": Reason.__members__,
    "TIME_SHARES": Share.__members__,
    "CALL_VOLUMES": Volume.__members__,
    "CALL_FIELDS": [name.upper() for name in FIELDS],
    "LOG_RECORDS": [f"LOG_{record.name}={record}" for record in LogRecord],
    "LOG_ENDINGS": Ending.__members__,
    "DATA_FLAGS": [f"{flag.name}={flag}" for flag in DataFlag],
    "DATA_SHAPES": [f"{shape.name}={shape}" for shape in DataShape],
    "COMMUNICATOR_KINDS": CommunicatorKind.__members__,
    "TYPE_SIZE_LIST": [str(size) for size in TYPE_SIZES],
}
"""Macro -> names of an enumeration, with numbers where these do not begin at 0, or numbers alone."""


def _wrapped(line: str, end: str = "") -> str:
    return f"{end}\n    ".join(wrap(line, 114))


def header() -> str:
    """Return the text of ``codes.h``."""
    numbers = {name: value for name, value in globals().items() if name in __all__ and isinstance(value, int)}
    lines = [
        "// Written by codes.py, which says what each is. Lists are for enumerations of C and C++.",
        "// clang-format off",
        "#pragma once\n",
        *(_wrapped(f"#define {name} {', '.join(listed)}", " \\") for name, listed in _LISTS.items()),
        "\n#ifdef __cplusplus\n#include <cstdint>\n\nnamespace commmodel {",
        *(f"constexpr int32_t {name} = {value};" for name, value in numbers.items()),
        "}  // namespace commmodel\n#else",
        _wrapped(f"enum {{ {', '.join(f'{name} = {value}' for name, value in numbers.items())} }};"),
        "#endif",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(__file__).with_suffix(".h").write_text(header())
