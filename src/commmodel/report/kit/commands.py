"""Commands to paste into a shell, in lines of a terminal's width. Main entry: `pasted`."""

import shlex
from collections.abc import Sequence

from commmodel.shell import WIDTH, command_lines


def pasted(words: Sequence[str], width: int = WIDTH) -> tuple[str, ...]:
    r"""Return a command's lines: quoted for a shell, and continued where it is longer than `width`.

    >>> pasted(("commmodel", "report", "a b.jsonl", "-o", "page.html"), 20)
    ('commmodel report \\', "    'a b.jsonl' \\", '    -o page.html')
    """
    return command_lines(shlex.join(words), width)
