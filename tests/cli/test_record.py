"""The verb ``record`` where it refuses."""

from commmodel.cli import main


def complaint(capsys):
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return lines[0]


def test_a_missing_program_has_the_exit_code_of_a_shell(tmp_path, capsys):
    assert main(["record", "-o", str(tmp_path / "r"), "--", "no-such-program"]) == 127
    assert complaint(capsys) == "commmodel: no-such-program: no such program"
    assert not (tmp_path / "r").exists()


def test_what_cannot_be_executed(tmp_path, capsys):
    (tmp_path / "text").write_text("")
    assert main(["record", "--", str(tmp_path / "text")]) == 126
    assert "cannot be executed" in complaint(capsys)


def test_no_program(capsys):
    assert main(["record"]) == 2
    assert complaint(capsys).startswith("commmodel: no program to record: mpiexec")
