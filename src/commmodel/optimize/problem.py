"""A problem checked and complete, in the form that the compiled search takes. Main entry: `DecompositionSearch`.

A pattern is a number of exchanges between two processes, one after the other, each with what its equation adds: with
several end points P of V bytes (Section 3.2), where all visit the same one at a time P of V / P bytes (Eq 9, Section
3.4), in other patterns one. Source: Iancu and Strohmaier 2007.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from msgspec import Struct

from commmodel.arguments import Count, NotNegative, Numbers, finite, several, whole
from commmodel.arrays import Array
from commmodel.choices import BurstRule, Grid, Implementation, OverlapModel, Pattern
from commmodel.docstrings import with_attributes
from commmodel.errors import InputError
from commmodel.machine import Machine
from commmodel.optimize import search
from commmodel.optimize.decompositions import Decompositions, decompositions
from commmodel.optimize.parameters import MessageCosts, problem_parameters, profile
from commmodel.optimize.search import SearchResult
from commmodel.signatures import check_fields
from commmodel.values import Value

_BOUNDS = {None: search.EITHER, "communication": search.COMMUNICATION, "computation": search.COMPUTATION}
"""Whose formulas are used: those of the case at hand, or of one case whatever it is."""
IMPLEMENTATIONS: tuple[Implementation, ...] = get_args(Implementation)
"""By their codes in `commmodel.optimize.search`."""
_CODES = {"pipelined": (search.PIPELINED,) * 2, "tight": (search.TIGHT,) * 2, "any": (search.PIPELINED, search.TIGHT)}
MODELS: dict[OverlapModel, int] = {"bounded": search.BOUNDED, "paper": search.PAPER}
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


_KINDS = tuple(SearchResult.__annotations__.values())


@with_attributes
class TransferProblem(Struct, frozen=True, forbid_unknown_fields=True):
    """A transfer, and the computation that is to hide it.

    `volume` is in bytes and `computation` in seconds, both with each peer: a stencil with four neighbours is
    ``TransferProblem(bytes_to_each, seconds / 4, "multiple-end-points-interleaved", 4)``. In all-to-all patterns both
    are of all peers together.
    """

    volume: Count
    """V, bytes to move, with each peer; in all-to-all patterns with all of them together."""
    computation: NotNegative | Callable[[int], float]
    """t_V, seconds of computation on these bytes. Or a function from the bytes of one message to the seconds of
    computation on it, which may know of caches: t_V is then the sum over the messages, and may differ from size to
    size."""
    pattern: Pattern = "point-to-point"
    """``point-to-point``; ``multiple-end-points-contiguous`` and ``-interleaved`` (one with `peers` others);
    ``end-point-congestion`` (`peers` with the same one); ``all-to-all-same-order``, ``-contiguous`` and
    ``-interleaved`` (among `peers`, in messages of at most V / (P - 1)). Contiguous: each peer is finished before the
    next; interleaved: they take turns; same order: all visit the same peer at a time."""
    peers: Count = 1
    """P, 1 for point-to-point."""

    def __post_init__(self) -> None:
        check_fields(self)


class TransferProblems(Value, Struct, frozen=True, forbid_unknown_fields=True):
    """Many transfers: a `TransferProblem` with arrays of volumes, computations and peers, which broadcast."""

    volume: int | Numbers
    computation: float | Numbers
    pattern: Pattern = "point-to-point"
    peers: int | Numbers = 1

    def __post_init__(self) -> None:
        check_fields(self)
        for name, check, least in (("volume", whole, 1), ("computation", finite, 0), ("peers", whole, 1)):
            several(check, name, getattr(self, name), least)


@with_attributes
class Candidates(Struct, frozen=True, forbid_unknown_fields=True):
    """Decompositions to choose from."""

    implementation: Literal[Implementation, "any"] = "pipelined"
    """``pipelined`` (ask for the next burst, then compute), ``tight`` (compute, then ask for it) or ``any``."""
    grid: Grid = "powers-of-two"
    """``powers-of-two`` has sizes, the largest possible among them, with at most 8192 messages, and bursts up to 64 or
    the queue depth; ``fine`` has four sizes for each of these, and all bursts up to 64."""
    sizes: Sequence[int] | None = None
    """Only these in place of the grid's, such as whole rows of a matrix. Sizes larger than what there is to move
    are left out."""
    bursts: Sequence[int] | None = None
    """Only these in place of the grid's."""
    rule: BurstRule = "equations"
    """``equations``, or for all-to-all patterns ``measured``, what the paper measured to be best: bursts of 2 where
    computation takes at least 3/4 of the transfer, else what is best with several end points."""

    def __post_init__(self) -> None:
        check_fields(self)


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


def shape(pattern: str, volume: int, peers: int) -> Shape:
    """Return the sizes that follow from a pattern among so many processes and `volume` bytes."""
    profile_name = {"contiguous": "nearest-neighbour", "interleaved": "cross"}.get(pattern.rpartition("-")[2], "")
    added = _ADDED.get(pattern, search.ALONE)
    if not pattern.startswith("all-to-all"):
        repeats = peers if pattern.startswith("multiple") else 1
        return Shape(added, float(repeats), 1.0, volume, profile_name)
    visits = float(peers) if added == search.CONGESTED else 1.0
    return Shape(added, visits, visits, math.ceil(volume / max(1, peers - 1)), profile_name)


def check_peers(pattern: str, peers: int) -> None:
    """Raise where a pattern is impossible with so many peers."""
    whole("peers", peers, 1)
    if pattern != "point-to-point" and peers < 2:
        raise InputError(f"{pattern} is among several: give peers, at least 2")
    if pattern == "point-to-point" and peers != 1:
        mend = "give another pattern, like multiple-end-points-contiguous"
        raise InputError(f"point-to-point has one peer, not {peers}: {mend}")


class DecompositionSearch:
    """A problem with its candidates and all its parameters, checked."""

    def __init__(
        self,
        machine_or_costs: Machine | MessageCosts,
        problem: TransferProblem,
        candidates: Candidates | None = None,
        *,
        model: OverlapModel = "bounded",
    ) -> None:
        candidates = candidates or Candidates()
        costs = MessageCosts.of(machine_or_costs)
        self.pattern = problem.pattern
        self.peers = problem.peers
        self._check_numbers(problem.volume, costs.queue_depth, costs.outstanding_volume)
        self.volume = int(problem.volume)
        self.shape = shape(self.pattern, self.volume, self.peers)
        queue_depth, outstanding = costs.queue_depth, costs.outstanding_volume
        if costs.machine is not None and costs.machine.overlap:
            overlap_profile = profile(costs.machine, costs.path, costs.operation)
            if overlap_profile is not None:
                queue_depth = overlap_profile.queue_depth if queue_depth is None else queue_depth
                outstanding = overlap_profile.outstanding_volume if outstanding is None else outstanding
        self.queue_depth = math.inf if queue_depth is None else float(queue_depth)
        self.outstanding_volume = math.inf if outstanding is None else float(outstanding)
        self.grid = decompositions(
            self.volume, self.shape.largest, candidates.grid, queue_depth, candidates.sizes, candidates.bursts
        )
        self.parameters = problem_parameters(costs, self.shape.profile, self.grid.sizes, self.grid.bursts, self.peers)
        self.model = MODELS[model]
        if self.model == search.BOUNDED:  # splitting makes nothing cheaper: what says so is a cache, or noise
            o, G = self.parameters.o, self.parameters.G
            pieces = np.ceil(self.grid.sizes[0] / self.grid.sizes)
            o = np.maximum(o, o[:, :1, -1:] / pieces[:, None])
            self.parameters = self.parameters._replace(o=o, G=np.maximum(G, G[:, :1]))
        self.implementations = _CODES[candidates.implementation]
        self.computed = self._computed(problem.computation)
        self._instead: Decompositions | None = None
        if candidates.rule == "measured":
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
        if self.computed[0] < _BALANCED * self.volume * self.parameters.G[0, 0]:
            partners = float(max(1, self.peers - 1))
            self.shape = self.shape._replace(added=search.ALONE, repeats=partners, parts=partners)
            return
        offered = self.grid.bursts[: self.grid.last_column + 1]
        if _SHORT_BURST not in offered:
            return
        # The last column is kept: it is that of single messages, which are what is left where no two fit.
        columns = [int(np.flatnonzero(offered == _SHORT_BURST)[0]), self.grid.bursts.size - 1]
        o, progress = (
            np.ascontiguousarray(array[..., columns]) if array.shape[-1] > 1 else array
            for array in (self.parameters.o, self.parameters.progress)
        )
        self.parameters = self.parameters._replace(o=o, progress=progress)
        if self.grid.last_column == self.grid.bursts.size - 1:
            self._instead = self.grid._replace(bursts=self.grid.bursts[columns], last_column=1)
        self.grid = self.grid._replace(bursts=self.grid.bursts[columns], last_column=0)

    @property
    def communicates(self) -> bool:
        """Whether the whole transfer takes longer than the computation."""
        return bool(self.computed[0] < self.volume * self.parameters.G[0, 0])

    def solve(self, factor: float = 1.0, bound: str | None = None) -> SearchResult:
        """Return the fastest decomposition with the computation scaled by a factor, by one bound or both."""
        result = self._search(self.grid, factor, bound)
        if result.implementation < 0 and self._instead is not None:
            result = self._search(self._instead, factor, bound)
        if result.implementation < 0:
            raise InputError(self._why_nothing())
        return result

    @property
    def offers_whole(self) -> bool:
        """Whether the undivided transfer (one message, or one per peer) is among the candidates."""
        return self.grid.first_row == 0 and self.grid.last_column == self.grid.bursts.size - 1

    def advice(self, result: SearchResult) -> tuple[bool, float, float]:
        """Return whether the decomposition pays, its gain over blocking messages, and the error of that gain.

        A single message in each exchange is the blocking one; several, as one per peer in all-to-all patterns, are not.
        """
        gain, error = result.blocking_seconds - result.seconds, 0.0
        if self.model == search.BOUNDED:
            error = OWN_ERROR * result.blocking_seconds + gain - result.least_gain
        messages = math.ceil(self.volume / self.shape.parts / self.grid.sizes[result.row])
        return messages > 1 and gain > max(error, search.EQUAL * result.blocking_seconds), gain, error

    def _method(self, bound: str | None, implementation: int = 0) -> search.Method:
        shape = self.shape
        return search.Method(self.model, implementation, _BOUNDS[bound], shape.added, float(self.peers), shape.repeats)

    def _grid(self, offered: Decompositions, factor: float = 1.0) -> search.Grid:
        parts = self.shape.parts
        return search.Grid(
            self.volume / parts, *offered, self.computed * (factor / parts), *self.parameters, self.queue_depth,
            self.outstanding_volume,
        )  # fmt: skip

    def _search(self, offered: Decompositions, factor: float, bound: str | None) -> SearchResult:
        result = search.search(self._method(bound), self._grid(offered, factor), *self.implementations)
        if isinstance(result.seconds, np.float64):  # uncompiled: plain numbers, as compiled
            result = SearchResult(*(kind(value) for kind, value in zip(_KINDS, result, strict=True)))
        return result

    def _why_nothing(self) -> str:
        size, burst = self.grid.sizes[-1], self.grid.bursts[self.grid.last_column]
        if size * burst > self.outstanding_volume:
            subject = "the smallest message" if burst == 1 else f"the shortest burst, {int(burst)} messages"
            return (
                f"{subject}, of {int(size)} bytes, does not fit into outstanding_volume = "
                f"{int(self.outstanding_volume)}: raise it, or move less than {self.volume} bytes at a time"
            )
        return (
            f"no burst is possible with any of the sizes (the shortest is {int(burst)}, the queue takes fewer than "
            f"{self.queue_depth:g}): give shorter bursts too, like 1, or smaller sizes"
        )

    def seconds(self, result: SearchResult) -> float:
        """Return the time of a decomposition by the formulas of the case at hand."""
        grid = self._grid(self.grid)._replace(computation=self.computed / self.shape.parts)
        method = self._method(None, result.implementation)
        return float(search.time_at(method, grid, search.cuts_of(grid), search.VALUES, result.row, result.column))


def _of_pieces(computation: Callable[[int], float], volume: int, size: int) -> float:
    """Return the seconds of computation on V bytes in messages of one size, the last of which may be shorter."""
    total = 0.0
    for count, piece in ((volume // size, size), (1, volume % size)):
        if piece:
            seconds = computation(piece)
            finite(f"computation({piece})", seconds, 0)
            total += count * seconds
    return total
