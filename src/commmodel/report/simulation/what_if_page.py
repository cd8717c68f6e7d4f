"""Page of predicted run times of scaled and of several platforms. Main entry: `write_what_if`."""

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from textwrap import fill
from typing import Any

from matplotlib.patches import Patch

from commmodel.files import write_text
from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Bullets, Figures, Plot, Section
from commmodel.report.kit.canvas import cycled_styles, draw_series, legend_of, new_canvas
from commmodel.report.kit.pages import render_page
from commmodel.report.simulation.what_if import (
    baseline_first,
    factor_names,
    prediction_table,
    run_words,
    states_of,
    verdicts,
)
from commmodel.signatures import checked
from commmodel.simulate.scenario import Scale
from commmodel.simulate.states import COLOURS, IDLE, STATE_NAMES
from commmodel.simulate.what_if import PredictedRun
from commmodel.units import format_time

_MOST_BARS = 24
_WIDE = 28
"""Letters of a bar's name on one line."""
_ANSWER = 2
"""Sentences in large type: the run as it is, and the fastest."""
_AS_IT_IS = str(Scale())
_STATE_COLOURS = {STATE_NAMES[state]: pair for state, pair in COLOURS.items()} | {IDLE: ("#dfe3e7", "#3a4149")}


def _curves(predictions: Sequence[PredictedRun], name: str, key: str) -> Plot:
    """Return the plot of the run time over a factor, a series for all that is equal otherwise."""
    series: dict[str, list[PredictedRun]] = defaultdict(list)
    as_it_is: Any = {name: 1.0}
    rests = [replace(prediction, scale=replace(prediction.scale, **as_it_is)) for prediction in predictions]
    for prediction, rest in zip(predictions, rests, strict=True):
        series[f"else {words}" if (words := run_words(rest, rests)) == _AS_IT_IS else words].append(prediction)
    canvas = new_canvas()
    styles, colours = cycled_styles(series)
    for index, rows in enumerate(series.values()):
        rows.sort(key=lambda row: getattr(row.scale, name))
        places = [getattr(row.scale, name) for row in rows]
        values = [row.seconds for row in rows]
        tips = [f"{name} × {place:g}: {format_time(value)}" for place, value in zip(places, values, strict=True)]
        draw_series(canvas, places, values, tips, f"{key}-{index}", styles[index])
    legend_of(canvas, styles, columns=1)
    look.count_axis(canvas.axes, [getattr(row.scale, name) for row in predictions], f"{name}, times what it is")
    look.log_axis(canvas.axes, canvas.shown, "s", "run time")
    words = f"Predicted run time where the {name} is so many times what it is; 1 is as it is."
    return canvas.finish(key, f"Run time over {name}", words, colours)


def _bars(predictions: Sequence[PredictedRun]) -> Plot:
    """Return the plot of what ranks do in each run, in the mean."""
    shown = predictions[:_MOST_BARS]
    canvas = new_canvas()
    labels = [fill(f"{run_words(run, shown)} ({number})", _WIDE) for number, run in enumerate(shown, 1)]
    lines = max(label.count("\n") for label in labels) + 1
    canvas.figure.set_figheight(max(2.2, 1.3 + (0.14 + 0.16 * lines) * len(shown)))
    places = range(1, len(shown) + 1)
    ends = [0.0] * len(shown)
    colours = {state: _STATE_COLOURS[state] for state in states_of(shown)}
    for name, (colour, _) in colours.items():
        widths = [prediction.ranks[name].mean for prediction in shown]
        canvas.axes.barh(places, widths, 0.75, ends, color=colour)
        ends = [end + width for end, width in zip(ends, widths, strict=True)]
    handles = [Patch(color=colour, label=name) for name, (colour, _) in colours.items()]
    look.legend(canvas.figure, handles, columns=min(len(handles), 4))
    canvas.axes.set_yticks(places, labels)
    canvas.axes.set_ylim(len(shown) + 0.6, 0.4)
    canvas.axes.grid(visible=False, axis="y")
    look.linear_axis(canvas.axes, ends, "s", "time of ranks, mean", is_vertical=False)
    left_out = f" The first {_MOST_BARS} runs of {len(predictions)}." if len(shown) < len(predictions) else ""
    words = f"What ranks do in each run, whose number is in brackets, in the mean over the ranks.{left_out}"
    return canvas.finish("what-if-ranks", "Time of ranks", words, look.FIXED_COLOURS | dict(colours.values()))


@checked
def write_what_if(path: str | os.PathLike[str], name: str, predictions: Sequence[PredictedRun]) -> None:
    """Write the page; a file that is there is replaced.

    Parameters
    ----------
    name : str
        What was run.
    predictions : sequence of PredictedRun
        In the order of the table, but for the baseline, which comes first: the first place as it is.
    """
    predictions = baseline_first(predictions)
    finished = [prediction for prediction in predictions if not prediction.blocked and prediction.seconds > 0]
    varied = [
        factor
        for factor in (factor_names(finished) if finished else ())
        if len({getattr(prediction.scale, factor) for prediction in finished}) > 1
    ]
    with look.style():
        plots = [_curves(finished, factor, f"what-if-{factor}") for factor in varied]
        plots += [_bars(predictions)] if finished else []
    lines = verdicts(predictions)
    answer, sentences = lines[:_ANSWER], tuple(lines[_ANSWER:])
    changes = (Bullets(sentences),) if sentences else ()
    blocks = (*changes, prediction_table(predictions, "Run times"), *((Figures(tuple(plots)),) if plots else ()))
    sections = [Section("What if", blocks)]
    write_text(path, render_page(name, f"What if: {name}", "Predicted run times", sections, answer=answer))
