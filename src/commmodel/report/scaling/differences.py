"""Table and sentences of differences between two files. Main entry: `difference_blocks`."""

import math
from collections import Counter
from collections.abc import Sequence

from rich.text import Text

from commmodel.report.kit.cells import error_words
from commmodel.report.kit.tables import Table, left, plain_rows, right, text
from commmodel.results import configuration_words
from commmodel.scaling.difference import Change, Difference, Differences
from commmodel.scaling.permutation import FEWEST_PLAIN
from commmodel.units import format_interval, format_quantity, format_ratio, listed

_NOTE = (
    "Each ratio has the interval of its configuration alone, over launches. Of many, some lie off 1 by chance: slower "
    "or faster is what chance does not explain among all of them."
)
_IN_TURNS = "The ratio is computed pair by pair, so it need not equal after / before of the medians shown."
_PLAIN = 1.5
"""Ratio, or its inverse, that is worth a look though too few launches show it."""
_MOST_NAMED = 5
_MOST_LETTERS = 100  # such as the binding of a thousand ranks


def _ratio(ratio: float, low: float, high: float) -> str:
    """Return a ratio with its interval, if bounded."""
    words = format_interval(ratio, low, high, "").replace("  ", " ")
    return words if low > 0 or not math.isinf(high) else words.partition(" [")[0]


def _effect(row: Difference) -> str:
    return "from nothing" if math.isinf(row.ratio) else error_words(row.ratio - 1)


def difference_table(rows: Sequence[Difference], pairs: int = 0) -> Table:
    """Return a row for each configuration, in the order given; pairs of launches where they were in turns."""
    cells = (
        (
            configuration_words(row.configuration),
            format_quantity(row.before, row.unit if row.unit != "1" else "").rstrip(),
            format_quantity(row.after, row.unit if row.unit != "1" else "").rstrip(),
            _effect(row),
            _ratio(row.ratio, row.low, row.high),
            str(row.launches[0]) if pairs else f"{row.launches[0]}, {row.launches[1]}",
            row.change,
        )
        for row in rows
    )
    launches = "pairs" if pairs else "launches"
    columns = (*left("what"), *right("before", "after", "change", "after / before", launches), *left("verdict"))
    return Table("", columns, plain_rows(cells), (_NOTE, *[_IN_TURNS] * (pairs > 0)))


def summary_words(differences: Differences, least: float) -> str:
    """Return the number of changed configurations, in one line.

    Parameters
    ----------
    differences : Differences
    least : float
        As of `commmodel.scaling.difference.differences`.
    """
    counts: Counter[Change] = Counter(row.change for row in differences.rows)
    changes = [change for change in counts if change not in {"same", "unclear"}]
    words = [f"{counts[change]} {change}" for change in changes] or ["none changed for certain"]
    words += [f"{counts['same']} the same within {format_ratio(least)}"] * bool(counts["same"])
    words += [f"{counts['unclear']} unclear"] * bool(counts["unclear"])
    return f"{len(differences.rows)} compared: {', '.join(words)}."


def few_launches_words(differences: Differences) -> str:
    """Return what one or two launches on a side show, in one line; empty where it is nothing, or more decide."""
    rows = [
        row for row in differences.rows
        if row.unit == "s" and row.change == "unclear" and min(row.launches) < FEWEST_PLAIN
        and 0 < row.ratio < math.inf and max(row.ratio, 1 / row.ratio) >= _PLAIN
    ]  # fmt: skip
    if not rows:
        return ""
    words = [
        f"{configuration_words(row.configuration)} {max(row.ratio, 1 / row.ratio):.3g} times "
        f"{'slower' if row.ratio > 1 else 'faster'}"
        for row in rows
    ]
    count = min(min(row.launches) for row in rows)
    launches = "the one launch" if count == 1 else f"the {count} launches"
    return f"Seen in {launches} of a side: {listed(words, _MOST_NAMED, '; ')}: more launches decide."


def together_words(differences: Differences) -> str:
    """Return the common change of all times, in one line; empty where there are too few."""
    if differences.together is None:
        return ""
    together = differences.together
    how = f"in {differences.pairs} pairs of launches" if differences.pairs else "over all launches"
    ratio = _ratio(together.ratio, together.low, together.high)
    verdict = {"same": "the same", "unclear": "no change that chance does not explain"}.get(
        together.change, together.change
    )
    return f"All {together.configurations} times together, after / before, {how}: {ratio}: {verdict}."


def only_words(differences: Differences) -> list[str]:
    """Return the configurations that one of the files alone has, a line for each file."""
    sides = (("before", differences.only_before), ("after", differences.only_after))
    return [
        f"Only {where}: {listed([*map(configuration_words, configurations)], _MOST_NAMED, '; ')}"
        for where, configurations in sides
        if configurations
    ]


def _short(words: str) -> str:
    return words if len(words) <= _MOST_LETTERS else f"{words[:_MOST_LETTERS]} …"


def difference_blocks(differences: Differences, rows: Sequence[Difference], least: float) -> list[Table | Text]:
    """Return the table, differences in the environment, unmatched configurations, remarks, and summary.

    Parameters
    ----------
    differences : Differences
        Of `commmodel.scaling.difference.differences`.
    rows : sequence of Difference
        Those of its rows that are to be shown.
    least : float
        As the differences were made with.
    """
    blocks: list[Table | Text] = [difference_table(rows, differences.pairs), text("")] if rows else []
    if differences.environment:
        blocks.append(text("What differs between the files:", "bold"))
        blocks += [
            text(f"  {name}: {_short(old)} → {_short(new)}", "yellow") for name, old, new in differences.environment
        ]
    blocks += map(text, only_words(differences))
    blocks += [text(f"note: {remark}", "yellow") for remark in differences.remarks]
    together = together_words(differences)
    blocks += [text(words) for words in (together, few_launches_words(differences)) if words]
    return [*blocks, text(summary_words(differences, least))]
