"""Tables and sentences of checks against expectations. Main entries: `check_tables` and `check_lines`.

As Table 2 of Shudler and others (2015).
"""

import math
from collections.abc import Iterator, Sequence
from itertools import compress, groupby

from rich.text import Text

from commmodel.report.kit.tables import Cell, Style, Table, left, right, text
from commmodel.results import parameter_words
from commmodel.scaling import BrokenRule, CheckResult, Verdict
from commmodel.scaling.baseline import Slowdown
from commmodel.scaling.checking import CheckedSeries, Room
from commmodel.units import counted, format_interval, listed

_LOOKS: dict[Verdict, tuple[str, Style]] = {
    "match": ("✓", "good"), "approximate": ("≈", "good"), "mismatch": ("✗", "bad"), "uncertain": ("?", "uncertain"),
}  # fmt: skip
_LINE_STYLES = {"match": "green", "approximate": "green", "mismatch": "bold red", "uncertain": "yellow"}
NO_CLASS = "no class fits"
"""In the place of a model."""
_MOST_NAMES = 4
Parameters = tuple[tuple[str, float | str], ...]


def _where(parameters: Parameters) -> str:
    words = parameter_words(parameters)
    return f" at {words}" if words else ""


def _common(rows: Sequence[CheckedSeries]) -> set[tuple[str, float | str]]:
    """Return the parameters that are equal in all rows, for the title."""
    return set.intersection(*(set(row.series.fixed) for row in rows))


def _value(value: float, low: float, high: float, unit: str) -> str:
    return format_interval(value, low, high, "" if unit == "1" else unit).replace("  [", " [")


def _scale(scale: float) -> str:
    return "everywhere" if math.isinf(scale) else "nowhere" if scale < 1 else f"{math.floor(scale)}"


def _room(room: Room | None) -> str:
    if room is None:
        return ""
    best, low, high = map(_scale, (room.scale, room.low, room.high))
    return best if low == high else f"{best} [{low}, {high}]"


def verdict_cell(verdict: Verdict) -> Cell:
    """Return a verdict with its sign."""
    sign, style = _LOOKS[verdict]
    return Cell(f"{sign} {verdict}", style=style)


def _series_table(rows: Sequence[CheckedSeries]) -> Table:
    first = rows[0].series
    common = _common(rows)
    shared = [item for item in first.fixed if item in common]
    title = f"{first.metric} over {first.over}" + (f", {parameter_words(shared)}" if shared else "")
    targets = [row.predicted.scale for row in rows if row.predicted]
    is_shown = (
        True, any(len(row.series.fixed) > len(shared) for row in rows), *[True] * 5, bool(targets),
        any(row.room for row in rows),
    )  # fmt: skip
    columns = (
        *left("function", "parameters", "expected", "model"), *right("R²"), *left("δ", "verdict"),
        *right(f"at {first.over} = {targets[0] if targets else 0:g}", f"room up to {first.over}"),
    )  # fmt: skip
    cells = (_series_cells(row, common) for row in rows)
    return Table(title, tuple(compress(columns, is_shown)), tuple(tuple(compress(row, is_shown)) for row in cells))


def _series_cells(row: CheckedSeries, common: set[tuple[str, float | str]]) -> tuple[Cell, ...]:
    series, judged, over = row.series, row.judgement, row.series.over
    best, fits = judged.ensemble.best, judged.ensemble.fits
    before = ", as before" if row.source == "before" else ""
    target = row.predicted
    words = (
        series.name,
        parameter_words(item for item in series.fixed if item not in common),
        judged.expectation.text(over) + before,
        best.growth.text(over) if fits else NO_CLASS,
        f"{best.adjusted_r2:.2f}" if fits and math.isfinite(best.adjusted_r2) else "–",
        judged.divergence.text(over) if fits else "–",
    )
    value = _value(target.value, target.low, target.high, series.unit) if target else ""
    return (*map(Cell, words), verdict_cell(row.verdict), Cell(value), Cell(_room(row.room)))


def _slower_table(slower: Sequence[Slowdown]) -> Table:
    """Return a row for each slower function: its worst place, and the number of places."""
    groups: dict[tuple[str, str, str, Parameters], list[Slowdown]] = {}
    for place in slower:
        groups.setdefault((place.name, place.metric, place.over, place.fixed), []).append(place)
    rows = []
    for (name, metric, over, fixed), places in groups.items():
        worst = max(places, key=lambda place: place.ratio)
        span = f"{worst.ratio:.2f} [{worst.low:.2f}, {worst.high:.2f}]" if math.isfinite(worst.ratio) else "it was 0"
        scales = ", ".join(f"{scale:g}" for scale in sorted(place.scale for place in places))
        where = (f"{over} = {worst.scale:g}", scales) if math.isfinite(worst.scale) else ("", "everywhere")
        about = map(Cell, (name, metric, parameter_words(fixed), where[0]))
        rows.append((*about, Cell(span, style="bad"), Cell(where[1])))
    columns = (
        *left("function", "metric", "parameters", "worst"), *right("after / before"), *left("larger at")
    )  # fmt: skip
    return Table("larger than before", columns, tuple(rows))


def check_tables(checked: CheckResult) -> list[Table]:
    """Return a table for each metric and parameter: a row for each series."""
    metrics = [row.series.metric for row in checked.rows]
    rows = sorted(checked.rows, key=lambda row: metrics.index(row.series.metric))
    groups = groupby(rows, key=lambda row: (row.series.metric, row.series.over))
    tables = [_series_table(list(group)) for _, group in groups]
    return [*tables, _slower_table(checked.slower)] if checked.slower else tables


def _broken(broken: BrokenRule) -> str:
    name = f" ({broken.name})" if broken.name else ""
    rule = f"{broken.rule}{name}{_where(broken.fixed)}" + ("" if broken.metric == "time" else f" ({broken.metric})")
    if broken.kind == "measured":
        where = f"from {broken.over} = {broken.scale:g} on, left over right up to {broken.ratio:.2f}"
        if broken.certain:
            return f"{rule}: broken {where}"
        launches = counted(broken.launches, "launch")
        return f"{rule}: seen in {launches} {where}: too few launches to call it broken, measure more"
    if broken.kind == "modelled":
        how = "will be broken" if broken.certain else "may be broken, the data cannot tell:"
        ratio = f"left over right {broken.ratio:.2f} at the target"
        return f"{rule}: {how} from {broken.over} = {broken.scale:.0f} on, {ratio}"
    return f"{rule}: will be broken at some larger {broken.over}: its left side grows faster"


def _advice(rows: Sequence[CheckedSeries]) -> dict[tuple[Verdict, str], list[str]]:
    """Return advice on further measurements, each with its functions."""
    advice: dict[tuple[Verdict, str], list[str]] = {}
    for row in rows:
        if row.judgement.advice:
            numbers = tuple(item for item in row.series.fixed if not isinstance(item[1], str))
            advice.setdefault((row.verdict, row.judgement.advice), []).append(f"{row.series.name}{_where(numbers)}")
    return advice


def check_lines(checked: CheckResult) -> Iterator[Text]:
    """Yield lines on broken rules, further measurements, omissions, and the number of matches."""
    for broken in checked.violations:
        yield text(f"✗ {_broken(broken)}", "bold red")
    for broken in checked.possible:
        yield text(f"note: {_broken(broken)}", "yellow")
    for (verdict, advice), names in _advice(checked.rows).items():
        yield text(f"{_LOOKS[verdict][0]} {listed(names, _MOST_NAMES)}: {advice}", _LINE_STYLES[verdict])
    for words in checked.notes:
        yield text(f"note: {words}", "dim")
    counts = ", ".join(f"{checked.count(verdict)} {verdict}" for verdict in _LOOKS)
    parts = [f"{len(checked.rows)} series: {counts}"] if checked.rows or not checked.compared else []
    if without := sum(not row.judgement.ensemble.fits for row in checked.rows):
        parts.append(f"{NO_CLASS}: {without}")
    if checked.violations:
        parts.append(f"rules broken: {len(checked.violations)}")
    if checked.compared:
        larger = sum(not math.isnan(place.scale) for place in checked.slower)
        together = ", and all times together" if larger < len(checked.slower) else ""
        parts.append(f"{checked.compared} values compared with the baseline: {larger or 'none'} larger{together}")
    yield text("; ".join(parts), "bold")
