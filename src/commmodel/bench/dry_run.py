"""What a launch would measure, and the time and memory that it takes, said without MPI. Main entry: `forecast`."""

import resource
import time

import msgspec

from commmodel.bench import start_up
from commmodel.bench.kernels import REGISTRY, buffer_bytes, kernel_of, sensible_kernels
from commmodel.bench.options import CommandLine, parse_processes
from commmodel.bench.outlook import NO_OUTLOOK, sent_bytes
from commmodel.bench.placement import place, place_further
from commmodel.bench.plan import in_rounds, make_plan
from commmodel.errors import InputError
from commmodel.units import format_rate, format_size, format_time

_MIB = 1 << 20
_SLOWER = 10  # than the slowest network on which the time is kept: an example


class Forecast(msgspec.Struct, frozen=True):
    """A launch, before it is made.

    Attributes
    ----------
    processes, per_node : int
        Ranks, and those of a node; the nodes are filled one after the other.
    configurations : dict of str to int
        Kernel -> configurations that it plans; those of kernels that must look at the machine first are not counted.
    unknown : list of str
        These kernels.
    visits : int
        Measurements of all of them.
    seconds : float
        Time of measuring, unless the first visits alone take longer.
    start_seconds : float
        Processor time of a rank until MPI_Init.
    least_seconds : float
        What one visit to each configuration takes at least, besides its messages.
    sent_bytes : float
        What these visits send, one message after the other.
    rank_bytes, buffer_bytes : int
        Memory of a rank without its buffers and the MPI library, and of its buffers.
    """

    processes: int
    per_node: int
    configurations: dict[str, int]
    unknown: list[str]
    visits: int
    seconds: float
    least_seconds: float
    sent_bytes: float
    start_seconds: float
    rank_bytes: int
    buffer_bytes: int

    @property
    def node_bytes(self) -> int:
        """Memory of the ranks of a node, without the MPI library."""
        return min(self.per_node, self.processes) * (self.rank_bytes + self.buffer_bytes)

    @property
    def _longer(self) -> str:
        """On which networks the time is not kept, as one visit to each configuration takes longer."""
        spare = self.seconds - self.least_seconds
        if spare <= 0:
            return f"longer, as one visit to each takes {format_time(self.least_seconds)} besides its messages"
        if not self.sent_bytes:
            return "longer if one visit to each takes longer"
        enough = self.sent_bytes / spare
        slow = enough / _SLOWER
        return (
            f"longer where a link carries less than {format_rate(enough)}, as one visit to each sends "
            f"{format_size(round(self.sent_bytes))}, one message after the other: "
            f"{format_time(self.least_seconds + self.sent_bytes / slow)} at {format_rate(slow)}"
        )

    def __str__(self) -> str:
        nodes = -(-self.processes // self.per_node)
        planned = ", ".join(f"{name} {count:,}" for name, count in self.configurations.items())
        lines = [
            f"dry run: {self.processes:,} ranks on {nodes:,} node{'s' * (nodes > 1)}; nothing is measured",
            f"plan     {sum(self.configurations.values()):,} configurations ({planned}), {self.visits:,} visits",
            f"time     {format_time(self.seconds)} of measuring, {format_time(self.seconds / max(self.visits, 1))} a "
            f"visit; {self._longer}",
            f"start    {format_time(self.start_seconds)} of a processor for each rank, and MPI_Init",
            f"memory   of a rank {_size(self.rank_bytes)} and buffers of {_size(self.buffer_bytes)}, of a node "
            f"{_size(self.node_bytes)}, and what the MPI library takes",
        ]
        if self.unknown:
            lines.append(f"unknown  {', '.join(self.unknown)}: planned after a first look at the machine")
        return "\n".join(lines)


def _size(size: int) -> str:
    return format_size(-(-size // _MIB) * _MIB)


def forecast(line: CommandLine) -> Forecast:
    """Return what a launch of a command line would do.

    Sockets are not known before, so pairs within a node are counted as one path.

    Raises
    ------
    InputError
        Where there are too few ranks for what is asked.

    >>> from commmodel.bench.options import parse
    >>> launch = forecast(parse(["pingpong", "pairs", "--sizes", "8,1KiB", "--dry-run", "-p", "1000", "-k", "64"]))
    >>> launch.configurations, launch.buffer_bytes
    ({'pingpong': 4, 'pairs': 192}, 2048)
    """
    processes = 2 if line.processes is None else line.processes
    per_node = processes if line.per_node is None else line.per_node
    if processes < 2:
        raise InputError("-p: one rank has nobody to talk to: give 2 or more")
    hosts = [rank // per_node for rank in range(processes)]
    placement, further = place(hosts, [None] * processes), place_further(hosts, [None] * processes)
    kernels = line.options.kernels or sensible_kernels(placement, line.options.node_pairs)
    procs = parse_processes(line.procs, processes)
    if max(procs) > processes:
        raise InputError(f"--process-counts asks for {max(procs)} processes, but there are {processes}: raise -p")
    unknown = [name for name in kernels if REGISTRY[name].prepare]
    kernels = tuple(name for name in kernels if name not in unknown)
    options = msgspec.structs.replace(line.options, kernels=kernels, procs=procs)
    with start_up.expected(processes):
        plan = make_plan(options, placement, further)
    counts = dict.fromkeys(kernels, 0)
    for configuration in plan:
        counts[kernel_of(configuration).name] += 1
    return Forecast(
        processes, per_node, counts, unknown, len(in_rounds(plan, options)), options.time,
        NO_OUTLOOK.total(plan), sent_bytes(plan), time.process_time(),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10, sum(buffer_bytes(plan)),
    )  # fmt: skip
