"""A machine's parameters in words: one entry a protocol segment, one line a model. Main entry: `segment_rows`."""

from dataclasses import dataclass

from commmodel.machine import UNITS, Limit, Machine, Quality, Segment
from commmodel.report.cells import NOTHING, Cell, bandwidth, parameter_cell
from commmodel.units import format_ratio, format_size

__all__ = ["ModelRow", "SegmentRow", "limit_words", "remarks", "segment_rows", "segments_on"]

_ONE_PAIR = Cell("one pair", "measured")


@dataclass(frozen=True)
class ModelRow:
    """One model of a segment: latency, rate of one pair, rate of all pairs, error, and whether to trust it."""

    model: str
    latency: Cell
    pair_rate: Cell
    node_rate: Cell
    error: Cell
    trusted: str


@dataclass(frozen=True)
class SegmentRow:
    """One protocol on one path."""

    protocol: str
    path: str
    messages: Cell
    models: tuple[ModelRow, ...]


def segments_on(machine: Machine | None, path: str) -> tuple[Segment, ...]:
    """Return the segments that hold on a path: its own, or where it has none, those of the path ``any``."""
    segments = machine.segments if machine else ()
    own = tuple(segment for segment in segments if segment.path == path)
    return own or tuple(segment for segment in segments if segment.path == "any")


def limit_words(limit: Limit) -> str:
    """Return where a segment ends, as closely as it is known.

    >>> limit_words(Limit(8192, "change-point", above=16384)), limit_words(Limit(8116, "threshold", above=8120))
    ('between 8 KiB and 16 KiB', '8116 B')
    """
    probed = limit.found_by == "threshold"  # its few bytes of doubt are no news
    if limit.above is not None and limit.above > limit.value + 1 and not probed:
        return f"between {format_size(limit.value)} and {format_size(limit.above)}"
    return format_size(limit.value)


def _messages(limit: Limit | None, below: Limit | None) -> Cell:
    if limit is not None:
        return Cell(f"up to {format_size(limit.value)}", limit.found_by)
    return Cell(f"above {format_size(below.value)}") if below is not None else Cell("all sizes")


def _error(quality: Quality | None) -> tuple[Cell, str]:
    if quality is None:
        return NOTHING, "not known"
    mean, largest = format_ratio(quality.relative_error_mean), format_ratio(quality.relative_error_max)
    return Cell(mean, f"max {largest}"), "yes" if quality.trusted else "no"


def _models(segment: Segment) -> tuple[ModelRow, ...]:
    rows = []
    max_rate, postal = segment.max_rate, segment.postal
    one_pair = max_rate is not None and max_rate.R_N is None
    if max_rate is not None and not (one_pair and postal is not None):  # for one pair the two models are one
        node_rate = _ONE_PAIR if max_rate.R_N is None else parameter_cell(max_rate.R_N, UNITS["R_N"])
        rows.append(
            ModelRow(
                "max-rate",
                parameter_cell(max_rate.alpha, UNITS["alpha"]),
                parameter_cell(max_rate.R_C, UNITS["R_C"]),
                node_rate,
                *_error(max_rate.quality),
            )
        )
    if postal is not None:
        rows.append(
            ModelRow(
                "postal",
                parameter_cell(postal.alpha, UNITS["alpha"]),
                parameter_cell(bandwidth(postal.beta), "B/s"),
                _ONE_PAIR if one_pair else NOTHING,
                *_error(postal.quality),
            )
        )
    return tuple(rows) or (ModelRow("none", NOTHING, NOTHING, NOTHING, NOTHING, "not known"),)


def segment_rows(machine: Machine) -> list[SegmentRow]:
    """Return one row a segment, in the order of the machine."""
    rows = []
    below: dict[str, Limit | None] = {}
    for segment in machine.segments:
        messages = _messages(segment.limit, below.get(segment.path))
        rows.append(SegmentRow(segment.protocol, segment.path, messages, _models(segment)))
        below[segment.path] = segment.limit
    return rows


def remarks(machine: Machine) -> list[str]:
    """Return what there is to know of the fits and limits: each remark once, with the segments that it is about."""
    about: dict[str, list[str]] = {}
    for segment in machine.segments:
        place = f"{segment.protocol} ({segment.path})"
        if segment.limit is not None and limit_words(segment.limit).startswith("between"):
            about.setdefault(f"its limit lies {limit_words(segment.limit)}", []).append(place)
        for fitted in (segment.max_rate, segment.postal):
            for remark in fitted.quality.remarks if fitted is not None and fitted.quality is not None else ():
                about.setdefault(remark, []).append(place)
    return [f"{', '.join(dict.fromkeys(places))}: {remark}" for remark, places in about.items()]
