"""Measured tables smoothed over neighbouring cells, against outliers. Main entries: `steady_costs`, `steady_shares`.

A machine beside other work gives some cells in a slow mode: at 1 MiB four times the time of a byte at 512 KiB and at
2 MiB, or a "progress" of 60 % between cells of 5 %, where the exchange alone was slow when it was timed. What disturbs
makes transfers slower and, through the exchange alone, shares of progress larger. So of a cell and the running median
over five sizes around it the smaller one counts; a table that rises or falls throughout stays as it is, and so does a
step at a protocol's limit. How far cells and running medians are apart is what is not known.
"""

from typing import NamedTuple

import numpy as np

from commmodel.arrays import Array
from commmodel.machine import ParameterTable

_REACH = 2
"""Sizes to either side of a cell in its running median."""
_SHARE_ERROR = 0.1
"""Of a share of progress, on a quiet machine too: below, nothing moves by itself and what is seen is noise."""


class Steady(NamedTuple):
    """Smoothed values over sizes and bursts, with the ends of their intervals."""

    value: Array
    low: Array
    high: Array


def steady_costs(table: ParameterTable) -> Steady:
    """Return smoothed overheads or byte times; intervals come from the scatter around running medians.

    >>> found = steady_costs(ParameterTable((1, 2, 4, 8, 16), (1,), ((9.0,), (8.0,), (28.0,), (6.0,), (5.0,))))
    >>> found.value.ravel().tolist(), [round(float(one), 2) for one in found.high.ravel()]
    ([9.0, 8.0, 8.0, 6.0, 5.0], [10.12, 28.0, 28.0, 21.0, 5.0])
    """
    values = np.array(table.values, dtype=np.float64)
    medians = _running_medians(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.where((values > 0) & (medians > 0), np.abs(np.log(values / medians)), 0.0)
    factors = np.exp(_widest(off))
    steady = np.minimum(values, medians)
    return Steady(steady, steady / factors, steady * factors)


def steady_shares(table: ParameterTable) -> Steady:
    """Return smoothed shares of progress; intervals are the scatter of nearby cells plus 10 %.

    The share of the largest messages, which nothing follows, is at most the largest of the two sizes before.

    >>> found = steady_shares(ParameterTable((1, 2, 4, 8, 16), (1,), ((0.1,), (0.0,), (0.6,), (0.1,), (0.7,))))
    >>> found.value.ravel().tolist(), [round(float(one), 2) for one in found.high.ravel()]
    ([0.1, 0.0, 0.1, 0.1, 0.1], [0.2, 0.6, 0.7, 0.7, 0.2])
    """
    values = np.array(table.values, dtype=np.float64)
    medians = _running_medians(values)
    steady = np.minimum(values, medians)
    if len(values) > _REACH:
        steady[-1] = np.minimum(steady[-1], steady[-1 - _REACH : -1].max(axis=0))
    width = _widest(np.abs(values - np.minimum(values, medians))) + _SHARE_ERROR
    return Steady(steady, np.maximum(steady - width, 0.0), np.minimum(steady + width, 1.0))


def _running_medians(values: Array) -> Array:
    """Return running medians down the columns, over at most two rows on each side; the ends are unchanged."""
    rows = len(values)
    return np.array([
        np.median(values[row - reach : row + reach + 1], axis=0)
        for row, reach in ((row, min(_REACH, row, rows - 1 - row)) for row in range(rows))
    ])  # fmt: skip


def _widest(off: Array) -> Array:
    """Return for each cell the maximum over its size and the neighbouring ones."""
    rows = len(off)
    return np.array([off[max(0, row - 1) : row + 2].max(axis=0) for row in range(rows)])
