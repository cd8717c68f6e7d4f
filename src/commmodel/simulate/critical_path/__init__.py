"""Critical paths: which messages, computations and waits decide the time of a run.

::

    path.py   CriticalPath, walked back from the end of a recorded run, and its sums
    marking.py  marks in programs, by which call sites and steps are told
    shortening.py  what the run takes without its call sites, one by one
    measured.py  paths of recordings
    costs.py  what each message takes, by which the walk tells parts of intervals apart

Main entry: `critical_path`.
"""

from typing import TYPE_CHECKING

from commmodel._core.common.codes import PathKind
from commmodel.lazy import attributes
from commmodel.simulate.critical_path.path import KIND_NAMES, SEGMENT, CriticalPath, PathShare, critical_path

if TYPE_CHECKING:
    from commmodel.simulate.critical_path.marking import with_steps, without_sites
    from commmodel.simulate.critical_path.measured import measured_path
    from commmodel.simulate.critical_path.shortening import SiteGain, gains
else:
    __getattr__, __dir__ = attributes(__name__)

__all__ = [
    "KIND_NAMES", "SEGMENT", "CriticalPath", "PathKind", "PathShare", "SiteGain", "critical_path", "gains",
    "measured_path", "with_steps", "without_sites",
]  # fmt: skip
