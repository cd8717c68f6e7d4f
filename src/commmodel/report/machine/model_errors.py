"""Errors of the models side by side, as in Table 2 of Gropp 2016. Main entry: `error_sums_table`."""

from collections.abc import Sequence

from commmodel.fit.model_errors import ErrorSums
from commmodel.report.kit.tables import Column, Table, left, plain_rows


def error_sums_table(rows: Sequence[ErrorSums]) -> Table:
    """Return the sums of relative errors of each model, a row for each segment with several numbers of pairs."""
    names = list(dict.fromkeys(name for row in rows for name in row.sums))
    headings = (Column(first, detail=rest) for first, _, rest in (name.partition(", ") for name in names))
    cells = (
        (
            f"{row.protocol} ({row.path})",
            str(row.points),
            *(f"{row.sums[name]:.1f}" if name in row.sums else "–" for name in names),
        )
        for row in rows
    )
    title = "Sums of relative errors over all points (lower is better)"
    return Table(title, (*left("segment"), Column("points"), *headings), plain_rows(cells))
