"""What is said of a predicted collective. Main entry: `CollectivePrediction`."""

from typing import Literal

from msgspec import Struct

from commmodel.predict.arrays import ByModel
from commmodel.predict.seconds import Seconds
from commmodel.values import Value


class CollectivePrediction(ByModel, Value, Struct, frozen=True):
    """Predicted time of a collective operation, by one model and by the others."""

    time: Seconds
    model: str
    algorithm: str
    operation: str
    processes: int
    message_size: int
    """n in bytes, as in `commmodel.collectives.Problem`."""
    segment_size: int | None
    """Bytes of the pieces that the algorithm sends one after the other, None where it sends all at once."""
    per_node: int | None
    """Processes of each node; None where all messages take one path."""
    chosen_by: str
    """``given``, ``fastest``, or the name of the selector that picked the algorithm."""
    evaluation: Literal["schedule", "closed-form", "measured"]
    messages: int | None
    """Messages of the schedule; None where it was too large to be made."""
    models: dict[str, Seconds]
    """The same by every model that knows all the messages' sizes; for a large schedule by `model` alone."""
    closed_form: float | None = None
    """Seconds by the formula of the algorithm, with the LogGP parameters of its largest message."""
    exactness: str = ""
    """Where the formula is what the schedule gives, and where a bound."""
    remarks: tuple[str, ...] = ()
    extrapolates: tuple[str, ...] = ()
    """What lies beyond what was measured, as far as the machine tells what was."""
    warnings: tuple[str, ...] = ()
    """What was wrong while the machine was measured."""
