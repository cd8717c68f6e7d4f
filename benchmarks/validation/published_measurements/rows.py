"""Rows of measured and predicted times, and the errors of each model over a group of rows. Main entry: `summary`."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from rich.table import Table

__all__ = ["Row", "detail", "summary"]


class Row(NamedTuple):
    """A measured time, and what each model says of it."""

    machine: str
    work: str
    configuration: str
    seconds: float
    predictions: dict[str, float]

    def error(self, model: str) -> float:
        """Return the relative error of a model."""
        return self.predictions[model] / self.seconds - 1


def _groups(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.machine, row.work), []).append(row)
    return groups


def summary(rows: Sequence[Row]) -> Table:
    """Return the errors of each model over each work: median and quantile of |E|, and the median of E."""
    titles = ("machine", "work", "times", "model", "median |E|", "90 % of |E|", "worst E", "median E")
    table = Table(*titles, title="Errors of what was predicted", box=None, pad_edge=False)
    for (machine, work), members in _groups(rows).items():
        for number, model in enumerate(members[0].predictions):
            errors = np.array([row.error(model) for row in members])
            worst = errors[np.argmax(np.abs(np.log1p(errors)))]
            names = ("", "", "") if number else (machine, work, str(len(members)))
            table.add_row(
                *names, model, f"{np.median(np.abs(errors)):.1%}", f"{np.quantile(np.abs(errors), 0.9):.0%}",
                f"{worst:+.0%}", f"{np.median(errors):+.1%}",
            )  # fmt: skip
    return table


def detail(rows: Sequence[Row]) -> list[Table]:
    """Return a table of all rows for each machine and work."""
    tables = []
    for (machine, work), members in _groups(rows).items():
        models = list(members[0].predictions)
        table = Table("configuration", "measured, s", *models, title=f"{machine}, {work}", box=None, pad_edge=False)
        for row in members:
            table.add_row(row.configuration, f"{row.seconds:.3e}", *(f"{row.error(model):+.1%}" for model in models))
        tables.append(table)
    return tables
