r"""Commands as people paste them into a shell: long ones continue on further lines with a backslash.

Main entries: `command_lines` and `with_next`.
"""

import re

WIDTH = 80
"""Columns of a terminal that everybody has."""
_WORD = re.compile(r"(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s'\"\\])+", re.DOTALL)
_GOES_ON = " \\"
"""At the end of all lines but the last."""
_FURTHER = "    "
"""Before all lines but the first."""
_JOINED = ("-m", "--")
"""Not at the begin of a line: the module behind ``python``, the program behind its launcher."""


def _pieces(command: str) -> list[list[str]]:
    """Return the words of a command, each option with its values."""
    pieces: list[list[str]] = []
    for word in _WORD.findall(command):
        if pieces and not (word.startswith("-") and word not in _JOINED):
            pieces[-1].append(word)
        else:
            pieces.append([word])
    return pieces


def command_lines(command: str, width: int = WIDTH, indent: str = "") -> tuple[str, ...]:
    r"""Return a command as lines that can be pasted: broken before options where it is too long for one.

    A line is longer than `width` only where a single word is.

    Parameters
    ----------
    command : str
        With its words quoted as a shell needs it.
    width : int
        Columns, at least 20.
    indent : str
        Before each line; further lines have four more blanks.

    Examples
    --------
    >>> command_lines("commmodel fit results.jsonl -o machine.toml")
    ('commmodel fit results.jsonl -o machine.toml',)
    >>> for line in command_lines("mpiexec -n 2 python -m commmodel.bench pingpong --sizes '1:4 MiB' -o a.jsonl", 40):
    ...     print(line)
    mpiexec -n 2 python -m commmodel.bench \
        pingpong --sizes '1:4 MiB' \
        -o a.jsonl
    """
    if len(indent) + len(command) <= width or "\n" in command:
        return (f"{indent}{command}",)
    room = width - len(indent) - len(_GOES_ON)
    chunks: list[str] = []
    for piece in map(" ".join, _pieces(command)):
        chunks += [piece] if len(_FURTHER) + len(piece) <= room else _WORD.findall(piece)
    first, *chunks = chunks
    lines = [first]
    for chunk in chunks:
        longer = f"{lines[-1]} {chunk}"
        if len(longer) <= room:
            lines[-1] = longer
        else:
            lines.append(f"{_FURTHER}{chunk}")
    return tuple(f"{indent}{line}{_GOES_ON * (number < len(lines))}" for number, line in enumerate(lines, 1))


def with_next(text: str, command: str) -> str:
    r"""Return a text that ends with the command to type next, on lines of its own where it would be too long.

    >>> print(with_next("written to machine.toml", "commmodel report results.jsonl"))
    written to machine.toml; next: commmodel report results.jsonl
    >>> print(with_next("written to the.toml", f"commmodel report {'a' * 40}.jsonl -o report.html"))
    written to the.toml; next:
      commmodel report aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.jsonl -o report.html
    """
    line = f"{text}; next: {command}"
    if len(line) <= WIDTH:
        return line
    return "\n".join((f"{text}; next:", *command_lines(command, indent="  ")))
