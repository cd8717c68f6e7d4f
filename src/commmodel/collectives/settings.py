"""Settings of collectives: which algorithms they take, and what a byte costs within memory.

A place has them (`commmodel.machine.Machine.collective_settings`), and who asks may have others. Main entry:
`CollectiveSettings`.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from commmodel.arguments import finite
from commmodel.collectives.library.rules import Selector
from commmodel.collectives.library.selection import load, picker
from commmodel.collectives.library.smpi_selection import Selection, smpi_selection
from commmodel.collectives.schedule import Nodes, Problem
from commmodel.docstrings import with_attributes
from commmodel.signatures import check_fields


@with_attributes
@dataclass(frozen=True)
class CollectiveSettings:
    """How collectives are carried out; None: as the machine says.

    Where nothing says it, algorithms are MPICH's, copying takes no time, and combining takes as long as copying.

    >>> asked = CollectiveSettings(memory_copy=1e-10).or_else(CollectiveSettings("openmpi", 1e-9))
    >>> asked.name, asked.byte_times
    ('openmpi', (1e-10, 1e-10))
    """

    selector: str | os.PathLike[str] | Selector | Selection | None = None
    """What picks algorithms. A name or a file that `commmodel.collectives.library.load` knows, or what it returns;
    ``smpi``, ``smpi-ompi``, ``smpi-mpich``, ``smpi-mvapich2``, ``smpi-impi`` or a
    `commmodel.collectives.library.smpi_selection.Selection` for the algorithms of
    `commmodel.simulate.smpi_collectives`, in which copying and combining take no time."""
    memory_copy: float | None = None
    reduction: float | None = None
    """Seconds that copying and combining take for each byte."""
    hosts: tuple[int, ...] = ()
    """The host of each rank, for algorithms in two levels and rules about nodes; empty where none tell nodes apart."""

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("memory_copy", "reduction"):
            if getattr(self, name) is not None:
                finite(name, getattr(self, name), 0)

    def or_else(self, other: "CollectiveSettings") -> "CollectiveSettings":
        """Return these settings, with those of another in place of what is None."""
        names = [name for name in ("selector", "memory_copy", "reduction") if getattr(self, name) is None]
        return replace(self, **{name: getattr(other, name) for name in names})

    @cached_property
    def library(self) -> Selector | Selection:
        """What picks algorithms, loaded."""
        chosen = smpi_selection(self.selector or "mpich")
        if isinstance(chosen, Selection) and not chosen.hosts:
            chosen = replace(chosen, hosts=self.hosts)
        return chosen if isinstance(chosen, Selector | Selection) else load(chosen)

    @cached_property
    def nodes(self) -> Nodes | None:
        """Nodes of the ranks; None where hosts are not known or not alike, or their ranks do not follow one another."""
        lengths = {len([*group]) for _, group in groupby(self.hosts)}
        is_alike = len(lengths) == 1 and len(set(self.hosts)) * min(lengths) == len(self.hosts)
        return Nodes(min(lengths)) if is_alike else None

    @property
    def looks_at_hosts(self) -> bool:
        """Whether the choice of algorithms may hang on the hosts of ranks."""
        library = self.library
        if isinstance(library, Selection):
            return not library.is_default
        fallback = load(library.fallback).rules if library.fallback else ()
        return any(rule.distribution for rule in (*library.rules, *fallback))

    def within(self, members: Sequence[int]) -> "CollectiveSettings":
        """Return the settings for a communicator of some of the ranks.

        >>> CollectiveSettings(hosts=(0, 0, 1, 1)).within([0, 2]).nodes.per_node
        1
        """
        return replace(self, hosts=tuple(self.hosts[member] for member in members)) if self.hosts else self

    @property
    def name(self) -> str:
        """The name of what picks algorithms."""
        return self.library.name if isinstance(self.selector, Selector | Selection) else str(self.selector or "mpich")

    def picker(self, operation: str, problem: Problem) -> str:
        """Return the name of what picks the algorithm of a collective: where its rules say nothing, the fallback's."""
        library = self.library
        if isinstance(library, Selection):
            return self.name
        name = picker(library, operation, replace(problem, nodes=problem.nodes or self.nodes))
        return self.name if name == library.name else name

    @property
    def byte_times(self) -> tuple[float, float]:
        """Seconds that copying and combining take for each byte."""
        copying = self.memory_copy or 0.0
        return copying, copying if self.reduction is None else self.reduction
