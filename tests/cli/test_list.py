"""The verbs `list` and `bench`, and what all verbs share: names, and files that exist."""

import argparse
import json
import subprocess
import sys

import pytest

from commmodel import machine
from commmodel.cli import _parser, main
from commmodel.cli import list as listing
from commmodel.simulate.platform import published


def test_models_are_listed_with_a_phrase_each(capsys):
    assert main(["list", "models", "--json"]) == 0
    summaries = {row["name"]: row["summary"] for row in json.loads(capsys.readouterr().out)["models"]}
    assert summaries["postal"] == "Time of one message, T = α + n β"
    assert not [line for line in summaries.values() if line.startswith("Return") or line.endswith(".")]


@pytest.mark.parametrize("kind", listing._KINDS)
def test_every_list_has_names_and_one_line_about_each(kind, capsys):
    assert main(["list", kind, "--json"]) == 0
    ((name, rows),) = json.loads(capsys.readouterr().out).items()
    assert name == kind
    names = [row["name"] for row in rows]
    assert len(set(names)) == len(names) > 0
    assert main(["list", kind]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[::2] == names
    assert all(line.startswith("    ") and line.strip() for line in lines[1::2])


def test_descriptions_break_at_the_terminals_width(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["list", "kernels"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    monkeypatch.delenv("COLUMNS")
    assert main(["list", "kernels"]) == 0
    assert " ".join(capsys.readouterr().out.split()) == " ".join(" ".join(lines).split())


def test_lists_name_what_is_published(capsys):
    for kind, names in (("machines", machine.published()), ("platforms", published())):
        assert main(["list", kind, "--json"]) == 0
        assert [row["name"] for row in json.loads(capsys.readouterr().out)[kind]] == [*names]


def parsers(parser):
    """Yield a parser and those of its verbs, but that of the benchmark, which it only names."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, part in action.choices.items():
                yield from () if name == "bench" else parsers(part)


def test_every_help_has_an_example_and_says_of_every_option_what_it_is():
    values = [*parsers(_parser())]
    assert len(values) > 40
    for parser in values:
        assert "example" in parser.epilog, parser.prog
        for action in parser._actions:
            assert action.help or isinstance(action, argparse._SubParsersAction), (parser.prog, action.dest)
        parser.format_help()


def test_bench_is_the_benchmark(capsys):
    alike = [
        subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, check=False)
        for tail in (["--help"], ["nonsense"], ["--sizes", "8K"])
        for words in (["commmodel", "bench", *tail], ["commmodel.bench", *tail])
    ]
    for first, second in zip(alike[::2], alike[1::2], strict=True):
        assert (first.returncode, first.stdout, first.stderr) == (second.returncode, second.stdout, second.stderr)


def test_an_output_is_replaced_only_by_force(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "none.jsonl").touch()
    simulated = "simulate switch ring -p 2 -n 8"
    for command, option, path in (
        ("predict ranger measurements none.jsonl", "-o", "page.html"),
        ("tune ranger -p 2 --sizes 8 --collectives bcast --library mpich", "-o", "rules"),
        ("check mpi none.jsonl", "-o", "page.html"),
        ("optimize --validate none.jsonl", "-o", "page.html"),
        (simulated, "-o", "page.html"),
        (simulated, "--trace", "t.csv"),
    ):
        (tmp_path / path).write_text("precious")
        assert main([*command.split(), option, path]) == 2
        line = f"commmodel: {path} exists: replace it with --force, or name another file with {option}\n"
        assert capsys.readouterr().err == line
        assert (tmp_path / path).read_text() == "precious"
    assert main([*simulated.split(), "--trace", "t.csv", "--force"]) == 0
    assert (tmp_path / "t.csv").read_text() != "precious"
    assert main([*simulated.split(), "--trace", "/dev/stdout"]) == 2  # a name that tells no format


def test_an_error_names_the_option_as_it_was_typed(capsys):
    for words, name in (
        (["-n", "8K"], "-n"),
        (["--size", "8K"], "--size"),
        (["--size=8K"], "--size"),
        (["-n8K"], "-n"),
    ):
        assert main(["predict", "ranger", "send", *words]) == 2
        assert capsys.readouterr().err.startswith(f"commmodel: {name}: '8K': unknown unit 'K'")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("predict send -n 8 machine.toml", "MACHINE comes before send: commmodel predict MACHINE send ..."),
        ("predict send --help", "MACHINE comes before send: commmodel predict MACHINE send ..."),
        ("simulate alltoall graphene -p 4", "WHERE comes before alltoall: commmodel simulate WHERE alltoall ..."),
        ("simulate switch ring -p 2 -n 8 -o page.pdf", "-o: a page is HTML: name it page.html"),
        ("fit none.jsonl", "none.jsonl: No such file or directory"),
        (f"simulate switch run -p 2 -- {sys.executable} none.py", "none.py: no such program"),
    ],
)
def test_what_is_wrong_is_a_line_with_the_mend(words, problem, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "machine.toml").touch()  # the output of fit
    assert main(words.split()) == 2
    assert capsys.readouterr().err == f"commmodel: {problem}\n"
