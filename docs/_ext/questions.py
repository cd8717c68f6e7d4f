"""Questions of users in the search index: the phrases of a page's keywords count there as titles, which nobody sees.

Sphinx indexes each keyword of ``html_meta`` as one word, so that a phrase is never found. Here each phrase becomes a
title of the page in the index alone. `docs/search.js` ranks the pages.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


class Question(nodes.title):
    """A phrase by which a page is found."""


def skip(_translator: HTML5Translator, _node: Question) -> None:
    """Write nothing."""
    raise nodes.SkipNode


def add(_app: Sphinx, doctree: nodes.document, _docname: str) -> None:
    """Add the phrases of a page's keywords beside its sections: so the index has no anchor for them."""
    keywords = [meta["content"] for meta in doctree.findall(nodes.meta) if meta.get("name") == "keywords"]
    phrases = [phrase.strip() for phrase in ",".join(keywords).split(",")]
    doctree += [Question("", phrase) for phrase in phrases if phrase]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the node, and when phrases are added."""
    formats = ("html", "latex", "text", "man", "texinfo")
    app.add_node(Question, **dict.fromkeys(formats, (skip, None)))
    app.connect("doctree-resolved", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
