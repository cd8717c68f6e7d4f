"""The models side by side, as in Table 2 of Gropp 2016. Main entry: `error_sums_table`."""

from collections.abc import Sequence

from rich import box
from rich.table import Table

from commmodel.fit.model_errors import ErrorSums

__all__ = ["error_sums_table"]


def error_sums_table(rows: Sequence[ErrorSums]) -> Table:
    """Return the sums of relative errors of each model, a row for each segment with several numbers of pairs."""
    names = list(dict.fromkeys(name for row in rows for name in row.sums))
    table = Table(
        title="Sums of relative errors over all points (lower is better)",
        title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0),
    )  # fmt: skip
    for heading in ("segment", "points", *names):
        table.add_column(heading.replace(", ", "\n"), justify="left" if heading == "segment" else "right")
    for row in rows:
        sums = (f"{row.sums[name]:.1f}" if name in row.sums else "–" for name in names)
        table.add_row(f"{row.protocol} ({row.path})", str(row.points), *sums)
    return table
