"""Page of predicted run times of scaled and of several platforms. Main entry: `write_what_if`."""

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from commmodel.files import write_text
from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Bullets, Figures, Plot, Section
from commmodel.report.kit.canvas import cycled_styles, draw_series, legend_of, new_canvas
from commmodel.report.kit.pages import render_page
from commmodel.report.simulation.what_if import factor_names, place_words, prediction_table, states_of, verdicts
from commmodel.signatures import checked
from commmodel.simulate.states import COLOURS, IDLE, STATE_NAMES
from commmodel.simulate.what_if import PredictedRun
from commmodel.units import format_time

_MOST_BARS = 48
_STATE_COLOURS = {STATE_NAMES[state]: pair for state, pair in COLOURS.items()} | {IDLE: ("#dfe3e7", "#3a4149")}


def _curves(predictions: Sequence[PredictedRun], name: str, key: str) -> Plot:
    """Return the plot of the run time over a factor, a series for all that is equal otherwise."""
    series: dict[str, list[PredictedRun]] = defaultdict(list)
    for prediction in predictions:
        rest_of_scale = replace(prediction.scale, **{name: 1.0})
        rest = f", {rest_of_scale}" if factor_names([replace(prediction, scale=rest_of_scale)]) else ""
        series[f"{place_words(prediction)}{rest}"].append(prediction)
    canvas = new_canvas()
    styles, colours = cycled_styles(series)
    for index, rows in enumerate(series.values()):
        places = [getattr(row.scale, name) for row in rows]
        values = [row.seconds for row in rows]
        tips = [f"{name} × {place:g}: {format_time(value)}" for place, value in zip(places, values, strict=True)]
        draw_series(canvas, places, values, tips, f"{key}-{index}", styles[index])
    legend_of(canvas, styles, columns=1)
    look.count_axis(canvas.axes, [getattr(row.scale, name) for row in predictions], f"factor of {name}")
    look.log_axis(canvas.axes, canvas.shown, "s", "run time")
    words = f"Predicted run time where the {name} is so many times what it is."
    return canvas.finish(key, f"Run time over {name}", words, colours)


def _bars(predictions: Sequence[PredictedRun]) -> Plot:
    """Return the plot of what ranks do in each run, in the mean."""
    canvas = new_canvas()
    shown = predictions[:_MOST_BARS]
    places = range(1, len(shown) + 1)
    bottom = [0.0] * len(shown)
    colours = {state: _STATE_COLOURS[state] for state in states_of(shown)}
    for name, (colour, _) in colours.items():
        heights = [prediction.ranks[name].mean for prediction in shown]
        canvas.axes.bar(places, heights, 0.8, bottom, color=colour)
        bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
    handles = [Patch(color=colour, label=name) for name, (colour, _) in colours.items()]
    look.legend(canvas.figure, handles, columns=len(handles))
    canvas.axes.set_xlabel("run")
    canvas.axes.set_xlim(0.3, len(shown) + 0.7)
    canvas.axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    canvas.axes.grid(visible=False, axis="x")
    look.linear_axis(canvas.axes, bottom, "s", "time of ranks, mean")
    left_out = f" The first {_MOST_BARS} runs of {len(predictions)}." if len(shown) < len(predictions) else ""
    words = f"What ranks do in each run of the table, in the mean over the ranks.{left_out}"
    return canvas.finish("what-if-ranks", "Time of ranks", words, look.FIXED_COLOURS | dict(colours.values()))


@checked
def write_what_if(path: str | os.PathLike[str], name: str, predictions: Sequence[PredictedRun]) -> None:
    """Write the page; a file that is there is replaced.

    Parameters
    ----------
    name : str
        What was run.
    predictions : sequence of PredictedRun
        In the order of the table.
    """
    finished = [prediction for prediction in predictions if not prediction.blocked and prediction.seconds > 0]
    varied = [
        factor
        for factor in (factor_names(finished) if finished else ())
        if len({getattr(prediction.scale, factor) for prediction in finished}) > 1
    ]
    with look.style():
        plots = [_curves(finished, factor, f"what-if-{factor}") for factor in varied]
        plots += [_bars(predictions)] if finished else []
    sentences = (Bullets(tuple(lines)),) if (lines := verdicts(predictions)) else ()
    blocks = (*sentences, prediction_table(predictions, "Run times"), *((Figures(tuple(plots)),) if plots else ()))
    sections = [Section("What if", blocks)]
    write_text(path, render_page(name, f"What if: {name}", "Predicted run times", sections))
