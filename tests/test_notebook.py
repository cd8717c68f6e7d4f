"""The notebooks of the documentation run, and print what they show."""

import re

import pytest
from support.paths import ROOT

EXAMPLES, COURSE = ROOT / "docs" / "examples", ROOT / "docs" / "teaching"
_CELL = re.compile(r"In\[\d+\]")
"""Cells are numbered on where books run one after the other."""


def shown(cells):
    """Return what each cell of code prints and returns, as text; progress, of a slow machine, is left out."""
    texts = (
        "".join(
            output.get("text") or output.get("data", {}).get("text/plain", "")
            for output in cell.outputs
            if not output.get("text", "").startswith("\r")
        )
        for cell in cells
        if cell.cell_type == "code"
    )
    return [_CELL.sub("In", re.sub(r"<Figure.*>", "", text)) for text in texts]


@pytest.mark.parametrize(
    ("folder", "count"),
    [
        pytest.param(EXAMPLES, 5, marks=pytest.mark.slow),
        pytest.param(COURSE, 7, marks=pytest.mark.thorough),
    ],
)
def test_the_notebooks_print_what_they_show(folder, count):
    """One after the other in one kernel, which forgets all names in between, as each loads the same modules."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    books = [nbformat.read(path, as_version=4) for path in sorted(folder.glob("*.ipynb"))]
    assert len(books) == count
    cells = [cell for book in books for cell in (nbformat.v4.new_code_cell("%reset -f"), *book.cells)]
    expected = shown(cells)
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=books[0].metadata)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    assert shown(notebook.cells) == expected
