"""Cost of each message of a collective: overheads at both ends, gap, and transit time.

LogP, LogGP and pLogP differ only in these four numbers (`commmodel._core.delays.critical_path`). For m = 0 LogGP has m
= 1. Where the machine has them, G_gap takes G's place in the gap, and bytes move during its overlap v: g − v + max(v,
(m − 1) G_gap):

=====  ============  ============  =============  ==========================
model  sending       receiving     gap            way
=====  ============  ============  =============  ==========================
loggp  o             o             g + (m − 1) G  L + (m − 1) G
logp   o             o             g              L
plogp  o_s(m)        o_r(m)        g(m)           L + g(m) − o_s(m) − o_r(m)
=====  ============  ============  =============  ==========================

By pLogP a message takes L + g(m), whatever was measured of its ends: where sending and receiving are longer together,
they are cut, the receive first. A receive that takes most of that time awaits its message, which leaves when it is
posted. Waiting is no work: that is as much as for the largest message that had come, in proportion to bytes.

Sources: March 2009, Section 3; of pLogP, Kielmann, Bal and Verstoep 2000. Main entry: `message_costs`.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from commmodel.arguments import choice
from commmodel.choices import CostModel
from commmodel.errors import InputError, MissingParameterError, choice_of
from commmodel.machine import LogGP, Machine, Parameter, PLogP, Segment
from commmodel.machine.description import usual_path
from commmodel.predict.seconds import End, value_at
from commmodel.results.configurations import MessagePath

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
MODELS: tuple[CostModel, ...] = get_args(CostModel)
"""Names of the models that know what a message costs its sender, its receiver and the network."""
_COLUMNS = ("o_s", "o_r", "g")
_WHOLE_TRANSFER = 0.7  # share of it that a receive takes which had to wait for it, as in `fit.mode_limits`


class Costs(NamedTuple):
    """Seconds of each message; all arrays have shape (messages,)."""

    send_overhead: Floats
    receive_overhead: Floats
    gap: Floats
    transit: Floats


def check_path(machine: Machine, path: str | None) -> None:
    """Raise where a path is neither a known one nor the machine's."""
    names = dict.fromkeys((*get_args(MessagePath), *machine.paths))
    if path and path not in names:
        raise InputError(f"machine {machine.name!r} knows no path {path!r}: {choice_of(path, names)}")


def missing(machine: Machine, where: Segment | str, problem: str, kernel: str) -> MissingParameterError:
    """Return the error for a parameter that a machine lacks in a segment or elsewhere; it names the kernel to run."""
    if isinstance(where, Segment):
        where = f"segment {where.protocol} ({where.path})"
    return MissingParameterError(
        f"machine {machine.name!r}, {where}: {problem}: measure it with python -m commmodel.bench {kernel}, then fit"
    )


def plogp_table(machine: Machine, path: str | None = None, end: End = "value") -> PLogP | None:
    """Return the pLogP table of a path, else that of the path ``any``; None without either.

    With an end, its columns and L are those ends of their intervals, where they have some.
    """
    tables = {table.path: table for table in machine.plogp}
    table = tables.get(usual_path((*machine.paths, *tables), path)) or tables.get("any")
    if table is None or end == "value":
        return table
    columns = table.low if end == "low" else table.high
    L = Parameter(value_at(table.L, end))
    return msgspec.structs.replace(table, L=L, **{name: columns.get(name, getattr(table, name)) for name in _COLUMNS})


def loggp_at(machine: Machine, message_size: float, path: str | None = None, *, needs_G: bool = True) -> LogGP:
    """Return the LogGP parameters that hold for messages of one size.

    `MissingParameterError` where there are none, or G is missing and a byte's time is needed; it names the kernel to
    run.
    """
    segment = machine.segment(message_size, path)
    if segment.loggp is None:
        raise missing(machine, segment, "it has no LogGP parameters", "loggp")
    if segment.loggp.G is None and needs_G and message_size > 1:
        problem = "LogGP's G is missing (`model` logp leaves a byte's time out)"
        raise missing(machine, segment, problem, "loggp")
    return segment.loggp


def default_model(machine: Machine, path: str | None = None) -> CostModel:
    """Return ``plogp`` where the machine has a table of the path, else ``loggp``."""
    return "loggp" if plogp_table(machine, path) is None else "plogp"


def _of_segments(machine: Machine, model: str, path: str | None, end: End, size: Integers) -> Costs:
    sizes, place = np.unique(size, return_inverse=True)
    columns = np.empty((4, sizes.size))
    for column, message_size in enumerate(sizes.tolist()):
        loggp = loggp_at(machine, message_size, path, needs_G=model == "loggp")
        L, o, g = (value_at(parameter, end) for parameter in (loggp.L, loggp.o, loggp.g))
        G = value_at(loggp.G, end) if loggp.G is not None and model == "loggp" else 0.0
        G_gap = value_at(loggp.G_gap, end) if loggp.G_gap is not None and model == "loggp" else G
        further_bytes = max(message_size - 1, 0)
        overlap = min(value_at(loggp.overlap, end), g) if model == "loggp" else 0.0
        gap = g - overlap + max(overlap, further_bytes * G_gap)
        columns[:, column] = o, o, gap, L + further_bytes * G
    return Costs(*columns[:, place.reshape(size.shape)])


def _of_table(table: PLogP, size: Integers) -> Costs:
    sizes, place = np.unique(size, return_inverse=True)
    table = msgspec.structs.replace(table, o_r=_receive_work(table))
    o_s, o_r, gap = (table.at(name, sizes) for name in _COLUMNS)
    end_to_end = table.L.value + gap
    o_s = np.minimum(o_s, end_to_end)
    o_r = np.minimum(o_r, end_to_end - o_s)
    transit = end_to_end - o_s - o_r
    place = place.reshape(size.shape)
    return Costs(o_s[place], o_r[place], gap[place], transit[place])


def _receive_work(table: PLogP) -> tuple[float, ...]:
    """Return o_r of each size without the wait for a message that leaves when its receive is posted.

    >>> ends = {"o_s": (1.0,) * 3, "o_r": (1.0, 2.0, 90.0), "g": (5.0, 50.0, 100.0)}
    >>> _receive_work(PLogP(Parameter(0.0), (0, 1000, 2000), **ends))
    (1.0, 2.0, 4.0)
    """
    work: list[float] = []
    of_byte = np.inf  # of the largest message that had come
    for size, o_r, gap in zip(table.sizes, table.o_r, table.g, strict=True):
        if o_r < _WHOLE_TRANSFER * (table.L.value + gap):
            of_byte = o_r / size if size else np.inf
            work.append(o_r)
        else:
            work.append(min(o_r, float(of_byte * size) if size else o_r))
    return tuple(work)


def awaited_from(table: PLogP) -> int | None:
    """Return the smallest size from which all receives of a table await their messages; None where none do.

    >>> ends = {"o_s": (1.0,) * 3, "o_r": (1.0, 2.0, 90.0), "g": (5.0, 50.0, 100.0)}
    >>> awaited_from(PLogP(Parameter(0.0), (0, 1000, 2000), **ends))
    2000
    """
    start = None
    for size, o_r, work in zip(reversed(table.sizes), reversed(table.o_r), reversed(_receive_work(table)), strict=True):
        if work > o_r / 2:  # copies in shared memory take most of a message's time, too, but grow with its bytes
            break
        start = size
    return start


def message_costs(
    machine: Machine, model: CostModel, path: str | None = None, end: End = "value"
) -> Callable[[Integers], Costs]:
    """Return a function from message sizes (int64 array of bytes, shape (messages,)) to costs by one of `MODELS`.

    Each size takes the parameters of its own segment; a size without them raises `MissingParameterError`. The path is
    ``between-nodes`` where the machine has it and nothing else is said; `end` is that of all parameters' intervals.

    >>> from commmodel.machine import Segment
    >>> LogGP_1 = LogGP(Parameter(2e-6), Parameter(1e-6), Parameter(3e-6), Parameter(1e-9))
    >>> costs = message_costs(Machine("m", (Segment("all", loggp=LogGP_1),)), "loggp")
    >>> costs(np.array([0, 1001])).gap
    array([3.e-06, 4.e-06])
    """
    choice("model", model, CostModel)
    check_path(machine, path)
    if model != "plogp":
        return partial(_of_segments, machine, model, path, end)
    table = plogp_table(machine, path, end)
    if table is None:
        raise missing(machine, f"path {path or machine.paths[0]}", "it has no pLogP table", "plogp")
    return partial(_of_table, table)
