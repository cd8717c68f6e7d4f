"""A problem checked and complete, in the form that the compiled search takes. Main entry: `Problem`.

A pattern is a number of exchanges between two processes, one after the other, each with what its equation adds: with
several end points P of V bytes (Section 3.2), where all visit the same one at a time P of V / P bytes (Eq 9, Section
3.4), in other patterns one. Source: Iancu and Strohmaier 2007.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypedDict, get_args

import numpy as np
from numpy.typing import NDArray

from commmodel.arguments import finite, whole
from commmodel.errors import InputError
from commmodel.machine import Machine, ParameterTable
from commmodel.models.compiled import compiled
from commmodel.optimize import search
from commmodel.optimize.decompositions import Decompositions, Kind, decompositions
from commmodel.optimize.parameters import Conditions, problem_parameters, profile
from commmodel.results import Pattern

__all__ = [
    "MODELS",
    "OWN_ERROR",
    "Implementation",
    "ProblemOptions",
    "SearchResult",
    "Shape",
    "TransferProblem",
    "check_peers",
    "one_of",
    "shape",
]

Array = NDArray[np.float64]
Implementation = Literal["pipelined", "tight"]
Operation = Literal["two-sided", "put", "get"]
Direction = Literal["both-ways", "one-way"]
Rule = Literal["equations", "measured"]
Model = Literal["bounded", "paper"]
Computation = float | Callable[[int], float]

_BOUNDS = {None: search.EITHER, "communication": search.COMMUNICATION, "computation": search.COMPUTATION}
"""Whose formulas are used: those of the case at hand, or of one case whatever it is."""
_CODES = {"pipelined": (search.PIPELINED,) * 2, "tight": (search.TIGHT,) * 2, "any": (search.PIPELINED, search.TIGHT)}
MODELS = {"bounded": search.BOUNDED, "paper": search.PAPER}
_CHOICES = {
    "pattern": get_args(Pattern), "implementation": tuple(_CODES), "grid": get_args(Kind),
    "operation": get_args(Operation), "direction": get_args(Direction), "rule": get_args(Rule),
    "model": get_args(Model),
}  # fmt: skip
_ADDED = {
    "end-point-congestion": search.CONGESTED,
    "all-to-all-same-order": search.CONGESTED,
    "all-to-all-contiguous": search.CONTIGUOUS,
    "all-to-all-interleaved": search.INTERLEAVED,
}
_BALANCED = 0.75
"""Computation over transfer, between those of the paper's communication-bound problems, 0.5, and balanced ones, 1."""
_SHORT_BURST = 2
"""The best measured burst of balanced and computation-bound all-to-all problems."""
OWN_ERROR = 0.02
"""Error of bounded times where all parameters are known, of the blocking time (benchmarks/validation/overlap_losses.py:
nine of ten choices lose less)."""
_LARGEST = 2**53
"""Bytes that a float counts exactly."""
_ONE, _TWO, _THREE = "float64[::1]", "float64[:,::1]", "float64[:,:,::1]"
_SEARCH = (
    "Tuple((int64, int64, int64, float64, float64, int64, int64, float64, float64, float64, "
    "float64, float64))"
    f"(int64, {_ONE}, {_ONE}, int64, int64, int64, int64, int64, int64, float64, float64, float64, {_ONE}, {_THREE}, "
    f"{_TWO}, {_TWO}, {_THREE}, float64, float64)"
)


class ProblemOptions(TypedDict, total=False):
    """Arguments that `choose`, `sensitivity` and `misdiagnosis` share; `choose` describes them."""

    pattern: str
    implementation: str
    peers: int
    operation: str
    direction: str
    overhead: "float | Callable[[int, int], float] | ParameterTable | None"
    latency: float | None
    byte_time: "float | Callable[[int, int], float] | ParameterTable | None"
    progress: "float | Callable[[int, int], float] | ParameterTable | None"
    queue_depth: int | None
    outstanding_volume: float | None
    grid: str
    sizes: Sequence[int] | None
    bursts: Sequence[int] | None
    rule: str
    path: str | None
    model: str


class Shape(NamedTuple):
    """Sizes of a problem that follow from its pattern."""

    added: int
    """Code of what it adds."""
    repeats: float
    """Exchanges, one after the other."""
    parts: float
    """Into how many exchanges V is divided."""
    largest: int
    """Bytes of the largest message."""
    profile: str
    """Of bandwidth."""


class SearchResult(NamedTuple):
    """Result of the search: row and column of the grid; limits and neighbours as bits."""

    implementation: int
    row: int
    column: int
    seconds: float
    blocking_seconds: float
    limits: int
    neighbours: int
    low: float
    high: float
    blocking_low: float
    blocking_high: float
    least_gain: float


def shape(pattern: str, volume: int, peers: int) -> Shape:
    """Return the sizes that follow from a pattern among so many processes and `volume` bytes."""
    profile_name = {"contiguous": "nearest-neighbour", "interleaved": "cross"}.get(pattern.rpartition("-")[2], "")
    added = _ADDED.get(pattern, search.ALONE)
    if not pattern.startswith("all-to-all"):
        repeats = peers if pattern.startswith("multiple") else 1
        return Shape(added, float(repeats), 1.0, volume, profile_name)
    visits = float(peers) if added == search.CONGESTED else 1.0
    return Shape(added, visits, visits, math.ceil(volume / max(1, peers - 1)), profile_name)


def one_of(name: str, value: str) -> None:
    """Raise where a pattern, implementation, grid, operation, direction or rule does not exist."""
    if value not in _CHOICES[name]:
        raise InputError(f"there is no {name} {value!r}: choose one of {', '.join(_CHOICES[name])}")


def check_peers(pattern: str, peers: int) -> None:
    """Raise where a pattern is impossible with so many peers."""
    whole("peers", peers, 1)
    if pattern == "point-to-point" and peers != 1:
        mend = "give another pattern, like multiple-end-points-contiguous"
        raise InputError(f"point-to-point has one peer, not {peers}: {mend}")


class TransferProblem:
    """A problem, checked, with all its parameters."""

    def __init__(self, volume: int, computation: Computation, machine: Machine | None, options: ProblemOptions) -> None:
        given: dict[str, Any] = {**options}
        get = given.get
        self.pattern: Pattern = get("pattern", "point-to-point")
        self.peers: int = get("peers", 1)
        asked_for: tuple[tuple[str, str], ...] = (
            ("pattern", self.pattern), ("implementation", get("implementation", "pipelined")),
            ("grid", get("grid", "powers-of-two")), ("operation", get("operation", "two-sided")),
            ("direction", get("direction", "both-ways")), ("rule", get("rule", "equations")),
            ("model", get("model", "bounded")),
        )  # fmt: skip
        for name, value in asked_for:
            one_of(name, value)
        _, (_, implementation), _, (_, operation), (_, direction), (_, rule), (_, model) = asked_for
        kind: Kind = get("grid", "powers-of-two")
        self._check_numbers(volume, get("queue_depth"), get("outstanding_volume"))
        self.volume = int(volume)
        self.shape = shape(self.pattern, self.volume, self.peers)
        path, queue_depth, outstanding = get("path"), get("queue_depth"), get("outstanding_volume")
        if isinstance(machine, Machine) and machine.overlap:
            own = profile(machine, path, operation)
            if own is not None:
                queue_depth = own.queue_depth if queue_depth is None else queue_depth
                outstanding = own.outstanding_volume if outstanding is None else outstanding
        self.queue_depth = math.inf if queue_depth is None else float(queue_depth)
        self.outstanding_volume = math.inf if outstanding is None else float(outstanding)
        self.grid = decompositions(
            self.volume, self.shape.largest, kind, queue_depth, get("sizes"), get("bursts")
        )  # fmt: skip
        self.known = problem_parameters(
            machine, Conditions(path, operation, direction, self.shape.profile), self.grid.sizes, self.grid.bursts,
            self.peers, get("overhead"), get("latency"), get("byte_time"), get("progress"),
        )  # fmt: skip
        self.model = MODELS[model]
        if self.model == search.BOUNDED:  # cutting makes nothing cheaper: what says so is a cache, or noise
            o, G = self.known.o, self.known.G
            pieces = np.ceil(self.grid.sizes[0] / self.grid.sizes)
            o = np.maximum(o, o[:, :1, -1:] / pieces[:, None])
            self.known = self.known._replace(o=o, G=np.maximum(G, G[:, :1]))
        self.implementations = _CODES[implementation]
        self.computed = self._computed(computation)
        self._instead: Decompositions | None = None
        if rule == "measured":
            self._follow_measurements()

    def _check_numbers(self, volume: Any, queue_depth: Any, outstanding: Any) -> None:
        whole("volume", volume, 1, _LARGEST)
        check_peers(self.pattern, self.peers)
        if queue_depth is not None:
            whole("queue_depth", queue_depth, 2)
        if outstanding is not None:
            whole("outstanding_volume", outstanding, 1)

    def _computed(self, computation: Any) -> Array:
        """Return the seconds of computation on V bytes, in messages of each size."""
        sizes = self.grid.sizes
        if not callable(computation):
            finite("computation", computation, 0)
            return np.full(sizes.size, computation, dtype=np.float64)
        return np.array([_of_pieces(computation, self.volume, int(size)) for size in sizes])

    def _follow_measurements(self) -> None:
        """Use the best schedule measured for all-to-all (Section 3.4) in place of that of the equations."""
        if not self.pattern.startswith("all-to-all"):
            raise InputError(f"the rule measured is of all-to-all patterns: leave it out for {self.pattern}")
        if self.computed[0] < _BALANCED * self.volume * self.known.G[0, 0]:
            others = float(max(1, self.peers - 1))
            self.shape = self.shape._replace(added=search.ALONE, repeats=others, parts=others)
            return
        offered = self.grid.bursts[: self.grid.last_column + 1]
        if _SHORT_BURST not in offered:
            return
        # The last column is kept: it is that of single messages, which are what is left where no two fit.
        columns = [int(np.flatnonzero(offered == _SHORT_BURST)[0]), self.grid.bursts.size - 1]
        o, progress = (
            np.ascontiguousarray(one[..., columns]) if one.shape[-1] > 1 else one
            for one in (self.known.o, self.known.progress)
        )
        self.known = self.known._replace(o=o, progress=progress)
        if self.grid.last_column == self.grid.bursts.size - 1:
            self._instead = self.grid._replace(bursts=self.grid.bursts[columns], last_column=1)
        self.grid = self.grid._replace(bursts=self.grid.bursts[columns], last_column=0)

    @property
    def communicates(self) -> bool:
        """Whether the whole transfer takes longer than the computation."""
        return bool(self.computed[0] < self.volume * self.known.G[0, 0])

    def solve(self, factor: float = 1.0, bound: str | None = None) -> SearchResult:
        """Return the fastest decomposition with the computation scaled by a factor, by one bound or both."""
        found = self._search(self.grid, factor, bound)
        if found.implementation < 0 and self._instead is not None:
            found = self._search(self._instead, factor, bound)
        if found.implementation < 0:
            raise InputError(self._why_nothing())
        return found

    @property
    def offers_whole(self) -> bool:
        """Whether the undivided transfer (one message, or one per peer) is among the candidates."""
        return self.grid.first_row == 0 and self.grid.last_column == self.grid.bursts.size - 1

    def advice(self, result: SearchResult) -> tuple[bool, float, float]:
        """Return whether the decomposition pays, its gain over blocking messages, and the error of that gain."""
        gain, error = result.blocking_seconds - result.seconds, 0.0
        if self.model == search.BOUNDED:
            error = OWN_ERROR * result.blocking_seconds + gain - result.least_gain
        return (result.row > 0 or self.grid.first_row > 0) and gain > error, gain, error

    def _search(self, grid: Decompositions, factor: float, bound: str | None) -> SearchResult:
        shape = self.shape
        found = compiled(search.search, _SEARCH)(
            self.model, grid.sizes, grid.bursts, grid.first_row, grid.last_column, *self.implementations,
            _BOUNDS[bound], shape.added, self.volume / shape.parts, self.peers, shape.repeats,
            self.computed * (factor / shape.parts), *self.known, self.queue_depth, self.outstanding_volume,
        )  # fmt: skip
        kinds = SearchResult.__annotations__.values()
        # Uncompiled, they are numpy's.
        return SearchResult(*(kind(value) for kind, value in zip(kinds, found, strict=True)))

    def _why_nothing(self) -> str:
        size, burst = self.grid.sizes[-1], self.grid.bursts[self.grid.last_column]
        if size * burst > self.outstanding_volume:
            what = "the smallest message" if burst == 1 else f"the shortest burst, {int(burst)} messages"
            return (
                f"{what}, of {int(size)} bytes, does not fit into outstanding_volume = {int(self.outstanding_volume)}: "
                f"raise it, or move less than {self.volume} bytes at a time"
            )
        return (
            f"no burst is possible with any of the sizes (the shortest is {int(burst)}, the queue takes fewer than "
            f"{self.queue_depth:g}): give shorter bursts too, like 1, or smaller sizes"
        )

    def seconds(self, result: SearchResult) -> float:
        """Return the time of a decomposition by the formulas of the case at hand."""
        grid, (o, L, G, progress), shape = self.grid, self.known, self.shape
        row, column = result.row, result.column
        volume = self.volume / shape.parts
        messages = math.ceil(volume / grid.sizes[row])
        burst = messages / math.ceil(messages / grid.bursts[column])
        return float(search.whole_time(
            self.model, result.implementation, search.EITHER, shape.added, volume, volume / messages, burst, self.peers,
            shape.repeats, self.computed[row] / shape.parts, o[0, row, column if o.shape[2] > 1 else 0], L[0, row],
            G[0, row], G[0, 0], progress[0, row, column if progress.shape[2] > 1 else 0],
        ))  # fmt: skip


def _of_pieces(computation: Callable[[int], float], volume: int, size: int) -> float:
    """Return the seconds of computation on V bytes in messages of one size, the last of which may be shorter."""
    total = 0.0
    for count, piece in ((volume // size, size), (1, volume % size)):
        if piece:
            seconds = computation(piece)
            finite(f"computation({piece})", seconds, 0)
            total += count * seconds
    return total
