"""The shell commands of the documentation, page by page: what is typed, and what cannot be run in a test."""

import re
from pathlib import Path
from typing import NamedTuple

from support.paths import ROOT

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
BLOCK = re.compile(r"^```(console|sh|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
QUESTION = re.compile(r"^\| [^|]+ \| (`[^`]+`(?:, then `[^`]+`)?)(?: \([^|]*\))? \| [^|]*\|$", re.MULTILINE)
"""A row of the README's table of questions, with what to type."""
ELSEWHERE = {
    r"\bpip (install|wheel|download)|make wheel|-m venv|unzip ": "installs: `make wheels` tries it",
    r"source |module load|which mpiexec": "the shell that a reader has",
    r"scontrol|submit\.sh|SLURM_": "needs Slurm",
    r"--mca coll_tuned|\./a\.out": "a program of the reader's",
    r"-m mpi4py\.futures": "65 ranks of MPI, as workers: tests/simulate/test_what_if.py has two",
    r"git clone": "the network",
    r"-m benchmarks\.|make cluster-bench": "run in the folder of the sources: tests/test_benchmarks.py",
}
"""What is not run: a regular expression of a command -> why."""


class Block(NamedTuple):
    """Commands that stand together in a page, and the line of the first of them."""

    page: Path
    line: int
    commands: list[str]


def typed(language: str, text: str) -> list[str]:
    """Return the commands of a block: of a console's, the lines with prompts and those that continue them."""
    if language == "bash":
        return [text]
    lines: list[str] = []
    is_open = False
    for line in text.splitlines():
        if line.startswith(("$ ", "> ")) or is_open or language == "sh":
            words = line.removeprefix("$ ").removeprefix("> ")
            if line.startswith("> ") or is_open:
                lines[-1] += f"\n{words}"
            elif words and not words.startswith("#"):
                lines.append(words)
            is_open = line.endswith("\\")
    return lines


def blocks(page: Path) -> list[Block]:
    """Return the blocks of shell commands of a page, in order."""
    text = page.read_text("utf-8")
    return [
        Block(page, text.count("\n", 0, match.start()) + 2, typed(match[1], match[2])) for match in BLOCK.finditer(text)
    ]


def questions() -> list[list[str]]:
    """Return what the README says to type, question by question."""
    rows = QUESTION.findall((ROOT / "README.md").read_text("utf-8"))
    return [re.findall("`([^`]+)`", row) for row in rows]


def excuse(command: str) -> str | None:
    """Return why a command is not run, if so."""
    return next((why for pattern, why in ELSEWHERE.items() if re.search(pattern, command)), None)
