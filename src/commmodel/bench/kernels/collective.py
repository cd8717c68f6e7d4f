"""Collective operations of the first ranks: barrier, broadcast, reduction and the others. Main entry: `KERNELS`.

Each repetition begins after a barrier; a sample is the time on the slowest rank. The number of repetitions follows
from the interval of the median, or is that of the Intel MPI Benchmarks, to compare with them (March 2009, Section 4).
"""

from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter
from typing import Any, get_args

import msgspec
import numpy as np

from commmodel.bench.kernels.kernel import MODE, Effort, Kernel, Room, all_processes
from commmodel.bench.kernels.synchronisation_scheme import measure_started
from commmodel.bench.option import Option
from commmodel.bench.placement import Placement
from commmodel.bench.session import Session
from commmodel.collectives.operation import OPERATIONS, Group
from commmodel.errors import InputError, choice_of
from commmodel.results import BenchOptions, Configuration, Record
from commmodel.results.configurations import Collective, CollectiveMode, CollectiveName, SendMode, Start
from commmodel.units import format_size

GROUPS: dict[str, tuple[CollectiveName, ...]] = {
    "all": tuple(operation.name for operation in OPERATIONS.values()),
    **{
        group: tuple(operation.name for operation in OPERATIONS.values() if operation.group == group)
        for group in get_args(Group)
    },
}
"""Words for several operations."""

_MOST_BYTES = 64 << 20  # of a rank's buffer that holds several blocks
_TOO_LARGE = f"all blocks together exceed {format_size(_MOST_BYTES)}"
_MOST_ELEMENTS = 2**31 - 1  # that an int counts
_FLOAT_BYTES = 4
_NEIGHBOURS = 4  # each way of both dimensions of a grid
_DELAY_SHARE = 0.25  # of an overlapped operation's time, to measure what it takes without computation

_MODES: dict[SendMode | str, tuple[CollectiveMode, ...]] = {
    "blocking": ("blocking",),
    "non-blocking": ("non-blocking", "overlapped"),
    "both": ("blocking", "non-blocking", "overlapped"),
}

_IMB_MOST = 1000
_IMB_BYTES = 640 << 16  # 640 repetitions of 64 KiB, half as many of twice the size


def imb_repetitions(size: int) -> int:
    """Return the repetitions of the Intel MPI Benchmarks for a message of `size` bytes.

    >>> [imb_repetitions(size) for size in (0, 32 << 10, 64 << 10, 4 << 20, 1 << 30)]
    [1000, 1000, 640, 10, 1]
    """
    return max(1, min(_IMB_MOST, _IMB_BYTES // max(size, 1)))


def _blocks(operation: CollectiveName, processes: int) -> tuple[int, int]:
    """Return the largest numbers of blocks that a rank sends and receives."""
    counts = {"one": 1, "per-process": processes, "per-neighbour": _NEIGHBOURS}
    return counts[OPERATIONS[operation].sent], counts[OPERATIONS[operation].received]


def _most_bytes(operation: CollectiveName, processes: int) -> int | None:
    """Return the largest message whose blocks fit the buffers; None for operations of a single block."""
    return _MOST_BYTES // max(_blocks(operation, processes)) if OPERATIONS[operation].size_is_per_block else None


def _countable(operation: CollectiveName, size: int) -> bool:
    """Whether the elements of a reduction fit an int; data movement has a datatype for any size."""
    elements = size if size % _FLOAT_BYTES else size // _FLOAT_BYTES
    return not OPERATIONS[operation].combines or elements <= _MOST_ELEMENTS


def fits(operation: CollectiveName, size: int, processes: int) -> bool:
    """Return whether the blocks of an operation fit the buffers, and its elements an int."""
    most = _most_bytes(operation, processes)
    return (most is None or size <= most) and _countable(operation, size)


def _why_not(configuration: Collective) -> str:
    """Return the reason why an operation cannot be measured; empty where it can be."""
    most = _most_bytes(configuration.operation, configuration.processes)
    if configuration.mode != "blocking" and not OPERATIONS[configuration.operation].mpi_name:
        return "broadcasts by hand have no non-blocking form"
    if most is not None and configuration.message_size > most:
        return _TOO_LARGE
    if not _countable(configuration.operation, configuration.message_size):
        return "an int does not count their elements"
    return ""


def _candidates(options: BenchOptions) -> Iterable[Collective]:
    for operation in options.collectives:
        for size in options.sizes if OPERATIONS[operation].has_size else (0,):
            for processes in options.procs:
                for mode in _MODES[options.mode]:
                    yield Collective(operation, size, processes, options.start, mode)


def _plan(options: BenchOptions, placement: Placement) -> list[Configuration]:  # noqa: ARG001
    return [candidate for candidate in _candidates(options) if not _why_not(candidate)]


def _limits(left: list[Collective]) -> str:
    """Return the sizes above which operations are omitted for their blocks; empty where none are."""
    limits: dict[str, None] = {}
    for configuration in sorted(left, key=attrgetter("processes")):
        most = _most_bytes(configuration.operation, configuration.processes)
        if _why_not(configuration) == _TOO_LARGE and most is not None:
            near = OPERATIONS[configuration.operation].group == "neighbours"
            where = f"with {_NEIGHBOURS} neighbours" if near else f"on {configuration.processes} processes"
            limits[f"{format_size(most)} {where}"] = None
    return f" above {', '.join(limits)}" if limits else ""


def _left_out(options: BenchOptions) -> str:
    reasons: dict[str, list[Collective]] = {}
    for candidate in _candidates(options):
        if why := _why_not(candidate):
            reasons.setdefault(why, []).append(candidate)
    return "; ".join(
        f"left out, as {why}: {', '.join(dict.fromkeys(item.operation for item in left))}{_limits(left)}"
        for why, left in reasons.items()
    )


def collective_room(configuration: Any) -> Room:
    """Return the buffer sizes for an operation, of a configuration that has one and its processes."""
    sent, received = _blocks(configuration.operation, configuration.processes)
    return sent * configuration.message_size, received * configuration.message_size


def _measure(session: Session, configuration: Collective) -> Record | None:
    imb = session.options.imb_repetitions
    repetitions = imb_repetitions(configuration.message_size) if imb else None
    if configuration.mode != "overlapped":
        return measure_started(session, configuration, repetitions)
    without_delay = msgspec.structs.replace(configuration, mode="non-blocking")
    before = measure_started(replace(session, share=_DELAY_SHARE * session.share), without_delay, repetitions)
    delay: float | None = session.comm.bcast(float(np.median(before.samples)) if before else None)
    if delay is None:
        return None
    rest = replace(session, share=(1 - _DELAY_SHARE) * session.share)
    return measure_started(rest, configuration, repetitions, delay)


def collective_effort(configuration: Any) -> Effort:
    """Return the effort of a tree for operations of one block, else of all blocks that a rank has."""
    blocks = max(_blocks(configuration.operation, configuration.processes))
    if blocks == 1:
        return Effort(configuration.message_size, max(1, (configuration.processes - 1).bit_length()))
    return Effort(configuration.message_size, blocks - 1, by_all=True)


def _collectives(text: str) -> tuple[CollectiveName, ...]:
    names: dict[CollectiveName, None] = {}
    groups = {name: (name,) for name in GROUPS["all"]} | GROUPS
    for name in text.split(","):
        if name not in groups:
            raise InputError(
                f"unknown collective {name!r}: {choice_of(name, GROUPS['all'])}, or of these words for several: "
                f"{', '.join(GROUPS)}"
            )
        names |= dict.fromkeys(groups[name])
    return tuple(names)


_OPTIONS = (
    MODE,
    Option(
        "collectives",
        f"operations, of {', '.join(GROUPS['all'])}; or words for several: {', '.join(GROUPS)}",
        _collectives,
        lambda names: next(group for group, members in GROUPS.items() if members == names),
        metavar="COLLECTIVE,...",
    ),
    Option(
        "start",
        "how repetitions of collectives begin: on synchronised clocks, or after a barrier, as always where ranks "
        "outnumber processors and with --imb-repetitions",
        choices=get_args(Start),
    ),
    Option("imb_repetitions", "repeat collectives as often as the Intel MPI Benchmarks do", None),
)
KERNELS = (
    Kernel(
        "collective operations of the first 2, 4, 8, ... ranks",
        (Collective,),
        _plan,
        _measure,
        collective_room,
        all_processes,
        _OPTIONS,
        left_out=_left_out,
        effort=collective_effort,
    ),
)
