"""Parameters of a problem: o, L, G and progress, from the caller or the machine. Main entry: `problem_parameters`.

What the caller gives comes first, then the machine's profiles of overlap and bandwidth, then LogGP, which knows o and
G of a message alone, or pLogP where LogGP lacks something.
"""

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from numbers import Real
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np

from commmodel.arguments import NotNegative, Scale
from commmodel.arrays import Array
from commmodel.choices import MessageOperation, PairDirection
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError, MissingParameterError, blame
from commmodel.machine import BandwidthProfile, LogGP, Machine, OverlapProfile, Parameter, ParameterTable, PLogP
from commmodel.machine.description import usual_path
from commmodel.optimize.search import interpolate, look_up
from commmodel.optimize.smoothing import steady_costs, steady_shares
from commmodel.signatures import check_fields, returned

CostValue = NotNegative | Callable[[int, int], float] | ParameterTable | None
Quantity = Callable[[Array, Array], Array]
"""From sizes and counts (bursts, or a number of peers) to an array (1 or 3, sizes, counts or 1): value, low, high."""

_FASTEST = 1e-30
"""Seconds per byte in place of a fitted 0, by which r would be divided."""
_KERNELS = "python -m commmodel.bench pingpong burst queue progress bandwidth"
_NONE = np.empty(0)


class ProblemParameters(NamedTuple):
    """o and progress of shape (1 or 3, sizes, bursts or 1), L and G (1 or 3, sizes).

    Of three the first is the value, the others are the ends of its interval.
    """

    o: Array
    L: Array
    G: Array
    progress: Array


class Conditions(NamedTuple):
    """Of what a machine is conditions, beside sizes and bursts."""

    path: str | None = None
    operation: MessageOperation = "two-sided"
    direction: PairDirection = "both-ways"
    profile: str = ""
    """Of bandwidth: nearest-neighbour or cross; empty for two processes alone."""


@with_attributes
class MessageCosts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Costs of messages: what a machine says, and what holds in its place.

    What a machine lacks in profiles of overlap and bandwidth is taken from LogGP, then from its pLogP table. Overheads
    are those of both ends, o = o_s + o_r; times are in seconds.
    """

    machine: Machine | None = None
    """Not needed where overhead, latency and byte time are given."""
    path: str | None = None
    """Of the machine; ``between-nodes`` where it has that and nothing else is said."""
    operation: MessageOperation = "two-sided"
    """``two-sided``, ``put`` or ``get``, whose profile of overlap is used."""
    direction: PairDirection = "both-ways"
    """Direction of the bandwidth, ``both-ways`` where both sides send at once, or ``one-way``."""
    overhead: CostValue = None
    """o of both ends, or o(S, b), or a `Table`; in place of the machine's, as all that follow."""
    latency: NotNegative | None = None
    """L."""
    byte_time: CostValue = None
    """G in seconds per byte; or a function G(P, S); or a `Table`, its bursts being numbers of peers."""
    progress: CostValue = None
    """φ, the share of a transfer that goes on while nobody calls MPI, 0 to 1, or φ(S, b). 1 where nobody knows."""
    queue_depth: int | None = None
    """HD, of which a burst must be shorter."""
    outstanding_volume: Scale | None = None
    """Bytes of a burst at most."""

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    def of(cls, machine_or_costs: "Machine | MessageCosts") -> "MessageCosts":
        """Return the costs, which may be those of a machine alone."""
        return cls(machine_or_costs) if isinstance(machine_or_costs, Machine) else machine_or_costs


class _IdentityKey:
    """A value that equals itself alone, as a key of caches: comparing machines takes long."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _IdentityKey) and self.value is other.value


class _Segments(Protocol):
    """o, L and G over sizes from LogGP or pLogP, with the ends of their intervals, shape (3, 3, sizes)."""

    def __call__(self, sizes: Array, needs: tuple[bool, bool, bool]) -> Array: ...


def problem_parameters(
    costs: MessageCosts, pattern_profile: str, sizes: Array, bursts: Array, peers: int
) -> ProblemParameters:
    """Return o, L, G and progress at sizes and bursts; raise `MissingParameterError` where one is missing.

    `pattern_profile` is that of bandwidth: nearest-neighbour or cross; empty for two processes alone.
    """
    machine, conditions = costs.machine, Conditions(costs.path, costs.operation, costs.direction, pattern_profile)
    values = {"overhead": costs.overhead, "latency": costs.latency, "byte_time": costs.byte_time}
    quantities = [None if value is None else _quantity_of(name, value) for name, value in values.items()]
    share = None if costs.progress is None else _quantity_of("progress", costs.progress)
    segments: _Segments | None = None
    needs = (False, False, False)
    if machine is not None:
        key = _IdentityKey(machine)
        defaults, default_share = _profiles(key, conditions)
        quantities = [quantity or other for quantity, other in zip(quantities, defaults, strict=True)]
        share = share or default_share
        needs = (quantities[0] is None, quantities[1] is None, quantities[2] is None)
        if any(needs):
            segments = _segments(key, conditions, needs)
    elif not all(quantities):
        raise InputError("overhead, latency or byte_time is missing: give a machine, or all three")
    counts = (bursts, bursts[-1:], np.array([float(peers)]))
    of_segments = _NONE if segments is None else segments(sizes, needs)[..., None]
    o, L, G = (
        of_segments[index] if quantity is None else quantity(sizes, count)
        for index, (quantity, count) in enumerate(zip(quantities, counts, strict=True))
    )
    if segments is not None:
        G = np.maximum(G, _FASTEST)
    progress = np.ones((1, sizes.size, 1)) if share is None else share(sizes, bursts)
    return ProblemParameters(*map(np.ascontiguousarray, (o, L[:, :, 0], G[:, :, 0], progress)))


def _quantity_of(name: str, value: Any) -> Quantity:
    """Return the values of a number, a table or a function, checked."""
    if isinstance(value, ParameterTable):
        return _checked(name, _of_table(_IdentityKey(value)))
    if callable(value):
        swap = name == "byte_time"  # G(P, S), but o(S, b)

        def of_function(sizes: Array, counts: Array) -> Array:
            pairs = [[(int(S), int(count)) for count in counts] for S in sizes]
            values = [[_answer(name, value, reversed(pair) if swap else pair) for pair in row] for row in pairs]
            return np.array(values, dtype=np.float64)[None]

        return _checked(name, of_function)
    if not isinstance(value, Real):
        raise InputError(f"{name} is {value!r}: give a number, or a function or a table of them")
    number = np.full((1, 1, 1), float(value))
    _check(name, number)
    return lambda sizes, _counts: number.repeat(sizes.size, axis=1)


def _answer(name: str, function: Any, arguments: Iterable[int]) -> float:
    words = tuple(arguments)
    try:
        answer = function(*words)
    except Exception as error:
        blame(error, f"the function {name}", function)
        raise
    return returned(f"{name}{words}", answer, float)  # type: ignore[no-any-return]


def _checked(name: str, quantity: Quantity) -> Quantity:
    def of(sizes: Array, counts: Array) -> Array:
        values = quantity(sizes, counts)
        _check(name, values)
        return values

    return of


def _check(name: str, values: Array) -> None:
    least, most = float(values.min()), float(values.max())
    if name == "progress" and not 0 <= least <= most <= 1:
        raise InputError("progress must be a share, 0 to 1, everywhere")
    if not ((least > 0 if name == "byte_time" else least >= 0) and most < math.inf):  # nor NaN
        raise InputError(f"{name} must be finite and {'above 0' if name == 'byte_time' else 'at least 0'} everywhere")


@lru_cache(maxsize=64)
def _of_table(key: _IdentityKey) -> Quantity:
    table: ParameterTable = key.value
    axes = [np.array(axis, dtype=np.float64) for axis in (table.sizes, table.bursts)]
    values = np.array(table.values, dtype=np.float64)

    def of_table(sizes: Array, counts: Array) -> Array:
        grid: Array = look_up(sizes, counts, axes[0], axes[1], values)
        return grid[None]

    return of_table


@lru_cache(maxsize=64)
def _of_measured(key: _IdentityKey, *, are_shares: bool = False) -> Quantity:
    """Return the values of a machine's table, smoothed over neighbours, with the ends of their intervals."""
    table: ParameterTable = key.value
    axes = [np.array(axis, dtype=np.float64) for axis in (table.sizes, table.bursts)]
    columns = [np.ascontiguousarray(column) for column in (steady_shares(table) if are_shares else steady_costs(table))]
    distinct = columns[:1] if all(np.array_equal(columns[0], column) for column in columns[1:]) else columns

    def of_measured(sizes: Array, counts: Array) -> Array:
        return np.array([look_up(sizes, counts, axes[0], axes[1], column) for column in distinct])

    return of_measured


def profile(machine: Machine, path: str | None, operation: str) -> OverlapProfile | None:
    """Return the overlap profile of a path, else that of any path; None without either."""
    profiles = {candidate.path: candidate for candidate in machine.overlap if candidate.operation == operation}
    chosen = usual_path(machine.paths, path)
    result = profiles.get(chosen) or profiles.get("any")
    if result is None and path is None and chosen == "any" and len(profiles) == 1:
        return next(iter(profiles.values()))
    return result


def _bandwidth(machine: Machine, conditions: Conditions) -> BandwidthProfile | None:
    """Return the bandwidth profile for a pattern, else that of pairs."""
    profiles = {
        candidate.pattern: candidate for candidate in machine.bandwidth if candidate.direction == conditions.direction
    }
    if conditions.profile:
        return profiles.get(conditions.profile)  # type: ignore[call-overload, no-any-return]
    of_two = [candidate for candidate in profiles.values() if candidate.byte_time.bursts[0] <= 2]
    return min(of_two, key=lambda candidate: candidate.pattern != "nearest-neighbour", default=None)


@lru_cache(maxsize=64)
def _profiles(key: _IdentityKey, conditions: Conditions) -> tuple[tuple[Quantity | None, ...], Quantity | None]:
    """Return o, L, G and progress, as far as the machine's profiles have them."""
    machine: Machine = key.value
    if conditions.path is not None and conditions.path not in {candidate.path for candidate in machine.overlap}:
        machine.segment(0, conditions.path)  # raises where there is no such path
    overlap, bandwidth = profile(machine, conditions.path, conditions.operation), _bandwidth(machine, conditions)
    o: Quantity | None = None
    L: Quantity | None = None
    G: Quantity | None = None
    share: Quantity | None = None
    if overlap is not None:
        o = None if overlap.overhead is None else _of_measured(_IdentityKey(overlap.overhead))
        L = None if overlap.L is None else _of_parameter(overlap.L)
        share = None if overlap.progress is None else _of_single(_IdentityKey(overlap.progress))
    if bandwidth is not None:
        G = _of_bandwidth(bandwidth.byte_time, None if conditions.profile else np.array([2.0]))
    return (o, L, G), share


def _of_single(table: _IdentityKey) -> Quantity:
    """Return the values of bursts of one message, with an MPI call after the computation on each."""
    of_table = _of_measured(table, are_shares=True)
    return lambda sizes, _bursts: of_table(sizes, np.ones(1))


def _of_bandwidth(byte_time: ParameterTable, processes: Array | None) -> Quantity:
    """Return G for the given number of processes."""
    table = _of_measured(_IdentityKey(byte_time))
    return lambda sizes, peers: np.maximum(table(sizes, peers if processes is None else processes), _FASTEST)


def _of_parameter(parameter: Parameter) -> Quantity:
    ends = np.array(_three(parameter)).reshape(3, 1, 1)
    return lambda sizes, _counts: ends.repeat(sizes.size, axis=1)


def _three(parameter: Parameter) -> tuple[float, float, float]:
    low = parameter.value if parameter.low is None else max(0.0, parameter.low)
    high = parameter.value if parameter.high is None else parameter.high
    return parameter.value, low, high


def _of_loggp(loggp: LogGP | None) -> list[tuple[float, float, float]]:
    if loggp is None:
        return [(math.nan,) * 3] * 3
    value, low, high = _three(loggp.o)
    G = (math.nan,) * 3 if loggp.G is None else _three(loggp.G)
    return [(2 * value, 2 * low, 2 * high), _three(loggp.L), G]


def _of_plogp(table: PLogP) -> _Segments:
    """Return o = o_s + o_r, L = L' + g(1) − o_s(1) − o_r(1) and G = g / S (March 2009, Eq 1 to 4)."""
    ends = (table, msgspec.structs.replace(table, **table.low), msgspec.structs.replace(table, **table.high))
    L = np.array([
        max(0.0, latency + float(end.at("g", 1) - end.at("o_s", 1) - end.at("o_r", 1)))
        for latency, end in zip(_three(table.L), ends, strict=True)
    ])  # fmt: skip
    columns = np.array([getattr(end, name) for name in ("o_s", "o_r", "g") for end in ends], dtype=np.float64)
    edges = np.array(table.sizes, dtype=np.float64)

    def at(sizes: Array, needs: tuple[bool, bool, bool]) -> Array:  # noqa: ARG001, it knows everything
        o_s, o_r, g = interpolate(sizes, edges, columns).reshape(3, 3, -1)
        return np.array((o_s + o_r, L[:, None].repeat(sizes.size, axis=1), g / sizes))

    return at


@lru_cache(maxsize=64)
def _segments(key: _IdentityKey, conditions: Conditions, needs: tuple[bool, bool, bool]) -> _Segments:
    """Return o, L and G from LogGP or pLogP where neither the caller nor the profiles have them."""
    machine: Machine = key.value
    chosen = usual_path(machine.paths, conditions.path)
    machine.segment(0, chosen)  # raises where there is no such path
    if conditions.operation != "two-sided" and any(needs[:2]):
        raise _missing(machine, conditions, (*needs[:2], False))
    path_segments = [segment for segment in machine.segments if segment.path == chosen]
    segments = path_segments or [segment for segment in machine.segments if segment.path == "any"]
    edges = np.array([math.inf if segment.limit is None else segment.limit.value for segment in segments])
    values = np.array([_of_loggp(segment.measured_loggp) for segment in segments]).transpose(1, 2, 0)
    tables = {table.path: table for table in machine.plogp}
    table = tables.get(chosen) or tables.get("any")
    lacking = np.isnan(values[:, 0])[list(needs)]
    if table is not None and lacking.any():
        return _of_plogp(table)
    if lacking.all(axis=1).any():
        raise _missing(machine, conditions, tuple(np.isnan(values[:, 0]).all(axis=1) & needs))

    def at(sizes: Array, needs: tuple[bool, bool, bool]) -> Array:
        if (largest := float(sizes.max())) > edges[-1]:
            machine.segment(largest, chosen)  # raises: the machine ends before
        rows = edges.searchsorted(sizes)
        if lacking.any():
            missing = np.isnan(values[:, 0, rows]) & np.array(needs)[:, None]
            if missing.any():
                raise _missing(machine, conditions, tuple(missing.any(axis=1)), sizes[missing.any(axis=0)][0])
        return values[:, :, rows]

    return at


def _joined(words: list[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _missing(
    machine: Machine, conditions: Conditions, are_missing: Any, size: float | None = None
) -> MissingParameterError:
    missing = [
        name for name, is_missing in zip(("overhead", "latency", "byte time"), are_missing, strict=True) if is_missing
    ]
    options = [f"--{name.replace(' ', '-')}" for name in missing]
    where = "" if size is None else f" for messages of {int(size)} bytes"
    of = "" if conditions.operation == "two-sided" else f" of {conditions.operation}"
    published = machine.origin is not None and machine.origin.source
    why = " (its publication does not print them in numbers)" if published else ""
    return MissingParameterError(
        f"machine {machine.name!r} does not know {_joined(missing)}{of}{where}{why}: measure with {_KERNELS}, "
        f"then fit, or give {_joined(options)}"
    )
