"""Table of a machine's parameters, a row per model of each segment, and remarks on the fits.

Main entries: `parameter_table`, `remarks` and `further_remarks`.
"""

import math
import re
from collections.abc import Iterable, Iterator

from commmodel.machine import (
    Extended,
    Limit,
    Machine,
    MaxRate,
    MeasuredPairs,
    MeasuredTimes,
    Parameter,
    Postal,
    Quality,
    Segment,
    recommended_model,
)
from commmodel.machine.model_choice import MEASURED, Model, choose_model, two_way
from commmodel.machine.parameters import UNITS
from commmodel.machine.rates import bandwidth, duplex_factor
from commmodel.report.kit.cells import factor_cell, parameter_cell
from commmodel.report.kit.tables import NOTHING, Cell, Column, Table, left, stack
from commmodel.units import counted, format_ratio, format_size

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
    STREAMS: "One way, streams: the max-rate model of messages that all go in one direction. Its α is what a message "
    "of a window takes, which is no latency; its R_N is that of one direction; R_N of the other lines is that of "
    "ping-pongs, which go both ways at once",
}


def segments_on(machine: Machine | None, path: str) -> tuple[Segment, ...]:
    """Return the segments of a path; without any, those of the path ``any``."""
    segments = machine.segments if machine else ()
    of_path = tuple(segment for segment in segments if segment.path == path)
    return of_path or tuple(segment for segment in segments if segment.path == "any")


def limit_words(limit: Limit) -> str:
    """Return the end of a segment as text.

    >>> limit_words(Limit(8192, "change-point", above=16384)), limit_words(Limit(8116, "threshold", above=8120))
    ('between 8 KiB and 16 KiB', '8116 B')
    """
    probed = limit.found_by == "threshold"  # its few bytes of doubt are no news
    if limit.above is not None and limit.above > limit.value + 1 and not probed:
        return f"between {format_size(limit.value)} and {format_size(limit.above)}"
    return format_size(limit.value)


def message_words(machine: Machine) -> list[str]:
    """Return the message range of each segment as text, in the order of the machine.

    >>> message_words(Machine("m", (Segment("eager", limit=Limit(8192)), Segment("rendezvous"))))
    ['up to 8 KiB', 'above 8 KiB']
    """
    words = []
    below: dict[str, Limit | None] = {}
    for segment in machine.segments:
        smaller = below.get(segment.path)
        if segment.limit is not None:
            words.append(f"up to {format_size(segment.limit.value)}")
        else:
            words.append("all sizes" if smaller is None else f"above {format_size(smaller.value)}")
        below[segment.path] = segment.limit
    return words


def _shown(segment: Segment) -> dict[str, Model]:
    """Return the models with a row, by name, those of ping-pongs first."""
    models = two_way(segment)
    max_rate = segment.max_rate
    if max_rate is not None and max_rate.R_N is None and segment.postal is not None:
        del models["max-rate"]  # for one pair the two models are one
    return models | ({STREAMS: segment.one_way} if segment.one_way is not None else {})


def _has_choice(segment: Segment) -> bool:
    """Whether several models describe the same messages."""
    return len(_shown(segment).keys() - {STREAMS}) > 1


def _criteria(segment: Segment) -> dict[str, float]:
    """Return AICc relative to the best model, for models fitted to the same points as most."""
    judged = {
        name: model.quality
        for name, model in _shown(segment).items()
        if name != STREAMS and model.quality is not None and model.quality.information_criterion is not None
    }
    most = max((quality.points for quality in judged.values()), default=0)
    alike = {name: quality.information_criterion or 0.0 for name, quality in judged.items() if quality.points == most}
    return {name: value - min(alike.values()) for name, value in alike.items()} if len(alike) > 1 else {}


def _pair_rate(model: Model) -> Cell:
    match model:
        case Postal():
            return parameter_cell(bandwidth(model.beta), "B/s")
        case Extended():
            cells = [(name, parameter_cell(getattr(model, name), UNITS[name])) for name in ("R_Cb", "R_Ci")]
            return stack(Cell(f"{name} {cell.value}", cell.detail) for name, cell in cells)
        case _:
            return parameter_cell(model.R_C, UNITS["R_C"])


def _node_rate(segment: Segment, name: str, model: Model) -> Cell:
    is_one_pair = segment.max_rate is not None and segment.max_rate.R_N is None
    rate: Parameter | None = getattr(model, "R_N", None)
    if rate is not None:
        rates = message_rate_cells(segment) if name == STREAMS else ()
        return stack((parameter_cell(rate, UNITS["R_N"]), *((Cell("one way"),) if name == STREAMS else ()), *rates))
    return _ONE_PAIR if isinstance(model, MaxRate) or is_one_pair else NOTHING


def message_rate_cells(segment: Segment) -> Iterator[Cell]:
    """Yield the message rates of a segment, with the sizes and the number of pairs that each is of."""
    begin = 0
    for rate in segment.message_rate:
        if rate.M.is_limiting:
            sizes = f"from {format_size(begin)}" if rate.upto is None else f"up to {format_size(rate.upto)}"
            yield Cell(f"M {parameter_cell(rate.M, UNITS['M']).value}", f"k = {rate.pairs}, {sizes}")
        begin = (rate.upto or 0) + 1


def _latency(name: str, alpha: Parameter) -> Cell:
    """Return α: of streams, a message's share of a window, which is no latency."""
    cell = parameter_cell(alpha, UNITS["alpha"])
    return stack((cell, Cell("a message"))) if name == STREAMS else cell


def _error(quality: Quality | None) -> Cell:
    if quality is None:
        return NOTHING
    errors = quality.relative_error_mean, quality.relative_error_max
    mean, largest = (
        format_ratio(error) if with_disturbed is None else f"{format_ratio(error)} ({format_ratio(with_disturbed)})"
        for error, with_disturbed in zip(errors, quality.errors_with_disturbed or (None, None), strict=True)
    )
    return Cell(mean, f"max {largest}")


def _error_sum(quality: Quality | None) -> Cell:
    if quality is None:
        return NOTHING
    total = quality.relative_error_sum
    return Cell(f"{total:.2f}" if total < 99.995 else f"{total:.0f}")


def _criterion(value: float | None) -> Cell:
    if value is None:
        return NOTHING
    return Cell(f"+{value:.1f}" if 0 < value < 99.95 else f"+{value:.0f}" if value else "best")


def _model_cell(name: str, quality: Quality | None, *, is_recommended: bool, is_used: bool) -> Cell:
    first, *rest = name.split(", ")
    trust = Cell("not known", style="quiet")
    if not is_used:
        trust = Cell("not used", style="bad")
    elif quality is not None:
        trust = Cell("trusted", style="good") if quality.trusted else Cell("not trusted", style="bad")
    advice = [Cell("recommended", style="good")] if is_recommended else []
    return stack((Cell(first, style="strong" if is_recommended else ""), *map(Cell, rest), *advice, trust))


def _model_rows(segment: Segment, criteria: dict[str, float]) -> list[tuple[Cell, ...]]:
    """Return the cells of each model of a segment: name, latency, rates, errors, and criterion."""
    advice = recommended_model(segment) if _has_choice(segment) and segment.recommended else ""
    is_used = choose_model(segment).name != MEASURED  # else predictions take the measured times
    rows = []
    for name, model in _shown(segment).items():
        numbers: tuple[Cell, ...] = (
            _latency(name, model.alpha), _pair_rate(model), _node_rate(segment, name, model),
            _error(model.quality), _error_sum(model.quality), _criterion(criteria.get(name)),
        )  # fmt: skip
        if not is_used or (model.quality is not None and not model.quality.trusted):
            numbers = tuple(stack((cell._replace(below=()), *cell.below), "quiet") for cell in numbers)
        rows.append((_model_cell(name, model.quality, is_recommended=name == advice, is_used=is_used), *numbers))
    return rows or [(Cell("none"), *[NOTHING] * 6)]


def interval_words(machine: Machine) -> str:
    """Return what the intervals of the parameters cover, as text; empty without intervals.

    >>> from commmodel.machine import Origin, Segment
    >>> interval_words(Machine("m", (Segment("all"),), confidence=0.95, origin=Origin(launches=5)))
    '95 % intervals over 5 launches'
    """
    if machine.confidence is None:
        return ""
    words, launches = f"{format_ratio(machine.confidence)} intervals", machine.origin and machine.origin.launches
    if launches == 1:
        return f"{words} of this launch; launches differ by more: measure several, as with --launches 5"
    return f"{words} over {launches} launches" if launches else words


def parameter_table(machine: Machine) -> Table:
    """Return the table of a machine's parameters: a block per protocol segment, a row per model.

    Latency is α; the rate of one pair is R_C of the max-rate model, 1/β of the postal one, or R_Cb and R_Ci of the
    extended one; that of a node is R_N. Where a segment has several models, the recommended one is marked, and the sums
    of their errors and ΔAICc compare them.
    """
    blocks = [_model_rows(segment, _criteria(segment)) for segment in machine.segments]
    is_compared = any(len(block) > 1 for block in blocks)
    has_criteria = is_compared and any(row[-1] != NOTHING for block in blocks for row in block)
    columns = (
        *(left("segment", "model") if is_compared else left("segment", "messages", "model")),
        Column("latency", detail="α"), Column("one pair", detail="R_C or 1/β"), Column("node", detail="R_N"),
        Column("error", detail="mean"), Column("error", detail="sum"), Column("ΔAICc"),
    )  # fmt: skip
    count = len(columns) - (2 - is_compared - has_criteria)
    rows = []
    for segment, messages, block in zip(machine.segments, message_words(machine), blocks, strict=True):
        span = Cell(messages, segment.limit.found_by if segment.limit is not None else "")
        name = Cell(segment.protocol, segment.path)
        about = (stack((name, span)),) if is_compared else (name, span)  # beside two sums there is no room for it
        empty = (Cell(""),) * len(about)
        rows += [(*(empty if place else about), *row)[:count] for place, row in enumerate(block)]
    notes = [f"[low, high]: {interval_words(machine)}."] if machine.confidence else []
    qualities = [model.quality for segment in machine.segments for model in _shown(segment).values()]
    if any(quality is not None and quality.disturbed for quality in qualities):
        notes += ["Error: of undisturbed records (of all)."]
    notes += ["Error sum: Σ |T_model − T| / T."] if is_compared else []
    notes += ["ΔAICc: above the best model of the same points."] if has_criteria else []
    names = {name for segment in machine.segments for name in _shown(segment)}
    if any(segment.message_rate for segment in machine.segments):
        notes.append("M: messages a second of a node with k pairs; no α of k pairs is less than k / M.")
    formulas = [f"{words}." for name, words in _FORMULAS.items() if name in names] if is_compared else []
    return Table(f"Machine {machine.name}", columns[:count], tuple(rows), (*notes, *formulas), grouped=True)


def _findings(segment: Segment) -> Iterable[tuple[str, str, bool]]:
    """Yield the remarks of a segment: (model, empty for all; text; whether it comes first).

    What is said of streams, and of models that are not recommended, can wait.
    """
    several = len(_shown(segment)) > 1
    if segment.limit is not None and limit_words(segment.limit).startswith("between"):
        yield "", f"the protocol changes {limit_words(segment.limit)}", True
    if segment.reason and segment.recommended and _has_choice(segment):
        yield "", f"{segment.recommended} is recommended: {segment.reason}", True
    for measured in segment.measured:
        if measured.times is not None and not measured.is_of_all_sizes:
            yield "", _regime_words(measured, measured.times), True
        elif measured.times is not None:
            nearest = math.expm1(min(measured.errors.values(), default=math.inf))
            pairs = counted(measured.pairs, "pair")
            off = f" (the nearest is off by {format_ratio(nearest)})" if math.isfinite(nearest) else ""
            yield "", f"no model describes {pairs}{off}: predictions use the measured times", True
    if (factor := duplex_factor(segment)) is not None:
        yield "", f"duplex factor {factor_cell(factor)}, {DUPLEX}", True
    hidden = two_way(segment).keys() - _shown(segment).keys()  # the max-rate model that is the postal one
    for name, model in [*two_way(segment).items(), ("streams", segment.one_way)]:
        about = ("postal" if name in hidden else name) if several else ""
        first = about in ("", recommended_model(segment))
        yield from ((about, remark, first) for remark in (model.quality.remarks if model and model.quality else ()))


def _regime_words(measured: MeasuredPairs, times: MeasuredTimes) -> str:
    """Return a line on sizes whose times leave the line of the others, and the mean error with them."""
    first, last = (format_size(times.sizes[place]) for place in (0, -1))
    mean = min(measured.errors.values(), default=math.nan)
    return (
        f"the times of {first} to {last} ({counted(measured.pairs, 'pair')}) leave the model's line: predictions "
        f"follow what was measured there; with them the mean error is {format_ratio(math.expm1(mean))}"
    )


def _remarks(machine: Machine) -> tuple[list[list[str]], list[str]]:
    """Return remarks with their segments and models: the shown ones, equal ones joined; and the others."""
    about: dict[tuple[bool, str], dict[tuple[str, str], list[str]]] = {}
    names = _names(machine)
    for segment, name in zip(machine.segments, names, strict=True):
        for model, remark, first in _findings(segment):
            about.setdefault((first, remark), {}).setdefault(name, []).append(model)
    segments = set(names)
    shown: dict[str, list[str]] = {}
    rest: list[str] = []
    for (first, remark), places in about.items():
        words = f"{_places(places, segments)}: {remark}"
        if first:
            shown.setdefault(_FIGURE.sub("#", remark).partition(":")[0], []).append(words)
        else:
            rest.append(words)
    return list(shown.values()), rest


def _names(machine: Machine) -> list[tuple[str, str]]:
    """Return the name and path of each segment; the name has the messages where several have the same protocol.

    >>> _names(Machine("m", (Segment("eager", limit=Limit(8192)), Segment("eager"))))
    [('eager up to 8 KiB', 'any'), ('eager above 8 KiB', 'any')]
    """
    names = [(segment.protocol, segment.path) for segment in machine.segments]
    return [
        name if names.count(name) == 1 else (f"{name[0]} {messages}", name[1])
        for name, messages in zip(names, message_words(machine), strict=True)
    ]


def remarks(machine: Machine) -> list[str]:
    """Return the remarks on fits and limits, each once, with its segments and models.

    Of remarks that differ in their figures alone the first is there, with how many there are more.
    """
    shown, _ = _remarks(machine)
    return [*machine.warnings, *(f"{alike[0]}{_more(len(alike) - 1)}" for alike in shown)]


def further_remarks(machine: Machine) -> list[str]:
    """Return the remarks that `remarks` omits: repetitions, streams, and models that are not recommended."""
    shown, rest = _remarks(machine)
    return [*(words for alike in shown for words in alike[1:]), *rest]


def _more(count: int) -> str:
    return f" ({count} more like it)" if count else ""


def _places(places: dict[tuple[str, str], list[str]], segments: set[tuple[str, str]]) -> str:
    """Return the segments and models of a remark as text."""
    models = {place: ", ".join(dict.fromkeys(filter(None, names))) for place, names in places.items()}
    if len(segments) > _FEW and segments == models.keys() and len(set(models.values())) == 1:
        words = next(iter(models.values()))
        return f"every segment ({words})" if words else "every segment"
    return ", ".join(
        f"{protocol} ({'; '.join(filter(None, (path, names)))})" for (protocol, path), names in models.items()
    )
