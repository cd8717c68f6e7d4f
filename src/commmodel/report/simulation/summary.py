"""What a simulation found, for the terminal and for the page: times, what ranks spent them on, the busiest links.

Main entries: `Result`, `result_tables` and `result_parts`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from commmodel.report.kit.cells import Cell
from commmodel.report.kit.terminal import new_table, text
from commmodel.report.measurements.other_kernels import PartTable
from commmodel.report.simulation.link_load import LinkLoad, link_loads
from commmodel.simulate.result import SimulationResult
from commmodel.simulate.timeline import DRAWN_NAMES, Timeline, split_waits
from commmodel.units import format_rate, format_ratio, format_time

__all__ = [
    "Result", "breakdown", "busiest_links", "deadlock_lines", "loads_of", "rank_parts", "result_as_json",
    "result_parts", "result_tables", "spent_in_states",
]  # fmt: skip

_MOST_LINKS = 8
_MOST_BLOCKED = 8
_MOST_RANKS = 128
_MOST_NAMED = 10_000
"""Requests that the engines name of a deadlock at most."""
_ROUNDING = 1e-9
"""Share of the time that sums of states may be off by."""


@dataclass(frozen=True)
class Result:
    """A simulation, or a measured timeline set beside it.

    Attributes
    ----------
    name : str
        The model, or the measured timeline.
    seconds : float
    ends : float64 array, shape (processes,)
    spent : float64 array, shape (processes, states)
        In the order of `DRAWN_NAMES`; without the last where waits are not told apart.
    outcome : SimulationResult, optional
        Of a simulation.
    link_names : sequence of str
    capacity : float64 array, shape (links,)
        Empty for models without links.
    """

    name: str
    seconds: float
    ends: NDArray[np.float64]
    spent: NDArray[np.float64]
    outcome: SimulationResult | None = None
    link_names: Sequence[str] = ()
    capacity: NDArray[np.float64] | None = None


class Spent(NamedTuple):
    """Seconds over ranks in one state."""

    state: str
    mean: float
    least: float
    most: float


class LinkUse(NamedTuple):
    """What a link carried, and the share of what it could have carried in all the time."""

    name: str
    carried: float
    share: float
    number: int


def breakdown(result: Result) -> list[Spent]:
    """Return mean, least and most seconds of the ranks in each state; and idle, what is left until the last end."""
    idle = result.seconds - result.spent.sum(axis=1)
    idle = np.where(idle > _ROUNDING * result.seconds, idle, 0.0)
    columns = [*zip(DRAWN_NAMES, result.spent.T, strict=False), ("idle", idle)]
    return [Spent(name, float(each.mean()), float(each.min()), float(each.max())) for name, each in columns]


def busiest_links(result: Result, most: int = _MOST_LINKS) -> list[LinkUse]:
    """Return the links of which the largest share was used, the busiest first; those that carried nothing not."""
    outcome, capacity = result.outcome, result.capacity
    if outcome is None or capacity is None or outcome.link_bytes.size != capacity.size or result.seconds <= 0:
        return []
    shares = outcome.link_bytes / capacity / result.seconds
    order = np.lexsort((np.arange(shares.size), -outcome.link_bytes, -shares))[:most]
    return [
        LinkUse(result.link_names[link], float(outcome.link_bytes[link]), float(shares[link]), link)
        for link in order.tolist()
        if outcome.link_bytes[link] > 0
    ]


def spent_in_states(timeline: Timeline) -> NDArray[np.float64]:
    """Return the seconds of each rank in each of `DRAWN_NAMES`, waits told apart, shape (processes, states)."""
    rows = split_waits(timeline)
    spent = np.zeros((timeline.processes, len(DRAWN_NAMES)))
    np.add.at(spent, (rows["rank"], rows["state"]), rows["end"] - rows["start"])
    return spent


def loads_of(
    result: Result, hosts: NDArray[np.int64], route: Callable[[int, int], list[int]], seconds: float
) -> list[LinkLoad]:
    """Return the load over time of the busiest links, on a time axis of so many seconds."""
    ran, capacity = result.outcome, result.capacity
    if ran is None or capacity is None:
        return []
    links = [(one.number, one.name, float(capacity[one.number])) for one in busiest_links(result)]
    return link_loads(links, ran.transfers, hosts, route, ran.link_bytes, seconds)


def _beside(result: Result, first: Result) -> str:
    if result is first or first.seconds <= 0:
        return ""
    return f"{100 * (result.seconds / first.seconds - 1):+.1f} %"


def _times(results: Sequence[Result]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return headings and rows: what was simulated, how long it takes and what the simulation took."""
    several = len(results) > 1
    rows = []
    for one in results:
        ran = one.outcome
        counts = ("", "", "") if ran is None else (str(ran.messages), str(ran.events), format_time(ran.wall_seconds))
        beside = (_beside(one, results[0]),) if several else ()
        rows.append((one.name, format_time(one.seconds), *beside, *counts))
    more = ("beside the first",) if several else ()
    return ("model", "simulated time", *more, "messages", "events", "wall time"), rows


def _spent_rows(result: Result) -> list[tuple[str, ...]]:
    return [
        (one.state, *map(format_time, one[1:]), format_ratio(one.mean / result.seconds) if result.seconds else "")
        for one in breakdown(result)
        if one.most > 0
    ]


_SPENT = ("state", "mean", "least", "most", "of the time")
_LINKS = ("link", "carried", "of its capacity")


def _volume(carried: float) -> str:
    """Return bytes in three digits: those of links are sums, of which nobody wants every byte."""
    return format_rate(carried).removesuffix("/s")


def _link_rows(result: Result) -> list[tuple[str, ...]]:
    return [(one.name, _volume(one.carried), format_ratio(one.share)) for one in busiest_links(result)]


def _table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    sides = ["left", *["right"] * (len(headings) - 1)]
    table = new_table(title, list(zip(headings, sides, strict=True)))
    for row in rows:
        table.add_row(*map(text, row))
    return table


def result_tables(results: Sequence[Result]) -> list[Table]:
    """Return the tables for the terminal: times; for each, what ranks spent their time on; the first's busy links."""
    tables = [_table("", *_times(results))]
    for one in results:
        title = f"Time of ranks, {one.name}" if len(results) > 1 else "Time of ranks"
        tables.append(_table(title, _SPENT, _spent_rows(one)))
    links = _link_rows(results[0])
    return [*tables, _table("Busiest links", _LINKS, links)] if links else tables


def _part(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], hint: str = "") -> PartTable:
    return PartTable(title, tuple(headings), tuple(tuple(Cell(word) for word in row) for row in rows), hint)


def result_parts(results: Sequence[Result]) -> list[PartTable]:
    """Return the same tables for the page."""
    parts = [_part("Times", *_times(results))]
    for one in results:
        parts.append(_part(f"Time of ranks, {one.name}", _SPENT, _spent_rows(one)))
        if links := _link_rows(one):
            parts.append(_part(f"Busiest links, {one.name}", _LINKS, links))
    return parts


def rank_parts(results: Sequence[Result]) -> list[PartTable]:
    """Return what each of the first ranks spent its time on, a table for each model."""
    parts = []
    for one in results:
        headings = ("rank", "end", *DRAWN_NAMES[: one.spent.shape[1]])
        rows = [
            (str(rank), *(format_time(value) if value else "0" for value in (end, *spent)))
            for rank, (end, spent) in enumerate(
                zip(one.ends[:_MOST_RANKS].tolist(), one.spent[:_MOST_RANKS].tolist(), strict=True)
            )
        ]
        left_out = one.ends.size - len(rows)
        parts.append(_part(f"Ranks, {one.name}", headings, rows, f"And {left_out} more ranks." if left_out else ""))
    return parts


def result_as_json(result: Result) -> dict[str, Any]:
    """Return a result for ``--json``, the names that scripts rely on first."""
    ran = result.outcome
    said: dict[str, Any] = {
        "seconds": result.seconds,
        "messages": None if ran is None else ran.messages,
        "events": None if ran is None else ran.events,
        "wall_seconds": None if ran is None else ran.wall_seconds,
        "model": result.name,
        "processes": result.ends.size,
        "breakdown": {one.state: {"mean": one.mean, "least": one.least, "most": one.most} for one in breakdown(result)},
        "links": [{"name": one.name, "bytes": one.carried, "share": one.share} for one in busiest_links(result)],
    }
    if ran is not None:
        said |= {"solver_calls": ran.solver_calls, "unmatched_messages": ran.unmatched_messages}
    return said


def deadlock_lines(outcome: SimulationResult, named: str = "") -> list[str]:
    """Return what there is to say of a deadlock: how many ranks hang, and of the first, what each waits for."""
    first_of: dict[int, str] = {}
    for one in outcome.blocked:
        first_of.setdefault(one.rank, str(one))
    count, processes = len(first_of), outcome.ends.size
    with_model = f", {named}" if named else ""
    least = "at least " if len(outcome.blocked) >= _MOST_NAMED else ""
    said = [f"deadlock: {least}{count} of {processes} ranks never end{with_model}"]
    said += [line for _, line in sorted(first_of.items())[:_MOST_BLOCKED]]
    if count > _MOST_BLOCKED:
        said.append(f"and {count - _MOST_BLOCKED} more ranks")
    return said
