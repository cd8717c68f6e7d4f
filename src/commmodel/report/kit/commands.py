"""Commands to paste into a shell, in lines of a terminal's width. Main entry: `pasted`."""

import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise

WIDTH = 78
"""Columns of a line, so that it fits a terminal of 80 with the backslash that ends it."""


def _units(words: Sequence[str]) -> Iterator[str]:
    """Yield what stays on one line: an option with its first value, else a word."""
    pending = ""
    for word, after in pairwise((*words, "")):
        text = f"{pending} {shlex.quote(word)}".strip()
        if not pending and word.startswith("-") and "=" not in word and after and not after.startswith("-"):
            pending = text
        else:
            yield text
            pending = ""


def pasted(words: Sequence[str], width: int = WIDTH) -> tuple[str, ...]:
    r"""Return a command's lines: quoted for a shell, and continued where it is longer than `width`.

    >>> pasted(("commmodel", "report", "a b.jsonl", "-o", "page.html"), 20)
    ('commmodel report \\', "    'a b.jsonl' \\", '    -o page.html')
    """
    lines, line = [], ""
    for unit in _units(words):
        if line and len(line) + 1 + len(unit) > width:
            lines.append(f"{line} \\")
            line = f"    {unit}"
        else:
            line = f"{line} {unit}" if line else unit
    return (*lines, line)
