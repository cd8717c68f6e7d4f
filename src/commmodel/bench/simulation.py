"""Whether the benchmark runs simulated (``commmodel simulate WHERE run``). Main entries: `is_simulated`, `name`.

Then its loops read the simulated clock, whatever ``--clocks`` says. A repetition is exact, ranks that wait disturb
nobody, and all clocks are one: so there is no calibration, no synchronisation of clocks, no sleep and hardly a warm-up,
and a measurement ends when its repetitions are equal.
"""

import ctypes
import os
from functools import cache

_WITH_COMPUTATION = 2
_NAME = "COMMMODEL_SIMULATED"
_SOCKETS = "COMMMODEL_SIMULATED_SOCKETS"


@cache
def _answer() -> int:
    """Return that of our MPI library, once MPI has begun: 0 elsewhere, 2 where computation is charged."""
    try:
        return int(ctypes.CDLL(None).commmodel_use_simulated_clocks())
    except AttributeError:  # another MPI library
        return 0


def is_simulated() -> bool:
    """Return whether this process is a simulated rank; asked once MPI has begun. Its clocks are simulated from then."""
    return _answer() > 0


def charges_computation() -> bool:
    """Return whether the processor time of loops becomes simulated time."""
    return _answer() == _WITH_COMPUTATION


def name() -> str:
    """Return platform and model; empty where nothing is simulated."""
    return os.environ.get(_NAME, "") if is_simulated() else ""


def socket_of(rank: int) -> int | None:
    """Return the socket of a rank within its host; None where simulated hosts have none."""
    sockets = os.environ.get(_SOCKETS, "").split(",")
    return int(sockets[rank]) if rank < len(sockets) and sockets[rank] else None
