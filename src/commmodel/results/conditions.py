"""Conditions of measurements that change times: MPI's thread level, and message buffers: whose memory, touched or not.

Main entries: `THREAD_LEVEL`, `MESSAGE_BUFFERS`, `MEMORY` and `remarks`.

A program that calls MPI_Init gets what ``single`` is in MPI_Init_thread. mpi4py asks for ``multiple`` unless told
otherwise, and libraries then take a lock or another path in every call: that changes times more than libraries differ.

A program writes what it sends and reads what it has received, so that its messages come from another processor's cache.
Most benchmarks send the same bytes again and again, which both ends then have in their caches.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar, get_args

from commmodel.errors import InputError
from commmodel.results.configurations import MessageBuffers
from commmodel.results.records import Header, Launch, ThreadLevel

LEVELS: tuple[ThreadLevel, ...] = get_args(ThreadLevel)
"""In MPI's order: each allows all that those before it allow."""

_MPI4PY_DEFAULT: Literal["multiple"] = "multiple"
_TOUCHED: dict[str, str] = {
    "touched": "touched: written before each send, read after each receive",
    "untouched": "untouched: never written or read",
}

Value = TypeVar("Value", bound=str)


@dataclass(frozen=True)
class Condition(Generic[Value]):
    """A condition of which all launches of a comparison should have the same value.

    >>> from commmodel.results import Library
    >>> headers = [Header("commmodel-results", 1, "", (), Library("MPICH", thread_level=one), (), ()) for one in LEVELS]
    >>> THREAD_LEVEL.refuse_different([Launch(header, ()) for header in headers[:2]], "fit each on its own")
    Traceback (most recent call last):
    commmodel.errors.InputError: different MPI thread levels were measured (single; funneled): fit each on its own
    """

    of: Callable[[Header], Value | None]
    """The value of a launch; None where unknown, as in most other suites' output."""
    words: Callable[[Header], str]
    """The same in words; empty where unknown."""
    different: str
    """What several values are called."""
    mixed: str
    """The remark on several values."""
    other: str
    """The remark on another value, of the launches and then of the machine."""

    def _measured(self, launches: Iterable[Launch]) -> dict[Value, str]:
        """Return the values that are known, each in words."""
        return {value: self.words(launch.header) for launch in launches if (value := self.of(launch.header))}

    def refuse_different(self, launches: Iterable[Launch], advice: str) -> None:
        """Raise `InputError` with an advice at its end where launches have several values."""
        measured = self._measured(launches)
        if len(measured) > 1:
            raise InputError(f"{self.different.format('; '.join(measured.values()))}: {advice}")

    def remarks(self, launches: Iterable[Launch], fitted: str = "") -> tuple[str, ...]:
        """Return a line where launches differ from each other, or from what the machine was fitted to.

        >>> from commmodel.results import Library
        >>> launch = Launch(Header("commmodel-results", 1, "", (), Library("MPICH", thread_level="single"), (), ()), ())
        >>> THREAD_LEVEL.remarks([launch])
        ()
        >>> print(*THREAD_LEVEL.remarks([launch], "multiple"))
        measured at MPI thread level single, but the machine was fitted at multiple: times differ by that, too
        """
        measured = self._measured(launches)
        if len(measured) > 1:
            return (self.mixed.format("; ".join(measured.values())),)
        return tuple(
            self.other.format(words, fitted) for value, words in measured.items() if fitted and value != fitted
        )

    def first(self, launches: Iterable[Launch]) -> Value | Literal[""]:
        """Return the first value that is known; empty without any."""
        return next(iter(self._measured(launches)), "")


def _level(header: Header) -> ThreadLevel | None:
    """Return the thread level that MPI provided.

    Files of this benchmark from before it recorded the level were measured at mpi4py's default, ``multiple``.

    >>> from commmodel.results import Library
    >>> _level(Header("commmodel-results", 1, "", (), Library("MPICH", thread_level="single"), (), ()))
    'single'
    >>> _level(Header("commmodel-results", 1, "", (), Library("MPICH"), (), (), versions={"mpi4py": "4.1.2"}))
    'multiple'
    >>> _level(Header("commmodel-results", 1, "", (), Library("MPICH"), (), ()))
    """
    if header.mpi.thread_level is not None:
        return header.mpi.thread_level
    return _MPI4PY_DEFAULT if "mpi4py" in header.versions else None


def _level_words(header: Header) -> str:
    """Return the thread level in words.

    >>> from commmodel.results import Library
    >>> library = Library("MPICH", thread_level="serialized", thread_level_asked="multiple")
    >>> _level_words(Header("commmodel-results", 1, "", (), library, (), ()))
    'serialized (asked for: multiple)'
    >>> _level_words(Header("commmodel-results", 1, "", (), Library("MPICH"), (), (), versions={"mpi4py": "4.1.2"}))
    "unknown (mpi4py's default, multiple)"
    """
    level, requested = header.mpi.thread_level, header.mpi.thread_level_asked
    if level is None:
        return f"unknown (mpi4py's default, {_MPI4PY_DEFAULT})" if _level(header) else ""
    return level if requested in {None, level} else f"{level} (asked for: {requested})"


def _buffers(header: Header) -> MessageBuffers | None:
    return None if header.options is None else header.options.buffers


def touched_words(buffers: str) -> str:
    """Return what ``touched`` or ``untouched`` buffers are; empty for another word."""
    return _TOUCHED.get(buffers, "")


THREAD_LEVEL: Condition[ThreadLevel] = Condition(
    _level,
    _level_words,
    "different MPI thread levels were measured ({})",
    "measured at different MPI thread levels ({}): times differ by that, too",
    "measured at MPI thread level {}, but the machine was fitted at {}: times differ by that, too",
)
"""What MPI_Init_thread provided."""
MESSAGE_BUFFERS: Condition[MessageBuffers] = Condition(
    _buffers,
    lambda header: _buffers(header) or "",
    "touched and untouched message buffers were measured",
    "measured with touched and with untouched message buffers: times differ by that",
    "measured with {} message buffers, but the machine was fitted to {} ones: times differ by that",
)
"""Whether message buffers were touched; unknown in other suites' output."""


def memory_of(header: Header) -> str:
    """Return of whose memory the messages were, a host's without a word of an accelerator.

    >>> from commmodel.results import Library
    >>> memory_of(Header("commmodel-results", 1, "", ("osu_latency", "-d", "cuda", "D", "D"), Library("OSU"), (), ()))
    'cuda D D'
    """
    options = header.command[1:]
    return " ".join(options[1:]) if options[:1] == ("-d",) else "host"


MEMORY: Condition[str] = Condition(
    memory_of,
    memory_of,
    "messages of different memory were measured ({})",
    "measured with messages of different memory ({}): times differ by that, too",
    "measured with messages of memory {}, but the machine was fitted to {}: times differ by that, too",
)
"""Whether messages were a host's or an accelerator's, as OSU, PICO and nccl-tests say."""


def remarks(launches: Iterable[Launch], thread_level: str = "", buffers: str = "") -> tuple[str, ...]:
    """Return the remarks on both conditions, with those that a machine was fitted to."""
    members = tuple(launches)
    return THREAD_LEVEL.remarks(members, thread_level) + MESSAGE_BUFFERS.remarks(members, buffers)
