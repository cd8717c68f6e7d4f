"""Simulation under LogP, LogGP and LogGPS: messages have fixed times, independent of other messages.

Only processors and NICs do one thing at a time; links have no limit. So these models are quick, and too
optimistic where messages share links: what the hybrid model (`commmodel.simulate.flows`) is compared with. Sources:
Culler et al. 1993 (LogP), Alexandrov et al. 1995 (LogGP), Ino, Fujimoto and Hagihara 2001 (LogGPS) in the form of
Bédaride et al. 2013, Figure 1. The rules are in `docs/theory/delays.md`. Main entries: `DelayModel`, by which
`commmodel.simulate.run` carries a program out, and `run_schedule`, for schedules (`commmodel.simulate.goal`): graphs
instead of streams of operations, with rules of their own, so they are not run by the other models.
"""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from commmodel.arguments import Positive, finite
from commmodel.choices import DelayName, ScheduleModel, ScheduleRules, Slopes
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError, MissingParameterError
from commmodel.signatures import check_fields, checked
from commmodel.simulate.operations import Code, Program
from commmodel.simulate.result import Deadlock, SimulationResult, from_record
from commmodel.simulate.symmetry import Symmetry, by_symmetry, schedule_by_symmetry, symmetries_of_ranks

if TYPE_CHECKING:
    from commmodel.machine import Hybrid, LogGP, Machine, Segment
    from commmodel.simulate.goal import GoalSchedule

__all__ = [
    "MODELS", "DelayModel", "DelayParameters", "from_machine", "of_machine", "run_schedule", "simulated",
]  # fmt: skip

MODELS: tuple[DelayName, ...] = get_args(DelayName)
"""Models of programs."""
_COLUMNS = ("compute", "L", "o", "G", "g", "O_s", "O_r", "G_small")
"""The core's derivatives, of messages between hosts and then of those within one."""
_FEW = 5
"""The first ones, which LogP and LogGP have."""
_KNOWN = {"logp": ("L", "o", "g"), "loggp": ("L", "o", "g", "G"), "loggps": ("L", "o", "O_s", "O_r", "G", "G_small"),
          "loggops": ("L", "o", "g", "G", "O_s", "O_r")}  # fmt: skip
"""The parameters that a model takes into account; of a schedule, LogGPS has those of LogGP."""
_SCHEDULE_CALLS = {Code.SEND: "send", Code.RECV: "recv"}
_MOST_PAIRS = 1 << 25


@with_attributes
class DelayParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of a message of k bytes, in seconds and bytes.

    LogP knows L, o and g; LogGP adds G; LogGPS knows L, o, O_s, O_r, G, G_small, small and S; LogGOPS L, o, g, G, O_s,
    O_r and S.
    """

    L: float
    """Latency of the network."""
    o: float
    """Overhead of a processor for a message."""
    g: float = 0.0
    """Least time between two messages (LogP, LogGP, LogGOPS)."""
    G: float = 0.0
    """Time of a further byte, in LogGPS of a byte after the first `small`."""
    O_s: float = 0.0
    """Overhead of the sender for each byte."""
    O_r: float = 0.0
    """Overhead of the receiver for each byte."""
    S: float = math.inf
    """Messages of more bytes wait until their receive is there."""
    G_small: float = 0.0
    """Time of each of the first `small` bytes (LogGPS, where it is called g)."""
    small: float = 0.0
    """Bytes (LogGPS, where it is called s)."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not (name == "S" and value == math.inf):
                finite(name, value, 0)


Lines = tuple[tuple[float, DelayParameters], ...]
"""(Bytes up to which, parameters)."""


@with_attributes
class DelayModel(Struct, frozen=True, forbid_unknown_fields=True):
    """LogP, LogGP or LogGPS with parameters: a model for `commmodel.simulate.run`.

    Its name is one of `MODELS`; any other is an `InputError`. Parameters that it does not know are left out of account.

    >>> parameters = DelayParameters(L=4.0, o=1.0, G=0.5)
    >>> DelayModel(parameters).name
    'loggps'
    """

    parameters: DelayParameters
    """Of all messages, where the others do not say more."""
    name: DelayName = "loggps"
    by_size: Lines = ()
    """Parameters of messages of up to so many bytes (s), ascending; the last hold for all above. Not of LogGPS."""
    within: Lines = ()
    """The same of messages between ranks of one host, where these are others."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.name == "loggps" and len(self.by_size) + len(self.within) > 2:
            raise InputError("LogGPS has one set of parameters for all sizes")

    def changed(self, change: Callable[[DelayParameters], DelayParameters]) -> "DelayModel":
        """Return the model with all parameters changed."""
        by_size, within = (tuple((upto, change(p)) for upto, p in lines) for lines in (self.by_size, self.within))
        return DelayModel(change(self.parameters), self.name, by_size, within)


def simulated(
    program: Program,
    model: DelayModel,
    record: bool,
    progress: Callable[[float, int], None] | None = None,
    hosts: ArrayLike | None = None,
    slopes: Slopes | None = None,
) -> SimulationResult:
    """Simulate a program without links; parameters, result and errors are those of `commmodel.simulate.run`.

    A message of 1000 bytes takes o + L + 1000 G + o:

    >>> import numpy as np
    >>> from commmodel.simulate import Program, OPERATION, Code
    >>> there = np.array([(Code.SEND, 1, 0, -1, 1000)], dtype=OPERATION)
    >>> here = np.array([(Code.RECV, 0, 0, -1, 1000)], dtype=OPERATION)
    >>> model = DelayModel(DelayParameters(L=4.0, o=1.0, G=0.5))
    >>> simulated(Program.from_ranks([there, here]), model, False).ends.tolist()
    [1.0, 506.0]
    """
    from commmodel._core.delays import loggops

    begin = time.perf_counter()
    between = model.by_size or ((math.inf, model.parameters),)
    within = model.within if hosts is not None else ()
    places = np.ascontiguousarray(hosts, dtype=np.int64) if within else None
    if places is not None and places.shape != (program.processes,):
        raise InputError(f"hosts of {places.size} ranks for a program of {program.processes}")
    rows = _rows(model.name, between), _rows(model.name, within or between)
    is_loggps = model.name == "loggps"

    def simulate(part: Program, symmetry: Symmetry | None = None) -> dict[str, Any]:
        return loggops.run_program(
            part.operations, part.offsets, part.restarted(), *rows, places,
            model.parameters.S if is_loggps else math.inf, is_loggps, record, progress, slopes, symmetry,
        )  # fmt: skip

    record_of_run = None
    if not record and places is None:
        record_of_run = by_symmetry(symmetries_of_ranks(program.processes), program, simulate)
    if record_of_run is None:
        record_of_run = simulate(program)
    seconds = time.perf_counter() - begin
    columns = _COLUMNS if model.name == "loggps" else _COLUMNS[:_FEW]
    slopes_of_run = record_of_run["slopes"].reshape(record_of_run["ends"].size, -1, len(columns))
    derivatives = _derivatives(slopes_of_run, model.name, [p for _, p in (*between, *within)])
    return from_record(record_of_run, model.name, seconds, further=derivatives)


def _derivatives(slopes: NDArray[np.float64], model: str, parameters: Sequence[DelayParameters]) -> dict[str, Any]:
    """Return fields of a result: derivatives by what its model knows; slopes have shape (processes, paths, columns)."""
    if not slopes.size:
        return {}
    names = ("compute", *_KNOWN[model])
    columns = [(name, slopes[:, 0, _COLUMNS.index(name)]) for name in names]
    if slopes.shape[1] > 1:
        columns += [(f"{name} within", slopes[:, 1, _COLUMNS.index(name)]) for name in names[1:]]
    values = {name: {getattr(p, name) for p in parameters} for name in names[1:]}
    return {
        "slopes": np.stack([column for _, column in columns], axis=1),
        "slope_names": tuple(name for name, _ in columns),
        "parameters": {name: value for name, (value, *differing) in values.items() if not differing},
    }


def _rows(name: str, lines: Lines) -> NDArray[np.float64]:
    """Return lines of parameters for the engine; those that a model lacks are 0."""
    rows = []
    for upto, p in lines:
        if name == "loggps":
            rows.append((upto, p.L, p.o, p.O_s, p.O_r, 0.0, p.G, p.G_small, p.small))
        else:
            rows.append((upto, p.L, p.o, 0.0, 0.0, p.g, p.G if name == "loggp" else 0.0, 0.0, 0.0))
    return np.array(rows)


@checked
def run_schedule(
    schedule: "GoalSchedule",
    parameters: DelayParameters,
    *,
    model: ScheduleModel = "loggops",
    rules: ScheduleRules = "classic",
    unit: Positive = 1e-9,
    record: bool = False,
    deadlock: Deadlock = "raise",
    slopes: Slopes | None = None,
) -> SimulationResult:
    r"""Simulate a GOAL schedule.

    Parameters
    ----------
    schedule : GoalSchedule
    parameters : DelayParameters
        The sender's O is O_s, the receiver's O_r.
    model : str
        ``loggops``, or ``logp``, ``loggp``, ``loggps``, which are LogGOPS with some parameters left out: per-byte
        overheads and S; G as well; per-byte overheads.
    rules : str
        What a message needs on its arrival, and when it arrives.
    unit : float
        Seconds of the schedule's unit of time. Parameters are taken in that unit; one within 1e-9 of an integer is that
        integer, so that sums of them are exact.
    record : bool
        Whether to keep each interval in which a processor was busy, and each message.
    deadlock : {"raise", "return"}
        Whether ranks that hang are an error, or `blocked` of the result names the lines of their operations.
    slopes : {"parameters", "factors"}, optional
        As of `commmodel.simulate.run`.

    Raises
    ------
    DeadlockError
        If ranks wait for ever; it names the lines of their operations, and has the result until then.
    InputError
        If there is no such model or rule, the unit is not above 0, or there are too many processors and NICs.

    Examples
    --------
    >>> from commmodel.simulate import goal
    >>> ring = goal.parse("num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n")
    >>> parameters = DelayParameters(L=2500e-9, o=1500e-9, g=1000e-9, G=6e-9, S=65535)
    >>> round(1e9 * run_schedule(ring, parameters).seconds)  # L + 2 o + 7 G
    5542
    """
    finite("unit", unit, above=0)
    p = parameters
    if model == "logp":
        p = DelayParameters(p.L, p.o, p.g)
    elif model == "loggp":
        p = DelayParameters(p.L, p.o, p.g, p.G)
    elif model == "loggps":
        p = DelayParameters(p.L, p.o, p.g, p.G, S=p.S)
    ticks = (*(_ticks(value / unit) for value in (p.L, p.o, p.g, p.G, p.O_s, p.O_r)), p.S)
    _check_width(schedule)
    from commmodel._core.delays import loggops

    begin = time.perf_counter()

    def simulate(
        offsets: NDArray[np.int64],
        operations: NDArray[np.void],
        dependencies: NDArray[np.void],
        symmetry: Symmetry | None = None,
    ) -> dict[str, Any]:
        return loggops.run_graph(offsets, operations, dependencies, ticks, rules == "newer", record, slopes, symmetry)

    record_of_run = None if record else schedule_by_symmetry(schedule, simulate)
    if record_of_run is None:
        record_of_run = simulate(schedule.offsets, schedule.operations, schedule.dependencies)
    seconds = time.perf_counter() - begin
    derivatives: dict[str, Any] = {}
    if slopes is not None:
        has_few = p.O_s == p.O_r == 0
        columns = record_of_run["slopes"].reshape(schedule.processes, 1, _FEW if has_few else len(_COLUMNS))
        derivatives = _derivatives(columns, "logp" if model == "logp" else "loggp" if has_few else model, [p])
    if derivatives and unit != 1:  # computation and factors are in units, parameters in both
        in_units = [name == "compute" or slopes == "factors" for name in derivatives["slope_names"]]
        derivatives["slopes"] = derivatives["slopes"] * np.where(in_units, unit, 1.0)
    result = from_record(record_of_run, model, seconds, unit=unit, calls=_SCHEDULE_CALLS, further=derivatives)
    return result.or_deadlock(deadlock)


def _check_width(schedule: "GoalSchedule") -> None:
    """Raise where the pairs of processors and NICs do not fit into memory."""
    processors, nics = schedule.width
    if schedule.processes * processors * nics > _MOST_PAIRS:
        raise InputError(
            f"{schedule.processes} ranks with {processors} processors and {nics} NICs each: that is too many; at most"
            f" {_MOST_PAIRS} pairs of the two in all"
        )


def _ticks(value: float) -> float:
    if math.isinf(value):
        raise InputError("a parameter is more than 1.8e308 units of the schedule's time: give a smaller one")
    nearest = float(round(value))
    return nearest if abs(value - nearest) <= 1e-9 * max(nearest, 1.0) else value


def of_machine(machine: "Machine", name: DelayName, path: str | None = None) -> DelayModel:
    """Return a delay model with a machine's parameters: LogP and LogGP take those of each size, as predictions do.

    Messages between ranks of one host take the machine's path within a node, where it has one and no path is named.
    """
    inner = [where for where in ("same-node", "same-socket") if where in machine.paths and path is None]
    if name == "loggps":
        within: Lines = ((math.inf, from_machine(machine, inner[0])),) if inner else ()
        return DelayModel(from_machine(machine, path), name, (), within)
    by_size = _lines(machine, name, path)
    parameters = by_size[0][1] if by_size else from_machine(machine, path)
    return DelayModel(parameters, name, by_size, _lines(machine, name, inner[0]) if inner else ())


def _lines(machine: "Machine", name: str, path: str | None) -> Lines:
    """Return the LogGP parameters of a path's segments; a size without any takes those of the next larger."""
    fitted = []
    for segment in _on_path(machine, path):
        p = segment.measured_loggp
        if p is not None and (p.G is not None or name == "logp"):
            upto = math.inf if segment.limit is None else float(segment.limit.value)
            parameters = DelayParameters(L=p.L.value, o=p.o.value, g=p.g.value, G=p.G.value if p.G else 0.0)
            fitted.append((upto, parameters))
    return tuple(fitted)


def _on_path(machine: "Machine", path: str | None) -> "list[Segment]":
    """Return the segments of a path, else those of any."""
    from commmodel.machine.description import usual_path

    path = usual_path(machine.paths, path)
    of_path = [segment for segment in machine.segments if segment.path == path]
    return of_path or [segment for segment in machine.segments if segment.path == "any"]


@checked
def from_machine(machine: "Machine", path: str | None = None) -> DelayParameters:
    """Return the parameters of a machine, from its LogGP segments, else from its hybrid model.

    L, o, g and the time of small bytes are those of the smallest messages, G that of the largest, S is where the eager
    protocol ends. These models have no more than one line, or two, for all sizes: the machine may know better.

    Parameters
    ----------
    machine : Machine
    path : str, optional
        ``between-nodes`` where the machine has it and nothing else is said.

    Raises
    ------
    MissingParameterError
        Where the machine has neither on that path; it names the kernel that provides them.

    Examples
    --------
    >>> from commmodel.machine import Limit, LogGP, Machine, Parameter, Segment
    >>> def known(G):
    ...     return LogGP(Parameter(2e-6), Parameter(1e-6), Parameter(3e-6), Parameter(G))
    >>> segments = Segment("eager", limit=Limit(8192), loggp=known(2e-9)), Segment("rendezvous", loggp=known(1e-9))
    >>> found = from_machine(Machine("m", segments))
    >>> found.G, found.G_small, found.small, found.S
    (1e-09, 2e-09, 8192.0, 8192.0)
    """
    from commmodel.machine.description import usual_path

    path = usual_path(machine.paths, path)
    for name in dict.fromkeys((path, "any")):
        on_path = [segment for segment in machine.segments if segment.path == name]
        fitted = [
            (segment, loggp)
            for segment in on_path
            if (loggp := segment.measured_loggp) is not None and loggp.G is not None
        ]
        if fitted:
            return _of_segments(fitted, on_path)
    models = {model.path: model for model in machine.hybrid}
    hybrid = models.get(path) or models.get("any")
    if hybrid is None:
        raise MissingParameterError(
            f"machine {machine.name!r}, path {path}: it has neither LogGP parameters with G nor a hybrid model: "
            "measure it with python -m commmodel.bench loggp, then fit"
        )
    return _of_modes(hybrid)


def _of_segments(fitted: "list[tuple[Segment, LogGP]]", on_path: "Iterable[Segment]") -> DelayParameters:
    (smallest, first), (_, last) = fitted[0], fitted[-1]
    limits = [segment.limit.value for segment in on_path if segment.limit is not None]
    small = float(smallest.limit.value) if len(fitted) > 1 and smallest.limit is not None else 0.0
    return DelayParameters(
        L=first.L.value,
        o=first.o.value,
        g=first.g.value,
        G=last.G.value if last.G else 0.0,
        S=float(limits[-1]) if limits else math.inf,
        G_small=first.G.value if small and first.G else 0.0,
        small=small,
    )


def _of_modes(hybrid: "Hybrid") -> DelayParameters:
    """Return one line, or two, for a hybrid model: its L holds the sender's overhead, its 1/B all of a byte's way.

    Per-byte overheads are those of the largest messages that do not wait for their receives, for the others have none.
    """
    modes = hybrid.modes
    first, last = modes[0], modes[-1]
    before = [mode for mode in modes if mode.kind != "synchronous"]
    O_s, O_r = (before[-1].O_s.value, before[-1].O_r.value) if before else (0.0, 0.0)
    o = (first.o_s.value + first.o_r.value) / 2

    def per_byte(mode: Any) -> float:
        return float(max(1 / mode.B.value + mode.O_r.value - O_s - O_r, 0.0))

    small = float(first.limit.value) if first.limit is not None else 0.0
    S = before[-1].limit if before else None
    return DelayParameters(
        L=max(first.L.value + first.o_r.value - 2 * o, 0.0),
        o=o,
        g=2 * o,
        G=per_byte(last),
        O_s=O_s,
        O_r=O_r,
        S=0.0 if not before else math.inf if S is None else float(S.value),
        G_small=per_byte(first) if small else 0.0,
        small=small,
    )
