"""Measured times over message sizes, where no model describes them. Main entry: `MeasuredTimes`."""

import math
from bisect import bisect_right
from typing import Annotated, Literal

from msgspec import Meta

from commmodel.structs import InputStruct


class MeasuredTimes(InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Measured times at some sizes; columns have shape (sizes,), in seconds."""

    sizes: Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(min_length=1)]
    seconds: tuple[Annotated[float, Meta(gt=0)], ...]
    low: tuple[Annotated[float, Meta(gt=0)], ...] | None = None
    """Ends of the medians' intervals."""
    high: tuple[Annotated[float, Meta(gt=0)], ...] | None = None

    def at(self, message_size: float, end: Literal["seconds", "low", "high"] = "seconds") -> float:
        """Return the time at any size: interpolated in logarithms, extrapolated at the last rate.

        Below the first size it is that of the first.

        >>> table = MeasuredTimes((1, 4), (1e-6, 4e-6))
        >>> [round(1e6 * table.at(size), 3) for size in (0, 2, 8)]
        [1.0, 2.0, 8.0]
        """
        times = getattr(self, end) or self.seconds
        if message_size <= self.sizes[0]:
            return float(times[0])
        if message_size >= self.sizes[-1]:
            return float(times[-1] * message_size / self.sizes[-1])
        above = bisect_right(self.sizes, message_size)
        smaller, larger = max(self.sizes[above - 1], 1), self.sizes[above]  # a size of 0 has no logarithm
        share = math.log(max(message_size, 1) / smaller) / math.log(larger / smaller) if larger > smaller else 0.0
        return float(times[above - 1] ** (1 - share) * times[above] ** share)
