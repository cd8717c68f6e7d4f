"""Reads a page as strictly as a page of ours must be written."""

import re
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory

VOID = {"meta", "br"}


class Balance(HTMLParser):
    """Checks that every element is closed in order, and collects ids, references and text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.events: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            if name in {"href", "src", "srcset", "action", "data"}:
                self.references.append(str(value))
            self.references += re.findall(r"url\(([^)]*)\)", str(value))
            if name.startswith("on"):
                self.events.append(name)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def text_of_page(write_page: Callable[..., None], *arguments: object) -> str:
    """Return the page that a function writes, with all blanks alike."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        write_page(path, *arguments)
        return path.read_text(encoding="utf-8").replace("\u00a0", " ")
