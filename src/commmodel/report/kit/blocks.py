"""What pages are made of: sections of blocks. Main entries: `Section` and the kinds of blocks."""

from dataclasses import dataclass
from typing import ClassVar

from commmodel.report.kit.tables import Cell, Table

__all__ = [
    "Block", "Bullets", "CodeBlock", "Fact", "Facts", "Figures", "Folded", "Heading", "NameList", "Plot", "Section",
    "Words", "folded",
]  # fmt: skip


@dataclass(frozen=True)
class Words:
    """A paragraph, or with `is_hint` a small one: how to read what stands above it."""

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
    """What is known by name: each name with its lines."""

    rows: tuple[tuple[str, tuple[str, ...]], ...]
    kind: ClassVar[str] = "names"


@dataclass(frozen=True)
class CodeBlock:
    """Commands, a line each."""

    lines: tuple[str, ...]
    kind: ClassVar[str] = "code"


@dataclass(frozen=True)
class Fact:
    """A number, what it is, what it means, and whether it comes from a fit that is not trusted."""

    label: str
    cell: Cell
    meaning: str = ""
    is_doubtful: bool = False


@dataclass(frozen=True)
class Facts:
    """Numbers that matter most, large."""

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
    """Plots beside and below each other."""

    plots: tuple[Plot, ...]
    kind: ClassVar[str] = "figures"


@dataclass(frozen=True)
class Folded:
    """Blocks behind a summary that can be opened and closed."""

    summary: str
    blocks: "tuple[Block, ...]"
    is_open: bool = True
    kind: ClassVar[str] = "folded"


Block = Table | Words | Heading | Bullets | NameList | CodeBlock | Facts | Figures | Folded


@dataclass(frozen=True)
class Section:
    """A part of a page; one without blocks is left out.

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
    """Return a table behind its title."""
    return Folded(table.title, (table.untitled(),), is_open)
