"""How measurements grow, as a section of the report and as the page of a check.

As in `commmodel.report.page`, everything is inside the file, and everything from files is escaped. Main entries:
`section` and `write_checked`.
"""

import os
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from commmodel.errors import InputError
from commmodel.report.canvas import Plot, declarations
from commmodel.report.scaling import Scaling, of_checked, scaling_parts
from commmodel.report.scaling_plots import draw
from commmodel.report.scaling_surfaces import surface_parts
from commmodel.scaling import Checked

__all__ = ["render_checked", "section", "write_checked"]

_VERDICTS = {"match": "yes", "approximate": "yes", "mismatch": "no", "uncertain": "unknown"}


def _template(file: str, /, **values: object) -> Markup:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text = files("commmodel.report").joinpath(file).read_text(encoding="utf-8")
    return Markup(environment.from_string(text).render(values))  # noqa: S704  (rendered with everything escaped)


def section(found: Scaling) -> tuple[Markup, list[Plot]]:
    """Return the section, and its plots, whose colours the page must declare; nothing where nothing grows.

    Parameters
    ----------
    found : Scaling
        Of `commmodel.report.scaling.scaled` or `of_checked`.
    """
    if not found.rows and not found.said:
        return Markup(""), []
    plots = draw(found.rows)
    drawn = sum(plot.key.startswith("growth") for plot in plots)
    text = _template(
        "scaling.html",
        said=found.said,
        parts=[*scaling_parts(found.rows), *surface_parts(found.surfaces)],
        verdicts=_VERDICTS,
        plots=[(plot, Markup(plot.svg)) for plot in plots],  # noqa: S704  (drawn by us from numbers)
        left_out=len(found.rows) - drawn,
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
    return _template(
        "checked.html",
        name=name,
        css=Markup(files("commmodel.report").joinpath("page.css").read_text(encoding="utf-8")),  # noqa: S704  (ours)
        light=Markup(declarations(plots, dark=False)),  # noqa: S704  (hex colours)
        dark=Markup(declarations(plots, dark=True)),  # noqa: S704  (hex colours)
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
    try:
        Path(path).write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
