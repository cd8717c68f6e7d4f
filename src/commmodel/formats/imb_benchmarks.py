"""Benchmarks of the Intel MPI Benchmarks: what a row of a table becomes.

A benchmark that measures what one of our kernels measures becomes that kernel's configuration; any other a
`commmodel.results.configurations.Function` with its program and name, such as ``IMB-RMA Unidir_put``. Main entry:
`imb_benchmark`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from commmodel.formats.job_scripts import Placement
from commmodel.formats.lines import suite_function
from commmodel.results import Configuration
from commmodel.results.configurations import (
    Bandwidth,
    Collective,
    CollectiveMode,
    CollectiveName,
    Function,
    MessagePath,
    Pairs,
    PingPong,
    Stream,
)

_WINDOW = 64
"""Messages that Uniband and Biband send before they wait, unless told otherwise."""
_PROGRAMS = {
    "MPI-1": "IMB-MPI1", "MPI-2": "IMB-EXT", "MPI-IO": "IMB-IO", "MPI-NBC": "IMB-NBC", "MPI-RMA": "IMB-RMA",
    "RMA": "IMB-RMA", "MPI-4": "IMB-MPI4", "MT": "IMB-MT",
}  # fmt: skip
"""Part of the suite, as its banner calls it -> program."""
_OF_FILES = re.compile(r"[SPC]_I?(?:Read|Write)_\w+|Open_Close", re.IGNORECASE)
"""Benchmarks of IMB-IO, which old versions call MPI-2, too."""
_COLLECTIVES: dict[str, CollectiveName] = {
    "Barrier": "barrier", "Bcast": "bcast", "Reduce": "reduce", "Allreduce": "allreduce", "Gather": "gather",
    "Gatherv": "gatherv", "Scatter": "scatter", "Scatterv": "scatterv", "Allgather": "allgather",
    "Allgatherv": "allgatherv", "Alltoall": "alltoall", "Alltoallv": "alltoallv", "Reduce_scatter": "reduce_scatter",
    "Reduce_scatter_block": "reduce_scatter_block",
}  # fmt: skip
"""IMB's name -> operation."""


@dataclass
class IMBSetting:
    """What the head of a table says of all its rows."""

    program: str
    name: str
    placement: Placement | None = None
    processes: int = 2
    groups: int = 1
    is_multi: bool = False
    """Whether groups of processes play at once (``-multi``)."""
    threads: int = 1
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def pairs(self) -> int:
        """Which communicate at once."""
        return self.groups if self.is_multi else max(self.processes // 2, 1)

    @property
    def path(self) -> MessagePath | None:
        """Of its pairs; None where they take several."""
        if self.placement is None:
            return "any"
        return self.placement.path(1 if self.is_multi else self.pairs)

    @property
    def per_node(self) -> int | None:
        """Processes of a node that take part, which are the first; None where unknown."""
        per_node = None if self.placement is None else self.placement.per_node
        return per_node and min(per_node, self.processes)


class IMBBenchmark(NamedTuple):
    """What becomes of a benchmark."""

    configuration: Callable[[IMBSetting, int | None], Configuration]
    """From the setting and a row's size (None without one) to what was measured."""
    directions: int = 0
    """In which messages move at once, where the rate of messages is read; 0: the time is."""
    has_path: bool = False
    """Whether all its pairs must take one path."""
    is_sizeless: bool = False
    """Whether its table may lack sizes."""


def as_function(setting: IMBSetting, size: int | None) -> Function:
    """Return what was measured by the benchmark's own name, with all that is said of it."""
    numbers: dict[str, float] = {} if size is None else {"n": size}
    numbers["p"] = setting.processes
    labels = dict(setting.labels)
    if setting.is_multi:
        numbers["groups"] = setting.groups
    if setting.program == "IMB-MT":
        numbers["threads"] = setting.threads
    if setting.per_node is not None:
        numbers["per_node"] = setting.per_node
    name = f"{setting.program} {'Multi-' if setting.is_multi else ''}{setting.name}"
    return suite_function(name, numbers, labels)


def _ping_pong(setting: IMBSetting, size: int | None) -> Configuration:
    if setting.processes != 2:
        return as_function(setting, size)
    path = setting.path or "any"
    return Pairs(size or 0, setting.pairs, path, 1) if setting.is_multi else PingPong(size or 0, path)


def _pairs(setting: IMBSetting, size: int | None) -> Configuration:
    return Pairs(size or 0, setting.pairs, setting.path or "any", 1)


def _stream(setting: IMBSetting, size: int | None) -> Configuration:
    return Stream(size or 0, setting.pairs, setting.path or "any", _WINDOW, buffers="one")


def _both_ways(setting: IMBSetting, size: int | None) -> Configuration:
    path = (setting.path or "any") if setting.processes == 2 else "any"
    return Bandwidth(size or 0, 2 * setting.pairs, "cross", "both-ways", path, _WINDOW)


def _collective(operation: CollectiveName, mode: CollectiveMode) -> IMBBenchmark:
    def configuration(setting: IMBSetting, size: int | None) -> Configuration:
        if setting.is_multi:
            return as_function(setting, size)
        amount = size or 0
        if operation == "reduce_scatter" and amount:  # its size is that of the whole vector
            amount = max(amount // setting.processes, 1)
        return Collective(operation, amount, setting.processes, mode=mode, per_node=setting.per_node)

    return IMBBenchmark(configuration, is_sizeless=operation == "barrier")


_PING_PONG = IMBBenchmark(_ping_pong, has_path=True)
_BENCHMARKS = {
    ("IMB-MPI1", "PingPong"): _PING_PONG,
    ("IMB-MPI1", "PingPongSpecificSource"): _PING_PONG,
    ("IMB-P2P", "PingPong"): _PING_PONG,
    ("IMB-MPI1", "Uniband"): IMBBenchmark(_stream, 1, has_path=True),
    ("IMB-MPI1", "Biband"): IMBBenchmark(_both_ways, 2),
    **{("IMB-MPI1", name): _collective(operation, "blocking") for name, operation in _COLLECTIVES.items()},
    **{
        ("IMB-NBC", f"I{name.lower()}{form}"): _collective(operation, "non-blocking")
        for name, operation in _COLLECTIVES.items()
        for form in ("", "_pure")
    },
}
"""Program and benchmark -> what becomes of it; any other keeps its name."""
_SEVERAL_PING_PONGS = IMBBenchmark(_pairs, 1, has_path=True)
"""Of IMB-P2P, whose rate of messages is that of the slowest rank."""


def program_of(part: str, name: str) -> str:
    """Return the program of a benchmark, of which the banner names the part.

    >>> program_of("MPI-NBC", "Ibcast"), program_of("MPI-2", "S_Write_indv"), program_of("IMB-P2P", "PingPing")
    ('IMB-NBC', 'IMB-IO', 'IMB-P2P')
    """
    return "IMB-IO" if part == "MPI-2" and _OF_FILES.fullmatch(name) else _PROGRAMS.get(part, part)


def imb_benchmark(setting: IMBSetting) -> IMBBenchmark:
    """Return what becomes of the rows of a table.

    >>> imb_benchmark(IMBSetting("IMB-RMA", "Unidir_put")).configuration(IMBSetting("IMB-RMA", "Unidir_put"), 8)
    Function(name='IMB-RMA Unidir_put', metric='time', parameters=(('n', 8.0), ('p', 2.0)))
    """
    if (setting.program, setting.name) == ("IMB-P2P", "PingPong") and setting.processes > 2:
        return _SEVERAL_PING_PONGS
    return _BENCHMARKS.get((setting.program, setting.name), IMBBenchmark(as_function, is_sizeless=True))
