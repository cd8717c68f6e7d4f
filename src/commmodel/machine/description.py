"""A machine as a list of protocol segments, with profiles and tables. Main entry: `Machine`."""

import math
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, field

from commmodel.arguments import NotNegative, finite, whole
from commmodel.collectives.library import selection as selectors
from commmodel.collectives.settings import CollectiveSettings
from commmodel.errors import InputError, MissingParameterError
from commmodel.frames import Tabular, draw, of_axes
from commmodel.machine.call_costs import CallCost
from commmodel.machine.collective_times import CollectiveTimes
from commmodel.machine.hybrid import Hybrid
from commmodel.machine.measured_times import MeasuredTimes
from commmodel.machine.parameters import (
    MODELS,
    UNITS,
    Extended,
    LatencyAware,
    LogGP,
    MaxRate,
    MessageRate,
    Parameter,
    PLogP,
    Postal,
    Quality,
)
from commmodel.machine.sending import Sending
from commmodel.machine.tables import BandwidthProfile, OverlapProfile
from commmodel.signatures import checked
from commmodel.structs import InputStruct
from commmodel.values import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMAT: Literal["commmodel-machine"] = "commmodel-machine"
VERSION = 1
# History of the format: 1, first version.
_DRAWN = tuple(1 << bits for bits in range(23))
"""Message sizes, bytes."""


class Limit(InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The end of a segment: messages of at most `value` bytes."""

    value: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    found_by: Literal["threshold", "change-point", "cache", "user", "hand"] = "hand"
    """``threshold``: the probe; ``change-point``: the times; ``cache``: these, where two buffers fill a cache;
    ``user``: told to the fit; ``hand``: in the file."""
    above: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    """Smallest size known to belong to the next segment."""

    def __post_init__(self) -> None:
        whole("value", self.value, 0)


class MeasuredPairs(Value, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The measurements of a segment with one number of pairs, and the models' errors on them."""

    pairs: Annotated[int, Meta(ge=1)]
    sizes: tuple[Annotated[int, Meta(ge=0)], Annotated[int, Meta(ge=0)]]
    """Smallest and largest message, bytes."""
    errors: dict[str, Annotated[float, Meta(ge=0)]] = field(default_factory=dict)
    """Model -> mean abs(ln(T_model / T)) over the sizes."""
    times: MeasuredTimes | None = None
    """What was measured, where no model of the segment describes it, at all sizes or at those of a regime."""
    disturbed: MeasuredTimes | None = None
    """The median of all samples at the sizes where most samples were disturbed; models are fitted to the others."""
    contradicting: MeasuredTimes | None = None
    """Sizes whose times lie beside those of others though their samples agree. Predictions leave them out."""

    @property
    def is_of_all_sizes(self) -> bool:
        """Whether the measured times stand for the models at all sizes."""
        return self.times is not None and (self.times.sizes[0], self.times.sizes[-1]) == self.sizes

    @checked
    def speaking(self, message_size: NotNegative | None) -> MeasuredTimes | None:
        """Return the measured times, if they stand for the models at a size; for no size, if they do at all sizes.

        >>> regime = MeasuredTimes((512, 1024), (1e-6, 4e-6))
        >>> [MeasuredPairs(1, (1, 1024), times=regime).speaking(size) is regime for size in (None, 512, 768, 2048)]
        [False, False, True, True]
        """
        times = self.times
        if times is None or message_size is None:
            return times if self.is_of_all_sizes else None
        begins = message_size > times.sizes[0] or times.sizes[0] <= self.sizes[0]
        ends = message_size < times.sizes[-1] or times.sizes[-1] >= self.sizes[1]
        return times if begins and ends else None


class Segment(Value, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One protocol on one path."""

    protocol: str
    """``short``, ``eager``, ``rendezvous``, ``eager/rendezvous`` for both, or ``all`` where no limit was found."""
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
    measured: tuple[MeasuredPairs, ...] = ()
    """One a number of pairs, ascending; empty where the file does not tell."""
    message_rate: tuple[MessageRate, ...] = ()
    """By ascending size; empty where messages per second were not seen to limit. No model's α of several processes is
    less than they allow (`commmodel.machine.rates.message_time`)."""

    def parts(self) -> Iterator[tuple[str, Any, int | None, Quality | None]]:
        """Yield the models and the message rates: name, parameters, largest message, quality."""
        limit = self.limit.value if self.limit else None
        for name in MODELS:
            if (model := getattr(self, name)) is not None:
                yield name, model, limit, model.quality
        for rate in self.message_rate:
            yield "message_rate", rate, limit if rate.upto is None else rate.upto, None

    @property
    def measured_loggp(self) -> LogGP | None:
        """LogGP where o and g were measured, not only bounded."""
        return None if self.loggp is None or self.loggp.bounded else self.loggp

    def message_rate_of(self, message_size: float) -> MessageRate | None:
        """Return the message rate that limits messages of a size; None where none is known."""
        rate = next((rate for rate in self.message_rate if rate.upto is None or message_size <= rate.upto), None)
        return rate if rate is not None and rate.M.is_limiting else None

    def __repr__(self) -> str:
        """Return the protocol, the path, the limit and the models of the segment."""
        models = ", ".join(name for name in MODELS if getattr(self, name) is not None) or "no models"
        return f"Segment({self.protocol}, {self.path}, {f'up to {self.limit.value} B, ' if self.limit else ''}{models})"


class Origin(InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The source of the parameters."""

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
    processes: int = 0
    """Ranks of the largest launch; 0 where it is not known."""
    warnings: tuple[str, ...] = ()
    """What was wrong while it was measured, a line each; whoever uses the machine repeats them."""
    thread_level: str = ""
    """MPI's, as MPI_Init_thread names it; empty where nobody knows."""
    buffers: Literal["", "touched", "untouched"] = ""
    """Whether messages were written before they were sent and read when they had arrived; empty where nobody knows."""
    stream_buffers: Literal["", "one", "each"] = ""
    """Where the messages of the streams arrived that one-way rates are from: all in one buffer, or each in its own."""
    launches: int | None = None
    """How many there were of the configuration that was measured in most: intervals of one hold for it alone."""
    command: tuple[str, ...] = ()
    """What fitted it, as it was typed."""


def usual_path(paths: Iterable[str], path: str | None = None) -> str:
    """Return a path, or where none is named that between nodes, else the first; empty without any.

    >>> usual_path(("same-node", "between-nodes")), usual_path(("same-node", "same-socket"))
    ('between-nodes', 'same-node')
    """
    names = [*paths]
    return path or ("between-nodes" if "between-nodes" in names else next(iter(names), ""))


class Machine(Tabular, Value, InputStruct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A machine's communication parameters."""

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
    """The selector of its library: a name of `commmodel.collectives.library.selection.published`."""
    selection: tuple[selectors.SelectionRule, ...] = ()
    """Rules that come before the selector's."""
    collectives: tuple[CollectiveTimes, ...] = ()
    """One for each operation, algorithm and number of processes on a node that was measured."""
    calls: tuple[CallCost, ...] = ()
    """One for each call beside plain messages that was measured, on each path, under each condition."""
    sending: tuple[Sending, ...] = ()
    """One a path: times of data in pieces and of Python objects by each way to send them."""

    def __repr__(self) -> str:
        """Return the name, the number of segments and the paths of the machine."""
        return f"Machine({self.name!r}, {len(self.segments)} segment(s), paths {', '.join(self.paths[:4])})"

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the parameters of all segments as columns.

        Returns
        -------
        dict of str to list
            A row for each parameter: ``path``, ``protocol``, ``limit`` (largest message in bytes, None where there is
            none larger), ``model``, ``parameter``, ``value``, ``unit``, ``low``, ``high``, ``trusted`` (None where no
            fit is recorded).

        Examples
        --------
        >>> told = Machine("m", (Segment("all", postal=Postal(Parameter(1e-6), Parameter(1e-9))),)).to_dict()
        >>> told["parameter"], told["value"], told["unit"]
        (['alpha', 'beta'], [1e-06, 1e-09], ['s', 's/B'])
        """
        rows = [
            (segment.path, segment.protocol, limit, name, field, value.value, UNITS.get(field, value.unit), value.low,
             value.high, quality and quality.trusted)
            for segment in self.segments
            for name, model, limit, quality in segment.parts()
            for field in model.__struct_fields__
            if isinstance(value := getattr(model, field), Parameter)
        ]  # fmt: skip
        names = ("path", "protocol", "limit", "model", "parameter", "value", "unit", "low", "high", "trusted")
        return {name: [row[column] for row in rows] for column, name in enumerate(names)}

    @of_axes
    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the time of a message over its size, alone on its node, a curve for each path.

        Raises
        ------
        MissingParameterError
            Where no segment has a model of a message.
        MissingPackageError
            Without matplotlib.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> hand_made = Machine("m", (Segment("all", postal=Postal(Parameter(1e-6), Parameter(1e-9))),))
        >>> [line.get_label() for line in hand_made.plot(Figure().subplots()).lines]
        ['any']
        """
        seconds = sys.modules["commmodel.machine.model_choice"].message_seconds
        curves = {path: [seconds(self, size, path) for size in _DRAWN] for path in self.paths}
        curves = {path: times for path, times in curves.items() if not all(map(math.isnan, times))}
        if not curves:
            raise MissingParameterError(
                f"machine {self.name!r} has no model of a message: measure it with python -m commmodel.bench pingpong"
            )
        return draw(axes, _DRAWN, curves)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that the machine has segments for, in the order of the file."""
        return tuple(dict.fromkeys(segment.path for segment in self.segments))

    @checked
    def segment(self, message_size: NotNegative, path: str | None = None) -> Segment:
        """Return the segment that holds for a message of so many bytes.

        Parameters
        ----------
        message_size : float
            Bytes.
        path : str, optional
            Needed where the machine has several, none of them between nodes.

        Raises
        ------
        InputError
            Where the size is negative.
        MissingParameterError
            Where the machine has no such path or segment.

        Examples
        --------
        >>> hand_made = Machine("m", (Segment("eager", limit=Limit(8192)), Segment("rendezvous")))
        >>> hand_made.segment(8192).protocol, hand_made.segment(8193).protocol
        ('eager', 'rendezvous')
        """
        if finite("message_size", message_size) < 0:
            raise InputError(f"a message of {message_size} bytes: a size must not be negative")
        path = usual_path(self.paths, path)
        by_path = {name: [segment for segment in self.segments if segment.path == name] for name in self.paths}
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

    @property
    def warnings(self) -> tuple[str, ...]:
        """What every prediction by this machine must say: problems of its measurement, doubts of its models."""
        doubts = [doubt for model in self.hybrid for doubt in model.doubts]
        return (*(() if self.origin is None else self.origin.warnings), *doubts)

    @property
    def selector_name(self) -> str:
        """Name of its selector, else that of the MPI library it was measured with; MPICH's where none is known.

        >>> Machine("m", (Segment("all"),), origin=Origin(mpi="Open MPI v4.0.7")).selector_name
        'openmpi-4.0'
        """
        return self.selector or selectors.of_library("" if self.origin is None else self.origin.mpi)

    @checked
    def algorithm_selector(self, name: str = "") -> selectors.Selector:
        """Return the selector of collective algorithms: the machine's own rules, then those of a library.

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
        >>> from commmodel.collectives.library.selection import select
        >>> rule = selectors.SelectionRule("bcast", "chain")
        >>> cluster = Machine("m", (Segment("all"),), selector="mpich", selection=(rule,))
        >>> [select(cluster.algorithm_selector(), operation, 8, 64).algorithm for operation in ("bcast", "scan")]
        ['chain', 'recursive-doubling']
        """
        name = name or self.selector
        if not name and not self.selection:
            names = ", ".join(selectors.published())
            raise InputError(f"machine {self.name!r} has neither selector nor selection: give it one of {names}")
        chosen = selectors.load(name) if name else selectors.Selector(self.name)
        return selectors.with_rules(chosen, self.selection)

    @property
    def collective_settings(self) -> CollectiveSettings:
        """Its selector with its own rules, and its times of copying and combining a byte."""
        selector = self.algorithm_selector(self.selector_name) if self.selection else self.selector_name
        copying, combining = (None if time is None else time.value for time in (self.memory_copy, self.reduction))
        return CollectiveSettings(selector, copying, combining)

    def hybrid_model(self, path: str | None = None) -> Hybrid:
        """Return the hybrid model of a path.

        `path` may be left out where there is only one, or one between nodes.

        Raises
        ------
        MissingParameterError
            Naming the kernels that provide it, where there is none.
        """
        by_path = {model.path: model for model in self.hybrid}
        chosen_model = by_path.get(usual_path(by_path, path)) or by_path.get("any")
        if chosen_model is None:
            paths = f" (it has {', '.join(by_path)})" if by_path else ""
            raise MissingParameterError(
                f"machine {self.name!r} has no hybrid model{f' of path {path!r}' if path else ''}{paths}: measure it "
                "with python -m commmodel.bench ping pingpong contention threshold --random-sizes 400, then fit"
            )
        return chosen_model

    @checked
    def max_rate(self, message_size: NotNegative, path: str | None = None) -> MaxRate:
        """Return the max-rate parameters for a message of so many bytes, with R_N.

        Parameters
        ----------
        message_size : float
            Bytes.
        path : str, optional
            As of `segment`.

        Raises
        ------
        MissingParameterError
            Naming the path or parameter that the machine lacks.
        """
        segment = self.segment(message_size, path)
        if segment.max_rate is None or segment.max_rate.R_N is None:
            missing = "max_rate" if segment.max_rate is None else "max_rate.R_N"
            raise MissingParameterError(
                f"machine {self.name!r}, segment {segment.protocol} ({segment.path}): {missing} is missing: "
                "measure it with python -m commmodel.bench pairs on at least 4 ranks, then fit"
            )
        return segment.max_rate
