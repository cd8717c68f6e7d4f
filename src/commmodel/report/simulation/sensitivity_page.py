"""Page of what costs do to a simulated time. Main entry: `write_sensitivity`."""

import os
from collections.abc import Iterator

from commmodel.files import write_text
from commmodel.report.kit import axes as look
from commmodel.report.kit.blocks import Figures, Plot, Section
from commmodel.report.kit.canvas import cycled_styles, draw_series, legend_of, new_canvas
from commmodel.report.kit.pages import render_page
from commmodel.report.kit.tables import Table
from commmodel.report.simulation.sensitivity import COST_NAMES, cost_table, part_tables, title_of, verdicts
from commmodel.signatures import checked
from commmodel.simulate.sensitivity import CostCurve, CostSensitivity
from commmodel.units import format_time


def _plot(curve: CostCurve) -> Plot:
    """Return the plot of the time over a cost, straight between the points at which its slope changes."""
    canvas = new_canvas()
    [(name, value)] = curve.values.items() if len(curve.values) == 1 else [("factor", 1.0)]
    styles, colours = cycled_styles(["run time", "now"])
    for index, points in enumerate((curve.points, (curve.now,))):
        places = [point.factor * value for point in points]
        tips = [
            f"{name} {place:.4g}: {format_time(point.seconds)}" for place, point in zip(places, points, strict=True)
        ]
        draw_series(canvas, places, [point.seconds for point in points], tips, f"{curve.cost}-{index}", styles[index])
    legend_of(canvas, styles)
    unit = "1" if name in ("factor", "compute") else "s/B" if curve.cost == "bandwidth" else "s"
    label = {"bandwidth": "time of a byte", "compute": "time of computation"}.get(curve.cost, COST_NAMES[curve.cost])
    look.linear_axis(canvas.axes, canvas.shown, "s", "run time")
    canvas.axes.set_xlabel(f"{label}, {name} in {unit}" if unit != "1" else
                           f"factor of {label}")  # fmt: skip
    words = "Straight between the points." if curve.is_exact else "Sampled: the order of messages changes often."
    return canvas.finish(f"sensitivity-{curve.cost}", f"Run time over {label}", words, colours)


def cost_blocks(costs: CostSensitivity) -> Iterator[Table | Figures]:
    """Yield the tables of costs, links and hosts, and the plots of the time over each of them."""
    yield cost_table(costs, "Costs")
    yield from part_tables(costs)
    curves = [curve for curve in costs.curves if curve.points]
    if curves:
        with look.style():
            yield Figures(tuple(map(_plot, curves)))


@checked
def write_sensitivity(path: str | os.PathLike[str], costs: CostSensitivity) -> None:
    """Write the page; a file that is there is replaced.

    Parameters
    ----------
    costs : CostSensitivity
    """
    name = title_of(costs)
    sections = [Section("What decides the time", tuple(cost_blocks(costs)))]
    write_text(path, render_page(name, f"Sensitivity: {name}", "Sensitivity", sections, answer=verdicts(costs)))
