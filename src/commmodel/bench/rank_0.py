"""What rank 0 does for all ranks: errors that every rank raises, and printing. Main entry: `on_rank_0`."""

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar, cast

from commmodel.errors import CommModelError, InputError

if TYPE_CHECKING:
    from mpi4py import MPI

_Value = TypeVar("_Value")


def on_rank_0(comm: "MPI.Intracomm", function: Callable[[], _Value]) -> _Value:
    """Call a function on rank 0; return its result, or raise its error, on every rank."""
    result: tuple[_Value | None, tuple[str, int] | None] = (None, None)
    if comm.rank == 0:
        try:
            result = function(), None
        except CommModelError as error:
            result = None, (str(error), error.exit_code)
    value, problem = comm.bcast(result)
    if problem is not None:
        refusal = CommModelError(problem[0])
        refusal.exit_code = problem[1]
        raise refusal
    return cast(_Value, value)


def say(comm: "MPI.Intracomm", text: str) -> None:
    """Print text on standard error, on rank 0."""
    if comm.rank == 0:
        with suppress(OSError):  # nobody hears it
            print(f"{text}\n", end="", file=sys.stderr, flush=True)


def tell(text: str) -> None:
    """Print text on standard output at once; a full output is no error here, as the results are on disk."""
    with suppress(InputError):
        print(f"{text}\n", end="", flush=True)  # at once: a launcher may put other lines between two pieces
