"""Guard files: what is read, and what is refused by name."""

import pytest

from commmodel.errors import DamagedFileError
from commmodel.guard import load

PROGRAM = '[[program]]\ncommand = "python app.py {processes}"\nprocesses = [2, 4, 8]\n'


def guard_file(folder, text):
    path = folder / "guard.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_short_files_are_read(tmp_path):
    files = 'baseline = "counts.json"\nmachine = "cluster/machine.toml"\n'
    guard = load(guard_file(tmp_path, f'{files}{PROGRAM}expect = {{ messages = "p log p" }}\n'))
    (program,) = guard.program
    assert guard.baseline == str(tmp_path / "counts.json")
    assert guard.machine == str(tmp_path / "cluster" / "machine.toml")
    assert program.words(8) == ["python", "app.py", "8"]
    assert program.growth("messages").text("p") == "p log p"
    assert program.tolerance == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "missing required field program"),
        ("program = []", "field program"),
        (PROGRAM + 'expect = { mesages = "p" }', r"program\[0\].expect.mesages: did you mean messages"),
        (PROGRAM + 'expect = { messages = "p log" }', r"program\[0\].expect.messages"),
        (PROGRAM + 'least = "-5%"', "least"),
        (PROGRAM + 'least = "5 apples"', "least"),
        (PROGRAM + "speed = 3", "unknown field speed"),
        (PROGRAM + PROGRAM, "a second 'python app.py"),
        (PROGRAM.replace("[2, 4, 8]", "[2, 2]"), "twice"),
        (PROGRAM.replace("[2, 4, 8]", "[0]"), "processes"),
        (PROGRAM.replace("[2, 4, 8]", "[2, 4]") + 'expect = { messages = "p" }', "3 numbers or more, better five"),
        (PROGRAM.replace("app.py", "'app.py"), "command: No closing quotation: quote it"),
        (PROGRAM.replace("python app.py {processes}", " "), "no program"),
        (PROGRAM + '[times]\ncommand = "x"\nleast = "x"', "times.least"),
        (PROGRAM + '[times]\ncommand = "x"\ntime = "soon"', "times.time"),
        ('version = 2\n' + PROGRAM, "newer"),
        ('format = "commmodel-study"\n' + PROGRAM, "commmodel-guard"),
    ],
)  # fmt: skip
def test_mistakes_are_named(tmp_path, text, problem):
    with pytest.raises(DamagedFileError, match=problem) as error:
        load(guard_file(tmp_path, text))
    assert str(error.value).startswith(str(tmp_path / "guard.toml"))
