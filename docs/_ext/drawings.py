"""Drawings as part of an HTML page: their words can be selected, and their colours follow the page's theme.

A picture of ``docs/images/drawings`` is put into the page as it is, with its alternative text as its name for screen
readers. Elsewhere, as on GitHub, it is a picture like any other.
"""

from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

FOLDER = Path(__file__).parents[1] / "images" / "drawings"


def put_into_page(app: Sphinx, doctree: nodes.document, _name: str) -> None:
    """Replace each picture that is a drawing by its text, where pages are HTML."""
    if app.builder.format != "html":
        return
    for node in list(doctree.findall(nodes.image)):
        path = Path(app.srcdir, node["uri"])
        if path.parent == FOLDER:
            text = path.read_text("utf-8")
            name = f'<svg role="img" aria-label="{escape(node.get("alt", ""))}"'
            figure = f'<div class="drawing-frame">{text.replace("<svg", name, 1)}</div>'
            node.replace_self(nodes.raw("", figure, format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register it."""
    app.connect("doctree-resolved", put_into_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
