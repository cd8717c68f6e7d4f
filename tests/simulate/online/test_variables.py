"""What is said of variables that nothing here can check."""

from commmodel.simulate.online import variables

USE = ("MPI_Send", "reads 8", (0,), 1, [["MPI_Send", "/opt/app", "0", "main@0x40", "2"]])
OF_PYTHON = ("MPI_Send", "reads 8", (0,), 1, [["MPI_Send", "app.py", "3", "step", "1"]])


def test_without_pyelftools_a_note_names_what_reads_debug_information(monkeypatch):
    monkeypatch.setattr(variables, "find_spec", lambda _: None)
    (note,) = variables.unread([USE])
    assert "pip install 'commmodel[variables]'" in note
    assert variables.unread([OF_PYTHON]) == []
    monkeypatch.setattr(variables, "find_spec", lambda _: object())
    assert variables.unread([USE]) == []
