"""Parameters of a problem: o, L, G and progress, from the caller or the machine. Main entry: `problem_parameters`.

What the caller gives comes first, then the machine's profiles of overlap and bandwidth, then LogGP, which knows o and
G of a message alone, or pLogP where LogGP lacks something.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from numbers import Real
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from commmodel.errors import InputError, MissingParameterError
from commmodel.machine import BandwidthProfile, LogGP, Machine, OverlapProfile, Parameter, ParameterTable, PLogP
from commmodel.optimize.search import interpolate, look_up
from commmodel.optimize.smoothing import steady_costs, steady_shares

__all__ = ["MessageCosts", "ProblemParameters", "problem_parameters", "profile"]

Array = NDArray[np.float64]
Given = float | Callable[[int, int], float] | ParameterTable | None
Quantity = Callable[[Array, Array], Array]
"""From sizes and counts (bursts, or a number of peers) to an array (1 or 3, sizes, counts or 1): value, low, high."""

_FASTEST = 1e-30
"""Seconds per byte in place of a fitted 0, by which r would be divided."""
_KERNELS = "python -m commmodel.bench burst bandwidth progress pingpong"
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
    operation: str = "two-sided"
    direction: str = "both-ways"
    profile: str = ""
    """Of bandwidth: nearest-neighbour or cross; empty for two processes alone."""


class MessageCosts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Costs of messages: what a machine says, and what holds in its place.

    What a machine lacks in profiles of overlap and bandwidth is taken from LogGP, then from its pLogP table. Overheads
    are those of both ends, o = o_s + o_r; times are in seconds.
    """

    machine: Machine | None = None
    """Not needed where overhead, latency and byte time are given."""
    path: str | None = None
    """Of the machine; ``between-nodes`` where it has that and nothing else is said."""
    operation: str = "two-sided"
    """``two-sided``, ``put`` or ``get``, whose profile of overlap is used."""
    direction: str = "both-ways"
    """Direction of the bandwidth, ``both-ways`` where both sides send at once, or ``one-way``."""
    overhead: Given = None
    """o of both ends, or o(S, b), or a `Table`; in place of the machine's, as all that follow."""
    latency: float | None = None
    """L."""
    byte_time: Given = None
    """G in seconds per byte; or a function G(P, S); or a `Table`, its bursts being numbers of peers."""
    progress: Given = None
    """φ, the share of a transfer that goes on while nobody calls MPI, 0 to 1, or φ(S, b). 1 where nobody knows."""
    queue_depth: int | None = None
    """HD, of which a burst must be shorter."""
    outstanding_volume: float | None = None
    """Bytes of a burst at most."""

    @classmethod
    def of(cls, machine_or_costs: "Machine | MessageCosts") -> "MessageCosts":
        """Return the costs, which may be those of a machine alone."""
        costs = cls(machine_or_costs) if isinstance(machine_or_costs, Machine) else machine_or_costs
        if not isinstance(costs, cls) or not (costs.machine is None or isinstance(costs.machine, Machine)):
            wrong = costs.machine if isinstance(costs, cls) else costs
            raise InputError(f"machine is {wrong!r}: give what commmodel.machine.load or load returns, or MessageCosts")
        return costs


class _Same:
    """A value that equals itself alone, as a key of caches: comparing machines takes long."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value


class _Segments(Protocol):
    """o, L and G over sizes from LogGP or pLogP, with the ends of their intervals, shape (3, 3, sizes)."""

    def __call__(self, sizes: Array, wanted: tuple[bool, bool, bool]) -> Array: ...


def problem_parameters(
    costs: MessageCosts, pattern_profile: str, sizes: Array, bursts: Array, peers: int
) -> ProblemParameters:
    """Return o, L, G and progress at sizes and bursts; raise `MissingParameterError` where one is missing.

    `pattern_profile` is that of bandwidth: nearest-neighbour or cross; empty for two processes alone.
    """
    machine, conditions = costs.machine, Conditions(costs.path, costs.operation, costs.direction, pattern_profile)
    named = {"overhead": costs.overhead, "latency": costs.latency, "byte_time": costs.byte_time}
    quantities = [None if given is None else _given(name, given) for name, given in named.items()]
    share = None if costs.progress is None else _given("progress", costs.progress)
    segments: _Segments | None = None
    wanted = (False, False, False)
    if machine is not None:
        same = _Same(machine)
        found, its_share = _profiles(same, conditions)
        quantities = [own or other for own, other in zip(quantities, found, strict=True)]
        share = share or its_share
        wanted = (quantities[0] is None, quantities[1] is None, quantities[2] is None)
        if any(wanted):
            segments = _segments(same, conditions, wanted)
    elif not all(quantities):
        raise InputError("overhead, latency and byte_time are not all known: give them, or a machine")
    counts = (bursts, bursts[-1:], np.array([float(peers)]))
    of_segments = _NONE if segments is None else segments(sizes, wanted)[..., None]
    o, L, G = (
        of_segments[index] if one is None else one(sizes, count)
        for index, (one, count) in enumerate(zip(quantities, counts, strict=True))
    )
    if segments is not None:
        G = np.maximum(G, _FASTEST)
    own_share = np.ones((1, sizes.size, 1)) if share is None else share(sizes, bursts)
    return ProblemParameters(*map(np.ascontiguousarray, (o, L[:, :, 0], G[:, :, 0], own_share)))


def _given(name: str, given: Any) -> Quantity:
    """Return the values of a number, a table or a function, checked."""
    if isinstance(given, ParameterTable):
        return _checked(name, _of_table(_Same(given)))
    if callable(given):
        swap = name == "byte_time"  # G(P, S), but o(S, b)

        def of_function(sizes: Array, counts: Array) -> Array:
            pairs = [[(int(S), int(count)) for count in counts] for S in sizes]
            values = [[given(*(reversed(pair) if swap else pair)) for pair in row] for row in pairs]
            return np.array(values, dtype=np.float64)[None]

        return _checked(name, of_function)
    if not isinstance(given, Real):
        raise InputError(f"{name} is {given!r}: give a number, or a function or a table of them")
    number = np.full((1, 1, 1), float(given))
    _check(name, number)
    return lambda sizes, _counts: number.repeat(sizes.size, axis=1)


def _checked(name: str, quantity: Quantity) -> Quantity:
    def of(sizes: Array, counts: Array) -> Array:
        found = quantity(sizes, counts)
        _check(name, found)
        return found

    return of


def _check(name: str, found: Array) -> None:
    least, most = float(found.min()), float(found.max())
    if name == "progress" and not 0 <= least <= most <= 1:
        raise InputError("progress must be a share, 0 to 1, everywhere")
    if not ((least > 0 if name == "byte_time" else least >= 0) and most < math.inf):  # nor NaN
        raise InputError(f"{name} must be finite and {'above 0' if name == 'byte_time' else 'at least 0'} everywhere")


@lru_cache(maxsize=64)
def _of_table(same: _Same) -> Quantity:
    table: ParameterTable = same.value
    axes = [np.array(axis, dtype=np.float64) for axis in (table.sizes, table.bursts)]
    values = np.array(table.values, dtype=np.float64)

    def of_table(sizes: Array, counts: Array) -> Array:
        found: Array = look_up(sizes, counts, axes[0], axes[1], values)
        return found[None]

    return of_table


@lru_cache(maxsize=64)
def _of_measured(same: _Same, *, are_shares: bool = False) -> Quantity:
    """Return the values of a machine's table, smoothed over neighbours, with the ends of their intervals."""
    table: ParameterTable = same.value
    axes = [np.array(axis, dtype=np.float64) for axis in (table.sizes, table.bursts)]
    columns = [np.ascontiguousarray(each) for each in (steady_shares(table) if are_shares else steady_costs(table))]
    kept = columns[:1] if all(np.array_equal(columns[0], each) for each in columns[1:]) else columns

    def of_measured(sizes: Array, counts: Array) -> Array:
        return np.array([look_up(sizes, counts, axes[0], axes[1], each) for each in kept])

    return of_measured


def _path(machine: Machine, path: str | None) -> str:
    return path or ("between-nodes" if "between-nodes" in machine.paths else machine.paths[0])


def profile(machine: Machine, path: str | None, operation: str) -> OverlapProfile | None:
    """Return the overlap profile of a path, else that of any path; None without either."""
    profiles = {one.path: one for one in machine.overlap if one.operation == operation}
    chosen = _path(machine, path)
    found = profiles.get(chosen) or profiles.get("any")
    if found is None and path is None and chosen == "any" and len(profiles) == 1:
        return next(iter(profiles.values()))
    return found


def _bandwidth(machine: Machine, conditions: Conditions) -> BandwidthProfile | None:
    """Return the bandwidth profile for a pattern, else that of pairs."""
    profiles = {one.pattern: one for one in machine.bandwidth if one.direction == conditions.direction}
    if conditions.profile:
        return profiles.get(conditions.profile)  # type: ignore[call-overload, no-any-return]
    of_two = [one for one in profiles.values() if one.byte_time.bursts[0] <= 2]
    return min(of_two, key=lambda one: one.pattern != "nearest-neighbour", default=None)


@lru_cache(maxsize=64)
def _profiles(same: _Same, conditions: Conditions) -> tuple[tuple[Quantity | None, ...], Quantity | None]:
    """Return o, L, G and progress, as far as the machine's profiles have them."""
    machine: Machine = same.value
    if conditions.path is not None and conditions.path not in {one.path for one in machine.overlap}:
        machine.segment(0, conditions.path)  # raises where there is no such path
    own, bandwidth = profile(machine, conditions.path, conditions.operation), _bandwidth(machine, conditions)
    o: Quantity | None = None
    L: Quantity | None = None
    G: Quantity | None = None
    share: Quantity | None = None
    if own is not None:
        o = None if own.overhead is None else _of_measured(_Same(own.overhead))
        L = None if own.L is None else _of_parameter(own.L)
        share = None if own.progress is None else _of_single(_Same(own.progress))
    if bandwidth is not None:
        G = _of_bandwidth(bandwidth.byte_time, None if conditions.profile else np.array([2.0]))
    return (o, L, G), share


def _of_single(table: _Same) -> Quantity:
    """Return the values of bursts of one message, with an MPI call after the computation on each."""
    of_table = _of_measured(table, are_shares=True)
    return lambda sizes, _bursts: of_table(sizes, np.ones(1))


def _of_bandwidth(byte_time: ParameterTable, processes: Array | None) -> Quantity:
    """Return G for the given number of processes."""
    table = _of_measured(_Same(byte_time))
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
        max(0.0, whole + float(one.at("g", 1) - one.at("o_s", 1) - one.at("o_r", 1)))
        for whole, one in zip(_three(table.L), ends, strict=True)
    ])  # fmt: skip
    columns = np.array([getattr(one, name) for name in ("o_s", "o_r", "g") for one in ends], dtype=np.float64)
    edges = np.array(table.sizes, dtype=np.float64)

    def at(sizes: Array, wanted: tuple[bool, bool, bool]) -> Array:  # noqa: ARG001, it knows everything
        o_s, o_r, g = interpolate(sizes, edges, columns).reshape(3, 3, -1)
        return np.array((o_s + o_r, L[:, None].repeat(sizes.size, axis=1), g / sizes))

    return at


@lru_cache(maxsize=64)
def _segments(same: _Same, conditions: Conditions, wanted: tuple[bool, bool, bool]) -> _Segments:
    """Return o, L and G from LogGP or pLogP where neither the caller nor the profiles have them."""
    machine: Machine = same.value
    chosen = _path(machine, conditions.path)
    machine.segment(0, chosen)  # raises where there is no such path
    if conditions.operation != "two-sided" and any(wanted[:2]):
        raise _missing(machine, conditions, (*wanted[:2], False))
    own = [one for one in machine.segments if one.path == chosen]
    segments = own or [one for one in machine.segments if one.path == "any"]
    edges = np.array([math.inf if one.limit is None else one.limit.value for one in segments])
    values = np.array([_of_loggp(one.loggp) for one in segments]).transpose(1, 2, 0)
    tables = {table.path: table for table in machine.plogp}
    table = tables.get(chosen) or tables.get("any")
    lacking = np.isnan(values[:, 0])[list(wanted)]
    if table is not None and lacking.any():
        return _of_plogp(table)
    if lacking.all(axis=1).any():
        raise _missing(machine, conditions, tuple(np.isnan(values[:, 0]).all(axis=1) & wanted))

    def at(sizes: Array, wanted: tuple[bool, bool, bool]) -> Array:
        if (largest := float(sizes.max())) > edges[-1]:
            machine.segment(largest, chosen)  # raises: the machine ends before
        rows = edges.searchsorted(sizes)
        if lacking.any():
            missing = np.isnan(values[:, 0, rows]) & np.array(wanted)[:, None]
            if missing.any():
                raise _missing(machine, conditions, tuple(missing.any(axis=1)), sizes[missing.any(axis=0)][0])
        found: Array = values[:, :, rows]
        return found

    return at


def _missing(machine: Machine, conditions: Conditions, which: Any, size: float | None = None) -> MissingParameterError:
    *first, last = (name for name, one in zip(("overhead", "latency", "byte_time"), which, strict=True) if one)
    names = f"{', '.join(first)} and {last}" if first else last
    where = "" if size is None else f" for messages of {int(size)} bytes"
    of = "" if conditions.operation == "two-sided" else f" of {conditions.operation}"
    published = machine.origin is not None and machine.origin.source
    why = " (its publication does not print them in numbers)" if published else ""
    return MissingParameterError(
        f"machine {machine.name!r} does not know {names}{of}{where}{why}: measure with {_KERNELS}, then fit, or give "
        f"{names}"
    )
