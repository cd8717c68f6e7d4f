"""LogGP on the schedule of a collective, message by message."""

import numpy as np

from commmodel._core.delays.critical_path import finish_times
from commmodel.collectives import build


def evaluated(operation, name, problem, L, o, g, G, memory_copy=0.0, reduction=0.0):
    """Return when the last process has finished."""
    schedule = build(operation, name, problem)
    rest = (np.maximum(schedule.size, 1) - 1) * G
    overhead = np.full(schedule.messages, float(o))
    work = memory_copy * schedule.copied + reduction * schedule.reduced
    return finish_times(
        problem.processes,
        *(schedule.round, schedule.sender, schedule.receiver, overhead, overhead, g + rest, L + rest),
        *(schedule.work_round, schedule.worker, work),
    ).max()
