"""The pictures of README and gallery show the pages of today; what makes them again is `tools.pictures.MEND`."""

import re
import xml.etree.ElementTree as ET

import pytest
from support.paths import ROOT
from tools import pictures

MOST = 200_000
"""Bytes of a picture."""
NAMES = sorted(pictures.VIEWS)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_page_says_what_its_picture_shows(name, tmp_path):
    before = pictures.read_words()[name]
    page = pictures.texts(pictures.write_page(pictures.sections()[name], tmp_path))
    assert page[: len(before)] == before, f"the picture of {name} is not of today: {pictures.MEND} NAMES={name}"


def test_every_picture_of_a_page_is_in_the_gallery_with_its_words():
    assert set(pictures.read_words()) == set(NAMES) <= set(pictures.sections())


def test_every_picture_is_shown_and_small():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    names = {name for page in pages for name in re.findall(r"\]\([^)]*images/([^)]+)\)", page.read_text("utf-8"))}
    files = {path.relative_to(pictures.IMAGES).as_posix(): path for path in pictures.IMAGES.rglob("*.[ps][nv]g")}
    assert files.keys() == names
    assert {name: path.stat().st_size for name, path in files.items() if path.stat().st_size > MOST} == {}


def test_costs_of_simulators_are_drawn_from_the_numbers_beside_them():
    tree = ET.parse(pictures.IMAGES / "simulators.svg")  # noqa: S314  (our own file)
    description = tree.find(".//{http://purl.org/dc/elements/1.1/}description")
    assert description.text.strip() == pictures.COSTS.read_text("utf-8").strip(), pictures.MEND


def test_the_words_of_a_page_are_those_of_its_elements_and_plots(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        "<title>t</title><style>a</style><p>One <b>two</b>\n<svg><title>tip</title><text>3 &lt; 4</text></svg>"
    )
    assert pictures.texts(page) == ["One", "two", "3 < 4"]


def test_a_picture_ends_with_the_last_words_in_view():
    page = ["head", "1", "2", "tail", "1"]
    assert pictures.picture_texts(page, ["head", "script", "1", "2"]) == ["head", "1", "2"]


def test_other_commands_than_ours_write_no_page(tmp_path):
    with pytest.raises(ValueError, match="ls: pages are written by commmodel"):
        pictures.write_page(pictures.Section("x.png", [["ls"]]), tmp_path)
