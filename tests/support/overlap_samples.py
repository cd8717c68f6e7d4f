"""Records of the kernel overlap made from the paper's formulas, and the machine that knows these formulas."""

import math

from support.report_samples import header, record

from commmodel.machine import LogGP, Machine, OverlapProfile, Parameter, ParameterTable, Segment
from commmodel.models import overlap
from commmodel.results import Launch, Measurements
from commmodel.results.configurations import Overlap

o, L, G = 2e-6, 6e-6, 0.4e-9
"""o of both ends together."""
BURSTS = (1, 2, 4, 8, 16, 32)


def machine(path="same-node", **more):
    model = LogGP(L=Parameter(L), o=Parameter(o / 2), g=Parameter(o / 2), G=Parameter(G))
    return Machine("cluster", (Segment("all", path, loggp=model),), **more)


def blocking_seconds(volume, computation):
    return overlap.blocking_time(volume, volume, computation, o, L, G)


def seconds(volume, message_size, burst, computation, template="pipelined"):
    """The time by the equations; as without overlap where a burst is longer than Eq 3 allows."""
    if burst > 1 and overlap.burst_slack(message_size, burst, o, L, G) <= 0:
        return blocking_seconds(volume, computation)
    messages = math.ceil(volume / message_size)
    bursts = math.ceil(messages / burst)
    arguments = (volume, volume / messages, messages / bursts, computation, o, L, G)
    if template == "tight":
        communication = overlap.tight_time(*arguments)
        computing = overlap.tight_computation_time(*arguments)
    else:
        communication = overlap.pipelined_time(*arguments, G)
        computing = overlap.pipelined_computation_time(*arguments)
    if overlap.initiation_slack(volume, volume / messages, computation, o, G) > 0:
        return communication
    return max(communication, computing) if volume * G > computation else computing


def decompositions(volume):
    sizes = [volume >> down for down in range(9) if volume >> down >= 512]
    return [(size, burst) for size in sizes for burst in BURSTS if size * burst <= volume]


def overlap_record(volume, message_size, burst, template, time, computation, passes=1, **more):
    where = {"processes": 2, "path": "same-node"} | more
    configuration = Overlap(volume, message_size, burst, template, passes, **where)
    return record(configuration, time, computation=computation)


def problem(volume, ratio, template="pipelined", passes=1, **more):
    """All records of one problem whose computation is `ratio` times its transfer."""
    computation = ratio * volume * G
    uncut = overlap_record(
        volume, volume, 1, "blocking", blocking_seconds(volume, computation), computation, passes, **more
    )
    return [uncut] + [
        overlap_record(
            volume, *where, template, seconds(volume, *where, computation, template), computation, passes, **more
        )
        for where in decompositions(volume)
    ]


def measurements(*records, head=None):
    return Measurements((Launch(head or header(), tuple(records)),))


SHARES = ParameterTable(
    sizes=(1024.0, 65536.0, 1048576.0), bursts=(1.0, 8.0), values=((0.95, 1.0), (0.3, 0.2), (0.02, 0.0))
)
PROFILE = OverlapProfile("same-node", progress=SHARES, queue_depth=64, outstanding_volume=4 << 20)
