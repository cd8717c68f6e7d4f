"""Sentences and tables of a history. Main entry: `history_blocks`."""

from collections.abc import Sequence

from rich.text import Text

from commmodel.report.kit.cells import error_words
from commmodel.report.kit.tables import Cell, Table, left, plain_rows, right, text
from commmodel.results import configuration_words
from commmodel.scaling.run_history import ChangePoint, History, HistoryRun
from commmodel.units import counted, format_interval, format_quantity, listed

_MOST_CHANGES = 8
_MOST_LETTERS = 60
_WORSE = {"slower", "larger"}


def _words(value: float, unit: str) -> str:
    return format_quantity(value, "" if unit == "1" else unit).rstrip()


def _effect(point: ChangePoint) -> str:
    return error_words(point.ratio - 1) if 0 < point.ratio < float("inf") else "from nothing"


def change_words(point: ChangePoint) -> str:
    """Return what changed, and by how much.

    >>> from commmodel.results.configurations import Collective
    >>> change_words(ChangePoint(Collective("bcast", 8, 4), "s", 2, 1e-6, 3e-6, 3.0, 2.0, 4.0, "slower"))
    'collective bcast, 8 B, p = 4: 1.00 us → 3.00 us, +200 %, slower'
    """
    values = f"{_words(point.before, point.unit)} → {_words(point.after, point.unit)}"
    return f"{configuration_words(point.configuration)}: {values}, {_effect(point)}, {point.change}"


def history_sentences(history: History) -> list[str]:
    """Return the conclusion: since which run what is another, and what else is another since then."""
    first, last = history.runs[0], history.runs[-1]
    span = f"{len(history.runs)} runs from {_day(first)} to {_day(last)}"
    if not history.changes:
        return [f"{span}: no change that chance does not explain."]
    sentences = [f"{span}: {counted(len(history.changes), 'change')}."]
    for run in dict.fromkeys(point.run for point in history.changes):
        points = [point for point in history.changes if point.run == run]
        since = history.runs[run]
        date = f" ({_day(since)})" if since.created else ""
        words = listed([*map(change_words, points)], _MOST_CHANGES, "; ")
        sentences.append(f"Since {since.name}{date}: {words}.")
        if environment := history.environment.get(run):
            changed = [f"{name}: {_short(old)} → {_short(new)}" for name, old, new in environment]
            sentences.append(f"With {since.name} there is another {listed(changed, _MOST_CHANGES, '; ')}.")
    return sentences


def _day(run: HistoryRun) -> str:
    return run.created.partition("T")[0] or run.name


def _short(words: str) -> str:
    return words if len(words) <= _MOST_LETTERS else f"{words[:_MOST_LETTERS]} …"


def run_table(history: History) -> Table:
    """Return a row for each run."""
    rows = plain_rows(
        (str(number), run.name, run.created, run.library, str(run.launches))
        for number, run in enumerate(history.runs, 1)
    )
    columns = (*right("run"), *left("file", "measured", "MPI library"), *right("launches"))
    return Table("Runs", columns, rows)


def change_table(changes: Sequence[ChangePoint]) -> Table:
    """Return a row for each change point."""
    rows = tuple(
        (
            Cell(str(point.run + 1)),
            Cell(configuration_words(point.configuration)),
            Cell(_words(point.before, point.unit)),
            Cell(_words(point.after, point.unit)),
            Cell(format_interval(point.ratio, point.low, point.high, "").replace("  ", " ").rstrip()),
            Cell(point.change, style="bad" if point.change in _WORSE else "good"),
        )
        for point in changes
    )
    columns = (*right("since run"), *left("what"), *right("before", "after", "after / before"), *left("verdict"))
    return Table("Changes", columns, rows)


def value_table(history: History) -> Table:
    """Return a row for each configuration, a column for each run."""
    rows = []
    for series in history.series:
        values = {point.run: _words(point.value, series.unit) for point in series.points}
        rows.append(
            (configuration_words(series.configuration), *(values.get(run, "") for run in range(len(history.runs))))
        )
    columns = (*left("what"), *right(*(f"run {number}" for number in range(1, len(history.runs) + 1))))
    return Table("Values", columns, plain_rows(rows), ("Means over the launches of a run.",), alike_from=1)


def history_blocks(history: History) -> list[Table | Text]:
    """Return what a terminal shows: runs, changes, remarks, and the conclusion."""
    blocks: list[Table | Text] = [run_table(history)]
    blocks += [change_table(history.changes)] if history.changes else []
    blocks += [text(f"note: {remark}", "yellow") for remark in history.remarks]
    return [*blocks, *map(text, history_sentences(history))]
