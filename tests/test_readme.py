"""The README's first answers are today's, and its Python runs, on a machine of one pair as `make demo` makes it."""

import re
import shlex

import pytest
from support.paths import ROOT

from commmodel.cli import main


def test_the_python_block_runs_on_the_machine_of_the_demo(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    results = ROOT / "docs" / "examples" / "results.jsonl"
    assert main(["fit", str(results), "-o", "machine.toml", "--resamples", "20"]) == 0
    _, text = (ROOT / "README.md").read_text(encoding="utf-8").split("## In Python\n")
    block = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    names = {"values": []}
    # A line that only computes is kept, to see that it computed something.
    result = re.sub(r"^([\w.]+\(.*\)[.\w]*)(  #.*)?$", r"values.append(\1)", block, flags=re.MULTILINE)
    exec(compile(result, "README.md", "exec"), names)  # noqa: S102  (our own file)
    assert len(names["values"]) == 4
    assert all(names["values"])


def answers():
    """Return each command of the first screen with what stands below it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").split("| measured and modelled")[0]
    return re.findall(r"```console\n\$ commmodel ([^\n]*)\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize(("command", "answer"), answers())
def test_the_first_screen_answers_as_the_command_does(command, answer, capsys):
    assert main(shlex.split(command)) == 0
    assert " ".join(answer.split()) in " ".join(capsys.readouterr().out.split())


def test_there_is_a_first_screen():
    assert len(answers()) == 2
