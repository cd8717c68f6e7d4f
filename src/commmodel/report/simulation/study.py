"""Table and page of a study's results. Main entries: `study_table`, `write_study`."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from commmodel.files import write_text
from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Figures, Plot, Section
from commmodel.report.kit.canvas import cycled_styles, draw_series, legend_of, new_canvas
from commmodel.report.kit.pages import render_page
from commmodel.report.kit.tables import Table, left, plain_rows, right
from commmodel.signatures import checked
from commmodel.units import format_time

_MOST_ROWS = 200
_MOST_SERIES = 12

Rows = Sequence[Mapping[str, Any]]


def study_table(rows: Rows) -> Table:
    """Return the runs of a study, and how each compares with the first of its program on as many ranks."""
    first: dict[tuple[Any, ...], float] = {}
    cells = []
    for row in rows:
        seconds = row.get("seconds")
        key = (row.get("program"), row.get("processes"))
        if seconds:
            first.setdefault(key, seconds)
        beside = f"{first[key] / seconds:.3g} x" if seconds else ""
        words = (row.get("where"), row.get("program"), row.get("ranks") or row.get("processes") or "",
                 row.get("used_model") or row.get("model") or "", row.get("scale") or "as it is")  # fmt: skip
        time = format_time(seconds) if seconds is not None else str(row.get("error"))
        cells.append((*map(str, words), time, beside))
    more = (f"And {len(cells) - _MOST_ROWS} more runs.",) if len(cells) > _MOST_ROWS else ()
    columns = (*left("where", "program"), *right("ranks"), *left("model", "scale"), *right("time", "speed"))
    notes = ("Speed: against the first run of the program on as many ranks.", *more)
    return Table("Study", columns, plain_rows(cells[:_MOST_ROWS]), notes)


def _series(rows: Rows) -> dict[str, list[tuple[float, float]]]:
    """Return for each program, place, model and scale the run times over the ranks."""
    series: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row.get("seconds") is None:
            continue
        words = (row.get("where"), row.get("program"), row.get("model"), row.get("scale"))
        series.setdefault(", ".join(str(word) for word in words if word), []).append((row["ranks"], row["seconds"]))
    return {name: sorted(points) for name, points in series.items() if len(points) > 1}


def _plot(series: Mapping[str, list[tuple[float, float]]]) -> Plot:
    canvas = new_canvas()
    styles, colours = cycled_styles(series)
    for index, points in enumerate(series.values()):
        places, values = [place for place, _ in points], [value for _, value in points]
        tips = [f"{place:.0f} ranks: {format_time(value)}" for place, value in points]
        draw_series(canvas, places, values, tips, f"study-{index}", styles[index])
    legend_of(canvas, styles)
    look.count_axis(canvas.axes, sorted({place for points in series.values() for place, _ in points}), "ranks")
    look.log_axis(canvas.axes, canvas.shown, "s", "run time")
    return canvas.finish(
        "study-time", "Run time over ranks", "Run times of the study over the number of ranks.", colours
    )


@checked
def write_study(path: str | os.PathLike[str], name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the page; a file that is there is replaced.

    Parameters
    ----------
    name : str
        Of the study.
    rows : sequence of dict
        What `commmodel.simulate.study.read_results` returns.

    Examples
    --------
    >>> import tempfile
    >>> row = {"study": 1, "where": "switch", "program": "ring -n 8", "ranks": 4, "seconds": 2e-6, "error": ""}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_study(os.path.join(folder, "study.html"), "rings", [row])
    """
    series = dict(list(_series(rows).items())[:_MOST_SERIES])
    plots: tuple[Plot, ...] = ()
    if series:
        with look.style():
            plots = (_plot(series),)
    sections = [Section("Study", (study_table(rows), *((Figures(plots),) if plots else ())))]
    write_text(path, render_page(name, f"Study: {name}", "Predicted run times", sections))
