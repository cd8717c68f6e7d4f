"""Which algorithms SMPI's collectives have. Main entries: `Selection`, `smpi_selection`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from commmodel.signatures import check_fields
from commmodel.values import Value

__all__ = ["DEFAULT", "SMPI_SELECTOR", "SMPI_SELECTORS", "Selection", "smpi_selection"]

DEFAULT = "default"
"""The algorithm and the selector where none is asked for."""
SMPI_SELECTOR = "smpi"
SMPI_SELECTORS = ("ompi", "mpich", "mvapich2", "impi")
"""Those that it has beside its default; ours are called ``smpi-ompi`` and so on."""


@dataclass(frozen=True)
class Selection(Value):
    """Which algorithm each collective has: SMPI's options ``smpi/coll-selector``, ``smpi/allreduce`` and so on.

    >>> Selection("mpich", {"bcast": "NTSL"}).algorithm("bcast")
    'NTSL'
    """

    selector: str = DEFAULT
    """``default`` or one of `SMPI_SELECTORS`."""
    algorithms: Mapping[str, str] = field(default_factory=dict)
    """Operation -> name of the algorithm that it has instead."""
    hosts: tuple[int, ...] = ()
    """The host of each rank, by default one for each. Algorithms for nodes of several processors look at it."""
    is_prepared: bool = False
    """Whether ranks know already who shares a node with them. Else SMPI makes the communicators of nodes in the first
    call that needs them, which takes messages, too."""

    is_in_order: bool = False
    """Whether ranks post sends and receives one by one in SMPI's order, which matters where a send takes their time."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def is_default(self) -> bool:
        """Whether all collectives have their default, whose rounds are made for all ranks at once."""
        return self.selector == DEFAULT and not self.algorithms and not self.is_in_order

    @property
    def name(self) -> str:
        """The name of the selector among ours."""
        return SMPI_SELECTOR if self.selector == DEFAULT else f"{SMPI_SELECTOR}-{self.selector}"

    def algorithm(self, operation: str) -> str:
        """Return the name of an operation's algorithm."""
        return self.algorithms.get(operation, self.selector)

    def within(self, members: Sequence[int]) -> "Selection":
        """Return the selection for a communicator of some of the ranks."""
        return replace(self, hosts=tuple(self.hosts[member] for member in members)) if self.hosts else self


_Other = TypeVar("_Other")


def smpi_selection(selector: _Other) -> _Other | Selection:
    """Return the selection that a name means where it is SMPI's, else the selector.

    >>> smpi_selection("smpi-impi").selector, smpi_selection("mpich")
    ('impi', 'mpich')
    """
    names = {Selection(name).name: name for name in (DEFAULT, *SMPI_SELECTORS)}
    return Selection(names[selector]) if isinstance(selector, str) and selector in names else selector
