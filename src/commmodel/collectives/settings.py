"""Settings of collectives: which algorithms they take, and what a byte costs within memory.

A place has them (`commmodel.machine.Machine.collective_settings`), and who asks may have others. Main entry:
`CollectiveSettings`.
"""

import os
from dataclasses import dataclass, replace
from functools import cached_property

from commmodel.arguments import finite
from commmodel.collectives.library.rules import Selector
from commmodel.collectives.library.selection import load
from commmodel.collectives.library.smpi_selection import Selection, smpi_selection

__all__ = ["CollectiveSettings"]


@dataclass(frozen=True)
class CollectiveSettings:
    """How collectives are carried out; None: as the machine says.

    Where nothing says it, algorithms are MPICH's, copying takes no time, and combining takes as long as copying.

    Attributes
    ----------
    selector : str, path, Selector or Selection, optional
        What picks algorithms: a name or a file that `commmodel.collectives.library.load` knows, or what it returns;
        ``smpi``, ``smpi-ompi``, ``smpi-mpich``, ``smpi-mvapich2``, ``smpi-impi`` or a
        `commmodel.collectives.library.smpi_selection.Selection` for the algorithms of
        `commmodel.simulate.smpi_collectives`, in which copying and combining take no time.
    memory_copy, reduction : float, optional
        Seconds that copying and combining take for each byte.

    Examples
    --------
    >>> asked = CollectiveSettings(memory_copy=1e-10).or_else(CollectiveSettings("openmpi", 1e-9))
    >>> asked.name, asked.byte_times
    ('openmpi', (1e-10, 1e-10))
    """

    selector: str | os.PathLike[str] | Selector | Selection | None = None
    memory_copy: float | None = None
    reduction: float | None = None

    def __post_init__(self) -> None:
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
        return chosen if isinstance(chosen, Selector | Selection) else load(chosen)

    @property
    def name(self) -> str:
        """The name of what picks algorithms."""
        return self.library.name if isinstance(self.selector, Selector | Selection) else str(self.selector or "mpich")

    @property
    def byte_times(self) -> tuple[float, float]:
        """Seconds that copying and combining take for each byte."""
        copying = self.memory_copy or 0.0
        return copying, copying if self.reduction is None else self.reduction
