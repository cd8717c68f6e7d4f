"""The result of a simulation: times, states of ranks, links, and blocked ranks.

Main entries: `SimulationResult`, and `from_record`, which makes it of an engine's record.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from commmodel._core.common.codes import State
from commmodel.errors import DeadlockError
from commmodel.frames import Tabular, axes_of, of_axes
from commmodel.simulate.findings import Finding
from commmodel.simulate.operations import Code
from commmodel.simulate.states import COLOURS, SIMULATED, STATE_NAMES
from commmodel.values import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from commmodel.simulate.delays import DelayModel
    from commmodel.simulate.energy import EnergyUse
    from commmodel.simulate.gradient import Gradient
    from commmodel.simulate.network import Network

__all__ = [
    "INTERVAL",
    "MARK",
    "MESSAGE",
    "BlockedRank",
    "Deadlock",
    "SimulationResult",
    "from_record",
]

Deadlock = Literal["raise", "return"]
"""What becomes of a deadlock: a `commmodel.errors.DeadlockError`, or a result whose `blocked` names the ranks."""
_MOST_IN_ERROR = 3
_ROUNDING = 1e-13
_MOST_KNOWN = 10_000
"""Requests that the engines name of a deadlock at most."""

INTERVAL = np.dtype(
    [
        *(("rank", np.int32), ("state", np.int32), ("peer", np.int32), ("tag", np.int32)),
        *(("size", np.float64), ("start", np.float64), ("end", np.float64)),
    ]
)
"""A rank was in a state; peer is −1 and tag −1 where there is none, or several."""
MESSAGE = np.dtype(
    [
        *(("sender", np.int32), ("receiver", np.int32), ("tag", np.int32), ("size", np.float64)),
        *(("posted", np.float64), ("left", np.float64), ("arrived", np.float64)),
    ]
)
"""A message: when its send was called, when it left, when it was there."""
MARK = np.dtype([("rank", np.int32), ("number", np.int32), ("time", np.float64)])
"""A rank passed a MARK."""


@dataclass(frozen=True)
class BlockedRank:
    """A rank that waits for ever, and for what."""

    rank: int
    call: str
    """``MPI_Send``, ``MPI_Recv``, ``MPI_Wait``, ``MPI_Waitall``; of a schedule ``send`` or ``recv`` with its line."""
    awaits: str
    """``receive`` (a send that nobody receives) or ``message`` (a receive to which nobody sends)."""
    peer: int
    """Rank, or −1 for any."""
    tag: int
    size: float
    site: str = ""
    """Where a program that runs stands, like ``solver.py:81``."""

    def __str__(self) -> str:
        """Return who waits where for what, in words."""
        site = f", {self.site}" if self.site else ""
        return self._wait() + site

    def _wait(self) -> str:
        source = "any rank" if self.peer < 0 else f"rank {self.peer}"
        tag = "" if self.tag < 0 else f" with tag {self.tag}"
        if self.awaits == "receive":
            return f"rank {self.rank} waits in {self.call} until {source} receives {self.size:.0f} bytes{tag}"
        return f"rank {self.rank} waits in {self.call} for a message from {source}{tag}"


@dataclass(frozen=True, repr=False)
class SimulationResult(Tabular, Value):
    """The result of simulating a program or a schedule."""

    ends: NDArray[np.float64]
    """Seconds at which each rank came to its end, shape (processes,)."""
    spent: NDArray[np.float64]
    """Seconds of each rank in each state of `commmodel.simulate.states.SIMULATED`, shape (processes, states)."""
    messages: int
    """That were sent."""
    events: int
    """Distinct steps of simulated time."""
    solver_calls: int = 0
    """Times that bandwidth was shared anew."""
    marks: NDArray[np.void] = field(default_factory=lambda: np.empty(0, MARK))
    """Structured array of `MARK`."""
    link_bytes: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    """Bytes that each direction of each link carried; empty for models without links, shape (links,)."""
    link_work: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    """Bytes that it could have carried in the same time at its full capacity, more where messages are slower than the
    link, by the model's bandwidth factors, and fewer where they are faster, shape (links,)."""
    blocked: tuple[BlockedRank, ...] = ()
    """Of a deadlock, each rank that hangs; empty where all came to their end."""
    intervals: NDArray[np.void] = field(default_factory=lambda: np.empty(0, INTERVAL))
    """Structured array of `INTERVAL`, empty unless asked for."""
    transfers: NDArray[np.void] = field(default_factory=lambda: np.empty(0, MESSAGE))
    """Structured array of `MESSAGE`, empty unless asked for."""
    wall_seconds: float = field(default=0.0, compare=False)
    """That the engine took."""
    model: str = ""
    slopes: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    """Derivatives of the ranks' ends, shape (processes, names); empty unless asked for. Where a parameter grows just as
    well as it falls, what counts is how much later the end becomes where it grows."""
    slope_names: tuple[str, ...] = ()
    """By what they are: computation's factor (``compute``), and the model's parameters."""
    parameters: Mapping[str, float] = field(default_factory=dict)
    """Beside derivatives: the parameters' values, of those that are the same for messages of all sizes and places."""
    unmatched_messages: int = 0
    """Messages sent that nobody received, no error, but seldom meant."""
    title: str = ""
    """Of a scenario: what ran."""
    where: str = ""
    """Of a scenario: the name of its place."""
    notes: tuple[str, ...] = ()
    """Of a scenario: what is to be said of the result."""
    returned: tuple[Any, ...] = ()
    """Of `commmodel.simulate.function`: what each rank returned."""
    findings: tuple[Finding, ...] = ()
    """Wrong uses of MPI, of a program that ran with checks."""
    message_model: "Network | DelayModel | None" = field(default=None, compare=False)
    """Of messages, where the run was recorded."""
    hosts: NDArray[np.integer[Any]] | None = field(default=None, compare=False)
    """Host of each rank, where the run was recorded and its place has hosts, shape (processes,)."""
    sites: tuple[str, ...] = field(default=(), compare=False)
    """Names of call sites, where they were recorded: the operations behind a mark of a number from 0 on are of the site
    of that number."""
    gradient: "Gradient | None" = None
    """Derivatives of `seconds` by links and hosts, where messages share links; None unless asked for."""
    energy: "EnergyUse | None" = None
    """Of a scenario on a platform that says the power or the price of its hosts."""

    @property
    def seconds(self) -> float:
        """Time at which the last rank ends."""
        return float(self.ends.max(initial=0.0))

    @property
    def derivatives(self) -> dict[str, float]:
        """Derivatives of `seconds`: in seconds by seconds, by seconds per byte, or by a factor.

        Where messages share links, by the factor of each cost (`commmodel.simulate.gradient.Gradient.by_cost`).
        """
        if self.gradient is not None:
            return self.gradient.by_cost
        if not self.slope_names:
            return {}
        last = self.ends >= self.seconds * (1 - _ROUNDING)  # of several last ones the steepest counts
        return dict(zip(self.slope_names, self.slopes[last].max(axis=0).tolist(), strict=True))

    def __repr__(self) -> str:
        """Return how long it took and what was sent."""
        hanging = f", {len({blocked.rank for blocked in self.blocked})} ranks hang" if self.blocked else ""
        counts = f"{self.ends.size} ranks, {self.messages} messages"
        return f"SimulationResult({self.model}: {self.seconds:.6g} s, {counts}{hanging})"

    @of_axes
    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw what each rank did: over time where that was recorded, else its seconds in each state."""
        axes = axes_of(axes)
        ranks, left = np.arange(self.ends.size), np.zeros(self.ends.size)
        for state in SIMULATED:
            look: Any = {"color": COLOURS[state][0], "label": STATE_NAMES[state]}
            rows, seconds = self.intervals[self.intervals["state"] == state], self.spent[:, state]
            if rows.size:
                axes.barh(rows["rank"], rows["end"] - rows["start"], 0.8, rows["start"], **look)
            elif not self.intervals.size and seconds.any():
                axes.barh(ranks, seconds, 0.8, left, **look)
                left += seconds
        axes.invert_yaxis()
        axes.set(title=", ".join(filter(None, [self.title, self.where])), xlabel="time in s", ylabel="rank")
        axes.legend()
        return axes

    def without_record(self) -> "SimulationResult":
        """Return the result without what each rank did when, and without its messages."""
        empty = np.empty(0, INTERVAL), np.empty(0, MESSAGE)
        return replace(self, intervals=empty[0], transfers=empty[1], message_model=None, hosts=None)

    def or_deadlock(self, deadlock: Deadlock) -> "SimulationResult":
        """Return the result, or raise `commmodel.errors.DeadlockError` where ranks hang and `deadlock` is ``raise``."""
        if self.blocked and deadlock == "raise":
            first, *lines = self.deadlock_lines(most=_MOST_IN_ERROR)
            raise DeadlockError(f"{first}: {'; '.join(lines)}", self)
        return self

    def deadlock_lines(self, model: str = "", most: int = 8) -> list[str]:
        """Return lines on a deadlock: how many ranks are blocked, by which model, and the waits of the first ones."""
        first_of: dict[int, str] = {}
        for blocked in self.blocked:
            first_of.setdefault(blocked.rank, str(blocked))
        with_model = f", {model}" if model else ""
        least = "at least " if len(self.blocked) >= _MOST_KNOWN else ""
        lines = [f"deadlock: {least}{len(first_of)} of {self.ends.size} ranks never end{with_model}"]
        lines += [line for _, line in sorted(first_of.items())[:most]]
        if len(first_of) > most:
            lines.append(f"and {len(first_of) - most} more ranks")
        return lines

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the times of ranks by state as columns.

        Returns
        -------
        dict of str to list
            A row for each rank: ``rank``, ``ends``, and the seconds in each state of `SIMULATED`, in small letters.
        """
        spent = {state.name.lower(): self.spent[:, state].tolist() for state in SIMULATED}
        return {"rank": list(range(self.ends.size)), "ends": self.ends.tolist(), **spent}


_PROGRAM_CALLS = {Code.SEND: "MPI_Send", Code.RECV: "MPI_Recv", Code.WAIT: "MPI_Wait", Code.WAITALL: "MPI_Waitall",
                  Code.AWAIT: "MPI_Probe", Code.SSEND: "MPI_Ssend"}  # fmt: skip


def from_record(
    record: Mapping[str, Any],
    model: str,
    wall_seconds: float,
    *,
    unit: float = 1.0,
    calls: Mapping[Code, str] = _PROGRAM_CALLS,
    place: Callable[[int, int], tuple[str, str]] | None = None,
    further: Mapping[str, Any] = MappingProxyType({}),
) -> SimulationResult:
    """Return the result that an engine's record gives.

    Parameters
    ----------
    record : mapping
        What the engine's function returned.
    model : str
    wall_seconds : float
    unit : float
        Seconds of the engine's unit of time.
    calls : mapping
        Code of the operation that hangs -> name of the call.
    place : callable, optional
        Of a program that runs: rank, number of the operation that hangs -> name of the call, and its site.
    further : mapping
        Other fields of the result.
    """
    rows = {
        name: record[name].view(dtype)
        for name, dtype in (("intervals", INTERVAL), ("transfers", MESSAGE), ("marks", MARK))
    }
    if unit != 1.0:
        for name, columns in (("intervals", ("start", "end")), ("transfers", ("posted", "left", "arrived"))):
            for column in columns:
                rows[name][column] *= unit
    blocked = []
    for rank, code, sends, peer, tag, line, size in record["hanging"].tolist():
        call, site = calls[Code(code)] + (f" (line {line})" if line else ""), ""
        if place is not None:
            call, site = place(rank, line)
        blocked.append(BlockedRank(rank, call, "receive" if sends else "message", peer, tag, size, site))
    ends, spent = record["ends"] * unit, record["spent"].reshape(-1, len(SIMULATED)) * unit
    for rank in {hanging.rank for hanging in blocked}:  # it waits until the end
        spent[rank, State.WAIT] += max(ends.max() - spent[rank].sum(), 0.0)
    counts = {name: record[name] for name in ("messages", "events", "solver_calls", "unmatched_messages")}
    return SimulationResult(
        ends=ends,
        spent=spent,
        link_bytes=record["link_bytes"],
        link_work=record["link_work"],
        blocked=tuple(blocked),
        wall_seconds=wall_seconds,
        model=model,
        **rows,
        **counts,
        **further,
    )
