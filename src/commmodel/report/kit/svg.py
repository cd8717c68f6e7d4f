"""Figures as inline SVG for HTML pages: reproducible, and without name clashes.

Every id gets a prefix, colours become CSS variables that a dark page can change, points get the text shown when
one points at them, and all that is of no use inside a page (declarations, metadata, global styles) is left out.
Main entry: `inline`.
"""

import io
import re
import warnings
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

import matplotlib
from matplotlib.figure import Figure

_NAMESPACE = re.compile(r"\{[^}]*\}")
_REFERENCE = re.compile(r"(?:(?<=url\()|^)#")
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not have; names of functions are of files, and may have any."""
_UNUSED = {"metadata", "style"}
_NO_METADATA = {"Creator": None, "Date": None, "Format": None, "Type": None}


def variable(colour: str) -> str:
    """Return the CSS variable of a light page's colour.

    >>> variable("#0072b2")
    '--c-0072b2'
    """
    return f"--c-{colour.lstrip('#')}"


def _write(figure: Figure, salt: str) -> str:
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": salt}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's browser has its own fonts
        figure.savefig(buffer, format="svg", metadata=_NO_METADATA)
    return _NOT_XML.sub("�", buffer.getvalue().decode())


def _clean(parent: ElementTree.Element, prefix: str, themed: Mapping[str, str]) -> None:
    """Strip namespaces, prefix ids and references, and set variables for colours, in place."""
    parent.tag = _NAMESPACE.sub("", parent.tag)
    for name, value in list(parent.attrib.items()):
        del parent.attrib[name]
        name = _NAMESPACE.sub("", name)  # xlink:href is href inside HTML
        if name == "id":
            value = prefix + value
        elif "#" in value:
            value = _REFERENCE.sub(f"#{prefix}", value) if name != "style" else value
            for colour, shown in themed.items():
                value = value.replace(colour, shown)
        parent.set(name, value)
    for child in list(parent):
        if _NAMESPACE.sub("", child.tag) in _UNUSED:
            parent.remove(child)
        else:
            _clean(child, prefix, themed)


def _explain(root: ElementTree.Element, group: str, texts: Sequence[str]) -> None:
    """Add texts to the points of series and the cells of maps."""
    for element in root.iter("g"):
        if element.get("id") == group:
            drawn = list(element.iter("use")) or list(
                element.iter("path")
            )  # cells of one shape are drawn as points are
            for point, text in zip(drawn, texts, strict=True):
                ElementTree.SubElement(point, "title").text = text


def inline(
    figure: Figure, prefix: str, label: str, colours: Mapping[str, str], points: Mapping[str, Sequence[str]]
) -> str:
    """Return an ``<svg>`` element.

    Parameters
    ----------
    figure : Figure
        Drawn inside `axes.style`.
    prefix : str
        Of every id in the element; distinct on a page.
    label : str
        What a screen reader says.
    colours : mapping
        The colours that become variables: the keys are those used in the figure.
    points : mapping
        For each series of points or cells, by its gid, the text of each in the order in which it was drawn.
    """
    # our own output, not a stranger's: the parser cannot be attacked through it
    root = ElementTree.fromstring(_write(figure, prefix))  # noqa: S314
    _clean(root, f"{prefix}-", {colour: f"var({variable(colour)}, {colour})" for colour in colours})
    for group, texts in points.items():
        _explain(root, f"{prefix}-{group}", texts)
    for size in ("width", "height"):
        del root.attrib[size]
    root.set("role", "img")
    root.set("aria-label", label)
    return ElementTree.tostring(root, encoding="unicode")
