"""Times of collectives by a made-up formula, so that rules have something to choose by."""

import math

from commmodel.collectives import ALGORITHMS
from commmodel.errors import InputError


def made_up(operation, algorithm, size, processes):
    """A time for each algorithm, some better for few bytes and some for many."""
    if ALGORITHMS[operation][algorithm].needs.get("even") and processes % 2:
        raise InputError("an even number")
    steps = sum(map(ord, algorithm)) % 7 + 1
    return steps * math.log2(processes + 1) + size * (8 - steps) * 1e-3 + processes * (steps % 3) * 0.05
