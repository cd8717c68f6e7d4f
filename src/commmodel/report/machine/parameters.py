"""A machine's parameters in words: one entry a protocol segment, one line a model. Main entry: `segment_rows`."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from commmodel.machine import UNITS, Extended, Limit, Machine, MaxRate, Parameter, Postal, Quality, Segment
from commmodel.report.kit.cells import NOTHING, Cell, bandwidth, factor_cell, parameter_cell
from commmodel.report.machine.node_rate import Model, duplex_factor, recommended, two_way
from commmodel.units import format_ratio, format_size

__all__ = [
    "DUPLEX", "STREAMS", "ModelRow", "SegmentRow", "are_compared", "explanations", "have_criteria", "limit_words",
    "remarks", "segment_rows", "segments_on",
]  # fmt: skip

STREAMS = "one way, streams"
"""How the model of streams is called."""
DUPLEX = "R_N of ping-pongs over R_N of streams: between 1 and 2 on a full-duplex link"
_FEW = 2  # segments that are named one by one
_FIGURE = re.compile(r"\d[\d.,]*(?: ?[A-Za-z%]+(?:/s)?)?")
"""A number and its unit."""
_ONE_PAIR = Cell("one pair", "measured")
_FORMULAS = {
    "postal": "Postal: T = α + n β",
    "max-rate": "Max-rate: T = α + k n / min(R_N, k R_C), for k pairs that send at once",
    "extended": "Extended: T = α + k n / min(R_N, R_Cb + (k − 1) R_Ci)",
    "latency-aware": "Latency-aware: T = max(k n / R_N, α + n / R_C)",
    STREAMS: "One way, streams: the max-rate model of messages that all go in one direction. Its R_N is that of one "
    "direction; R_N of the other lines is that of ping-pongs, which go both ways at once",
}


@dataclass(frozen=True)
class ModelRow:
    """One model of a segment: latency, rate of one pair, rate of all pairs, errors, and whether to trust it."""

    model: str
    latency: Cell
    pair_rate: tuple[Cell, ...]
    """R_C or 1/β, or both of R_Cb and R_Ci."""
    node_rate: tuple[Cell, ...]
    error: Cell
    trusted: str
    error_sum: str = ""
    criterion: str = ""
    """AICc less that of the best model of the same points."""
    is_recommended: bool = False


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


def _shown(segment: Segment) -> dict[str, Model]:
    """Return the models that get a line, by name, those of ping-pongs first."""
    models = two_way(segment)
    max_rate = segment.max_rate
    if max_rate is not None and max_rate.R_N is None and segment.postal is not None:
        del models["max-rate"]  # for one pair the two models are one
    return models | ({STREAMS: segment.one_way} if segment.one_way is not None else {})


def _has_choice(segment: Segment) -> bool:
    """Return whether there are several models of the same messages."""
    return len(_shown(segment).keys() - {STREAMS}) > 1


def _criteria(segment: Segment) -> dict[str, float]:
    """Return how much higher AICc is than the best model's, of the models fitted to the same points as most."""
    judged = {
        name: model.quality
        for name, model in _shown(segment).items()
        if name != STREAMS and model.quality is not None and model.quality.information_criterion is not None
    }
    most = max((quality.points for quality in judged.values()), default=0)
    alike = {name: quality.information_criterion or 0.0 for name, quality in judged.items() if quality.points == most}
    return {name: value - min(alike.values()) for name, value in alike.items()} if len(alike) > 1 else {}


def _pair_rates(model: Model) -> tuple[Cell, ...]:
    match model:
        case Postal():
            return (parameter_cell(bandwidth(model.beta), "B/s"),)
        case Extended():
            cells = [(name, parameter_cell(getattr(model, name), UNITS[name])) for name in ("R_Cb", "R_Ci")]
            return tuple(Cell(f"{name} {cell.value}", cell.detail) for name, cell in cells)
        case _:
            return (parameter_cell(model.R_C, UNITS["R_C"]),)


def _node_rates(segment: Segment, name: str, model: Model) -> tuple[Cell, ...]:
    one_pair = segment.max_rate is not None and segment.max_rate.R_N is None
    rate: Parameter | None = getattr(model, "R_N", None)
    if rate is not None:
        return (parameter_cell(rate, UNITS["R_N"]), *((Cell("", "one way"),) if name == STREAMS else ()))
    return (_ONE_PAIR if isinstance(model, MaxRate) or one_pair else NOTHING,)


def _error(quality: Quality | None) -> tuple[Cell, str, str]:
    if quality is None:
        return NOTHING, "not known", NOTHING.value
    mean, largest = format_ratio(quality.relative_error_mean), format_ratio(quality.relative_error_max)
    total = quality.relative_error_sum
    return (
        Cell(mean, f"max {largest}"),
        "yes" if quality.trusted else "no",
        f"{total:.2f}" if total < 99.995 else f"{total:.0f}",
    )


def _difference(value: float | None) -> str:
    if value is None:
        return NOTHING.value
    return f"+{value:.1f}" if 0 < value < 99.95 else f"+{value:.0f}" if value else "best"


def _models(segment: Segment) -> tuple[ModelRow, ...]:
    criteria = _criteria(segment)
    advice = recommended(segment) if _has_choice(segment) and segment.recommended else ""
    rows = [
        ModelRow(
            name,
            parameter_cell(model.alpha, UNITS["alpha"]),
            _pair_rates(model),
            _node_rates(segment, name, model),
            *_error(model.quality),
            _difference(criteria.get(name)),
            name == advice,
        )
        for name, model in _shown(segment).items()
    ]
    return tuple(rows) or (ModelRow("none", NOTHING, (NOTHING,), (NOTHING,), NOTHING, "not known"),)


def segment_rows(machine: Machine) -> list[SegmentRow]:
    """Return one row a segment, in the order of the machine."""
    rows = []
    below: dict[str, Limit | None] = {}
    for segment in machine.segments:
        messages = _messages(segment.limit, below.get(segment.path))
        rows.append(SegmentRow(segment.protocol, segment.path, messages, _models(segment)))
        below[segment.path] = segment.limit
    return rows


def are_compared(rows: Iterable[SegmentRow]) -> bool:
    """Return whether a segment has several models, which want to be compared."""
    return any(len(row.models) > 1 for row in rows)


def have_criteria(rows: Iterable[SegmentRow]) -> bool:
    """Return whether AICc tells some of the models apart."""
    return any(model.criterion not in {"", NOTHING.value} for row in rows for model in row.models)


def explanations(rows: Iterable[SegmentRow]) -> list[str]:
    """Return the formula of each model that is shown."""
    shown = {model.model for row in rows for model in row.models}
    return [f"{words}." for name, words in _FORMULAS.items() if name in shown]


def _findings(segment: Segment) -> Iterable[tuple[str, str, bool]]:
    """Yield what there is to know of a segment: the model that it is about, empty for all; the words; whether first.

    What is said of streams, and of models that are not recommended, can wait.
    """
    several = len(_shown(segment)) > 1
    if segment.limit is not None and limit_words(segment.limit).startswith("between"):
        yield "", f"its limit lies {limit_words(segment.limit)}", True
    if segment.reason and segment.recommended and _has_choice(segment):
        yield "", f"{segment.recommended} is recommended: {segment.reason}", True
    for one in segment.measured:
        if one.times is not None:
            nearest = math.expm1(min(one.errors.values(), default=math.inf))
            pairs = "one pair" if one.pairs == 1 else f"{one.pairs} pairs"
            off = f" (the nearest is off by {format_ratio(nearest)})" if math.isfinite(nearest) else ""
            yield "", f"no model describes {pairs}{off}: their measured times speak for themselves", True
    if (factor := duplex_factor(segment)) is not None:
        yield "", f"duplex factor {factor_cell(factor)}, {DUPLEX}", True
    hidden = two_way(segment).keys() - _shown(segment).keys()  # the max-rate model that is the postal one
    for name, model in [*two_way(segment).items(), ("streams", segment.one_way)]:
        about = ("postal" if name in hidden else name) if several else ""
        first = about in ("", recommended(segment))
        yield from ((about, remark, first) for remark in (model.quality.remarks if model and model.quality else ()))


def remarks(machine: Machine, *, further: bool = False) -> list[str]:
    """Return what there is to know of fits and limits: each remark once, with the segments and models it is about.

    Of remarks that differ in their figures alone the first is there, with how many there are more. With `further`, what
    was left out instead: these others, and the remarks on streams and on models that are not recommended.
    """
    about: dict[tuple[bool, str], dict[tuple[str, str], list[str]]] = {}
    for segment in machine.segments:
        for model, remark, first in _findings(segment):
            about.setdefault((first, remark), {}).setdefault((segment.protocol, segment.path), []).append(model)
    every = {(segment.protocol, segment.path) for segment in machine.segments}
    shown: dict[str, list[str]] = {}
    left: list[str] = []
    for (first, remark), places in about.items():
        words = f"{_places(places, every)}: {remark}"
        if first:
            shown.setdefault(_FIGURE.sub("#", remark).partition(":")[0], []).append(words)
        else:
            left.append(words)
    if further:
        return [*(words for alike in shown.values() for words in alike[1:]), *left]
    warnings = machine.origin.warnings if machine.origin else ()
    return [*warnings, *(f"{alike[0]}{_more(len(alike) - 1)}" for alike in shown.values())]


def _more(count: int) -> str:
    return f" ({count} more like it)" if count else ""


def _places(places: dict[tuple[str, str], list[str]], every: set[tuple[str, str]]) -> str:
    """Return which segments and which of their models a remark is about."""
    models = {place: ", ".join(dict.fromkeys(filter(None, names))) for place, names in places.items()}
    if len(every) > _FEW and every == models.keys() and len(set(models.values())) == 1:
        which = next(iter(models.values()))
        return f"every segment ({which})" if which else "every segment"
    return ", ".join(
        f"{protocol} ({'; '.join(filter(None, (path, names)))})" for (protocol, path), names in models.items()
    )
