"""Page that lists the results, machines and recordings of a folder. Main entry: `write_index`."""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from commmodel.files import write_text
from commmodel.report.kit.blocks import Section
from commmodel.report.kit.pages import render_page
from commmodel.report.listing import IndexRow, folder_index, index_table
from commmodel.signatures import checked

_WORDS = {
    "results": ("file of results", "files of results"), "machine": ("machine", "machines"),
    "recording": ("recording", "recordings"),
}  # fmt: skip


@checked
def write_index(
    path: str | os.PathLike[str], folder: str | os.PathLike[str], rows: Sequence[IndexRow] | None = None
) -> None:
    """Write the page that lists a folder, with links to the pages that stand beside the files.

    Parameters
    ----------
    path : str or path
        A file that is there is replaced; links are relative to its folder.
    folder : str or path
        As of `folder_index`.
    rows : sequence of IndexRow or None
        Of `folder_index`; None: the folder is read here.

    Raises
    ------
    InputError
        As of `folder_index`, or where the page cannot be written.
    """
    rows = folder_index(folder) if rows is None else rows
    base = Path(os.path.relpath(folder, Path(path).absolute().parent)).as_posix()
    dates = sorted(row.date.partition("T")[0] for row in rows if row.date)
    span = f", from {dates[0]} to {dates[-1]}" if dates and dates[0] != dates[-1] else ""
    kinds = Counter(row.kind for row in rows)
    counts = ", ".join(f"{count} {_WORDS[kind][count > 1]}" for kind, count in kinds.items())
    title = f"Results in {Path(folder).resolve().name}"
    sections = [Section("Files", (index_table(rows, "" if base == "." else f"{base}/"),))]
    kind = "Measurements, machines and recordings"
    write_text(path, render_page(title, title, kind, sections, answer=(f"{counts}{span}.",)))
