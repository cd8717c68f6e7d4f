"""The rules by which a library picks algorithms of collective operations: `SelectionRule` and `Selector`.

Also what a library's own file of rules (`commmodel.collectives.library.openmpi`, `commmodel.collectives.library.mpich`)
shares with ours. `commmodel.collectives.library.selection` reads, writes and applies them.
"""

from collections.abc import Iterable
from typing import Annotated, Literal

from msgspec import Meta, structs

from commmodel.collectives.algorithms.blocks import power_below
from commmodel.collectives.operation import ELEMENT_SIZE, Operator, ScheduledName
from commmodel.structs import InputStruct
from commmodel.values import OneLine

FORMAT: Literal["commmodel-selector"] = "commmodel-selector"
VERSION = 1
# History of the format: 1, first version.

DEFAULT = "default"
"""Instead of an algorithm: what the library does where its file of rules says nothing."""
UNKNOWN = "unknown:"
"""Begins the name of a library's algorithm that commmodel has no schedule of."""
Distribution = Literal["single-node", "one-per-node", "several-per-node"]
"""How the processes of a communicator lie on nodes; several per node: as many, more than one, on each of several."""
SINGLE: Distribution = "single-node"
SPREAD: Distribution = "one-per-node"
SEVERAL: Distribution = "several-per-node"

Size = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Positive = Annotated[int, Meta(ge=1, le=2**63 - 1)]


class SelectionRule(OneLine, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An algorithm for an operation, under conditions that must all hold."""

    operation: ScheduledName
    algorithm: Annotated[str, Meta(min_length=1)]
    upto: Size | None = None
    """n ≤ upto, in bytes; n is what the count argument of the MPI call says (`commmodel.collectives.Problem`)."""
    total_upto: Size | None = None
    """n P ≤ total_upto, in bytes."""
    processes_from: Positive | None = None
    """P ≥ processes_from."""
    processes_upto: Positive | None = None
    """P ≤ processes_upto."""
    power_of_two: bool | None = None
    """Whether P is a power of two."""
    even: bool | None = None
    """Whether P is even."""
    count_below_power_of_two: bool | None = None
    """Whether there are fewer elements than the largest power of two ≤ P."""
    count_below_processes: bool | None = None
    """Whether there are fewer elements than processes."""
    commutative: bool | None = None
    """Whether the operator of the reduction commutes."""
    predefined: bool | None = None
    """Whether the operator is MPI's own, not a user's."""
    in_place: bool | None = None
    """Whether the call has MPI_IN_PLACE."""
    segment_size: Positive | None = None
    """Bytes of the pieces that the algorithm sends one after the other, or None where it sends all at once."""
    distribution: Distribution | None = None
    """How processes lie on nodes; such a rule never holds where that is not known."""
    processes_above: tuple[float, float] | None = None
    """P > a n + b, for these a and b."""
    processes_above_total: tuple[float, float] | None = None
    """P > a n P + b, for these a and b."""

    def holds(
        self,
        message_size: int,
        total: int,
        processes: int,
        element_size: int = ELEMENT_SIZE,
        per_node: int | None = None,
        operator: Operator = "predefined",
        in_place: bool = False,
    ) -> bool:
        """Whether the conditions hold for n, n P (both in bytes), P and the processes of a node, None if not known.

        The rest is as in `commmodel.collectives.Problem`.

        >>> SelectionRule("alltoall", "bruck", upto=256, processes_from=8).holds(256, 2048, 8)
        True
        """
        conditions = (
            (self.power_of_two, processes == power_below(processes)),
            (self.even, processes % 2 == 0),
            (self.count_below_power_of_two, message_size // element_size < power_below(processes)),
            (self.count_below_processes, message_size // element_size < processes),
            (self.commutative, operator != "non-commutative"),
            (self.predefined, operator == "predefined"),
            (self.in_place, in_place),
        )
        return (
            (self.upto is None or message_size <= self.upto)
            and (self.total_upto is None or total <= self.total_upto)
            and (self.processes_from is None or processes >= self.processes_from)
            and (self.processes_upto is None or processes <= self.processes_upto)
            and (self.distribution is None or self.distribution == distribution(processes, per_node))
            and _above(self.processes_above, message_size, processes)
            and _above(self.processes_above_total, total, processes)
            and all(expected is None or expected == true for expected, true in conditions)
        )


def _above(line: tuple[float, float] | None, size: int, processes: int) -> bool:
    """Whether P lies above a line over sizes, where one is given."""
    return line is None or processes > line[0] * size + line[1]


class Selector(OneLine, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A library's choice of algorithms."""

    name: str
    rules: tuple[SelectionRule, ...] = ()
    """The first that holds wins."""
    source: str = ""
    """Where the rules come from."""
    fallback: str = ""
    """The published selector that decides where no rule holds, or one says `DEFAULT`."""
    format: Literal["commmodel-selector"] = FORMAT
    version: Positive = VERSION
    is_flat: bool = False
    """Whether the fallback is asked as if nodes were not told apart."""


def usual(rules: Iterable[SelectionRule]) -> list[SelectionRule]:
    """Return rules without conditions on the call, and without those that usual calls do not meet.

    Usual ones have predefined operators and two buffers: files of libraries have no other conditions, or ours not.

    >>> [rule.algorithm for rule in usual([SelectionRule("reduce", "linear", commutative=False)])]
    []
    """
    met = (rule for rule in rules if rule.commutative is not False and rule.predefined is not False)
    return [
        structs.replace(rule, commutative=None, predefined=None, in_place=None) for rule in met if not rule.in_place
    ]


NON_BLOCKING = Selector(
    "libnbc of Open MPI 5.0",
    (
        SelectionRule("bcast", "linear", processes_upto=4),
        SelectionRule("bcast", "binomial-at-once"),
        SelectionRule("reduce", "binomial", processes_upto=2),
        SelectionRule("reduce", "binomial", count_below_power_of_two=True),
        SelectionRule("reduce", "reduce-scatter-gather"),
    ),
    "Open MPI 5.0.10, ompi/mca/coll/libnbc",
)
"""What Open MPI takes between nodes for a pipelined broadcast or reduction in two levels."""


def distribution(processes: int, per_node: int | None) -> Distribution | None:
    """Return how P processes lie on nodes of k each; None where k is not known, or some nodes have fewer.

    >>> distribution(64, 16), distribution(64, 64), distribution(64, 1), distribution(64, 48)
    ('several-per-node', 'single-node', 'one-per-node', None)
    """
    if per_node is None:
        return None
    if processes <= per_node:
        return SINGLE
    if per_node == 1:
        return SPREAD
    return None if processes % per_node else SEVERAL


def unknown(name: str) -> str:
    """Return the name, in a rule, of a library's algorithm that commmodel has no schedule of."""
    return UNKNOWN + name
