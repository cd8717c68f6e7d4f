"""The model's choices beside the best decompositions, as one HTML page: what they cost, maps, curves and all cases.

As in `commmodel.report.page`, everything is inside the file, and everything from results files is escaped. Main
entries: `render` and `write_validation`.
"""

import os
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from commmodel.errors import InputError
from commmodel.optimize.validation import Validation
from commmodel.report.canvas import declarations
from commmodel.report.validated import HINT, case_parts, misestimate_part, summary_part, verdicts
from commmodel.report.validated_plots import draw
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
    folder = files("commmodel.report")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    drawn = draw(found)
    plots = [plot for _, own in drawn for plot in own]
    return environment.from_string(folder.joinpath("validated.html").read_text(encoding="utf-8")).render(
        name=name,
        css=Markup(folder.joinpath("page.css").read_text(encoding="utf-8")),  # noqa: S704  (our own file)
        light=Markup(declarations(plots, dark=False)),  # noqa: S704  (hex colours)
        dark=Markup(declarations(plots, dark=True)),  # noqa: S704  (hex colours)
        left_out=found.left_out,
        verdicts=verdicts(found),
        sums=[part for part in (summary_part(found), misestimate_part(found)) if part is not None],
        groups=[
            (group, [(plot, Markup(plot.svg)) for plot in own])  # noqa: S704  (drawn by us from numbers)
            for group, own in drawn
            if own
        ],
        cases=case_parts(found),
        hint=HINT,
        median_confidence=format_ratio(CONFIDENCE),
    )


def write_validation(path: str | os.PathLike[str], name: str, found: Validation) -> None:
    """Write the page; a file that is there is replaced."""
    page = render(name, found)
    try:
        Path(path).write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
