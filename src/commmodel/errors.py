"""The exceptions of commmodel; each message is one line: what is wrong, where, and the remedy.

::

    CommModelError              exit code 2
    ├── InputError              a file or an argument is wrong
    │   └── DamagedFileError    ... names file, line or table, and field
    ├── MissingParameterError   the machine lacks a parameter; names the benchmark kernel that provides it
    ├── MissingPackageError     an optional package is not installed: exit code 3
    ├── MPIEnvironmentError     the MPI environment cannot do what was asked: exit code 3
    ├── ProgramError            a program cannot be started: the exit code of a shell
    ├── RankEndedError          a rank of a simulated program ended early: its exit code
    └── DeadlockError           ranks of a simulated program wait for ever; has the result until then
"""

import copyreg
import os
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

__all__ = [
    "CommModelError", "DamagedFileError", "DeadlockError", "InputError", "MPIEnvironmentError",
    "MissingPackageError", "MissingParameterError", "ProgramError", "RankEndedError",
]  # fmt: skip


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
    """A file or an argument is wrong; `parameter` is the argument's name, with which the message begins."""

    def __init__(self, message: str = "", parameter: str = "") -> None:
        super().__init__(message)
        self.parameter = parameter


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
    """A rank of a program that runs simulated ended before its time; the exit code is the rank's.

    `kind` says in a few words how, such as ``crash``, ``abort`` or ``wrong argument``; `findings` are the wrong uses of
    MPI before, each a `commmodel.simulate.Finding`, of a run that was checked.
    """

    def __init__(self, message: str, exit_code: int, kind: str = "", findings: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.exit_code, self.kind, self.findings = exit_code, kind, tuple(findings)


class DeadlockError(CommModelError):
    """Ranks wait for ever; `result` is the `commmodel.simulate.SimulationResult` until then, with its `blocked`."""

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result


def choice_of(word: str, names: Iterable[str]) -> str:
    """Return what to choose instead of a word, for a message: the nearest of some names first, where one is near.

    >>> choice_of("allredcue", ["allreduce", "bcast"]), choice_of("x", ["allreduce", "bcast"])
    ('did you mean allreduce? Choose one of allreduce, bcast', 'choose one of allreduce, bcast')
    """
    names = [*names]
    listed = ", ".join(names)
    near = nearest(word, names)
    return f"did you mean {near}? Choose one of {listed}" if near else f"choose one of {listed}"


def nearest(word: str, names: Iterable[str]) -> str:
    """Return that of some names which is most like a word; empty where none is like it.

    >>> nearest("MPI_Allreduce", ["allreduce", "bcast"]), nearest("--size", ["-o", "--sizes"]), nearest("x", ["bcast"])
    ('allreduce', '--sizes', '')
    """
    from difflib import get_close_matches  # not needed where nothing is wrong

    plain = {name.lower(): name for name in names}
    close = get_close_matches(str(word).lower().removeprefix("mpi_"), plain, 1)
    return plain[close[0]] if close else ""


_BLAME = " raised it: "


def blame(error: Exception, part: str, function: Any = None) -> None:
    """Note on an error of another kind that a part of the user's raised it, and where: a line below its traceback.

    Parameters
    ----------
    error : Exception
        In whose traceback there is a line of a file that is neither ours nor of an installed package; else nothing is
        noted, as it is our own.
    part : str
        Like "the algorithm mine of bcast".
    function : callable, optional
        Of that part, which may be of an installed package.

    Examples
    --------
    >>> error = KeyError("missing")
    >>> blame(error, "the reader mine")  # which was never raised
    >>> blamed(error)
    ''
    """
    from sysconfig import get_paths

    if isinstance(error, CommModelError) or blamed(error):
        return
    installed = tuple(os.path.join(path, "") for path in {os.path.dirname(__file__), *get_paths().values()})
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    place, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if (code is not None and file == code.co_filename) or not file.startswith((*installed, "<frozen ")):
            place = f"{file}, line {trace.tb_lineno}"
        trace = trace.tb_next
    if place:
        error.add_note(f"{part}{_BLAME}{place}")


def blamed(error: BaseException) -> str:
    """Return a line on an error of a user's part, for a command; empty where it is none."""
    notes = [note for note in getattr(error, "__notes__", ()) if _BLAME in note]
    return f"{notes[0]}: {type(error).__name__}: {error}" if notes else ""


def refuse_unknown(unknown: Sequence[str], words: Sequence[str], options: Iterable[str], program: str) -> NoReturn:
    """Raise for words of a command line that nothing knows: a unit behind a blank, a misspelt option, anything else.

    >>> refuse_unknown(["ms"], ["--compute", "3", "ms"], ["--compute"], "commmodel optimize")
    Traceback (most recent call last):
    commmodel.errors.InputError: 3 ms: write 3ms, without a blank
    """
    first = unknown[0]
    before = words[words.index(first) - 1] if first in words[1:] else ""
    number = before.rpartition("=")[2]
    if first.isalpha() and number.replace(".", "", 1).isdigit():
        raise InputError(f"{before} {first}: write {number}{first}, without a blank")
    option = first.partition("=")[0]
    near = nearest(option, options) if option.startswith("-") else ""
    mend = f": did you mean {near}?" if near else ""
    raise InputError(f"unrecognized arguments: {' '.join(unknown)}{mend} (see {program} --help)")
