"""Critical paths of measured intervals, whose waits name the rank that was waited for. Main entry: `measured_path`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from commmodel._core.program.walk_back import COSTS, walk_back
from commmodel.simulate.critical_path.path import SEGMENT, CriticalPath
from commmodel.simulate.result import MESSAGE


def measured_path(
    intervals: NDArray[np.void], processes: int, numbers: NDArray[np.integer[Any]], sites: tuple[str, ...]
) -> CriticalPath:
    """Return the path to the end of the last interval.

    Parameters
    ----------
    intervals : structured array of `commmodel.simulate.result.INTERVAL`
        From 0 on; the peer of a wait is the rank that was waited for.
    processes : int
    numbers : int array, shape (intervals,)
        Call site of each.
    sites : tuple of str
        Names of call sites.
    """
    order = np.lexsort((intervals["end"], intervals["start"], intervals["rank"]))
    rows, numbers = intervals[order], numbers[order]
    if not rows.size:
        return CriticalPath(np.zeros(0, SEGMENT), sites)
    last = int(rows["end"].argmax())
    first = np.searchsorted(rows["rank"], np.arange(processes + 1))
    rank, end = int(rows["rank"][last]), float(rows["end"][last])
    rules = (False, False, False, True)
    walk = walk_back(rows, first, np.empty(0, MESSAGE), np.empty(0, COSTS), rules, rank, end)
    segments = np.zeros(walk.size, SEGMENT)
    for name in ("rank", "kind", "peer", "message", "start", "end"):
        segments[name] = walk[name]
    place = walk["interval"]
    for name, default in (("tag", -1), ("size", 0.0)):
        segments[name] = np.where(place >= 0, rows[name][place], default)
    segments["site"] = np.where(place >= 0, numbers[place], -1)
    segments["step"] = -1
    return CriticalPath(segments, sites)
