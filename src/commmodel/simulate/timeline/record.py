"""A timeline: states of each rank over time, and messages. Main entry: `Timeline`."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, TextIO

import numpy as np
from numpy.typing import NDArray

from commmodel._core.common.codes import State
from commmodel.files import open_output
from commmodel.signatures import checked
from commmodel.simulate.result import INTERVAL, MESSAGE, BlockedRank, SimulationResult
from commmodel.values import Value

if TYPE_CHECKING:
    from gzip import GzipFile

CHUNK = 1 << 15
"""Rows that are put into words at once."""


@dataclass(frozen=True, repr=False)
class Timeline(Value):
    """States of each rank over time.

    >>> from commmodel.simulate.result import INTERVAL
    >>> from commmodel.simulate.states import State
    >>> rows = np.array([(1, State.WAIT, 0, 7, 8.0, 0.0, 2e-6), (0, State.SEND, 1, 7, 8.0, 0.0, 1e-6)], dtype=INTERVAL)
    >>> timeline = Timeline("example", 2, rows)
    >>> timeline.intervals["rank"].tolist(), timeline.seconds
    ([0, 1], 2e-06)
    """

    name: str
    """What it is, for people, a model or a file."""
    processes: int
    intervals: NDArray[np.void]
    """Of `commmodel.simulate.result.INTERVAL`, in the order of ranks, and of times for each rank."""
    transfers: NDArray[np.void] = field(default_factory=lambda: np.empty(0, MESSAGE))
    """Of `commmodel.simulate.result.MESSAGE`, in the order in which they were posted; empty where not known."""
    is_simulated: bool = field(default=False, compare=False)
    """Whether a simulation has made it, as far as is known."""

    def __post_init__(self) -> None:
        rows, sent = self.intervals, self.transfers
        object.__setattr__(self, "intervals", rows[np.lexsort((rows["end"], rows["start"], rows["rank"]))])
        object.__setattr__(self, "transfers", sent[np.argsort(sent["posted"], kind="stable")])

    @classmethod
    @checked
    def of(cls, result: SimulationResult, name: str = "") -> "Timeline":
        """Return the timeline of a recorded simulation.

        Of a deadlock, each rank that hangs waits, from the end of what it last did until the end of the simulation.

        Parameters
        ----------
        name : str
            Title.
        """
        rows = np.concatenate([result.intervals, _hanging(result)]) if result.blocked else result.intervals
        return cls(name or result.model, result.ends.size, rows, result.transfers, is_simulated=True)

    def __repr__(self) -> str:
        """Return the name and the numbers of ranks, intervals and messages."""
        sizes = f"{self.processes} ranks, {self.intervals.size} intervals, {self.transfers.size} messages"
        return f"Timeline({self.name!r}, {sizes})"

    @property
    def seconds(self) -> float:
        """The end of the last interval."""
        return float(self.intervals["end"].max(initial=0.0))


def _hanging(result: SimulationResult) -> NDArray[np.void]:
    """Return the waits that do not end, one per rank that hangs; none where nothing was recorded.

    Of a rank that waits for one thing its peer, tag and bytes are known.
    """
    begins = np.zeros(result.ends.size)
    np.maximum.at(begins, result.intervals["rank"], result.intervals["end"])
    end = max(result.seconds, float(begins.max(initial=0.0)))
    blocked_of: dict[int, list[BlockedRank]] = {}
    for blocked in result.blocked:
        blocked_of.setdefault(blocked.rank, []).append(blocked)
    rows = []
    for rank, (blocked, *further) in blocked_of.items():
        awaited = (-1, -1, 0.0) if further else (blocked.peer, blocked.tag, max(blocked.size, 0.0))
        rows.append((rank, State.WAIT, *awaited, begins[rank], end))
    intervals = np.array(rows, dtype=INTERVAL)
    return intervals[intervals["end"] > intervals["start"]] if result.intervals.size else intervals[:0]


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Open a file for writing, compressed by its suffix; equal content gives equal bytes."""
    with open_output(path) as raw:
        if os.fspath(path).endswith(".gz"):  # without name and time inside: equal timelines are equal files
            from gzip import GzipFile

            with GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed, _as_text(packed) as text:
                yield text
        else:
            with _as_text(raw) as text:
                yield text


@contextmanager
def _as_text(file: "IO[bytes] | GzipFile") -> Iterator[TextIO]:
    """Write text into a file that stays open."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
    try:
        yield text
    finally:
        text.detach()
