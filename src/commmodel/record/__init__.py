"""Recordings: any MPI program, recorded without rebuilding it.

`launch` replaces this process by a program whose MPI calls are recorded (the verb ``commmodel record``). `CALLS` lists
the MPI calls that a recording holds. `load` opens a recording; `profile` and `matrix` summarise it, and
`Recording.events` iterates over its calls. `workload` replays it on any platform, `computation` gives the computation
of its ranks to a program that runs while it is simulated, `convert` writes it in other formats, `timeline` gives the
states of each rank over time, `efficiency` its parallel efficiency, `critical_path` what has decided its time,
`costliest_exchange` what `commmodel optimize` asks of it, `site_contents` what it sends in pieces or pickled. Modules
are loaded at their first use.
"""

from typing import TYPE_CHECKING

from commmodel.lazy import attributes
from commmodel.record.calls import CALLS, Call
from commmodel.record.launching import launch, recording_simulated_ranks

if TYPE_CHECKING:
    from commmodel.record import actions as actions
    from commmodel.record import computations as computations
    from commmodel.record import contents as contents
    from commmodel.record import files as files
    from commmodel.record import matrices as matrices
    from commmodel.record import profiles as profiles
    from commmodel.record.actions import RecordedActions
    from commmodel.record.computations import computation
    from commmodel.record.contents import SiteContent, site_contents
    from commmodel.record.conversion import convert
    from commmodel.record.critical_paths import critical_path
    from commmodel.record.efficiencies import Efficiency, efficiency
    from commmodel.record.exchanges import RecordedExchange, costliest_exchange
    from commmodel.record.files import Recording, is_recording, load
    from commmodel.record.matrices import Matrix, matrix
    from commmodel.record.profiles import Profile, profile
    from commmodel.record.replaying import workload
    from commmodel.record.timelines import timeline
else:
    __getattr__, __dir__ = attributes(__name__)

__all__ = [
    "CALLS", "Call", "Efficiency", "Matrix", "Profile", "RecordedActions", "RecordedExchange", "Recording",
    "SiteContent", "computation", "convert", "costliest_exchange", "critical_path", "efficiency", "is_recording",
    "launch", "load", "matrix", "profile", "recording_simulated_ranks", "site_contents", "timeline", "workload",
]  # fmt: skip
