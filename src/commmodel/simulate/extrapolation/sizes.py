"""Bytes as functions of P, the round and the place of a rank. Main entry: `size_model`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commmodel.simulate.extrapolation.functions import Surroundings
from commmodel.simulate.extrapolation.growths import Sides, SizeLaw, size_laws

Part = tuple[Sides, Surroundings, NDArray[np.int64]]
"""P and sides of grids of a run, where each value of a rank is, and the values."""
_RATIOS = (2.0, 0.5, 4.0, 0.25, 8.0, 0.125)


@dataclass(frozen=True)
class SizeModel:
    """Bytes: laws of P, one for each round of a loop where they differ by it."""

    laws: tuple[tuple[SizeLaw, ...], ...]
    """Of each round, or the only ones; each the laws that are possible."""
    level: int | None = None
    """Which loop's rounds, the innermost first; None where bytes are the same in all."""
    ratio: float = 1.0
    """By which bytes of a round differ from those of the round before."""

    def value(self, number: int, sides: Sides, index: int | None) -> float:
        """Return the bytes by the law of that number, of those that are possible, in a round."""
        if self.level is None or index is None:
            return self.laws[0][number].value(sides)
        if self.ratio != 1.0:
            return self.laws[0][number].value(sides) * self.ratio**index
        return self.laws[index][number].value(sides)


def size_model(parts: Sequence[Part]) -> SizeModel | None:
    """Return the model that gives all values; None where there is none."""
    levels = len(parts[0][1].indices)
    choices: list[int | None] = [None, *range(levels)]
    for level in choices:
        table = _table(parts, level)
        if table is None:
            continue
        if level is None:
            laws = size_laws([(sides, values[0]) for sides, values in table.items()])
            if laws:
                return SizeModel((tuple(laws),))
            continue
        model = _by_round(table, level)
        if model is not None:
            return model
    return None


def _table(parts: Sequence[Part], level: int | None) -> dict[Sides, list[int]] | None:
    """Return the values of each round for each run; None where there are several."""
    seconds: dict[tuple[Sides, int], int] = {}
    for sides, spot, values in parts:
        rounds: Any = values * 0 if level is None else spot.indices[level]
        for index, value in zip(rounds.tolist(), values.tolist(), strict=True):
            if seconds.setdefault((sides, index), value) != value:
                return None
    table: dict[Sides, list[int]] = {}
    for (sides, _), value in sorted(seconds.items()):
        table.setdefault(sides, []).append(value)
    return dict(sorted(table.items()))


def _by_round(table: dict[Sides, list[int]], level: int) -> SizeModel | None:
    if len({len(values) for values in table.values()}) == 1:
        count = len(next(iter(table.values())))
        listed = [size_laws([(sides, values[index]) for sides, values in table.items()]) for index in range(count)]
        return SizeModel(tuple(map(tuple, listed)), level) if all(listed) else None
    for ratio in _RATIOS:
        if all(np.allclose(np.array(values[1:]), np.array(values[:-1]) * ratio) for values in table.values()):
            laws = size_laws([(sides, values[0]) for sides, values in table.items()])
            if laws:
                return SizeModel((tuple(laws),), level, ratio)
    return None
