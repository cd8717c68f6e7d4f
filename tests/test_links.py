"""Links between the files of the project lead to files and headings; Sphinx checks those with names of pages."""

import re

import pytest
from support.paths import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors(path):
    """Return the anchors of a page: those of its headings, as GitHub and MyST make them, and its own."""
    text = path.read_text("utf-8")
    headings = re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    return set(re.findall(r"^\((.+)\)=$", text, re.MULTILINE)) | {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page):
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    dead = []
    for file, anchor in LINK.findall(text):
        target = page.parent / file if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(f"{file}#{anchor}")
    assert dead == []


def test_each_how_to_is_found_by_a_question():
    folder = ROOT / "docs" / "howto"
    table, _, lists = (folder / "index.md").read_text("utf-8").partition("```{toctree}")
    pages = {path.stem for path in folder.glob("*.md")} - {"index"}
    assert {page for page in pages if f"\n{page}\n" not in lists} == set()
    details = {"launches", "sweeps", "resume", "loggp", "memory", "thread-level", "calibrate", "simulate"}
    assert {page for page in pages - details if f"{{doc}}`{page}`" not in table} == set()
