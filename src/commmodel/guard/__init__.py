"""Guards of what programs send: simulated runs, the same on each machine, against a baseline and expectations.

Messages, bytes, calls and simulated seconds of a simulated run are exact: no runner of a continuous integration adds
noise to them. Times of both sides are measured in turns, where that is asked for. Main entries: `load`, `run`, `count`,
`compare`.
"""

from commmodel.guard.comparison import CountChange, CountComparison, SiteChange, compare
from commmodel.guard.counts import Counts, RunCounts, SiteCounts, count, dump_counts, load_counts
from commmodel.guard.file import Guard, GuardedProgram, GuardTimes, load
from commmodel.guard.verdict import GuardResult, run

__all__ = [
    "CountChange", "CountComparison", "Counts", "Guard", "GuardResult", "GuardTimes", "GuardedProgram", "RunCounts",
    "SiteChange", "SiteCounts", "compare", "count", "dump_counts", "load", "load_counts", "run",
]  # fmt: skip
