"""Page of Gantt charts: simulated ranks, two timelines below each other, tables of where time went.

The page's script draws on canvases from numbers inside the file; without it, the page shows an overview as SVG. The
page's policy allows this one script, by its hash, and nothing from outside. Main entries: `render`, `write_gantt`.
"""

import base64
import hashlib
import json
import math
import os
from collections.abc import Sequence

from markupsafe import Markup

from commmodel.errors import InputError
from commmodel.files import write_text
from commmodel.report.kit.blocks import Block, Section, folded
from commmodel.report.kit.pages import render_page, template_text
from commmodel.report.simulation.gantt import LETTERS, MOST_INTERVALS, MOST_MESSAGES, Chart, chart, shares
from commmodel.report.simulation.tables import rank_tables, summary_tables, verdict
from commmodel.signatures import checked
from commmodel.simulate.critical_path import CriticalPath
from commmodel.simulate.link_load import COLUMNS, LinkLoad
from commmodel.simulate.states import COLOURS, STATE_NAMES
from commmodel.simulate.summary import RunSummary
from commmodel.simulate.timeline import Timeline
from commmodel.units import format_time

_WIDTH, _BAND, _TOP = 720, 9, 4
_LEFT = 70


def render(
    name: str,
    timelines: Sequence[Timeline],
    summaries: Sequence[RunSummary] = (),
    loads: Sequence[Sequence[LinkLoad]] = (),
    critical_path: CriticalPath | None = None,
    path_tables: Sequence[Block] = (),
) -> str:
    """Return the page; it refers to nothing outside itself."""
    seconds = axis_seconds(timelines)
    if seconds <= 0:
        raise InputError("nothing to draw: no rank was in any state for any time")
    intervals = shares([timeline.intervals.size for timeline in timelines], MOST_INTERVALS)
    messages = shares([timeline.transfers.size for timeline in timelines], MOST_MESSAGES)
    charts = [
        chart(
            timeline,
            seconds,
            intervals[number],
            messages[number],
            loads[number] if number < len(loads) else (),
            None if number else critical_path,
        )
        for number, timeline in enumerate(timelines)
    ]
    states = sorted({state for chart in charts for state in chart.states})
    folds = (folded(table, is_open=False) for table in rank_tables(summaries))
    summary: list[Block] = [*summary_tables(summaries, title="Times", all_links=True)] if summaries else []
    tables = [*summary, *path_tables, *folds]
    script = template_text("gantt.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    data = {
        "seconds": seconds,
        "states": STATE_NAMES,
        "letters": [LETTERS[state] for state in range(len(STATE_NAMES))],
        "columns": COLUMNS,
        "charts": [chart.data for chart in charts],
    }
    return render_page(
        name,
        f"Timeline: {name}",
        "Simulated run" if summaries or all(timeline.is_simulated for timeline in timelines) else "Recorded run",
        [Section("Results", tuple(tables))],
        [f"model {summary.name}" if summary.result else f"measured: {summary.name}" for summary in summaries],
        "gantt.html",
        policy=Markup(f"; script-src 'sha256-{digest}'"),  # noqa: S704  (base64)
        script=Markup(script),  # noqa: S704  (our own file)
        gantt_css=Markup(template_text("gantt.css")),  # noqa: S704  (our own file)
        light_states=Markup(_variables(0)),  # noqa: S704  (hex colours)
        dark_states=Markup(_variables(1)),  # noqa: S704  (hex colours)
        data=Markup(_inside_script(data)),  # noqa: S704  (JSON without < and &)
        legend=[(STATE_NAMES[state], LETTERS[state], state) for state in states],
        has_messages=any(chart.messages for chart in charts),
        has_loads=any(loads),
        has_path=critical_path is not None,
        charts=[(chart, Markup(_svg(chart, number, seconds)), _left_out(chart))  # noqa: S704  (drawn from numbers)
                for number, chart in enumerate(charts)],
        verdicts=[
            verdict(timeline, summaries[number] if number < len(summaries) else None)
            for number, timeline in enumerate(timelines)
        ],
        seconds=format_time(seconds),
        ends=[format_time(chart.seconds) for chart in charts],
    )  # fmt: skip


@checked
def write_gantt(
    path: str | os.PathLike[str],
    name: str,
    timelines: Sequence[Timeline],
    summaries: Sequence[RunSummary] = (),
    loads: Sequence[Sequence[LinkLoad]] = (),
    critical_path: CriticalPath | None = None,
    path_tables: Sequence[Block] = (),
) -> None:
    """Write the page; a file that is there is replaced.

    Parameters
    ----------
    name : str
        What was simulated.
    timelines : sequence of Timeline
        One chart each, on one time axis.
    summaries : sequence of RunSummary
        Of the same runs, for the tables below the charts.
    loads : sequence of sequences of LinkLoad
        Links whose load is drawn below each of the first charts, on the page's time axis (`axis_seconds`).
    critical_path : CriticalPath, optional
        Of the first timeline's run, drawn as a line over its chart.
    path_tables : sequence of blocks
        Tables of the path.

    Raises
    ------
    InputError
        Where no timeline holds an interval, or the file cannot be written.
    """
    write_text(path, render(name, timelines, summaries, loads, critical_path, path_tables))


def axis_seconds(timelines: Sequence[Timeline]) -> float:
    """Return the length of the time axis that the timelines of a page share, in seconds."""
    ends = (max(timeline.seconds, float(timeline.transfers["arrived"].max(initial=0.0))) for timeline in timelines)
    return max(ends, default=0.0)


def _variables(column: int) -> str:
    return "; ".join(f"--state-{state}: {colours[column]}" for state, colours in sorted(COLOURS.items()))


def _inside_script(data: object) -> str:
    """Return JSON that cannot end the element that it stands in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _left_out(chart: Chart) -> str:
    """Return what the page does not hold of a chart, in words."""
    sentences = []
    if chart.resolution > 0:
        sentences.append(
            f"{chart.intervals:,} intervals are drawn as {chart.shown:,} pieces: those shorter than "
            f"{format_time(chart.resolution)} are put together with their neighbours."
        )
    if chart.shown_messages < chart.messages:
        sentences.append(f"Of {chart.messages:,} messages {chart.shown_messages:,} are drawn, the largest.")
    return " ".join(sentences)


def _nice(step: float) -> float:
    """Return the least of 1, 2, 5 × 10^k that is no less."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= 0.999999 * step)


def _svg(chart: Chart, number: int, seconds: float) -> str:
    """Return the overview: bands of ranks, a path for each state, a few times below."""
    columns = 240
    scale = (_WIDTH - _LEFT) / columns
    band = max(_BAND, math.ceil(96 / max(len(chart.bands), 1)))  # two ranks alone would be thin
    height = _TOP + band * len(chart.bands)
    paths: dict[int, list[str]] = {state: [] for state in range(len(STATE_NAMES))}
    for row, runs in enumerate(chart.bands):
        top = _TOP + band * row
        for state, begin, end in runs:
            width = (end - begin) * scale
            paths[state].append(f"M{_LEFT + begin * scale:.4g} {top}h{width:.4g}v{band - 1}h-{width:.4g}z")
    drawn = "".join(f'<path fill="var(--state-{state})" d="{"".join(path)}"/>' for state, path in paths.items() if path)
    step = _nice(seconds / 5)
    ticks = "".join(
        f'<text x="{_LEFT + (_WIDTH - _LEFT) * index * step / seconds:.5g}" y="{height + 14}" text-anchor="middle">'
        f"{format_time(index * step) if index else '0'}</text>"
        for index in range(int(seconds / step * 0.98) + 1)
    )
    rows = math.ceil(len(chart.bands) / 12)
    labels = "".join(
        f'<text x="{_LEFT - 6}" y="{_TOP + band * row + band / 2 + 4:g}" text-anchor="end">'
        f"{-(-row * chart.processes // len(chart.bands))}</text>"
        for row in range(0, len(chart.bands), rows)
    )
    return (
        f'<svg class="overview" id="overview-{number}" role="img" viewBox="0 0 {_WIDTH + 30} {height + 20}" '
        f'aria-label="Overview: the state of each rank over {format_time(seconds)}" font-size="11" '
        f'fill="currentColor"><g>{drawn}</g>{ticks}{labels}</svg>'
    )
