"""A Chromium without windows, driven by playwright: found by an environment variable or on PATH, never downloaded.

Main entries: `missing`, `open_browser` and `visit`.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_VARIABLE = "COMMMODEL_CHROMIUM"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_PATIENCE = 120_000
"""Milliseconds that anything may take; a loaded machine is slow."""
_DRAWN = """(patience) => new Promise((done, fail) => {
  const look = () => performance.getEntriesByName("drawn").length ? done() : requestAnimationFrame(look);
  setTimeout(() => fail(new Error("nothing was drawn")), patience);
  look();
})"""


def _chromium() -> str | None:
    """Return the path of a Chromium, if there is one."""
    return os.environ.get(_VARIABLE) or next(filter(None, map(shutil.which, _NAMES)), None)


def missing() -> str:
    """Return what is missing to open a browser, as words; empty where nothing is."""
    if find_spec("playwright") is None:
        return "no playwright: pip install 'commmodel[browser]'"
    return "" if _chromium() else f"no Chromium: none of {', '.join(_NAMES)} is on PATH, and {_VARIABLE} names none"


@contextmanager
def open_browser() -> Iterator[Any]:
    """Open a browser; it ends with the block."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # our pages need no sandbox, which some containers forbid
        browser = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"], timeout=_PATIENCE)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visit:
    """A page in the browser, and all that it complained about or asked for."""

    page: Any
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def run(self, script: str, argument: object = None) -> Any:
        """Return what a script gives inside the page."""
        return self.page.evaluate(script, argument)

    def draw(self) -> None:
        """Wait until the page has been drawn again."""
        self.run("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")


@contextmanager
def visit(browser: Any, file: Path, fragment: str = "", **options: Any) -> Iterator[Visit]:
    """Open a file; options are those of a context of playwright: ``color_scheme``, ``viewport``."""
    context = browser.new_context(**options)
    context.set_default_timeout(_PATIENCE)
    visited = Visit(context.new_page())
    visited.page.on("console", lambda message: visited.messages.append(f"{message.type}: {message.text}"))
    visited.page.on("pageerror", lambda error: visited.messages.append(f"error: {error}"))
    visited.page.on("request", lambda request: visited.requests.append(request.url))
    address = file.as_uri()
    try:
        visited.page.goto(f"{address}{fragment}")
        if visited.run("document.querySelector('canvas') !== null"):
            visited.run(_DRAWN, _PATIENCE)
        visited.requests.remove(address)
        yield visited
    finally:
        context.close()
