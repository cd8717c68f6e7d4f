"""Programs that run unchanged while they are simulated: their ranks are processes, their calls of MPI operations.

::

    rank_processes how ranks' processes end; processes: each is started, watched, ended
    beginnings   processes of ranks that wait to be copied, for other orders of messages
    fork_server  the ranks of a Python program as forks of one interpreter
    collectives  actions of collectives as operations
    computation  how long ranks compute, of a recording
    memory       what ranks take of it
    patience     ranks that compute for long
    live         the ranks as the engine's source of operations
    unbuffered   whether a program relies on buffers
    decisions    what time decides in a run, and how another may decide it; orders: runs that do
    order_workers several such runs at a time
    call_names   names of calls, as people read them
    processor    one processor for all, as one runs at a time
    functions    a Python function as such a program
    workload     all of it as a workload of a scenario

Main entry: `workload`. What sends functions is loaded at its first use.
"""

from typing import TYPE_CHECKING

from commmodel.lazy import attributes
from commmodel.simulate.online.computation import RecordedComputation
from commmodel.simulate.online.live import Outlets
from commmodel.simulate.online.workload import workload

if TYPE_CHECKING:
    from commmodel.simulate.online.functions import FUNCTION_RANK, explained, read_returned, write_call
else:
    __getattr__, __dir__ = attributes(__name__)

__all__ = [
    "FUNCTION_RANK", "Outlets", "RecordedComputation", "explained", "read_returned", "workload", "write_call",
]  # fmt: skip
