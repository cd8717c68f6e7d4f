"""The pictures of README and gallery, from the pages of today: ``python -m tools.pictures [NAME ...]``.

The commands are those of ``docs/gallery.md``: the console block after a picture says how its page is made. Commands of
`commmodel` run in a copy of ``docs/examples``; the page opens in a browser without windows, and its top is the picture.
Benchmarks draw their SVG files themselves; costs of simulators, which were measured, are drawn from
``docs/images/simulators.csv``. What a page says as far as its picture goes is kept in ``docs/images/pictures.toml``:
``tests/test_pictures.py`` makes the pages again, without a browser, and compares.
Main entries: `sections`, `write_page`, `texts` and `take`.
"""

import argparse
import contextlib
import io
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
GALLERY = ROOT / "docs" / "gallery.md"
IMAGES = ROOT / "docs" / "images"
WORDS = IMAGES / "pictures.toml"
COSTS = IMAGES / "simulators.csv"
MEND = "make pictures"
_WIDTH = 1100
_SCALE = 1.5
"""Pixels of a picture for each of the page: letters are sharp on fine screens."""
_COLOURS = 255
_SILENT = {"script", "style", "title", "template", "noscript"}
_IMAGE = re.compile(r"!\[[^\]]*\]\(images/([\w.-]+)\)")
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_IN_VIEW = """(silent) => {
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT), texts = [];
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement, text = node.data.replace(/\\s+/g, " ").trim();
    if (!text || silent.includes(parent.localName) || !parent.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (box.height && box.top < innerHeight && box.bottom > 0) texts.push(text);
  }
  return texts;
}"""


class View(NamedTuple):
    """What of a page is in its picture: all above an element, or so many pixels."""

    end: str = ""
    """Selector of the element, as playwright has them; empty: `height` says where the picture ends."""
    height: int = 900
    fragment: str = ""
    """Of the page's address, after ``#``: which part of a timeline it shows."""


VIEWS = {
    "recording": View("h2:has-text('Parallel efficiency')"),
    "report": View("figcaption"),
    "gantt": View(fragment="#from=0.3&to=0.45"),
    "guard": View("figcaption"),
}
"""Picture of a page -> what it shows."""


class Section(NamedTuple):
    """A section of the gallery: its picture's file name, and the commands that make it."""

    image: str
    commands: list[list[str]]


def sections() -> dict[str, Section]:
    """Return the sections of the gallery, by the stem of their picture."""
    result = {}
    for text in GALLERY.read_text("utf-8").split("\n## ")[1:]:
        image, block = _IMAGE.search(text), _CONSOLE.search(text)
        if image is None or block is None:
            raise ValueError(
                f"{GALLERY.name}, {text.splitlines()[0]}: no picture, or no console block with its commands"
            )
        lines = [line.removeprefix("$ ") for line in block[1].splitlines() if line.startswith("$ ")]
        result[Path(image[1]).stem] = Section(image[1], [shlex.split(line) for line in lines])
    return result


def write_page(section: Section, folder: Path) -> Path:
    """Run the commands of a section in a copy of the examples, and return the page that they write."""
    from commmodel.cli import main

    folder = folder / Path(section.image).stem
    shutil.copytree(ROOT / "docs" / "examples", folder)
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for program, *words in section.commands:
            if program != "commmodel":
                raise ValueError(f"{GALLERY.name}: {program}: pages are written by commmodel")
            code = main(words)
            if code > (words[0] == "check"):  # whose exit code 1 is a verdict
                raise ValueError(f"{GALLERY.name}: commmodel {shlex.join(words)}: exit code {code}")
    words = section.commands[-1]
    return folder / words[words.index("-o") + 1]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002  (HTMLParser's own signature)
        if tag in _SILENT:
            self._silent.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._silent and tag == self._silent[-1]:
            self._silent.pop()

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if text and not self._silent:
            self.texts.append(text)


def texts(page: Path) -> list[str]:
    """Return the pieces of text of a page in order, those in its plots too."""
    reader = _Reader()
    reader.feed(page.read_text("utf-8"))
    return reader.texts


def picture_texts(page: Sequence[str], view: Sequence[str]) -> list[str]:
    """Return the texts of a page up to the last that is in view; those that a script adds are no part of the page."""
    blocks = SequenceMatcher(None, page, view, autojunk=False).get_matching_blocks()
    return list(page[: max(block.a + block.size for block in blocks if block.size)])


def take(browser: object, name: str, page: Path) -> list[str]:
    """Take the picture of a page, and return what the page says as far as the picture goes."""
    from PIL import Image
    from tools.browser import visit

    view = VIEWS[name]
    options = {"viewport": {"width": _WIDTH, "height": view.height}, "device_scale_factor": _SCALE}
    with visit(browser, page, view.fragment, color_scheme="light", **options) as visited:
        if view.end:
            element = visited.page.locator(view.end).first
            if not element.count():
                raise ValueError(f"{name}: the page has no {view.end}, above which its picture ends: see VIEWS")
            height = int(element.bounding_box()["y"])
            visited.page.set_viewport_size({"width": _WIDTH, "height": height})
        visited.draw()
        picture = Image.open(io.BytesIO(visited.page.screenshot()))
        view_texts = visited.run(_IN_VIEW, sorted(_SILENT))
    # Pages are letters, lines and few colours: a palette holds them.
    picture.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE).save(IMAGES / f"{name}.png", optimize=True)
    return picture_texts(texts(page), view_texts)


def read_words() -> dict[str, list[str]]:
    """Return the texts of the pages in the pictures, as they were when these were taken."""
    return {name: table["text"] for name, table in tomllib.loads(WORDS.read_text("utf-8")).items()}


def write_words(words: Mapping[str, Iterable[str]]) -> None:
    """Write the texts of the pages in the pictures."""
    import tomlkit

    document = tomlkit.document()
    document.add(tomlkit.comment(f"What the page says in each picture, as far as it goes. Written by: {MEND}"))
    for name, lines in sorted(words.items()):
        table = tomlkit.table()
        table.add("text", tomlkit.item(list(lines)).multiline(True))
        document.add(name, table)
    WORDS.write_text(tomlkit.dumps(document), "utf-8")


def _draw(name: str, section: Section) -> None:
    """Draw an SVG file: by the documented command, or from the costs that were measured."""
    if name == COSTS.stem:
        from benchmarks.speed.simulators import draw_growth

        draw_growth(COSTS, IMAGES / section.image)
        return
    for program, *words in section.commands:
        executable = sys.executable if program == "python" else program
        subprocess.run([executable, *words], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def main(argv: Sequence[str] | None = None) -> int:
    """Take and draw pictures; return 3 where no browser is."""
    from tools import browser

    gallery = sections()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these ({', '.join(gallery)})")
    names = parser.parse_args(argv).names or list(gallery)
    if strangers := [name for name in names if name not in gallery]:
        parser.error(f"{strangers[0]}: the gallery has {', '.join(gallery)}")
    pages = [name for name in names if name in VIEWS]
    if pages and (problem := browser.missing()):
        print(f"pictures: {problem}", file=sys.stderr)
        return 3
    if pages:
        words = read_words() if WORDS.exists() else {}
        with tempfile.TemporaryDirectory() as folder, browser.open_browser() as chromium:
            for name in pages:
                words[name] = take(chromium, name, write_page(gallery[name], Path(folder)))
        write_words({name: words[name] for name in words if name in VIEWS})
    for name in names:
        if name not in VIEWS:
            _draw(name, gallery[name])
        print(
            f"{IMAGES.relative_to(ROOT) / gallery[name].image}: {(IMAGES / gallery[name].image).stat().st_size} bytes"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
