"""Page of run times on several numbers of processes. Main entry: `write_sizes`."""

import os
from collections.abc import Sequence

from commmodel.files import write_text
from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Figures, Plot, Section
from commmodel.report.kit.canvas import cycled_styles, draw_series, legend_of, new_canvas
from commmodel.report.kit.pages import render_page
from commmodel.report.simulation.sizes import computes, is_complete, size_table, verdict
from commmodel.signatures import checked
from commmodel.simulate.sizes import SizedRun
from commmodel.units import format_ratio, format_time


def _times(runs: Sequence[SizedRun]) -> Plot:
    """Return the plot of the run time over the number of processes, of a program beside that of an efficiency of 1."""
    canvas = new_canvas()
    series = {"run time": [run.seconds for run in runs]}
    if computes(runs):
        series[f"as efficient as {runs[0].processes} ranks"] = [run.seconds * run.efficiency for run in runs]
    styles, colours = cycled_styles(series)
    places = [float(run.processes) for run in runs]
    for index, values in enumerate(series.values()):
        tips = [f"{run.processes} ranks: {format_time(value)}" for run, value in zip(runs, values, strict=True)]
        draw_series(canvas, places, values, tips, f"sizes-time-{index}", styles[index])
    legend_of(canvas, styles)
    look.count_axis(canvas.axes, places, "ranks")
    look.log_axis(canvas.axes, canvas.shown, "s", "run time")
    return canvas.finish("sizes-time", "Run time over ranks", "Run time on so many ranks.", colours)


def _efficiencies(runs: Sequence[SizedRun]) -> Plot:
    """Return the plot of the efficiency and its reasons over the number of processes."""
    canvas = new_canvas()
    has_factors = computes(runs)
    reasons = ("parallel", "load_balance", "serialisation", "transfer") if has_factors else ("transferring", "waiting")
    names = ("efficiency", *reasons) if has_factors else reasons
    styles, colours = cycled_styles([name.replace("_", " ") for name in names])
    for index, name in enumerate(names):
        rows = [run for run in runs if getattr(run, name) is not None]
        values = [getattr(run, name) for run in rows]
        tips = [f"{run.processes} ranks: {format_ratio(value)}" for run, value in zip(rows, values, strict=True)]
        draw_series(canvas, [run.processes for run in rows], values, tips, f"sizes-share-{index}", styles[index])
    legend_of(canvas, styles, columns=3)
    look.count_axis(canvas.axes, [run.processes for run in runs], "ranks")
    look.linear_axis(canvas.axes, [0.0, *canvas.shown], "1", "efficiency and its factors" if has_factors else "share")
    words = (
        "Efficiency against the fewest ranks; parallel efficiency of each run, the product of the other three."
        if has_factors
        else "Shares of the run time in which messages move, and in which ranks wait while none moves, in the mean."
    )
    return canvas.finish(
        "sizes-efficiency", "Efficiency over ranks" if has_factors else "What ranks do", words, colours
    )


@checked
def write_sizes(path: str | os.PathLike[str], name: str, runs: Sequence[SizedRun]) -> None:
    """Write the page; a file that is there is replaced.

    Parameters
    ----------
    name : str
        What was run.
    runs : sequence of SizedRun
        The fewest processes first, as `commmodel.simulate.sizes.sizes` returns them.
    """
    complete = [run for run in runs if is_complete(run) and run.speedup == run.speedup]
    plots: tuple[Plot, ...] = ()
    if len(complete) > 1:
        with look.style():
            plots = (_times(complete), _efficiencies(complete))
    blocks = (size_table(runs, "Run times"), *((Figures(plots),) if plots else ()))
    sections = [Section("Several sizes", blocks)]
    write_text(path, render_page(name, f"Sizes: {name}", "Predicted scaling", sections, answer=[verdict(runs)]))
