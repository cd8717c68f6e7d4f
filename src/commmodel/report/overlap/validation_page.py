"""The model's choices beside the best decompositions, as one HTML page: what they cost, maps, curves and all cases.

As in `commmodel.report.machine.page`, everything is inside the file, and everything from results files is escaped. Main
entries: `render` and `write_validation`.
"""

import os

from commmodel.optimize.validation import Validation
from commmodel.report.kit.pages import drawn, render_page, write
from commmodel.report.overlap.validation import HINT, case_parts, misestimate_part, summary_part, verdicts
from commmodel.report.overlap.validation_plots import draw
from commmodel.statistics import CONFIDENCE
from commmodel.units import format_ratio

__all__ = ["render", "write_validation"]


def render(name: str, found: Validation) -> str:
    """Return the page; it refers to nothing outside itself.

    Parameters
    ----------
    name : str
        The machine's.
    found : Validation
        Of `commmodel.optimize.validation.validate`.
    """
    groups = draw(found)
    plots = [plot for _, own in groups for plot in own]
    return render_page(
        "validated.html",
        name,
        plots,
        left_out=found.left_out,
        verdicts=verdicts(found),
        sums=[part for part in (summary_part(found), misestimate_part(found)) if part is not None],
        groups=[(group, drawn(own)) for group, own in groups if own],
        cases=case_parts(found),
        hint=HINT,
        median_confidence=format_ratio(CONFIDENCE),
    )


def write_validation(path: str | os.PathLike[str], name: str, found: Validation) -> None:
    """Write the page; a file that is there is replaced."""
    page = render(name, found)
    write(path, page)
