"""Page of the model's choices beside the best decompositions: costs, maps, curves and all cases.

Main entry: `write_validation`.
"""

import os

from commmodel.files import write_text
from commmodel.optimize.validation import Validation
from commmodel.report.kit.blocks import Bullets, Figures, Section, Words, folded
from commmodel.report.kit.pages import render_page
from commmodel.report.overlap.validation import case_tables, cost_tables, verdicts
from commmodel.report.overlap.validation_plots import draw
from commmodel.signatures import checked
from commmodel.statistics import CONFIDENCE
from commmodel.units import format_ratio


@checked
def write_validation(path: str | os.PathLike[str], name: str, validation: Validation) -> None:
    """Write the validation page, replacing an existing file.

    Parameters
    ----------
    name : str
        Title.
    """
    intervals = (
        f"Below a time: its {format_ratio(CONFIDENCE)} interval, or the least and the largest of fewer than eight "
        "samples."
    )
    sections = [
        Section("What is left out", (Bullets(validation.left_out),) if validation.left_out else (), is_warning=True),
        Section("What the model's choices cost", tuple(cost_tables(validation))),
        *(
            Section(f"{group[:1].upper()}{group[1:]}", (Figures(tuple(plots)),))
            for group, plots in draw(validation)
            if plots
        ),
        Section("All cases", (*map(folded, case_tables(validation)), Words(intervals, is_hint=True))),
    ]
    title, kind = f"Overlap on {name}: the model's choices and the best measured", "Overlap, measured and chosen"
    write_text(path, render_page(title, title, kind, sections, answer=verdicts(validation)))
