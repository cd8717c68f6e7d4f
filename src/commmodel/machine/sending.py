"""Times of data in pieces and of Python objects by each way to send them. Main entry: `Sending`."""

from typing import Annotated

from msgspec import Meta

from commmodel.choices import DataLayout, ObjectKind, ObjectWay, PieceWay
from commmodel.machine.measured_times import MeasuredTimes
from commmodel.machine.tables import interpolated
from commmodel.structs import InputStruct
from commmodel.values import Value

Scatter = Annotated[float, Meta(ge=0)]


class PieceCosts(Value, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a way to send pieces adds to a message of as many bytes in one piece (`commmodel.models.pieces`)."""

    layout: DataLayout
    way: PieceWay
    sizes: Annotated[tuple[Annotated[int, Meta(ge=1)], ...], Meta(min_length=1)]
    """Bytes of all pieces together, ascending."""
    blocks: Annotated[tuple[Annotated[int, Meta(ge=1)], ...], Meta(min_length=1)]
    """Bytes of a piece, ascending."""
    byte_time: tuple[tuple[Annotated[float, Meta(ge=0)], ...], ...]
    """Seconds a byte, a row for each size, a column for each block."""
    scatter: Scatter = 0.0
    """Standard deviation of log T of sizes between those that were measured."""
    stride: Annotated[int, Meta(ge=1)] | None = None
    """Bytes between the begins of pieces, twice their length where it is None."""

    def at(self, message_size: float, block: float) -> float:
        """Return the seconds a byte: bilinear in logarithms; beyond the edges those of the edge, but shorter pieces
        cost as much each as the shortest that was measured.

        >>> costs = PieceCosts("vector", "type", (1024, 4096), (8, 128), ((4e-9, 1e-9), (8e-9, 1e-9)))
        >>> [round(1e9 * costs.at(*point), 6) for point in ((2048, 8), (1024, 4), (1 << 20, 256))]
        [6.0, 8.0, 1.0]
        """
        shorter = max(1.0, self.blocks[0] / block)
        return interpolated(self.sizes, self.blocks, self.byte_time, message_size, block) * shorter


class ObjectTimes(Value, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Times of a kind of Python object by one way to send it, over about its bytes as pickled."""

    kind: ObjectKind
    way: ObjectWay
    times: MeasuredTimes
    scatter: Scatter = 0.0
    """Standard deviation of log T of sizes between those that were measured."""


class Sending(Value, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Ways to send data in pieces and Python objects on one path."""

    path: str = "any"
    contiguous: MeasuredTimes | None = None
    """Of messages in one piece, over their bytes; None where no data in pieces were measured."""
    pieces: tuple[PieceCosts, ...] = ()
    objects: tuple[ObjectTimes, ...] = ()
