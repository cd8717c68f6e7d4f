"""The drawings of pages that explain, as SVG with text: ``python -m tools.drawings [NAME ...]``.

Each drawing is a function that returns the text of an SVG file; curves come from commmodel's own formulas. The files
lie in ``docs/images/drawings``; ``docs/_ext/drawings.py`` puts them into the HTML pages, so that their words can be
selected and their colours follow the page's theme. ``tests/test_drawings.py`` draws them again and compares.
Main entries: `DRAWINGS` and `FOLDER`.
"""

from collections.abc import Callable
from pathlib import Path

from tools.drawings import curves, flows, timelines

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "images" / "drawings"
DRAWINGS: dict[str, Callable[[], str]] = {
    "architecture": flows.architecture,
    "guard": curves.guard,
    "loggp": timelines.loggp,
    "models": curves.models,
    "overlap": timelines.overlap,
    "record": flows.record,
    "simulate": flows.simulate,
}
"""Name of a file -> what draws it."""
