"""The critical path of a simulated run: what decides its time. Main entries: `critical_path`, `CriticalPath`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from commmodel._core.common.codes import PathKind
from commmodel._core.program.walk_back import walk_back
from commmodel.errors import InputError
from commmodel.frames import Tabular
from commmodel.signatures import checked
from commmodel.simulate.critical_path.costs import message_costs
from commmodel.simulate.critical_path.marking import attribution
from commmodel.simulate.delays import DelayModel
from commmodel.simulate.network import Network
from commmodel.simulate.result import SimulationResult
from commmodel.simulate.timeline import Timeline
from commmodel.values import OneLine, Value

if TYPE_CHECKING:
    from commmodel.simulate.platform import Platform

KIND_NAMES = tuple(kind.name.lower().replace("_", " ") for kind in PathKind)
"""Words of the kinds of `PathKind`, in the order of their numbers."""
SEGMENT = np.dtype(
    [
        *(("rank", np.int32), ("kind", np.int32), ("peer", np.int32), ("tag", np.int32)),
        *(("site", np.int32), ("step", np.int32), ("sends", np.int32), ("message", np.int64)),
        *(("size", np.float64), ("start", np.float64), ("end", np.float64)),
    ]
)
"""A part of the path: of which rank, what (`PathKind`), and when.

Of a message its peer, tag and bytes, −1 and 0 without one, whether the rank sends it, and its row in the transfers of
the run's timeline, or −1; number of the call site and of the step since that, −1 where they are not known."""


@dataclass(frozen=True)
class PathShare(OneLine):
    """What a part of a critical path takes, of all its segments of one kind, rank, link or site."""

    name: str
    seconds: float
    share: float
    """Of the path."""
    segments: int
    """How many there are."""


@dataclass(frozen=True, repr=False)
class CriticalPath(Tabular, Value):
    """What decides the time of a run, from 0 to its end: each segment begins where the one before it ends."""

    segments: NDArray[np.void]
    """Structured array of `SEGMENT`, in the order of time."""
    sites: tuple[str, ...] = ()
    """Names of call sites, by their numbers in `segments`."""
    hosts: NDArray[np.integer[Any]] | None = field(default=None, compare=False)
    """Host of each rank, where messages share links, shape (processes,)."""

    @property
    def seconds(self) -> float:
        """Length of the path, which is the time of the run."""
        return float(self.segments["end"][-1]) if self.segments.size else 0.0

    def __repr__(self) -> str:
        """Return the length and the largest part."""
        parts = self.by_kind()
        most = f", {parts[0].share:.0%} {parts[0].name}" if parts else ""
        return f"CriticalPath({self.seconds:.6g} s, {self.segments.size} segments{most})"

    @property
    def _lengths(self) -> NDArray[np.float64]:
        return np.asarray(self.segments["end"] - self.segments["start"])

    def by_kind(self) -> list[PathShare]:
        """Return what each kind of segment takes, the longest first.

        >>> from commmodel import simulate
        >>> ring = simulate.exchange("ring", 65536, 4, on="L=4us,o=1us,G=1ns", record=True)
        >>> [(share.name, share.segments) for share in critical_path(ring).by_kind()]
        [('transfer', 1), ('send', 1), ('receive', 1)]
        """
        return self._shares(self.segments["kind"], KIND_NAMES.__getitem__)

    def by_rank(self) -> list[PathShare]:
        """Return what each rank's segments take, the longest first; messages are those of the rank that waits.

        >>> from commmodel import simulate
        >>> ring = simulate.exchange("ring", 65536, 4, on="L=4us,o=1us,G=1ns", record=True)
        >>> [(share.name, share.segments) for share in critical_path(ring).by_rank()]
        [('0', 2), ('3', 1)]
        """
        return self._shares(self.segments["rank"], str)

    def by_link(self, platform: "Platform") -> list[PathShare]:
        """Return for each link how long messages of the path are on routes that have it, the longest first.

        A message counts for each link of its route, so that shares do not sum up to that of transfers.

        Parameters
        ----------
        platform : Platform
            That of the run.

        Examples
        --------
        >>> from commmodel import simulate
        >>> two = simulate.platform.flat(2, bandwidth=125e6, latency=15e-6)
        >>> path = critical_path(simulate.exchange("ring", 65536, 2, on=two, record=True))
        >>> [(share.name, round(share.share, 3)) for share in path.by_link(two)]
        [('node-0 down', 1.0), ('node-1 up', 1.0)]
        """
        moving = self.segments[(self.segments["kind"] == PathKind.TRANSFER) & (self.segments["peer"] >= 0)]
        if not moving.size or self.hosts is None:
            return []
        ends = np.stack([moving["rank"], moving["peer"]], axis=1)
        ends[moving["sends"] == 0] = ends[moving["sends"] == 0, ::-1]
        pairs, place = np.unique(ends, axis=0, return_inverse=True)
        lengths = np.bincount(place.ravel(), moving["end"] - moving["start"])
        counts = np.bincount(place.ravel())
        seconds: dict[int, float] = {}
        segments: dict[int, int] = {}
        route = platform.routing().route
        for (sender, receiver), length, count in zip(pairs.tolist(), lengths, counts, strict=True):
            for link in route(int(self.hosts[sender]), int(self.hosts[receiver])):
                seconds[link] = seconds.get(link, 0.0) + float(length)
                segments[link] = segments.get(link, 0) + int(count)
        total = self.seconds or 1.0
        order = sorted(seconds, key=lambda link: (-seconds[link], link))
        return [
            PathShare(str(platform.link_names[link]), seconds[link], seconds[link] / total, segments[link])
            for link in order
        ]

    def by_site(self) -> list[PathShare]:
        """Return what each call site takes, the longest first: its calls, and apart from them the computation before.

        Empty where no call sites are known: they are of recordings, and of programs that run.

        >>> from commmodel import simulate
        >>> critical_path(simulate.exchange("ring", 65536, 4, on="graphene", record=True)).by_site()
        []
        """
        has_site = self.segments["site"] >= 0
        if not has_site.any():
            return []
        is_computation = np.isin(self.segments["kind"], (PathKind.COMPUTATION, PathKind.SLEEP))
        column = np.where(has_site, 2 * self.segments["site"] + is_computation, -1)
        return self._shares(column, self._site_name)

    def _site_name(self, number: int) -> str:
        if number < 0:
            return "before the first call"
        site = self.sites[number // 2] if number // 2 < len(self.sites) else f"site {number // 2}"
        return f"computation before {site}" if number % 2 else site

    def by_step(self) -> list[PathShare]:
        """Return what each step takes, the longest first.

        A step is what a rank does from one wait to the next: so those of a collective are the rounds of its algorithm.
        They are counted from the last call site, or from the begin of the rank where no call sites are known. Empty
        where steps are not known.

        >>> from commmodel.simulate.critical_path import with_steps
        >>> from commmodel.simulate.scenario import place, prepare, workloads
        >>> delays = place("L=4us,o=1us,G=1ns")
        >>> rings = prepare(delays, workloads.exchange(delays, "ring", 65536, 4, rounds=2))
        >>> path = critical_path(rings.run(record=True, change=with_steps))
        >>> [share.name for share in path.by_step()]
        ['step 1', 'step 2']
        """
        steps = self.segments["step"]
        return self._shares(steps, lambda step: f"step {step + 1}") if (steps > 0).any() else []

    def _shares(self, column: NDArray[Any], name: Callable[[int], str]) -> list[PathShare]:
        numbers, place = np.unique(column, return_inverse=True)
        seconds = np.bincount(place.ravel(), self._lengths, numbers.size)
        counts = np.bincount(place.ravel(), minlength=numbers.size)
        total = self.seconds or 1.0
        return [
            PathShare(name(int(numbers[row])), float(seconds[row]), float(seconds[row]) / total, int(counts[row]))
            for row in np.argsort(-seconds, kind="stable").tolist()
        ]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns of the segments; kinds are words."""
        names = ("rank", "kind", "peer", "size", "start", "end", "step")
        columns = {name: self.segments[name].tolist() for name in names}
        sites = [self.sites[site] if 0 <= site < len(self.sites) else "" for site in self.segments["site"].tolist()]
        return {**columns, "kind": [KIND_NAMES[kind] for kind in columns["kind"]], "site": sites}


@checked
def critical_path(result: SimulationResult) -> CriticalPath:
    """Return what decides the time of a simulated run.

    The path goes back from the end of the last rank: computation to its begin; a wait to the message that ended it,
    that message's way to when it left, and on to the rank that decided that, its sender or, where that was later, its
    receiver. So whatever is on it and gets a little shorter shortens the run by as much, as long as no other
    path is as long, and messages share no link; what is not on it does not. Of
    several that are equally long it is one.

    Parameters
    ----------
    result : SimulationResult
        Of a run with `record`.

    Raises
    ------
    InputError
        If the run was not recorded, or ranks wait for ever.

    Examples
    --------
    >>> from commmodel import simulate
    >>> result = simulate.exchange("ring", 65536, 4, on="L=4us,o=1us,G=1ns", record=True)
    >>> path = critical_path(result)
    >>> [(share.name, round(1e6 * share.seconds, 1)) for share in path.by_kind()]
    [('transfer', 69.5), ('send', 1.0), ('receive', 1.0)]
    """
    if result.blocked:
        raise InputError("a deadlock has no critical path: its ranks wait for ever")
    if not result.intervals.size and result.seconds > 0:
        raise InputError("the run was not recorded: simulate it with record=True")
    timeline = Timeline.of(result)
    first = np.searchsorted(timeline.intervals["rank"], np.arange(result.ends.size + 1))
    model = result.message_model
    costs = message_costs(model, timeline.transfers, result.hosts)
    rules = (
        not isinstance(model, Network) if model is not None else False,
        isinstance(model, DelayModel) and model.name == "loggps",
        isinstance(model, Network) and model.answers_in_order,
        False,
    )
    rank = int(np.argmax(result.ends)) if result.ends.size else 0
    rows = walk_back(timeline.intervals, first, timeline.transfers, costs, rules, rank, result.seconds)
    segments = _segments(rows, timeline)
    begins = np.where(rows["interval"] >= 0, timeline.intervals["start"][rows["interval"]], segments["start"])
    segments["site"], segments["step"] = attribution(result.marks, segments["rank"], begins)
    hosts = result.hosts if isinstance(model, Network) else None
    return CriticalPath(segments, result.sites, hosts)


def _segments(rows: NDArray[np.void], timeline: Timeline) -> NDArray[np.void]:
    """Return the segments of a walk with what is known of their intervals and messages."""
    segments = np.zeros(rows.size, dtype=SEGMENT)
    for name in ("rank", "kind", "peer", "message", "start", "end"):
        segments[name] = rows[name]
    segments["tag"] = segments["site"] = segments["step"] = -1
    for column, source in (("interval", timeline.intervals), ("message", timeline.transfers)):
        places = np.flatnonzero(rows[column] >= 0)
        for name in ("tag", "size"):
            segments[name][places] = source[name][rows[column][places]]
    places = np.flatnonzero(rows["message"] >= 0)
    segments["sends"][places] = timeline.transfers["sender"][rows["message"][places]] == rows["rank"][places]
    return segments
