"""Summary of a simulation: what ranks spent their time on, the busiest links, what hangs in a deadlock.

Main entries: `RunSummary`, `breakdown` and `busiest_links`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.simulate.result import SimulationResult
from commmodel.simulate.states import IDLE, STATE_NAMES
from commmodel.simulate.timeline import Timeline

if TYPE_CHECKING:
    from commmodel.simulate.link_load import LinkLoad

_MOST_LINKS = 8
_ROUNDING = 1e-9
"""Share of the time that sums of states may be off by."""


@dataclass(frozen=True)
class RunSummary:
    """A simulation, or a measured timeline set beside it."""

    name: str
    """The model, or the measured timeline."""
    seconds: float
    ends: NDArray[np.float64]
    """Shape (processes,)."""
    spent: NDArray[np.float64]
    """Shape (processes, states). In the order of `commmodel.simulate.states.State`, all of them or the first."""
    result: SimulationResult | None = None
    """Of a simulation."""
    link_names: Sequence[str] = ()
    capacity: NDArray[np.float64] | None = None
    """Shape (links,). Empty for models without links."""


class StateTime(NamedTuple):
    """Seconds over ranks in one state."""

    state: str
    mean: float
    least: float
    most: float


class LinkUse(NamedTuple):
    """Bytes of a link, and their share of its capacity over the simulated time."""

    name: str
    carried: float
    share: float
    number: int


def breakdown(summary: RunSummary) -> list[StateTime]:
    """Return mean, least and most seconds of the ranks in each state; and idle, what is left until the last end."""
    idle = idle_times(summary.spent, summary.seconds)
    columns = [*zip(STATE_NAMES, summary.spent.T, strict=False), (IDLE, idle)]
    return [StateTime(name, float(times.mean()), float(times.min()), float(times.max())) for name, times in columns]


def idle_times(spent: NDArray[np.float64], seconds: float) -> NDArray[np.float64]:
    """Return what each rank's states leave of the time until the last end."""
    idle = seconds - spent.sum(axis=1)
    return np.where(idle > _ROUNDING * seconds, idle, 0.0)


def busiest_links(summary: RunSummary, most: int = _MOST_LINKS) -> list[LinkUse]:
    """Return the links of which the largest share was used, the busiest first. Idle links are omitted."""
    result, capacity = summary.result, summary.capacity
    if result is None or capacity is None or result.link_bytes.size != capacity.size or summary.seconds <= 0:
        return []
    shares = result.link_work / capacity / summary.seconds
    order = np.lexsort((np.arange(shares.size), -result.link_bytes, -shares))[:most]
    return [
        LinkUse(summary.link_names[link], float(result.link_bytes[link]), float(shares[link]), link)
        for link in order.tolist()
        if result.link_bytes[link] > 0
    ]


def summary_of(timeline: Timeline) -> RunSummary:
    """Return the summary of a timeline that is no simulation's."""
    rows = timeline.intervals
    ends = np.zeros(timeline.processes)
    np.maximum.at(ends, rows["rank"], rows["end"])
    spent = np.zeros((timeline.processes, len(STATE_NAMES)))
    np.add.at(spent, (rows["rank"], rows["state"]), rows["end"] - rows["start"])
    return RunSummary(timeline.name, timeline.seconds, ends, spent)


def loads_of(
    summary: RunSummary, hosts: NDArray[np.integer[Any]], route: Callable[[int, int], list[int]], seconds: float
) -> "list[LinkLoad]":
    """Return the load over time of the busiest links, on a time axis of so many seconds."""
    result, capacity = summary.result, summary.capacity
    if result is None or capacity is None:
        return []
    from commmodel.simulate.link_load import link_loads

    links = [(link.number, link.name, float(capacity[link.number])) for link in busiest_links(summary)]
    return link_loads(links, result.transfers, hosts, route, result.link_work, seconds)


def summary_as_json(summary: RunSummary) -> dict[str, Any]:
    """Return a summary for ``--json``, the names that scripts rely on first."""
    result = summary.result
    plain: dict[str, Any] = {
        "seconds": summary.seconds,
        "messages": None if result is None else result.messages,
        "events": None if result is None else result.events,
        "wall_seconds": None if result is None else result.wall_seconds,
        "model": summary.name,
        "processes": summary.ends.size,
        "breakdown": {
            state.state: {"mean": state.mean, "least": state.least, "most": state.most} for state in breakdown(summary)
        },
        "links": [{"name": link.name, "bytes": link.carried, "share": link.share} for link in busiest_links(summary)],
    }
    if result is not None:
        plain |= {"solver_calls": result.solver_calls, "unmatched_messages": result.unmatched_messages}
        if result.energy is not None:
            plain |= {"energy": result.energy.as_json(), "price": result.energy.price}
    return plain
