"""Sections and blocks of pages. Main entries: `Section` and the kinds of blocks."""

from dataclasses import dataclass
from typing import ClassVar

from commmodel.report.kit.tables import Cell, Table


@dataclass(frozen=True)
class Words:
    """A paragraph, or with `is_hint` a small one that explains the block above it."""

    text: str
    is_hint: bool = False
    kind: ClassVar[str] = "words"


@dataclass(frozen=True)
class Heading:
    """A heading within a section."""

    text: str
    kind: ClassVar[str] = "heading"


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    texts: tuple[str, ...]
    kind: ClassVar[str] = "bullets"


@dataclass(frozen=True)
class NameList:
    """A list of names, each with lines of text."""

    rows: tuple[tuple[str, tuple[str, ...]], ...]
    kind: ClassVar[str] = "names"


@dataclass(frozen=True)
class CodeBlock:
    """Commands, one per line."""

    lines: tuple[str, ...]
    kind: ClassVar[str] = "code"


@dataclass(frozen=True)
class Fact:
    """A headline number with its name, its meaning, and whether its fit is trusted."""

    label: str
    cell: Cell
    meaning: str = ""
    is_doubtful: bool = False


@dataclass(frozen=True)
class Facts:
    """Headline numbers, in large type."""

    facts: tuple[Fact, ...]
    kind: ClassVar[str] = "facts"


@dataclass(frozen=True)
class Plot:
    """A plot for a page.

    Attributes
    ----------
    key : str
        Prefix of the ids inside, distinct in a report.
    colours : dict
        Colour on a light page -> colour on a dark one; `svg` names them as variables.
    """

    key: str
    title: str
    caption: str
    svg: str
    colours: dict[str, str]


@dataclass(frozen=True)
class Figures:
    """Plots in a grid; with `is_small` panels, of which more stand beside each other."""

    plots: tuple[Plot, ...]
    is_small: bool = False
    kind: ClassVar[str] = "figures"


@dataclass(frozen=True)
class Folded:
    """Blocks behind a summary that opens and closes."""

    summary: str
    blocks: "tuple[Block, ...]"
    is_open: bool = True
    kind: ClassVar[str] = "folded"


Block = Table | Words | Heading | Bullets | NameList | CodeBlock | Facts | Figures | Folded


@dataclass(frozen=True)
class Section:
    """A section of a page; empty sections are omitted.

    Attributes
    ----------
    heading : str
    blocks : tuple of Block
    source : str
        Small, beside the heading: where it comes from.
    is_warning : bool
        Whether it is what to know before all else.
    """

    heading: str
    blocks: tuple[Block, ...]
    source: str = ""
    is_warning: bool = False


def folded(table: Table, *, is_open: bool = True) -> Folded:
    """Return a table folded behind its title."""
    return Folded(table.title, (table.untitled(),), is_open)
