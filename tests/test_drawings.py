"""The drawings of the documentation: those of today, small, with text and colours for light and dark pages."""

import importlib.util
import re
import xml.etree.ElementTree as ET

import pytest
from support.paths import ROOT
from tools import drawings
from tools.drawings.canvas import Canvas, number

MOST = 20_000
"""Bytes of a drawing."""
MEND = "make pictures, or python -m tools.drawings"
NAMES = sorted(drawings.DRAWINGS)


@pytest.mark.parametrize("name", NAMES)
def test_a_drawing_is_that_of_today(name):
    assert (drawings.FOLDER / f"{name}.svg").read_text("utf-8") == drawings.DRAWINGS[name](), MEND


def test_there_are_no_further_drawings():
    assert sorted(path.stem for path in drawings.FOLDER.iterdir()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_drawing_is_small_text_without_pixels(name):
    text = (drawings.FOLDER / f"{name}.svg").read_text("utf-8")
    tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(text).iter()}  # noqa: S314  (our own file)
    assert len(text.encode()) <= MOST
    assert "text" in tags
    assert tags <= {"svg", "style", "rect", "text", "tspan", "polyline", "polygon", "circle"}
    assert "prefers-color-scheme:dark" in text
    assert re.findall("(?:fill|stroke)=", text) == []  # colours are classes, which both themes define


@pytest.mark.parametrize("name", NAMES)
def test_words_stay_within_the_drawing(name):
    """As far as can be told without a font: seven pixels a letter."""
    root = ET.parse(drawings.FOLDER / f"{name}.svg").getroot()  # noqa: S314
    width, height = float(root.get("width")), float(root.get("height"))
    for element in root.iter("{http://www.w3.org/2000/svg}text"):
        words = "".join(element.itertext())
        length = 7 * len(words)
        begin = float(element.get("x")) - {"middle": length / 2, "end": length}.get(element.get("text-anchor"), 0)
        assert begin >= -8, words
        assert begin + length <= width + 8, words
        assert 8 <= float(element.get("y")) <= height - 2, words


def test_a_coordinate_has_one_digit_and_no_minus_before_zero():
    assert [number(value) for value in (1.0, 2.34, -0.04, -3.25)] == ["1", "2.3", "0", "-3.2"]


def test_letters_of_xml_are_escaped_and_low_ones_lowered():
    canvas = Canvas(10, 10)
    canvas.text((1, 2), "R_{N} < R & more")
    assert (
        '<text x="1" y="2">R<tspan dy="3" font-size="75%">N</tspan><tspan dy="-3"> &lt; R &amp; more</tspan></text>'
        in (canvas.svg())
    )


def test_a_page_shows_each_drawing_with_words_for_those_who_do_not_see_it():
    pages = "".join(path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md"))
    alternatives = dict(re.findall(r"!\[([^\]]*)\]\([./]*images/drawings/(\w+)\.svg\)", pages))
    assert sorted(alternatives.values()) == NAMES
    assert [words for words in alternatives if len(words) < 60] == []
    for words, name in alternatives.items():
        text = (drawings.FOLDER / f"{name}.svg").read_text("utf-8")
        assert [figure for figure in re.findall(r"[1-9][\d.]*\d", words) if figure not in text] == [], words


def test_html_pages_have_the_drawing_itself():
    nodes = pytest.importorskip("docutils.nodes")
    pytest.importorskip("sphinx")
    specification = importlib.util.spec_from_file_location("drawings_in_pages", ROOT / "docs/_ext/drawings.py")
    extension = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(extension)

    class Builder:
        format = "html"

    class App:
        srcdir = ROOT / "docs"
        builder = Builder()

    parent = nodes.paragraph()
    parent += nodes.image(uri="images/drawings/models.svg", alt='a "line"')
    parent += nodes.image(uri="images/report.png", alt="page")
    extension.put_into_page(App(), parent, "page")
    drawing, picture = parent.children
    assert '<svg role="img" aria-label="a &quot;line&quot;" xmlns=' in drawing.astext()
    assert picture["uri"] == "images/report.png"
