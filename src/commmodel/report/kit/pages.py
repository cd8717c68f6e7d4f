"""HTML pages: one template, one style; a page is a list of sections, each a list of blocks.

Everything that comes from a file is escaped; only pictures, made here from numbers, are inserted as they are, and a
content policy in the page forbids scripts and everything from elsewhere. The same sections give the same bytes. Main
entry: `render_page`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from commmodel.report.kit import svg
from commmodel.report.kit.blocks import Block, Figures, Folded, Plot, Section

_UNIT = re.compile(r"(?<=\d) (?=(?:[kMGTPm\u00b5un]?s|[kMGTPEi]*B(?:/s)?|%)(?!\w))")
"""The blank between a number and its unit, where no line may end."""


def template_text(name: str) -> str:
    """Return the content of a file in the folder of templates."""
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


def _plots(blocks: Iterable[Block]) -> Iterator[Plot]:
    for block in blocks:
        if isinstance(block, Figures):
            yield from block.plots
        elif isinstance(block, Folded):
            yield from _plots(block.blocks)


def _colours(plots: Sequence[Plot], *, dark: bool) -> Markup:
    """Return the CSS variables of the plots' colours, on a light or a dark page."""
    colours = {light: on_dark for plot in plots for light, on_dark in plot.colours.items()}
    shown = (f"{svg.variable(light)}: {on_dark if dark else light}" for light, on_dark in colours.items())
    return Markup("; ".join(shown))  # noqa: S704  (hex colours)


def render_page(
    name: str,
    title: str,
    kind: str,
    sections: Sequence[Section],
    subtitle: Sequence[str] = (),
    template: str = "page.html",
    answer: Sequence[str] = (),
    **values: object,
) -> str:
    """Return a page as HTML without references to other files.

    Parameters
    ----------
    name : str
        Its heading.
    title : str
        Of the browser's window.
    kind : str
        What kind of page it is, above the heading.
    sections : sequence of Section
    subtitle : sequence of str
        Small, below the heading.
    template : str
        One that extends ``page.html``, with further values.
    answer : sequence of str
        Sentences in large type before all sections: what the page has found out.
    """
    sections = [section for section in sections if section.blocks]
    plots = [plot for section in sections for plot in _plots(section.blocks)]
    return (
        _environment()
        .get_template(template)
        .render(
            name=name,
            title=title,
            kind=kind,
            sections=sections,
            subtitle=subtitle,
            answer=[_UNIT.sub("\u00a0", text) for text in answer],
            css=Markup(template_text("page.css")),  # noqa: S704  (our own file)
            light=_colours(plots, dark=False),
            dark=_colours(plots, dark=True),
            **values,
        )
    )
