"""The notebook of the documentation runs, and prints what it shows."""

import pytest
from support.paths import ROOT

NOTEBOOK = ROOT / "docs" / "examples" / "questions.ipynb"


def printed(notebook):
    return [
        "".join(output.text for output in cell.outputs if output.output_type == "stream")
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.mark.slow
def test_the_notebook_prints_what_it_shows():
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    stored = printed(notebook)
    nbclient.NotebookClient(notebook, timeout=120).execute()
    assert printed(notebook) == stored
    assert sum(map(bool, stored)) == 5
