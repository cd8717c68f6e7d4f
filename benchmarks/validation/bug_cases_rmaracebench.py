"""RMARaceBench: what its programs for MPI are called, and what is wrong with each. Main entry: `SUITE`.

Names end with yes where there is a race; labels at the beginning say between what, and on how many ranks.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.validation.bug_cases import Case, Suite

_FOLDER = "MPIRMA"
_RANKS = re.compile(r'"NPROCS": *(\d+)')
_RACE = frozenset({
    "conflicting accesses to a window", "write to a pending origin buffer", "read of a pending origin buffer",
    "write to a pending send buffer", "read of a pending receive buffer", "overlapping receive buffers",
})  # fmt: skip
_ROWS = ("conflict", "sync", "atomic", "hybrid", "misc")


def _case(source: Path) -> Case:
    has_race = source.stem.endswith("yes")
    match = _RANKS.search(source.read_text("utf-8"))
    side = "local" if "local" in source.stem else "remote"
    row = f"{source.parent.name}, {f'race, {side}' if has_race else 'correct'}"
    ranks = int(match[1]) if match else 2
    return Case(source.stem, row, source, ranks, "a race", _RACE if has_race else frozenset())


def _cases(folder: Path, work: Path) -> Sequence[Case]:
    """Return all programs for MPI of a clone."""
    del work
    sources = sorted((folder / _FOLDER).glob("*/*.c"))
    if not sources:
        raise SystemExit(f"{folder}: no clone of RMARaceBench: {_FOLDER}/*/*.c are missing")
    return [_case(source) for source in sources]


SUITE = Suite(
    _cases,
    tuple(f"{row}, {word}" for row in _ROWS for word in ("correct", "race, local", "race, remote")),
    ("-fopenmp",),
    "^leak ",
)
