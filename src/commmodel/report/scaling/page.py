"""How measurements grow, as a section of the report and as the page of a check.

As in `commmodel.report.machine.page`, everything is inside the file, and everything from files is escaped. Main
entries: `section` and `write_checked`.
"""

import os

from markupsafe import Markup

from commmodel.report.kit.canvas import Plot
from commmodel.report.kit.pages import drawn, fragment, render_page, write
from commmodel.report.scaling.growth import Scaling, of_checked, scaling_parts
from commmodel.report.scaling.plots import draw
from commmodel.report.scaling.surfaces import surface_parts
from commmodel.scaling import Checked

__all__ = ["render_checked", "section", "write_checked"]

_VERDICTS = {"match": "yes", "approximate": "yes", "mismatch": "no", "uncertain": "unknown"}

_NOTE = "note: "
"""Begins what can be read after the figures."""


def section(found: Scaling) -> tuple[Markup, list[Plot]]:
    """Return the section, and its plots, whose colours the page must declare; nothing where nothing grows.

    Parameters
    ----------
    found : Scaling
        Of `commmodel.report.scaling.growth.scaled` or `of_checked`.
    """
    if not found.rows and not found.said:
        return Markup(""), []
    plots = draw(found.rows)
    in_detail = sum(plot.key.startswith("growth") for plot in plots)
    text = fragment(
        "scaling.html",
        said=[text for text in found.said if not text.startswith(_NOTE)],
        notes=[text for text in found.said if text.startswith(_NOTE)],
        parts=[*scaling_parts(found.rows), *surface_parts(found.surfaces)],
        verdicts=_VERDICTS,
        plots=drawn(plots),
        left_out=len(found.rows) - in_detail,
    )
    return text, plots


def render_checked(name: str, checked: Checked, statistic: str = "first quartile") -> str:
    """Return the page; it refers to nothing outside itself.

    Parameters
    ----------
    name : str
        Its title, such as that of the expectations.
    checked : Checked
        Of `commmodel.scaling.check`.
    statistic : str
        With which that was called.
    """
    text, plots = section(of_checked(checked, statistic=statistic))
    return render_page(
        "checked.html",
        name,
        plots,
        section=text,
    )


def write_checked(path: str | os.PathLike[str], name: str, checked: Checked, statistic: str = "first quartile") -> None:
    """Write the page; a file that is there is replaced.

    Raises
    ------
    InputError
        Where it cannot be written.
    """
    page = render_checked(name, checked, statistic)
    write(path, page)
