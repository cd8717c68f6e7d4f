"""A guard's verdict as a badge: a small SVG, or the JSON of a shields.io endpoint. Main entry: `badge`."""

import os
from html import escape

import msgspec

from commmodel.guard.verdict import GuardResult

_LABEL = "MPI communication"
_COLOURS = {"holds": "#2e7d32", "fails": "#c62828"}
_LETTER, _EDGE = 6.6, 12
"""Pixels of a letter of 11 pixels, and of both edges of a text."""


def badge(path: str | os.PathLike[str], result: GuardResult) -> str:
    r"""Return the badge that a file of this name should hold: JSON where it ends with .json, else SVG.

    >>> from commmodel.guard import Counts, RunCounts
    >>> badge("badge.json", GuardResult(Counts(runs=(RunCounts("solver", 4),))))
    '{"schemaVersion":1,"label":"MPI communication","message":"holds","color":"#2e7d32"}\n'
    """
    message = _message(result)
    colour = _COLOURS["holds" if result.holds else "fails"]
    if os.fspath(path).endswith(".json"):
        content = {"schemaVersion": 1, "label": _LABEL, "message": message, "color": colour}
        return msgspec.json.encode(content).decode() + "\n"
    return _svg(message, colour)


def _message(result: GuardResult) -> str:
    if result.failures:
        return "does not run"
    if result.larger:
        return f"{len(result.larger)} larger"
    if result.mismatches:
        return f"{len(result.mismatches)} grow otherwise"
    return "slower" if result.is_slower else "holds"


def _svg(message: str, colour: str) -> str:
    widths = [round(_LETTER * len(words)) + _EDGE for words in (_LABEL, message)]
    total = sum(widths)
    label, words = escape(_LABEL), escape(message)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" role="img" '
        f'aria-label="{label}: {words}">\n'
        f"<title>{label}: {words}</title>\n"
        f'<rect width="{widths[0]}" height="20" fill="#555"/>'
        f'<rect x="{widths[0]}" width="{widths[1]}" height="20" fill="{colour}"/>\n'
        f'<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">\n'
        f'<text x="{widths[0] / 2:g}" y="14">{label}</text>'
        f'<text x="{widths[0] + widths[1] / 2:g}" y="14">{words}</text>\n</g>\n</svg>\n'
    )
