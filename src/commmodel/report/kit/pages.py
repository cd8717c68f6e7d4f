"""HTML pages: one frame, one style, the same tables and plots in all of them. Main entries: `render_page` and `write`.

Everything that comes from a file is escaped; only what is made here from numbers is inserted as it is. A page refers
to nothing outside itself.
"""

import os
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from commmodel.files import write_text
from commmodel.report.kit.canvas import Plot, declarations

__all__ = ["drawn", "fragment", "render_page", "template_text", "write"]


def template_text(name: str) -> str:
    """Return what a file beside the templates holds."""
    return files("commmodel.report.kit").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    return Environment(
        loader=FunctionLoader(template_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def drawn(plots: Sequence[Plot]) -> list[tuple[Plot, Markup]]:
    """Return each plot with its picture, for a template."""
    return [(plot, Markup(plot.svg)) for plot in plots]  # noqa: S704  (drawn by us from numbers)


def fragment(template: str, /, **values: object) -> Markup:
    """Return a part of a page."""
    return Markup(_environment().get_template(template).render(values))  # noqa: S704  (rendered with all escaped)


def render_page(template: str, name: str, plots: Sequence[Plot], /, **values: object) -> str:
    """Return a page titled `name`, with the colours that its plots need."""
    return (
        _environment()
        .get_template(template)
        .render(
            name=name,
            css=Markup(template_text("page.css")),  # noqa: S704  (our own file)
            light=Markup(declarations(plots, dark=False)),  # noqa: S704  (hex colours)
            dark=Markup(declarations(plots, dark=True)),  # noqa: S704  (hex colours)
            **values,
        )
    )


def write(path: str | os.PathLike[str], page: str) -> None:
    """Write a page; a file that is there is replaced.

    Raises
    ------
    InputError
        Where it cannot be written.
    """
    write_text(path, page)
