"""What became slower between two files, as a table for the terminal. Main entry: `difference_tables`."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import RenderableType

from commmodel.report.kit.cells import Cell
from commmodel.report.kit.terminal import text
from commmodel.report.measurements.other_kernels import PartTable
from commmodel.report.prediction.comparison import error_words, part_table
from commmodel.results import Configuration, Function
from commmodel.scaling.difference import Change, Difference, Differences
from commmodel.units import format_interval, format_quantity, format_ratio, format_size, format_time

__all__ = ["HINT", "configuration_words", "difference_part", "difference_tables", "summary_words", "together_words"]

HINT = (
    "Behind each ratio the interval of that ratio alone, over launches. Of many intervals some lie beside 1 by "
    "chance: a change is called one where chance does not explain it among all that was compared."
)
_SIZES = {"message_size", "volume"}
_SYMBOLS = {"processes": "P", "pairs": "k", "node_pairs": "h", "messages": "n", "burst": "b"}
_MOST_NAMED = 5
_MOST_LETTERS = 100  # such as the binding of a thousand ranks


def _parameter(name: str, value: object) -> str:
    if isinstance(value, bool):
        return name if value else f"not {name}"
    if name in _SIZES and isinstance(value, int):
        return format_size(value)
    if name == "wait" and isinstance(value, float):
        return f"after {format_time(value)}"
    if isinstance(value, int | float):
        return f"{_SYMBOLS.get(name, name)} = {value:g}"
    return str(value)


def configuration_words(configuration: Configuration) -> str:
    """Return what was measured in words; what has its usual value is left out.

    >>> from commmodel.results import Collective, PingPong
    >>> configuration_words(Collective("bcast", 1024, 4, "round-time"))
    'collective bcast, 1 KiB, P = 4, round-time'
    >>> configuration_words(PingPong(8, "same-node"))
    'pingpong, 8 B, same-node'
    >>> configuration_words(Function("sort", "time", (("p", 4.0), ("n", 1e6))))
    'sort, time, p = 4, n = 1e+06'
    """
    if isinstance(configuration, Function):
        at = (f"{name} = {value:g}" for name, value in configuration.parameters)
        return ", ".join((configuration.name, configuration.metric, *at))
    kernel = type(configuration)
    usual = dict(zip(reversed(kernel.__struct_fields__), reversed(kernel.__struct_defaults__), strict=False))
    values = {name: getattr(configuration, name) for name in kernel.__struct_fields__}
    operation = values.pop("operation", "")
    words = [_parameter(name, value) for name, value in values.items() if name not in usual or value != usual[name]]
    return ", ".join((f"{kernel.__struct_config__.tag} {operation}".rstrip(), *words))


def _ratio(ratio: float, low: float, high: float) -> str:
    """Return a ratio with its interval, without one that says nothing."""
    words = format_interval(ratio, low, high, "").replace("  ", " ")
    return words if low > 0 or not math.isinf(high) else words.partition(" [")[0]


def _effect(row: Difference) -> str:
    return "from nothing" if math.isinf(row.ratio) else error_words(row.ratio - 1)


def difference_part(rows: Iterable[Difference]) -> PartTable:
    """Return a table in words, a row for each configuration, in the order given."""
    rows = tuple(rows)
    by_row = [
        (
            Cell(configuration_words(row.configuration)),
            Cell(format_quantity(row.before, row.unit if row.unit != "1" else "").rstrip()),
            Cell(format_quantity(row.after, row.unit if row.unit != "1" else "").rstrip()),
            Cell(_effect(row)),
            Cell(_ratio(row.ratio, row.low, row.high)),
            Cell(f"{row.launches[0]}, {row.launches[1]}"),
            Cell(row.change),
        )
        for row in rows
    ]
    columns = ("what", "before", "after", "change", "after / before", "launches", "verdict")
    return PartTable("", columns, tuple(by_row), "")


def summary_words(found: Differences, least: float) -> str:
    """Return how many of how many changed, in one line.

    Parameters
    ----------
    found : Differences
    least : float
        As of `commmodel.scaling.difference.differences`.
    """
    counts: Counter[Change] = Counter(row.change for row in found.rows)
    words = [f"{counts[one]} {one}" for one in counts if one not in {"same", "unclear"}] or ["no change found"]
    words += [f"{counts['same']} the same within {format_ratio(least)}", f"{counts['unclear']} unclear"]
    return f"Of {len(found.rows)} configurations: {', '.join(words)}."


def together_words(found: Differences) -> str:
    """Return what the times of all configurations do in common, in one line; empty where there are too few."""
    if found.together is None:
        return ""
    one = found.together
    how = f"in {found.pairs} pairs of launches" if found.pairs else "over all launches"
    ratio = _ratio(one.ratio, one.low, one.high)
    verdict = {"same": "the same", "unclear": "no change that chance does not explain"}.get(one.change, one.change)
    return f"All {one.configurations} times together, after / before, {how}: {ratio}: {verdict}."


def _named(configurations: Sequence[Configuration]) -> str:
    shown = [configuration_words(one) for one in configurations[:_MOST_NAMED]]
    more = len(configurations) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")


def _short(words: str) -> str:
    return words if len(words) <= _MOST_LETTERS else f"{words[:_MOST_LETTERS]} …"


def difference_tables(found: Differences, rows: Sequence[Difference], least: float) -> list[RenderableType]:
    """Return the table, what differs in the surroundings, what is in one file only, the remarks, and the summary.

    Parameters
    ----------
    found : Differences
        Of `commmodel.scaling.difference.differences`.
    rows : sequence of Difference
        Those of its rows that are to be shown.
    least : float
        As the differences were made with.
    """
    shown: list[RenderableType] = []
    if rows:
        shown += [part_table(difference_part(rows)), text(f"{HINT}\n", "dim")]
    if found.surroundings:
        shown.append(text("What differs between the files:", "bold"))
        shown += [text(f"  {name}: {_short(old)} → {_short(new)}", "yellow") for name, old, new in found.surroundings]
    for where, configurations in (("before", found.only_before), ("after", found.only_after)):
        if configurations:
            shown.append(text(f"Only {where}: {_named(configurations)}"))
    shown += [text(f"note: {remark}", "yellow") for remark in found.remarks]
    together = together_words(found)
    return [*shown, *([text(together)] if together else []), text(summary_words(found, least))]
