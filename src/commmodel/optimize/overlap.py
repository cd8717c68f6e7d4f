"""How to cut a transfer into messages and bursts so that computation hides it. Source: Iancu and Strohmaier 2007.

Every decomposition of a grid is evaluated by the formulas of `commmodel.models.overlap`, with the overhead of both
ends, o = o_s + o_r, and the gap between messages left out, as in the paper. What the equations leave open:

- A decomposition is communication bound where the transfer, with its own G_S, is longer than computation and the
  overhead of all messages (Eq 2, with G_S for G_V), and computation bound where it is shorter than the computation.
  Between, overhead is what is longest, and both formulas bound the time from below: the larger holds.
- Where S does not divide V, the last message is shorter, and so is the last burst. Messages and bursts are counted
  whole, N = ⌈V / S⌉ and n_b = ⌈N / b⌉, and the formulas see the mean message V / N and the mean burst N / n_b: bytes,
  messages, bursts and computation are all there. o, G and the constraints are those of a full message and burst.
- Of equally fast decompositions: the one of fewest messages, then of the longest burst.

Main entry: `choose`.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from numbers import Real
from typing import Any, Literal, NamedTuple, TypedDict, Unpack, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from commmodel.errors import InputError, MissingParameterError
from commmodel.machine import LogGP, Machine, Parameter, PLogP, Table
from commmodel.models import overlap

__all__ = ["LIMITS", "Choice", "Sensitivity", "choose", "misdiagnosis", "sensitivity"]

Array = NDArray[np.float64]
Pattern = Literal[
    "point-to-point", "multiple-end-points", "end-point-congestion", "all-to-all-contiguous", "all-to-all-interleaved"
]
Implementation = Literal["pipelined", "tight"]
Bound = Literal["communication", "computation"]

LIMITS = {
    "initiation": "the overhead of all messages must fit into what the transfer takes longer than computation (Eq 2)",
    "burst-overhead": "the first message of a burst must hide the overhead of the others (Eq 3)",
    "queue-depth": "a burst must be shorter than the network's queue (Eq 8)",
    "outstanding-volume": "a burst's bytes must be at most those that may be under way (Section 3.1)",
}
"""Name of a constraint -> what it asks for."""
_MOST_MESSAGES, _LONGEST_BURST = 8192, 64  # Iancu 2007, Section 3: the decompositions that the paper tried
_EQUAL = 1e-12
"""Relative difference of times that is rounding."""
_FASTEST = 1e-30
"""Seconds per byte in place of a fitted 0, by which r would be divided."""
_FURTHEST = 128.0
"""Factor up to which `sensitivity` looks."""
_STEP = 1.05
_LARGEST = 2**53
"""Bytes that a float counts exactly."""


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decomposition, and what the model promises of it; ``message_size`` is S in bytes. Times in seconds."""

    message_size: int
    """S, bytes of a message; the last one may be shorter."""
    burst: int
    """b, messages to ask for one after the other; the last burst may be shorter."""
    messages: int
    """N, with each peer."""
    seconds: float
    """Of computation and communication together, with all peers."""
    blocking_seconds: float
    """The same in one blocking message of V bytes with each peer."""
    hidden_fraction: float
    """Share of the blocking communication that is hidden."""
    limits: tuple[str, ...]
    """Names of `LIMITS` without which another decomposition would be faster."""
    implementation: Implementation
    pattern: Pattern
    alternatives: tuple[tuple[int, int], ...]
    """(S, b) beside the choice on the grid that may be as fast within the intervals of the machine's parameters."""


class Sensitivity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """By which factors the computation may be estimated wrongly before the choice changes; inf: never.

    A factor of 1.2 is an error of 20 % (Iancu 2007, Table 2 A). Looked for up to 128, in steps of 5 %.
    """

    overestimate: float
    """The choice changes where the estimate is so many times the truth."""
    underestimate: float
    """The choice changes where the truth is so many times the estimate."""


class Options(TypedDict, total=False):
    """What `choose`, `sensitivity` and `misdiagnosis` take alike; `choose` describes it."""

    pattern: str
    implementation: str
    peers: int
    overhead: "float | Callable[[int, int], float] | Table | None"
    latency: float | None
    byte_time: "float | Callable[[int, int], float] | Table | None"
    queue_depth: int | None
    outstanding_volume: float | None
    grid: str
    path: str | None


class _Grid(NamedTuple):
    """Decompositions: sizes down, from V; bursts across, from the longest."""

    sizes: NDArray[np.int64]
    bursts: NDArray[np.int64]
    size: Array
    burst: Array
    mean_size: Array
    mean_burst: Array
    messages: Array
    fits: NDArray[np.bool_]
    """Whether there are as many messages as in a burst."""


class _Known(NamedTuple):
    """o of shape (ends, sizes, bursts or 1), L and G (ends, sizes, 1), G_V (ends, 1, 1); first end: the value."""

    o: Array
    L: Array
    G: Array
    G_V: Array


class _Problem(NamedTuple):
    grid: _Grid
    volume: float
    known: _Known
    """With the values alone."""
    ends: _Known
    computation: float
    pattern: Pattern
    peers: int
    allowed: dict[str, NDArray[np.bool_]]
    """Name of a constraint -> the decompositions that keep it."""
    within: NDArray[np.bool_]
    """Those that keep all of them."""
    implementations: tuple[Implementation, ...]


class _Same:
    """An object that is equal to itself alone: machines hold dictionaries, and comparing them takes long."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def __hash__(self) -> int:
        return id(self.machine)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.machine is other.machine


@lru_cache(maxsize=256)
def _grid(volume: int, kind: str, longest: int) -> _Grid:
    steps = 4 if kind == "fine" else 1
    ladder = {round(2 ** (step / steps)) for step in range(steps * volume.bit_length() + 1)}
    sizes = np.array(sorted({volume, *(S for S in ladder if S < volume <= S * _MOST_MESSAGES)}, reverse=True))
    all_bursts = {2**step for step in range(longest.bit_length())}
    if kind == "fine":
        all_bursts |= set(range(1, min(longest, _LONGEST_BURST) + 1))
    bursts = np.array(sorted(all_bursts, reverse=True))
    size, burst = sizes[:, None].astype(np.float64), bursts[None, :].astype(np.float64)
    messages = np.ceil(volume / size)
    number = np.ceil(messages / burst)
    return _Grid(sizes, bursts, size, burst, volume / messages, messages / number, messages, burst <= messages)


_ENDS = np.array([(0, 0, 0), *((o, L, G) for o in (1, 2) for L in (1, 2) for G in (1, 2))]).T
"""For o, L and G: 0 the value, 1 and 2 the ends of its interval; every corner of the three intervals."""


def _three(parameter: Parameter) -> tuple[float, float, float]:
    low = parameter.value if parameter.low is None else max(0.0, parameter.low)
    high = parameter.value if parameter.high is None else parameter.high
    return parameter.value, low, high


def _of_loggp(known: LogGP | None) -> list[tuple[float, float, float]]:
    if known is None or known.G is None:
        return [(math.nan,) * 3] * 3
    value, low, high = _three(known.o)
    return [(2 * value, 2 * low, 2 * high), _three(known.L), _three(known.G)]


def _of_plogp(table: PLogP, sizes: NDArray[np.int64]) -> Array:
    """Return o = o_s + o_r, L = L' + g(1) − o_s(1) − o_r(1) and G = g / S (March 2009, Eq 1 to 4) at sizes."""
    columns = (table, msgspec.structs.replace(table, **table.low), msgspec.structs.replace(table, **table.high))
    rows = []
    for whole, one in zip(_three(table.L), columns, strict=True):
        o = one.at("o_s", sizes) + one.at("o_r", sizes)
        L = whole + float(one.at("g", 1) - one.at("o_s", 1) - one.at("o_r", 1))
        rows.append((o, np.full(sizes.shape, max(0.0, L)), one.at("g", sizes) / sizes))
    return np.array(rows).swapaxes(0, 1)


@lru_cache(maxsize=16)
def _profile(same: _Same, path: str | None) -> Callable[[NDArray[np.int64]], Array]:
    """Return the function from sizes to o, L and G with their ends, shape (3, 3, sizes)."""
    machine = same.machine
    chosen = path or ("between-nodes" if "between-nodes" in machine.paths else machine.paths[0])
    machine.segment(0, chosen)  # raises where there is no such path
    own = [one for one in machine.segments if one.path == chosen]
    segments = own or [one for one in machine.segments if one.path == "any"]
    tables = {table.path: table for table in machine.plogp}
    table = tables.get(chosen) or tables.get("any")
    if table is not None and not all(one.loggp and one.loggp.G for one in segments):
        return lambda sizes: _of_plogp(table, sizes)
    edges = np.array([math.inf if one.limit is None else one.limit.value for one in segments])
    values = np.array([_of_loggp(one.loggp) for one in segments]).transpose(1, 2, 0)

    def look_up(sizes: NDArray[np.int64]) -> Array:
        if sizes[0] > edges[-1]:
            machine.segment(float(sizes[0]), path)  # raises: the machine ends before
        found: Array = values[:, :, np.searchsorted(edges, sizes)]
        if np.isnan(found).any():
            size = int(sizes[np.isnan(found).any(axis=(0, 1))][0])
            raise MissingParameterError(
                f"machine {machine.name!r} has no LogGP parameters with G for messages of {size} bytes: measure them "
                "with python -m commmodel.bench loggp, then fit, or give overhead, latency and byte_time"
            )
        return found

    return look_up


def _number(name: str, value: Any, least: float, mend: str) -> None:
    if not isinstance(value, Real):
        raise InputError(f"{name} is {value!r}: give a number")
    if not least <= float(value) < math.inf:
        raise InputError(f"{name} is {value}: {mend}")


def _given(name: str, given: Any, first: Any, second: Any, *, swap: bool = False) -> Array:
    """Return what a number, a function or a table gives at sizes and counts, shape (1, sizes, counts or 1)."""
    if isinstance(given, Table):
        values = [[given.at(S, count) for count in second] for S in first]
    elif callable(given):
        values = [[given(*((count, S) if swap else (S, count))) for count in second] for S in first]
    else:
        values = [[given]] * len(first)
    found = np.array(values, dtype=np.float64)[None]
    if not (np.isfinite(found).all() and (found > 0 if name == "byte_time" else found >= 0).all()):
        raise InputError(f"{name} must be finite and {'above 0' if name == 'byte_time' else 'at least 0'} everywhere")
    return found


@lru_cache(maxsize=64)
def _of_machine(
    same: _Same, path: str | None, volume: int, kind: str, longest: int
) -> tuple[_Known, NDArray[np.bool_]]:
    """Return what a machine knows of a grid, and where a burst's first message hides the others' overhead."""
    found = _profile(same, path)(_grid(volume, kind, longest).sizes)
    found[2] = np.maximum(found[2], _FASTEST)
    ends = _ENDS if (found[:, 1:] != found[:, :1]).any() else _ENDS[:, :1]
    o, L, G = (one[end][:, :, None] for one, end in zip(found, ends, strict=True))
    known = _Known(o, L, G, G[:, :1])
    return known, _hides(_grid(volume, kind, longest), known)


def _hides(grid: _Grid, known: _Known) -> NDArray[np.bool_]:
    slack = overlap.burst_slack.compiled(grid.size, grid.burst, known.o[0], known.L[0], known.G[0])
    return (slack > 0) | (grid.burst == 1)  # type: ignore[no-any-return]


def _problem(volume: int, computation: float, machine: Machine | None, options: Options) -> _Problem:
    pattern, peers = options.get("pattern", "point-to-point"), options.get("peers", 1)
    implementation, kind = options.get("implementation", "pipelined"), options.get("grid", "powers-of-two")
    queue_depth, outstanding = options.get("queue_depth"), options.get("outstanding_volume")
    for name, value, choices in (
        ("pattern", pattern, get_args(Pattern)),
        ("implementation", implementation, (*get_args(Implementation), "any")),
        ("grid", kind, ("powers-of-two", "fine")),
    ):
        if value not in choices:
            raise InputError(f"there is no {name} {value!r}: choose one of {', '.join(choices)}")
    _number("volume", volume, 1, "give at least one byte")
    if volume != int(volume):
        raise InputError(f"volume is {volume}: give whole bytes")
    if volume > _LARGEST:
        raise InputError(f"volume is {volume}: give at most {_LARGEST} bytes")
    _number("computation", computation, 0, "give seconds from 0 up")
    _number("peers", peers, 1, "give at least one")
    if pattern == "point-to-point" and peers != 1:
        raise InputError(f"point-to-point has one peer, not {peers}: give another pattern, like multiple-end-points")
    if queue_depth is not None:
        _number("queue_depth", queue_depth, 2, "a burst must be shorter than the queue, so give at least 2")
    volume, longest = int(volume), max(_LONGEST_BURST, min(queue_depth or 0, 4096))
    grid = _grid(volume, kind, longest)
    overhead, latency, byte_time = options.get("overhead"), options.get("latency"), options.get("byte_time")
    if machine is not None and (overhead is None or latency is None or byte_time is None):
        known, hides = _of_machine(_Same(machine), options.get("path"), volume, kind, longest)
    elif overhead is None or latency is None or byte_time is None:
        raise InputError("overhead, latency and byte_time are not all known: give them, or a machine")
    else:
        known, hides = _Known(*[np.empty(0)] * 4), np.empty(0, dtype=bool)
    if overhead is not None:
        known = known._replace(o=_given("overhead", overhead, grid.sizes.tolist(), grid.bursts.tolist()))
    if latency is not None:
        known = known._replace(L=_given("latency", latency, grid.sizes.tolist(), ()))
    if byte_time is not None:
        G = _given("byte_time", byte_time, grid.sizes.tolist(), (peers,), swap=True)
        known = known._replace(G=G, G_V=G[:, :1])
    if overhead is not None or latency is not None or byte_time is not None:
        hides = _hides(grid, known)
    allowed = {"burst-overhead": hides}
    if queue_depth is not None:
        allowed["queue-depth"] = grid.burst < queue_depth
    if outstanding is not None:
        _number("outstanding_volume", outstanding, 1, "give bytes, at least one")
        allowed["outstanding-volume"] = grid.size * grid.burst <= outstanding
    within = grid.fits
    for one in allowed.values():
        within = within & one
    if not within.any():
        raise InputError(
            f"the smallest message, of {int(grid.sizes[-1])} bytes, does not fit into outstanding_volume = "
            f"{outstanding}: raise it, or move less than {volume} bytes at a time"
        )
    implementations: Any = get_args(Implementation) if implementation == "any" else (implementation,)
    values = _Known(*(one[:1] for one in known))
    return _Problem(
        grid, float(volume), values, known, float(computation), pattern, peers, allowed, within, implementations  # type: ignore[arg-type]
    )  # fmt: skip


def _with_pattern(problem: _Problem, seconds: Any, size: Any, burst: Any, G: Any) -> Any:
    """Return the time of the pattern from that of a message between two."""
    match problem.pattern:
        case "multiple-end-points":
            return overlap.multiple_end_points_time.compiled(seconds, problem.peers)
        case "end-point-congestion":
            return overlap.congested_time.compiled(seconds, size, burst, problem.peers, G)
        case "all-to-all-contiguous":
            return overlap.all_to_all_contiguous_time.compiled(seconds, size, burst, problem.peers, G)
        case "all-to-all-interleaved":
            return overlap.all_to_all_interleaved_time.compiled(seconds, problem.volume, G)
    return seconds


def _seconds(problem: _Problem, implementation: Implementation, bound: Bound | None = None) -> Array:
    """Return the time of every decomposition, shape (ends, sizes, bursts), by the formulas of one bound where given."""
    grid, (o, L, G, G_V), t_V, volume = problem.grid, problem.known, problem.computation, problem.volume
    arguments = (volume, grid.mean_size, grid.mean_burst, t_V, o, L, G)
    if implementation == "tight":
        communication = overlap.tight_time.compiled(*arguments)
        computation = overlap.tight_computation_time.compiled(*arguments)
    else:
        communication = overlap.pipelined_time.compiled(*arguments, G_V)
        computation = overlap.pipelined_computation_time.compiled(*arguments)
    if bound is None:
        hides = overlap.initiation_slack.compiled(volume, grid.mean_size, t_V, o, G) > 0
        slower = np.maximum(communication, computation)
        seconds = np.where(hides, communication, np.where(volume * G > t_V, slower, computation))
    else:
        seconds = communication if bound == "communication" else computation
    return _with_pattern(problem, seconds, grid.mean_size, grid.mean_burst, G)  # type: ignore[no-any-return]


def _first_of_best(seconds: Array, within: NDArray[np.bool_]) -> tuple[int, int]:
    allowed = np.where(within, seconds, math.inf)
    flat = int((allowed <= allowed.min() * (1 + _EQUAL)).argmax())
    return flat // allowed.shape[1], flat % allowed.shape[1]


def _best(problem: _Problem, bound: Bound | None = None) -> tuple[Implementation, Array, int, int]:
    """Return the fastest implementation, its times, and the row and column of the fastest decomposition."""
    found = []
    for implementation in problem.implementations:
        seconds = _seconds(problem, implementation, bound)
        found.append((implementation, seconds, *_first_of_best(seconds[0], problem.within)))
    return min(found, key=lambda one: float(one[1][0, one[2], one[3]]))


def _blocking(problem: _Problem) -> float:
    volume, (o, L, G, _) = problem.volume, problem.known
    o_V, G_V = float(o[0, 0, -1]), float(G[0, 0, 0])
    alone = overlap.blocking_time.python(volume, volume, problem.computation, o_V, float(L[0, 0, 0]), G_V)
    return float(_with_pattern(problem, alone, volume, 1.0, G_V))


def _limits(problem: _Problem, implementation: Implementation, seconds: Array, least: float) -> tuple[str, ...]:
    """Return the constraints without which something would be faster than `least`."""
    faster = seconds[0] < least * (1 - _EQUAL)
    names = []
    if faster.any():
        for name in problem.allowed:
            free = faster & problem.grid.fits
            for other, allowed in problem.allowed.items():
                if other != name:
                    free = free & allowed
            if free.any():
                names.append(name)
    volume, (o, _, G, _) = problem.volume, problem.known
    if problem.computation < volume * float(G[0, 0, 0]):
        slack = overlap.initiation_slack.compiled(volume, problem.grid.mean_size, problem.computation, o[0], G[0])
        broken = problem.within & (slack <= 0)
        if broken.any():
            free_seconds = _seconds(problem, implementation, "communication")[0]
            if (free_seconds[broken] < least * (1 - _EQUAL)).any():
                names.insert(0, "initiation")
    return tuple(names)


def _alternatives(
    problem: _Problem, implementation: Implementation, row: int, column: int
) -> tuple[tuple[int, int], ...]:
    """Return the neighbours that are as fast as the choice at some corner of the parameters' intervals."""
    rows, columns = slice(max(0, row - 1), row + 2), slice(max(0, column - 1), column + 2)
    grid, (o, L, G, G_V) = problem.grid, problem.ends
    near = grid._replace(mean_size=grid.mean_size[rows], mean_burst=grid.mean_burst[rows, columns])
    ends = _Known(o[:, rows, columns] if o.shape[2] > 1 else o[:, rows], L[:, rows], G[:, rows], G_V)
    seconds = _seconds(problem._replace(grid=near, known=ends), implementation)
    chosen = seconds[:, row - rows.start, column - columns.start, None, None]
    as_good = (seconds <= chosen * (1 + _EQUAL)).any(axis=0) & problem.within[rows, columns]
    return tuple(
        (int(grid.sizes[down]), int(grid.bursts[across]))
        for down, line in enumerate(as_good.tolist(), rows.start)
        for across, good in enumerate(line, columns.start)
        if good and (down, across) != (row, column)
    )


def choose(
    volume: int,
    computation: float,
    machine: Machine | None = None,
    *,
    pattern: str = "point-to-point",
    implementation: str = "pipelined",
    peers: int = 1,
    overhead: float | Callable[[int, int], float] | Table | None = None,
    latency: float | None = None,
    byte_time: float | Callable[[int, int], float] | Table | None = None,
    queue_depth: int | None = None,
    outstanding_volume: float | None = None,
    grid: str = "powers-of-two",
    path: str | None = None,
) -> Choice:
    """Return the message size and the burst with which computation hides most of a transfer.

    Parameters
    ----------
    volume : int
        V, bytes to move, with each peer.
    computation : float
        t_V, seconds of computation on them, with each peer.
    machine : Machine, optional
        With LogGP parameters of each size, or a pLogP table. o is the overhead of both ends, o_s + o_r.
    pattern : str
        ``point-to-point``; ``multiple-end-points`` (one with `peers` others); ``end-point-congestion`` (`peers` with
        the same one); ``all-to-all-contiguous`` and ``all-to-all-interleaved`` (among `peers`; V is what a process
        moves altogether): each peer is finished before the next, or they take turns.
    implementation : str
        ``pipelined`` (ask for the next burst, then compute), ``tight`` (compute, then ask for it) or ``any``.
    peers : int
        P, 1 for point-to-point.
    overhead : float, callable or Table, optional
        o in seconds, or o(S, b); in place of the machine's.
    latency : float, optional
        L in seconds, in place of the machine's.
    byte_time : float, callable or Table, optional
        G in seconds per byte; or a function G(P, S); or a `Table`, its bursts being numbers of peers.
    queue_depth : int, optional
        HD: a burst must be shorter.
    outstanding_volume : float, optional
        Bytes of a burst at most.
    grid : str
        ``powers-of-two``: sizes, V itself among them, with at most 8192 messages, and bursts up to 64 or the queue
        depth; ``fine``: four sizes for each of these, and all bursts up to 64.
    path : str, optional
        Of the machine; ``between-nodes`` where it has that and nothing else is said.

    Returns
    -------
    Choice
        The fastest decomposition of the grid.

    Raises
    ------
    InputError
        Where an argument is wrong.
    MissingParameterError
        Where the machine does not know what a message of the grid costs.

    Notes
    -----
    Iancu and Strohmaier 2007. The module's text says how the equations are put together.

    Examples
    --------
    >>> chosen = choose(1 << 20, 500e-6, overhead=2e-6, latency=10e-6, byte_time=1 / 900e6)
    >>> chosen.message_size, chosen.burst, chosen.messages, round(chosen.hidden_fraction, 2)
    (32768, 16, 32, 0.41)
    """
    options: Options = {
        "pattern": pattern, "implementation": implementation, "peers": peers, "overhead": overhead, "latency": latency,
        "byte_time": byte_time, "queue_depth": queue_depth, "outstanding_volume": outstanding_volume, "grid": grid,
        "path": path,
    }  # fmt: skip
    problem = _problem(volume, computation, machine, options)
    best, seconds, row, column = _best(problem)
    least, blocking = float(seconds[0, row, column]), _blocking(problem)
    computed = problem.computation * (problem.peers if problem.pattern == "multiple-end-points" else 1)
    return Choice(
        message_size=int(problem.grid.sizes[row]),
        burst=int(problem.grid.bursts[column]),
        messages=int(problem.grid.messages[row, 0]),
        seconds=least,
        blocking_seconds=blocking,
        hidden_fraction=overlap.hidden_share.python(least, blocking, computed),
        limits=_limits(problem, best, seconds, least),
        implementation=best,
        pattern=problem.pattern,
        alternatives=_alternatives(problem, best, row, column),
    )


def sensitivity(
    volume: int, computation: float, machine: Machine | None = None, **options: Unpack[Options]
) -> Sensitivity:
    """Return by which factors the computation may be estimated wrongly before the choice changes.

    Arguments as in `choose`.

    Notes
    -----
    Iancu and Strohmaier 2007, Table 2 A, which gives the percentage, in steps of 10.

    Examples
    --------
    >>> found = sensitivity(1 << 20, 500e-6, overhead=2e-6, latency=10e-6, byte_time=1 / 900e6)
    >>> round(found.overestimate, 2), round(found.underestimate, 2)
    (2.78, inf)
    """
    problem = _problem(volume, computation, machine, options)

    def chosen(factor: float) -> tuple[str, int, int]:
        implementation, _, row, column = _best(problem._replace(computation=computation * factor))
        return implementation, row, column

    right = chosen(1.0)

    def changes(direction: int) -> float:
        same, other = 1.0, _STEP
        while chosen(other**direction) == right:
            same, other = other, other * _STEP
            if same > _FURTHEST:
                return math.inf
        for _ in range(20):
            middle = math.sqrt(same * other)
            same, other = (middle, other) if chosen(middle**direction) == right else (same, middle)
        return same

    return Sensitivity(overestimate=changes(-1), underestimate=changes(1))


def misdiagnosis(volume: int, computation: float, machine: Machine | None = None, **options: Unpack[Options]) -> float:
    """Return the loss of performance where a problem is taken for one of the other kind.

    A communication-bound problem is decomposed by the formulas of a computation-bound one, or the other way round.
    Arguments as in `choose`.

    Returns
    -------
    float
        (T_wrong − T_best) / T_blocking, by the model.

    Notes
    -----
    Iancu and Strohmaier 2007, Table 2 B, which gives measured times.

    Examples
    --------
    >>> 0 <= misdiagnosis(1 << 20, 500e-6, overhead=2e-6, latency=10e-6, byte_time=1 / 900e6) < 0.1
    True
    """
    problem = _problem(volume, computation, machine, options)
    is_communication = problem.computation < problem.volume * float(problem.known.G[0, 0, 0])
    _, best, row, column = _best(problem)
    implementation, _, down, across = _best(problem, "computation" if is_communication else "communication")
    wrong = _seconds(problem, implementation)[0, down, across]
    return float(overlap.performance_loss(float(wrong), float(best[0, row, column]), _blocking(problem)))
