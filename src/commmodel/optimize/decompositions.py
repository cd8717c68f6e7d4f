"""The candidates of the search: message sizes and bursts. Main entry: `decompositions`."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from commmodel.arguments import integer
from commmodel.choices import Grid
from commmodel.errors import InputError

MOST_MESSAGES, LONGEST_BURST = 8192, 64
"""The decompositions that the paper tried: Iancu 2007, Section 3."""
_LONGEST_QUEUE = 4096


class Decompositions(NamedTuple):
    """Message sizes and bursts, both descending; those not offered serve the blocking time alone."""

    sizes: NDArray[np.float64]
    """The whole message first."""
    bursts: NDArray[np.float64]
    """1 last."""
    first_row: int
    """1 where the whole message is not offered."""
    last_column: int
    """That of the shortest burst offered."""


def decompositions(
    volume: int, largest: int, kind: Grid, queue_depth: int | None, sizes: Sequence[int] | None,
    bursts: Sequence[int] | None,
) -> Decompositions:  # fmt: skip
    """Return the candidates for `volume` bytes, in messages of at most `largest` or of given sizes and bursts."""
    longest = max(LONGEST_BURST, min(queue_depth or 0, _LONGEST_QUEUE))
    if sizes is None and bursts is None:
        return _of_grid(volume, largest, kind, longest)
    grid = _of_grid(volume, largest, kind, longest)
    if sizes is not None:
        distinct = _whole_numbers("sizes", sizes)
        candidates = distinct[distinct <= largest]
        if not candidates.size:
            raise InputError(f"sizes: all are larger than the {largest} bytes to move: give a smaller one")
        is_whole = candidates[0] == largest
        grid = grid._replace(
            sizes=candidates if is_whole else np.concatenate(([float(largest)], candidates)),
            first_row=0 if is_whole else 1,
        )
    if bursts is not None:
        distinct = _whole_numbers("bursts", bursts)
        has_one = distinct[-1] == 1
        grid = grid._replace(bursts=distinct if has_one else np.append(distinct, 1.0), last_column=distinct.size - 1)
    return grid


@lru_cache(maxsize=256)
def _of_grid(volume: int, largest: int, kind: Grid, longest: int) -> Decompositions:
    ladder = _ladder(kind)
    first, beyond = ladder.searchsorted((math.ceil(volume / MOST_MESSAGES), largest))
    sizes = np.empty(beyond - first + 1)
    sizes[0], sizes[1:] = largest, ladder[first:beyond][::-1]
    bursts = _bursts(kind, longest)
    return Decompositions(sizes, bursts, 0, bursts.size - 1)


@lru_cache(maxsize=2)
def _ladder(kind: Grid) -> NDArray[np.float64]:
    steps = 4 if kind == "fine" else 1
    return np.array(sorted(set(np.round(2.0 ** (np.arange(53 * steps) / steps)).tolist())))  # np.unique loads np.ma


@lru_cache(maxsize=64)
def _bursts(kind: Grid, longest: int) -> NDArray[np.float64]:
    bursts = {2**step for step in range(longest.bit_length())}
    if kind == "fine":
        bursts |= set(range(1, LONGEST_BURST + 1))
    return np.array(sorted(bursts, reverse=True), dtype=np.float64)


def _whole_numbers(name: str, values: Any) -> NDArray[np.float64]:
    """Return distinct integers ≥ 1, descending."""
    try:
        numbers = {integer(name, number) for number in values}
    except TypeError:
        raise InputError(f"{name}: {values!r} is no sequence of whole numbers: write it like (1024, 4096)") from None
    if not numbers:
        raise InputError(f"{name}: {values!r}: give at least one whole number, all from 1 up")
    return np.array(sorted(numbers, reverse=True), dtype=np.float64)
