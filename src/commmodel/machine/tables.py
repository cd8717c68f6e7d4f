"""Tables of measured parameters over message size and a count, and the profiles made of them.

Main entries: `ParameterTable`, `OverlapProfile`, `BandwidthProfile`.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Literal

from msgspec import Meta

from commmodel.errors import InputError
from commmodel.machine.parameters import Parameter
from commmodel.signatures import check_fields
from commmodel.structs import InputStruct


class ParameterTable(InputStruct, frozen=True, forbid_unknown_fields=True):
    """Measured values over sizes and counts, interpolated bilinearly in logarithms; constant beyond the edges.

    The overhead o(S, b) has burst lengths as counts, the byte time G(P, S) numbers of peers.

    >>> ParameterTable(sizes=(1024, 4096), bursts=(1, 4), values=((4e-6, 2e-6), (8e-6, 4e-6))).at(2048, 2)
    4.5e-06
    """

    sizes: tuple[float, ...]
    """Bytes of a message, ascending, > 0."""
    bursts: tuple[float, ...]
    """Burst lengths, or numbers of peers, ascending, > 0."""
    values: tuple[tuple[float, ...], ...]
    """A row for each size, a column for each burst."""

    def __post_init__(self) -> None:
        """Raise `InputError` where the numbers do not make a table."""
        check_fields(self)
        for name, axis in (("sizes", self.sizes), ("bursts", self.bursts)):
            if not axis or axis[0] <= 0 or any(above <= below for below, above in pairwise(axis)):
                raise InputError(f"a table's {name} must ascend from above 0, each once: got {axis}")
        if len(self.values) != len(self.sizes) or any(len(row) != len(self.bursts) for row in self.values):
            raise InputError(
                f"a table of {len(self.sizes)} sizes and {len(self.bursts)} bursts needs as many rows and columns"
            )
        if not all(0 <= value < math.inf for row in self.values for value in row):
            raise InputError("a table's values must be finite numbers from 0 up")

    def at(self, message_size: float, burst: float) -> float:
        """Return the value for messages of one size in bursts, or among peers, of one number."""
        return interpolated(self.sizes, self.bursts, self.values, message_size, burst)


class OverlapProfile(InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Parameters of overlap on one path (Iancu 2007, Section 2.1)."""

    path: str = "any"
    operation: Literal["two-sided", "put", "get"] = "two-sided"
    L: Parameter | None = None
    """Latency in seconds, with which a message takes o(S, 1) + L + S G."""
    overhead: ParameterTable | None = None
    """Seconds of one initiation among b in a row, at both ends together, o(S, b) = o_s + o_r."""
    progress: ParameterTable | None = None
    """Which share of the transfer of b messages of S goes on while both sides compute and do not call MPI, 0 to 1."""
    queue_depth: Annotated[int, Meta(ge=2)] | None = None
    """Messages under way with which the queue is full, HD."""
    outstanding_volume: Annotated[int, Meta(ge=1)] | None = None
    """Bytes that may be under way at once."""


class BandwidthProfile(InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """G(P, S) of P processes that all communicate, in pairs (Iancu 2007, Section 2.1, Figures 3 to 5)."""

    pattern: Literal["nearest-neighbour", "cross"]
    """Pairs i and i + 1, or i and i + P / 2."""
    direction: Literal["one-way", "both-ways"]
    byte_time: ParameterTable
    """Seconds per byte, of the slowest pair, over message sizes and P (the table's bursts)."""
    fastest: ParameterTable | None = None
    """The same of the fastest pair."""


def interpolated(
    rows: Sequence[float], columns: Sequence[float], values: Sequence[Sequence[float]], first: float, second: float
) -> float:
    """Return a value of a table between its rows and columns: bilinear in their logarithms, constant beyond the edges.

    >>> interpolated((1.0, 4.0), (1.0, 2.0), ((1.0, 2.0), (3.0, 4.0)), 2.0, 1.0)
    2.0
    """
    row, down = _place(rows, first)
    column, right = _place(columns, second)
    upper, lower = values[row], values[min(row + 1, len(rows) - 1)]
    beside = min(column + 1, len(columns) - 1)
    above = upper[column] + right * (upper[beside] - upper[column])
    below = lower[column] + right * (lower[beside] - lower[column])
    return above + down * (below - above)


def _place(axis: Sequence[float], value: float) -> tuple[int, float]:
    """Return the index of the interval that contains a value, and the position in it from 0 to 1."""
    if value <= axis[0]:
        return 0, 0.0
    if value >= axis[-1]:
        return len(axis) - 1, 0.0
    index = bisect_left(axis, value) - 1
    return index, math.log2(value / axis[index]) / math.log2(axis[index + 1] / axis[index])
