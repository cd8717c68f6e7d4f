"""The exceptions of commmodel; each message is one line: what is wrong, where, and the remedy.

::

    CommModelError              exit code 2
    ├── InputError              a file or an argument is wrong
    │   └── DamagedFileError    ... names file, line or table, and field
    ├── MissingParameterError   the machine lacks a parameter; names the benchmark kernel that provides it
    ├── MissingPackageError     an optional package is not installed: exit code 3
    ├── MPIEnvironmentError     the MPI environment cannot do what was asked: exit code 3
    ├── ProgramError            a program cannot be started: the exit code of a shell
    └── RankEndedError          a rank of a simulated program ended early: its exit code
"""

import copyreg
from typing import Any

__all__ = [
    "CommModelError",
    "DamagedFileError",
    "InputError",
    "MPIEnvironmentError",
    "MissingPackageError",
    "MissingParameterError",
    "ProgramError",
    "RankEndedError",
]


class CommModelError(Exception):
    """Base of every error that commmodel raises for its user; `exit_code` is that of the command."""

    exit_code = 2

    def __init__(self, message: str = "") -> None:
        # What a file or the command line holds is quoted in messages, and may hold line ends.
        one_line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message)
        super().__init__(one_line)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what an error is made of in another process, whatever the arguments of its class are."""
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class InputError(CommModelError, ValueError):
    """A file or an argument is wrong."""


class DamagedFileError(InputError):
    """A file does not hold what its format says.

    >>> print(DamagedFileError("results.jsonl", "line 3", "field samples[2]: expected float, got str"))
    results.jsonl: line 3: field samples[2]: expected float, got str
    """

    def __init__(self, path: object, place: str, problem: str) -> None:
        super().__init__(f"{path}: {place}: {problem}" if place else f"{path}: {problem}")


class MissingParameterError(CommModelError, LookupError):
    """The machine has no such parameter."""


class MissingPackageError(CommModelError, ImportError):
    """An optional package is not installed; the message says how to get it."""

    exit_code = 3


class MPIEnvironmentError(CommModelError, RuntimeError):
    """Too few ranks, or an MPI library that cannot do what was asked."""

    exit_code = 3


class ProgramError(CommModelError):
    """A program cannot be started; the exit code is that of a shell."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class RankEndedError(CommModelError):
    """A rank of a program that runs simulated ended before its time; the exit code is the rank's."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code
