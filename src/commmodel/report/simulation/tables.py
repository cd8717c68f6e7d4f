"""Tables of simulations: times, states of ranks, busiest links. Main entry: `summary_tables`."""

from collections.abc import Sequence

import numpy as np

from commmodel.report.kit.cells import error_words
from commmodel.report.kit.tables import NOTHING, Cell, Table, left, plain_rows, right
from commmodel.simulate.states import STATE_NAMES
from commmodel.simulate.summary import RunSummary, breakdown, busiest_links
from commmodel.simulate.timeline import Timeline
from commmodel.simulate.what_if import PredictedRun
from commmodel.units import format_quantity, format_rate, format_ratio, format_time

_MOST_RANKS = 128


def _beside(summary: RunSummary, first: RunSummary) -> str:
    if summary is first or first.seconds <= 0:
        return ""
    return error_words(summary.seconds / first.seconds - 1)


def _time_table(title: str, summaries: Sequence[RunSummary]) -> Table:
    """Return the simulated program, its time, and the cost of the simulation."""
    several = len(summaries) > 1
    rows = []
    for summary in summaries:
        run = summary.result
        counts = ("", "", "") if run is None else (str(run.messages), str(run.events), format_time(run.wall_seconds))
        beside = (_beside(summary, summaries[0]),) if several else ()
        rows.append((summary.name, format_time(summary.seconds), *beside, *counts))
    difference = [f"difference from {summaries[0].name}"] * several
    columns = right("simulated time", *difference, "messages", "events", "wall time")
    return Table(title, (*left("model"), *columns), plain_rows(rows))


def _state_table(title: str, summary: RunSummary) -> Table:
    rows = (
        (
            state.state,
            *map(format_time, (state.mean, state.least, state.most)),
            format_ratio(state.mean / summary.seconds) if summary.seconds else "",
        )
        for state in breakdown(summary)
        if state.most > 0
    )
    return Table(title, (*left("state"), *right("mean", "least", "most", "of the time")), plain_rows(rows))


def volume(carried: float) -> str:
    """Return bytes in three digits, for sums over links."""
    return format_rate(carried).removesuffix("/s")


def _link_table(title: str, summary: RunSummary) -> Table:
    rows = ((link.name, volume(link.carried), format_ratio(link.share)) for link in busiest_links(summary))
    return Table(title, (*left("link"), *right("carried", "of its capacity")), plain_rows(rows))


def summary_tables(summaries: Sequence[RunSummary], *, title: str = "", all_links: bool = False) -> list[Table]:
    """Return the times, the states of ranks, and the busiest links of the first or of all simulations."""
    several = len(summaries) > 1 or all_links
    links = []
    tables = [_time_table(title, summaries)]
    for place, summary in enumerate(summaries):
        of = f", {summary.name}" * several
        tables.append(_state_table(f"Time of ranks{of}", summary))
        if all_links or not place:
            links.append(_link_table(f"Busiest links{of * all_links}", summary))
    return [*tables, *(table for table in links if table.rows), *_energy_tables(summaries)]


def use_cells(runs: Sequence[PredictedRun]) -> tuple[list[str], list[list[Cell]]]:
    """Return the heads of energy and price, as far as a run has them, and their cells of each run."""
    joules = [NOTHING if run.joules is None else Cell(format_quantity(run.joules, "J")) for run in runs]
    prices = [NOTHING if run.price is None else Cell(f"{run.price:.4g}") for run in runs]
    columns = {"energy": joules, "price": prices}
    columns = {head: cells for head, cells in columns.items() if any(cell is not NOTHING for cell in cells)}
    return [*columns], [[cells[number] for cells in columns.values()] for number in range(len(runs))]


def _energy_tables(summaries: Sequence[RunSummary]) -> list[Table]:
    """Return the energy and the price of simulations, where a platform says the power or the price of its hosts."""
    rows = []
    for summary in summaries:
        use = None if summary.result is None else summary.result.energy
        if use is None:
            continue
        joules = use.used_joules
        used = "" if joules is None else format_quantity(joules, "J")
        power = "" if joules is None or summary.seconds <= 0 else format_quantity(joules / summary.seconds, "W")
        idle = format_quantity(use.idle_joules, "J") if use.idle_joules else ""
        rows.append((summary.name, used, power, idle, "" if use.price is None else f"{use.price:.4g}"))
    columns = (*left("model"), *right("energy of its hosts", "their power", "of idle hosts", "price"))
    return [Table("Energy and price", columns, plain_rows(rows))] if rows else []


def verdict(timeline: Timeline, summary: RunSummary | None = None) -> str:
    """Return a sentence: how long a run takes, what its ranks do most of that time, and which link is the busiest.

    Parameters
    ----------
    timeline : Timeline
    summary : RunSummary or None
        Of the same run; without it no link is known.
    """
    rows = timeline.intervals
    spent = np.bincount(rows["state"], rows["end"] - rows["start"], len(STATE_NAMES))
    share = format_ratio(float(spent.max()) / (timeline.processes * timeline.seconds or 1.0))
    parts = [
        f"{timeline.name}: {format_time(timeline.seconds)}",
        f"ranks spend {share} of it in {STATE_NAMES[int(spent.argmax())]}",
    ]
    if summary is not None:
        parts += [
            f"the busiest link, {link.name}, carries {format_ratio(link.share)} of what it can"
            for link in busiest_links(summary, 1)
        ]
    return f"{'; '.join(parts)}."


def rank_tables(summaries: Sequence[RunSummary]) -> list[Table]:
    """Return the times in each state for the first ranks, a table per model."""
    tables = []
    for summary in summaries:
        times = zip(summary.ends[:_MOST_RANKS].tolist(), summary.spent[:_MOST_RANKS].tolist(), strict=True)
        rows = plain_rows(
            (str(rank), *(format_time(value) if value else "0" for value in (end, *spent)))
            for rank, (end, spent) in enumerate(times)
        )
        columns = right("rank", "end", *STATE_NAMES[: summary.spent.shape[1]])
        left_out = summary.ends.size - len(rows)
        notes = (f"And {left_out} more ranks.",) if left_out else ()
        tables.append(Table(f"Ranks, {summary.name}", columns, rows, notes))
    return tables
