"""Traces of all formats that are read; which it is, the content tells. Main entries: `load`, `replay`.

A new format is a module with `recognise` (the first bytes of a rank's file) and `load` (all files), and a row here.
"""

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from commmodel.arguments import Count, Positive
from commmodel.collectives.settings import CollectiveSettings
from commmodel.errors import DamagedFileError, InputError
from commmodel.signatures import checked
from commmodel.simulate.operations import Program
from commmodel.simulate.traces import chakra, liballprof, otf2
from commmodel.simulate.traces.files import JSON, beginning, is_action, listed
from commmodel.simulate.traces.rank_actions import ForeignTrace
from commmodel.simulate.traces.reader import TimeIndependentTrace

FORMATS: dict[str, tuple[Callable[[bytes], bool], Callable[[Path, Sequence[Path]], ForeignTrace]]] = {
    "chakra": (chakra.recognise, chakra.load),
    "liballprof": (liballprof.recognise, liballprof.load),
    "otf2": (otf2.recognise, otf2.load),
}
"""Name -> whether a file that begins so is of this format, and what reads the files of all ranks."""
_NUMBER = re.compile(r"(\d+)\D*$")


class Trace(Protocol):
    """A trace, of any format."""

    @property
    def processes(self) -> int:
        """P."""

    @property
    def in_seconds(self) -> bool:
        """Whether computation is given in seconds, so that no speed of processors matters; else in flops."""

    def program(
        self,
        speeds: float | Sequence[float] = 1e9,
        *,
        faster: float = 1.0,
        settings: CollectiveSettings | None = None,
    ) -> Program:
        """Return the program that replays it."""

    def notes(self) -> Sequence[str]:
        """Return sentences on what could not be carried over; complete when the program has run."""


def _of_folder(path: Path) -> list[Path]:
    """Return the files of a folder in the order of the numbers in their names: rank 0 to P − 1."""
    if (path / "list.txt").is_file():
        return listed(path / "list.txt")
    if anchors := sorted(path.glob("*.otf2")):
        return anchors
    by_rank = {}
    try:
        files = [file for file in path.iterdir() if file.is_file() and not file.name.startswith(".")]
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    for file in files:
        number = _NUMBER.search(file.name.removesuffix(".gz").removesuffix(".bz2").removesuffix(".xz"))
        if number is None or int(number[1]) in by_rank:
            raise InputError(
                f"{file}: no number of a rank in its name, or one for a second time: give a list of traces"
            )
        by_rank[int(number[1])] = file
    if sorted(by_rank) != list(range(len(by_rank))) or not by_rank:
        raise InputError(f"{path}: no files of ranks 0 to P - 1, by the numbers in their names: give a list of traces")
    return [by_rank[rank] for rank in range(len(by_rank))]


def _format(path: Path) -> str | None:
    begin = beginning(path)
    return next((name for name, (recognise, _) in FORMATS.items() if recognise(begin)), None)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return _of_folder(path)
    return [path] if _format(path) else listed(path)


def is_foreign(path: str | os.PathLike[str]) -> bool:
    """Whether a file or a folder is a trace of one of `FORMATS`, or lists one, by its content."""
    with suppress(InputError):
        return _format(_files(Path(path))[0]) is not None
    return False


def is_trace(path: str | os.PathLike[str]) -> bool:
    """Whether a file or a folder is a trace of any format, or lists one, by its content."""
    with suppress(InputError):
        first = _files(Path(path))[0]
        return _format(first) is not None or is_action(beginning(first))
    return False


@checked
def load(path: str | os.PathLike[str], processes: Count | None = None) -> Trace:
    """Return a trace: of SimGrid (time-independent), or of one of `FORMATS`.

    Parameters
    ----------
    path : path
        A file that lists the ranks' files, by names relative to its folder; a folder of files with the rank in the
        name; or one file.
    processes : int, optional
        P; else as many as there are files, or as a merged time-independent trace has ranks.

    Raises
    ------
    InputError
        Where a file cannot be read, or there are not as many as processes.
    DamagedFileError
        Naming file and line or byte, where one is not what it should be.
    """
    place = Path(path)
    files = _files(place)
    name = _format(files[0])
    if name is None:
        if beginning(files[0]).lstrip().startswith(b"{"):
            raise DamagedFileError(files[0], "line 1", JSON)
        return TimeIndependentTrace(place, files, processes)
    trace = FORMATS[name][1](place, files)
    if processes not in (None, trace.processes):
        raise InputError(f"{place}: a trace of {trace.processes} processes, not of {processes}: leave `processes` out")
    return trace


@checked
def replay(
    path: str | os.PathLike[str],
    processes: Count | None = None,
    *,
    speeds: float | Sequence[float] = 1e9,
    faster: Positive = 1.0,
    settings: CollectiveSettings | None = None,
) -> Program:
    """Return the program that replays a trace.

    Parameters
    ----------
    path, processes
        Those of `load`.
    speeds : float or sequence of float
        Flops per second, above 0, of all ranks' processors, or of each; of traces that count flops.
    faster : float
        How many times faster processors are than those that the trace is of; of traces in seconds.
    settings : CollectiveSettings, optional
        Of collectives.

    Returns
    -------
    Program
        A stream: damage behind the beginning of a trace is found when a rank comes to it.

    Raises
    ------
    InputError
        Where a file cannot be read, or there are not as many traces as processes.
    DamagedFileError
        Naming file and line or byte, where it is not what it should be.
    """
    trace = load(path, processes)
    return trace.program(speeds, faster=faster, settings=settings)
