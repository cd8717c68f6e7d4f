"""Page of a program's run times with noise. Main entry: `write_noise`."""

import os

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from commmodel.files import write_text
from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Bullets, Figures, Plot, Section
from commmodel.report.kit.canvas import new_canvas
from commmodel.report.kit.pages import render_page
from commmodel.report.simulation.noise import noise_lines, noise_table, noise_title
from commmodel.signatures import checked
from commmodel.simulate.noise import NoiseSpread

_MOST_BARS = 30


def _spread_plot(study: NoiseSpread) -> Plot:
    """Return the plot of how many seeds take how long, and the time without noise."""
    canvas = new_canvas()
    [(colour, on_dark)] = look.pair_colours(1)
    count = min(_MOST_BARS, max(5, round(2 * study.seconds.size ** (1 / 3))))
    counts, edges = np.histogram(study.seconds, count)
    canvas.axes.bar(edges[:-1], counts, np.diff(edges), align="edge", color=colour, edgecolor=look.PAPER, linewidth=0.8)
    canvas.axes.axvline(study.quiet, color=look.INK, linestyle="--", linewidth=1.2)
    handles = [
        Patch(color=colour, label="with noise"),
        Line2D([], [], color=look.INK, linestyle="--", label="without noise"),
    ]
    look.legend(canvas.figure, handles, columns=2)
    look.linear_axis(canvas.axes, counts.tolist(), "1", "seeds")
    look.span_axis(canvas.axes, [study.quiet, *edges.tolist()], "s", "run time")
    words = f"How many of {study.seeds.size} seeds take how long; the dashed line is the time without noise."
    return canvas.finish("noise-spread", "Spread of the run time", words, look.FIXED_COLOURS | {colour: on_dark})


@checked
def write_noise(path: str | os.PathLike[str], study: NoiseSpread) -> None:
    """Write the page; a file that is there is replaced.

    Parameters
    ----------
    study : NoiseSpread
    """
    with look.style():
        figures = Figures((_spread_plot(study),))
    notes = (Bullets(study.notes),) if study.notes else ()
    sections = [Section("Noise", (noise_table(study), figures, *notes))]
    name = noise_title(study)
    write_text(path, render_page(name, f"Noise: {name}", "Noise", sections, answer=noise_lines(study)))
