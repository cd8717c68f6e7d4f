"""Measured times of collectives, as the time that a message of their schedule takes. Main entry: `CollectiveTimes`."""

from typing import Annotated

from msgspec import Meta

from commmodel.collectives.operation import ScheduledName
from commmodel.structs import InputStruct
from commmodel.values import Value


class CollectiveTimes(Value, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An operation by one algorithm: T = (P / P₀)^γ Σ f(m), over the messages of the busiest process of each round.

    f, the time of a message within the operation, is linear between sizes; one that stays on its node takes the share
    `within` of it. γ is `growth` for messages that take as
    long as the smallest, and `byte_growth` where bytes take all of the time; P₀ is the largest number of processes.
    """

    operation: ScheduledName
    processes: Annotated[tuple[Annotated[int, Meta(ge=1)], ...], Meta(min_length=1)]
    """Measured numbers P, ascending."""
    message_sizes: Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(min_length=1)]
    """Bytes of messages of the schedule, ascending."""
    seconds: tuple[Annotated[float, Meta(ge=0)], ...]
    """f at these sizes."""
    algorithm: str = ""
    """As the program that measured it spells it, or empty for what the MPI library picks."""
    schedule: str = ""
    """Its name in `commmodel.collectives.ALGORITHMS`, by the sizes of its messages; empty where the library picks."""
    per_node: Annotated[int, Meta(ge=1)] | None = None
    """Processes of each node; None where it is not known."""
    growth: float = 0.0
    byte_growth: float = 0.0
    within: tuple[Annotated[float, Meta(gt=0)], ...] = ()
    """At `message_sizes`; empty where it takes the same as between nodes."""
    scatter: Annotated[float, Meta(ge=0)] = 0.0
    """Standard deviation of log T around the model, and between launches."""
    growth_scatter: Annotated[float, Meta(ge=0)] = 0.0
    """Standard deviation of log T for each doubling of P beyond those that were measured."""
    between_runs: Annotated[float, Meta(ge=1)] = 1.0
    """By what factor runs of the same operation differ, the slowest against the fastest, in the median of those that
    ran several times; 1 where none did."""

    @property
    def measured(self) -> str:
        """Where it was measured, in words."""
        numbers = ", ".join(map(str, self.processes))
        return f"p = {numbers}" + ("" if self.per_node is None else f" with {self.per_node} on a node")
