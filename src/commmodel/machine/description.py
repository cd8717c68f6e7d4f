"""A machine as a list of protocol segments, and what it knows beside them. Main entry: `Machine`."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from commmodel.collectives import selection as selectors
from commmodel.errors import InputError, MissingParameterError
from commmodel.machine.hybrid import Hybrid
from commmodel.machine.parameters import Extended, LatencyAware, LogGP, MaxRate, Parameter, PLogP, Postal
from commmodel.machine.tables import BandwidthProfile, OverlapProfile

__all__ = ["FORMAT", "VERSION", "Limit", "Machine", "Origin", "Segment"]

FORMAT: Literal["commmodel-machine"] = "commmodel-machine"
VERSION = 1
# History of the format: 1, first version.


class Limit(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where a segment ends: it holds for messages of at most `value` bytes."""

    value: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    found_by: Literal["threshold", "change-point", "user", "hand"] = "hand"
    """``threshold``: the probe; ``change-point``: the times; ``user``: told to the fit; ``hand``: in the file."""
    above: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    """Smallest size known to belong to the next segment."""


class Segment(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One protocol on one path."""

    protocol: str
    """``short``, ``eager``, ``rendezvous``, or ``all`` where no limit was found."""
    path: str = "any"
    limit: Limit | None = None
    """None: it holds for all larger messages."""
    postal: Postal | None = None
    max_rate: MaxRate | None = None
    extended: Extended | None = None
    latency_aware: LatencyAware | None = None
    one_way: MaxRate | None = None
    """The max-rate model of streams in one direction; `max_rate` is that of ping-pongs, which go both ways at once."""
    loggp: LogGP | None = None
    recommended: str = ""
    """Name of the model to use: the simplest that is good enough."""
    reason: str = ""


class Origin(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where the parameters came from."""

    mpi: str = ""
    hosts: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    """Names of the results files."""
    measured: str = ""
    commmodel: str = ""
    seed: int | None = None
    """Of the bootstrap."""
    source: str = ""
    """A publication, for a machine taken from one."""


class Machine(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A machine's communication in a few numbers."""

    name: str
    segments: Annotated[tuple[Segment, ...], Meta(min_length=1)]
    format: Literal["commmodel-machine"] = FORMAT
    version: Annotated[int, Meta(ge=1)] = VERSION
    confidence: Annotated[float, Meta(gt=0, lt=1)] | None = None
    """Of all intervals in the file."""
    origin: Origin | None = None
    queue_search: Parameter | None = None
    """γ: time of finding a message among m received ones, γ m² in all."""
    link_contention: Parameter | None = None
    """δ: seconds per byte on the busiest link."""
    memory_copy: Parameter | None = None
    """δ of March 2009: seconds per byte of a copy within a process's memory."""
    reduction: Parameter | None = None
    """γ: seconds per byte that is combined with another by a reduction."""
    plogp: tuple[PLogP, ...] = ()
    """One a path."""
    overlap: tuple[OverlapProfile, ...] = ()
    """One for each path and operation."""
    bandwidth: tuple[BandwidthProfile, ...] = ()
    """One for each pattern and direction."""
    hybrid: tuple[Hybrid, ...] = ()
    """One a path."""
    selector: str = ""
    """Which algorithms of collectives its library picks: a name of `commmodel.collectives.selection.published`."""
    selection: tuple[selectors.Rule, ...] = ()
    """Rules that come before the selector's."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that the machine has segments for, in the order of the file."""
        return tuple(dict.fromkeys(segment.path for segment in self.segments))

    def segment(self, message_size: float, path: str | None = None) -> Segment:
        """Return the segment that holds for a message of so many bytes.

        `path` may be left out where the machine has only one, or has one between nodes.

        >>> hand_made = Machine("m", (Segment("eager", limit=Limit(8192)), Segment("rendezvous")))
        >>> hand_made.segment(8192).protocol, hand_made.segment(8193).protocol
        ('eager', 'rendezvous')
        """
        if message_size < 0:
            raise InputError(f"a message of {message_size} bytes: a size must not be negative")
        path = path or ("between-nodes" if "between-nodes" in self.paths else self.paths[0])
        by_path = {name: [one for one in self.segments if one.path == name] for name in self.paths}
        on_path = by_path.get(path) or by_path.get("any")
        if not on_path:
            raise MissingParameterError(
                f"machine {self.name!r} knows no path {path!r} (it has {', '.join(self.paths)}): "
                "measure it with python -m commmodel.bench pingpong pairs, with ranks placed that way"
            )
        for segment in on_path:
            if segment.limit is None or message_size <= segment.limit.value:
                return segment
        last = on_path[-1].limit
        raise MissingParameterError(
            f"machine {self.name!r} ends at {last.value if last else 0} bytes on path {path!r}: measure larger "
            "messages with python -m commmodel.bench pingpong --sizes 1:16MiB"
        )

    def collectives(self, name: str = "") -> selectors.Selector:
        """Return which algorithms collectives use: the machine's own rules, then those of a selector.

        Parameters
        ----------
        name : str
            A published selector or a file of rules; empty: the machine's `selector`.

        Raises
        ------
        InputError
            Where neither the machine nor the caller says anything, or there is no such selector.

        Examples
        --------
        >>> from commmodel.collectives.selection import select
        >>> cluster = Machine("m", (Segment("all"),), selector="mpich", selection=(selectors.Rule("bcast", "chain"),))
        >>> [select(cluster.collectives(), operation, 8, 64).algorithm for operation in ("bcast", "scan")]
        ['chain', 'recursive-doubling']
        """
        name = name or self.selector
        if not name and not self.selection:
            known = ", ".join(selectors.published())
            raise InputError(f"machine {self.name!r} has neither selector nor selection: give it one of {known}")
        chosen = selectors.load(name) if name else selectors.Selector(self.name)
        return selectors.preceded(chosen, self.selection)

    def hybrid_model(self, path: str | None = None) -> Hybrid:
        """Return the hybrid model of a path.

        `path` may be left out where there is only one, or one between nodes.

        Raises
        ------
        MissingParameterError
            Naming the kernels that provide it, where there is none.
        """
        by_path = {one.path: one for one in self.hybrid}
        chosen = path or ("between-nodes" if "between-nodes" in by_path else next(iter(by_path), ""))
        found = by_path.get(chosen) or by_path.get("any")
        if found is None:
            known = f" (it has {', '.join(by_path)})" if by_path else ""
            raise MissingParameterError(
                f"machine {self.name!r} has no hybrid model{f' of path {path!r}' if path else ''}{known}: measure it "
                "with python -m commmodel.bench ping pingpong contention threshold --random-sizes 400, then fit"
            )
        return found

    def max_rate(self, message_size: float, path: str | None = None) -> MaxRate:
        """Return the max-rate parameters that hold for a message of so many bytes; R_N is there."""
        segment = self.segment(message_size, path)
        if segment.max_rate is None or segment.max_rate.R_N is None:
            missing = "max_rate" if segment.max_rate is None else "max_rate.R_N"
            raise MissingParameterError(
                f"machine {self.name!r}, segment {segment.protocol} ({segment.path}): {missing} is missing: "
                "measure it with python -m commmodel.bench pairs on at least 4 ranks, then fit"
            )
        return segment.max_rate
