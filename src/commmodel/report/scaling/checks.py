"""Measurements against expectations, as tables for the terminal. Main entries: `checked_tables` and `checked_lines`.

As Table 2 of Shudler and others (2015).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich.table import Table
from rich.text import Text

from commmodel.report.kit.terminal import new_table, text
from commmodel.scaling import BrokenRule, Checked, CheckedSeries, Room, Slower, Verdict
from commmodel.units import format_interval, format_size

__all__ = ["NO_CLASS", "checked_lines", "checked_tables", "parameter_words"]

_LOOKS: dict[Verdict, tuple[str, str]] = {
    "match": ("✓ match", "green"),
    "approximate": ("≈ approximate", "green"),
    "mismatch": ("✗ mismatch", "bold red"),
    "uncertain": ("? uncertain", "yellow"),
}
NO_CLASS = "no class fits"
"""Said in the place of a model."""
_MOST_NAMES = 4
Parameters = tuple[tuple[str, float | str], ...]


def parameter_words(parameters: Iterable[tuple[str, float | str]]) -> str:
    """Return parameters and their values in words.

    >>> parameter_words((("n", 1024.0), ("start", "round-time"), ("k", 3.0)))
    'n = 1 KiB, start = round-time, k = 3'
    """

    def said(name: str, value: float | str) -> str:
        if isinstance(value, str):
            return f"{name} = {value}"
        return f"{name} = {format_size(value)}" if name == "n" and value == round(value) else f"{name} = {value:g}"

    return ", ".join(said(name, value) for name, value in parameters)


def _where(parameters: Parameters) -> str:
    words = parameter_words(parameters)
    return f" at {words}" if words else ""


def _common(rows: Sequence[CheckedSeries]) -> set[tuple[str, float | str]]:
    """Return parameters that are the same everywhere: they are said once."""
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


def _table(rows: Sequence[CheckedSeries]) -> Table:
    first = rows[0].series
    common = _common(rows)
    same = [item for item in first.fixed if item in common]
    title = f"{first.metric} over {first.over}" + (f", {parameter_words(tuple(same))}" if same else "")
    differ = any(len(row.series.fixed) > len(same) for row in rows)
    targets = [row.predicted.scale for row in rows if row.predicted]
    rooms = any(row.room for row in rows)
    columns = [("function", "left"), *([("parameters", "left")] if differ else [])]
    columns += [("expected", "left"), ("model", "left"), ("R²", "right"), ("δ", "left"), ("verdict", "left")]
    columns += [(f"at {first.over} = {targets[0]:g}", "right")] if targets else []
    columns += [(f"room up to {first.over}", "right")] if rooms else []
    table = new_table(title, columns)
    for row in rows:
        series, judged = row.series, row.judgement
        best, fits, over = judged.ensemble.best, judged.ensemble.fits, series.over
        words, style = _LOOKS[row.verdict]
        cells = [text(series.name)]
        cells += [text(parameter_words(tuple(item for item in series.fixed if item not in common)))] if differ else []
        before = ", as before" if row.source == "before" else ""
        cells += [
            text(judged.expectation.text(over) + before),
            text(best.growth.text(over) if fits else NO_CLASS),
            text(f"{best.adjusted_r2:.2f}" if fits and math.isfinite(best.adjusted_r2) else "–"),
            text(judged.divergence.text(over) if fits else "–"),
            text(words, style),
        ]
        if targets:
            one = row.predicted
            cells.append(text(_value(one.value, one.low, one.high, series.unit) if one else ""))
        cells += [text(_room(row.room))] if rooms else []
        table.add_row(*cells)
    return table


def _slower_table(slower: Sequence[Slower]) -> Table:
    """Return a row for each function: where it is worst, and in how many places it is."""
    groups: dict[tuple[str, str, str, Parameters], list[Slower]] = {}
    for one in slower:
        groups.setdefault((one.name, one.metric, one.over, one.fixed), []).append(one)
    columns = (("function", "left"), ("metric", "left"), ("parameters", "left"), ("worst", "left"),
               ("times what it was", "right"), ("larger at", "left"))  # fmt: skip
    table = new_table("larger than before", columns)
    for (name, metric, over, fixed), ones in groups.items():
        worst = max(ones, key=lambda one: one.ratio)
        span = f"{worst.ratio:.2f} [{worst.low:.2f}, {worst.high:.2f}]" if math.isfinite(worst.ratio) else "it was 0"
        scales = ", ".join(f"{scale:g}" for scale in sorted(one.scale for one in ones))
        where = (f"{over} = {worst.scale:g}", scales) if math.isfinite(worst.scale) else ("", "everywhere")
        cells = (name, metric, parameter_words(fixed), where[0], span, where[1])
        table.add_row(*(text(cell, "red" if cell == span else "") for cell in cells))
    return table


def checked_tables(checked: Checked) -> list[Table]:
    """Return a table for each metric and parameter: a row for each series."""
    rows = sorted(checked.rows, key=lambda row: [one.series.metric for one in checked.rows].index(row.series.metric))
    groups = groupby(rows, key=lambda row: (row.series.metric, row.series.over))
    tables = [_table(list(group)) for _, group in groups]
    return [*tables, _slower_table(checked.slower)] if checked.slower else tables


def _broken(broken: BrokenRule) -> str:
    where = _where(broken.fixed)
    rule = f"{broken.rule}{where}" + ("" if broken.metric == "time" else f" ({broken.metric})")
    if broken.kind == "measured":
        return f"{rule}: broken from {broken.over} = {broken.scale:g} on, left over right up to {broken.ratio:.2f}"
    if broken.kind == "modelled":
        how = "will be broken" if broken.certain else "may be broken, the data cannot tell:"
        ratio = f"left over right {broken.ratio:.2f} at the target"
        return f"{rule}: {how} from {broken.over} = {broken.scale:.0f} on, {ratio}"
    return f"{rule}: will be broken at some larger {broken.over}: its left side grows faster"


def _advice(rows: Sequence[CheckedSeries]) -> dict[tuple[Verdict, str], list[str]]:
    """Return what to measure next or to look at, each with the functions that it is for."""
    found: dict[tuple[Verdict, str], list[str]] = {}
    for row in rows:
        if row.judgement.advice:
            numbers = tuple(item for item in row.series.fixed if not isinstance(item[1], str))
            found.setdefault((row.verdict, row.judgement.advice), []).append(f"{row.series.name}{_where(numbers)}")
    return found


def checked_lines(checked: Checked) -> Iterator[Text]:
    """Yield broken rules, what to measure next, what was not tested, and how many match."""
    for broken in checked.violations:
        yield text(f"✗ {_broken(broken)}", "bold red")
    for broken in checked.possible:
        yield text(f"note: {_broken(broken)}", "yellow")
    for (verdict, advice), names in _advice(checked.rows).items():
        shown = ", ".join(names[:_MOST_NAMES])
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        words, style = _LOOKS[verdict]
        yield text(f"{words[0]} {shown}{more}: {advice}", style)
    for words in checked.notes:
        yield text(f"note: {words}", "dim")
    counts = ", ".join(f"{checked.count(verdict)} {verdict}" for verdict in _LOOKS)
    parts = [f"{len(checked.rows)} series: {counts}"] if checked.rows or not checked.compared else []
    if without := sum(not row.judgement.ensemble.fits for row in checked.rows):
        parts.append(f"{NO_CLASS}: {without}")
    if checked.violations:
        parts.append(f"rules broken: {len(checked.violations)}")
    if checked.compared:
        larger = sum(not math.isnan(one.scale) for one in checked.slower)
        together = ", and all times together" if larger < len(checked.slower) else ""
        parts.append(f"{checked.compared} values compared with the baseline: {larger or 'none'} larger{together}")
    yield text("; ".join(parts), "bold")
