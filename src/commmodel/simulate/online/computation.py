"""Computation of a program that runs, as it was recorded. Main entry: `RecordedComputation`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from commmodel.values import Value


@dataclass(frozen=True)
class RecordedComputation(Value):
    """How long each rank of a recorded program has computed before each of its calls."""

    source: str
    """The recording, for people."""
    processes: int
    """P."""
    names: Sequence[str]
    """Names of the calls before which computation is known; a program that runs must make the same ones."""
    intervals: Callable[[int], tuple[NDArray[np.int64], NDArray[np.float64]]]
    """Rank -> for each of its calls in turn, the number of its name (int64) and seconds (float64)."""
    factor: float = 1.0
    """Simulated seconds for each recorded one."""
