"""Programs of a suite of MPI bugs, and what is wrong with each. Main entries: `Case` and `Suite`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Case", "Suite"]


@dataclass(frozen=True)
class Case:
    """A program and how it is run."""

    name: str
    row: str
    """Its class in the table."""
    source: Path
    ranks: int
    detail: str
    """What is wrong, in words of the suite."""
    kinds: frozenset[str]
    """Kinds of findings and ends of which one is right; none of a correct program."""
    arguments: tuple[str, ...] = ()
    buffering: str = "machine"
    """``zero``, ``infinite`` or ``machine``."""


@dataclass(frozen=True)
class Suite:
    """A suite of bugs."""

    cases: Callable[[Path, Path], Sequence[Case]]
    """(a clone, an empty folder for what is generated) -> all programs."""
    rows: tuple[str, ...]
    """Classes in the order of the table."""
    flags: tuple[str, ...] = ()
    """With which programs are compiled; ``{folder}`` is the clone."""
    aside: str = "$^"
    """Regular expression of kinds of findings that are not counted, as they are none of the suite's subjects."""
