"""What can be measured: a registry of kernels. Main entry: `REGISTRY`.

A kernel plans its configurations and measures one of them. A new kernel is a loop in `_core`, a configuration in
`results`, a `Kernel` in a module of this folder and its name here.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from commmodel.bench.kernels import (
    bandwidth,
    burst,
    clocks,
    collective,
    contention,
    local,
    memory,
    multi_pair,
    overlap_templates,
    pingpong,
    plogp,
    progress,
    trains,
)
from commmodel.bench.kernels.kernel import Kernel
from commmodel.bench.kernels.multi_pair import on_several_nodes
from commmodel.bench.placement import FurtherNodes, Placement, members
from commmodel.results import (
    Bandwidth,
    Clocks,
    Collective,
    Configuration,
    Contention,
    Function,
    Local,
    Memory,
    Options,
    Overlap,
    Pairs,
    PointToPoint,
    Record,
    Stream,
)

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = [
    "REGISTRY", "Kernel", "buffer_bytes", "check", "kernel_of", "left_out", "on_several_nodes", "pairs_of",
    "participants", "refinements", "sensible_kernels",
]  # fmt: skip

REGISTRY: dict[str, Kernel] = {
    "threshold": pingpong.THRESHOLD,
    "pingpong": pingpong.PINGPONG,
    "ping": pingpong.PING,
    "pairs": multi_pair.PAIRS,
    "stream": multi_pair.STREAM,
    "loggp": trains.KERNEL,
    "plogp": plogp.KERNEL,
    "local": local.KERNEL,
    "collective": collective.KERNEL,
    "clocks": clocks.KERNEL,
    "memory": memory.KERNEL,
    "burst": burst.BURST,
    "queue": burst.QUEUE,
    "progress": progress.PROGRESS,
    "bandwidth": bandwidth.BANDWIDTH,
    "overlap": overlap_templates.KERNEL,
    "contention": contention.KERNEL,
}


def kernel_of(configuration: Configuration) -> Kernel:
    """Return the kernel that measures a configuration."""
    return REGISTRY[str(type(configuration).__struct_config__.tag).removeprefix("random-")]


def sensible_kernels(placement: Placement, node_pairs: Sequence[int] = (1,)) -> tuple[str, ...]:
    """Return what to measure where no kernel is named.

    Everything that does not wait to be named, but no pairs where one pair is all there is, and no streams where it is
    within a node, either.
    """
    several = max(node_pairs) > 1 or any(len(pairs) > 1 for pairs in placement.values())
    pointless = set() if several else {"pairs"} if "between-nodes" in placement else {"pairs", "stream"}
    return tuple(name for name, kernel in REGISTRY.items() if name not in pointless and not kernel.on_request)


def pairs_of(
    configuration: PointToPoint | Bandwidth | Overlap, placement: Placement, further: FurtherNodes
) -> list[tuple[int, int]]:
    """Return the pairs of ranks that take part: as many in each pair of nodes."""
    match configuration:
        case Pairs() | Stream():
            count, nodes = configuration.pairs, configuration.node_pairs
        case Contention():
            count, nodes = 1, configuration.node_pairs
        case _:
            count, nodes = 1, 1
    return [pair for pairs in (placement[configuration.path], *further)[:nodes] for pair in pairs[:count]]


def participants(configuration: Configuration, placement: Placement, further: FurtherNodes = ()) -> list[int]:
    """Return the ranks that take part, rank 0 first.

    >>> participants(Collective("barrier", 0, 3), {})
    [0, 1, 2]
    """
    if isinstance(configuration, Local | Function):  # and a function is never planned, only read
        return [0]
    if isinstance(configuration, Collective | Clocks | Memory) or (
        isinstance(configuration, Bandwidth | Overlap) and configuration.path == "any"
    ):
        return list(range(configuration.processes))
    return members(pairs_of(configuration, placement, further))


def buffer_bytes(plan: Iterable[Configuration]) -> tuple[int, int]:
    """Return the sizes that send buffers and receive buffers need for a plan and what refines it."""
    rooms = [kernel_of(one).room(one) for one in plan]
    sent = max((room[0] for room in rooms), default=1)
    return max(sent, 1), max((room[1] for room in rooms), default=1)


def check(comm: "MPI.Intracomm", plan: Sequence[Configuration]) -> None:
    """Raise on every rank alike where some rank cannot measure what is planned."""
    for kernel in dict.fromkeys(kernel_of(one) for one in plan):
        if kernel.check:
            kernel.check(comm, plan)


def refinements(options: Options, records: Sequence[Record]) -> list[Configuration]:
    """Return what is worth measuring beyond the plan, given all records up to now."""
    done = {record.configuration for record in records}
    found = [one for name in options.kernels if (refine := REGISTRY[name].refine) for one in refine(options, records)]
    return [one for one in found if one not in done]


def left_out(options: Options) -> list[str]:
    """Return a line for each kernel that cannot measure all that was asked for."""
    found = {name: tell(options) for name in options.kernels if (tell := REGISTRY[name].left_out)}
    return [f"{name}: {words}" for name, words in found.items() if words]
